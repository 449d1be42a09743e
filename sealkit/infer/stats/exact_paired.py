"""The unconditional score interval of a paired difference of proportions, its chances from the exact trinomial law.

A difference D is refused from below if P(T >= t) <= (1 - level)/2 whatever the rate of "second only" is, where T is
Tango's score at D and t its value for the data; the lower limit is the least D that is not refused, the upper limit the
same with the arms swapped. An interval so defined covers at least `level` whatever the true rates are (Hsueh, Liu and
Chen, Biometrics 2001, 57:478, for the test; Chan and Zhang, Biometrics 1999, 55:1202, for turning such a test into an
interval).

What is computed is that definition on a grid. For each c, T >= t means b >= some least b, so that the chance at one
rate is a sum of n + 1 binomial tails, in floats. "Whatever the rate" is the largest of 129 rates and, where that comes
close to the tail, of 129 more between the neighbours of the best of them, twice; a peak between grid points away from
the best is not seen. "The least D" is the end of the first step of 1/64, from -1 upward, whose far end is not refused,
found by bisection inside that step: a stretch shorter than a step that is not refused, below it, would not be seen. So
"exact" is said of the law and of the guarantee of the definition, not of the search; tests compare the limits with a
finer search by brute force, and enumerate what is covered, for small n.

>>> found = exact_difference(PairedCounts(n=32, b=9, c=3), level=Decimal("0.95"))
>>> f"{found.estimate:.4f}, {found.lower:.4f} to {found.upper:.4f}"
'0.1875, -0.0316 to 0.4080'
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from sealkit.infer.stats.decimals import exact_decimal, limits, tail_of
from sealkit.infer.stats.paired import PairedCounts, tango_score
from sealkit.infer.stats.results import Estimate, NotEstimable
from sealkit.infer.stats.special import binomial_at_least, binomial_exactly

STEPS = 64
RATES = 129
CLOSE = 0.9


def exact_difference(counts: PairedCounts, *, level: Decimal) -> Estimate | NotEstimable:
    """The difference with its exact unconditional interval."""
    tail = float(tail_of(level))
    if counts.n == 0:
        return NotEstimable("no pairs")
    found = limits(_lower(counts, tail), -_lower(counts.swapped, tail))
    if isinstance(found, NotEstimable):
        return found
    lower, upper = found
    value = exact_decimal(counts.difference)
    return Estimate(value, lower, upper, counts.n, counts.b, counts.c, "paired_exact", level)


def _lower(counts: PairedCounts, tail: float) -> float:
    if counts.c == counts.n:
        return -1.0
    estimate = float(counts.difference)
    refused = -1.0
    for step in range(1, 2 * STEPS):
        tried = -1 + step / STEPS
        if tried >= estimate or exceeds(counts, tried, tail):
            break
        refused = tried
    kept = min(tried, estimate)
    while kept - refused > 1e-13:
        middle = (refused + kept) / 2
        if exceeds(counts, middle, tail):
            kept = middle
        else:
            refused = middle
    return kept


def exceeds(counts: PairedCounts, difference: float, tail: float) -> bool:
    """Whether at some rate of "second only" data at least as far above `difference` have a chance beyond `tail`."""
    least = _least_b(counts, difference)
    low, high = max(0.0, -difference), (1 - difference) / 2
    for _ in range(3):  # each time between the neighbours of the best rate so far
        rates = np.linspace(low, high, RATES)
        chances = _chances(counts.n, least, difference, rates)
        best = int(chances.argmax())
        if not CLOSE * tail < chances[best] <= tail:
            break
        low, high = float(rates[max(best - 1, 0)]), float(rates[min(best + 1, RATES - 1)])
    return bool(chances[best] > tail)


def _least_b(counts: PairedCounts, difference: float) -> list[int]:
    """For every c the least b whose score is at least that of the data; n - c + 1 if none is."""
    due = tango_score(counts, difference)
    due -= 1e-9 * max(1.0, abs(due))  # data that lie as far but for rounding count as far
    found, b = [], 0
    for c in range(counts.n + 1):
        b = min(b, counts.n - c + 1)
        while b <= counts.n - c and tango_score(PairedCounts(counts.n, b, c), difference) < due:
            b += 1
        found.append(b)
    return found


def _chances(
    n: int, least: list[int], difference: float, rates: np.typing.NDArray[np.float64]
) -> np.typing.NDArray[np.float64]:
    """P(b >= least b of c) for every rate of "second only"."""
    c = np.arange(n + 1)
    first = np.clip((rates + difference) / np.maximum(1 - rates, 1e-300), 0.0, 1.0)
    upper = binomial_at_least(np.array(least)[None, :], (n - c)[None, :], first[:, None])
    chances: np.typing.NDArray[np.float64] = (binomial_exactly(c[None, :], n, rates[:, None]) * upper).sum(axis=1)
    return chances
