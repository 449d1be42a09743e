"""Runs a stage: every slot of it that has no episode yet, in drawn order, with one writer; then the readings.

For each attempt: `attempted` is on disk before it begins; then the lines of its calls, the episode line, the entry. A
kill at any moment loses at most the attempts under way, and the next run begins them again; they stay counted. What
stops a run without a kill, Ctrl-C or a pause, records the calls of every attempt that it cuts off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Budget, Limits, Spent, added, spent_on
from sealkit.agents.models.gateway import limits_of
from sealkit.plan.asked import is_priced
from sealkit.plan.slots import Slot
from sealkit.run.bench import Bench
from sealkit.run.calling import Models, calling
from sealkit.run.cluster import Asks, on_cluster
from sealkit.run.drawn_again import FailedTries
from sealkit.run.executor import Executor, executing
from sealkit.run.external import Command, stated_use
from sealkit.run.failing import Failing, failing_arms
from sealkit.run.interrupt import interrupts
from sealkit.run.loop import Desk, Loop, Try, Watcher
from sealkit.run.outcome import Broke, Kept, Said
from sealkit.run.progress import Standing, follow_all
from sealkit.run.purse import Purse
from sealkit.run.readings import Readings
from sealkit.run.shardcalls import share_of_limits
from sealkit.seal.history import History
from sealkit.seal.journal import BLOBS, CALLS
from sealkit.wire.attempts import read_calls
from sealkit.wire.chain import Entry
from sealkit.wire.errors import OutOfOrderError, UsageError
from sealkit.wire.events import Attempted, Closed, Failed, Paused, Withheld, call_lines
from sealkit.wire.order import STOPPED
from sealkit.wire.shardruns import KilledRun
from sealkit.wire.text import shortened


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run left: slots of the stage, episodes in all and new ones, abandoned tries, slots given up.

    `readings` are those that the plan asks models for, of the episodes that there are; `read` of them had a reply,
    `readings_abandoned` tries neither a reply nor a failure.
    `spent` is what calls to models used, in this run and those before it; None if the stage asks no model. `priced`:
    every model that it asks has a price in the plan, so that the cost is known. `failing` are the arms with slots that
    failed; `tries` says which failed tries count against the exclusion cap; `killed` the earlier runs of this shard
    that were cut off without a word.
    """

    slots: int
    episodes: int
    new: int
    abandoned: int
    missing: int
    readings: int
    read: int
    readings_abandoned: int
    spent: Spent | None
    priced: bool
    failing: tuple[Failing, ...]
    tries: str
    killed: tuple[KilledRun, ...]


def run_stage(
    bench: Bench, *, jobs: int, now: Callable[[], datetime], watch: Watcher, models: Models | None = None,
    scheduler: str | None = None,
) -> RunReport:  # fmt: skip
    """Every slot of the stage has its episode, or has failed as often as the plan allows, after this.

    Of a stage that is never analysed, so often in this run: the same command tries such slots again.

    `models` says how models are reached, where the stage asks any; `scheduler` is the address of a Dask cluster's.
    `HarnessError` pauses the run, and nothing recorded is lost.
    """
    if bench.roles and models is None:
        raise UsageError(f"no endpoint serves the model roles {', '.join(bench.roles)}", remedy="give --endpoint")
    with bench.writing(now) as journal, interrupts() as ctrl_c:
        desk = Desk(bench, journal, now, watch, ctrl_c)
        state, spent, withheld, tries = _standing(bench)
        before = state.episodes
        watch.begin(before)
        if not state.is_over:
            with ctrl_c.held():
                bench.begin_run(journal, now)
            state.open_again()
            with contextlib.ExitStack() as stack:
                way = _executing(bench, state, models, jobs=jobs, scheduler=scheduler, spent=spent, withheld=withheld)
                executor = stack.enter_context(way)
                _Slots(desk, state, executor, tries).go()
                spent = executor.spent or spent
            if bench.reading_roles and models is not None:
                state, spent = _read(desk, models, spent, withheld)
            with ctrl_c.held():
                journal.append(_closed(bench, state), now=now())
        return _report(bench, state, spent, tries, new=state.episodes - before)


def _report(bench: Bench, state: Standing, spent: Spent, tries: FailedTries | None, *, new: int) -> RunReport:
    readings = [one for _, _, one in state.reads.due()]
    return RunReport(
        slots=state.slots, episodes=state.episodes, new=new, abandoned=sum(state.abandoned.values()),
        missing=state.slots - state.episodes, readings=len(readings), read=sum(one.made for one in readings),
        readings_abandoned=state.reads.abandoned,
        spent=spent if bench.roles else None, priced=is_priced(bench.plan.spec, bench.roles),
        failing=failing_arms(state), tries=str(tries or ""), killed=tuple(bench.killed),
    )  # fmt: skip


def stop_stage(bench: Bench, reason: str, *, now: Callable[[], datetime]) -> RunReport:
    """The stage is closed as it stands, and the journal says why: slots without an episode are missing for good.

    `OutOfOrderError` if it is closed already.
    """
    with bench.writing(now) as journal, interrupts() as ctrl_c:
        state, spent, _, tries = _standing(bench)
        if state.closed:
            raise OutOfOrderError("the run has come to its end already", where=str(bench.plan_path))
        with ctrl_c.held():
            bench.begin_run(journal, now)
            journal.append(Paused(stage=bench.stage, reason=STOPPED, detail=reason, calls=None), now=now())
            journal.append(_closed(bench, state), now=now())
        return _report(bench, state, spent, tries, new=0)


def _read(desk: Desk, models: Models, spent: Spent, withheld: frozenset[str]) -> tuple[Standing, Spent]:
    """Every reading that the plan asks of a model is made, or given up, after this; the stage, and what is spent."""
    bench = desk.bench
    state = follow_all(bench.begin(), bench.history().entries())  # which knows where every episode stands
    due = [one for _, _, one in state.reads.due()]
    desk.watch.turn_to(f"{bench.stage} readings", len(due), sum(one.made for one in due))
    with calling(bench, models, Budget(limits_here(bench), spent), _blobs(bench, withheld, models)) as executor:
        Readings(desk, state, executor).go()
        return state, executor.spent or spent


def _standing(bench: Bench) -> tuple[Standing, Spent, frozenset[str], FailedTries | None]:
    """Where the stage stands, what all stages and pins of its journal have spent, and bodies that are withheld.

    And the failed tries that count, of a stage that is analysed.

    `OutOfOrderError` if it may not be run: shards wait to be merged.
    """
    state, spent = bench.begin(), Spent()
    withheld: set[str] = set()
    history = bench.history()
    tries = FailedTries(bench.sealed) if bench.sealed is not None and bench.stage == "confirmatory" else None
    for entry, _ in history:
        state.follow(entry)
        if tries is not None:
            tries.see(entry, history.calls)
        if isinstance(entry.event, Withheld):
            withheld.add(entry.event.digest)
        spent = added(spent, _spent(history, entry))
    bench.check_may_run(history)
    return state, spent, frozenset(withheld), tries


def _spent(history: History, entry: Entry) -> Spent:
    return spent_on(read_calls(history.calls, where=f"{CALLS} (entry {entry.seq})")) if history.calls else Spent()


def limits_here(bench: Bench) -> Limits:
    """What this run may use: the plan's budget; of a shard, its share of what the main journal has left of it."""
    limits = limits_of(bench.plan.spec)
    if bench.share is None or bench.sealed is None:
        return limits
    history, spent = bench.sealed.history(), Spent()
    for entry, _ in history:
        spent = added(spent, _spent(history, entry))
    state = bench.begin()
    return share_of_limits(limits, spent, slots=state.slots, of=state.index.count)


def _executing(
    bench: Bench, state: Standing, models: Models | None, *, jobs: int, scheduler: str | None, spent: Spent,
    withheld: frozenset[str],
) -> contextlib.AbstractContextManager[Executor]:  # fmt: skip
    models = models if bench.arm_roles else None
    if scheduler is not None:
        asks = None
        if models is not None:
            purse = Purse(limits_here(bench), spent, slots=state.slots - state.episodes)
            asks = Asks(models, purse, _blobs(bench, withheld, models))
        return on_cluster(bench, scheduler, asks)
    if models is None:
        return executing(bench, jobs)
    return calling(bench, models, Budget(limits_here(bench), spent), _blobs(bench, withheld, models))


def _blobs(bench: Bench, withheld: frozenset[str], models: Models) -> Blobs:
    withheld |= bench.withheld_before()
    return Blobs(bench.folder / BLOBS, inside=bench.study, withheld=withheld, warn=models.warn)


def _closed(bench: Bench, state: Standing) -> Closed:
    return Closed(
        stage=bench.stage, slots=state.slots, episodes=state.episodes,
        abandoned=sum(state.abandoned.values()), missing=state.slots - state.episodes,
    )  # fmt: skip


class _Slots(Loop[Slot, Executor]):
    """The slots of a stage that are left, each an attempt or more."""

    def __init__(self, desk: Desk, state: Standing, executor: Executor, tries: FailedTries | None) -> None:
        super().__init__(desk, executor)
        self.state, self.tries = state, tries
        self.stated = Spent()  # what programs of an external world say that they used

    def left(self) -> Iterator[Slot]:
        for slot in self.bench.drawn():
            if self.state.may_try(self.state.index(slot)):
                yield slot

    def begin(self, work: Slot) -> Try[Slot]:
        number = self.state.index(work)
        self.state.tried[number] += 1
        attempt = self.state.tried[number]
        self.journal.append(
            Attempted(stage=self.bench.stage, pin=self.bench.pin, slot=work, attempt=attempt), now=self.now()
        )
        arm = str(work["arm"])
        self.state.abandoned[arm] = self.state.abandoned.get(arm, 0) + 1
        return Try(work, attempt, self.executor.submit(work, attempt))

    def keep(self, one: Try[Slot], outcome: Kept | Said) -> None:
        assert isinstance(outcome, Kept)
        self.journal.append_episode(
            outcome.line, stage=self.bench.stage, pin=self.bench.pin, slot=one.work, attempt=one.number,
            now=self.now(), calls=outcome.calls,
        )  # fmt: skip
        self.state.settle(one.work, None)
        if isinstance(self.bench.world, Command):
            self.stated = added(self.stated, stated_use(outcome.line))
            self.watch.use(self.stated)

    def fail(self, one: Try[Slot], broke: Broke) -> int:
        why = shortened(broke.why)  # a program's words may be without end
        failed = Failed(
            stage=self.bench.stage, pin=self.bench.pin, slot=one.work, attempt=one.number, ending=broke.ending,
            why=why, calls=call_lines(broke.calls),
        )  # fmt: skip
        self.journal.append(failed, now=self.now(), calls=broke.calls)
        if self.tries is not None:
            self.tries.add(failed, broke.calls)
        return self.state.settle(one.work, failed)

    @property
    def errors_in_a_row(self) -> int:
        return self.state.in_a_row.longest

    @property
    def counting(self) -> str:
        return str(self.tries or "")
