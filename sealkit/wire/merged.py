"""Shards of a run: what may stand in a shard's own journal, and how a main journal takes all of it over.

A shard's journal begins with `sharded`, which binds it to a seal, a pin, its share, and the head that the main journal
had then. `sealkit merge` takes each shard over whole, one shard after another:

    main   … merged(shard 1, its head)  shard 1's entries, each marked with its number  merged(shard 2, …)  … closed

A marked entry holds the event and the time of the shard's entry, so `Taken` writes the shard's lines again from the
main journal alone, chains them, and compares the end with the head that `merged` names: nobody needs the shard's
files to know that the copy is whole and in order. Only entries about a crash of the merge may stand between.

Where a shard is run in the main journal's own folder, that journal says so, at the beginning and the end of each run:

    main   … shard_head(1, 2:sha256:…)  shard_head(1, 9:sha256:…)  …  merged(shard 1, its head)  …

The first head of a run counts its `opened`. What is merged holds every head that was noted, and the main run does not
go on before each such shard is merged, or is said to be gone by `shard_lost`. So a shard that began here cannot be
begun anew, dropped, or cut back to before a run; a run that was killed, so that no end is noted, is named (`runs`).

Refused: a shard twice or of another number of shards; a merge after an attempt of the main run; a shard of another
seal or pin, or begun after another history of the main journal; a marked entry that is not the next of its shard; an
attempt or an amendment while a shard that began here is neither merged nor lost.
"""

from __future__ import annotations

from collections.abc import Mapping

from sealkit.wire.chain import Entry, extend
from sealkit.wire.digest import short
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import (
    Amended,
    Asked,
    Attempted,
    Closed,
    EpisodeKept,
    Event,
    Failed,
    Merged,
    Opened,
    Paused,
    Read,
    Recovered,
    Repaired,
    Sealed,
    Sharded,
    ShardHead,
    ShardLost,
    Withheld,
)
from sealkit.wire.journal_head import EMPTY, JournalHead, parse_head
from sealkit.wire.shardruns import ShardRuns

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

    __slots__ = (
        *("_digests", "_first", "_sharded", "after", "attempted", "begun", "head", "lost", "merged", "open"),
        *("runs", "shared_among"),
    )

    def __init__(self, first: Sealed) -> None:
        self.merged: list[Merged] = []
        self.shared_among: int | None = None
        self.open: Merged | None = None  # the shard whose entries are not all here yet
        self.head = EMPTY  # of that shard's journal, as far as it is here
        self._first = first
        self._sharded: Sharded | None = None
        self.attempted = False  # by the main run itself
        self.begun: dict[int, dict[int, str]] = {}  # of shards that began here: the heads that were noted, by count
        self.lost: set[int] = set()
        self.after = ""  # the head that a shard begins after: before any began here, as copies of the study have it too
        self.runs = ShardRuns()
        self._digests: list[str | None] = []  # of the main journal up to its first attempt: shards begin after one

    def heads(self, shard: int, of: int) -> Mapping[int, str]:
        """The heads at which this shard stood here, by their count; none of a shard that did not begin here."""
        return self.begun.get(shard, {}) if of == self.shared_among else {}

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
        elif isinstance(event, (ShardHead, ShardLost)):
            self._note(event, where)
        elif isinstance(event, Amended) or (isinstance(event, Attempted) and event.stage == "confirmatory"):
            if waiting := self.waiting:
                raise _refuse(f"shard {waiting[0]}, which began here, is neither merged nor lost", where)
            self.attempted = self.attempted or isinstance(event, Attempted)
        self.runs.follow(entry)
        if not self.attempted and not self.merged:
            self._digests.append(digest)
            if not self.begun:
                self.after = f"{len(self._digests)}:{digest}"

    @property
    def waiting(self) -> tuple[int, ...]:
        """The shards that began here and are neither merged nor lost."""
        return tuple(sorted(self.begun.keys() - self.lost - {one.shard for one in self.merged}))

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

    def _note(self, event: ShardHead | ShardLost, where: str) -> None:
        """A shard that is run here stands at a head, or is gone."""
        known = self.begun.get(event.shard)
        fits = 1 <= event.shard <= event.of <= MOST_SHARDS and self.shared_among in (None, event.of)
        if not fits or self.attempted or event.shard in self.lost | {one.shard for one in self.merged}:
            raise _refuse(f"shard {event.shard} of {event.of} can neither stand nor be lost here", where)
        self.shared_among = event.of
        if isinstance(event, ShardLost):
            if known is None:
                raise _refuse(f"shard {event.shard} of {event.of} is lost, which did not begin here", where)
            self.lost.add(event.shard)
            return
        count, digest = parse_head(event.head, where=where)
        # A run that ended before its first attempt ends where it began: that head is noted twice, and no other.
        last = max(known or (0,))
        ends = known is not None and known.get(last) == digest and self.runs.noted(event.shard, last) == 1
        if self.merged or self.lost or count < last or (count == last and not ends):
            raise _refuse(f"shard {event.shard} of {event.of} cannot stand at {event.head[:24]} here", where)
        self.begun.setdefault(event.shard, {})[count] = digest

    def _begin(self, event: Merged, where: str) -> None:
        if self.attempted:
            raise _refuse("a merge after an attempt of the main run", where)
        if event.shard in self.lost or event.head.count < max(self.heads(event.shard, event.of), default=0):
            raise _refuse(f"shard {event.shard} of {event.of} is lost, or held more entries than are merged", where)
        if not 1 <= event.shard <= event.of <= MOST_SHARDS or event.head.count < 1:
            raise _refuse(f"found shard {event.shard} of {event.of} with {event.head.count} entries", where)
        if self.shared_among not in (None, event.of) or any(one.shard == event.shard for one in self.merged):
            raise _refuse(f"shard {event.shard} of {event.of} does not fit those merged before", where)
        self.shared_among = event.of
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
        noted = self.heads(merged.shard, merged.of).get(self.head.count, self.head.digest)
        if noted != self.head.digest:
            what = f"shard {merged.shard} had another entry {self.head.count - 1} when it ran here"
            raise UntrustedError(what, where=where, remedy="it was written or run anew")
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
