"""Measures as integers over one common denominator, so that sums of them are exact.

A mean of three repetitions is in thirds, a score with step 0.2 in fifths; in floats such sums leave dust, and a
limit that is exactly 0 comes out above it. Integers have none.

>>> to_integers([Fraction(1, 3), 0, Decimal("-0.5")])
Scaled(values=(2, 0, -3), denominator=6)
>>> to_integers([1, Decimal("NaN")])
NotEstimable(reason='value 1 is NaN')
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from sealkit.infer.stats.results import NotEstimable
from sealkit.wire.errors import UsageError

Exact: TypeAlias = int | Fraction | Decimal


@dataclass(frozen=True, slots=True)
class Scaled:
    """`values[i] / denominator` is measure i."""

    values: tuple[int, ...]
    denominator: int


def to_integers(measures: Sequence[Exact]) -> Scaled | NotEstimable:
    """The measures over their least common denominator; NaN and infinities are `NotEstimable`, a float `UsageError`."""
    if all(type(measure) is int for measure in measures):
        return Scaled(tuple(map(int, measures)), 1)  # nothing to do, and often a hundred thousand of them
    ratios: list[tuple[int, int]] = []
    for i, measure in enumerate(measures):
        if not isinstance(measure, (int, Fraction, Decimal)):
            raise UsageError(
                f"value {i} is {measure!r}, a {type(measure).__name__}; due int, Fraction or Decimal",
                remedy="give the decimal text that was recorded, or the fraction it stands for",
            )
        if isinstance(measure, Decimal) and not measure.is_finite():
            return NotEstimable(f"value {i} is {measure}")
        ratios.append(measure.as_integer_ratio())
    denominator = math.lcm(*{bottom for _, bottom in ratios})
    return Scaled(tuple(top * (denominator // bottom) for top, bottom in ratios), denominator)
