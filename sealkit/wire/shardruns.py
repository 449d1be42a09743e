"""Which runs of a shard were cut off without a word, as the main journal of the same folder shows.

    main     … shard_head(1, 2)  …  shard_head(1, 9)  shard_head(1, 10)  …
    shard 1  sharded opened | attempted … paused | opened … closed |
             0       1        2           8        9

A run writes `opened`, and the main journal notes the shard's head, before its first attempt; it notes the head again
when the run ends. So a shard's journal cannot be cut back to before a run without a contradiction (`wire.merged`). A
run of whose end there is no second note was killed, whatever the shard's own journal says of it: a `paused` is written
by hand as soon as the rest is cut off. Of such a run, what came after its beginning is told by the shard's journal
alone, and may have been cut back: each is named.

A kill leaves tries under way, which count as abandoned ones. A killed run that left no attempt at all, or none under
way, is named apart: with it, somebody may have chosen. `closed` with no slot missing needs no second note: nothing of
the run lacks, and none is ever run behind it. So the crash between it and the note costs nothing; the one between
`paused` and its note is taken for a cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from sealkit.wire.chain import Entry
from sealkit.wire.events import (
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
    ShardHead,
)
from sealkit.wire.journal_head import parse_head


class KilledRun(msgspec.Struct, frozen=True):
    """A run of a shard that began with the shard's entry number `entry` and did not end.

    `empty`: it left no attempt; `under_way`: it left one that did not end, as a kill does.

    >>> print(KilledRun(shard=1, of=2, entry=1, empty=True, under_way=False))
    a run of shard 1 of 2 that began at entry 1 left nothing: its attempts may have been removed
    """

    shard: int
    of: int
    entry: int
    empty: bool
    under_way: bool

    def __str__(self) -> str:
        between = "was killed with no attempt under way: its last"
        what = "was killed: its last" if self.under_way else "left nothing: its" if self.empty else between
        which = f"a run of shard {self.shard} of {self.of} that began at entry {self.entry}"
        return f"{which} {what} attempts may have been removed"


class Runs:
    """Follows the journal of one shard; `noted` says how often the main journal notes that it held so many entries."""

    __slots__ = ("_began", "_empty", "_noted", "_of", "_shard", "_under_way", "killed")

    def __init__(self, shard: int, of: int, noted: Mapping[int, int]) -> None:
        self.killed: list[KilledRun] = []  # after `end`
        self._shard, self._of, self._noted = shard, of, noted
        self._began: int | None = None  # the entry that began the run under way, if the main journal notes it
        self._empty = True
        self._under_way = 0  # attempts of this run that have not ended

    def follow(self, number: int, event: Event) -> None:
        """Take one more entry, of that number, into account."""
        noted = self._noted.get(number + 1, 0)
        if isinstance(event, Opened):
            self.end()
            self._began = number if noted == 1 else None  # where it is noted twice, the run ended without an attempt
            self._empty, self._under_way = True, 0
        elif noted or (isinstance(event, Closed) and not event.missing):
            self._began = None
        elif isinstance(event, (Attempted, Asked)):
            self._empty = False
            self._under_way += 1
        elif isinstance(event, (EpisodeKept, Failed, Read)):
            self._under_way -= 1
        elif isinstance(event, Paused):
            self._under_way = 0

    def end(self) -> None:
        """The shard's journal ends here, or another run begins."""
        if self._began is not None:
            self.killed.append(KilledRun(self._shard, self._of, self._began, self._empty, self._under_way > 0))
        self._began = None


class ShardRuns:
    """Follows a main journal: what it notes of shards, and the entries that it takes over from them."""

    __slots__ = ("_count", "_next", "_noted", "_taking", "killed")

    def __init__(self) -> None:
        self.killed: list[KilledRun] = []  # of the shards that were taken over
        self._noted: dict[int, Counter[int]] = {}
        self._taking = Runs(0, 0, {})
        self._next = self._count = 0  # of the entries that are taken over

    def noted(self, shard: int, count: int) -> int:
        """How often it is noted that the journal of this shard held so many entries."""
        return self._noted.get(shard, Counter())[count]

    def of(self, shard: int, of: int) -> Runs:
        """What follows the journal of this shard."""
        return Runs(shard, of, self._noted.get(shard, Counter()))

    def follow(self, entry: Entry) -> None:
        """Take one more entry into account, which `Taken` has found in order."""
        event = entry.event
        if isinstance(event, ShardHead):
            count, _ = parse_head(event.head, where="shard_head")
            self._noted.setdefault(event.shard, Counter())[count] += 1
        elif isinstance(event, Merged):
            self._taking, self._next, self._count = self.of(event.shard, event.of), 0, event.head.count
        elif entry.shard is not None:
            self._taking.follow(self._next, event)
            self._next += 1
            if self._next == self._count:
                self._taking.end()
                self.killed += self._taking.killed
