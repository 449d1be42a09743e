"""The journal's chain, line by line; files and locks are tested in tests/seal."""

from __future__ import annotations

import msgspec
import pytest

from sealkit.wire.canon import MAX_LINE, encode_record, reencode
from sealkit.wire.chain import extend, follow
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError, UntrustedError
from sealkit.wire.events import Event, Looked, Read, Recovered, call_lines, calls_of
from sealkit.wire.journal_head import EMPTY, JournalHead, parse_head
from tests.wire import sample

TIME = "2026-03-01T09:00:00Z"
EVENTS: tuple[Event, ...] = (Looked(what="one"), sample.ENTRY.event, Looked(what="two → ü"), Recovered(entry=2))


def journal() -> tuple[list[bytes], list[JournalHead]]:
    lines: list[bytes] = []
    heads = [EMPTY]
    for event in EVENTS:
        line, head = extend(heads[-1], event, TIME)
        lines.append(line)
        heads.append(head)
    return lines, heads


LINES, HEADS = journal()


def test_what_tells_of_calls_says_how_far_calls_jsonl_goes() -> None:
    told = call_lines(b'{"n":1}\n')
    pin = sample.PIN
    read = Read(
        stage="smoke", pin=pin, slot=sample.SLOT, attempt=1, episode=pin, reading="reader", level="aside",
        said=[{"subject": "door"}], ending="said", why="", calls=told,
    )  # fmt: skip
    line, head = extend(EMPTY, read, TIME)
    assert (head.calls_size, head.episodes_size) == (8, 0)
    assert follow(EMPTY, line)[0].event == read
    assert calls_of(Looked(what="one")) is None and calls_of(read) == told


def test_a_journal_follows_itself() -> None:
    head = EMPTY
    for number, line in enumerate(LINES):
        entry, head = follow(head, line)
        assert head == HEADS[number + 1]
        assert (entry.seq, entry.event, entry.time) == (number, EVENTS[number], TIME)
        assert entry.prev == (digest_bytes(LINES[number - 1]) if number else None)
    assert head.size == sum(len(line) + 1 for line in LINES)
    assert head.episodes_size == len(encode_record(sample.EPISODE)) + 1
    assert str(head) == f"4:{digest_bytes(LINES[-1])}"


@pytest.mark.parametrize("number", range(len(LINES)))
def test_only_the_next_line_follows(number: int) -> None:
    for other, line in enumerate(LINES):
        if other != number:
            with pytest.raises(UntrustedError, match=f"entry {number}: found entry number {other}, due {number}"):
                follow(HEADS[number], line)


def edited(number: int, **fields: object) -> bytes:
    entry, _ = follow(HEADS[number], LINES[number])
    return reencode(msgspec.structs.replace(entry, **fields))


def test_a_line_after_an_edited_one_does_not_follow() -> None:
    _, head = follow(HEADS[1], edited(1, event=Looked(what="else")))
    with pytest.raises(
        UntrustedError, match=r"entry 2: it follows [0-9a-f]{12}, but the entry before it is [0-9a-f]{12}"
    ):
        follow(head, LINES[2])
    with pytest.raises(UntrustedError, match="it follows null"):
        follow(HEADS[1], edited(1, prev=None))
    with pytest.raises(UntrustedError, match="but the entry before it is null"):
        follow(EMPTY, edited(0, prev=sample.PIN))


TIMES = ["", "2026-03-01 09:00:00Z", "2026-03-01T09:00:00+00:00", "2026-13-01T09:00:00Z", "2026-03-01T24:00:00Z",
         "2026-03-01T09:00:00.5Z", "2026-03-01T09:00:00Z\n", "2026-03-01"]  # fmt: skip


@pytest.mark.parametrize("time", TIMES)
def test_a_time_is_in_utc_and_whole_seconds(time: str) -> None:
    with pytest.raises(MalformedError, match="due YYYY-MM-DDThh:mm:ssZ"):
        extend(EMPTY, EVENTS[0], time)
    with pytest.raises(MalformedError, match="due YYYY-MM-DDThh:mm:ssZ"):
        follow(HEADS[1], edited(1, time=time))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        pytest.param(b"", "truncated", id="nothing"),
        pytest.param(b"\xff", "malformed", id="no JSON"),
        pytest.param(b'"\xff"', "Expected `object`|Invalid UTF-8", id="no UTF-8"),
        pytest.param(b"[" * 100_000, "Expected `object`", id="brackets"),
        pytest.param(LINES[0] + b" ", "canonical", id="space"),
        pytest.param(LINES[0].replace(b'"looked"', b'"peeked"'), "Invalid value 'peeked'", id="unknown kind"),
        pytest.param(LINES[0].replace(b'"what"', b'"when"'), "unknown field", id="unknown field"),
        pytest.param(LINES[0].replace(b'"one"', b'"\xff"'), "Invalid UTF-8", id="byte that is no UTF-8"),
        pytest.param(LINES[0].replace(b'"one"', b'"%s"' % (b"x" * MAX_LINE)), "due at most 4194304", id="too long"),
    ],
)
def test_a_malformed_line_is_named_with_its_place(line: bytes, what: str) -> None:
    with pytest.raises(MalformedError, match=f"j.jsonl entry 0: .*({what})"):
        follow(EMPTY, line, file="j.jsonl")


def test_a_head_is_quoted_and_read() -> None:
    assert parse_head(str(HEADS[4]), where="--expect") == (4, digest_bytes(LINES[3]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4",
        f"0:{sample.PIN}",
        f"04:{sample.PIN}",
        f"-1:{sample.PIN}",
        f"4:{sample.PIN}0",
        f"4:{sample.PIN}\n",
        "x" * 500,
    ],
)
def test_what_is_no_quoted_head(text: str) -> None:
    with pytest.raises(
        MalformedError, match=r"--expect: found .*, due N:sha256:… with N the number of entries"
    ) as refusal:
        parse_head(text, where="--expect")
    assert len(str(refusal.value)) < 250


def test_an_entry_tells_of_whole_lines_of_calls_or_of_none() -> None:
    assert call_lines(b"") is None
    with pytest.raises(MalformedError, match="the last line has no newline"):
        call_lines(b'{"n":1}')
