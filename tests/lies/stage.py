"""The stage on which lies are told: an honest greenhouse, an honest recorder, and what each lie overrides.

A lie happens in the world or in the recorder; everything downstream (roots, heads, chain, receipts, digests)
is then computed by the same code that an honest episode runs through, so the record is coherent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from sealkit.wire.canon import decode_record, digest_json, encode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Action, Move, Trusted
from sealkit.wire.trace import bare
from sealkit.wire.verdict import Origin
from sealkit.world.loader import load_world, make_scenario
from sealkit.world.sdk import State, Told, action
from sealkit.world.witness import Recorder
from tests.toy.worlds.toy.world import Greenhouse

TOY = Path(__file__).parents[1] / "toy"

Evidence: TypeAlias = tuple[Trusted, bytes]
Tell: TypeAlias = Callable[[], Evidence]
Catcher: TypeAlias = Literal["witness", "replay", "nobody"]

DONE = action("done")
WAIT = action("wait")
MAIL = action("mail")
FILL = action("fill")
FERN = action("water", plant="fern")
ROSE = action("water", plant="rose")


def look(at: str) -> Action:
    """A look at one component."""
    return action("look", at=at)


# Every contract of `plain` but `mould` is applied, and everything that can be told is.
FULL = (look("shed"), look("shed"), FERN, look("sky"), MAIL, look("sky"), FILL, look("tank"), WAIT, look("bench"),
        look("sky"), look("shed"), DONE)  # fmt: skip


@lru_cache
def scenario(family: str) -> Scenario:
    """The toy's scenario of `family`, seed 0."""
    return make_scenario(load_world(TOY, "toy"), family, 0, {})


def without(family: str, *ids: str) -> Scenario:
    """That scenario without some contracts, for lies that need room."""
    whole = scenario(family)
    return replace(whole, contracts=tuple(item for item in whole.contracts if item.id not in ids))


def trust(world: Scenario) -> Trusted:
    """What a verifier is told about an episode of this scenario."""
    return Trusted(
        pin=digest_json("the seal"), judge=digest_json("the judge"), slot={"family": world.family, "seed": 0},
        scenario=encode_record(world),
    )  # fmt: skip


class World(Greenhouse):
    """The honest greenhouse, detached: lies override its methods. `now` counts acts."""

    now = 0

    def material(self) -> State:
        copied: State = json.loads(json.dumps(self.here))
        return copied

    def act(self, action: Action) -> Sequence[Told]:
        self.now += 1
        return super().act(action)


def play(recorder: Recorder, actions: Sequence[Action], *, ended: str | None = None) -> bytes:
    """The episode of these actions; how it ended follows from them."""
    recorder.begin()
    for item in actions:
        recorder.act(bare(item))
    if ended is None:
        ended = "final" if actions and actions[-1].name in recorder.scenario.finals else "stopped"
        if ended == "stopped" and len(actions) == recorder.scenario.max_acts:
            ended = "budget"
    return recorder.close(ended, why="")


def stage(
    world: type[World] = World,
    recorder: type[Recorder] = Recorder,
    *,
    family: str = "plain",
    actions: Sequence[Action] = FULL,
    within: Scenario | None = None,
    ended: str | None = None,
) -> Evidence:
    """An episode of the toy, told by this world and this recorder."""
    declared = within or scenario(family)
    trusted = trust(declared)
    return trusted, play(recorder(world(declared.genesis), trusted), actions, ended=ended)


def honest_rerun(trusted: Trusted, moves: Sequence[Move], ended: str, why: str) -> bytes:
    """What replay is handed: the sealed world, run again."""
    declared = decode_record(trusted.scenario, Scenario)
    recorder = Recorder(World(declared.genesis), trusted)
    recorder.begin()
    for move in moves:
        recorder.act(move)
    return recorder.close(ended, why=why)


@dataclass(frozen=True, slots=True)
class Lie:
    """One lie: the row of the table that it belongs to, who must catch it, and under which origin."""

    name: str
    row: int
    catcher: Catcher
    origin: Origin | None
    tell: Tell


LIES: dict[str, Lie] = {}


def lie(row: int, catcher: Catcher, origin: Origin | None) -> Callable[[Tell], Tell]:
    """Registers a lie under the name of the function that tells it."""

    def register(tell: Tell) -> Tell:
        assert tell.__name__ not in LIES
        LIES[tell.__name__] = Lie(name=tell.__name__, row=row, catcher=catcher, origin=origin, tell=tell)
        return tell

    return register
