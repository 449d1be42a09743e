"""How much a seeded bootstrap limit owes to its seed: the share of all seeds that put it above, or below, a value.

With B resamples and h = (B-1) tail = i + g, the lower limit lies above a value v if more than i resamples' worth of
the sorted effects do: N, the number of effects up to v, is binomial(B, F(v)), F the exact law. N <= i puts it above,
N >= i + 2 does not, and for N = i + 1 the limit is (1-g) a + g b with a the largest of i + 1 effects up to v and b the
smallest of the B - i - 1 above it. These are shares to report, computed in floats; no rule reads them.
They do not hold for data that equal their own mirror image, whose effect is 0 and whose interval lies around it.

>>> from sealkit.infer.stats.design import pairs
>>> from sealkit.infer.stats.law import law_of
>>> law = law_of(pairs([1] * 9 + [-1] * 3 + [0] * 20))
>>> f"{share_above(law, Fraction(-1, 32), level=Decimal('0.95'), resamples=10_000):.3f}"  # of seeds 0 to 59, 44 do
'0.729'
"""

from __future__ import annotations

from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

from sealkit.infer.stats.decimals import tail_of
from sealkit.infer.stats.lattice import Law
from sealkit.infer.stats.special import binomial_at_most


def share_above(law: Law, value: Fraction, *, level: Decimal, resamples: int) -> float:
    """The share of seeds whose lower limit lies above `value`."""
    i, part = divmod((resamples - 1) * tail_of(level), 1)
    upto = [chance / law.total for chance in accumulate(law.weights)]
    effects = [x * law.unit for x in law.support]
    known = bisect_right(effects, value)  # how many effects of the law are up to the value
    reached = upto[known - 1] if known else 0.0
    surely = binomial_at_most(i, resamples, reached)
    exactly = binomial_at_most(i + 1, resamples, reached) - surely
    if not part or not exactly:
        return surely
    above, largest_before = 0.0, 0.0
    for effect, chance in zip(effects[:known], upto[:known], strict=True):
        largest = (chance / reached) ** (i + 1)  # the chance that the largest effect up to the value is at most this
        least = bisect_right(effects, (value - (1 - part) * effect) / part)  # the next one must lie beyond here
        beyond = (1 - upto[least - 1]) / (1 - reached) if reached < 1 else 0.0
        above += (largest - largest_before) * max(0.0, beyond) ** (resamples - i - 1)
        largest_before = largest
    return surely + exactly * above


def share_below(law: Law, value: Fraction, *, level: Decimal, resamples: int) -> float:
    """The share of seeds whose upper limit lies below `value`."""
    return share_above(law.mirrored(), -value, level=level, resamples=resamples)
