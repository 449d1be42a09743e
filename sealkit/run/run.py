"""Runs a stage: every slot of it that has no episode yet, in drawn order, with one writer.

For each attempt: `attempted` is on disk before it begins; then the episode line, then its entry. A kill at any
moment loses at most the attempts under way, and the next run begins them again; they stay counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sealkit.plan.slots import Slot
from sealkit.run.bench import Bench
from sealkit.run.executor import Executor, Kept, Pending, executing
from sealkit.run.interrupt import Interrupts, interrupts
from sealkit.run.order import drawn_slots
from sealkit.run.progress import ERRORS_IN_A_ROW, Standing, follow_all
from sealkit.seal.journal import Journal
from sealkit.wire.chain import Attempted, Closed, Failed, Paused
from sealkit.wire.errors import HarnessError

MOST_ERRORS_IN_A_ROW = 5


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run left: slots of the stage, episodes in all and new ones, abandoned tries, slots given up."""

    slots: int
    episodes: int
    new: int
    abandoned: int
    missing: int


def run_stage(bench: Bench, *, jobs: int, now: Callable[[], datetime], step: Callable[[int], None]) -> RunReport:
    """Every slot of the stage has its episode, or has failed as often as the plan allows, after this.

    `step` is told how many slots more are done. `HarnessError` pauses the run, and nothing recorded is lost.
    """
    with bench.writing(now()) as journal, interrupts() as ctrl_c:
        state = follow_all(bench.begin(), bench.history().entries())
        before = state.episodes
        step(before)
        if not state.closed:
            with ctrl_c.held():
                journal.append(bench.opened(), now=now())
            _Run(bench, journal, state, now, step, ctrl_c).go(jobs)
            with ctrl_c.held():
                journal.append(_closed(bench, state), now=now())
        missing = state.index.count - state.episodes
        return RunReport(
            slots=state.index.count, episodes=state.episodes, new=state.episodes - before,
            abandoned=sum(state.abandoned.values()), missing=missing,
        )  # fmt: skip


def _closed(bench: Bench, state: Standing) -> Closed:
    return Closed(
        stage=bench.stage, slots=state.index.count, episodes=state.episodes,
        abandoned=sum(state.abandoned.values()), missing=state.index.count - state.episodes,
    )  # fmt: skip


class _Run:
    """One run of a stage: hands out attempts, `width` ahead, and records them in the order handed out."""

    def __init__(
        self,
        bench: Bench,
        journal: Journal,
        state: Standing,
        now: Callable[[], datetime],
        step: Callable[[int], None],
        ctrl_c: Interrupts,
    ) -> None:
        self.bench, self.journal, self.state, self.now, self.step = bench, journal, state, now, step
        self.ctrl_c = ctrl_c
        self.attempts = bench.plan.spec.sample.attempts

    def go(self, jobs: int) -> None:
        slots = self._left()
        under_way: deque[tuple[Slot, int, Pending]] = deque()
        try:
            with executing(self.bench, jobs) as executor:
                while True:
                    while len(under_way) < executor.width and (slot := next(slots, None)) is not None:
                        under_way.append(self._begin(executor, slot))
                    if not under_way:
                        return
                    slot, attempt, pending = under_way.popleft()
                    if not self._record(slot, attempt, pending):
                        under_way.appendleft(self._begin(executor, slot))
        except KeyboardInterrupt:
            self._pause("interrupted", "stopped by the one who ran it")
            raise

    def _left(self) -> Iterator[Slot]:
        for slot in drawn_slots(self.bench.plan.spec, self.bench.stage):
            number = self.state.index(slot)
            if not self.state.kept[number] and self.state.failed[number] < self.attempts.max:
                yield slot

    def _begin(self, executor: Executor, slot: Slot) -> tuple[Slot, int, Pending]:
        number = self.state.index(slot)
        self.state.tried[number] += 1
        attempt = self.state.tried[number]
        entry = Attempted(stage=self.bench.stage, pin=self.bench.pin, slot=slot, attempt=attempt)
        with self.ctrl_c.held():
            self.journal.append(entry, now=self.now())
        arm = str(slot["arm"])
        self.state.abandoned[arm] = self.state.abandoned.get(arm, 0) + 1
        return slot, attempt, executor.submit(slot)

    def _record(self, slot: Slot, attempt: int, pending: Pending) -> bool:
        """Record how an attempt ended; False if the slot is to be tried again."""
        outcome = pending.result()
        number = self.state.index(slot)
        self.state.abandoned[str(slot["arm"])] -= 1
        if isinstance(outcome, Kept):
            with self.ctrl_c.held():
                self.journal.append_episode(
                    outcome.line, stage=self.bench.stage, pin=self.bench.pin, slot=slot, attempt=attempt,
                    now=self.now(),
                )  # fmt: skip
            self.state.kept[number] = 1
            self.state.in_a_row.clear()
            self.step(1)
            return True
        failed = Failed(
            stage=self.bench.stage, pin=self.bench.pin, slot=slot, attempt=attempt, ending=outcome.ending,
            why=outcome.why, calls=None,
        )  # fmt: skip
        with self.ctrl_c.held():
            self.journal.append(failed, now=self.now())
        self.state.failed[number] += 1
        self.state.in_a_row.append(number)
        if len(self.state.in_a_row) >= MOST_ERRORS_IN_A_ROW:
            self._pause(ERRORS_IN_A_ROW, outcome.why)
            raise HarnessError(
                f"{MOST_ERRORS_IN_A_ROW} errors in a row, the last: {outcome.why}",
                remedy="the run is paused and no slot given up; mend it and run again",
            )
        again = outcome.ending in self.attempts.retry_on and self.state.failed[number] < self.attempts.max
        if not again:
            self.step(1)
        return not again

    def _pause(self, reason: str, detail: str) -> None:
        paused = Paused(stage=self.bench.stage, reason=reason, detail=detail, calls=None)
        with self.ctrl_c.held():
            self.journal.append(paused, now=self.now())
