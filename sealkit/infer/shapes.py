"""The rows of an effect in the shapes that statistics take: counts, differences, designs to resample.

Everything is oriented here, once: of a comparison, above 0 is better for the plus side, also where lower is better. One
arm alone is not turned around. A row belongs to a cluster (the levels that it has of the effect's `cluster`, or itself)
and to a stratum; a cluster is resampled whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sealkit.infer.columns import Numbers, Whole, roomy
from sealkit.infer.grid import Grid
from sealkit.infer.sample import Plain, Sample
from sealkit.infer.stats.design import Design, clusters, pairs, ratios, stratified_pairs
from sealkit.infer.stats.paired import PairedCounts
from sealkit.infer.stats.parts import weighted
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.stats.scale import Exact
from sealkit.infer.stats.units import Unit

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rows:
    """The sample of one effect that is no difference of effects, and how its rows hang together.

    `lower_is_better` is the metric's; `is_ratio` says that the sample has two columns, over below.
    """

    grid: Grid
    effect: Plain
    sample: Sample
    lower_is_better: bool
    is_ratio: bool
    binary: bool

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.sample.n

    @property
    def is_plain(self) -> bool:
        """Whether each row is a unit of its own: no clusters, no strata, no ratio."""
        return self.effect.cluster is None and self.effect.strata is None and not self.is_ratio

    # --- numbers

    def differences(self) -> Whole:
        """The oriented difference of every pair, or the value of every row of one arm, in units of `scale`."""
        plus, minus = self.sample.plus[0], self.sample.minus
        if minus is None:
            return plus
        return minus[0] - plus if self.lower_is_better else plus - minus[0]

    @property
    def scale(self) -> Fraction:
        """What 1 in `differences` stands for."""
        return self.sample.scales[0]

    def exact(self, values: Whole) -> list[Exact]:
        """`values` times the scale; equal numbers are one object, so that many rows take little memory."""
        if self.scale == 1:
            return list(values.tolist())
        known: dict[int, Exact] = {}
        return [known.setdefault(value, value * self.scale) for value in values.tolist()]

    def signs(self) -> tuple[int, int]:
        """How many pairs speak for the predicted direction, and how many against it."""
        if self.is_ratio:
            a, b, c, d = (roomy(column, times=2**31) for column in self.columns())
            turned = a * d - c * b
        else:
            turned = self.differences()
        return int((turned > 0).sum()), int((turned < 0).sum())

    def counts(self) -> tuple[PairedCounts, int]:
        """The counts of binary pairs, and in how many both sides have the better value."""
        assert self.sample.minus is not None
        b, c = self.signs()
        good = 0 if self.lower_is_better else 1
        both = (self.sample.plus[0] == good) & (self.sample.minus[0] == good)
        return PairedCounts(n=self.sample.n, b=b, c=c), int(both.sum())

    def mean(self, side: tuple[Whole, ...]) -> Fraction | NotEstimable:
        """The mean of one side's values, or its ratio of sums; over strata weighted as the effect is."""
        total = Fraction(0)
        for weight, here in self.strata():
            over = total_of(side[1][here]) if self.is_ratio else int(here.sum())
            if not over:
                return NotEstimable("the denominators sum to 0")
            total += weight * Fraction(total_of(side[0][here]), over)
        below = self.sample.scales[1] if self.is_ratio else Fraction(1)
        return total * self.scale / below

    def value(self) -> Fraction | NotEstimable:
        """The effect: the mean of one arm, or the oriented difference of the sides' means."""
        plus = self.mean(self.sample.plus)
        if self.sample.minus is None or isinstance(plus, NotEstimable):
            return plus
        minus = self.mean(self.sample.minus)
        if isinstance(minus, NotEstimable):
            return minus
        return minus - plus if self.lower_is_better else plus - minus

    # --- how rows hang together

    def strata(self) -> Iterator[tuple[Fraction, Mask]]:
        """(weight, which rows) for every stratum; all rows with weight 1 where there are none."""
        strata = self.effect.strata
        if strata is None:
            yield Fraction(1), np.ones(self.sample.n, dtype=np.bool_)
            return
        place = self.grid.places(self.sample.row_slot, strata.by)
        for level, weight in strata.weights.items():
            known = [number for number, name in enumerate(self.grid.factors[strata.by]) if str(name) == level]
            yield Fraction(weight), np.isin(place, known)

    def empty_stratum(self) -> str | None:
        """The first stratum without rows, or null."""
        strata = self.effect.strata
        if strata is None:
            return None
        levels = zip(strata.weights, self.strata(), strict=True)
        return next((f"{strata.by} {level}" for level, (_, here) in levels if not here.any()), None)

    def cluster_of_rows(self) -> Numbers:
        """A number for the cluster of every row."""
        if self.effect.cluster is None:
            return np.arange(self.sample.n, dtype=np.int64)
        return key(self.grid, self.effect.cluster, self.sample.row_slot)

    def blocks(self, here: Mask) -> list[Unit]:
        """One tuple a cluster of the rows `here`, whole numbers: (sum of differences, rows), or the sums of a ratio."""
        _, cluster = np.unique(self.cluster_of_rows()[here], return_inverse=True)
        return list(zip(*(summed(column[here], cluster) for column in self.columns()), strict=True))

    def columns(self) -> tuple[Whole, ...]:
        """Numerators and denominators of the rows, whole numbers: (difference, 1), or the two of a ratio.

        A comparison of ratios has four: those of the side that is to be larger, then of the other.
        """
        if not self.is_ratio:
            top, bottom = self.scale.as_integer_ratio()
            return roomy(self.differences(), times=top) * top, np.full(self.sample.n, bottom, dtype=np.int64)
        top, bottom = (self.sample.scales[0] / self.sample.scales[1]).as_integer_ratio()
        sides = [side for side in (self.sample.plus, self.sample.minus) if side is not None]
        scaled = [(roomy(side[0], times=top) * top, roomy(side[1], times=bottom) * bottom) for side in sides]
        turned = reversed(scaled) if self.lower_is_better and len(scaled) == 2 else scaled
        return tuple(column for side in turned for column in side)

    # --- designs

    def design(self) -> Design | NotEstimable:
        """What a bootstrap of this effect resamples."""
        if self.effect.strata is not None and (self.effect.cluster is not None or self.is_ratio):
            return weighted([(weight, self.blocks(here)) for weight, here in self.strata()])
        if self.effect.strata is not None:
            values = self.differences()
            return stratified_pairs([(weight, self.exact(values[here])) for weight, here in self.strata()])
        if self.is_plain:
            return pairs(self.exact(self.differences()))
        blocks = self.blocks(np.ones(self.sample.n, dtype=np.bool_))
        if self.is_ratio and self.sample.minus is not None:
            return ratios([(a, b, c, d) for a, b, c, d in blocks])
        return clusters([(top, bottom) for top, bottom in blocks])

    def units(self) -> int:
        """How many units are resampled: rows or clusters."""
        return len(np.unique(self.cluster_of_rows()))

    def flips(self) -> list[Exact]:
        """For a sign-flip test: what every cluster adds to the effect, up to one common factor."""
        found: list[Exact] = []
        for weight, here in self.strata():
            blocks = self.blocks(here)
            rows = sum(size for _, size in blocks)
            share = weight / rows if self.effect.strata is not None else Fraction(1)
            found += [total * share for total, _ in blocks] if share != 1 else [total for total, _ in blocks]
        return found


def key(grid: Grid, factors: Sequence[str], slots: Numbers) -> Numbers:
    """One number for each combination of levels of `factors` that a slot can have."""
    found = np.zeros(len(slots), dtype=np.int64)
    for name in factors:
        if name in grid.factors:
            found = found * len(grid.factors[name]) + grid.places(slots, name)
    return found


def summed(column: Whole, group: Numbers) -> list[int]:
    """The sum of `column` in each group, groups numbered from 0."""
    column = roomy(column, times=len(column))
    sums = np.zeros(int(group.max()) + 1 if len(group) else 0, dtype=column.dtype)
    np.add.at(sums, group, column)
    return list(sums.tolist())


def total_of(column: Whole) -> int:
    """The exact sum."""
    return int(roomy(column, times=len(column)).sum())
