"""Verdicts: the order of origins, what a rejection must carry, and that a verdict is a record."""

from __future__ import annotations

from typing import get_args

import pytest

from sealkit.wire.canon import decode_record, reencode
from sealkit.wire.errors import MalformedError
from sealkit.wire.verdict import ORIGINS, Abstained, Accepted, Errored, Origin, Reason, Rejected, Verdict


def reason(origin: Origin) -> Reason:
    return Reason(origin=origin, where="acts[1]", found="a", due="b")


def test_the_origins_in_their_order() -> None:
    due = ("evidence", "lineage", "boundary", "environment", "disclosure", "authority", "judgment")
    assert due == ORIGINS == get_args(Origin)


@pytest.mark.parametrize("first", range(len(ORIGINS)))
def test_the_first_origin_is_named_wherever_its_reason_stands(first: int) -> None:
    later = tuple(reason(origin) for origin in ORIGINS[first:])
    assert Rejected(reasons=later).origin == ORIGINS[first]
    assert Rejected(reasons=later[::-1]).origin == ORIGINS[first]


def test_a_rejection_has_a_reason() -> None:
    with pytest.raises(MalformedError, match="a rejection without a reason"):
        Rejected(reasons=())
    with pytest.raises(MalformedError, match="a rejection without a reason"):
        decode_record(b'{"reasons":[],"verdict":"rejected"}', Rejected)


def test_an_origin_is_one_of_the_list() -> None:
    line = b'{"reasons":[{"due":"b","found":"a","origin":"agent","where":"acts[1]"}],"verdict":"rejected"}'
    with pytest.raises(MalformedError, match="Invalid enum value 'agent'"):
        decode_record(line, Rejected)


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        (Accepted(), b'{"verdict":"accepted"}'),
        (Abstained(missing="roots"), b'{"missing":"roots","verdict":"abstained"}'),
        (Errored(message="stack"), b'{"message":"stack","verdict":"errored"}'),
        (
            Rejected(reasons=(reason("lineage"),)),
            b'{"reasons":[{"due":"b","found":"a","origin":"lineage","where":"acts[1]"}],"verdict":"rejected"}',
        ),
    ],
)
def test_a_verdict_is_one_line(verdict: Verdict, line: bytes) -> None:
    assert reencode(verdict) == line  # type: ignore[arg-type]
    assert decode_record(line, Verdict) == verdict  # type: ignore[arg-type]


def test_a_reason_reads_as_a_sentence() -> None:
    assert str(reason("boundary")) == "boundary at acts[1]: found a, due b"


def test_verdicts_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Accepted().verdict = "rejected"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        reason("evidence").origin = "judgment"  # type: ignore[misc]
