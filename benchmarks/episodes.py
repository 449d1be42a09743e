"""Real episodes to measure on: the house, every family, every scripted agent."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from benchmarks.clock import ROOT
from benchmarks.sizes import Sizes
from sealkit.run.play import play_scripted
from sealkit.wire.canon import encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted
from sealkit.wire.records import Json
from sealkit.world.loader import LoadedWorld, load_world, make_scenario

PARAMS: dict[str, Json] = {"turn_budget": 15, "observation_window": 3}
PIN = digest_bytes(b"pin")
JUDGE = digest_bytes(b"judge")


def house() -> LoadedWorld:
    """The world, fresh from its files: what it caches starts empty, as in a run."""
    return load_world(ROOT, "house")


@cache
def slots(sizes: Sizes) -> tuple[tuple[str, Trusted], ...]:
    """(agent, what is trusted about its slot), in the order of a run: the agents of one scenario adjacent."""
    return tuple(_slots(sizes.seeds))


def _slots(seeds: int) -> Iterator[tuple[str, Trusted]]:
    world = house()
    for seed in range(seeds):
        for family in world.families:
            scenario = encode_record(make_scenario(world, family, seed, PARAMS))
            for agent in sorted(world.agents):
                slot: dict[str, int | str] = {"arm": agent, "family": family, "seed": seed}
                yield agent, Trusted(pin=PIN, judge=JUDGE, slot=slot, scenario=scenario)


def play_slot(world: LoadedWorld, agent: str, trusted: Trusted) -> bytes:
    """The episode's line, made as a run makes it."""
    return play_scripted(world, agent, trusted)


@cache
def lines(sizes: Sizes) -> tuple[bytes, ...]:
    """The episode of each of `slots`."""
    world = house()
    return tuple(play_slot(world, agent, trusted) for agent, trusted in slots(sizes))
