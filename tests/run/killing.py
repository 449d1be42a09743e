"""Runs that are killed: real processes, SIGKILL, at moments drawn from a seed.

Two ways to start `sealkit run`: `python -m sealkit run` from nothing, or a fork of a process that has imported
sealkit already and then does the same. The second is a process of its own too, and starts ten times as fast.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, cast

from tests.studies import ID, PLAN, ROOT

ENTRY = 420  # bytes of a journal entry, about

_NURSERY = """
import json, os, sys
import sealkit.cli.run, sealkit.run.executor, sealkit.run.calling, sealkit.agents.models.transport
from sealkit.cli import main
for line in sys.stdin:
    folder, arguments = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        sys.argv = ["sealkit", *arguments]
        main()
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def start(study: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """`python -m sealkit ...` from nothing, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "sealkit", *arguments], cwd=study, env=environment(),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


@contextmanager
def nursery() -> Iterator[subprocess.Popen[str]]:
    """A process that forks into `sealkit ...` as often as it is asked to."""
    with subprocess.Popen(
        [sys.executable, "-c", _NURSERY], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            cast(IO[str], process.stdin).close()


@dataclass(frozen=True)
class Moment:
    """When to kill: after the journal has grown by so many bytes, and then so many seconds more."""

    grown: int
    then: float


def moments(seed: int) -> Iterator[Moment]:
    """Drawn moments: most in the midst of slots, some before the journal has grown at all."""
    drawn = random.Random(seed)
    while True:
        early = drawn.random() < 0.1
        yield (
            Moment(0, drawn.uniform(0, 0.3))
            if early
            else Moment(drawn.randrange(1, 6 * ENTRY), drawn.uniform(0, 0.006))
        )


def await_growth(study: Path, grown: int, *, gone: Callable[[], bool], folder: str = ".") -> None:
    """Wait until the journal has grown by so many bytes, or the run has ended by itself."""
    journal = study / "receipts" / ID / folder / "journal.jsonl"

    def size() -> int:
        return journal.stat().st_size if journal.exists() else 0

    due = size() + grown
    while size() < due and not gone():
        time.sleep(0.0003)


def send_at(
    study: Path,
    pid: int,
    moment: Moment,
    *,
    gone: Callable[[], bool],
    what: signal.Signals = signal.SIGKILL,
    folder: str = ".",
) -> None:
    """Send `pid` the signal at the moment; `gone` says whether it has ended by itself."""
    await_growth(study, moment.grown, gone=gone, folder=folder)
    until = time.perf_counter() + moment.then
    while time.perf_counter() < until:
        pass
    os.kill(pid, what)


def killed_run(study: Path, moment: Moment, *, jobs: int) -> bool:
    """Start a run from nothing and kill it; whether it was still running. Nothing that it started lives on."""
    with start(study, "run", PLAN, "--jobs", str(jobs)) as child:
        send_at(study, child.pid, moment, gone=lambda: child.poll() is not None)
        child.communicate(timeout=60)  # to the end of its output, which every process that it started holds
    return child.returncode == -signal.SIGKILL


def stopped_fork(
    study: Path,
    moment: Moment,
    nurse: subprocess.Popen[str],
    *arguments: str,
    by: signal.Signals,
    folder: str = ".",
) -> int:
    """Fork `sealkit run`, or what is given, and send it the signal; its exit code, minus the signal's number if killed.

    The moment is counted in the journal in `folder` of the receipts.
    """
    asks, answers = cast(IO[str], nurse.stdin), cast(IO[str], nurse.stdout)
    asks.write(json.dumps([str(study), list(arguments) or ["run", PLAN, "--jobs", "1"]]) + "\n")
    asks.flush()
    pid = int(answers.readline())
    ended = threading.Event()
    code: list[int] = []

    def wait() -> None:
        code.append(int(answers.readline()))
        ended.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    with contextlib.suppress(ProcessLookupError):
        send_at(study, pid, moment, gone=ended.is_set, what=by, folder=folder)
    waiting.join()
    return code[0]


def stopped_forks(
    study: Path, sealed: Path, drawn: Iterator[Moment], nurse: subprocess.Popen[str], *, by: signal.Signals, count: int
) -> None:
    """Stop so many forks of a run of `study`, one after another.

    On a busy machine a run may come to its end before its signal does; then `study` begins anew as `sealed`.
    """
    due = -by if by == signal.SIGKILL else 128 + by
    for moment in islice(drawn, 4 * count):
        code = stopped_fork(study, moment, nurse, by=by)
        if code == 0:
            shutil.rmtree(study)
            shutil.copytree(sealed, study)
            continue
        assert code == due
        count -= 1
        if not count:
            return
    raise AssertionError(f"{count} runs were not stopped")
