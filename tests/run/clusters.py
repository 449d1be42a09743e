"""Dask clusters of real processes on loopback: a scheduler and workers, each a process of its own.

with cluster(tmp_path, workers=2) as found:
    call("run", PLAN, "--executor", "dask", "--scheduler", found.address, cwd=study)
    found.workers[0].kill()
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.run.killing import environment

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="the extra `dask` is not installed"
)
_PATIENCE_S = 60.0


@dataclass
class Found:
    """A cluster that is up."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]
    folder: Path
    environ: Mapping[str, str] = field(default_factory=dict)  # of workers, beside what all processes have

    def add_worker(self) -> subprocess.Popen[bytes]:
        """One more worker, which connects in its own time."""
        worker = _start(
            self.folder / f"worker-{len(self.workers)}", "dask_worker", self.address, "--nthreads", "1", "--no-nanny",
            "--no-dashboard", "--local-directory", str(self.folder), "--death-timeout", "60", environ=self.environ,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def await_workers(self) -> None:
        """Wait until every worker that lives is connected."""
        until = time.monotonic() + _PATIENCE_S
        for number, worker in enumerate(self.workers):
            log = self.folder / f"worker-{number}"
            while worker.poll() is None and "Registered to" not in log.read_text():
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.05)


def _start(log: Path, module: str, *arguments: str, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *arguments], cwd=log.parent,
            env={**environment(), **environ}, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip


@contextmanager
def cluster(folder: Path, *, workers: int, environ: Mapping[str, str] | None = None) -> Iterator[Found]:
    """A cluster in `folder`, whose workers have these variables too; every process of it has ended afterwards."""
    folder.mkdir()
    file = folder / "scheduler.json"
    scheduler = _start(
        folder / "scheduler", "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
        "--scheduler-file", str(file), environ={},
    )  # fmt: skip
    found = Found("", scheduler, [], folder, environ or {})
    try:
        found.address = _address(file, scheduler)
        for _ in range(workers):
            found.add_worker()
        found.await_workers()
        yield found
    finally:
        for process in (*found.workers, scheduler):
            process.kill()
            process.wait()


def _address(file: Path, scheduler: subprocess.Popen[bytes]) -> str:
    """What the scheduler writes into its file once it listens."""
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and scheduler.poll() is None:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.05)
    raise AssertionError((file.parent / "scheduler").read_text())
