"""Takes the shards of a run over into the main journal: all checked first, then one after another, whole.

    1  every shard is read to its end: chain, episodes, seal, pin, share, counts, the main journal that it began after
    2  the main journal has `merged`, then a copy of each of the shard's entries, for shard after shard
    3  it has `closed`, if every shard is

Nothing in the shards' folders is changed but what a crash of a shard had left torn. A kill in 2 leaves a journal that
every reader but this one refuses; called again, it goes on behind the last entry that was copied.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

import msgspec

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.errors import WithheldError
from sealkit.run.interrupt import Interrupts, interrupts
from sealkit.run.progress import Standing, begin_sealed, begin_shard, follow_all
from sealkit.run.shardcalls import copy_bodies
from sealkit.seal.journal import BLOBS, CALLS, Journal, exclusive, read_head
from sealkit.seal.recovery import recover
from sealkit.seal.sealed import SealedPlan, open_seal
from sealkit.seal.shards import SHARDS, Shard, check_still_here, find_shards
from sealkit.seal.withheld import withheld_bodies
from sealkit.wire.attempts import read_calls
from sealkit.wire.chain import Entry
from sealkit.wire.errors import OutOfOrderError, UntrustedError
from sealkit.wire.events import Closed, Merged, Paused, ShardLost, Withheld
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.merged import Taken
from sealkit.wire.order import STOPPED
from sealkit.wire.shardruns import KilledRun


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What a merge left: shards taken over in all, those that this call recorded as lost, entries that it copied, and
    how the stage stands now; runs of the shards that it took over that were cut off without a word."""

    shards: int
    lost: int
    copied: int
    slots: int
    episodes: int
    abandoned: int
    closed: bool
    killed: tuple[KilledRun, ...]


@dataclass(frozen=True, slots=True)
class _Whole:
    """A shard that was read to its end and holds; `closed` says that it has run its share."""

    shard: Shard
    head: JournalHead
    closed: bool
    killed: tuple[KilledRun, ...]


def merge(
    plan_path: Path, *, unfinished: bool, now: Callable[[], datetime], step: Callable[[int], None]
) -> MergeReport:
    """The main journal has taken over every shard after this; merging again changes nothing.

    Unless `unfinished`, all shards of the run must be there and closed. `OutOfOrderError` if one is missing or open,
    or if the run was begun without shards; `UntrustedError` for a shard that does not hold, or of another seal or pin.
    """
    sealed = open_seal(plan_path)
    try:
        # A shard that runs shares this lock: none does meanwhile.
        with exclusive(sealed.receipts, inside=sealed.study), interrupts() as ctrl_c:
            recover(sealed.receipts, inside=sealed.study, now=now())
            state, taken = _main(sealed)
            wholes = [_read(shard, sealed, taken, now()) for shard in _to_take(sealed, taken)]
            lost = set(taken.waiting) - {whole.shard.sharded.shard for whole in wholes}
            if taken.open is not None:
                lost.discard(taken.open.shard)
            if not taken.attempted:
                _check_complete(sealed, wholes, taken, lost, unfinished=unfinished)
            return _Merge(sealed, state, taken, now, step, ctrl_c).go(wholes, sorted(lost))
    finally:
        sealed.close()


# --- what is checked before anything is written ----------------------------------------------------


def _main(sealed: SealedPlan) -> tuple[Standing, Taken]:
    """Where the stage stands by the main journal, and what that has taken over; a merge that was cut off is fine."""
    history = sealed.history()
    history.merging()
    state = follow_all(begin_sealed(sealed.pins, "confirmatory"), history.entries())
    assert history.taken is not None
    if history.taken.attempted and not state.merged:
        what = "the confirmatory run was begun without shards: some slots would have two episodes"
        raise OutOfOrderError(what, where=str(sealed.receipts), remedy=f"`sealkit run {sealed.path}` goes on with it")
    return state, history.taken


def _to_take(sealed: SealedPlan, taken: Taken) -> list[Shard]:
    """The shards of which entries are still to be copied, the one that a merge was cut off in first."""
    known = {(one.shard, one.of): one for one in taken.merged}
    left: list[Shard] = []
    for shard in find_shards(sealed):
        merged = known.get((shard.sharded.shard, shard.sharded.of))
        if merged is not None and (head := read_head(shard.folder, inside=sealed.study)) != merged.head:
            what = f"ends in {head}, but was taken over as of {merged.head}"
            raise UntrustedError(what, where=str(shard.folder), remedy="put the shard's folder back as it was merged")
        if merged is not None and merged == taken.open:
            left.insert(0, shard)
        elif merged is None:
            left.append(shard)
    if taken.open is not None and (not left or left[0].sharded.shard != taken.open.shard):
        what = f"a merge was cut off in shard {taken.open.shard} of {taken.open.of}, whose folder is gone"
        raise OutOfOrderError(what, where=str(sealed.receipts / SHARDS), remedy="put it back")
    if left and taken.attempted:
        what = f"{left[0].name} was not merged before the main run went on"
        raise OutOfOrderError(what, where=str(left[0].folder), remedy="its slots are run by the main run: move it away")
    return left


def _read(shard: Shard, sealed: SealedPlan, taken: Taken, now: datetime) -> _Whole:
    """The shard after all of it was read; raises, naming its folder, if anything in it does not hold."""
    where = str(shard.folder)
    if shard.sharded.pin != sealed.latest.pin:
        what = f"{shard.name} ran under an earlier pin than the one in force"
        raise UntrustedError(what, where=where, remedy="an amendment came in between: move it out of shards/")
    taken.met(shard.sharded.after, where)
    recover(shard.folder, inside=sealed.study, now=now)
    history, runs = shard.history(taken), taken.runs.of(shard.sharded.shard, shard.sharded.of)
    state = begin_shard(sealed.plan.spec, shard.sharded.shard, shard.sharded.of)
    stopped = False
    bodies = _Bodies(shard.folder, sealed)
    try:
        for entry, _ in history:
            state.follow(entry)
            runs.follow(entry.seq, entry.event)
            bodies.follow(entry, history.calls)
            stopped = stopped or (isinstance(entry.event, Paused) and entry.event.reason == STOPPED)
    except UntrustedError as error:
        if error.where.startswith(where):
            raise
        raise UntrustedError(error.what, where=f"{where}/{error.where}", remedy=error.remedy) from error
    bodies.check()
    runs.end()
    untried = state.untried()
    if state.closed and untried and not stopped:
        what = f"evidence: closed, but {untried} of its {state.slots} slots have neither an episode nor a failure"
        raise UntrustedError(what, where=where, remedy="no run writes this")
    return _Whole(shard, history.head, state.closed, tuple(runs.killed))


class _Bodies:
    """The bodies that a shard's calls name are all there: once merged, a shard is never taken over again."""

    def __init__(self, folder: Path, sealed: SealedPlan) -> None:
        withheld = withheld_bodies(sealed.receipts, inside=sealed.study)
        self._blobs = Blobs(folder / BLOBS, inside=sealed.study, withheld=withheld)
        self._lacking: dict[str, UntrustedError] = {}

    def follow(self, entry: Entry, block: bytes) -> None:
        """Look at the bodies of the calls that an entry tells of."""
        if isinstance(entry.event, Withheld):
            self._lacking.pop(entry.event.digest, None)
        for call in read_calls(block, where=f"{CALLS} (entry {entry.seq})") if block else ():
            for digest in filter(None, (call.request, call.response)):
                try:
                    with contextlib.suppress(WithheldError):
                        self._blobs.get(digest)
                except UntrustedError as error:
                    self._lacking[digest] = error

    def check(self) -> None:
        """Raise for the first body that is neither there nor withheld."""
        for error in self._lacking.values():
            raise error


def _check_complete(
    sealed: SealedPlan, wholes: Sequence[_Whole], taken: Taken, lost: set[int], *, unfinished: bool
) -> None:
    """Raise unless the shards are all those of one way to share the run, and closed where they have to be."""
    where = str(sealed.receipts / SHARDS)
    shares = {(one.of, one.shard) for one in taken.merged}
    shares |= {(whole.shard.sharded.of, whole.shard.sharded.shard) for whole in wholes}
    if taken.shared_among is not None and not unfinished:
        check_still_here(sealed, lost, taken.shared_among)
    if not shares and not lost and not taken.lost:
        raise OutOfOrderError("there are no shards", where=where, remedy=f"sealkit run {sealed.path} --shard i/n")
    counts = sorted({of for of, _ in shares} | ({taken.shared_among} if taken.shared_among is not None else set()))
    if len(counts) > 1:
        what = f"found shards of {' and of '.join(map(str, counts))}: some slots would have two episodes"
        raise UntrustedError(what, where=where, remedy="keep those of one way to share the run")
    if unfinished:
        return
    remedy = "run it; or --unfinished leaves the slots that are left to the main run"
    missing = [shard for shard in range(1, counts[0] + 1) if (counts[0], shard) not in shares]
    if missing:
        what = f"{len(missing)} of {counts[0]} shards are missing, the first is {missing[0]}"
        raise OutOfOrderError(what, where=where, remedy=remedy)
    for whole in wholes:
        if not whole.closed:
            raise OutOfOrderError(f"{whole.shard.name} is not closed", where=str(whole.shard.folder), remedy=remedy)


# --- the copy ------------------------------------------------------------------------------------


class _Merge:
    """One merge under way: writes what the main journal lacks."""

    def __init__(
        self,
        sealed: SealedPlan,
        state: Standing,
        taken: Taken,
        now: Callable[[], datetime],
        step: Callable[[int], None],
        ctrl_c: Interrupts,
    ) -> None:
        self.journal = Journal.open(sealed.receipts, inside=sealed.study)
        self.state, self.taken, self.now, self.step, self.ctrl_c = state, taken, now, step, ctrl_c
        self.copied = 0

    def go(self, wholes: Sequence[_Whole], lost: Sequence[int]) -> MergeReport:
        state = self.state
        of = self.taken.shared_among or (wholes[0].shard.sharded.of if wholes else 0)
        for shard in lost:
            with self.ctrl_c.held():
                self.journal.append(ShardLost(shard=shard, of=of), now=self.now())
        merged = {one.shard for one in self.taken.merged}
        for whole in wholes:
            done = self.taken.head.count if whole.shard.sharded.shard in merged else None
            self._take(whole, done)
            merged.add(whole.shard.sharded.shard)
        if not state.closed and state.shards_closed == of:
            closed = Closed(
                stage="confirmatory", slots=state.slots, episodes=state.episodes,
                abandoned=sum(state.abandoned.values()), missing=state.slots - state.episodes,
            )  # fmt: skip
            with self.ctrl_c.held():
                self.journal.append(closed, now=self.now())
            state.closed = True
        return MergeReport(
            shards=len(merged), lost=len(lost), copied=self.copied, slots=state.slots, episodes=state.episodes,
            abandoned=sum(state.abandoned.values()), closed=state.closed,
            killed=tuple(killed for whole in wholes for killed in whole.killed),
        )  # fmt: skip

    def _take(self, whole: _Whole, done: int | None) -> None:
        """Copy the shard's entries; all but the first `done`, where a merge was cut off in it."""
        sharded = whole.shard.sharded
        if done is None:
            merged = Merged(shard=sharded.shard, of=sharded.of, head=whole.head)
            with self.ctrl_c.held():
                self.journal.append(merged, now=self.now())
            self.state.take(merged)
        # Before any entry that tells of them: a journal never names a body that a crash has kept away.
        gone = withheld_bodies(self.journal.folder, inside=self.journal.inside)
        copy_bodies(whole.shard.folder, self.journal.folder, inside=self.journal.inside, but=gone)
        history = whole.shard.history()
        for entry, episode in islice(history, done or 0, None):
            with self.ctrl_c.held():
                self.journal.take_over(entry, episode, history.calls, shard=sharded.shard)
            self.state.follow(msgspec.structs.replace(entry, shard=sharded.shard))
            self.copied += 1
            self.step(int(episode is not None))
