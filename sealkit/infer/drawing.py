"""Draws outcomes of a design as they would be if what is supposed of its effects were true.

Rows are those of the plan: every planned cell, none missing. How effects hang together:

    other episodes               independent
    one metric, a shared arm     a binary outcome of the shared arm is one and the same, and given it the other arms do
                                 not depend on each other; other metrics have arms of equal spread, so that D - C and
                                 C - A correlate by -1/2
    other metrics                independent, also of one episode

Of a metric that is no yes or no, differences are normal and one arm's values gamma, rounded at random to the steps of
the metric so that the mean stays; a score is cut at the ends of its range.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sealkit.infer.assumed import Assumption, Pair, PairRates, Rate, Spread
from sealkit.infer.cells import Cells
from sealkit.infer.columns import Numbers
from sealkit.infer.estimate import gather
from sealkit.infer.grid import Grid
from sealkit.infer.measures import plain_metrics
from sealkit.infer.sample import EVERYTHING, Basis, Sample, levels_of
from sealkit.infer.shapes import Rows
from sealkit.infer.tree import Tree, grow
from sealkit.plan.analysis import Difference, Single
from sealkit.plan.fields import ends_of
from sealkit.plan.schema import Spec
from sealkit.plan.slots import sides
from sealkit.wire.errors import UsageError
from sealkit.wire.records import Level

Values = NDArray[Any]
_UNITS: Final = 1000


@dataclass(frozen=True, slots=True)
class Planned:
    """The rows that an effect on a metric has if nothing is missing.

    `plus` and `minus` number the outcomes behind them; `rows` has no values; `row_slot` is a slot of every row.
    """

    pair: Pair
    rows: Rows
    row_slot: Numbers
    plus: Numbers
    minus: Numbers | None

    def holding(self, plus: Values, minus: Values | None) -> Rows:
        """The same rows with these kept numbers."""
        own = self.rows.sample
        sides_ = (plus,), None if minus is None else (minus,)
        return replace(self.rows, sample=Sample(own.scales, own.basis, *sides_, self.row_slot, own.planned))


def planned(spec: Spec, pair: Pair, units: int) -> Planned:
    """The rows of an effect that is no difference, `units` to a cell."""
    name, metric_name = pair
    effect, metric = spec.effects[name], plain_metrics(spec)[metric_name]
    assert not isinstance(effect, Difference)
    cells = Cells(spec)
    rows = gather(cells, effect, metric_name, rule="complete_pairs", within=EVERYTHING, against=False)
    if not isinstance(rows, Rows):
        raise UsageError("no cell of the plan lies in it", where=f"effects.{name}")
    count = rows.sample.basis.planned
    number = np.repeat(np.arange(count, dtype=np.int64), units)
    basis = Basis(planned=count, absent=0, null=0, filled=0, unpaired=0, left_out=0, n=count * units)
    own = rows.sample
    whole = replace(rows, sample=Sample(own.scales, basis, own.plus, own.minus, own.planned[number], own.planned))
    readings = tuple(spec.readings[metric.read_by].levels) if metric.read_by is not None else ()
    fixed = (effect.of,) if isinstance(effect, Single) else sides(effect)
    numbers = [_outcomes(cells.grid, spec, pair, side, readings, metric.read_by)[number] * _UNITS for side in fixed]
    numbers = [each + np.tile(np.arange(units, dtype=np.int64), count) for each in numbers]
    return Planned(pair, whole, own.planned[number], numbers[0], numbers[1] if len(numbers) == 2 else None)


def _outcomes(
    grid: Grid, spec: Spec, pair: Pair, fixed: Mapping[str, Level], readings: Sequence[str], read_by: str | None
) -> Numbers:
    """A number for the outcome of each cell of a side: the same for the same reading of the same slot."""
    effect = spec.effects[pair[0]]
    assert not isinstance(effect, Difference)
    chosen = levels_of(spec, effect, EVERYTHING)
    own = {name: tuple(level for level in known if fixed.get(name, level) == level) for name, known in chosen.items()}
    reading = readings.index(str(fixed[read_by])) if read_by is not None and read_by in fixed else 0
    return grid.cells(own)[:, 0] * max(1, len(readings)) + reading


# --- drawing -------------------------------------------------------------------------------------


class Drawing:
    """Draws all effects on one metric together."""

    def __init__(self, spec: Spec, parts: Sequence[Planned], assumed: Mapping[Pair, Assumption]) -> None:
        self.parts = parts
        self._metric = plain_metrics(spec)[parts[0].pair[1]]
        self._assumed = assumed
        every = [side for part in parts for side in (part.plus, part.minus) if side is not None]
        known = np.unique(np.concatenate(every))
        self._places = {
            part.pair: tuple(np.searchsorted(known, side) for side in (part.plus, part.minus) if side is not None)
            for part in parts
        }
        self.count = len(known)
        self._tree = self._grow()

    @property
    def hangs_together(self) -> bool:
        """Whether two of the effects rest on the same outcomes."""
        return self.count < sum(len(side) for places in self._places.values() for side in places)

    def draw(self, rng: np.random.Generator, times: int) -> dict[Pair, tuple[Values, Values | None]]:
        """Kept numbers of every effect's plus and minus side, a column a draw."""
        if self._tree is not None:
            good = self._tree.draw(rng, times)
            kept = good if self._metric.better == "higher" else ~good
            both = {pair: [kept[side].astype(np.int64) for side in places] for pair, places in self._places.items()}
            return {pair: (side[0], side[1] if len(side) == 2 else None) for pair, side in both.items()}
        noise = rng.standard_normal((self.count, times))
        return {part.pair: self._numbers(part, noise, rng, times) for part in self.parts}

    def _grow(self) -> Tree | None:
        """How binary outcomes hang together; None for other metrics, of which only their noise does."""
        pairs = {pair: (places[0], places[1]) for pair, places in self._places.items() if len(places) == 2}
        alone = {pair: places[0] for pair, places in self._places.items() if len(places) == 1}
        if isinstance(self._assumed[self.parts[0].pair], Spread):
            self._check_numbers(pairs, alone)
            return None
        edges, rates = dict[Pair, tuple[Numbers, Numbers, PairRates]](), dict[Pair, tuple[Numbers, Fraction]]()
        for pair, sides_ in pairs.items():
            shares = self._assumed[pair]
            assert isinstance(shares, PairRates)
            edges[pair] = *sides_, shares
        for pair, outcomes in alone.items():
            rate = self._assumed[pair]
            assert isinstance(rate, Rate)
            rates[pair] = outcomes, Fraction(rate.x) if self._metric.better == "higher" else 1 - Fraction(rate.x)
        return grow(self.count, edges, rates)

    def _check_numbers(self, pairs: Mapping[Pair, tuple[Numbers, Numbers]], alone: Mapping[Pair, Numbers]) -> None:
        """Raise if one of these effects follows from the others, or an arm alone is also compared."""
        nothing = PairRates(b=Decimal(0), c=Decimal(0), both=Decimal(0), units=1)
        grow(self.count, {pair: (*sides_, nothing) for pair, sides_ in pairs.items()}, {})
        taken = {outcome: pair for pair, sides_ in pairs.items() for side in sides_ for outcome in side.tolist()}
        for pair, outcomes in alone.items():
            for outcome in outcomes.tolist():
                other = taken.setdefault(outcome, pair)
                if other != pair:
                    names = " and ".join(".".join(each) for each in (pair, other))
                    raise UsageError(
                        f"{names} rest on the same episodes", where="--assume",
                        remedy="how an arm's values go with their differences cannot be said here",
                    )  # fmt: skip

    def _numbers(
        self, part: Planned, noise: Values, rng: np.random.Generator, times: int
    ) -> tuple[Values, Values | None]:
        supposed, places = self._assumed[part.pair], self._places[part.pair]
        assert isinstance(supposed, Spread)
        mean, sd, scale = float(supposed.mean), float(supposed.sd), float(part.rows.scale)
        lowest, highest = ends_of(self._metric)
        low, high = float(lowest), math.inf if highest is None else float(highest)
        if len(places) == 1:
            values = _positive(rng, mean - low, sd, (len(places[0]), times)) + low
            return _rounded(rng, np.clip(values, low, high) / scale), None
        drawn = mean + sd * (noise[places[0]] - noise[places[1]]) / math.sqrt(2)
        turned = drawn if self._metric.better == "higher" else -drawn
        whole = _rounded(rng, np.clip(turned, low - high, high - low) / scale)
        return np.maximum(whole, 0), np.maximum(-whole, 0)


def drawings(spec: Spec, parts: Sequence[Planned], assumed: Mapping[Pair, Assumption]) -> list[Drawing]:
    """One for each metric, by name."""
    groups: dict[str, list[Planned]] = defaultdict(list)
    for part in parts:
        groups[part.pair[1]].append(part)
    return [Drawing(spec, groups[metric], assumed) for metric in sorted(groups)]


def _positive(rng: np.random.Generator, mean: float, sd: float, shape: tuple[int, int]) -> Values:
    """Numbers from 0 on with this mean and standard deviation: gamma."""
    if sd == 0 or mean == 0:
        return np.full(shape, mean)
    return rng.gamma((mean / sd) ** 2, sd * sd / mean, shape)


def _rounded(rng: np.random.Generator, values: Values) -> Values:
    """Each value as a whole number next to it, drawn so that the mean stays."""
    whole = np.floor(values)
    return (whole + (rng.random(values.shape) < values - whole)).astype(np.int64)
