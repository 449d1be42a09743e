"""No part of an episode can be changed alone; what can be changed coherently, unseen by witness, is listed."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from sealkit.wire.canon import encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted
from sealkit.wire.trace import bare
from sealkit.wire.verdict import Accepted, Rejected
from sealkit.world.loader import load_world, make_scenario, scenario_draws
from sealkit.world.sdk import View
from sealkit.world.witness import Recorder
from tests.lying_world import honest
from tests.reseal import reseal, seal_record, spell
from tests.verifiers.edits import edited, edits, pattern
from tests.verifiers.loading import witness

ROOT = Path(__file__).parents[2]


@lru_cache
def house(family: str, agent: str) -> tuple[Trusted, bytes]:
    """An episode of the reference world."""
    world = load_world(ROOT, "house")
    scenario = make_scenario(world, family, 0, {"turn_budget": 15, "observation_window": 3})
    trusted = Trusted(
        pin=digest_bytes(b"pin"), judge=digest_bytes(b"judge"), slot={"family": family, "seed": 0, "arm": agent},
        scenario=encode_record(scenario),
    )  # fmt: skip
    scripted = world.agents[agent]
    player = scripted.make(scenario_draws(scenario))
    recorder = Recorder(world.session(scenario), trusted)
    act = recorder.begin()
    for k in range(scenario.max_acts):
        truth = recorder.state if scripted.reads_truth else None
        left = scenario.max_acts - k
        view = View(briefing=scenario.briefing, last=act.segments, acts_left=left, truth=truth)
        act = recorder.act(bare(player.act(view)))
        if act.action.name in scenario.finals:
            return trusted, recorder.close("final", why="")
    return trusted, recorder.close("budget", why="")


CASES = {
    "calm": lambda: honest("calm"),
    "plain": lambda: honest("plain"),
    "storm": lambda: honest("storm"),
    "house wrong_start": lambda: house("wrong_start", "tracker"),
    "house noise": lambda: house("noise", "oracle"),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_can_be_changed_alone(case: str) -> None:
    trusted, line = CASES[case]()
    assert witness(trusted, line) == Accepted()
    for name, edit in edits(line):
        verdict = witness(trusted, spell(edited(line, edit)))
        assert isinstance(verdict, Rejected), name
        assert verdict.origin == "evidence", f"{name}: {verdict.reasons[0]}"


@pytest.mark.parametrize("case", ["storm", "house noise"])
def test_nothing_can_be_changed_with_the_record_digest_made_right(case: str) -> None:
    trusted, line = CASES[case]()
    for name, edit in edits(line):
        if name in ("change closing/record", "drop closing/record", "change closing/why", "drop /closing"):
            continue
        assert isinstance(witness(trusted, seal_record(edited(line, edit))), Rejected), name


# A forger who knows the format and makes every chain right again can still change these, and no data tells:
# they are what the agent did and was told in free words. `replay` sees all but the last three.
FREE = {
    "change acts/*/action/name",
    "change acts/*/action/args/at",  # what the agent asked for, when the change is inside the action's footprint
    "change acts/*/action/args/plant",
    "drop acts/*/action/args/at",
    "drop acts/*/action/args/plant",
    "change acts/*/segments/*/text",  # of text segments only: test below
    "drop acts/*/segments/*",
    "double acts/*/segments/*",
    "swap acts/*/segments/*",
    "change closing/why",
}


def test_what_can_be_changed_with_every_digest_made_right() -> None:
    trusted, line = honest("storm")
    accepted = set()
    for name, edit in edits(line):
        document = edited(line, edit)
        if name.removeprefix("drop ").startswith("/") and "/" not in name.removeprefix("drop /"):
            continue  # a whole part is gone: there is nothing to make right
        try:
            forged = reseal(document, trusted)
        except (KeyError, IndexError):
            continue  # the same
        if forged != line and witness(trusted, forged) == Accepted():
            accepted.add(name)
    assert {pattern(name) for name in accepted} <= FREE
