"""What is resampled and what effect is computed from it: pairs in strata, clusters, or blocks of two ratios.

Everything is brought to whole numbers here, so that an effect is a ratio of two of them.

>>> design = pairs([1, Fraction(1, 3), Fraction(-2, 3)])
>>> design.strata[0].units, design.observed()
(((3, 1), (1, 1), (-2, 1)), Fraction(2, 9))
>>> clusters([(3, 4), (0, 2)]).observed()  # 3 of 4 and 0 of 2
Fraction(1, 2)
>>> pairs([])
NotEstimable(reason='no pairs')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from sealkit.infer.stats.decimals import exact_decimal
from sealkit.infer.stats.results import Estimate, NotEstimable
from sealkit.infer.stats.scale import Exact, Scaled, to_integers
from sealkit.infer.stats.units import PAIRS, RATIOS, Kind, Stratum, Unit
from sealkit.wire.errors import UsageError

Ratio: TypeAlias = tuple[int, int]  # numerator, denominator
Effect: TypeAlias = Callable[[Sequence[Unit]], Ratio]  # from the sums over each stratum's units


@dataclass(frozen=True, slots=True)
class Design:
    """Units in strata; `effect_of(strata)` computes their effect from sums over the units of each."""

    name: str
    strata: tuple[Stratum, ...]
    kind: Kind
    effect_of: Callable[[Sequence[Stratum]], Effect]

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units of all strata."""
        return tuple(unit for each in self.strata for unit in each.units)

    def observed(self) -> Fraction | NotEstimable:
        """The effect of the data themselves; of a single unit `NotEstimable`: it has no spread to resample."""
        sums = [tuple(map(sum, zip(*each.units, strict=True))) for each in self.strata]
        top, bottom = self.effect_of(self.strata)(sums)
        if not bottom:
            return NotEstimable("the denominators sum to 0")
        if len(self.units) == 1:
            return NotEstimable("one unit has no spread to resample")
        return Fraction(top, bottom)

    def estimate(
        self, observed: Fraction, lower: Fraction, upper: Fraction, *, method: str, level: Decimal
    ) -> Estimate:
        """The effect with its limits, rounded here and not before, and the counts beside them."""
        signs = [self.kind.sign(unit) for unit in self.units]
        return Estimate(
            estimate=exact_decimal(observed),
            lower=exact_decimal(lower),
            upper=exact_decimal(upper),
            n=len(signs),
            b=sum(sign > 0 for sign in signs),
            c=sum(sign < 0 for sign in signs),
            method=method,
            level=level,
            notes=("the interval has no width",) if lower == upper else (),
        )


def pairs(differences: Sequence[Exact]) -> Design | NotEstimable:
    """The mean of the differences of pairs, first arm minus second (or of the values of one arm)."""
    return _pairs("paired", [(Fraction(1), differences)])


def stratified_pairs(strata: Sequence[tuple[Fraction, Sequence[Exact]]]) -> Design | NotEstimable:
    """The weighted sum of the mean differences of strata (weight, differences), each resampled in itself.

    The weights are fixed beforehand, above 0, and sum to 1.
    """
    return _pairs("stratified", strata)


def _pairs(name: str, strata: Sequence[tuple[Fraction, Sequence[Exact]]]) -> Design | NotEstimable:
    if sum(weight for weight, _ in strata) != 1 or min(weight for weight, _ in strata) <= 0:
        raise UsageError("the weights of strata are above 0 and sum to 1")
    differences = to_integers([difference for _, members in strata for difference in members])
    if isinstance(differences, NotEstimable):
        return differences
    for i, (_, members) in enumerate(strata):
        if not members:
            return NotEstimable("no pairs" if len(strata) == 1 else f"stratum {i} has no pairs")
    values = iter(differences.values)
    drawn = tuple(Stratum(weight, tuple((next(values), 1) for _ in members)) for weight, members in strata)
    return Design(name, drawn, PAIRS, _weighted_means(differences.denominator))


def _weighted_means(denominator: int) -> Callable[[Sequence[Stratum]], Effect]:
    def effect_of(strata: Sequence[Stratum]) -> Effect:
        shares = [each.weight / (len(each.units) * denominator) for each in strata]
        bottom = math.lcm(*(share.denominator for share in shares))
        factors = [int(share * bottom) for share in shares]
        return lambda sums: (sum(factor * unit[0] for factor, unit in zip(factors, sums, strict=True)), bottom)

    return effect_of


def clusters(members: Sequence[tuple[Exact, Exact]]) -> Design | NotEstimable:
    """The sum of totals over the sum of sizes of clusters (total, size), resampled whole.

    With a cluster's sum of differences and its number of pairs this is the mean difference of pairs; with any
    numerator and denominator, a ratio of sums.
    """
    totals, sizes = to_integers([total for total, _ in members]), _sizes([size for _, size in members])
    if isinstance(totals, NotEstimable):
        return totals
    if isinstance(sizes, NotEstimable):
        return sizes
    if not members:
        return NotEstimable("no clusters")
    units = tuple(zip(totals.values, sizes.values, strict=True))
    top, bottom = sizes.denominator, totals.denominator
    whole = (Stratum(Fraction(1), units),)
    return Design("cluster", whole, PAIRS, lambda _: lambda sums: (sums[0][0] * top, sums[0][1] * bottom))


def ratios(blocks: Sequence[tuple[Exact, Exact, Exact, Exact]]) -> Design | NotEstimable:
    """The first arm's ratio of sums minus the second's; a block is (numerator, denominator) of each, in one row."""
    tops = to_integers([number for block in blocks for number in block[0::2]])
    bottoms = _sizes([number for block in blocks for number in block[1::2]])
    if isinstance(tops, NotEstimable):
        return tops
    if isinstance(bottoms, NotEstimable):
        return bottoms
    if not blocks:
        return NotEstimable("no blocks")
    columns = (tops.values[0::2], bottoms.values[0::2], tops.values[1::2], bottoms.values[1::2])
    units = tuple(zip(*columns, strict=True))
    top, bottom = bottoms.denominator, tops.denominator

    def effect(sums: Sequence[Unit]) -> Ratio:
        a, b, c, d = sums[0]
        return (a * d - c * b) * top, b * d * bottom

    return Design("ratio", (Stratum(Fraction(1), units),), RATIOS, lambda _: effect)


def _sizes(sizes: Sequence[Exact]) -> Scaled | NotEstimable:
    scaled = to_integers(sizes)
    if isinstance(scaled, Scaled) and min(scaled.values, default=0) < 0:
        raise UsageError(f"a size or denominator is 0 or more, not {min(sizes)}")
    return scaled
