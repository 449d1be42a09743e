"""The journal's chain rule, without files."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.wire.canon import MAX_INT, decode_record, encode_record
from sealkit.wire.chain import Entry, extend, follow, is_time
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError, SealkitError, UntrustedError
from sealkit.wire.events import (
    Admitted,
    Amended,
    Analysed,
    ArmCounts,
    Attempted,
    CallLines,
    Closed,
    EpisodeKept,
    Event,
    Failed,
    Looked,
    Opened,
    Paused,
    Phase,
    Recovered,
    Repaired,
    Sealed,
    Verified,
    Withdrawn,
    Withheld,
)
from sealkit.wire.journal_head import EMPTY, parse_head

TIME = "2026-11-30T12:00:00Z"
counts = st.integers(0, MAX_INT)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
digests = st.binary(max_size=4).map(digest_bytes)
names = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=10)
tallies = st.dictionaries(names, counts, max_size=3)
stages = st.sampled_from(["pilot", "smoke", "confirmatory"])
slots = st.dictionaries(names, st.one_of(st.integers(-MAX_INT, MAX_INT), words), max_size=4)

told = st.none() | st.builds(CallLines, count=st.integers(1, 2**20), bytes=st.integers(1, 2**30), digest=digests)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(Sealed, plan=words, pin=digests),
    st.builds(Opened, stage=stages, pin=digests, sealkit=words, environment=digests),
    st.builds(Attempted, stage=stages, pin=digests, slot=slots, attempt=counts),
    st.builds(
        EpisodeKept, stage=stages, pin=digests, slot=slots, attempt=counts, digest=digests,
        bytes=st.integers(0, 2**30), calls=told,
    ),
    st.builds(Failed, stage=stages, pin=digests, slot=slots, attempt=counts, ending=words, why=words, calls=told),
    st.builds(Paused, stage=stages, reason=words, detail=words, calls=told),
    st.builds(Closed, stage=stages, slots=counts, episodes=counts, abandoned=counts, missing=counts),
    st.builds(Recovered, entry=counts),
    st.builds(Repaired, file=words, offset=counts, bytes=counts, digest=digests, moved_to=words),
    st.builds(
        Verified, verifiers=st.dictionaries(names, digests), accepted=counts, rejected=tallies, abstained=counts,
        errored=counts,
    ),
    st.builds(
        Admitted,
        arms=st.dictionaries(
            names, st.builds(ArmCounts, admitted=counts, excluded=tallies, errored=counts, missing=counts), max_size=3
        ),
    ),
    st.builds(Looked, what=words),
    st.builds(Analysed, results=digests),
    st.builds(Amended, number=counts, pin=digests, phase=st.sampled_from(get_args(Phase))),
    st.builds(Withheld, digest=digests, reason=words),
    st.builds(Withdrawn, what=words, reason=words),
)  # fmt: skip


@given(st.lists(events, max_size=6))
def test_whatever_was_extended_is_followed_to_the_same_head(happened: list[Event]) -> None:
    lines, written = [], EMPTY
    for event in happened:
        line, written = extend(written, event, TIME)
        lines.append(line)
    head, read = EMPTY, []
    for line in lines:
        entry, head = follow(head, line)
        read.append(entry.event)
    assert (read, head) == (happened, written)
    assert head.size == sum(len(line) + 1 for line in lines)
    spent = [event.calls for event in happened if isinstance(event, (EpisodeKept, Failed, Paused))]
    assert head.calls_size == sum(calls.bytes for calls in spent if calls is not None)
    assert head.episodes_size == sum(event.bytes + 1 for event in happened if isinstance(event, EpisodeKept))


@settings(max_examples=60)
@given(st.lists(events, min_size=2, max_size=4), st.data())
def test_any_changed_byte_breaks_the_chain_or_moves_its_head(happened: list[Event], data: st.DataObject) -> None:
    lines, due = [], EMPTY
    for event in happened:
        line, due = extend(due, event, TIME)
        lines.append(line)
    number = data.draw(st.integers(0, len(lines) - 1))
    place = data.draw(st.integers(0, len(lines[number]) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != lines[number][place]))
    lines[number] = lines[number][:place] + bytes((other,)) + lines[number][place + 1 :]
    head = EMPTY
    try:
        for line in lines:
            _, head = follow(head, line)
    except SealkitError as error:
        assert "entry" in error.where
    else:
        assert number == len(lines) - 1 and head.digest != due.digest


def entry_line(**changes: object) -> bytes:
    entry = Entry(seq=0, prev=None, time=TIME, event=Looked(what="a"))
    return encode_record(msgspec.structs.replace(entry, **changes))


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        (entry_line(seq=1), UntrustedError, "found entry number 1, due 0; an entry was dropped, doubled or moved"),
        (
            entry_line(prev=digest_bytes(b"")),
            UntrustedError,
            "it follows e3b0c44298fc, but the entry before it is null",
        ),
        (entry_line(time="2026-11-30 12:00:00"), MalformedError, "its time is '2026-11-30 12:00:00'"),
        (b"", MalformedError, "entry 0: "),
        (b"\xff", MalformedError, "entry 0: "),
        (b"[" * 100_000, MalformedError, "entry 0: "),
        (entry_line() + b" ", MalformedError, "not the canonical spelling"),
        (entry_line().replace(b'"a"', b'"' + b"a" * (4 * 2**20) + b'"'), MalformedError, "a line of 4194"),
    ],
)
def test_a_line_that_does_not_follow_is_refused(line: bytes, kind: type[SealkitError], message: str) -> None:
    with pytest.raises(kind) as raised:
        follow(EMPTY, line)
    assert message in str(raised.value)


def test_text_beyond_ascii_is_followed_and_keys_beyond_it_are_not() -> None:
    line, head = extend(EMPTY, Looked(what="Ergebnisse für Zürich"), TIME)
    assert follow(EMPTY, line)[1] == head
    with pytest.raises(MalformedError, match="not ASCII"):
        extend(EMPTY, Attempted(stage="smoke", pin="", slot={"für": 1}, attempt=1), TIME)
    forged = line.replace(
        b'{"kind":"looked","what":"Ergebnisse f\xc3\xbcr Z\xc3\xbcrich"}',
        '{"attempt":1,"kind":"attempted","pin":"","slot":{"für":1},"stage":"smoke"}'.encode(),
    )
    assert forged != line
    with pytest.raises(MalformedError, match="not ASCII"):
        follow(EMPTY, forged)


@pytest.mark.parametrize(
    "text", ["", "2026-11-30T12:00:00", "2026-11-30T12:00:00+00:00", "2026-00-30T12:00:00Z", TIME + "\n"]
)
def test_a_time_is_written_in_one_way(text: str) -> None:
    assert is_time(TIME) and not is_time(text)
    with pytest.raises(MalformedError, match="due YYYY-MM-DDThh:mm:ssZ"):
        extend(EMPTY, Looked(what="a"), text)


def test_a_head_is_quoted_as_count_and_digest() -> None:
    _, head = extend(EMPTY, Looked(what="a"), TIME)
    assert parse_head(str(head), where="here") == (1, head.digest)
    with pytest.raises(MalformedError, match="here: found 'x'"):
        parse_head("x", where="here")


def test_the_first_lines_of_a_journal_stay_readable_for_ever() -> None:
    """Vectors of version 1: these bytes are never edited."""
    line = (
        b'{"event":{"kind":"sealed","pin":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",'
        b'"plan":"v1"},"prev":null,"seq":0,"time":"2026-11-30T12:00:00Z","type":"sealkit/entry/v1"}'
    )
    entry, head = follow(EMPTY, line)
    assert entry.event == Sealed(plan="v1", pin=digest_bytes(b""))
    assert head.digest == "sha256:92a5d1db29dbfcc8ba0e8bf00779b117e8df142464643eb8e5debaacb8aff14a"
    assert decode_record(line, Entry) == entry
