"""Appending to a long journal against appending to a short one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.clock import cpu_s, medians, wall_s
from benchmarks.journals import event, start
from benchmarks.row import Row
from benchmarks.sizes import Sizes
from sealkit.seal.journal import Journal

Pair = tuple[float, float]
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def in_turns(clock: Callable[[Callable[[], object]], float], short: Journal, long: Journal, repeats: int) -> Pair:
    return medians(
        lambda: clock(lambda: short.append(event(1), now=NOW)),
        lambda: clock(lambda: long.append(event(1), now=NOW)),
        repeats=repeats,
    )


def measure(sizes: Sizes) -> Row:
    """One entry at a time, in turns: lock, both fsyncs and HEAD included. The worse of CPU and time on the clock."""
    few, many = sizes.entries
    with TemporaryDirectory() as scratch:
        short, long = (start(Path(scratch, str(count)).absolute(), count) for count in (few, many))
        quick, slow = in_turns(wall_s, short, long, sizes.appends)
        quick_cpu, slow_cpu = in_turns(cpu_s, short, long, sizes.appends)
    how = f"{slow * 1000:.2f} ms, {quick * 1000:.2f} ms; of CPU {slow_cpu * 1000:.2f} ms, {quick_cpu * 1000:.2f} ms"
    worse = max(slow / quick, slow_cpu / quick_cpu)
    return Row(f"append at {many:,} entries, against {few:,}", worse, "×", 1.2, how)
