"""How time and memory are measured: two things in turns, medians, children by what the kernel counted for them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Spent:
    """What one child process took, from its start to its end."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


def medians(first: Callable[[], float], second: Callable[[], float], *, repeats: int) -> tuple[float, float]:
    """The medians of both, measured in turns so that a busy moment falls on both; one turn to warm up."""
    first(), second()
    turns = [(first(), second()) for _ in range(repeats)]
    return median(a for a, _ in turns), median(b for _, b in turns)


def cpu_s(work: Callable[[], object]) -> float:
    """The CPU seconds, user and system, that this process spends in `work`."""
    before = time.process_time()
    work()
    return time.process_time() - before


def wall_s(work: Callable[[], object]) -> float:
    """The seconds until `work` is done."""
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


# A child's peak, as the kernel counts it, begins at the size of the process that started it. So a small Python that
# imports nothing starts the command, takes the figures, and adds them as a last line to what the command printed.
_STARTER = """
import os, sys, time
started = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - started
print()
print(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""


def spend(command: Sequence[str], *, cwd: Path = ROOT) -> Spent:
    """Run `command`, whose program is a path, in `cwd` to its end; `RuntimeError` with its output if it fails."""
    started = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _STARTER, *command],
        cwd=cwd,
        env=_environment(cwd),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    output, _, figures = started.stdout.rstrip().rpartition("\n")
    wall, cpu, peak, code = figures.split()
    if code != "0":
        raise RuntimeError(f"{' '.join(command)}: exit {code}\n{output}")
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes there, KiB elsewhere
    return Spent(float(wall), float(cpu), int(peak) * unit)


def _environment(cwd: Path) -> dict[str, str]:
    """Compiled files are kept, as on a person's machine; what sealkit remembers of journals stays with the scratch."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept if cwd == ROOT else kept | {"XDG_STATE_HOME": str(cwd.parent / "state")}


def python(*arguments: str) -> tuple[str, ...]:
    """A command for this interpreter."""
    return (sys.executable, *arguments)


def sealkit(*arguments: str) -> tuple[str, ...]:
    """A command as a person types it; the module, if this environment has no such script."""
    script = Path(sys.executable).with_name("sealkit")
    return (str(script), *arguments) if script.exists() else python("-m", "sealkit", *arguments)
