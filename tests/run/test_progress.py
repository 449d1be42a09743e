"""What a journal says of a stage, and what no run can have written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from sealkit.plan.load import open_plan_bytes
from sealkit.plan.slots import SlotIndex, slots
from sealkit.run.in_a_row import ERRORS_IN_A_ROW
from sealkit.run.progress import Standing, begin
from sealkit.wire.chain import Entry
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Attempted, Closed, EpisodeKept, Event, Failed, Opened, Paused, Recovered, Slot
from tests.studies import SMALL, plan_text

SPEC = open_plan_bytes(plan_text(SMALL).encode(), "plans/part.yaml").spec
PIN = digest_bytes(b"pin")
ONE: Slot = {"arm": "oracle", "family": "noise", "seed": 0}
TWO: Slot = {"arm": "tracker", "family": "noise", "seed": 1}


def tried(slot: Slot = ONE, attempt: int = 1) -> Event:
    return Attempted(stage="confirmatory", pin=PIN, slot=slot, attempt=attempt)


def kept(slot: Slot = ONE, attempt: int = 1) -> Event:
    return EpisodeKept(stage="confirmatory", pin=PIN, slot=slot, attempt=attempt, digest=PIN, bytes=1, calls=None)


def failed(slot: Slot = ONE, attempt: int = 1, ending: str = "harness_error") -> Event:
    return Failed(stage="confirmatory", pin=PIN, slot=slot, attempt=attempt, ending=ending, why="x", calls=None)


def closed(episodes: int, abandoned: int, *, slots: int = 8, missing: int | None = None) -> Event:
    left = 8 - episodes if missing is None else missing
    return Closed(stage="confirmatory", slots=slots, episodes=episodes, abandoned=abandoned, missing=left)


def follow(events: Iterable[Event]) -> Standing:
    state = begin(SPEC, "confirmatory")
    for number, event in enumerate(events):
        state.follow(Entry(seq=number, prev=None, time="2026-11-30T12:00:00Z", event=event))
    return state


def test_attempts_episodes_and_what_was_abandoned() -> None:
    state = follow([tried(), tried(attempt=2), tried(TWO), kept(attempt=2), failed(TWO), tried(TWO, 2)])
    assert state.episodes == 1
    assert state.abandoned == {"oracle": 1, "tracker": 1}, "the tracker's second try is under way, or was abandoned"
    assert (state.failed[state.index(TWO)], state.tried[state.index(TWO)]) == (1, 2)


def test_other_stages_and_other_entries_are_passed_over() -> None:
    smoke = Attempted(stage="smoke", pin=PIN, slot={"arm": "oracle", "family": "x", "seed": 100}, attempt=1)
    assert follow([smoke, Recovered(entry=0)]).abandoned == {}


def test_a_pause_for_errors_is_held_against_no_slot() -> None:
    pause = Paused(stage="confirmatory", reason=ERRORS_IN_A_ROW, detail="", calls=None)
    others = [slot for slot in slots(SPEC, "confirmatory") if slot not in (ONE, TWO)][:4]
    row = [event for slot in others for event in (tried(slot), failed(slot))]
    before = [tried(TWO), failed(TWO), tried(), kept(), tried(TWO, 2), failed(TWO, 2)]
    state = follow([*before, *row, pause])
    assert state.failed[state.index(TWO)] == 1, "the failure before the episode stays, that of the row is forgiven"
    assert follow([*before, *row[2:], pause]).failed[state.index(TWO)] == 2, "four errors make no run pause"


def test_an_arm_that_has_failed_from_its_first_slot_on_makes_a_run_pause_beside_arms_that_work() -> None:
    pause = Paused(stage="confirmatory", reason=ERRORS_IN_A_ROW, detail="", calls=None)
    broken, working = (
        [slot for slot in slots(SPEC, "confirmatory") if slot["arm"] == arm] for arm in ("oracle", "tracker")
    )
    row = [event for slot, other in zip(broken, working, strict=True)
           for event in (tried(slot), failed(slot), tried(other), kept(other))]  # fmt: skip
    last = broken[0]
    assert follow(row).in_a_row.longest == 4
    state = follow([*row, tried(last, 2), failed(last, 2)])
    assert state.in_a_row.longest == 5, "the arm's own row, not the one that others have broken"
    state = follow([*row, tried(last, 2), failed(last, 2), pause])
    assert not any(state.failed) and state.in_a_row.longest == 0
    works = [tried(last), kept(last), *row[4:], tried(broken[1], 2), failed(broken[1], 2)]
    assert follow(works).in_a_row.longest == 1, "an arm that has worked once is not broken"


def test_no_run_tries_a_slot_more_often_than_the_plan_allows() -> None:
    most = SPEC.sample.attempts.max
    tries = [event for number in range(1, most + 1) for event in (tried(attempt=number), failed(attempt=number))]
    follow([*tries, tried(TWO)])
    with pytest.raises(UntrustedError, match=f"whose {most} attempts by the plan have failed"):
        follow([*tries, tried(attempt=most + 1)])


def test_no_run_tries_a_slot_again_after_an_ending_that_the_plan_does_not_retry() -> None:
    assert SPEC.sample.attempts.retry_on == ("harness_error",)
    once = [tried(), failed(ending="provider_error")]
    state = follow(once)
    assert not state.may_try(state.index(ONE)) and state.may_try(state.index(TWO))
    with pytest.raises(UntrustedError, match=r"evidence: .* in a way that the plan's retry_on does not name"):
        follow([*once, tried(attempt=2)])
    others = [slot for slot in slots(SPEC, "confirmatory") if slot != ONE][:4]
    row = [event for slot in others for event in (tried(slot), failed(slot))]
    pause = Paused(stage="confirmatory", reason=ERRORS_IN_A_ROW, detail="", calls=None)
    follow([*once, *row, pause, tried(attempt=2), kept(attempt=2)])
    with pytest.raises(UntrustedError, match="retry_on"):
        follow([*once, *row[2:], pause, tried(attempt=2)])


def test_a_pause_that_the_operator_made_forgives_nothing() -> None:
    interrupted = Paused(stage="confirmatory", reason="interrupted", detail="", calls=None)
    state = follow([tried(), failed(), interrupted])
    assert state.failed[state.index(ONE)] == 1


def test_a_run_is_closed_with_its_counts() -> None:
    assert follow([tried(), kept(), tried(TWO), closed(1, 1)]).closed
    assert not follow([tried(), kept()]).closed


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([kept()], "the outcome of attempt 1 .* which is not under way"),
        ([failed()], "the outcome of attempt 1 .* which is not under way"),
        ([tried(), kept(attempt=2)], "the outcome of attempt 2 .* which is not under way"),
        ([tried(), failed(), kept()], "the outcome of attempt 1 .* which is not under way"),
        ([tried(), kept(TWO)], "the outcome of attempt 1 at slot .*'tracker'.* which is not under way"),
        ([tried(attempt=2)], "found attempt 2 at slot .*, due 1"),
        ([tried(), tried()], "found attempt 1 at slot .*, due 2"),
        ([tried(), kept(), kept()], "has an episode already; the first completed attempt counts"),
        ([tried(), kept(), tried(attempt=2)], "has an episode already; the first completed attempt counts"),
        ([tried({**ONE, "seed": 9})], "the plan has no slot"),
        ([tried({**ONE, "mood": "good"})], "the plan has no slot"),
        ([tried({"arm": "oracle", "family": "noise"})], "the plan has no slot"),
        ([tried(), kept(), closed(0, 0)], "found closed with 8 slots, 0 episodes, .* due closed with 8 slots, 1 episodes"),
        ([tried(), kept(), closed(1, 1)], "due closed with 8 slots, 1 episodes, 0 abandoned attempts and 7 missing"),
        ([tried(), kept(), closed(1, 0, slots=7)], "found closed with 7 slots"),
        ([tried(), kept(), closed(1, 0, missing=0)], "and 0 missing, due"),
        ([closed(0, 0), tried()], "an attempt, its outcome or a reading after the run was closed"),
    ],
)  # fmt: skip
def test_what_no_run_can_have_written_is_refused(events: list[Event], says: str) -> None:
    with pytest.raises(UntrustedError, match=says) as refused:
        follow(events)
    assert refused.value.where == f"journal.jsonl entry {len(events) - 1}"


def test_slots_are_numbered_in_plan_order() -> None:
    index = SlotIndex(SPEC, "confirmatory")
    assert [index(slot) for slot in slots(SPEC, "confirmatory")] == list(range(index.count)) == list(range(8))


# --- stages that are never analysed --------------------------------------------------------------


def in_the_smoke_run(*events: Event) -> Standing:
    """Where the smoke run of two slots stands after these entries."""
    state = begin(SPEC, "smoke")
    for number, event in enumerate(events):
        state.follow(Entry(seq=number, prev=None, time="2026-11-30T12:00:00Z", event=event))
    return state


OPENED = Opened(stage="smoke", pin=PIN, sealkit="0", environment=PIN)
BY_HAND = Paused(stage="smoke", reason="stopped", detail="enough", calls=None)
ENDED = Closed(stage="smoke", slots=2, episodes=0, abandoned=0, missing=2)
HUNDRED: Slot = {"arm": "oracle", "family": "delayed_update", "seed": 100}


def tried_twice(first: int) -> Iterator[Event]:
    """As often as the plan allows, and in vain."""
    for attempt in (first, first + 1):
        yield Attempted(stage="smoke", pin=PIN, slot=HUNDRED, attempt=attempt)
        yield Failed(stage="smoke", pin=PIN, slot=HUNDRED, attempt=attempt, ending="harness_error", why="x", calls=None)


def test_a_smoke_run_gives_no_slot_up_for_good() -> None:
    """A server that was down had used it up."""
    once = (OPENED, *tried_twice(1), ENDED)
    state = in_the_smoke_run(*once)
    number = state.index(HUNDRED)
    assert state.closed and not state.is_over and not state.may_try(number), "this run is over, not the stage"
    state = in_the_smoke_run(*once, OPENED, *tried_twice(3), ENDED, OPENED)
    assert state.may_try(number) and (state.tried[number], state.failed[number]) == (4, 0)
    state = in_the_smoke_run(OPENED, *tried_twice(1), BY_HAND, ENDED, OPENED)
    assert state.is_over, "whoever wants nothing more to be run has it so"
