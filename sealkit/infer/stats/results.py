"""What a statistic gives back: numbers as 12-place decimals, or the reason why there are none.

>>> NotEstimable("no pairs")
NotEstimable(reason='no pairs')
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class NotEstimable:
    """There is no such number, and no rule may be asked about it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """A paired effect, first arm minus second, with its interval.

    `n` counts the units (pairs or clusters), `b` those in which the first arm has more, `c` those in which the
    second has; a binary outcome's discordant pairs are these b and c.
    """

    estimate: Decimal
    lower: Decimal
    upper: Decimal
    n: int
    b: int
    c: int
    method: str
    level: Decimal
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rate:
    """x of n, with its interval."""

    estimate: Decimal
    lower: Decimal
    upper: Decimal
    x: int
    n: int
    method: str
    level: Decimal


@dataclass(frozen=True, slots=True)
class Tested:
    """A test's p-value, with the same n, b and c as `Estimate`."""

    p: Decimal
    n: int
    b: int
    c: int
    method: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MarginTested:
    """A test against a margin, beside the interval that decides the same: `level` is 1 - 2 alpha."""

    p: Decimal
    margin: Decimal
    lower: Decimal
    upper: Decimal
    n: int
    b: int
    c: int
    method: str
    level: Decimal
