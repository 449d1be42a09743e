"""The journal's lines, and the rule that chains them.

A line is a canonical `Entry`: its number, the digest of the line before it (null for line 0), the time, and
the event. Nothing else orders the journal: the time is advisory, a clock may go back.

>>> from sealkit.wire.events import Recovered
>>> from sealkit.wire.journal_head import EMPTY
>>> first = encode_record(Entry(seq=0, prev=None, time="2026-11-30T12:00:00Z", event=Recovered(entry=0)))
>>> first
b'{"event":{"entry":0,"kind":"recovered"},"prev":null,"seq":0,"time":"2026-11-30T12:00:00Z","type":"sealkit/entry/v1"}'

`follow` checks one line against all lines before it, of which it needs only how many there were and the
digest of the last; that pair, with the sizes of journal.jsonl, episodes.jsonl and calls.jsonl so far, is a
`JournalHead`, kept in the file HEAD:

>>> entry, head = follow(EMPTY, first)
>>> head.count, short(head.digest), head.size
(1, '72aa32d591b9', 117)
>>> follow(head, first)
Traceback (most recent call last):
    ...
sealkit.wire.errors.UntrustedError: journal.jsonl entry 1: found entry number 0, due 1; an entry was dropped, doubled or moved

Refused: another spelling than the canonical one, an unknown kind or field, a number or `prev` that does not
follow. A head is quoted elsewhere as `N:sha256:…`: after N entries, the last has this digest.
"""  # noqa: E501 - a message is as long as it is

from __future__ import annotations

import re

import msgspec

from sealkit.wire.canon import MAX_LINE, decode_record, encode_record, reencode
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import MalformedError, UntrustedError
from sealkit.wire.events import EpisodeKept, Event, calls_of
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.records import Count, Record

is_time = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)Z\Z"
).match


class Entry(Record, frozen=True, omit_defaults=True, tag_field="type", tag="sealkit/entry/v1"):
    """One line of a journal.

    With `shard` it is the next entry of that shard's journal, taken over with the time that it has there. No other line
    has that member, not even as null: so lines are spelled as they were before there were shards.
    """

    seq: Count
    prev: str | None
    time: str
    event: Event
    shard: Count | None = None


_decoder = msgspec.json.Decoder(Entry)


def follow(head: JournalHead, line: bytes, *, file: str = "journal.jsonl") -> tuple[Entry, JournalHead]:
    """The entry that `line`, without its newline, adds to the journal up to `head`, and the head after it."""
    try:
        entry = _decoder.decode(line)
        plain = reencode(entry) == line and line.isascii() and len(line) <= MAX_LINE
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        plain = False
    if not plain:  # whatever the fault is, the slower way names it; a line beyond ASCII may yet be in order
        entry = decode_record(line, Entry, where=f"{file} entry {head.count}")
    if entry.seq != head.count or entry.prev != head.digest or not is_time(entry.time):
        raise _broken(entry, head, f"{file} entry {head.count}")
    return entry, _after(head, line, entry.event)


def extend(head: JournalHead, event: Event, time: str, *, shard: int | None = None) -> tuple[bytes, JournalHead]:
    """The line, without its newline, that records `event` after `head`, and the head after it.

    `time` is in UTC, in whole seconds: `2026-11-30T12:00:00Z`. `shard` is for an entry taken over from one.
    """
    if not is_time(time):
        raise MalformedError(f"found {time!r}, due YYYY-MM-DDThh:mm:ssZ", where="time")
    line = encode_record(Entry(seq=head.count, prev=head.digest, time=time, event=event, shard=shard))
    return line, _after(head, line, event)


def _after(head: JournalHead, line: bytes, event: Event) -> JournalHead:
    episode = event.bytes + 1 if type(event) is EpisodeKept else 0
    calls = calls_of(event)
    return JournalHead(
        count=head.count + 1,
        digest=digest_bytes(line),
        size=head.size + len(line) + 1,
        episodes_size=head.episodes_size + episode,
        calls_size=head.calls_size + (0 if calls is None else calls.bytes),
    )


def _broken(entry: Entry, head: JournalHead, where: str) -> UntrustedError | MalformedError:
    if entry.seq != head.count:
        remedy = "an entry was dropped, doubled or moved"
        return UntrustedError(f"found entry number {entry.seq}, due {head.count}", where=where, remedy=remedy)
    if entry.prev != head.digest:
        found, due = (short(digest) if digest else "null" for digest in (entry.prev, head.digest))
        what = f"it follows {found}, but the entry before it is {due}"
        return UntrustedError(what, where=where, remedy="that entry was edited")
    return MalformedError(f"its time is {entry.time!r}, due YYYY-MM-DDThh:mm:ssZ", where=where)
