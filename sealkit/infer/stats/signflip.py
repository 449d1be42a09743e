"""The sign-flip permutation test of paired differences, exact.

Under the null hypothesis each difference could as well have had the other sign. Of the 2^n equally likely choices of
signs, the two-sided p is the share whose sum is at least as far from 0 as the one seen (Fisher, The Design of
Experiments, 1935, section 21). The sums' law is a convolution, so no choice is left out and none is drawn. On
differences of -1, 0 and 1 this is the exact McNemar test.

>>> sign_flip([1, 2, 3]).p  # only +1 +2 +3 and its negative lie that far out: 2 of 8
Decimal('0.250000000000')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from heapq import heappop, heappush
from math import gcd

from sealkit.infer.stats.decimals import exact_decimal
from sealkit.infer.stats.lattice import MOST_POINTS, Law, sum_of, sum_of_draws, too_long
from sealkit.infer.stats.results import NotEstimable, Tested
from sealkit.infer.stats.scale import Exact, to_integers


def sign_flip(differences: Sequence[Exact]) -> Tested | NotEstimable:
    """The two-sided exact test that the differences are symmetric about 0; if all are 0, p is 1."""
    scaled = to_integers(differences)
    if isinstance(scaled, NotEstimable):
        return scaled
    n = len(scaled.values)
    values = [value for value in scaled.values if value]
    if n == 0:
        return NotEstimable("no pairs")
    b, c = sum(value > 0 for value in values), sum(value < 0 for value in values)
    if not values:
        return Tested(exact_decimal(Fraction(1)), n, b, c, "sign_flip", (f"0 of {n} differ",))
    law = _law_of_signs(Counter(map(abs, values)))
    if isinstance(law, NotEstimable):
        return law
    far = abs(sum(values))
    nearer = sum(weight for x, weight in zip(law.support, law.weights, strict=True) if -far < x < far)
    # Weights are rounded down, so p is never too small; see `lattice` for by how little it can be too large.
    return Tested(exact_decimal(1 - Fraction(nearer, law.total)), n, b, c, "sign_flip")


def _law_of_signs(sizes: Counter[int]) -> Law | NotEstimable:
    """The law of the sum over all sizes, each with either sign; short laws are summed first."""
    waiting: list[tuple[int, int, Law]] = []
    points = 0
    for size, times in sizes.items():
        law = sum_of_draws({-size: 1, size: 1}, times)
        if isinstance(law, NotEstimable):
            return law
        points += len(law.support) * size // gcd(*sizes)
        if points > MOST_POINTS:
            return too_long(points)
        heappush(waiting, (len(law.support), size, law))
    while len(waiting) > 1:
        (_, size, one), (_, _, other) = heappop(waiting), heappop(waiting)
        law = sum_of(one, other)
        if isinstance(law, NotEstimable):
            return law
        heappush(waiting, (len(law.support), size, law))
    return waiting[0][2]
