"""One proportion, x of n, with an interval.

Wilson's score interval (J Am Stat Assoc 1927, 22:209) holds the p at which |x/n - p| is at most z sqrt(p (1-p) / n);
Clopper and Pearson's (Biometrika 1934, 26:404) the p that neither exact binomial tail of (1 - level)/2 refuses.

>>> rate = wilson(2, 5, level=Decimal("0.95"))
>>> f"{rate.lower:.3f} to {rate.upper:.3f}"
'0.118 to 0.769'
>>> wilson(0, 0, level=Decimal("0.95"))
NotEstimable(reason='0 of 0 has no rate')
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from sealkit.infer.stats.decimals import exact_decimal, limits, tail_of
from sealkit.infer.stats.results import NotEstimable, Rate
from sealkit.infer.stats.special import clopper_pearson_limits, wilson_limits
from sealkit.wire.errors import UsageError


def wilson(x: int, n: int, *, level: Decimal) -> Rate | NotEstimable:
    """x of n with Wilson's score interval, without continuity correction."""
    return _rate(x, n, level, "wilson", wilson_limits)


def clopper_pearson(x: int, n: int, *, level: Decimal) -> Rate | NotEstimable:
    """x of n with the exact interval, which covers at least `level` whatever the true rate."""
    return _rate(x, n, level, "clopper_pearson", clopper_pearson_limits)


def _rate(
    x: int, n: int, level: Decimal, method: str, interval: Callable[[int, int, float], tuple[float, float]]
) -> Rate | NotEstimable:
    tail_of(level)  # refuses a level that is none
    if not 0 <= x <= n:
        raise UsageError(f"{x} of {n} is no count of successes")
    if n == 0:
        return NotEstimable("0 of 0 has no rate")
    found = limits(*interval(x, n, float(level)))
    if isinstance(found, NotEstimable):
        return found
    lower, upper = found
    return Rate(exact_decimal(Fraction(x, n)), lower, upper, x, n, method, level)
