"""Attempts on the workers of a Dask cluster, which share the study's folder: `--executor dask --scheduler tcp://…`.

A worker opens the seal itself, refuses drift, another pin and another environment than the parent's, plays slots and
gives bytes back. It never writes: the parent alone does. Every attempt is bound to one worker, so that the scheduler
never quietly plays it again elsewhere: when its worker dies the attempt is lost, stays counted as abandoned, and the
slot is begun anew under the next number. When the scheduler dies, the run ends and the same command goes on.

Dask passes Python objects and trusts whoever can reach its ports: run it on loopback, in a closed network, or with TLS.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sealkit.plan.slots import Stage
from sealkit.run.bench import Bench, open_bench
from sealkit.run.executor import attempt
from sealkit.run.outcome import Broke, CutOff, Kept, Lost, Outcome, Pending
from sealkit.seal.closure import environment
from sealkit.wire.canon import digest_record
from sealkit.wire.chain import Slot
from sealkit.wire.errors import HarnessError, SealkitError, UsageError

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as RemoteFuture

# An attempt as a worker is given it, and what it gives back: plain values, no types that two machines could differ in.
Task: TypeAlias = tuple[str, Stage, str, str, Slot]  # plan, stage, pin, digest of the environment, slot
Answer: TypeAlias = tuple[str, bytes, str]  # kept, broke or refused; the episode; why

_AHEAD = 3  # attempts that a worker has to hand, one of them under way
_CONNECT_S = 10
_LOOK_S = 0.5
_REMEDY = "run the same command again; nothing recorded is lost"


@contextmanager
def on_cluster(bench: Bench, scheduler: str) -> Iterator[Cluster]:
    """An executor over the workers of the cluster whose scheduler has this address."""
    if bench.roles:
        raise UsageError(
            f"the arms of this stage ask models ({', '.join(bench.roles)}), and workers of a cluster hold no keys",
            where="--executor", remedy="leave it out, and give --concurrency; or run shards",
        )  # fmt: skip
    try:
        from distributed import Client
    except ImportError as error:
        raise HarnessError("the extra `dask` is not installed", remedy="pip install 'sealkit[dask]'") from error
    try:
        client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        what = f"no scheduler answers at {scheduler!a}: {type(error).__name__}"
        raise HarnessError(what, remedy="start it, or give its address") from error
    try:
        yield Cluster(bench, client)
    finally:
        client.close(timeout=_CONNECT_S)  # type: ignore[no-untyped-call]


class Cluster:
    """The executor; `on_cluster` makes one."""

    spent = None

    def __init__(self, bench: Bench, client: Client) -> None:
        self._client = client
        self._loop: asyncio.AbstractEventLoop = client.sync(_its_loop)  # type: ignore[no-untyped-call]
        self._about = (os.path.abspath(bench.plan_path), bench.stage, bench.pin, digest_record(environment()))
        self._under_way: dict[Bound, None] = {}
        self._workers: frozenset[str] = frozenset()
        self._gone = ""
        self._looked = 0.0
        try:
            client.wait_for_workers(1, timeout=_CONNECT_S)
        except TimeoutError as error:
            raise HarnessError("the scheduler has no worker", remedy="start workers, and run again") from error
        self._look()

    def has_room(self, handed_out: int) -> bool:
        """Whether some worker has less to do than it may have to hand."""
        return handed_out < _AHEAD * max(1, len(self._workers)) and not self._gone

    def submit(self, slot: Slot, number: int) -> Pending:
        """Begin an attempt on the worker that has least to do."""
        bound = Bound(self)
        busy = Counter(other.worker for other in self._under_way)
        if not self._workers or self._gone:
            bound.end_with(CutOff("workers_lost", self._gone or "no worker of the cluster is left", _REMEDY))
            return bound
        bound.worker = min(sorted(self._workers), key=lambda worker: busy[worker])
        task: Task = (*self._about, slot)
        # One worker, and no try but this: the scheduler is not to play it again without anybody's knowing.
        future = self._client.submit(
            _attempt, task, pure=False, workers=[bound.worker], allow_other_workers=False, retries=0
        )
        bound.carry(future, asyncio.run_coroutine_threadsafe(_fetch(self._client, future), self._loop))
        self._under_way[bound] = None
        return bound

    def wait(self, pending: Pending) -> None:
        """Wait until it ends; look now and then for workers that have gone, and for new ones."""
        if isinstance(pending, Bound) and not pending.done() and pending.answer is not None:
            wait([pending.answer], timeout=_LOOK_S)
        if time.monotonic() - self._looked >= _LOOK_S:
            self._look()

    def stop(self, *, at_once: bool) -> None:
        """Begin nothing more: what is under way makes no calls, and is begun again."""
        for bound in tuple(self._under_way):
            bound.cancel()

    def _look(self) -> None:
        """Know which workers there are; attempts on others are lost. Without the scheduler, all are cut off."""
        self._looked = time.monotonic()
        try:
            self._workers = frozenset(self._client.nthreads())  # type: ignore[no-untyped-call]
        except Exception as error:  # whatever the library raises when its scheduler has gone
            self._gone = f"the scheduler has gone: {type(error).__name__}"
        if self._client.status != "running":
            self._gone = "the scheduler has gone"
        for bound in tuple(self._under_way):
            if self._gone:
                bound.end_with(CutOff("scheduler_lost", self._gone, _REMEDY))
            elif bound.worker not in self._workers and not bound.done():
                bound.cancel()
                bound.end_with(Lost(f"the worker {bound.worker} has gone"))

    def ended(self, bound: Bound) -> None:
        """`bound` is not under way any more."""
        self._under_way.pop(bound, None)


class Bound:
    """An attempt that is bound to one worker. It has ended when its answer is here: a worker may die in between."""

    def __init__(self, cluster: Cluster) -> None:
        self.worker = ""
        self.answer: Future[Answer] | None = None
        self._cluster = cluster
        self._remote: RemoteFuture[Answer]
        self._outcome: Outcome | None = None

    def carry(self, remote: RemoteFuture[Answer], answer: Future[Answer]) -> None:
        """It is under way there, and its answer is awaited here."""
        self._remote, self.answer = remote, answer

    def end_with(self, outcome: Outcome) -> None:
        """It has ended so, whatever its worker may still say."""
        self._outcome = self._outcome or outcome
        self._cluster.ended(self)

    def done(self) -> bool:
        """Whether it has ended."""
        return self._outcome is not None or (self.answer is not None and self.answer.done())

    def cancel(self) -> None:
        """Let its worker leave it."""
        if self.answer is not None and not self.answer.done():
            self._remote.cancel()  # type: ignore[no-untyped-call]
            self.answer.cancel()

    def result(self) -> Outcome:
        """How it ended."""
        if self._outcome is None and self.answer is not None:
            try:
                self.end_with(_outcome(self.answer.result()))
            except (Exception, CancelledError) as error:  # the library's own: what it waited for was lost
                self.end_with(Lost(f"{type(error).__name__} at the worker {self.worker}"))
        assert self._outcome is not None
        return self._outcome


async def _its_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def _fetch(client: Client, future: RemoteFuture[Answer]) -> Answer:
    answer: Answer = await client.gather(future, asynchronous=True)  # type: ignore[no-untyped-call]
    return answer


def _outcome(answer: Answer) -> Outcome:
    word, line, why = answer
    if word == "kept":
        return Kept(line)
    if word == "broke":
        return Broke("harness_error", why)
    return CutOff("worker_refused", why, "mend it, restart the workers, and run again")


# --- in a worker ---------------------------------------------------------------------------------

# One seal in the life of a worker: code that was loaded for one must not play for another.
_opened: tuple[str, str, dict[Stage, Bench]] | None = None
_one_at_a_time = threading.Lock()


def _attempt(task: Task) -> Answer:
    """One attempt at a slot. A study's code need not bear threads, so a worker plays one slot at a time."""
    plan, stage, pin, due, slot = task
    with _one_at_a_time:
        try:
            bench = _bench(plan, stage, pin, due)
        except (SealkitError, OSError) as error:
            return "refused", b"", f"a worker refuses: {error}"
        outcome = attempt(bench, slot)
    if isinstance(outcome, Kept):
        return "kept", outcome.line, ""
    return "broke", b"", getattr(outcome, "why", "")


def _bench(plan: str, stage: Stage, pin: str, due: str) -> Bench:
    global _opened
    if _opened is None:
        if digest_record(environment()) != due:
            raise HarnessError("its environment is not that of the one who runs", remedy="install the same lock")
        _opened = (plan, pin, {})
    if _opened[:2] != (plan, pin):
        raise HarnessError("it has opened another seal already")
    benches = _opened[2]
    if stage not in benches:
        bench = open_bench(Path(plan), stage)
        if bench.pin != pin:
            raise HarnessError(f"it finds the pin {bench.pin}, due {pin}", remedy="share one folder")
        benches[stage] = bench
    return benches[stage]
