"""Which lines of calls belong together: those of one try, or of one reading."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sealkit.wire.attempts import answered, by_try, check_order, read_calls
from sealkit.wire.calls import Call
from sealkit.wire.canon import encode_record
from sealkit.wire.errors import UntrustedError
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


def test_lines_are_read_and_those_that_were_answered_are_told() -> None:
    lost = replace(ACT, status="rate_limited", response=None)
    block = b"".join(encode_record(call) + b"\n" for call in (lost, replace(ACT, http_try=2)))
    found = read_calls(block, where="calls.jsonl")
    assert found == (lost, replace(ACT, http_try=2)) and answered(found) == found[1:]


LOST = replace(ACT, status="rate_limited", response=None)
FAILED = replace(ACT, status="too_large", response=None)
ORDERS: dict[str, tuple[tuple[Call, ...], str]] = {
    "a call left out": ((ACT, replace(ACT, n=3)), "found request 1 of call 3, due request 1 of call 2"),
    "a call twice": ((ACT, ACT), "due request 1 of call 2"),
    "after the end": ((FAILED, replace(ACT, n=1, http_try=2)), "due no more"),
    "no body": ((replace(ACT, response=None),), "has an answer without a body"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_that_no_attempt_makes_is_refused(name: str) -> None:
    calls, says = ORDERS[name]
    with pytest.raises(UntrustedError, match=says):
        check_order(calls, where="calls.jsonl")


def test_an_attempt_asks_again_and_goes_on_until_it_fails() -> None:
    again = replace(ACT, http_try=2)
    check_order((LOST, again, replace(ACT, n=2), replace(FAILED, n=3)), where="calls.jsonl")
