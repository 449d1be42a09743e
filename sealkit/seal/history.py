"""Reads a journal, its episodes and its calls, side by side, and checks every byte of them.

    for entry, episode in history:      # episode: its line, for an `episode` entry; else None
        history.calls               # the lines of calls.jsonl that this entry tells of; b"" if it tells of none
    history.head                        # and only now is what was read known to be whole

What is read is fixed under the lock at the start, so a run may go on meanwhile. Each line is checked as it is
passed on: its spelling, its number, the line before it, episode and calls against their digests. What only the end
can show raises at the end: entries that HEAD counts and the journal lacks, a HEAD that does not fit, bytes
that no entry accounts for, an anchor (a head quoted outside the folder) that was not met, an amendment without
its entry, a merge that was cut off. So a reader that stops early has checked less.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from sealkit.files import Folder, open_safely
from sealkit.plan.schema import Spec
from sealkit.plan.slots import slot_count
from sealkit.seal.appendlog import open_log
from sealkit.seal.dropped import Dropped
from sealkit.seal.in_force import Due, InForce
from sealkit.seal.journal import CALLS, EPISODES, HEAD, JOURNAL, LockedJournal, locked_journal
from sealkit.wire.canon import MAX_LINE
from sealkit.wire.chain import Entry, follow
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import MalformedError, UntrustedError
from sealkit.wire.events import MAX_CALLS, CallLines, EpisodeKept, Event, Sealed, Sharded, Slot, call_lines, calls_of
from sealkit.wire.journal_head import EMPTY, JournalHead
from sealkit.wire.merged import Taken, check_in_shard
from sealkit.wire.order import Order
from sealkit.wire.records import Level

REPAIR = "a crash leaves this; `sealkit run` repairs it"
TAMPERED = "no crash leaves this"


class Anchor(msgspec.Struct, frozen=True):
    """A head that something outside the journal quotes: after `count` entries, the last has this digest.

    `outside` says that the source lies outside the study's folder: whoever wrote the folder did not write it.
    """

    count: int
    digest: str
    source: str
    outside: bool = False


class History:
    """One reading of the journal in a folder; `open_history` makes one. Iterate over it once, to its end."""

    def __init__(
        self,
        folder: Path,
        inside: Path,
        sizes: tuple[int, int, int],
        head: JournalHead | None,
        first: Sealed | Sharded | None,
    ) -> None:
        self.folder = folder
        self.anchored: tuple[Anchor, ...] = ()
        self.clock_went_back: tuple[int, ...] = ()  # entries that are timed before the entry before them
        self.head = EMPTY  # of what was read so far
        self.calls = b""  # of the entry that was passed on last
        self._anchors: dict[int, list[Anchor]] = {}
        self._inside = inside
        self._journal_size, self._episodes_size, self._calls_size = sizes
        self._due = head
        self._first = first
        self._lacks_last = False
        self._cut_off = False
        self.in_force: InForce | None = InForce(first, (), None) if isinstance(first, Sealed) else None
        self.dropped: Dropped | None = None
        self._order = Order()
        self.taken: Taken | None = Taken(first) if isinstance(first, Sealed) else None

    @property
    def due(self) -> int:
        """How many entries HEAD counted when this reading began."""
        return 0 if self._due is None else self._due.count

    def amended(self, due: tuple[Due, ...], *, plans: Sequence[Spec], lacks_last: bool = False) -> None:
        """Hold what is read against these amendments; `plans` has the sealed plan, then that of each of them.

        Call it before iterating. `lacks_last` is for whoever completes an amendment: that the last one has no entry yet
        does not raise.
        """
        if isinstance(self._first, Sealed):
            slots = slot_count(plans[0], "confirmatory")
            self.in_force, self._lacks_last = InForce(self._first, due, slots), lacks_last
            self.dropped = Dropped(plans)

    def merging(self) -> None:
        """For whoever completes a merge: that one was cut off does not raise. Call it before iterating."""
        self._cut_off = True

    def anchor(self, anchors: Iterable[Anchor]) -> None:
        """Hold what is read against `anchors` too. Call it before iterating."""
        for anchor in anchors:
            self._anchors.setdefault(anchor.count, []).append(anchor)

    def __iter__(self) -> Iterator[tuple[Entry, bytes | None]]:
        """Every entry, with its episode's line if it has one."""
        with self._open(JOURNAL) as journal, self._open(EPISODES) as episodes, self._open(CALLS) as calls:
            time, met = "", False
            for line in self._whole_lines(journal):
                entry, self.head = follow(self.head, line, file=str(self._journal))
                if not entry.seq:
                    self._check_first(entry)
                self._hold(entry)
                if entry.shard is None:  # a shard's entries keep the times of its own clock
                    if entry.time < time:
                        self.clock_went_back += (entry.seq,)
                    time = entry.time
                if self.head.count in self._anchors:
                    self._meet(self.head)
                met = met or self.head == self._due
                event = entry.event
                told = calls_of(event)
                self.calls = b"" if told is None else self._block(calls, entry.seq, told)
                if type(event) is EpisodeKept:
                    yield entry, self._episode(episodes, entry.seq, event)
                else:
                    yield entry, None
            self._check_end(met)
            self._check_calls_end(calls)
            self._check_episodes_end(episodes)
        for anchor in (anchor for group in self._anchors.values() for anchor in group):
            if anchor.count > self.head.count:
                raise UntrustedError(
                    f"{anchor.source} quotes {anchor.count} entries, but the journal holds {self.head.count}",
                    where=str(self._journal),
                    remedy="an older copy was put back",
                )
        if self.in_force is not None:
            self.in_force.end(where=str(self._journal), lacking=int(self._lacks_last))
        if self.taken is not None and not self._cut_off:
            self.taken.end(str(self._journal))

    def entries(self) -> Iterator[Entry]:
        """The entries alone, checked in the same way."""
        return (entry for entry, _ in self)

    @property
    def _journal(self) -> Path:
        return self.folder / JOURNAL

    def _open(self, name: str) -> BinaryIO:
        try:
            return open(open_safely(self.folder / name, inside=self._inside), "rb")
        except FileNotFoundError:
            if name == JOURNAL:
                raise UntrustedError("there is no journal", where=str(self._journal), remedy=TAMPERED) from None
            return io.BytesIO()  # nothing was kept in it yet, or else the first check of what is due names it

    def _whole_lines(self, journal: BinaryIO) -> Iterator[bytes]:
        """The journal's lines without their newlines; a torn last one is left for `_check_end`."""
        left = self._journal_size
        while left:
            line = journal.readline(min(left, MAX_LINE + 2))
            left -= len(line)
            if not line.endswith(b"\n"):
                if line and left:
                    where = f"{self._journal} entry {self.head.count}"
                    raise MalformedError(f"a line of more than {MAX_LINE} bytes", where=where)
                return
            yield line[:-1]

    def _episode(self, episodes: BinaryIO, seq: int, event: EpisodeKept) -> bytes:
        where = f"{self.folder / EPISODES}: {spell_slot(event.slot)} (entry {seq})"
        if event.bytes > MAX_LINE:
            raise MalformedError(f"an episode of {event.bytes} bytes, due at most {MAX_LINE}", where=where)
        line = episodes.read(event.bytes + 1)
        if len(line) <= event.bytes or not line.endswith(b"\n") or digest_bytes(line[:-1]) != event.digest:
            due = f"the episode of digest {short(event.digest)} that was journaled"
            raise UntrustedError(f"evidence: found {_describe(line)}, due {due}", where=where, remedy=TAMPERED)
        return line[:-1]

    def _block(self, calls: BinaryIO, seq: int, told: CallLines) -> bytes:
        where = f"{self.folder / CALLS} (entry {seq})"
        if told.bytes > MAX_CALLS:
            raise MalformedError(f"calls of {told.bytes} bytes, due at most {MAX_CALLS}", where=where)
        block = calls.read(told.bytes)
        if not block.endswith(b"\n") or call_lines(block) != told:
            at = self.head.calls_size - told.bytes
            found = f"{len(block)} bytes from byte {at} on with digest {short(digest_bytes(block))}"
            due = f"{told.count} lines, {told.bytes} bytes with digest {short(told.digest)}, that were journaled"
            raise UntrustedError(f"evidence: found {found}, due {due}", where=where, remedy=TAMPERED)
        return block

    def _check_first(self, entry: Entry) -> None:
        if self._first is not None and entry.event != self._first:
            raise UntrustedError(
                f"found {_name(entry.event)}, due {_name(self._first)}",
                where=f"{self._journal} entry 0",
                remedy="this journal belongs to another seal",
            )

    def _hold(self, entry: Entry) -> None:
        """Hold an entry against those before it, the pins in force, and shards: taken over, or its own."""
        where = f"{self._journal} entry {entry.seq}"
        self._order.follow(entry, where)
        if self.in_force is not None:
            self.in_force.follow(entry, where)
        if self.dropped is not None:
            self.dropped.follow(entry.event, where)
        if isinstance(self._first, Sharded):
            check_in_shard(entry.event, self._first, first=not entry.seq, where=where)
        if self.taken is not None:
            pin = self.in_force.pin if self.in_force is not None else ""
            self.taken.follow(entry, self.head.digest, pin, where)

    def _meet(self, head: JournalHead) -> None:
        for anchor in self._anchors[head.count]:
            if anchor.digest != head.digest:
                found, due = short(head.digest or ""), short(anchor.digest)
                raise UntrustedError(
                    f"found {found}, but {anchor.source} quotes {due}",
                    where=f"{self._journal} entry {head.count - 1}",
                    remedy="the journal was written anew",
                )
            self.anchored += (anchor,)

    def _check_end(self, met: bool) -> None:
        """Compare where the whole lines end with HEAD and with the file's size."""
        due, head, where = self._due, self.head, str(self._journal)
        torn = self._journal_size - head.size
        if due is None and head.count > 1:
            raise UntrustedError("there is no HEAD", where=str(self.folder / HEAD), remedy=TAMPERED)
        if due is None and not head.count and not torn:
            raise UntrustedError("the journal is empty", where=where, remedy="`sealkit seal` completes a first entry")
        due = due or EMPTY
        if head.count < due.count:
            what = f"holds {head.count} entries, but HEAD counts {due.count}: the last were dropped or cut"
            raise UntrustedError(what, where=where, remedy=TAMPERED)
        if not met and due.count:
            where = f"{where} entry {due.count - 1}"
            raise UntrustedError("is not the entry that HEAD names: one of them was edited", where=where)
        behind = head.count - due.count
        if behind > 1 or (behind and torn):
            what = f"HEAD counts {due.count} entries, but the journal holds {head.count}: an older HEAD was put back"
            raise UntrustedError(what, where=str(self.folder / HEAD), remedy=TAMPERED)
        if torn:
            what = f"a torn tail: {torn} bytes behind the last whole line, at byte {head.size}"
            raise UntrustedError(what, where=where, remedy=REPAIR)
        if behind:
            what = f"HEAD is one behind: it counts {due.count} entries of {head.count}"
            raise UntrustedError(what, where=str(self.folder / HEAD), remedy=REPAIR)

    def _check_calls_end(self, calls: BinaryIO) -> None:
        extra = self._calls_size - self.head.calls_size
        if extra > 0:
            raise UntrustedError(
                f"evidence: {extra} bytes from byte {self.head.calls_size} on that no entry of the journal knows",
                where=str(self.folder / CALLS),
                remedy="a run killed before the entry leaves these, and `sealkit run` moves them aside",
            )

    def _check_episodes_end(self, episodes: BinaryIO) -> None:
        extra = self._episodes_size - self.head.episodes_size
        if extra > 0:
            line = episodes.read(min(extra, MAX_LINE + 1))
            raise UntrustedError(
                f"evidence: {extra} bytes from byte {self.head.episodes_size} on that no entry of the journal knows: "
                f"{_describe(line)}",
                where=str(self.folder / EPISODES),
                remedy="a run killed before the entry leaves one episode, and `sealkit run` moves it aside",
            )


def open_history(
    folder: Path, *, inside: Path, first: Sealed | Sharded | None, anchors: Iterable[Anchor] = ()
) -> History:
    """The journal and episodes of `folder` as they stand now, to be read and checked.

    `first` is what entry 0 must say; None where no seal begins the journal, as in a pilot.
    """
    with locked_journal(folder, inside=inside, writes=False) as log:
        history = history_locked(log, inside=inside, first=first)
    history.anchor(anchors)
    return history


def history_locked(log: LockedJournal, *, inside: Path, first: Sealed | Sharded | None) -> History:
    """What `open_history` gives, for whoever holds the lock on the journal already."""
    sizes = (log.size(), _size(log.folder, EPISODES), _size(log.folder, CALLS))
    return History(log.folder.path, inside, sizes, log.head(), first)


def _size(folder: Folder, name: str) -> int:
    try:
        with open_log(folder, name, writes=False) as log:
            return log.size()
    except FileNotFoundError:
        return 0


def spell_slot(slot: Mapping[str, Level]) -> str:
    """A slot as `sealkit show --debug` takes it: `arm=A,family=noise,seed=3`; escaped if it is not plain ASCII."""
    text = ",".join(f"{name}={level}" for name, level in sorted(slot.items()))
    return text if text.isascii() and text.isprintable() else ascii(text)


def _name(event: Event) -> str:
    pin = f" under pin {short(event.pin)}" if isinstance(event, (Sealed, Sharded)) else ""
    return f"{event.__struct_config__.tag}{pin}"


class _Slotted(msgspec.Struct):
    """As much of an episode as a message needs."""

    slot: Slot


def _describe(line: bytes) -> str:
    """What these bytes of episodes.jsonl are, for a message."""
    if not line:
        return "nothing"
    whole = line.partition(b"\n")[0]
    try:
        slot = msgspec.json.decode(whole, type=_Slotted).slot
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return f"{len(whole)} bytes that are no whole episode"
    return f"an episode of {spell_slot(slot)} with digest {short(digest_bytes(whole))}"
