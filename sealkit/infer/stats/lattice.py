"""Exact laws of sums of independent whole numbers.

The law of a sum is a product of polynomials, one coefficient a value. Their coefficients are packed into one long
decimal number each, and the standard library's `decimal` multiplies those exactly, by a number-theoretic transform.

A small law is exact: its weights are counts of equally likely outcomes. A large one keeps 30 decimal digits of every
chance, always rounded down, and drops tails below 10^-24 a step; so weight/total never exceeds the true chance, and
all chances together miss at most `lost`/total of the whole: about 10^-19 after 100,000 draws. Every answer is decided
within that bound or is `NotEstimable`; no float takes part.

>>> law = sum_of_draws({-1: 3, 0: 20, 1: 9}, 32)  # 3 of 32 pairs for the second arm, 9 for the first
>>> law.lost, f"{float(law.at_most(-1)[0]):.6f}", law.quantile(Fraction(1, 40))
(0, '0.024123', Fraction(0, 1))
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

from sealkit.infer.stats.results import NotEstimable
from sealkit.wire.errors import UsageError

KEPT = 30  # decimal digits of a chance in a large law
DROPPED = 10 ** (KEPT - 24)  # the tail weight that a step may drop on either side
EXACT_DIGITS = 4_000_000  # a law is exact while its packed number is no longer than this ...
EXACT_WEIGHT = 4_000  # ... and no weight is (Python refuses to read integers of more than 4300 digits)
MOST_POINTS = 500_000  # beyond this a law takes more than about ten seconds

_EXACTLY = decimal.Context(
    prec=decimal.MAX_PREC,
    Emax=decimal.MAX_EMAX,
    Emin=decimal.MIN_EMIN,
    traps=[decimal.Inexact, decimal.InvalidOperation],
)


@dataclass(frozen=True, slots=True)
class Law:
    """A random number: it is `support[i] * unit` with chance `weights[i] / total`, or up to `lost / total` more.

    `support` rises. Where `lost` is 0 the chances are exact.
    """

    support: Sequence[int | Fraction]
    weights: tuple[int, ...]
    total: int
    unit: Fraction = Fraction(1)

    @property
    def lost(self) -> int:
        """The weight that rounding down took from all values together."""
        return self.total - sum(self.weights)

    def at_most(self, value: Fraction | int) -> tuple[Fraction, Fraction]:
        """Bounds of the chance of `value` or less."""
        sure = sum(w for x, w in zip(self.support, self.weights, strict=True) if x * self.unit <= value)
        return Fraction(sure, self.total), Fraction(sure + self.lost, self.total)

    def quantile(self, tail: Fraction) -> Fraction | NotEstimable:
        """The smallest value such that it or less has a chance of at least `tail`."""
        due, lost, below = tail * self.total, self.lost, 0
        for x, upto in zip(self.support, accumulate(self.weights), strict=True):
            if upto >= due:
                if lost and below + lost >= due:
                    break  # the value before may reach the tail as well
                return x * self.unit
            below = upto
        return NotEstimable(f"a chance of {float(tail):g} is within {lost / self.total:.0e} of a step of the exact law")

    def mirrored(self) -> Law:
        """The law of the negative."""
        return Law(tuple(-x for x in reversed(self.support)), self.weights[::-1], self.total, self.unit)


def sum_of_draws(counts: Mapping[int, int], draws: int) -> Law | NotEstimable:
    """The law of the sum of `draws` values drawn with replacement, value v with chance counts[v] / all counts.

    `NotEstimable` if that needs more than `MOST_POINTS` weights.
    """
    if draws < 1 or not counts or min(counts.values()) < 1:
        raise UsageError(f"no law of {draws} draws from {len(counts)} values")
    lowest, many = min(counts), sum(counts.values())
    step = math.gcd(*(value - lowest for value in counts)) or 1
    points = _points(counts, draws, step)
    if points > MOST_POINTS:
        return too_long(points)
    base = [0] * ((max(counts) - lowest) // step + 1)
    for value, count in counts.items():
        base[(value - lowest) // step] = count
    exact = _fits(math.ceil(draws * math.log10(many)) + 1, draws * (len(base) - 1) + 1)
    offset, weights, total = _power(base, draws, many) if exact else _power_kept(base, draws, many)
    first = draws * lowest + offset * step
    return Law(range(first, first + step * len(weights), step), tuple(weights), total)


def sum_of(one: Law, other: Law) -> Law | NotEstimable:
    """The law of the sum of two independent numbers, both whole multiples of the same unit."""
    steps = [law.support[1] - law.support[0] for law in (one, other) if len(law.support) > 1]
    step = math.gcd(*map(int, steps)) or 1
    points = int(one.support[-1] - one.support[0] + other.support[-1] - other.support[0]) // step + 1
    if points > MOST_POINTS:
        return too_long(points)
    if not _fits(len(str(one.total)) + len(str(other.total)), points):
        one, other = _kept(one), _kept(other)
    weights = _multiply(_spread(one, step), _spread(other, step), len(str(one.total * other.total)), drop=0)
    first = int(one.support[0] + other.support[0])
    return Law(range(first, first + step * points, step), tuple(weights), one.total * other.total, one.unit)


def too_long(points: int) -> NotEstimable:
    """Why a law of so many values is not computed."""
    return NotEstimable(f"the exact law would have about {points} values; sealkit stops at {MOST_POINTS}")


def _points(counts: Mapping[int, int], draws: int, step: int) -> int:
    """About how many values a law's weights span once its negligible tails are dropped."""
    many, span = sum(counts.values()), (max(counts) - min(counts)) // step
    mean = Fraction(sum(value * count for value, count in counts.items()), many)
    spread = math.sqrt(sum(count * (value - mean) ** 2 for value, count in counts.items()) / many) / step
    return min(draws * span, span + math.ceil(22 * spread * math.sqrt(draws))) + 1


def _fits(digits: int, points: int) -> bool:
    return digits <= EXACT_WEIGHT and digits * points <= EXACT_DIGITS


def _power(base: list[int], draws: int, many: int) -> tuple[int, list[int], int]:
    """The exact weights of the sum: the coefficients of base^draws."""
    weights, total = base, many
    for bit in bin(draws)[3:]:  # from the second binary digit on: square, and for a 1 once more times the base
        total *= total
        weights = _multiply(weights, weights, len(str(total)), drop=0)
        if bit == "1":
            total *= many
            weights = _multiply(weights, base, len(str(total)), drop=0)
    return 0, weights, total


def _power_kept(base: list[int], draws: int, many: int) -> tuple[int, list[int], int]:
    """The same with every chance rounded down to `KEPT` digits and tails dropped; the offset of the first weight."""
    one = 10**KEPT
    base = [weight * one // many for weight in base]
    offset, weights = 0, base
    for bit in bin(draws)[3:]:
        weights = _multiply(weights, weights, 2 * KEPT + 1, drop=KEPT)
        offset *= 2
        if bit == "1":
            weights = _multiply(weights, base, 2 * KEPT + 1, drop=KEPT)
        low = _negligible(weights)
        high = len(weights) - _negligible(reversed(weights))
        offset, weights = offset + low, weights[low:high]
    return offset, weights, one


def _negligible(weights: Iterable[int]) -> int:
    """How many leading weights together stay within `DROPPED`."""
    return next(i for i, upto in enumerate(accumulate(weights)) if upto > DROPPED)


def _kept(law: Law) -> Law:
    one = 10**KEPT
    return Law(law.support, tuple(weight * one // law.total for weight in law.weights), one, law.unit)


def _spread(law: Law, step: int) -> list[int]:
    """The law's weights on a lattice with that step."""
    first = int(law.support[0])
    spread = [0] * ((int(law.support[-1]) - first) // step + 1)
    for x, weight in zip(law.support, law.weights, strict=True):
        spread[(int(x) - first) // step] = weight
    return spread


def _multiply(one: list[int], other: list[int], digits: int, *, drop: int) -> list[int]:
    """The product of two polynomials whose product's coefficients have at most `digits` digits, less the last `drop`.

    Each polynomial is packed into one number, `digits` digits a coefficient, and two numbers are multiplied.
    """
    packed = _pack(one, digits)
    product = _EXACTLY.multiply(packed, packed if other is one else _pack(other, digits))
    length = len(one) + len(other) - 1
    text = str(product).zfill(digits * length)
    return [int(text[i : i + digits - drop]) for i in range(0, digits * length, digits)]


def _pack(weights: list[int], digits: int) -> Decimal:
    return Decimal("".join([str(weight).zfill(digits) for weight in weights]))
