"""Where attempts are carried out: in this process, or in worker processes that open the bench themselves.

A worker gets a slot and gives bytes; it never writes. Results come back in the order in which slots were
handed out, so the files of a run do not depend on which worker was quick.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Protocol

from sealkit.plan.slots import Stage
from sealkit.run.bench import Bench, open_bench
from sealkit.run.external import AttemptError
from sealkit.run.interrupt import deaf_children
from sealkit.wire.chain import Slot
from sealkit.wire.errors import HarnessError


@dataclass(frozen=True, slots=True)
class Kept:
    """The attempt left an episode."""

    line: bytes


@dataclass(frozen=True, slots=True)
class Broke:
    """The attempt broke: `ending` is a word of the plan's endings."""

    ending: str
    why: str


class Pending(Protocol):
    """An attempt that is under way."""

    def result(self) -> Kept | Broke:
        """How it ended; waits for it."""


class Executor(Protocol):
    """Carries out attempts; `width` of them at a time are worth handing out."""

    width: int

    def submit(self, slot: Slot) -> Pending:
        """Begin an attempt at `slot`."""


def attempt(bench: Bench, slot: Slot) -> Kept | Broke:
    """One attempt in this process."""
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
    width = 1

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def submit(self, slot: Slot) -> Pending:
        done: Future[Kept | Broke] = Future()
        done.set_result(attempt(self._bench, slot))
        return done


class _Pool:
    def __init__(self, pool: ProcessPoolExecutor, jobs: int) -> None:
        self._pool = pool
        self.width = jobs

    def submit(self, slot: Slot) -> Pending:
        try:
            with deaf_children():  # the pool starts its workers when it is first given work
                return _Guarded(self._pool.submit(_attempt, slot))
        except BrokenProcessPool as error:
            raise _dead() from error


class _Guarded:
    def __init__(self, future: Future[Kept | Broke]) -> None:
        self._future = future

    def result(self) -> Kept | Broke:
        try:
            return self._future.result()
        except BrokenProcessPool as error:
            raise _dead() from error


def _dead() -> HarnessError:
    return HarnessError("a worker process died", remedy="run the same command again; nothing recorded is lost")


# --- in a worker ---------------------------------------------------------------------------------

_bench: Bench | None = None


def _open(plan_path: Path, stage: Stage) -> None:
    global _bench
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _bench = open_bench(plan_path, stage)


def _end_with_parent() -> None:
    """A parent that is killed closes no queue: a worker that waits for work would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _attempt(slot: Slot) -> Kept | Broke:
    assert _bench is not None
    return attempt(_bench, slot)
