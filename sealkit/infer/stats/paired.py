"""Two arms, one yes or no each, over n pairs: b pairs with a yes in the first arm only, c in the second only.

The estimate is (b - c)/n; swapping the arms turns every limit and estimate into its negative.

    McNemar exact   min(1, 2 P(X <= min(b, c))), X binomial(b + c, 1/2) (McNemar, Psychometrika 1947, 12:153)
    McNemar mid-p   that, less P(X = min(b, c)) (Fagerland, Lydersen, Laake, BMC Med Res Methodol 2013, 13:91)
    Tango           the score interval: every D with |T(D)| <= z (Tango, Stat Med 1998, 17:891, equations 24-26)
    Newcombe 10     square-and-add of two Wilson intervals, with a corrected phi (Newcombe, Stat Med 1998, 17:2635)
    noninferiority  p = 1 - Phi(T(-margin)), one-sided; p <= alpha if and only if Tango's lower limit of level
                    1 - 2 alpha lies above -margin (same paper of Tango)
    equivalence     the larger p of the two one-sided tests, at -margin and at margin

>>> counts = PairedCounts(n=32, b=9, c=3)
>>> interval = tango(counts, level=Decimal("0.95"))
>>> f"{interval.estimate:.4f}, {interval.lower:.4f} to {interval.upper:.4f}; p {mcnemar_exact(counts).p:.4f}"
'0.1875, -0.0271 to 0.3897; p 0.1460'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist

from sealkit.infer.stats.decimals import exact_decimal, limits, tail_of, to_decimal
from sealkit.infer.stats.results import Estimate, MarginTested, NotEstimable, Tested
from sealkit.infer.stats.special import wilson_limits
from sealkit.wire.errors import UsageError

NO_PAIRS = NotEstimable("no pairs")


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """n pairs, of which b have a yes in the first arm only and c in the second only."""

    n: int
    b: int
    c: int

    def __post_init__(self) -> None:
        if min(self.b, self.c) < 0 or self.b + self.c > self.n:
            raise UsageError(f"{self.b} and {self.c} discordant of {self.n} pairs cannot be")

    @property
    def swapped(self) -> PairedCounts:
        """The same pairs, second arm first."""
        return PairedCounts(self.n, self.c, self.b)

    @property
    def difference(self) -> Fraction:
        """(b - c)/n, for n > 0."""
        return Fraction(self.b - self.c, self.n)


# --- McNemar -----------------------------------------------------------------------------------------


def mcnemar_exact(counts: PairedCounts) -> Tested | NotEstimable:
    """The exact two-sided test that b and c have one rate; without discordant pairs p is 1."""
    at_most, _ = _splits(counts)
    return _mcnemar(counts, 2 * at_most, "mcnemar_exact")


def mcnemar_mid_p(counts: PairedCounts) -> Tested | NotEstimable:
    """The exact test with the chance of the observed split counted half in each tail."""
    at_most, exactly = _splits(counts)
    return _mcnemar(counts, 2 * at_most - exactly, "mcnemar_mid_p")


def _splits(counts: PairedCounts) -> tuple[int, int]:
    """How many of the 2^(b + c) splits of the discordant pairs put at most, and exactly, min(b, c) on one side."""
    discordant = counts.b + counts.c
    exactly = at_most = 1
    for k in range(1, min(counts.b, counts.c) + 1):
        exactly = exactly * (discordant - k + 1) // k
        at_most += exactly
    return at_most, exactly


def _mcnemar(counts: PairedCounts, as_extreme: int, method: str) -> Tested | NotEstimable:
    if counts.n == 0:
        return NO_PAIRS
    discordant = counts.b + counts.c
    p = min(Fraction(1), Fraction(as_extreme, 2**discordant))
    notes = () if discordant else (f"0 of {counts.n} discordant",)
    return Tested(exact_decimal(p), counts.n, counts.b, counts.c, method, notes)


# --- Tango -------------------------------------------------------------------------------------------


def tango(counts: PairedCounts, *, level: Decimal) -> Estimate | NotEstimable:
    """The difference with Tango's score interval."""
    tail = tail_of(level)
    if counts.n == 0:
        return NO_PAIRS
    z = NormalDist().inv_cdf(float(1 - tail))
    found = limits(-_tango_upper(counts.swapped, z), _tango_upper(counts, z))
    return _estimate(counts, found, "tango", level)


def tango_score(counts: PairedCounts, difference: float) -> float:
    """T(D) for a true difference D, -1 < D < 1: about standard normal; above 0 when the data lie above D."""
    n, b, c = counts.n, counts.b, counts.c
    # q, the likeliest rate of "second only" if the difference is D, solves 2n q^2 + B q + C = 0.
    linear = -(b + c) + (2 * n - b + c) * difference
    constant = -c * difference * (1 - difference)
    root = math.sqrt(max(0.0, linear * linear - 8 * n * constant))
    # The larger root, written so that nothing cancels.
    q = -2 * constant / (linear + root) if linear > 0 else (root - linear) / (4 * n)
    variance = n * (2 * q + difference * (1 - difference))
    distance = b - c - n * difference
    if distance == 0:
        return 0.0
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance)


def _tango_upper(counts: PairedCounts, z: float) -> float:
    """The D above the estimate where T(D) falls to -z, by bisection down to neighbouring floats."""
    if counts.b == counts.n:
        return 1.0
    inside, outside = (counts.b - counts.c) / counts.n, 1.0  # T is 0 at the one and -inf at the other
    while inside < (middle := (inside + outside) / 2) < outside:
        if tango_score(counts, middle) >= -z:
            inside = middle
        else:
            outside = middle
    return inside


# --- Newcombe ----------------------------------------------------------------------------------------


def newcombe_10(counts: PairedCounts, *, both: int, level: Decimal) -> Estimate | NotEstimable:
    """The difference with Newcombe's method 10; `both` counts the pairs with a yes in both arms."""
    tail_of(level)
    if not 0 <= both <= counts.n - counts.b - counts.c:
        raise UsageError(f"{both} pairs with a yes in both arms cannot be among {counts}")
    if counts.n == 0:
        return NO_PAIRS
    lower = -_newcombe_upper(counts.swapped, both, float(level))
    return _estimate(counts, limits(lower, _newcombe_upper(counts, both, float(level))), "newcombe_10", level)


def _newcombe_upper(counts: PairedCounts, both: int, level: float) -> float:
    n, b, c = counts.n, counts.b, counts.c
    first, second, neither = both + b, both + c, n - both - b - c
    _, first_upper = wilson_limits(first, n, level)
    second_lower, _ = wilson_limits(second, n, level)
    margins = first * (n - first) * second * (n - second)
    product: float = both * neither - b * c
    if product > 0:
        product = max(product - n / 2, 0)  # the correction that makes method 8 method 10
    phi = product / math.sqrt(margins) if margins else 0.0
    up, down = first_upper - first / n, second / n - second_lower
    return min(1.0, (b - c) / n + math.sqrt(max(0.0, up * up - 2 * phi * up * down + down * down)))


# --- margins -----------------------------------------------------------------------------------------


def noninferiority(counts: PairedCounts, *, margin: Decimal, alpha: Decimal) -> MarginTested | NotEstimable:
    """The one-sided score test that the first arm is worse than the second by `margin` or more."""
    return _against(margin, alpha, (counts,), "tango_noninferiority")


def equivalence(counts: PairedCounts, *, margin: Decimal, alpha: Decimal) -> MarginTested | NotEstimable:
    """Two one-sided score tests that the arms differ by `margin` or more, either way."""
    return _against(margin, alpha, (counts, counts.swapped), "tango_equivalence")


def _against(
    margin: Decimal, alpha: Decimal, directions: tuple[PairedCounts, ...], method: str
) -> MarginTested | NotEstimable:
    """The largest p over the directions, each testing that its first arm is worse by `margin` or more."""
    if not (margin.is_finite() and 0 < margin < 1):
        raise UsageError(f"a margin lies between 0 and 1, not at {margin}")
    if not (alpha.is_finite() and 0 < alpha < Decimal("0.5")):
        raise UsageError(f"alpha lies between 0 and 0.5, not at {alpha}")
    counts, level = directions[0], 1 - 2 * alpha
    interval = tango(counts, level=level)
    if isinstance(interval, NotEstimable):
        return interval
    p = to_decimal(max(_upper_tail(tango_score(each, float(-margin))) for each in directions))
    if isinstance(p, NotEstimable):
        return p
    lower, upper = interval.lower, interval.upper
    return MarginTested(p, margin, lower, upper, counts.n, counts.b, counts.c, method, level)


def _upper_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2


def _estimate(
    counts: PairedCounts, found: tuple[Decimal, Decimal] | NotEstimable, method: str, level: Decimal
) -> Estimate | NotEstimable:
    if isinstance(found, NotEstimable):
        return found
    lower, upper = found
    return Estimate(exact_decimal(counts.difference), lower, upper, counts.n, counts.b, counts.c, method, level)
