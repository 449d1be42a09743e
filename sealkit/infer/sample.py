"""What an effect on a metric rests on: the rows of one arm, or pairs joined on the declared key.

A row of a pair needs both partners: one whose partner has no value is a missing pair, and is counted. A key that
stands for several cells of one side is refused, and named. Rows come in plan order whatever order they were told in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from sealkit.infer.cells import Cells
from sealkit.infer.columns import Numbers, Whole, packed, unpacked
from sealkit.infer.grid import Grid
from sealkit.infer.measures import Plain as Measured
from sealkit.infer.measures import parts_of, plain_metrics
from sealkit.infer.outcomes import Outcomes, outcomes, shown_by, summed_by_cell
from sealkit.infer.standins import Rule
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.analysis import Contrast, PlusMinus, Single
from sealkit.plan.base import Selection
from sealkit.plan.schema import Spec
from sealkit.plan.slots import sides
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Level

Plain: TypeAlias = Single | Contrast | PlusMinus
EVERYTHING: Selection = {}


@dataclass(frozen=True, slots=True)
class Basis:
    """How the rows came about, counted in cells (pairs of cells for a comparison), `n` and `unpaired` in rows.

    planned = cells with rows + absent (no outcome on a side) + null (an outcome, and null for this measure, on a side),
    but for cells that showed no unit: there `null` counts units without a value. `filled` rest on a stand-in;
    `unpaired` rows had a partner without that unit, or with a null, on the other side or in the other part of a ratio.
    `left_out` of the absent are failures of which the plan says that they have no value.
    """

    planned: int
    absent: int
    null: int
    filled: int
    unpaired: int
    left_out: int
    n: int


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of whole numbers: column j of row i is `plus[j][i] * scales[j]`; a ratio has two columns, over below.

    `minus` is null for one arm alone. `row_slot` is the plus side's first slot of the cell that a row belongs to, and
    `planned` that of every cell, with rows or not: from it the levels of its factors are known.
    """

    scales: tuple[Fraction, ...]
    basis: Basis
    _plus: tuple[Whole, ...]
    _minus: tuple[Whole, ...] | None
    _row_slot: Whole
    _planned: Whole

    @property
    def plus(self) -> tuple[Whole, ...]:
        """The plus side, or the one arm."""
        return tuple(map(unpacked, self._plus))

    @property
    def minus(self) -> tuple[Whole, ...] | None:
        """The minus side, if there is one."""
        return None if self._minus is None else tuple(map(unpacked, self._minus))

    @property
    def row_slot(self) -> Numbers:
        """A slot of every row."""
        return unpacked(self._row_slot)

    @property
    def planned(self) -> Numbers:
        """A slot of every cell."""
        return unpacked(self._planned)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.basis.n


def sample(
    cells: Cells, effect: Plain, metric_name: str, *, rule: Rule, within: Selection, against: bool
) -> Sample | NotEstimable:
    """The rows of `effect` on the metric, inside `within` too; `NotEstimable` if a stand-in is due and has no value.

    `within` may also pick units, by the kind of unit that the metric names.
    `against` turns the direction of stand-ins around: for the minus part of a difference of effects.
    """
    chosen = levels_of(cells.spec, effect, within)
    found = sides_of(cells, effect, metric_name, chosen, rule, within, against=against)
    return found if isinstance(found, NotEstimable) else _sample(found[0].slots, [side.parts for side in found])


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an effect: what it fixes, its slots, a row a cell, and its outcomes, of both parts of a ratio."""

    fixed: Mapping[str, Level]
    slots: Numbers
    parts: list[Outcomes]


def sides_of(
    cells: Cells, effect: Plain, metric_name: str, chosen: Mapping[str, tuple[Level, ...]], rule: Rule,
    within: Selection, *, against: bool,
) -> list[Side] | NotEstimable:  # fmt: skip
    """The plus and the minus side, or the one arm, inside the levels `chosen`."""
    fixed = [effect.of] if isinstance(effect, Single) else list(sides(effect))
    if not isinstance(effect, Single):
        _check_key(cells.grid, effect, fixed[0], chosen)
    slots = [_slots_of(cells.grid, one, chosen) for one in fixed]
    if not all(map(len, slots)):
        return NotEstimable("no cell of the plan lies in it")
    shown = _shown(cells, metric_name, fixed, slots)
    found = []
    for levels, own, plus in zip(fixed, slots, (not against, against), strict=False):
        parts = _parts(cells, metric_name, levels, own, shown, rule, within, plus=plus)
        if isinstance(parts, NotEstimable):
            return parts
        found.append(Side(levels, own, parts))
    return found


def levels_of(spec: Spec, effect: Plain, within: Selection) -> dict[str, tuple[Level, ...]]:
    """The levels of every factor that the effect's population, and `within`, let through."""
    population = spec.populations.get(effect.population, EVERYTHING)  # a report of arms has none
    return {
        name: tuple(level for level in known if _in(population, name, level) and _in(within, name, level))
        for name, known in spec.factors.levels().items()
    }


def _in(selection: Selection, name: str, level: Level) -> bool:
    picked = selection.get(name, "all")
    return isinstance(picked, str) or level in picked


def _slots_of(grid: Grid, fixed: Mapping[str, Level], chosen: Mapping[str, tuple[Level, ...]]) -> Numbers:
    own = {name: tuple(level for level in known if fixed.get(name, level) == level) for name, known in chosen.items()}
    return grid.cells(own)


def _shown(cells: Cells, metric_name: str, fixed: Sequence[Mapping[str, Level]], slots: Sequence[Numbers]) -> Numbers:
    """The codes of the units that any side shows, which are due on every side; none in a ratio, summed in each cell."""
    metric = plain_metrics(cells.spec).get(metric_name)
    shown = np.zeros(0, dtype=np.int64)
    if metric is not None:
        for levels, own in zip(fixed, slots, strict=True):
            shown = np.union1d(shown, shown_by(cells, metric_name, metric, reading_of(metric, levels), own))
    return shown


def reading_of(metric: Measured, fixed: Mapping[str, Level]) -> str | None:
    """The level of the metric's reading that a side fixes; null if the metric needs none."""
    reading = fixed.get(metric.read_by or "")
    return None if reading is None else str(reading)


def _parts(
    cells: Cells, metric_name: str, fixed: Mapping[str, Level], slots: Numbers, shown: Numbers, rule: Rule,
    within: Selection, *, plus: bool,
) -> list[Outcomes] | NotEstimable:  # fmt: skip
    """The outcomes of the metric, or of both parts of a ratio, in the slots of a side."""
    metrics, names = plain_metrics(cells.spec), parts_of(cells.spec, metric_name)
    units = [metrics[name].unit for name in names]
    if len(units) > 1 and len(set(units)) == 1:  # what one part of a ratio shows is due in the other
        both = (shown_by(cells, name, metrics[name], reading_of(metrics[name], fixed), slots) for name in names)
        shown = np.union1d(*both)
    found = []
    for name in names:
        metric = metrics[name]
        side = outcomes(cells, name, metric, reading_of(metric, fixed), slots, shown, rule=rule, plus=plus)
        if isinstance(side, NotEstimable):
            return side
        found.append(_picked(cells, side, metric.unit, within))
    return summed_by_cell(found, units) if len(units) > 1 and any(units) else found


def _picked(cells: Cells, side: Outcomes, unit: str | None, within: Selection) -> Outcomes:
    """The rows of the units that `within` picks; all of them where it picks none, or the metric has no unit."""
    if unit is None or unit not in within:
        return side
    ranks = [rank for rank, name in enumerate(cells.units(unit)) if _in(within, unit, name)]
    here, lost = (np.isin(codes % side.units, ranks) for codes in (side.code, side.lost))
    return replace(side, code=side.code[here], value=side.value[here], lost=side.lost[lost])


def _check_key(
    grid: Grid, effect: Contrast | PlusMinus, fixed: Mapping[str, Level], chosen: Mapping[str, tuple[Level, ...]]
) -> None:
    """Factors outside the join that vary make several cells share a key."""
    for name, known in chosen.items():
        if name not in fixed and name not in effect.join and len(known) > 1:
            key = {part: chosen[part][0] for part in effect.join if chosen.get(part)}
            raise MalformedError(
                f"{len(known)} cells of one side share the key {key}: they differ in {name}",
                where="effects",
                remedy=f"add {name} to the join",
            )


def _joined(sides_: list[list[Outcomes]]) -> tuple[Numbers, list[tuple[Whole, ...]]]:
    """The codes that every part of every side has a value for, and the values there."""
    everything = [part for side in sides_ for part in side]
    code = everything[0].code
    for part in everything[1:]:
        code = np.intersect1d(code, part.code, assume_unique=True)
    return code, [tuple(part.value[np.searchsorted(part.code, code)] for part in side) for side in sides_]


def _sample(slots: Numbers, sides_: list[list[Outcomes]]) -> Sample:
    code, values = _joined(sides_)
    first = slots[:, 0]
    packed_sides = [tuple(map(packed, columns)) for columns in values]
    return Sample(
        scales=tuple(part.scale for part in sides_[0]),
        basis=_basis(slots, sides_, code),
        _plus=packed_sides[0],
        _minus=packed_sides[1] if len(packed_sides) > 1 else None,
        _row_slot=packed(first[code // sides_[0][0].units]),
        _planned=packed(first),
    )


def _basis(slots: Numbers, sides_: list[list[Outcomes]], code: Numbers) -> Basis:
    everything = [part for side in sides_ for part in side]
    absent = np.logical_or.reduce([part.absent for part in everything])
    null = np.logical_or.reduce([part.null for part in everything]) & ~absent
    filled = np.logical_or.reduce([part.filled for part in everything]) & ~absent & ~null
    null_cells, unpaired = int(null.sum()), 0
    if len(sides_[0]) > 1:
        unpaired = sum(int((~absent[part.lost]).sum()) for part in everything)
    elif any(len(part.lost) or part.units > 1 for part in everything):
        valued = np.unique(np.concatenate([part.code for part in everything]))
        without = np.setdiff1d(np.concatenate([valued, *(part.lost for part in everything)]), code)
        without = without[~absent[without // everything[0].units]]
        unpaired = int(np.isin(without, valued).sum()) if len(sides_) > 1 else 0
        null_cells += len(without) - unpaired
    left_out = np.logical_or.reduce([part.left_out for part in everything])
    return Basis(
        planned=len(slots), absent=int(absent.sum()), null=null_cells, filled=int(filled.sum()),
        unpaired=unpaired, left_out=int(left_out.sum()), n=len(code),
    )  # fmt: skip
