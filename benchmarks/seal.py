"""`sealkit seal` against bare Python and a tenth of a second."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.clock import medians, python, sealkit, spend
from benchmarks.row import Row
from benchmarks.sizes import Sizes
from benchmarks.studies import PLAN, make_study


def measure(sizes: Sizes) -> Row:
    """The dry run's plan, its 60 scenarios and its closure, in a fresh study each time."""
    with TemporaryDirectory() as scratch:
        folders = (make_study(Path(scratch, f"study-{number}")) for number in count())
        bare, seal = medians(
            lambda: spend(python("-c", "pass")).wall_s + 0.1,
            lambda: spend(sealkit("seal", PLAN), cwd=next(folders)).wall_s,
            repeats=sizes.starts,
        )
    how = f"{seal * 1000:.0f} ms, `python -c pass` and 100 ms {bare * 1000:.0f} ms"
    return Row("sealkit seal, against bare Python + 100 ms", seal / bare, "×", 3.0, how)
