"""Which lines of calls belong together: those of one try, or of one reading."""

from __future__ import annotations

from msgspec.structs import replace

from sealkit.wire.attempts import by_try
from sealkit.wire.calls import Call
from tests.wire.sample import CALL

ACT = replace(CALL, n=1, http_try=1, status="complete")
READ = replace(ACT, purpose="read", role="diagnoser")
OTHER = {**CALL.slot, "seed": 4}


def groups(*calls: Call) -> list[int]:
    return [len(group) for _, group in by_try(calls)]


def test_a_try_is_told_by_slot_and_number_and_all_its_calls_belong_to_it() -> None:
    assert groups(ACT, replace(ACT, n=2), replace(ACT, attempt=2), replace(ACT, slot=OTHER)) == [2, 1, 1]
    assert groups() == []


def test_a_reading_is_one_question_and_another_one_begins_anew() -> None:
    """Two readings of one slot, cut off by one pause, ask different things under the same number."""
    lost = replace(READ, status="rate_limited", response=None)
    assert groups(lost, replace(READ, http_try=2), READ, replace(READ, slot=OTHER)) == [2, 1, 1]
    assert groups(ACT, READ) == [1, 1]
