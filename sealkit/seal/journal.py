"""The journal of a sealed plan: what happened, in order, in a file that only grows.

`receipts/<plan id>/` holds four files that belong together:

    journal.jsonl    one canonical `wire.chain.Entry` a line, each with the digest of the line before
    HEAD             one canonical `JournalHead`: how many entries, the digest of the last, the files' sizes
    episodes.jsonl   the episodes, in the order of the journal's `episode` entries
    calls.jsonl      the calls to models, in the order of the entries that end an attempt; none if none was made

Every change is made under one lock, in this order, each step on disk before the next:

    [lines of calls →] [episode line →] journal line → HEAD replaced

so whatever a crash leaves is one of the states that `seal.recovery` tells apart, and nothing that HEAD counts
is ever lost. An append costs the same at a hundred entries and at a hundred thousand: it compares the journal's
size, its last byte and HEAD, and reads the last line only if another process has written since.

`seal.history` reads and checks all of it; `Journal` writes.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sealkit.files import Folder, open_folder, read_if_there, replace_file, sync_folder
from sealkit.seal.appendlog import AppendLog, open_log
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.chain import Entry, extend
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import OutOfOrderError, UntrustedError
from sealkit.wire.events import EpisodeKept, Event, Opened, Sealed, Sharded, Slot, Stage, call_lines, calls_of
from sealkit.wire.journal_head import EMPTY, JournalHead

JOURNAL = "journal.jsonl"
HEAD = "HEAD"
EPISODES = "episodes.jsonl"
CALLS = "calls.jsonl"
BLOBS = "blobs"
_MAX_HEAD = 1024


class Journal:
    """Appends to the journal in `folder`, which lies in the study folder `inside`."""

    __slots__ = ("_known", "folder", "inside")

    def __init__(self, folder: Path, *, inside: Path) -> None:
        self.folder = folder
        self.inside = inside
        self._known: JournalHead | None = None  # the head that this object has seen to end the journal

    @classmethod
    def start(cls, folder: Path, first: Sealed | Opened | Sharded, *, inside: Path, now: datetime) -> Journal:
        """A new journal with `first` as its first entry; `OutOfOrderError` if there is one already."""
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
        journal = cls(folder, inside=inside)
        with journal.locked(create=True) as log:
            if log.size() or log.head() is not None:
                raise OutOfOrderError("there is a journal already", where=str(folder / JOURNAL))
            journal.append_locked(log, EMPTY, first, now)
        return journal

    @classmethod
    def open(cls, folder: Path, *, inside: Path) -> Journal:
        """The journal in `folder`, ready to be appended to.

        `UntrustedError` if it is missing, empty or does not end where HEAD says; whether its entries
        follow from one another is for `seal.history`.
        """
        journal = cls(folder, inside=inside)
        with journal.locked() as log:
            journal._check_head(log)
        return journal

    @property
    def head(self) -> JournalHead:
        """The head as this object last saw it."""
        return self._known or EMPTY

    def append(self, event: Event, *, now: datetime, calls: bytes = b"") -> JournalHead:
        """`event` is the last entry, on disk, after this; the head that counts it.

        `calls` are the lines of calls.jsonl that the event tells of; they are on disk before it.
        """
        with self.locked() as log:
            before = self._check_head(log)
            written = extend(before, event, utc(now))  # what cannot be written leaves no calls behind
            _append_calls(log.folder, before, event, calls)
            return self._write(log, before, *written)

    def append_episode(
        self, line: bytes, *, stage: Stage, pin: str, slot: Slot, attempt: int, now: datetime, calls: bytes = b""
    ) -> JournalHead:
        """The lines of its calls, the episode `line`, then its entry, are on disk after this, one behind the other."""
        kept = EpisodeKept(
            stage=stage, pin=pin, slot=slot, attempt=attempt, digest=digest_bytes(line), bytes=len(line),
            calls=call_lines(calls),
        )  # fmt: skip
        with self.locked() as log:
            before = self._check_head(log)
            written = extend(before, kept, utc(now))
            _append_calls(log.folder, before, kept, calls)
            with open_log(log.folder, EPISODES, writes=True, create=True) as episodes:
                episodes.append(line, due=before.episodes_size)
            return self._write(log, before, *written)

    def take_over(self, entry: Entry, episode: bytes | None, calls: bytes, *, shard: int) -> JournalHead:
        """A shard's `entry`, with its time, is the last entry here, after what it tells of: calls, an episode."""
        with self.locked() as log:
            before = self._check_head(log)
            written = extend(before, entry.event, entry.time, shard=shard)
            _append_calls(log.folder, before, entry.event, calls)
            if episode is not None:
                with open_log(log.folder, EPISODES, writes=True, create=True) as episodes:
                    episodes.append(episode, due=before.episodes_size)
            return self._write(log, before, *written)

    @contextmanager
    def locked(self, *, create: bool = False) -> Iterator[LockedJournal]:
        """The journal's file, which no other process reads or writes meanwhile."""
        with locked_journal(self.folder, inside=self.inside, writes=True, create=create) as log:
            yield log

    def append_locked(self, log: LockedJournal, head: JournalHead, event: Event, now: datetime) -> JournalHead:
        """What `append` does once it holds the lock and has checked the head."""
        return self._write(log, head, *extend(head, event, utc(now)))

    def _write(self, log: LockedJournal, before: JournalHead, line: bytes, after: JournalHead) -> JournalHead:
        log.append(line, due=before.size)
        log.set_head(after)
        self._known = after
        return after

    def _check_head(self, log: LockedJournal) -> JournalHead:
        """The head, after checking that the journal ends in the entry that it names."""
        head = log.head()
        if head is None:
            raise UntrustedError("there is no HEAD", where=str(self.folder / HEAD), remedy=REPAIR)
        log.check_end(head.size)
        if head != self._known and digest_bytes(log.last_line(head.size)) != head.digest:
            raise UntrustedError(f"entry {head.count - 1} is not the one that HEAD names", where=str(log.path))
        self._known = head
        return head


def _append_calls(folder: Folder, head: JournalHead, event: Event, block: bytes) -> None:
    if calls_of(event) != call_lines(block):
        raise ValueError("the event tells of other calls than are given")
    if block:
        with open_log(folder, CALLS, writes=True, create=True) as log:
            log.append_lines(block, due=head.calls_size)


class LockedJournal(AppendLog):
    """The open file of a journal whose lock is held, and the HEAD beside it."""

    __slots__ = ("folder",)

    def __init__(self, folder: Folder, log: AppendLog) -> None:
        super().__init__(log.path, log.descriptor)
        self.folder = folder

    def head(self) -> JournalHead | None:
        """What HEAD says; None if there is none."""
        return _parse_head(self.folder.read(HEAD, limit=_MAX_HEAD), self.folder.path / HEAD)

    def set_head(self, head: JournalHead) -> None:
        """HEAD says `head`, on disk, after this."""
        self.folder.replace(HEAD, encode_record(head) + b"\n")


@contextmanager
def locked_journal(folder: Path, *, inside: Path, writes: bool, create: bool = False) -> Iterator[LockedJournal]:
    """The journal in `folder` with its lock, shared unless it `writes`; `UntrustedError` if there is none."""
    try:
        opened = open_folder(folder, inside=inside)
    except FileNotFoundError as error:
        raise _missing(folder) from error
    with opened:
        try:
            log = open_log(opened, JOURNAL, writes=writes, create=create)
        except FileNotFoundError as error:
            raise _missing(folder) from error
        with log:
            log.lock(shared=not writes)
            yield LockedJournal(opened, log)


def _missing(folder: Path) -> UntrustedError:
    remedy = "it was removed, or `sealkit seal` was cut off and completes it"
    return UntrustedError("there is no journal", where=str(folder / JOURNAL), remedy=remedy)


REPAIR = "`sealkit run` repairs what a crash left; anything else is tampering"


def read_head(folder: Path, *, inside: Path) -> JournalHead | None:
    """What HEAD in `folder` says; None if there is none."""
    path = folder / HEAD
    return _parse_head(read_if_there(path, inside=inside, limit=_MAX_HEAD), path)


def write_head(folder: Path, head: JournalHead) -> None:
    """HEAD in `folder` says `head`, on disk, after this."""
    replace_file(folder / HEAD, encode_record(head) + b"\n")


def _parse_head(raw: bytes | None, path: Path) -> JournalHead | None:
    if raw is None:
        return None
    if not raw.endswith(b"\n"):
        raise UntrustedError("found no newline at its end", where=str(path), remedy="no crash leaves that")
    return decode_record(raw[:-1], JournalHead, where=str(path))


@contextmanager
def exclusive(folder: Path, *, inside: Path, shared: bool = False, then: str = "") -> Iterator[None]:
    """Nobody else runs in `folder` meanwhile; `OutOfOrderError` at once if somebody does, which says to type `then`.

    With `shared`, others who share it may: the shards of a run, beside which nobody writes to the main journal.
    """
    try:
        opened = open_folder(folder, inside=inside)
    except FileNotFoundError as error:
        raise _missing(folder) from error
    with opened:
        try:
            fcntl.flock(opened.descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            what = "another sealkit is at work here: a run, an amendment or a publication"
            remedy = f"wait for it to end{f', then: {then}' if then else ''}"
            raise OutOfOrderError(what, where=str(folder), remedy=remedy) from None
        yield


def utc(now: datetime) -> str:
    """`now`, which knows its zone, as journals and seals write it."""
    if now.tzinfo is None:
        raise ValueError("a time without its zone")
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
