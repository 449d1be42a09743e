"""What a journal says of a stage so far: which slots have their episode, which were tried, which are given up.

    history → Standing → what is left to run

Everything is re-derived from the entries, so a run that was killed knows as much as one that was not. An amendment's
entry changes what is left: the slots are those of its plan; blocks that it supersedes are run again; a smoke run
begins anew; slots that failed until they were given up are tried again, unless somebody has looked at outcomes. What a
closed run left without a try that failed stays so: nobody ends a run, may read its outcomes, and goes on. A smoke run
and a pilot are never analysed: each run of theirs that is opened tries again what has no episode, but after `--stop`.

A shard stands where its own journal says, on its share of the slots alone. A main journal that takes a shard over
holds its entries to that share, and to the counts that the shard was closed with.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sealkit.plan.schema import Spec
from sealkit.plan.slots import SlotIndex, Stage, slots
from sealkit.run.in_a_row import ERRORS_IN_A_ROW, InARow
from sealkit.run.reads import Reads
from sealkit.run.shares import Share, share_numbers
from sealkit.seal.history import spell_slot
from sealkit.seal.in_force import LOOKED
from sealkit.seal.pins import Pinned
from sealkit.wire.chain import Entry
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import (
    Admitted,
    Amended,
    Asked,
    Attempted,
    Closed,
    EpisodeKept,
    Failed,
    Merged,
    Opened,
    Paused,
    Read,
)
from sealkit.wire.order import NEVER_ANALYSED, STOPPED
from sealkit.wire.records import Level


@dataclass(slots=True)
class Standing:
    """Where one stage stands; the arrays hold one number a slot, in plan order.

    What no run can have written is refused: an outcome without its attempt, an attempt after the slot's episode,
    a second episode, counts at the end that are not those of the entries.
    """

    index: SlotIndex
    stage: Stage
    kept: bytearray
    under_way: bytearray  # 1 from an attempt to its outcome
    tried: array[int]
    failed: array[int]
    reads: Reads
    given_up: bytearray = field(default_factory=bytearray)  # 1: the last try failed as the plan does not try again
    ended: bytearray = field(default_factory=bytearray)  # 1: a run was closed without its episode, for good
    abandoned: dict[str, int] = field(default_factory=dict)  # tries that left neither episode nor failure, by arm
    closed: bool = False
    stopped: bool = False  # by whoever wants nothing more to be run, ever
    in_a_row: InARow = field(default_factory=InARow)
    amendments: Sequence[Pinned] = ()
    spec: Spec | None = None
    share: Share | None = None  # of a shard's own journal
    taking: Share | None = None  # of the shard that a main journal takes over
    last_failure: dict[str, str] = field(default_factory=dict)  # how the last attempt of an arm failed
    merged: bool = False
    shards_closed: int = 0  # of those taken over

    @property
    def slots(self) -> int:
        """How many slots there are to run: those of the plan, or of the share."""
        return self.index.count if self.share is None else self.share.slots

    @property
    def episodes(self) -> int:
        """How many slots have their episode."""
        return self.kept.count(1)

    def is_under_way(self, slot: Mapping[str, Level], attempt: int) -> bool:
        """Whether this try has begun and has no outcome."""
        number = self.index.find(slot)
        return number is not None and bool(self.under_way[number]) and self.tried[number] == attempt

    def follow(self, entry: Entry) -> None:
        """Take one more entry into account; `UntrustedError` if no run can have written it here."""
        event = entry.event
        if isinstance(event, (Attempted, EpisodeKept, Failed, Asked, Read)) and event.stage == self.stage:
            if self.closed:
                raise _refuse(entry, "an attempt, its outcome or a reading after the run was closed")
            if self.stage == "pilot" and self.index.find(event.slot) is None:
                return  # of the plan as it was then: no seal binds it before the pilot
            number = self.index(event.slot, where=_place(entry))
            share = self._share_of(entry)
            if share is not None and share.numbers[number] != share.shard:
                what = f"slot {event.slot} is in the share of shard {share.numbers[number]}, not {share.shard}"
                raise _refuse(entry, what)
            if isinstance(event, Attempted):
                self._follow_attempt(entry, event, number)
            elif isinstance(event, Asked | Read):
                self.in_a_row.end()  # every slot had its attempts: what led there is no part of a later pause
            else:
                self._follow_outcome(entry, event, number)
        elif isinstance(event, Opened) and event.stage == self.stage:
            self.open_again()
        elif isinstance(event, Closed) and event.stage == self.stage:
            self._follow_end(entry, event)
        elif isinstance(event, Paused) and event.stage == self.stage:
            self.stopped = event.reason == STOPPED
            self._forgive(event)
        elif isinstance(event, Amended):
            self._amend(entry, event)
        elif isinstance(event, Admitted) and self.spec is not None and event.arms.keys() - self.spec.factors.arm.keys():
            raise _refuse(entry, f"admission of arms that the plan lacks: {sorted(event.arms)!a}")
        elif isinstance(event, Merged) and self.stage == "confirmatory":
            self.take(event)
        self.reads.follow(entry)

    def _share_of(self, entry: Entry) -> Share | None:
        if entry.shard is not None and self.taking is None:
            raise _refuse(entry, f"an entry of shard {entry.shard}, which was not taken over")
        return self.share if entry.shard is None else self.taking

    def take(self, event: Merged) -> None:
        """From here on entries are those of a shard, whose failures in a row begin anew."""
        assert self.spec is not None
        numbers = self.taking.numbers if self.taking is not None else share_numbers(self.spec, self.index, event.of)
        self.taking = Share(event.shard, event.of, numbers, sum(self.abandoned.values()))
        self.merged = True
        self.in_a_row.begin()

    def _amend(self, entry: Entry, event: Amended) -> None:
        """From here on slots are those of the amended plan, and what it supersedes has no episode."""
        if not 0 < event.number <= len(self.amendments):
            raise _refuse(entry, f"there is no amendment {event.number}")
        pinned = self.amendments[event.number - 1]
        self.spec, self.taking, self.shards_closed = pinned.plan.spec, None, 0
        before, self.index = self.index, SlotIndex(pinned.plan.spec, self.stage)
        kept, tried, failed, given_up, ended = self.kept, self.tried, self.failed, self.given_up, self.ended
        looked = event.phase in LOOKED
        self.kept, self.under_way = bytearray(self.index.count), bytearray(self.index.count)
        self.tried, self.failed = _zeros(self.index.count), _zeros(self.index.count)
        self.given_up, self.ended = bytearray(self.index.count), bytearray(self.index.count)
        self.in_a_row.begin()
        self.reads.amend(pinned, lambda slot: self.index.find(slot) is not None, looked=looked, closed=self.closed)
        if self.stage != "confirmatory":
            self.abandoned.clear()
            self.closed = self.stopped = False
            return
        for number, slot in enumerate(slots(pinned.plan.spec, self.stage)):
            old = before.find(slot)
            if old is None:
                continue
            self.tried[number] = tried[old]
            if pinned.supersedes(slot):
                continue
            self.kept[number] = kept[old]
            self.failed[number] = failed[old] if looked else 0
            self.given_up[number] = given_up[old] if looked else 0
            left = self.closed and not kept[old] and (looked or not failed[old])
            self.ended[number] = ended[old] or left
        self.closed = self.closed and self.episodes + self._without() == self.index.count and not self.reads.left()

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be run here: closed, and of a stage that is never analysed, whole or stopped."""
        if not self.closed or self.stage not in NEVER_ANALYSED or self.stopped:
            return self.closed
        return self.episodes == self.slots and all(one.made for _, _, one in self.reads.due())

    def open_again(self) -> None:
        """A run is opened: of a stage that is never analysed, no failure is held against what has no episode."""
        if self.stage not in NEVER_ANALYSED or self.stopped:
            return
        self.closed = False
        self.failed, self.given_up = _zeros(self.index.count), bytearray(self.index.count)
        self.in_a_row.end()
        self.reads.open_again()

    def may_try(self, number: int) -> bool:
        """Whether the plan has this slot tried once more."""
        over = self.kept[number] or self.ended[number] or self.given_up[number]
        return not over and (self.spec is None or self.failed[number] < self.spec.sample.attempts.max)

    def settle(self, slot: Mapping[str, Level], failed: Failed | None) -> int:
        """An attempt at the slot left its episode, or `failed`; how many failures are held against the slot now."""
        number, arm = self.index(slot), str(slot["arm"])
        self.under_way[number] = 0
        self.abandoned[arm] -= 1
        if failed is None:
            self.kept[number] = 1
            self.in_a_row.keep(arm)
        else:
            self.failed[number] += 1
            self.given_up[number] = self.spec is not None and failed.ending not in self.spec.sample.attempts.retry_on
            self.last_failure[arm] = f"{spell_slot(slot)}: {failed.ending}: {failed.why}"
            self.in_a_row.fail(arm, number)
        return self.failed[number]

    def is_done(self, number: int) -> bool:
        """Whether this slot has its episode, a failure that is held against it, or its end without either."""
        return bool(self.kept[number] or self.failed[number] or self.ended[number])

    def untried(self) -> int:
        """How many of the slots have neither an episode nor a failure that is held against them."""
        either = bytes(map(self.is_done, range(self.index.count)))
        done = either.count(1) if self.share is None else self.share.count(either)
        return self.slots - done

    def _without(self) -> int:
        return sum(not self.kept[number] and self.is_done(number) for number in range(self.index.count))

    def _follow_attempt(self, entry: Entry, event: Attempted, number: int) -> None:
        if self.kept[number]:
            raise _refuse(entry, f"slot {event.slot} has an episode already; the first completed attempt counts")
        if self.ended[number]:
            raise _refuse(entry, f"slot {event.slot} was left when the run was closed, for good")
        if event.attempt != self.tried[number] + 1:
            raise _refuse(entry, f"found attempt {event.attempt} at slot {event.slot}, due {self.tried[number] + 1}")
        most = self.spec.sample.attempts.max if self.spec is not None else None
        bound = self.stage != "pilot"  # by the plan as it was then
        if bound and most is not None and self.failed[number] >= most:
            raise _refuse(entry, f"an attempt at slot {event.slot}, whose {most} attempts by the plan have failed")
        if bound and not self.may_try(number):
            how = "which failed in a way that the plan's retry_on does not name"
            raise _refuse(entry, f"an attempt at slot {event.slot}, {how}")
        self.tried[number] += 1
        self.under_way[number] = 1
        arm = str(event.slot["arm"])
        self.abandoned[arm] = self.abandoned.get(arm, 0) + 1

    def _follow_outcome(self, entry: Entry, event: EpisodeKept | Failed, number: int) -> None:
        if self.kept[number]:
            raise _refuse(entry, f"slot {event.slot} has an episode already; the first completed attempt counts")
        if not self.under_way[number] or event.attempt != self.tried[number]:
            raise _refuse(entry, f"the outcome of attempt {event.attempt} at slot {event.slot}, which is not under way")
        self.settle(event.slot, event if isinstance(event, Failed) else None)

    def _follow_end(self, entry: Entry, event: Closed) -> None:
        share, abandoned = self._share_of(entry), sum(self.abandoned.values())
        slots, episodes = self.index.count, self.episodes
        if share is not None:
            slots, episodes, abandoned = share.slots, share.count(self.kept), abandoned - share.abandoned_before
        said = (event.slots, event.episodes, event.abandoned, event.missing)
        due = (slots, episodes, abandoned, slots - episodes)
        if said != due and self.stage != "pilot":
            words = "closed with {} slots, {} episodes, {} abandoned attempts and {} missing"
            raise _refuse(entry, f"found {words.format(*said)}, due {words.format(*due)}")
        self.closed = entry.shard is None
        self.shards_closed += entry.shard is not None

    def _forgive(self, event: Paused) -> None:
        """A pause finalises nothing: the failures that led to it are not held against their slots."""
        forgiven = self.in_a_row.pause()
        for number in forgiven if event.reason == ERRORS_IN_A_ROW else ():
            self.failed[number] -= 1
            self.given_up[number] = 0
        self.reads.pause(forgives=event.reason == ERRORS_IN_A_ROW)


def _place(entry: Entry) -> str:
    return f"journal.jsonl entry {entry.seq}"


def _refuse(entry: Entry, what: str) -> UntrustedError:
    return UntrustedError(f"evidence: {what}", where=_place(entry), remedy="no run writes this")


def begin(spec: Spec, stage: Stage, amendments: Sequence[Pinned] = ()) -> Standing:
    """Where `stage` of this plan stands before its first entry; of a sealed one `begin_sealed` says it."""
    index = SlotIndex(spec, stage)
    nothing = bytearray(index.count)
    zeros = _zeros(index.count)
    reads = Reads(spec, stage, (pinned.plan.spec for pinned in amendments))
    return Standing(
        index, stage, nothing, nothing[:], zeros, zeros[:], reads, nothing[:], nothing[:],
        amendments=amendments, spec=spec,
    )  # fmt: skip


def begin_sealed(pins: Sequence[Pinned], stage: Stage) -> Standing:
    """Where `stage` of a sealed plan stands before its first entry."""
    return begin(pins[0].plan.spec, stage, pins[1:])


def begin_shard(spec: Spec, shard: int, of: int) -> Standing:
    """Where a shard of the confirmatory stage stands before its first entry."""
    state = begin(spec, "confirmatory")
    state.share = Share(shard, of, share_numbers(spec, state.index, of), 0)
    return state


def follow_all(state: Standing, entries: Iterable[Entry]) -> Standing:
    """`state` after `entries`; `UntrustedError` for entries that no run can have written."""
    for entry in entries:
        state.follow(entry)
    return state


def _zeros(count: int) -> array[int]:
    return array("I", bytes(4 * count))
