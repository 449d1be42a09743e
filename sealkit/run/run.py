"""Runs a stage: every slot of it that has no episode yet, in drawn order, with one writer.

For each attempt: `attempted` is on disk before it begins; then the lines of its calls, the episode line, the entry. A
kill at any moment loses at most the attempts under way, and the next run begins them again; they stay counted. What
stops a run without a kill, Ctrl-C or a pause, records the calls of every attempt that it cuts off.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn, Protocol

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Budget, Limits, Spent, spent_on
from sealkit.agents.models.gateway import limits_of
from sealkit.plan.slots import Slot
from sealkit.run.bench import Bench
from sealkit.run.calling import INTERRUPTED, Models, calling
from sealkit.run.cluster import on_cluster
from sealkit.run.executor import Executor, executing
from sealkit.run.interrupt import Interrupts, interrupts
from sealkit.run.outcome import Broke, CutOff, Kept, Lost, Outcome, Pending
from sealkit.run.progress import ERRORS_IN_A_ROW, Standing
from sealkit.run.shardcalls import share_of_limits
from sealkit.seal.history import History
from sealkit.seal.journal import BLOBS, CALLS, Journal
from sealkit.wire.attempts import read_calls
from sealkit.wire.chain import Attempted, Closed, Entry, Failed, Paused, Withheld, call_lines
from sealkit.wire.errors import HarnessError, OutOfOrderError, SealkitError, UsageError

MOST_ERRORS_IN_A_ROW = 5
MOST_LOST = 3
STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run left: slots of the stage, episodes in all and new ones, abandoned tries, slots given up.

    `spent` is what calls to models used, in this run and those before it; None if the stage asks no model.
    """

    slots: int
    episodes: int
    new: int
    abandoned: int
    missing: int
    spent: Spent | None


class Watcher(Protocol):
    """Is shown how far a run is: never an outcome."""

    def begin(self, done: int) -> None:
        """So many slots are done before this run."""

    def step(self, count: int = 1) -> None:
        """`count` more are done."""

    def use(self, spent: Spent | None) -> None:
        """What calls to models have used so far."""


def run_stage(
    bench: Bench, *, jobs: int, now: Callable[[], datetime], watch: Watcher, models: Models | None = None,
    scheduler: str | None = None,
) -> RunReport:  # fmt: skip
    """Every slot of the stage has its episode, or has failed as often as the plan allows, after this.

    `models` says how models are reached, where the stage asks any; `scheduler` is the address of a Dask cluster's.
    `HarnessError` pauses the run, and nothing recorded is lost.
    """
    if bench.roles and models is None:
        raise UsageError(f"no endpoint serves the model roles {', '.join(bench.roles)}", remedy="give --endpoint")
    with bench.writing(now()) as journal, interrupts() as ctrl_c:
        state, spent, withheld = _standing(bench)
        bench.check_may_run(state)
        before = state.episodes
        watch.begin(before)
        if not state.closed:
            with ctrl_c.held():
                journal.append(bench.opened(), now=now())
            with contextlib.ExitStack() as stack:
                executor = stack.enter_context(_executing(bench, jobs, models, spent, withheld, scheduler))
                _Run(bench, journal, state, now, watch, ctrl_c, executor).go()
                spent = executor.spent or spent
            with ctrl_c.held():
                journal.append(_closed(bench, state), now=now())
        missing = state.slots - state.episodes
        return RunReport(
            slots=state.slots, episodes=state.episodes, new=state.episodes - before,
            abandoned=sum(state.abandoned.values()), missing=missing, spent=spent if bench.roles else None,
        )  # fmt: skip


def stop_stage(bench: Bench, reason: str, *, now: Callable[[], datetime]) -> RunReport:
    """The stage is closed as it stands, and the journal says why: slots without an episode are missing for good.

    `OutOfOrderError` if it is closed already.
    """
    with bench.writing(now()) as journal, interrupts() as ctrl_c:
        state, spent, _ = _standing(bench)
        bench.check_may_run(state)
        if state.closed:
            raise OutOfOrderError("the run has come to its end already", where=str(bench.plan_path))
        with ctrl_c.held():
            journal.append(Paused(stage=bench.stage, reason=STOPPED, detail=reason, calls=None), now=now())
            journal.append(_closed(bench, state), now=now())
        return RunReport(
            slots=state.slots, episodes=state.episodes, new=0, abandoned=sum(state.abandoned.values()),
            missing=state.slots - state.episodes, spent=spent if bench.roles else None,
        )  # fmt: skip


def _standing(bench: Bench) -> tuple[Standing, Spent, frozenset[str]]:
    """Where the stage stands, what all stages and pins of its journal have spent, and bodies that are withheld."""
    state, spent = bench.begin(), Spent()
    withheld: set[str] = set()
    history = bench.history()
    for entry, _ in history:
        state.follow(entry)
        if isinstance(entry.event, Withheld):
            withheld.add(entry.event.digest)
        spent = added(spent, _spent(history, entry))
    return state, spent, frozenset(withheld)


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
    bench: Bench, jobs: int, models: Models | None, spent: Spent, withheld: frozenset[str], scheduler: str | None
) -> contextlib.AbstractContextManager[Executor]:
    if scheduler is not None:
        return on_cluster(bench, scheduler)
    if models is None or not bench.roles:
        return executing(bench, jobs)
    blobs = Blobs(bench.folder / BLOBS, inside=bench.study, withheld=withheld)
    return calling(bench, models, Budget(limits_here(bench), spent), blobs)


def added(one: Spent, other: Spent) -> Spent:
    """What both used."""
    return Spent(one.calls + other.calls, one.tokens + other.tokens, one.cost_microusd + other.cost_microusd)


def _closed(bench: Bench, state: Standing) -> Closed:
    return Closed(
        stage=bench.stage, slots=state.slots, episodes=state.episodes,
        abandoned=sum(state.abandoned.values()), missing=state.slots - state.episodes,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Try:
    """An attempt that is handed out and not recorded yet."""

    slot: Slot
    number: int
    pending: Pending


class _Run:
    """One run of a stage: hands out attempts while there is room, and records them in the order handed out."""

    def __init__(
        self,
        bench: Bench,
        journal: Journal,
        state: Standing,
        now: Callable[[], datetime],
        watch: Watcher,
        ctrl_c: Interrupts,
        executor: Executor,
    ) -> None:
        self.bench, self.journal, self.state, self.now, self.watch = bench, journal, state, now, watch
        self.ctrl_c, self.executor = ctrl_c, executor
        self.attempts = bench.plan.spec.sample.attempts
        self.handed_out: deque[_Try] = deque()
        self.lost: Counter[int] = Counter()  # attempts of this run, by slot

    def go(self) -> None:
        slots = self._left()
        try:
            while True:
                while self.executor.has_room(len(self.handed_out)) and (slot := next(slots, None)) is not None:
                    with self.ctrl_c.held():
                        self.handed_out.append(self._begin(slot))
                if not self.handed_out:
                    return
                first = self.handed_out[0]
                self.executor.wait(first.pending)
                self.watch.use(self.executor.spent)
                if not first.pending.done():
                    continue
                outcome = first.pending.result()
                if isinstance(outcome, CutOff):
                    self._stop_for(outcome)
                if isinstance(outcome, Lost):
                    self._begin_again(first, outcome)
                    continue
                with self.ctrl_c.held():  # recorded and no longer handed out, or neither
                    self._settle(first, outcome)
        except KeyboardInterrupt:
            with self.ctrl_c.held():
                self.executor.stop(at_once=True)
                self._pause(INTERRUPTED, "stopped by the one who ran it")
            raise

    def _left(self) -> Iterator[Slot]:
        for slot in self.bench.drawn():
            number = self.state.index(slot)
            if not self.state.kept[number] and self.state.failed[number] < self.attempts.max:
                yield slot

    def _begin(self, slot: Slot) -> _Try:
        number = self.state.index(slot)
        self.state.tried[number] += 1
        attempt = self.state.tried[number]
        self.journal.append(
            Attempted(stage=self.bench.stage, pin=self.bench.pin, slot=slot, attempt=attempt), now=self.now()
        )
        arm = str(slot["arm"])
        self.state.abandoned[arm] = self.state.abandoned.get(arm, 0) + 1
        return _Try(slot, attempt, self.executor.submit(slot, attempt))

    def _stop_for(self, met: CutOff) -> NoReturn:
        """Pause for what cut an attempt off. Others may still end by themselves: their replies are paid for."""
        self.executor.stop(at_once=False)
        with self.ctrl_c.held():
            self._pause(met.reason, met.why)
        what = f"the run is paused, and no slot given up: {met.reason}: {met.why}"
        raise HarnessError(what, remedy=met.remedy or "run again")

    def _begin_again(self, one: _Try, lost: Lost) -> None:
        """Abandon the attempt that was handed out first, and begin its slot anew, unless that keeps happening to it."""
        self.lost[self.state.index(one.slot)] += 1
        if self.lost[self.state.index(one.slot)] >= MOST_LOST:
            why = f"{MOST_LOST} attempts at one slot were lost, the last: {lost.why}"
            self._stop_for(CutOff("workers_lost", why, "run again"))
        with self.ctrl_c.held():
            self.handed_out.popleft()
            self.handed_out.appendleft(self._begin(one.slot))

    def _settle(self, one: _Try, outcome: Kept | Broke) -> None:
        """Record how the attempt that was handed out first ended, and begin it again if it is to be."""
        self.handed_out.popleft()
        if isinstance(outcome, Kept):
            self._keep(one, outcome)
            return
        self._fail(one, outcome)
        if len(self.state.in_a_row) >= MOST_ERRORS_IN_A_ROW:
            self.executor.stop(at_once=True)
            self._pause(ERRORS_IN_A_ROW, outcome.why)
            raise HarnessError(
                f"{MOST_ERRORS_IN_A_ROW} errors in a row, the last: {outcome.why}",
                remedy="the run is paused and no slot given up; mend it and run again",
            )
        again = outcome.ending in self.attempts.retry_on
        if again and self.state.failed[self.state.index(one.slot)] < self.attempts.max:
            self.handed_out.appendleft(self._begin(one.slot))
        else:
            self.watch.step()

    def _keep(self, one: _Try, kept: Kept) -> None:
        self.journal.append_episode(
            kept.line, stage=self.bench.stage, pin=self.bench.pin, slot=one.slot, attempt=one.number,
            now=self.now(), calls=kept.calls,
        )  # fmt: skip
        self.state.abandoned[str(one.slot["arm"])] -= 1
        self.state.kept[self.state.index(one.slot)] = 1
        self.state.in_a_row.clear()
        self.watch.step()

    def _fail(self, one: _Try, broke: Broke) -> None:
        failed = Failed(
            stage=self.bench.stage, pin=self.bench.pin, slot=one.slot, attempt=one.number, ending=broke.ending,
            why=broke.why, calls=call_lines(broke.calls),
        )  # fmt: skip
        self.journal.append(failed, now=self.now(), calls=broke.calls)
        self.state.abandoned[str(one.slot["arm"])] -= 1
        number = self.state.index(one.slot)
        self.state.failed[number] += 1
        self.state.in_a_row.append(number)

    def _pause(self, reason: str, detail: str) -> None:
        """Record that the run stops here, with the calls of what it cut off; then the episodes that were whole by then.

        In this order, because an episode would end the row of errors for which a run pauses.
        """
        ended = [(one, outcome) for one in self.handed_out if (outcome := _ended(one.pending)) is not None]
        self.handed_out.clear()
        calls = b"".join(outcome.calls for _, outcome in ended if not isinstance(outcome, Kept))
        paused = Paused(stage=self.bench.stage, reason=reason, detail=detail, calls=call_lines(calls))
        self.journal.append(paused, now=self.now(), calls=calls)
        for one, outcome in ended:
            if isinstance(outcome, Kept):
                self._keep(one, outcome)


def _ended(pending: Pending) -> Outcome | None:
    """How an attempt ended; None if it has not, or if the machine failed it, of which the run says more."""
    if not pending.done():
        return None
    try:
        return pending.result()
    except (SealkitError, OSError):
        return None
