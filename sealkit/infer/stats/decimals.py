"""Numbers as rules and records see them: decimals with 12 places, rounded half to even, no minus zero.

Rounding is done on the exact value in integers; it is the last step, after every comparison that decides a limit.

>>> [as_text(to_decimal(value)) for value in (Fraction(-1, 32), Fraction(2, 3), -0.0)]
['-0.031250000000', '0.666666666667', '0.000000000000']
>>> to_decimal(float("nan"))
NotEstimable(reason='nan is not a number that a rule can read')
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from sealkit.infer.stats.results import NotEstimable
from sealkit.wire.errors import UsageError

PLACES = 12


def to_decimal(value: Fraction | Decimal | float) -> Decimal | NotEstimable:
    """The value with exactly 12 places; infinities and NaN are `NotEstimable`."""
    if not isinstance(value, Fraction) and not math.isfinite(value):
        return NotEstimable(f"{value} is not a number that a rule can read")
    return exact_decimal(Fraction(value))


def exact_decimal(value: Fraction) -> Decimal:
    """A rational number, which always is a number, with exactly 12 places."""
    units = round(value * 10**PLACES)  # half to even, in integers
    digits = tuple(int(digit) for digit in str(abs(units)))
    return Decimal((int(units < 0), digits, -PLACES))  # never rounds again, whatever the decimal context


def as_text(value: Decimal) -> str:
    """The decimal's digits without an exponent, as a record holds it; `str` would write 0E-12 for 0."""
    return f"{value:f}"


def limits(lower: float, upper: float) -> tuple[Decimal, Decimal] | NotEstimable:
    """Both limits with 12 places, or the first reason why one has none."""
    low, high = to_decimal(lower), to_decimal(upper)
    if isinstance(low, NotEstimable):
        return low
    return high if isinstance(high, NotEstimable) else (low, high)


def tail_of(level: Decimal) -> Fraction:
    """The chance (1 - level) / 2 left out on each side; `UsageError` unless 0 < level < 1."""
    if not (level.is_finite() and 0 < level < 1):
        raise UsageError(f"a level lies between 0 and 1, not at {level}", remedy="write 0.95 for 95 %")
    return (1 - Fraction(level)) / 2
