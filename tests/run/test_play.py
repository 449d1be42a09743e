"""Playing one slot: how it ends, and whose failure a failure is."""

from __future__ import annotations

from pathlib import Path

import pytest

from sealkit.run.play import play_scripted
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Episode, Trusted
from sealkit.wire.errors import HarnessError, UsageError
from sealkit.world.loader import load_world, make_scenario
from tests.world.makeshift import AGENTS, WORLD, edited, put_world


def played(study: Path, *, world: str = WORLD, agents: str = AGENTS, agent: str = "lighter") -> Episode:
    put_world(study, world=world, agents=agents)
    loaded = load_world(study, "lamp")
    scenario = make_scenario(loaded, "windy", 0, {})
    trusted = Trusted(
        pin=digest_bytes(b"pin"), judge=digest_bytes(b"judge"), slot={"arm": agent, "family": "windy", "seed": 0},
        scenario=encode_record(scenario),
    )  # fmt: skip
    return decode_record(play_scripted(loaded, agent, trusted), Episode)


def test_a_final_action_ends_an_episode(tmp_path: Path) -> None:
    episode = played(tmp_path)
    assert episode.closing.ended == "final" and len(episode.acts) == 4


def test_the_turn_budget_ends_an_episode(tmp_path: Path) -> None:
    episode = played(tmp_path, agents=edited(AGENTS, '["light", "look", "done"]', '["look"] * 9'))
    assert episode.closing.ended == "budget" and episode.closing.counts.acts == 4


def test_a_final_action_in_the_last_act_is_final(tmp_path: Path) -> None:
    episode = played(tmp_path, agents=edited(AGENTS, '["light", "look", "done"]', '["look"] * 3 + ["done"]'))
    assert episode.closing.ended == "final" and episode.closing.counts.acts == 4


VIEWER = AGENTS.replace(
    "return action(self.plan.pop(0))", "return action('look', saw=str(view.truth), left=view.acts_left)"
)


def test_only_an_agent_that_declares_it_reads_the_truth(tmp_path: Path) -> None:
    blind = played(tmp_path / "blind", agents=VIEWER)
    assert [act.action.args["saw"] for act in blind.acts[1:]] == ["None"] * 4
    oracle = played(tmp_path / "oracle", agents=edited(VIEWER, "Lighter())", "Lighter(), reads_truth=True)"))
    assert all("'oil': 3" in str(act.action.args["saw"]) for act in oracle.acts[1:])
    assert [act.action.args["left"] for act in oracle.acts[1:]] == [4, 3, 2, 1]


def test_an_agent_that_the_world_has_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="worlds/lamp: the world has no scripted agent 'dimmer'; it has lighter"):
        played(tmp_path, agent="dimmer")


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({"agents": edited(AGENTS, "return action(self.plan.pop(0))", "return 1 / 0")}, "raised ZeroDivisionError"),
        ({"agents": edited(AGENTS, "return action(self.plan.pop(0))", "return None")}, "raised AttributeError"),
        ({"agents": edited(AGENTS, "return action(self.plan.pop(0))", "return action('look', at=0.5)")}, "a float (0.5)"),
        ({"agents": edited(AGENTS, "return action(self.plan.pop(0))", "return action('look', at='\\ud800')")}, "surrogate"),
        ({"agents": edited(AGENTS, "return action(self.plan.pop(0))", "raise SystemError('x')")}, "raised SystemError: x"),
        ({"world": edited(WORLD, "    lamp = state", "    1 / 0\n    lamp = state")}, "raised ZeroDivisionError"),
        ({"world": edited(WORLD, '"lit": True,', '"lit": 0.5,')}, "a float (0.5)"),
        ({"world": edited(WORLD, '"lit": True,', '"lit": {True},')}, "set is no JSON value"),
        ({"world": edited(WORLD, '{**state, "lamp"', '{"lamp"')}, "the world added or dropped a component"),
        ({"world": edited(WORLD, ", tell=never()", ', sees={"x": "/lamp/lit"}, tell=never()').replace(
            '{"lit": True, "oil"', '{"oil"').replace("after_act(1)", "after_act(2)")}, "/lamp/lit"),
    ],
)  # fmt: skip
def test_what_breaks_in_the_studys_own_code_is_the_harness(edit: dict[str, str], says: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as broken:
        played(tmp_path, **edit)
    assert says in str(broken.value)
