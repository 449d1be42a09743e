"""The calls of an attempt, as the lines of calls.jsonl that tell them: read, and held against what a gateway writes.

Calls are numbered from 1 in their attempt, and the requests of each call from 1. All calls but the last have an answer;
requests without one stand before the request that was asked again. So an attempt's lines have one order, and whether
one is lacking can be seen:

>>> from msgspec.structs import replace
>>> first = Call(
...     pin="p", stage="smoke", slot={"arm": "A"}, attempt=1, n=1, purpose="act", role="agent", http_try=1,
...     request="r", response=None, status="rate_limited", model=None, fingerprint=None, input_tokens=None,
...     output_tokens=None, charged_tokens=0, cost_microusd=None, latency_ms=3, waited_ms=0, why="HTTP 429",
... )
>>> check_order((first, replace(first, http_try=2, status="complete", response="a")), where="calls")
>>> check_order((first, replace(first, n=2)), where="calls")
Traceback (most recent call last):
    ...
sealkit.wire.errors.UntrustedError: calls: evidence: found request 1 of call 2, due request 2 of call 1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from sealkit.wire.calls import CALL_STATUSES, Call
from sealkit.wire.canon import decode_record
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Slot, Stage
from sealkit.wire.records import Count, Record

Calls: TypeAlias = tuple[Call, ...]


class Tried(Record, frozen=True):
    """Which try at which slot calls belong to."""

    pin: str
    stage: Stage
    slot: Slot
    attempt: Count


def read_calls(block: bytes, *, where: str) -> Calls:
    """The calls that `block`, whole lines of calls.jsonl, tells of; `MalformedError` naming `where` for other lines."""
    return tuple(decode_record(line, Call, where=where) for line in block.splitlines())


def tried_by(call: Call) -> Tried:
    """The try that made a call."""
    return Tried(pin=call.pin, stage=call.stage, slot=call.slot, attempt=call.attempt)


def by_try(calls: Calls) -> Iterator[tuple[Tried, Calls]]:
    """The calls of each try, or of each reading, that follow one another: a reading is one question."""
    start = 0
    for end in range(1, len(calls) + 1):
        if end == len(calls) or _begins(calls[end - 1], calls[end]):
            yield tried_by(calls[start]), calls[start:end]
            start = end


def _begins(before: Call, call: Call) -> bool:
    """Whether a call is the first one of another try or reading than the call before it."""
    reads = call.purpose == "read" and (call.n, call.http_try) == (1, 1)
    return reads or call.purpose != before.purpose or tried_by(call) != tried_by(before)


def check_order(calls: Sequence[Call], *, where: str) -> None:
    """Raise `UntrustedError` unless one attempt can have made just these calls, in this order."""
    n, http_try, ended = 1, 1, False
    for call in calls:
        if ended or (call.n, call.http_try) != (n, http_try):
            found, due = f"request {call.http_try} of call {call.n}", f"request {http_try} of call {n}"
            raise UntrustedError(f"evidence: found {found}, due {'no more' if ended else due}", where=where)
        then = CALL_STATUSES[call.status]
        if then == "answer":
            n, http_try = n + 1, 1
            if call.response is None:
                raise UntrustedError(f"evidence: call {call.n} has an answer without a body", where=where)
        elif then == "again":
            http_try += 1
        else:
            ended = True


def answered(calls: Sequence[Call]) -> Calls:
    """The calls that were answered."""
    return tuple(call for call in calls if CALL_STATUSES[call.status] == "answer")
