"""The recorder: what order it insists on, and what it refuses of a world."""

from __future__ import annotations

from pathlib import Path

import pytest

from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Action, Episode, Fact, Trusted
from sealkit.wire.errors import HarnessError, OutOfOrderError
from sealkit.wire.trace import bare
from sealkit.world.loader import LoadedWorld, make_scenario
from sealkit.world.witness import Recorder
from tests.world.makeshift import lamp

LIGHT, LOOK, DONE = (Action(name=name, args={}) for name in ("light", "look", "done"))


def recorder_of(world: LoadedWorld, family: str = "calm") -> Recorder:
    scenario = make_scenario(world, family, 0, {})
    trusted = Trusted(
        pin=digest_bytes(b"pin"), judge=digest_bytes(b"judge"), slot={"arm": "lighter", "family": family, "seed": 0},
        scenario=encode_record(scenario),
    )  # fmt: skip
    return Recorder(world.session(scenario), trusted)


def test_no_act_before_begin(tmp_path: Path) -> None:
    with pytest.raises(OutOfOrderError, match="no act before begin; call begin first"):
        recorder_of(lamp(tmp_path)).act(bare(LIGHT))


def test_no_second_begin(tmp_path: Path) -> None:
    recorder = recorder_of(lamp(tmp_path))
    recorder.begin()
    with pytest.raises(OutOfOrderError, match="the episode has begun; call act"):
        recorder.begin()


def test_no_close_before_begin(tmp_path: Path) -> None:
    with pytest.raises(OutOfOrderError, match="call begin first"):
        recorder_of(lamp(tmp_path)).close("final", why="")


def test_nothing_after_close(tmp_path: Path) -> None:
    recorder = recorder_of(lamp(tmp_path))
    recorder.begin()
    recorder.act(bare(DONE))
    recorder.close("final", why="")
    with pytest.raises(OutOfOrderError, match="the episode is closed"):
        recorder.act(bare(LIGHT))
    with pytest.raises(OutOfOrderError, match="the episode is closed"):
        recorder.close("final", why="")


def test_an_episode_says_what_happened_when(tmp_path: Path) -> None:
    recorder = recorder_of(lamp(tmp_path), "windy")
    recorder.begin()
    for action in (LIGHT, LOOK, DONE):
        recorder.act(bare(action))
    episode = decode_record(recorder.close("final", why=""), Episode)
    assert [act.action.name for act in episode.acts] == ["begin", "light", "look", "done"]
    assert [op.path for op in episode.acts[1].delta] == ["/lamp/lit", "/lamp/oil"]
    assert [delta.cause for delta in episode.acts[1].deltas] == ["contract:gust"]  # right after, the wind
    [fact] = episode.acts[2].segments
    assert fact == Fact(pointer="/lamp/lit", value=False, text="Lit: false.")
    [receipt] = episode.receipts
    assert (receipt.boundary.due, receipt.boundary.applied, receipt.roots.moved) == (1, 1, ("lamp",))
    assert (episode.closing.counts.acts, episode.closing.counts.occurrences) == (3, 1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("{**state, \"lamp\"", "{\"lamp\"", "the world added or dropped a component"),
        ("{**state, \"lamp\"", "{**state, \"cat\": 1, \"lamp\"", "the world added or dropped a component"),
        ('reading("/lamp/lit"', 'reading("/lamp/lid"', "the world reads /lamp/lid, which is not in its state"),
        ('reading("/lamp/lit"', 'reading("/lamp"', "the world reads /lamp, which is no single value"),
        ('reading("/lamp/lit"', 'reading("lamp"', "the world reads lamp"),
    ],
)  # fmt: skip
def test_what_a_world_may_not_do_is_told(old: str, new: str, says: str, tmp_path: Path) -> None:
    recorder = recorder_of(lamp(tmp_path, old, new))
    recorder.begin()
    with pytest.raises(HarnessError) as refused:
        recorder.act(bare(LIGHT))
        recorder.act(bare(LOOK))
    assert says in str(refused.value)
