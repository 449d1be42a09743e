"""Attempts on the workers of a Dask cluster, which share the study's folder: `--executor dask --scheduler tcp://…`.

A worker opens the seal itself, refuses drift, another pin and another environment than the parent's, plays slots and
gives bytes back (`sealkit.run.worker`). The parent alone writes the journal. Every attempt is bound to one worker, so
that the scheduler never quietly plays it again elsewhere: when its worker dies the attempt is lost, stays counted as
abandoned, and the slot is begun anew under the next number. When the scheduler dies, the run ends and the same command
goes on.

Attempts that ask models each have their share of the budget (`sealkit.run.purse`); what they used is read from their
calls. What cuts one of them off stops all: no more are begun, and those under way end at their next call.

Dask passes Python objects and trusts whoever can reach its ports: run it on loopback, in a closed network, or with TLS.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Limits, Spent, spent_on
from sealkit.run.bench import Bench
from sealkit.run.calling import INTERRUPTED, Models
from sealkit.run.outcome import Broke, CutOff, Kept, Lost, Outcome, Pending
from sealkit.run.purse import Purse
from sealkit.run.worker import REFUSED, Answer, Ways, halt, play_attempt
from sealkit.seal.closure import environment
from sealkit.wire.attempts import Tried, check_order, read_calls, tried_by
from sealkit.wire.canon import digest_record
from sealkit.wire.errors import HarnessError, SealkitError, UntrustedError
from sealkit.wire.events import Slot
from sealkit.wire.order import PAUSES

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as RemoteFuture

_AHEAD = 3  # attempts that a worker has to hand, one of them under way, where none asks a model
_CONNECT_S = 10
_LOOK_S = 0.5
_STOP_S = 60.0
_REMEDY = "run the same command again; nothing recorded is lost"
_MORE = "run again, with fewer workers or a lower --concurrency: what is left is shared anew; or raise sample.budget"


@dataclass(frozen=True, slots=True)
class Asks:
    """How attempts of this stage ask models, what they may use, and where their bodies are to be."""

    models: Models
    purse: Purse
    blobs: Blobs


@contextmanager
def on_cluster(bench: Bench, scheduler: str, asks: Asks | None) -> Iterator[Cluster]:
    """An executor over the workers of the cluster whose scheduler has this address."""
    try:
        from distributed import Client
    except ImportError as error:
        remedy = "in sealkit's checkout: pip install '.[dask]'; without one: pip install './sealkit-….whl[dask]'"
        raise HarnessError("the extra `dask` is not installed", remedy=remedy) from error
    try:
        client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        what = f"no scheduler answers at {scheduler!a}: {type(error).__name__}"
        raise HarnessError(what, remedy="start it, or give its address") from error
    try:
        cluster = Cluster(bench, client, asks)
        try:
            yield cluster
        finally:
            cluster.halt(at_once=True)
    finally:
        client.close(timeout=_CONNECT_S)  # type: ignore[no-untyped-call]


class Cluster:
    """The executor; `on_cluster` makes one."""

    def __init__(self, bench: Bench, client: Client, asks: Asks | None) -> None:
        self.asks = asks
        self._client = client
        self._bench = bench
        self._loop: asyncio.AbstractEventLoop = client.sync(_its_loop)  # type: ignore[no-untyped-call]
        stand = (bench.stage, bench.share)
        self._about = (os.path.abspath(bench.plan_path), bench.pin, digest_record(environment()), stand)
        self._run = uuid.uuid4().hex  # tells workers one run from another; never recorded
        self._ways = None if asks is None else _ways(self._run, asks.models)
        self._under_way: dict[Bound, None] = {}
        self._workers: frozenset[str] = frozenset()
        self._gone = ""
        self._met: CutOff | None = None
        self._looked = 0.0
        try:
            client.wait_for_workers(1, timeout=_CONNECT_S)
        except TimeoutError as error:
            raise HarnessError("the scheduler has no worker", remedy="start workers, and run again") from error
        self._look()

    @property
    def spent(self) -> Spent | None:
        """What calls have used so far, by the attempts that have ended."""
        return None if self.asks is None else self.asks.purse.spent

    def has_room(self, handed_out: int) -> bool:
        """Whether some worker has less to do than it may have to hand, and enough was recorded."""
        self._collect()
        if self._gone or self._met is not None:
            return False
        ahead = 1 if self.asks is None else 2  # a slow attempt is not to hold up those that ask meanwhile
        return len(self._under_way) < self._room() and handed_out < ahead * self._room()

    def submit(self, slot: Slot, number: int) -> Pending:
        """Begin an attempt on the worker that has least to do."""
        bound = Bound(self, Tried(pin=self._bench.pin, stage=self._bench.stage, slot=slot, attempt=number))
        if not self._workers or self._gone:
            bound.end_with(CutOff("workers_lost", self._gone or "no worker of the cluster is left", _REMEDY))
            return bound
        if self.asks is not None:
            bound.share = self.asks.purse.hand_out(room=self._room())
        busy = Counter(other.worker for other in self._under_way)
        bound.worker = min(sorted(self._workers), key=lambda worker: busy[worker])
        share = None if bound.share is None else (self._ways, astuple(bound.share))
        # One worker, and no try but this: the scheduler is not to play it again without anybody's knowing.
        future = self._client.submit(
            play_attempt, (self._about, slot, number, share), pure=False, workers=[bound.worker],
            allow_other_workers=False, retries=0,
        )  # fmt: skip
        bound.carry(future, asyncio.run_coroutine_threadsafe(_fetch(self._client, future), self._loop))
        self._under_way[bound] = None
        return bound

    def wait(self, pending: Pending) -> None:
        """Wait until it ends; look now and then for workers that have gone, and for new ones."""
        if isinstance(pending, Bound) and not pending.done() and pending.answer is not None:
            wait([pending.answer], timeout=_LOOK_S)
        self._collect()
        if time.monotonic() - self._looked >= _LOOK_S:
            self._look()

    def stop(self, *, at_once: bool) -> None:
        """Begin nothing more. What asks models has ended after this; what makes no calls is begun again."""
        if self.asks is None:
            for bound in tuple(self._under_way):
                bound.cancel()
            return
        self.halt(at_once=at_once)
        until = time.monotonic() + _STOP_S
        while self._under_way and (not at_once or time.monotonic() < until):
            self.wait(next(iter(self._under_way)))

    def halt(self, *, at_once: bool) -> None:
        """Tell every worker to let what asks models end, at once or at its next call."""
        if self.asks is None or not self._under_way or self._gone:
            return
        try:
            self._client.run(halt, self._run, at_once, on_error="ignore")
        except Exception:  # whatever the library raises when somebody has gone: that is seen by looking
            self._look()

    def ended(self, bound: Bound, outcome: Outcome) -> Outcome:
        """`bound` is not under way any more; how it ended, as the run is to be told."""
        self._under_way.pop(bound, None)
        if self.asks is None or bound.share is None:
            return outcome
        spent = spent_on(read_calls(outcome.calls, where="calls"))
        self.asks.purse.settle(bound.share, spent, kept=isinstance(outcome, Kept))
        if isinstance(outcome, CutOff):
            if self._met is not None and outcome.reason == INTERRUPTED:  # because all were told to stop
                return replace(self._met, calls=outcome.calls)
            if self._met is None and outcome.reason != INTERRUPTED:
                self._met = outcome
                self.halt(at_once=False)
        return outcome

    def _room(self) -> int:
        """How many attempts may be under way, or to hand, on all workers."""
        return max(1, len(self._workers)) * (_AHEAD if self.asks is None else self.asks.models.concurrency)

    def _collect(self) -> None:
        """Take in how attempts ended, so that what they did not use can be handed out."""
        for bound in tuple(self._under_way):
            if bound.done():
                bound.result()

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


class Bound:
    """An attempt that is bound to one worker. It has ended when its answer is here: a worker may die in between."""

    def __init__(self, cluster: Cluster, tried: Tried) -> None:
        self.worker = ""
        self.tried = tried
        self.share: Limits | None = None  # of the budget, where it asks models
        self.answer: Future[Answer] | None = None
        self._cluster = cluster
        self._remote: RemoteFuture[Answer]
        self._outcome: Outcome | None = None

    def carry(self, remote: RemoteFuture[Answer], answer: Future[Answer]) -> None:
        """It is under way there, and its answer is awaited here."""
        self._remote, self.answer = remote, answer

    def end_with(self, outcome: Outcome) -> None:
        """It has ended so, whatever its worker may still say."""
        if self._outcome is None:
            self._outcome = outcome  # once, also where to end it looks for what else has ended
            self._outcome = self._cluster.ended(self, outcome)

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
                self.end_with(_outcome(self.answer.result(), self.tried, self._cluster.asks))
            except (Exception, CancelledError) as error:  # the library's own: what it waited for was lost
                self.end_with(Lost(f"{type(error).__name__} at the worker {self.worker}"))
        assert self._outcome is not None
        return self._outcome


async def _its_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def _fetch(client: Client, future: RemoteFuture[Answer]) -> Answer:
    answer: Answer = await client.gather(future, asynchronous=True)  # type: ignore[no-untyped-call]
    return answer


def _ways(run: str, models: Models) -> Ways:
    """How models are reached, as a worker is told: with the addresses, and without a key."""
    endpoints = tuple(f"{role}={at.url}#{at.form}" for role, at in models.endpoints.items())
    patience = models.patience
    told = (patience.connect_s, patience.read_s, patience.total_s, patience.tries, patience.most_wait_s)
    return run, endpoints, models.concurrency, told


def _outcome(answer: Answer, due: Tried, asks: Asks | None) -> Outcome:
    """What a worker says of an attempt, and its calls, which can be recorded: they are of this one and have bodies."""
    word, line, calls, name, why, remedy = answer
    try:
        _check_calls(calls, due, asks)
    except SealkitError as error:
        return CutOff(REFUSED, f"what a worker gave cannot be recorded: {error}", "mend it, and run again")
    if word == "kept":
        return Kept(line, calls)
    if word == "broke":
        return Broke(name, why, calls)
    if name not in PAUSES:
        what = f"a worker pauses for {name[:80]!a}, which is no reason"
        return CutOff(REFUSED, what, "mend it, and run again", calls)
    if name == "budget":
        why, remedy = f"an attempt may use its share of what is left: {why}", _MORE
    return CutOff(name, why, remedy, calls)


def _check_calls(block: bytes, due: Tried, asks: Asks | None) -> None:
    calls = read_calls(block, where="calls of a worker")
    check_order(calls, where="calls of a worker")
    for call in calls:
        if asks is None or tried_by(call) != due:
            raise UntrustedError("evidence: a call of another attempt", where="calls of a worker")
        for digest in (call.request, call.response):
            if digest is not None and not asks.blobs.accounts_for(digest):
                where, remedy = str(asks.blobs.folder), "let every worker have this very folder"
                raise UntrustedError("it does not have the bodies that a worker wrote", where=where, remedy=remedy)
