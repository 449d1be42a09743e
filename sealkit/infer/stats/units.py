"""What a bootstrap resamples, in one order: however the rows came in, whichever arm is first.

A unit is a row of whole numbers: a pair is (difference, 1), a cluster (sum of differences, number of pairs), a block of
two ratios (numerator, denominator, numerator, denominator). Its mirror image is the same unit with the arms swapped.

Of the data and their mirror image, the one whose units, sorted from the largest down, are the larger list is drawn
from, and the effect of each resample counts with the sign that belongs to the data. Where the two are equal, it counts
with both signs. So shuffling rows changes nothing, and swapping the arms turns every limit into its negative.

>>> minus = Stratum(Fraction(1), ((-1, 1), (0, 1), (-1, 1), (1, 1)))
>>> signs, strata = arrange([minus], PAIRS)
>>> signs, [total for total, _ in strata[0].units]
((-1,), [1, 1, -1, 0])
>>> arrange([Stratum(Fraction(1), ((-1, 1), (1, 1)))], PAIRS)[0]
(1, -1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Unit: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stratum:
    """Units that are resampled among themselves, and their effect's share in the whole effect."""

    weight: Fraction
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Kind:
    """How units of one kind are mirrored, the key that orders them for drawing, and the sign of a unit's own effect."""

    mirror: Callable[[Unit], Unit]
    order: Callable[[Unit], Unit]
    sign: Callable[[Unit], int]


# A pair or cluster: the largest |total| first, then the larger size, then the positive total.
PAIRS = Kind(
    mirror=lambda unit: (-unit[0], unit[1]),
    order=lambda unit: (-abs(unit[0]), -unit[1], -unit[0]),
    sign=lambda unit: unit[0],
)
# A block of two ratios: the largest numbers first.
RATIOS = Kind(
    mirror=lambda unit: unit[2:] + unit[:2],
    order=lambda unit: tuple(-number for number in unit),
    sign=lambda unit: unit[0] * unit[3] - unit[2] * unit[1],
)


def arrange(strata: Sequence[Stratum], kind: Kind) -> tuple[tuple[int, ...], tuple[Stratum, ...]]:
    """The signs with which an effect drawn counts, and the strata, of the data or their image, in drawing order."""
    given = _largest_first(strata)
    image = _largest_first([Stratum(each.weight, tuple(map(kind.mirror, each.units))) for each in strata])
    chosen = max(given, image)
    signs = (1, -1) if given == image else (1,) if chosen == given else (-1,)
    return signs, tuple(Stratum(weight, tuple(sorted(units, key=kind.order))) for weight, units in chosen)


def _largest_first(strata: Sequence[Stratum]) -> list[tuple[Fraction, tuple[Unit, ...]]]:
    return sorted(((each.weight, tuple(sorted(each.units, reverse=True))) for each in strata), reverse=True)
