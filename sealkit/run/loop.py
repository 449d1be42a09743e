"""Hands out work while there is room, and records how each piece ended in the order in which it was handed out.

Attempts at slots and readings of episodes go through this one loop, so both are begun, tried again, given up, paused
and cut off by the same rules.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NoReturn, Protocol, TypeVar

from sealkit.agents.models.budget import Spent
from sealkit.agents.models.errors import NO_ENDPOINT
from sealkit.plan.asked import to_run_stage
from sealkit.run.bench import Bench
from sealkit.run.calling import INTERRUPTED, broken_off
from sealkit.run.executor import Executor
from sealkit.run.in_a_row import ERRORS_IN_A_ROW, MOST_ERRORS_IN_A_ROW
from sealkit.run.interrupt import Interrupts
from sealkit.run.outcome import Broke, CutOff, Kept, Lost, Outcome, Pending, Said
from sealkit.seal.closure import DriftError
from sealkit.seal.guard import DRIFT
from sealkit.seal.journal import Journal
from sealkit.wire.errors import HarnessError
from sealkit.wire.events import Paused, call_lines
from sealkit.wire.text import shortened

MOST_LOST = 3
W = TypeVar("W")
E = TypeVar("E", bound=Executor)


class Watcher(Protocol):
    """Is shown how far a run is: never an outcome."""

    def begin(self, done: int) -> None:
        """So many slots are done before this run."""

    def turn_to(self, label: str, total: int, done: int) -> None:
        """What follows is called so; of `total`, so many are done before it."""

    def step(self, count: int = 1) -> None:
        """`count` more are done."""

    def use(self, spent: Spent | None) -> None:
        """What calls to models have used so far."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What a run writes with, and whom it shows how far it is."""

    bench: Bench
    journal: Journal
    now: Callable[[], datetime]
    watch: Watcher
    ctrl_c: Interrupts


@dataclass(frozen=True, slots=True)
class Try(Generic[W]):
    """A piece of work that is handed out and not recorded yet."""

    work: W
    number: int
    pending: Pending


class Loop(ABC, Generic[W, E]):
    """One kind of work of a stage, until none is left."""

    def __init__(self, desk: Desk, executor: E) -> None:
        self.desk, self.executor = desk, executor
        self.bench, self.journal, self.now, self.watch = desk.bench, desk.journal, desk.now, desk.watch
        self.attempts = desk.bench.plan.spec.sample.attempts
        self.handed_out: deque[Try[W]] = deque()
        self.paused = False
        self.lost: Counter[str] = Counter()  # tries of this run that nobody carried out, by what they were at

    @abstractmethod
    def left(self) -> Iterator[W]:
        """What is left to do, in drawn order."""

    @abstractmethod
    def begin(self, work: W) -> Try[W]:
        """Hand out one more try at this."""

    @abstractmethod
    def keep(self, one: Try[W], outcome: Kept | Said) -> None:
        """Record what a try left."""

    @abstractmethod
    def fail(self, one: Try[W], broke: Broke) -> int:
        """Record that a try failed; how many tries at this are held against it now."""

    @property
    @abstractmethod
    def errors_in_a_row(self) -> int:
        """How many tries have failed one after another."""

    @property
    def counting(self) -> str:
        """What tries that failed so far will cost, in a sentence; empty if nothing."""
        return ""

    def go(self) -> None:
        """Nothing is left after this. `HarnessError` if the run pauses, `DriftError` on drift; a defect does too."""
        waiting = self.left()
        try:
            while True:
                while self.executor.has_room(len(self.handed_out)) and (work := next(waiting, None)) is not None:
                    with self.desk.ctrl_c.held():
                        self.handed_out.append(self.begin(work))
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
                with self.desk.ctrl_c.held():  # recorded and no longer handed out, or neither
                    self._settle(first, outcome)
        except KeyboardInterrupt:
            with self.desk.ctrl_c.held():
                self.executor.stop(at_once=True)
                self._pause(INTERRUPTED, "stopped by the one who ran it")
            raise
        except Exception as error:
            if not self.paused:
                self._break_off(error)
            raise

    def _break_off(self, error: Exception) -> None:
        """Record the calls of what is under way, as far as anything can be recorded still."""
        with contextlib.suppress(Exception):  # it may be the journal itself that failed: the first error says more
            met = broken_off(error)
            with self.desk.ctrl_c.held():
                self.executor.stop(at_once=True)
                self._pause(met.reason, met.why)

    def _stop_for(self, met: CutOff) -> NoReturn:
        """Pause for what cut a try off. Others may still end by themselves: their replies are paid for."""
        self.executor.stop(at_once=False)
        with self.desk.ctrl_c.held():
            self._pause(met.reason, met.why)
        if met.error is not None:
            raise met.error
        what = f"the run is paused, and no slot given up: {met.reason}: {met.why}"
        again = to_run_stage(self.bench.plan_path, self.bench.plan.spec, self.bench.stage)
        kind = DriftError if met.reason == DRIFT else HarnessError
        raise kind(what, remedy=f"{met.remedy or 'run again'}{f': {again}' if met.reason == NO_ENDPOINT else ''}")

    def _begin_again(self, one: Try[W], lost: Lost) -> None:
        """Abandon the try that was handed out first, and begin its work anew, unless that keeps happening to it."""
        self.lost[str(one.work)] += 1
        if self.lost[str(one.work)] >= MOST_LOST:
            why = f"{MOST_LOST} attempts at one slot were lost, the last: {lost.why}"
            self._stop_for(CutOff("workers_lost", why, "run again"))
        with self.desk.ctrl_c.held():
            self.handed_out.popleft()
            self.handed_out.appendleft(self.begin(one.work))

    def _settle(self, one: Try[W], outcome: Kept | Said | Broke) -> None:
        """Record how the try that was handed out first ended, and begin it again if it is to be."""
        self.handed_out.popleft()
        if not isinstance(outcome, Broke):
            self.keep(one, outcome)
            self.watch.step()
            return
        failures = self.fail(one, outcome)
        if self.errors_in_a_row >= MOST_ERRORS_IN_A_ROW:
            self.executor.stop(at_once=True)
            self._pause(ERRORS_IN_A_ROW, outcome.why)
            counting = f"\n  {self.counting}" if self.counting else ""
            raise HarnessError(
                f"{MOST_ERRORS_IN_A_ROW} errors in a row, the last: {outcome.why}",
                remedy=f"the run is paused and no slot given up; mend it and run again{counting}",
            )
        if outcome.ending in self.attempts.retry_on and failures < self.attempts.max:
            self.handed_out.appendleft(self.begin(one.work))
        else:
            self.watch.step()

    def _pause(self, reason: str, detail: str) -> None:
        """Record that the run stops here, with the calls of what it cut off; then what had ended by itself by then.

        In this order, because what is whole would end the row of errors for which a run pauses. What makes a run pause
        finalises no slot, so what else broke is abandoned with it; but nobody's wish to stop takes a failure back.
        """
        self.paused = True
        ended = [(one, outcome) for one in self.handed_out if (outcome := _ended(one.pending)) is not None]
        self.handed_out.clear()
        counts = Kept | Said | Broke if reason == INTERRUPTED else Kept | Said
        calls = b"".join(outcome.calls for _, outcome in ended if not isinstance(outcome, counts))
        paused = Paused(stage=self.bench.stage, reason=reason, detail=shortened(detail), calls=call_lines(calls))
        self.journal.append(paused, now=self.now(), calls=calls)
        for one, outcome in ended:
            if isinstance(outcome, Kept | Said):
                self.keep(one, outcome)
            elif isinstance(outcome, Broke) and reason == INTERRUPTED:
                self.fail(one, outcome)
        self.watch.step(sum(isinstance(outcome, Kept | Said) for _, outcome in ended))


def _ended(pending: Pending) -> Outcome | None:
    """How a try ended; None if it has not, or if it cannot be told, of which the run says more."""
    if not pending.done():
        return None
    try:
        return pending.result()
    except Exception:
        return None
