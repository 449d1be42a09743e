"""Why slots have no episode: counted by arm and ending, with the last sentence, cut where it is long."""

from __future__ import annotations

from sealkit.publish.failures import MOST_SAID, Failures
from sealkit.publish.pages.failure_parts import failure_tables
from sealkit.wire.chain import Entry
from sealkit.wire.events import Failed, Stage

DIGEST = "sha256:" + "5e" * 32


def failed(arm: str, ending: str, why: str, stage: Stage = "confirmatory") -> Entry:
    slot: dict[str, int | str] = {"arm": arm, "family": "x", "seed": 0}
    event = Failed(stage=stage, pin=DIGEST, slot=slot, attempt=1, ending=ending, why=why, calls=None)
    return Entry(seq=1, prev=DIGEST, time="2026-11-10T08:00:00Z", event=event)


def test_failures_are_counted_by_arm_and_ending_with_the_last_sentence() -> None:
    found = Failures()
    for entry in (
        failed("b", "harness_error", "the first"),
        failed("b", "harness_error", "no such file: ask.py"),
        failed("b", "agent_stopped", "y" * 1000),
        failed("a", "provider_error", "429"),
        failed("a", "provider_error", "in a smoke run", stage="smoke"),
    ):
        found.see(entry)
    assert found.record() == [
        {"arm": "a", "ending": "provider_error", "tries": 1, "last": "429"},
        {"arm": "b", "ending": "agent_stopped", "tries": 1, "last": "y" * MOST_SAID + "…"},
        {"arm": "b", "ending": "harness_error", "tries": 2, "last": "no such file: ask.py"},
    ]


def test_where_every_try_left_an_episode_there_is_no_table() -> None:
    assert Failures().record() == [] and failure_tables([]) == ()
