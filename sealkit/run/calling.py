"""Attempts that ask models: many at once, on one loop of calls in a thread beside the one that records.

The loop's thread plays and calls; it writes bodies, and nothing else of a study. An attempt's bodies are on disk before
its outcome is given. Results are recorded in the order in which slots were handed out; up to twice as many slots as may
be under way are handed out, so that a slow attempt does not hold the others up.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Budget, Spent
from sealkit.agents.models.endpoint import Endpoint
from sealkit.agents.models.errors import PauseError, ProviderError
from sealkit.agents.models.exchange import PATIENCE, Patience
from sealkit.agents.models.gateway import Gateway, Line
from sealkit.agents.turns import Ask, Reply
from sealkit.plan.actors import CommandArm
from sealkit.run.bench import Bench
from sealkit.run.leaks import unleaked
from sealkit.run.outcome import Broke, CutOff, Kept, Outcome, Pending, Said, joined
from sealkit.run.play import Playing, advance, give_up
from sealkit.wire.calls import Purpose
from sealkit.wire.errors import HarnessError, MalformedError
from sealkit.wire.events import Slot
from sealkit.wire.records import Json

CarriedOut: TypeAlias = Callable[[], Coroutine[Any, Any, Outcome]]

INTERRUPTED: Final = "interrupted"
BROKE_OFF: Final = "broke_off"  # sealkit or the machine failed in a way that nobody foresaw
_BY_HAND: Final = "stopped by the one who ran it"
_SHOWN_EVERY_S = 0.5
_STOP_S = 60.0  # an attempt ends at once, but for a program of the study's own that is thinking


@dataclass(frozen=True, slots=True)
class Models:
    """How models are reached: the endpoint of every role, how many attempts are under way, how long one waits.

    `warn` is told once if an endpoint does not answer and is waited for.
    """

    endpoints: Mapping[str, Endpoint]
    concurrency: int
    patience: Patience = PATIENCE
    warn: Callable[[str], None] | None = None


class Question(Protocol):
    """A reading to be taken: whose episode is read, what is asked, and what the reply says."""

    @property
    def slot(self) -> Slot:
        """The slot whose episode is read."""

    def ask(self) -> Ask:
        """The question."""

    def read(self, text: str) -> Json:
        """What the reply says."""


@contextmanager
def calling(bench: Bench, models: Models, budget: Budget, blobs: Blobs) -> Iterator[Calling]:
    """An executor whose attempts ask models within `budget`."""
    given = {
        "endpoints": models.endpoints, "budget": budget, "blobs": blobs,
        "patience": models.patience, "width": models.concurrency, "warn": models.warn,
    }  # fmt: skip
    if bench.sealed is not None:
        gateway = Gateway.for_sealed(bench.sealed, guard=bench.guard, **given)  # type: ignore[arg-type]
    else:
        gateway = Gateway.for_pilot(bench.plan, bench.plan_path, **given)  # type: ignore[arg-type]
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="calls", daemon=True)
    thread.start()
    executor = Calling(bench, gateway, models.concurrency, loop)
    try:
        yield executor
    finally:
        executor.close()
        asyncio.run_coroutine_threadsafe(gateway.__aexit__(None, None, None), loop).result(_STOP_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Calling:
    """The executor; `calling` makes one."""

    def __init__(self, bench: Bench, gateway: Gateway, concurrency: int, loop: asyncio.AbstractEventLoop) -> None:
        self._bench = bench
        self._gateway = gateway
        self._concurrency = concurrency
        self._loop = loop
        # For programs of the study's own, which block whoever waits for their next line.
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="arm")
        self._changed = threading.Condition()
        self._under_way: dict[Future[Outcome], asyncio.Task[Outcome | BaseException]] = {}
        self._running = 0
        self._stopped = False

    @property
    def spent(self) -> Spent | None:
        """What calls have used so far."""
        return self._gateway.budget.spent

    def has_room(self, handed_out: int) -> bool:
        """Whether an attempt may begin at once, and enough was recorded."""
        with self._changed:
            return not self._stopped and self._running < self._concurrency and handed_out < 2 * self._concurrency

    def submit(self, slot: Slot, attempt: int, budget: Budget | None = None) -> Pending:
        """Begin an attempt on the loop; within `budget`, where it has one of its own."""
        return self._hand_over(lambda: self._attempt(slot, attempt, budget))

    def submit_reading(self, question: Question, attempt: int) -> Pending:
        """Begin a reading on the loop."""
        return self._hand_over(lambda: self._reading(question, attempt))

    def _hand_over(self, carried_out: CarriedOut) -> Pending:
        outcome: Future[Outcome] = Future()
        with self._changed:
            self._running += 1
        self._loop.call_soon_threadsafe(self._begin, carried_out, outcome)
        return outcome

    def wait(self, pending: Pending) -> None:
        """Wait for any attempt to end; return now and then, for whoever shows how far the run is."""
        with self._changed:
            self._changed.wait_for(pending.done, timeout=_SHOWN_EVERY_S)

    def stop(self, *, at_once: bool) -> None:
        """Begin no more; what is under way has ended after this."""
        with self._changed:
            self._stopped = True
        if at_once:
            self._loop.call_soon_threadsafe(self._cut_off)
        with self._changed:
            self._changed.wait_for(lambda: not self._running, timeout=_STOP_S if at_once else None)

    def halt(self, *, at_once: bool) -> None:
        """Begin no more, and let what is under way end at once, or at its next call. It waits for nothing."""
        gateway = self._gateway
        gateway.paused = gateway.paused or PauseError(INTERRUPTED, "the run has stopped", remedy="run again")
        if at_once:
            self._loop.call_soon_threadsafe(self._cut_off)

    def close(self) -> None:
        """Cut off whatever is still under way."""
        self.stop(at_once=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    # --- on the loop

    def _begin(self, carried_out: CarriedOut, outcome: Future[Outcome]) -> None:
        task = self._under_way[outcome] = self._loop.create_task(_ending(carried_out))
        task.add_done_callback(lambda ended: self._end(outcome, ended))

    def _cut_off(self) -> None:
        for task in self._under_way.values():
            task.cancel()

    def _end(self, outcome: Future[Outcome], task: asyncio.Task[Outcome | BaseException]) -> None:
        # Cancelled before its first step, a task runs nothing of its own.
        ended = CutOff(INTERRUPTED, _BY_HAND, "") if task.cancelled() else task.result()
        del self._under_way[outcome]
        with self._changed:
            if isinstance(ended, CutOff):
                self._stopped = True  # what cut this one off meets every other; no more are begun
            self._running -= 1
            if isinstance(ended, BaseException):
                outcome.set_exception(ended)
            else:
                outcome.set_result(ended)
            self._changed.notify_all()

    async def _attempt(self, slot: Slot, attempt: int, budget: Budget | None) -> Outcome:
        line = self._line(slot, attempt, "act", budget)

        async def played() -> Outcome:
            return Kept(await self._play(slot, line), joined(line.calls))

        return await self._ended(line, played)

    async def _reading(self, question: Question, attempt: int) -> Outcome:
        line = self._line(question.slot, attempt, "read")

        async def read() -> Outcome:
            reply = await line.answer(question.ask())
            return Said(question.read(reply.text), joined(line.calls))

        return await self._ended(line, read)

    def _line(self, slot: Slot, attempt: int, purpose: Purpose, budget: Budget | None = None) -> Line:
        bench = self._bench
        return self._gateway.line(
            stage=bench.stage, pin=bench.pin, slot=slot, attempt=attempt, purpose=purpose, budget=budget
        )

    async def _ended(self, line: Line, carried_out: CarriedOut) -> Outcome:
        """How it ended, with all of its calls, whose bodies are on disk."""
        try:
            try:
                ended = await carried_out()
            finally:  # before any of it is recorded; whatever it raised may come of what was changed
                self._gateway.look(since=time.monotonic())
        except asyncio.CancelledError:
            ended = CutOff(INTERRUPTED, _BY_HAND, "", joined(line.calls))
        except ProviderError as error:
            ended = Broke("provider_error", f"{error.word}: {error.why}", joined(line.calls))
        except PauseError as error:
            ended = CutOff(error.reason, error.why, error.remedy, joined(line.calls))
        except (HarnessError, MalformedError) as error:
            ended = Broke("harness_error", str(error), joined(line.calls))
        except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:  # no signal comes to this thread
            ended = Broke("harness_error", f"the study's own code raised {type(error).__name__}", joined(line.calls))
        except BaseException as error:
            ended = broken_off(error, joined(line.calls))
        try:
            self._gateway.blobs.flush()  # before the record that names them
        except OSError as error:
            ended = broken_off(error, joined(line.calls))
        return unleaked(ended, self._gateway.watch)

    async def _play(self, slot: Slot, line: Line) -> bytes:
        playing = self._bench.playing(slot)
        blocks = isinstance(self._bench.plan.spec.factors.arm[str(slot["arm"])], CommandArm)
        try:
            reply: Reply | None = None
            while True:
                asked = await self._in_thread(playing, reply) if blocks else advance(playing, reply)
                if isinstance(asked, bytes):
                    return asked
                reply = await line.answer(asked)
        finally:
            give_up(playing)

    async def _in_thread(self, playing: Playing, reply: Reply | None) -> Ask | bytes:
        step = self._loop.run_in_executor(self._threads, advance, playing, reply)
        try:
            return await asyncio.shield(step)
        except asyncio.CancelledError:
            await asyncio.wait([step])  # a generator that runs cannot be closed
            raise


def broken_off(error: BaseException, calls: bytes = b"") -> CutOff:
    """An attempt that ended by what nobody foresaw: its calls were made, and are recorded before that is told."""
    return CutOff(BROKE_OFF, f"{type(error).__name__}: {error}", "", calls, error)


async def _ending(carried_out: CarriedOut) -> Outcome | BaseException:
    """How it ended. Whatever it raises is told to whoever waits: some exceptions would end the loop with the task."""
    try:
        return await carried_out()
    except BaseException as error:
        return error
