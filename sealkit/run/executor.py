"""Where attempts are carried out: in this process, in worker processes, or many at once on one loop of calls.

A worker gets a slot and gives bytes; it never writes. Results are recorded in the order in which slots were handed
out, so the episodes of a run do not depend on which worker was quick.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection
from pathlib import Path
from typing import Protocol

from sealkit.agents.models.budget import Spent
from sealkit.agents.models.secrets import Watch
from sealkit.plan.slots import Stage
from sealkit.run.bench import Bench, open_bench
from sealkit.run.external import AttemptError
from sealkit.run.interrupt import deaf_children
from sealkit.run.leaks import unleaked
from sealkit.run.outcome import Broke, Kept, Outcome, Pending, drifted
from sealkit.seal.closure import DriftError
from sealkit.wire.errors import HarnessError
from sealkit.wire.events import Slot


class Executor(Protocol):
    """Carries out attempts."""

    @property
    def spent(self) -> Spent | None:
        """What calls to models have used so far, those of earlier runs included; None where none are made."""

    def has_room(self, handed_out: int) -> bool:
        """Whether one more attempt is worth handing out while `handed_out` are not recorded yet."""

    def submit(self, slot: Slot, attempt: int) -> Pending:
        """Begin try number `attempt` at `slot`."""

    def wait(self, pending: Pending) -> None:
        """Return once `pending` has ended, or earlier if there is something to show or to hand out."""

    def stop(self, *, at_once: bool) -> None:
        """Begin nothing more. What is under way and makes calls has ended after this, cut off if `at_once`."""


def attempt(bench: Bench, slot: Slot) -> Outcome:
    """One attempt in this process, where no key is known."""
    return unleaked(_played(bench, slot), Watch(()))


def _played(bench: Bench, slot: Slot) -> Outcome:
    try:
        try:
            return _tried(bench, slot)
        finally:  # whatever it raised may come of what was changed
            bench.check_untouched(slot)
    except DriftError as error:
        return drifted(error)


def _tried(bench: Bench, slot: Slot) -> Outcome:
    try:
        return Kept(bench.play(slot))
    except AttemptError as error:
        return Broke(error.ending, error.what)
    except HarnessError as error:
        return Broke("harness_error", str(error))


@contextmanager
def executing(bench: Bench, jobs: int) -> Iterator[Executor]:
    """An executor over `jobs` processes; one job needs none but this."""
    if jobs == 1:
        yield _Here(bench)
        return
    with ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_open,
        initargs=(bench.plan_path, bench.stage),
    ) as pool:
        yield _Pool(pool, jobs)


class _Here:
    spent = None

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._begun: tuple[Slot, Future[Outcome]] | None = None

    def has_room(self, handed_out: int) -> bool:
        return not handed_out

    def submit(self, slot: Slot, number: int) -> Pending:
        self._begun = (slot, Future())  # carried out by whoever waits for it, so that Ctrl-C can come between
        return self._begun[1]

    def wait(self, pending: Pending) -> None:
        if self._begun is not None and not pending.done():
            slot, outcome = self._begun
            outcome.set_result(attempt(self._bench, slot))

    def stop(self, *, at_once: bool) -> None:
        pass


class _Pool:
    spent = None

    def __init__(self, pool: ProcessPoolExecutor, jobs: int) -> None:
        self._pool = pool
        self._jobs = jobs

    def has_room(self, handed_out: int) -> bool:
        return handed_out < self._jobs

    def submit(self, slot: Slot, number: int) -> Pending:
        try:
            with deaf_children():  # the pool starts its workers when it is first given work
                return _Guarded(self._pool.submit(_attempt, slot))
        except BrokenProcessPool as error:
            raise _dead() from error

    def wait(self, pending: Pending) -> None:
        if isinstance(pending, _Guarded):
            wait([pending.future])

    def stop(self, *, at_once: bool) -> None:
        pass  # its attempts make no calls: what is under way is begun again


class _Guarded:
    def __init__(self, future: Future[Outcome]) -> None:
        self.future = future

    def done(self) -> bool:
        return self.future.done()

    def result(self) -> Outcome:
        try:
            return self.future.result()
        except BrokenProcessPool as error:
            raise _dead() from error


def _dead() -> HarnessError:
    return HarnessError("a worker process died", remedy="run the same command again; nothing recorded is lost")


# --- in a worker ---------------------------------------------------------------------------------

_bench: Bench | DriftError


def _open(plan_path: Path, stage: Stage) -> None:
    global _bench
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        _bench = open_bench(plan_path, stage)
    except DriftError as error:  # a file was changed after the parent had looked: the first attempt says so
        _bench = error


def _end_with_parent() -> None:
    """A parent that is killed closes no queue: a worker that waits for work would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _attempt(slot: Slot) -> Outcome:
    return drifted(_bench) if isinstance(_bench, DriftError) else attempt(_bench, slot)
