"""Which abandoned tries may have been drawn again by choice, as far as a journal can tell; and what claims say of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from sealkit.infer.claims import NO_RESERVATIONS
from sealkit.plan.actors import CommandArm, ExternalWorld, ScriptedArm, ToolsArm
from sealkit.publish.claims import lost_values
from sealkit.publish.pages.parts import verdict_lines
from sealkit.publish.review.cut_off import CutOff
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.calls import Status
from sealkit.wire.canon import encode_record
from sealkit.wire.chain import Entry
from sealkit.wire.events import Attempted, EpisodeKept, Event, Failed, Paused
from sealkit.wire.records import Level
from tests.infer.told import PAIRED, small
from tests.wire.sample import CALL

PIN = "sha256:" + "5e" * 32
EXTERNAL = ExternalWorld(kind="external", run=None, trees=("x",))


def told(*told_of: tuple[Event, bytes], world: ExternalWorld | None = None) -> dict[str, int]:
    """The tries of each arm that may have been drawn by choice."""
    arms = {
        "model": ToolsArm(role="control", scaffold="tools", model="agent"),
        "script": ScriptedArm(role="control", scripted="x"),
        "program": CommandArm(role="control", run=("x",), models=(), trees=("x",)),
    }
    spec = SimpleNamespace(world=world, factors=SimpleNamespace(arm=arms))
    cut_off = CutOff(
        cast(SealedPlan, SimpleNamespace(under=lambda pin: SimpleNamespace(plan=SimpleNamespace(spec=spec))))
    )
    for event, calls in told_of:
        cut_off.see(Entry(seq=1, prev=PIN, time="2026-11-10T08:00:00Z", event=event), calls)
    return cut_off.tries


def slot(arm: str) -> dict[str, Level]:
    return {"arm": arm, "family": "x", "seed": 0}


def begun(arm: str, attempt: int) -> tuple[Event, bytes]:
    return Attempted(stage="confirmatory", pin=PIN, slot=slot(arm), attempt=attempt), b""


def paused(arm: str, *statuses: Status) -> tuple[Event, bytes]:
    calls = (replace(CALL, slot=slot(arm), attempt=1, status=status) for status in statuses)
    return Paused(stage="confirmatory", reason="budget", detail="", calls=None), b"".join(
        encode_record(call) + b"\n" for call in calls
    )


@pytest.mark.parametrize("arm", ["model", "program"])
def test_a_try_of_which_nothing_is_told_may_have_been_chosen(arm: str) -> None:
    """Killed, it leaves no line of its calls."""
    assert told(begun(arm, 1), begun(arm, 2), begun(arm, 3)) == {arm: 2}


def test_what_comes_again_to_the_same_bytes_was_not() -> None:
    assert told(begun("script", 1), begun("script", 2)) == {}
    assert told(begun("script", 1), begun("script", 2), world=EXTERNAL) == {"script": 1}


def test_a_pause_tells_whether_a_reply_was_known() -> None:
    assert told(begun("model", 1), paused("model", "complete"), begun("model", 2)) == {"model": 1}
    assert told(begun("model", 1), paused("model", "rate_limited", "abandoned"), begun("model", 2)) == {}
    assert told(begun("program", 1), paused("program"), begun("program", 2)) == {"program": 1}


def test_neither_was_one_that_ended_or_that_was_not_begun_again() -> None:
    ended = Failed(stage="confirmatory", pin=PIN, slot=slot("model"), attempt=1, ending="x", why="x", calls=None)
    kept = EpisodeKept(stage="confirmatory", pin=PIN, slot=slot("model"), attempt=2, digest=PIN, bytes=1, calls=None)
    assert told(begun("model", 1), (ended, b""), begun("model", 2), (kept, b""), begun("program", 1)) == {}


def test_verdicts_and_claims_say_how_many_there_were(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = small({"e": PAIRED % "tango"}).spec
    monkeypatch.setattr(lost_values, "arms_under", lambda spec, hypothesis, metric: ("plus", "minus"))
    monkeypatch.setattr(lost_values, "arms_under_claims", lambda spec: {"c": ("plus", "minus")})
    record = {"verdicts": [{"hypothesis": "H", "metric": None, "verdict": "supported"}]}
    held = lost_values.with_tries(NO_RESERVATIONS, spec, record, {"plus": 7})  # type: ignore[arg-type]
    assert held.notes == {"c": "0 tries abandoned in arm minus, 7 in arm plus"}
    rows = lost_values.verdicts_cut_off(spec, record, {"plus": 7})  # type: ignore[arg-type]
    lines = verdict_lines({"hypothesis": "H", "metric": None, "verdict": "supported"}, rows)  # type: ignore[arg-type]
    assert "0 tries abandoned in arm minus, 7 in arm plus, and begun again." in lines
    assert lost_values.verdicts_cut_off(spec, record, {}) == []  # type: ignore[arg-type]
