"""The exact bootstrap law against scipy's resampling, the memory of an analysis, and what two intervals cover."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from math import comb

import numpy as np

from benchmarks.clock import python, spend, wall_s
from benchmarks.row import Row
from benchmarks.sizes import Sizes
from sealkit.infer.stats.design import pairs
from sealkit.infer.stats.law import law_interval
from sealkit.infer.stats.paired import PairedCounts, tango
from sealkit.infer.stats.proportion import wilson
from sealkit.infer.stats.results import NotEstimable

LEVEL = Decimal("0.95")
WILSON_N = range(20, 51)
TANGO_N = 32


def measure(sizes: Sizes) -> tuple[Row, ...]:
    """Memory first: what the kernel counts for a child includes what its parent had when it was started."""
    memory = _memory(sizes)
    return (*(_law(n, sizes) for n in sizes.pairs), memory, _wilson(sizes), _tango(sizes))


# --- speed


def _law(n: int, sizes: Sizes) -> Row:
    """Both give a percentile interval of a mean of differences -1, 0 and 1; the law's owes nothing to a seed."""
    differences = [1] * (n // 4) + [-1] * (n // 10) + [0] * (n - n // 4 - n // 10)
    law_interval(pairs([0, 1, 1]), level=LEVEL)  # each imports what it needs
    _scipy([0, 1, 1], 10)
    exact = wall_s(lambda: law_interval(pairs(differences), level=LEVEL))
    drawn = wall_s(lambda: _scipy(differences, sizes.resamples))
    how = f"{1e3 * exact:.3g} ms, scipy.stats.bootstrap {1e3 * drawn:.3g} ms"
    return Row(f"exact bootstrap law of {n:,} pairs, against {sizes.resamples:,} resamples", exact / drawn, "×", 1, how)


def _scipy(differences: list[int], resamples: int) -> None:
    from scipy.stats import bootstrap  # type: ignore[import-untyped]

    rng, data = np.random.default_rng(0), (np.array(differences, dtype=np.float64),)
    batch = max(1, 2**22 // len(differences))
    bootstrap(data, np.mean, n_resamples=resamples, method="percentile", vectorized=True, batch=batch, rng=rng)


# --- memory


def _memory(sizes: Sizes) -> Row:
    """The whole analysis of plans/v1.yaml, with 1,000 resamples, on synthetic cells; each in a process of its own."""
    spent = [spend(python("-m", "benchmarks.cells", str(count))) for count in sizes.cells]
    few, many = (each.peak_bytes for each in spent)
    how = f"{many / 1e6:.0f} MB, {few / 1e6:.0f} MB; {spent[1].wall_s:.0f} s"
    name = f"peak memory analysing {sizes.cells[1]:,} cells, against {sizes.cells[0]:,}"
    return Row(name, many / few, "×", 1.2, how)


# --- coverage, by enumeration of every outcome


def _wilson(sizes: Sizes) -> Row:
    """Over n = 20 to 50 and a grid of rates; no outcome is drawn."""
    rates = np.arange(1, sizes.rates + 1) / (sizes.rates + 1)
    shares: dict[tuple[float, int], float] = {}
    for n in WILSON_N:
        found = [wilson(x, n, level=LEVEL) for x in range(n + 1)]
        limits = [(float(rate.lower), float(rate.upper)) for rate in found if not isinstance(rate, NotEstimable)]
        for rate in rates.tolist():
            inside = [x for x, (lower, upper) in enumerate(limits) if lower <= rate <= upper]
            shares[rate, n] = sum(comb(n, x) * rate**x * (1 - rate) ** (n - x) for x in inside)
    (rate, n), least = min(shares.items(), key=lambda item: item[1])
    how = f"least {least:.3f}, at {rate:.2f} of {n}; nominal 0.95"
    return Row("coverage of Wilson's 95 % interval, n from 20 to 50", sum(shares.values()) / len(shares), "", None, how)


def _tango(sizes: Sizes) -> Row:
    """Over a grid of rates of both kinds of discordant pairs, n = 32."""
    limits = {
        (b, c): (float(found.lower), float(found.upper))
        for b, c in _tables(TANGO_N)
        if not isinstance(found := tango(PairedCounts(TANGO_N, b, c), level=LEVEL), NotEstimable)
    }
    steps = max(2, sizes.rates // 5)
    grid = [(i / steps, j / steps) for i in range(steps) for j in range(steps) if 0 < i + j < steps]
    shares = {rates: _covered(limits, *rates) for rates in grid}
    rates, least = min(shares.items(), key=lambda item: item[1])
    how = f"least {least:.3f}, at rates {rates[0]:.2f} and {rates[1]:.2f}; nominal 0.95"
    return Row(f"coverage of Tango's 95 % interval, n = {TANGO_N}", sum(shares.values()) / len(shares), "", None, how)


def _tables(n: int) -> Iterator[tuple[int, int]]:
    return ((b, c) for b in range(n + 1) for c in range(n + 1 - b))


def _covered(limits: dict[tuple[int, int], tuple[float, float]], first: float, second: float) -> float:
    """The chance of data whose interval holds the true difference."""
    share, n = 0.0, TANGO_N
    for (b, c), (lower, upper) in limits.items():
        if lower <= first - second <= upper:
            ways = comb(n, b) * comb(n - b, c)
            share += ways * first**b * second**c * (1 - first - second) ** (n - b - c)
    return share
