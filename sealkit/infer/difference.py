"""The difference of two effects, and how its units hang together.

Both effects may rest on the same episodes (D - C and C - A share an arm), on others (two populations), or on both. So
what is resampled is the key that both have in common, whole: its pairs in the one effect and in the other. Keys that
the plan puts into both effects, only into the first, and only into the second are resampled apart, so that every
resample has as many of each as there are. Of a stratified effect the keys of each stratum are resampled apart too, and
a stratum's mean counts with its weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sealkit.infer.columns import Numbers
from sealkit.infer.shapes import Rows, key, summed
from sealkit.infer.stats.design import Design
from sealkit.infer.stats.parts import difference
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.stats.units import Unit
from sealkit.plan.analysis import Single


@dataclass(frozen=True, slots=True)
class TwoEffects:
    """The rows of the effect that counts, and of the one that is taken away; `names` are theirs."""

    plus: Rows
    minus: Rows
    names: tuple[str, str]

    @property
    def n(self) -> int:
        """Pairs in both effects together."""
        return self.plus.sample.n + self.minus.sample.n

    def value(self) -> Fraction | NotEstimable:
        """The first effect minus the second."""
        plus, minus = self.plus.value(), self.minus.value()
        if isinstance(plus, NotEstimable):
            return plus
        return minus if isinstance(minus, NotEstimable) else plus - minus

    def design(self) -> Design | NotEstimable:
        """What a bootstrap of the difference resamples."""
        sides = self._sides()
        over = math.lcm(*(weight.denominator for side in sides for weight in side.weights))
        return difference([[_unit(key, sides, over) for key in keys] for keys in _groups(sides)], over=over)

    def units(self) -> int:
        """How many units are resampled."""
        return sum(map(len, _groups(self._sides())))

    def _sides(self) -> tuple[_Side, _Side]:
        shared = _shared_key(self.plus, self.minus)
        return _side(self.plus, shared), _side(self.minus, shared)


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two effects, by key: the stratum that each planned key lies in, and the sums of those with rows.

    Without strata there is one, of weight 1. Sums are (difference, rows), or those of a comparison of two ratios.
    """

    weights: tuple[Fraction, ...]
    stratum: dict[int, int]
    sums: dict[int, Unit]
    width: int

    def ratios(self, key: int, over: int) -> tuple[list[Unit], list[Unit]]:
        """The ratios of each stratum that count for this effect, and against it: 0, 0 where the key has no part."""
        found: list[Unit] = [(0,) * self.width] * len(self.weights)
        if key in self.sums:
            place = self.stratum[key]
            found[place] = self.sums[key]
        weighted = [
            tuple(int(weight * over) * number if i % 2 == 0 else number for i, number in enumerate(unit))
            for weight, unit in zip(self.weights, found, strict=True)
        ]
        return [unit[:2] for unit in weighted], [unit[2:] for unit in weighted if len(unit) > 2]


def _side(rows: Rows, shared: Sequence[str]) -> _Side:
    planned = key(rows.grid, shared, rows.sample.planned)
    strata, place = rows.effect.strata, np.zeros(len(planned), dtype=np.int64)
    weights: tuple[Fraction, ...] = (Fraction(1),)
    if strata is not None:
        names = [str(level) for level in rows.grid.factors[strata.by]]
        levels = rows.grid.places(rows.sample.planned, strata.by)
        place = np.array([list(strata.weights).index(names[level]) for level in levels.tolist()], dtype=np.int64)
        weights = tuple(map(Fraction, strata.weights.values()))
    stratum = dict(zip(planned.tolist(), place.tolist(), strict=True))
    return _Side(weights, stratum, _sums_by_key(rows, shared), len(rows.columns()))


def _groups(sides: tuple[_Side, _Side]) -> list[list[int]]:
    """The keys that are resampled together: planned into the same strata of the same effects."""
    groups: dict[tuple[int | None, int | None], list[int]] = {}
    for number in sorted(sides[0].sums.keys() | sides[1].sums.keys()):
        groups.setdefault((sides[0].stratum.get(number), sides[1].stratum.get(number)), []).append(number)
    return list(groups.values())


def _unit(number: int, sides: tuple[_Side, _Side], over: int) -> Unit:
    """What counts for the difference, then as many ratios that count against it."""
    (ours, against_ours), (theirs, against_theirs) = (side.ratios(number, over) for side in sides)
    halves = [ours + against_theirs, against_ours + theirs]
    longest = max(map(len, halves))
    return tuple(number for half in halves for ratio in half + [(0, 1)] * (longest - len(half)) for number in ratio)


def _shared_key(plus: Rows, minus: Rows) -> Sequence[str]:
    """What both effects join or cluster by, and what either is stratified by: a key lies in one stratum of each."""
    effects = [part.effect for part in (plus, minus)]
    names = [effect.cluster or effect.join for effect in effects if not isinstance(effect, Single)]
    strata = [effect.strata.by for effect in effects if effect.strata is not None]
    return tuple(dict.fromkeys([*(name for name in names[0] if name in names[1]), *strata]))


def _sums_by_key(rows: Rows, shared: Sequence[str]) -> dict[int, Unit]:
    numbers: Numbers = key(rows.grid, shared, rows.sample.row_slot)
    known, group = np.unique(numbers, return_inverse=True)
    sums = zip(*(summed(column, group) for column in rows.columns()), strict=True)
    return dict(zip(known.tolist(), sums, strict=True))
