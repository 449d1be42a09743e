"""Shards of a run: what may stand in a shard's own journal, and how a main journal takes all of it over.

A shard's journal begins with `sharded`, which binds it to a seal, a pin, its share, and the head that the main journal
had then. `sealkit merge` takes each shard over whole, one shard after another:

    main   … merged(shard 1, its head)  shard 1's entries, each marked with its number  merged(shard 2, …)  … closed

A marked entry holds the event and the time of the shard's entry, so `Taken` writes the shard's lines again from the
main journal alone, chains them, and compares the end with the head that `merged` names: nobody needs the shard's
files to know that the copy is whole and in order. Only entries about a crash of the merge may stand between.

Refused: a shard twice or of another number of shards; a merge after an attempt of the main run; a shard of another
seal or pin, or begun after another history of the main journal; a marked entry that is not the next of its shard.
"""

from __future__ import annotations

from sealkit.wire.chain import (
    EMPTY,
    Asked,
    Attempted,
    Closed,
    Entry,
    EpisodeKept,
    Event,
    Failed,
    JournalHead,
    Merged,
    Opened,
    Paused,
    Read,
    Recovered,
    Repaired,
    Sealed,
    Sharded,
    Withheld,
    extend,
    parse_head,
)
from sealkit.wire.digest import short
from sealkit.wire.errors import UntrustedError

MOST_SHARDS = 9999
_PINNED = (Opened, Attempted, EpisodeKept, Failed, Asked, Read)
_OF_A_STAGE = (*_PINNED, Paused, Closed)
_IN_A_SHARD = (*_OF_A_STAGE, Sharded, Recovered, Repaired, Withheld)


def check_in_shard(event: Event, sharded: Sharded, *, first: bool, where: str) -> None:
    """Raise unless `event` may stand in the journal that `sharded` begins, as its first entry or a later one."""
    if not isinstance(event, _IN_A_SHARD) or isinstance(event, Sharded) != first:
        kind = event.__struct_config__.tag
        raise _refuse(f"found {kind}, which cannot stand here in a shard's journal", where)
    if first and event != sharded:
        raise _refuse("it begins another shard", where)
    if isinstance(event, _OF_A_STAGE) and event.stage != "confirmatory":
        raise _refuse(f"found an entry of the {event.stage} stage; only the confirmatory run has shards", where)
    if isinstance(event, _PINNED) and event.pin != sharded.pin:
        raise _refuse(f"found pin {short(event.pin)}, but the shard runs under {short(sharded.pin)}", where)


class Taken:
    """Follows a main journal and holds what it takes over from shards against the rules above."""

    __slots__ = ("_digests", "_first", "_sharded", "attempted", "head", "merged", "open")

    def __init__(self, first: Sealed) -> None:
        self.merged: list[Merged] = []
        self.open: Merged | None = None  # the shard whose entries are not all here yet
        self.head = EMPTY  # of that shard's journal, as far as it is here
        self._first = first
        self._sharded: Sharded | None = None
        self.attempted = False  # by the main run itself
        self._digests: list[str | None] = []  # of the main journal up to its first attempt: shards begin after one

    def follow(self, entry: Entry, digest: str | None, pin: str, where: str) -> None:
        """Take one more entry into account, whose line has that digest; `UntrustedError` if it cannot stand here.

        `pin` is the one in force.
        """
        event = entry.event
        if entry.shard is not None:
            self._take(entry, pin, where)
        elif self.open is not None and not isinstance(event, (Recovered, Repaired)):
            kind = event.__struct_config__.tag
            raise _refuse(f"found {kind} before shard {self.open.shard} was taken over whole", where)
        elif isinstance(event, Sharded):
            raise _refuse("found sharded, which begins a shard's own journal", where)
        elif isinstance(event, Merged):
            self._begin(event, where)
        elif isinstance(event, Attempted) and event.stage == "confirmatory":
            self.attempted = True
        if not self.attempted and not self.merged:
            self._digests.append(digest)

    def end(self, where: str) -> None:
        """Raise if a merge was cut off."""
        if self.open is not None:
            what = f"holds {self.head.count} of the {self.open.head.count} entries of shard {self.open.shard}"
            remedy = "a merge was cut off; `sealkit merge` completes it"
            raise UntrustedError(what, where=where, remedy=remedy)

    def met(self, after: str, where: str) -> None:
        """Raise unless the main journal, before its first attempt, had the head `after`."""
        count, digest = parse_head(after, where=where)
        if count > len(self._digests) or self._digests[count - 1] != digest:
            what = f"it began after {count} entries of another main journal than this"
            raise UntrustedError(what, where=where, remedy="shards belong to the copy of the study that they began in")

    def _begin(self, event: Merged, where: str) -> None:
        if self.attempted:
            raise _refuse("a merge after an attempt of the main run", where)
        if not 1 <= event.shard <= event.of <= MOST_SHARDS or event.head.count < 1:
            raise _refuse(f"found shard {event.shard} of {event.of} with {event.head.count} entries", where)
        if any(one.shard == event.shard or one.of != event.of for one in self.merged):
            raise _refuse(f"shard {event.shard} of {event.of} does not fit those merged before", where)
        self.merged.append(event)
        self.open, self.head, self._sharded = event, EMPTY, None

    def _take(self, entry: Entry, pin: str, where: str) -> None:
        merged, event = self.open, entry.event
        if merged is None or entry.shard != merged.shard:
            raise _refuse(f"found an entry of shard {entry.shard}, which no `merged` has announced", where)
        if self._sharded is None:
            self._sharded = self._bound(event, merged, pin, where)
        check_in_shard(event, self._sharded, first=not self.head.count, where=where)
        _, self.head = extend(self.head, event, entry.time)
        if self.head.count == merged.head.count:
            if self.head != merged.head:
                found, due = _ends(self.head), _ends(merged.head)
                what = f"the entries of shard {merged.shard} end in {found}, but its journal ends in {due}"
                raise UntrustedError(what, where=where, remedy="one of them was edited")
            self.open = None

    def _bound(self, event: Event, merged: Merged, pin: str, where: str) -> Sharded:
        """The entry that begins the shard, bound to this seal, the pin in force, this share and this journal."""
        if not isinstance(event, Sharded) or (event.shard, event.of) != (merged.shard, merged.of):
            raise _refuse(f"it does not begin shard {merged.shard} of {merged.of}", where)
        if (event.plan, event.seal, event.pin) != (self._first.plan, self._first.pin, pin):
            raise UntrustedError("evidence: a shard of another seal or pin", where=where)
        self.met(event.after, where)
        return event


def _ends(head: JournalHead) -> str:
    return f"{head.count}:{short(head.digest or '')} ({head.size} and {head.episodes_size} bytes)"


def _refuse(what: str, where: str) -> UntrustedError:
    return UntrustedError(f"evidence: {what}", where=where, remedy="no merge writes this")
