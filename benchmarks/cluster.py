"""Two Dask workers against one, each a process of its own on loopback, on scripted arms that take their time.

A scripted agent of the reference world decides in microseconds, which no one spreads over machines. So each decision
computes a chain of digests first, about as long as a small planner would: work of the processor, not waiting.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.clock import ROOT, sealkit, spend
from benchmarks.row import Row
from benchmarks.sizes import Sizes
from benchmarks.studies import PLAN, make_study
from sealkit.agents.models.budget import Spent
from sealkit.plan.slots import Stage
from sealkit.run.bench import open_bench
from sealkit.run.run import run_stage

_PATIENCE_S = 60.0
_THINKING = """

class Thinking:
    def __init__(self, agent):
        self.agent = agent

    def act(self, view):
        import hashlib
        digest = b""
        for _ in range({digests}):
            digest = hashlib.sha256(digest).digest()
        return self.agent.act(view)


AGENTS = {{name: Scripted(make=lambda draws, made=made: Thinking(made.make(draws)), reads_truth=made.reads_truth)
          for name, made in AGENTS.items()}}
"""


class Unwatched:
    """Shows nothing."""

    def begin(self, done: int) -> None:
        """Nothing."""

    def turn_to(self, label: str, total: int, done: int) -> None:
        """What follows is called so."""

    def step(self, count: int = 1) -> None:
        """Nothing."""

    def use(self, spent: Spent | None) -> None:
        """Nothing."""


def measure(sizes: Sizes) -> Row:
    """The whole confirmatory run, wall time, after a smoke run that has each worker open the seal."""
    with TemporaryDirectory() as scratch:
        # With one seed the plan's rules leave no outcome open, and it cannot be sealed.
        study = make_study(Path(scratch, "study").absolute(), seeds=max(2, sizes.seeds))
        agents = study / "worlds" / "house" / "agents.py"
        agents.write_text(agents.read_text() + _THINKING.format(digests=sizes.digests))
        spend(sealkit("seal", PLAN), cwd=study)
        took = {}
        for workers in (1, 2):
            with _cluster(Path(scratch, f"{workers}"), workers) as scheduler:
                copy = Path(scratch, f"study-{workers}")
                subprocess.run(["cp", "-r", study, copy], check=True)
                _run(copy, "smoke", scheduler)
                before = time.perf_counter()
                slots = _run(copy, "confirmatory", scheduler)
                took[workers] = time.perf_counter() - before
    how = f"{slots} slots, {took[2]:.2f} s, {took[1]:.2f} s: {took[1] / took[2]:.2f} times as fast"
    return Row("two Dask workers, against one", took[2] / took[1], "×", 0.667, how)


def _run(study: Path, stage: Stage, scheduler: str) -> int:
    bench = open_bench(study / PLAN, stage)
    report = run_stage(bench, jobs=1, now=lambda: datetime.now(UTC), watch=Unwatched(), scheduler=scheduler)
    return report.slots


@contextmanager
def _cluster(folder: Path, workers: int) -> Iterator[str]:
    folder.mkdir()
    file = folder / "scheduler.json"
    started = [_start(folder, "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))]
    try:
        address = _await(file, started[0])
        for number in range(workers):
            started.append(
                _start(folder, "dask_worker", address, "--nthreads", "1", "--no-nanny", "--name", f"w{number}",
                       "--local-directory", str(folder))
            )  # fmt: skip
        _await_workers(address, workers)
        yield address
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _start(folder: Path, module: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, "--no-dashboard"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _await(file: Path, scheduler: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and scheduler.poll() is None:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.05)
    raise RuntimeError("the scheduler does not start")


def _await_workers(address: str, workers: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        client.wait_for_workers(workers, timeout=_PATIENCE_S)
