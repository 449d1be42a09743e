"""`sealkit --version` against bare Python."""

from __future__ import annotations

from benchmarks.clock import medians, python, sealkit, spend
from benchmarks.row import Row
from benchmarks.sizes import Sizes


def measure(sizes: Sizes) -> Row:
    """Both started by the same interpreter in the same environment, to the end of the process."""
    bare, version = medians(
        lambda: spend(python("-c", "pass")).wall_s,
        lambda: spend(sealkit("--version")).wall_s,
        repeats=sizes.starts,
    )
    how = f"{version * 1000:.0f} ms, `python -c pass` {bare * 1000:.0f} ms"
    return Row("sealkit --version, against bare Python", version / bare, "×", 2.0, how)
