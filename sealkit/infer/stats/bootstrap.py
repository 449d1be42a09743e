"""The percentile bootstrap with a seed (Efron and Tibshirani 1993, chapter 13), in exact arithmetic.

**Draws.** `Generator(PCG64(seed)).integers(0, n, size=(resamples, n))` picks, row by row, the n units of each
resample, with replacement, from the units in the order that `units.arrange` gives; strata follow one another on the
same generator. One order for ever: `check_draws` compares numpy with a recorded answer before the first use. The
stream is whole-number arithmetic on the words of PCG64, so it is the same on every machine, and rows are drawn in
blocks without changing it: memory stays flat.

**Limits.** The resamples' effects, sorted x[0] ... x[B-1], give the quantile p at h = (B-1) p, between neighbours
linearly: (1-g) x[i] + g x[i+1] with i + g = h. That is definition 7 of Hyndman and Fan (Am Stat 1996, 50:361), what
numpy, R and `scipy.stats.bootstrap(method="percentile")` do; here on whole numbers and fractions, so a limit of 0 is 0.
Data that equal their own mirror image (`units.arrange`) count every effect with both signs, which doubles B.

>>> from sealkit.infer.stats.design import pairs
>>> design = pairs([1] * 9 + [-1] * 3 + [0] * 20)
>>> for seed in (0, 1):  # here the seed decides whether the interval reaches below 0: see `law`
...     found = percentile_bootstrap(design, level=Decimal("0.95"), resamples=10_000, seed=seed)
...     print(f"{found.estimate:.5f}, {found.lower:.5f} to {found.upper:.5f}")
0.18750, -0.03125 to 0.37500
0.18750, 0.00000 to 0.37500
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from sealkit.infer.stats.decimals import tail_of
from sealkit.infer.stats.design import Design, Ratio
from sealkit.infer.stats.results import Estimate, NotEstimable
from sealkit.infer.stats.units import Unit, arrange
from sealkit.wire.errors import HarnessError, UsageError

BLOCK = 2**18  # draws held in memory at a time
LIMB = 30  # bits of a number summed at a time: 2^30 times 2^32 units stay inside 64 bits
MOST_UNITS = 2**32  # up to here numpy spends one 32-bit word on a draw

Sums: TypeAlias = np.typing.NDArray[Any]  # whole numbers: of 64 bits, or Python's own


def percentile_bootstrap(
    design: Design | NotEstimable, *, level: Decimal, resamples: int, seed: int
) -> Estimate | NotEstimable:
    """The design's effect with the percentile interval of its resamples' effects."""
    tail = tail_of(level)
    if resamples < 1 or seed < 0:
        raise UsageError(f"{resamples} resamples from seed {seed} cannot be drawn")
    if isinstance(design, NotEstimable):
        return design
    observed = design.observed()
    if isinstance(observed, NotEstimable):
        return observed
    check_draws()
    signs, strata = arrange(design.strata, design.kind)
    rng = np.random.Generator(np.random.PCG64(seed))
    columns = [sums for each in strata for sums in _resampled(each.units, resamples, rng)]
    effect, width = design.effect_of(strata), len(strata[0].units[0])
    effects = [
        (effect([sums[i : i + width] for i in range(0, len(sums), width)]), times) for sums, times in _counted(columns)
    ]
    if undefined := sum(times for (_, bottom), times in effects if bottom == 0):
        return NotEstimable(f"in {undefined} of {resamples} resamples the denominators sum to 0")
    counted = [((sign * top, bottom), times) for (top, bottom), times in effects for sign in signs]
    lower, upper = _quantiles(counted, (tail, 1 - tail))
    return design.estimate(observed, lower, upper, method=f"{design.name}_bootstrap_percentile", level=level)


def _resampled(units: Sequence[Unit], resamples: int, rng: np.random.Generator) -> list[Sums]:
    """For each number of a unit, its sum over the units of every resample."""
    if len(units) > MOST_UNITS:
        raise UsageError(f"{len(units)} units are more than the draw order is defined for")
    numbers = [(min(column), _limbs(column)) for column in zip(*units, strict=True)]
    # Python's own numbers where a sum may need more than 64 bits.
    small = [len(limbs) <= 1 and abs(least) < 2**LIMB for least, limbs in numbers]
    columns = [np.empty(resamples, dtype=np.int64 if fits else object) for fits in small]
    done = 0
    for picked in _picked(len(units), resamples, rng):
        rows = slice(done, done := done + len(picked))
        for column, (least, limbs) in zip(columns, numbers, strict=True):
            # Numbers were cut into limbs above their least, so that no 64-bit sum overflows.
            column[rows] = len(units) * least
            for place, limb in enumerate(limbs):
                partial = np.take(limb, picked).sum(axis=1, dtype=np.int64)
                column[rows] += partial.astype(column.dtype) << (LIMB * place)
    return columns


def _counted(columns: Sequence[Sums]) -> Iterator[tuple[Unit, int]]:
    """Every combination of sums that was drawn, with the number of times."""
    spans = [int(column.max()) - int(column.min()) + 1 for column in columns]
    if any(column.dtype == object for column in columns) or math.prod(spans) >= 2**62:
        yield from Counter(zip(*(column.tolist() for column in columns), strict=True)).items()
        return
    key = np.zeros(len(columns[0]), dtype=np.int64)  # one number for a combination
    for column, span in zip(columns, spans, strict=True):
        key = key * span + (column - column.min())
    _, first, times = np.unique(key, return_index=True, return_counts=True)
    combinations = zip(*(column[first].tolist() for column in columns), strict=True)
    yield from zip(combinations, times.tolist(), strict=True)


def _picked(n: int, resamples: int, rng: np.random.Generator) -> Iterator[np.typing.NDArray[np.int64]]:
    """The published draws, a block of rows at a time."""
    rows = max(1, BLOCK // n)
    for start in range(0, resamples, rows):
        yield rng.integers(0, n, size=(min(rows, resamples - start), n))


def _limbs(column: Sequence[int]) -> list[np.typing.NDArray[np.unsignedinteger]]:
    least = min(column)
    above = [number - least for number in column]
    smallest = np.min_scalar_type(min(max(above), 2**LIMB))  # small numbers stay in the processor's cache
    places = range(-(-max(above).bit_length() // LIMB))
    return [np.array([number >> (LIMB * place) & (2**LIMB - 1) for number in above], smallest) for place in places]


def _quantiles(effects: Sequence[tuple[Ratio, int]], chances: Sequence[Fraction]) -> list[Fraction]:
    """The quantiles of effects that were each drawn so many times."""
    # Two different fractions differ by at least 1/widest, so their multiples by it have different whole parts.
    widest = max(bottom for (_, bottom), _ in effects) ** 2
    rising = sorted(effects, key=lambda drawn: drawn[0][0] * widest // drawn[0][1])
    upto = list(accumulate(times for _, times in rising))

    def sorted_effect(i: int) -> Fraction:
        return Fraction(*rising[bisect_right(upto, i)][0])

    found = []
    for chance in chances:
        i, part = divmod((upto[-1] - 1) * chance, 1)
        value = sorted_effect(i)
        found.append(value + part * (sorted_effect(i + 1) - value) if part else value)
    return found


@cache
def check_draws() -> None:
    """numpy draws as published, or `HarnessError`: the recorded intervals could not be drawn again."""
    found = np.random.Generator(np.random.PCG64(2026)).integers(0, 1000, size=(2, 4)).tolist()
    due = [[851, 178, 26, 639], [365, 467, 79, 370]]
    if found != due:
        raise HarnessError(
            f"numpy {np.__version__} draws {found}, due {due}", where="bootstrap", remedy="install the locked numpy"
        )
