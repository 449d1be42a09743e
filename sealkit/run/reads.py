"""What a journal says of readings so far: which were made of the episode that each slot has, and which failed.

A reading belongs to one episode, by the digest of its line. The episode of a slot that is run again is another one, of
which nothing was read yet; what was read of the old one stays in the journal and counts no more.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sealkit.files import open_safely
from sealkit.plan.readings import ReadingKey, Taken, asks_readers, readings_asked
from sealkit.plan.schema import Spec
from sealkit.plan.slots import Stage
from sealkit.run.in_a_row import MOST_ERRORS_IN_A_ROW
from sealkit.seal.history import spell_slot
from sealkit.seal.journal import EPISODES
from sealkit.seal.pins import Pinned
from sealkit.wire.chain import Entry
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Asked, EpisodeKept, Heard, Read, Slot
from sealkit.wire.records import Count

COUNTED = ("due", "made", "unreadable", "withheld", "failed", "left", "abandoned")
HEARD = ("said", "unreadable")  # a reply came: it is never drawn again


@dataclass(slots=True)
class OneReading:
    """One reading of one episode: tries that began, those of them held against it, and how the last one ended.

    `closed`: a run was closed without it, for good.
    """

    tried: Count = 0
    failed: Count = 0
    under_way: bool = False  # from the beginning of a try to its end
    given_up: bool = False  # the last try failed in a way that the plan does not try again
    ending: Heard | None = None
    closed: bool = False

    @property
    def made(self) -> bool:
        """Whether a reply came."""
        return self.ending in HEARD


@dataclass(slots=True)
class Shelved:
    """The episode that a slot has: its pin, where its line stands in episodes.jsonl, and what was read of it."""

    slot: Slot
    pin: str
    digest: str
    offset: Count
    bytes: Count
    readings: dict[ReadingKey, OneReading] = field(default_factory=dict)


class Reads:
    """Follows the readings of one stage. It keeps nothing where none of the plans asks a model for a reading."""

    def __init__(self, spec: Spec, stage: Stage, later: Iterator[Spec]) -> None:
        self._stage = stage
        self._spec = spec
        self._keeps = stage != "pilot" and (asks_readers(spec) or any(map(asks_readers, later)))
        self._size = 0  # of episodes.jsonl so far
        self._by_slot: dict[str, Shelved] = {}
        self._in_a_row: list[OneReading] = []  # failures since the last reply
        self._abandoned: Counter[ReadingKey] = Counter()  # tries that left neither a reply nor a failure

    @property
    def errors_in_a_row(self) -> int:
        """How many tries have failed one after another."""
        return len(self._in_a_row)

    def of_slot(self, slot: Slot) -> Shelved | None:
        """The episode of a slot; None if it has none."""
        return self._by_slot.get(spell_slot(slot))

    def due(self) -> Iterator[tuple[Shelved, Taken, OneReading]]:
        """Every reading that the plan asks of the episodes that there are, and how far it is, in journal order."""
        for shelved in self._by_slot.values():
            for taken in readings_asked(self._spec, str(shelved.slot["arm"])):
                yield shelved, taken, shelved.readings.get(taken.key, OneReading())

    def may_try(self, one: OneReading) -> bool:
        """Whether the plan has this one begun once more."""
        over = one.made or one.given_up or one.closed
        return not over and one.failed < self._spec.sample.attempts.max

    def under_way(self, slot: Slot, attempt: Count) -> Counter[str]:
        """By model role, how many tries with this number, at readings of the slot's episode, began and did not end."""
        shelved = self.of_slot(slot)
        taken = readings_asked(self._spec, str(slot.get("arm"))) if shelved is not None else ()
        ones = ((each.role or "", shelved.readings.get(each.key)) for each in taken if shelved is not None)
        return Counter(role for role, one in ones if one is not None and one.under_way and one.tried == attempt)

    @property
    def abandoned(self) -> int:
        """How many tries have left neither a reply nor a failure."""
        return self._abandoned.total()

    def left(self) -> int:
        """How many of these may still be taken: no reply, no failure that is held against them, and not closed."""
        return sum(not (one.made or one.failed or one.closed) for _, _, one in self.due())

    def counts(self, withheld: Container[tuple[str, ReadingKey]] = ()) -> dict[str, dict[str, int]]:
        """By reading and level: how many are due, made, unreadable, withheld, failed for good, and were left.

        `due` = `made` + `unreadable` + `withheld` + `failed` + `left`; `failed` and `left` have no reply, and that of
        the `withheld`, by digest of the episode, is there for nobody. `abandoned` counts tries that began and did not
        end.
        """
        found: dict[str, dict[str, int]] = {}
        for shelved, taken, one in self.due():
            new = dict.fromkeys(COUNTED, 0) | {"abandoned": self._abandoned[taken.key]}
            row = found.setdefault(" ".join(taken.key), new)
            row["due"] += 1
            if one.made and (shelved.digest, taken.key) in withheld:
                row["withheld"] += 1
            elif one.made:
                row["made" if one.ending == "said" else "unreadable"] += 1
            else:
                row["failed" if one.failed else "left"] += 1
        return found

    # --- following

    def follow(self, entry: Entry) -> None:
        """Take one more entry into account; `UntrustedError` if no run can have written it here."""
        event = entry.event
        if isinstance(event, EpisodeKept):
            if self._keeps and event.stage == self._stage:
                shelved = Shelved(event.slot, event.pin, event.digest, self._size, event.bytes)
                self._by_slot[spell_slot(event.slot)] = shelved
            self._size += event.bytes + 1  # episodes of all stages stand in one file
        elif isinstance(event, Asked) and event.stage == self._stage:
            self._begin(entry, event)
        elif isinstance(event, Read) and event.stage == self._stage:
            self._end(entry, event)

    def _one(self, entry: Entry, event: Asked | Read) -> OneReading:
        """The reading that an entry tells of, which has no reply yet."""
        shelved, key = self.of_slot(event.slot), (event.reading, event.level)
        if shelved is None or shelved.digest != event.episode:
            raise _refuse(entry, f"a reading of another episode than the one of slot {event.slot}")
        if key not in [taken.key for taken in readings_asked(self._spec, str(event.slot["arm"]))]:
            what = f"the plan asks no model for {event.reading} at {event.level} in arm {event.slot['arm']}"
            raise _refuse(entry, what)
        one = shelved.readings.setdefault(key, OneReading())
        if one.made:
            raise _refuse(entry, f"{event.reading} at {event.level} of slot {event.slot} was made already")
        if one.closed:
            what = f"{event.reading} at {event.level} of slot {event.slot} was left when the run was closed, for good"
            raise _refuse(entry, what)
        return one

    def _begin(self, entry: Entry, event: Asked) -> None:
        one = self._one(entry, event)
        if event.attempt != one.tried + 1:
            raise _refuse(entry, f"found try {event.attempt} at this reading, due {one.tried + 1}")
        if not self.may_try(one):
            what = f"try {event.attempt} at this reading, which the plan does not try again after {one.ending}"
            raise _refuse(entry, what)
        self.begin(one, (event.reading, event.level))

    def _end(self, entry: Entry, event: Read) -> None:
        one = self._one(entry, event)
        if not one.under_way or event.attempt != one.tried:
            raise _refuse(entry, f"the outcome of try {event.attempt} at a reading, which is not under way")
        if (event.ending == "said") != (event.said is not None) or (event.ending == "said") == bool(event.why):
            raise _refuse(entry, f"what was said does not go with the ending {event.ending}")
        self.end(one, (event.reading, event.level), event.ending)

    def begin(self, one: OneReading, key: ReadingKey) -> None:
        """One more try has begun."""
        one.tried, one.under_way = one.tried + 1, True
        self._abandoned[key] += 1

    def end(self, one: OneReading, key: ReadingKey, ending: Heard) -> None:
        """The try that is under way has ended so."""
        one.under_way, one.ending = False, ending
        self._abandoned[key] -= 1
        if one.made:
            self._in_a_row.clear()
        else:
            one.failed += 1
            one.given_up = ending not in self._spec.sample.attempts.retry_on
            self._in_a_row.append(one)

    def pause(self, *, forgives: bool) -> None:
        """A run paused; if for a row of errors that is long enough, these are not held against their readings."""
        for one in self._in_a_row if forgives and self.errors_in_a_row >= MOST_ERRORS_IN_A_ROW else ():
            one.failed, one.given_up = one.failed - 1, False
        self._in_a_row.clear()

    def open_again(self) -> None:
        """A run of a stage that is never analysed is opened: no failure is held against what has no reply."""
        self._in_a_row.clear()
        for _, _, one in self.due():
            if not one.made:
                one.failed, one.given_up = 0, False

    def amend(self, pinned: Pinned, has: Callable[[Slot], bool], *, looked: bool, closed: bool) -> None:
        """From here on the plan is this one; what it drops or has run again has no episode.

        Readings that failed until they were given up are taken again, unless somebody has looked at outcomes. What else
        a `closed` run left stays untaken, as its slots do.
        """
        if closed:
            for shelved, taken, one in self.due():
                one.closed = one.closed or (not one.made and (looked or not one.failed))
                shelved.readings[taken.key] = one
        self._spec = pinned.plan.spec
        self._in_a_row.clear()
        if self._stage != "confirmatory":
            self._by_slot.clear()
        for name, shelved in tuple(self._by_slot.items()):
            if not has(shelved.slot) or pinned.supersedes(shelved.slot):
                del self._by_slot[name]
            elif not looked:
                for one in shelved.readings.values():
                    one.failed, one.given_up = 0, False


def episode_line(folder: Path, shelved: Shelved, *, inside: Path) -> bytes:
    """The line of an episode in the receipts `folder`, held against the digest that the journal has of it."""
    path = folder / EPISODES
    descriptor = open_safely(path, inside=inside)
    try:
        line = os.pread(descriptor, shelved.bytes, shelved.offset)
    finally:
        os.close(descriptor)
    if digest_bytes(line) != shelved.digest:
        where = f"{path}: {spell_slot(shelved.slot)}"
        raise UntrustedError("evidence: the episode is not the one that was journaled", where=where)
    return line


def _refuse(entry: Entry, what: str) -> UntrustedError:
    where = f"journal.jsonl entry {entry.seq}"
    return UntrustedError(f"evidence: {what}", where=where, remedy="no run writes this")
