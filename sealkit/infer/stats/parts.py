"""Designs beyond one ratio: effects that are weighted sums of ratios of sums, such as a difference of two effects.

A unit holds a numerator and a denominator for every ratio: first of the ratios that count for the effect, then of as
many that count against it. Strata with weights have ratios of their own, and the effect is the weighted sum over them;
groups without weights only keep apart what is resampled, and their sums are added up.

>>> from sealkit.infer.stats.design import Design
>>> one = weighted([(Fraction(1, 4), [(3, 4), (0, 2)]), (Fraction(3, 4), [(1, 1)])])  # 1/4 of 3 in 6, 3/4 of 1 in 1
>>> one.observed()
Fraction(7, 8)
>>> two = difference([[(1, 1, 0, 1), (0, 1, 0, 1)], [(0, 0, 1, 1)]], over=1)  # 1 of 2 for it, 1 of 3 against it
>>> two.observed()
Fraction(1, 6)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sealkit.infer.stats.design import Design, Effect, Ratio
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.stats.units import Kind, Stratum, Unit

# A pair or cluster in strata: as `units.PAIRS`, but the sizes vary, so that no exact law is known here.
ONE_RATIO = Kind(
    mirror=lambda unit: (-unit[0], unit[1]),
    order=lambda unit: (-abs(unit[0]), -unit[1], -unit[0]),
    sign=lambda unit: unit[0],
)
# Ratios for and against: the largest numbers first.
HALVES = Kind(
    mirror=lambda unit: unit[len(unit) // 2 :] + unit[: len(unit) // 2],
    order=lambda unit: tuple(-number for number in unit),
    sign=lambda unit: _sign(unit),
)


def _sign(unit: Unit) -> int:
    if 0 in unit[1::2]:
        return 0
    value = _sum_of_ratios(unit)
    return (value > 0) - (value < 0)


def _sum_of_ratios(unit: Unit) -> Fraction:
    half = len(unit) // 2
    ratios = [Fraction(unit[i], unit[i + 1]) for i in range(0, len(unit), 2)]
    return sum(ratios[: half // 2], Fraction(0)) - sum(ratios[half // 2 :], Fraction(0))


def weighted(strata: Sequence[tuple[Fraction, Sequence[Unit]]]) -> Design | NotEstimable:
    """The weighted sum over strata of each one's effect; units are (total, size), or hold ratios for and against.

    Every unit has the same length; the weights are above 0 and sum to 1.
    """
    for i, (_, units) in enumerate(strata):
        if not units:
            return NotEstimable(f"stratum {i} has no units")
    kind = ONE_RATIO if len(strata[0][1][0]) == 2 else HALVES
    drawn = tuple(Stratum(weight, tuple(units)) for weight, units in strata)

    def effect_of(arranged: Sequence[Stratum]) -> Effect:
        weights = [each.weight for each in arranged]

        def effect(sums: Sequence[Unit]) -> Ratio:
            if any(0 in unit[1::2] for unit in sums):
                return 0, 0
            values = (Fraction(*unit) if len(unit) == 2 else _sum_of_ratios(unit) for unit in sums)
            return sum((w * value for w, value in zip(weights, values, strict=True)), Fraction(0)).as_integer_ratio()

        return effect

    return Design("stratified", drawn, kind, effect_of)


def difference(groups: Sequence[Sequence[Unit]], *, over: int) -> Design | NotEstimable:
    """The ratios for the effect minus those against it, over `over`; units of a group are resampled among themselves.

    A unit that takes no part in a ratio has 0, 0 there; a ratio that is there only so that both halves are equally long
    has 0, 1 in every unit. Weights of ratios are in their numerators, and `over` is what these were brought to. Groups
    that are empty are left out.
    """
    filled = [tuple(units) for units in groups if units]
    if not filled:
        return NotEstimable("no units")

    def effect(sums: Sequence[Unit]) -> Ratio:
        total = tuple(map(sum, zip(*sums, strict=True)))
        return (0, 0) if 0 in total[1::2] else (_sum_of_ratios(total) / over).as_integer_ratio()

    strata = tuple(Stratum(Fraction(1), units) for units in filled)
    return Design("difference", strata, HALVES, lambda _: effect)
