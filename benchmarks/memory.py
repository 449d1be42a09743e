"""The peak memory of verifying a large study against that of a small one."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.clock import sealkit, spend
from benchmarks.row import Row
from benchmarks.sizes import Sizes
from benchmarks.studies import SLOTS_A_SEED, make_run_study


def measure(sizes: Sizes) -> Row:
    """`sealkit verify` over the dry run with more seeds; the process's peak as the kernel counted it."""
    counts, peaks = [], []
    with TemporaryDirectory() as scratch:
        for episodes in sizes.episodes:
            seeds = -(-episodes // SLOTS_A_SEED)
            study = make_run_study(Path(scratch, str(episodes)), seeds=seeds)
            counts.append(seeds * SLOTS_A_SEED)
            peaks.append(spend(sealkit("verify", "receipts/"), cwd=study).peak_bytes)
    how = f"{peaks[1] / 1e6:.0f} MB, {peaks[0] / 1e6:.0f} MB"
    name = f"peak memory verifying {counts[1]:,} episodes, against {counts[0]:,}"
    return Row(name, peaks[1] / peaks[0], "×", 1.2, how)
