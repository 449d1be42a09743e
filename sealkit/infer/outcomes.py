"""The value of a metric in every cell of one side of an effect, repetitions combined.

A cell is what the plan calls one: all repetitions of one combination of factors. Its value counts only if every
repetition has one: a mean, or an `any`, over those that happen to be there would be another estimand. For a metric
with a unit each (cell, unit) is a row of its own; in a ratio they are summed by cell. Values are whole numbers over one
scale; there are no floats.

A null is no value, and what stands in for a missing outcome stands in for it: who says that a measure does not apply
says it after treatment. So is a unit that one side of a pair shows and the other does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sealkit.infer.cells import ELSEWHERE, FAILED, KNOWN, MISSING, SET_ASIDE, Cells
from sealkit.infer.columns import NULL, Numbers, Whole, roomy
from sealkit.infer.measures import Plain, scale_of_values
from sealkit.infer.standins import STANDINS, Rule, Standin, Unbounded, standin_of, value_of
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.analysis import PassAtK, Repetitions

_NO_CODES: Final = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Rows with a value: row i is `code[i]`, rising, and has the value `value[i] * scale`.

    A code is cell × `units` + unit, cells counted in plan order. `absent`, `filled` and `null` say of every cell
    whether a repetition is without an outcome that nothing stands in for, whether something stands in, and whether one
    has an outcome, and null for this measure; `left_out`, whether one of those that are absent is a failure that the
    plan leaves out. Of a metric with a unit, `lost` has the codes that have no value: the side did not show the unit in
    every repetition, or showed it as null, or `shown` named it.
    """

    code: Numbers
    value: Whole
    scale: Fraction
    units: int
    absent: NDArray[np.bool_]
    filled: NDArray[np.bool_]
    null: NDArray[np.bool_]
    left_out: NDArray[np.bool_]
    lost: Numbers


def outcomes(
    cells: Cells, metric_name: str, metric: Plain, reading: str | None, slots: Numbers, shown: Numbers, *,
    rule: Rule, plus: bool,
) -> Outcomes | NotEstimable:  # fmt: skip
    """The rows of the cells whose slots are given, a row a cell and a column a repetition.

    Of a metric with a unit, `shown` has the codes that another side shows: they are due here too.
    """
    states = cells.state_of(metric_name, reading)[slots]
    if metric.unit is not None:
        return _of_units(cells, metric_name, metric, reading, slots, shown, states, rule, plus=plus)
    values = cells.column(metric_name, reading).at(slots)
    absent = (states == ELSEWHERE).any(axis=1)
    filled = np.zeros(len(slots), dtype=np.bool_)
    left_out = np.zeros(len(slots), dtype=np.bool_)
    nulls = (states == KNOWN) & (values == NULL)
    for state, here in (*((state, states == state) for state in (MISSING, SET_ASIDE, FAILED)), (MISSING, nulls)):
        if not here.any():
            continue
        standin = standin_of(metric, rule, state)
        value = value_of(metric, standin, plus=plus)
        if isinstance(value, Unbounded):
            return NotEstimable(_without_end(here, standin, metric_name, plus=plus))
        if value is not None:
            filled |= here.any(axis=1)
            values = np.where(here, value, values)
        elif here is not nulls:
            absent |= here.any(axis=1)
            if standin == "failure":
                left_out |= here.any(axis=1)
    null = ~absent & (values == NULL).any(axis=1)
    there = ~(absent | null)
    kept, scale = combined(values[there], metric.repetitions)
    return Outcomes(
        np.flatnonzero(there), kept, scale * scale_of_values(metric), 1, absent, filled & there, null, left_out,
        _NO_CODES,
    )  # fmt: skip


def _of_units(
    cells: Cells, name: str, metric: Plain, reading: str | None, slots: Numbers, shown: Numbers,
    states: NDArray[np.uint8], rule: Rule, *, plus: bool,
) -> Outcomes | NotEstimable:  # fmt: skip
    due = np.isin(states, [state for state, standin in STANDINS[rule].items() if standin != "nothing"])
    if due.any():
        what = f"{_slots(due)} without an outcome, and nothing says how many of {metric.unit} they would have shown"
        return NotEstimable(what)
    units = units_of(cells, metric)
    code, repetition, value = _unit_rows(cells, name, metric, reading, slots)
    absent = (states != KNOWN).any(axis=1)
    codes = np.union1d(code, shown)
    codes = codes[~absent[codes // units]]
    matrix = np.full((len(codes), slots.shape[1]), NULL, dtype=np.int64)
    here = ~absent[code // units]
    matrix[np.searchsorted(codes, code[here]), repetition[here]] = value[here]
    without = (matrix == NULL).any(axis=1)  # also of a unit that one repetition showed and another did not
    lost, filled = codes[without], np.zeros(len(slots), dtype=np.bool_)
    standin = value_of(metric, STANDINS[rule][MISSING], plus=plus)
    if without.any() and isinstance(standin, Unbounded):
        end = _end(STANDINS[rule][MISSING], plus=plus)
        return NotEstimable(f"{len(lost)} of {metric.unit} without a value, and {name} has no {end} value")
    if isinstance(standin, int):
        matrix[matrix == NULL] = standin
        filled[lost // units] = True
        without = np.zeros(len(codes), dtype=np.bool_)
    kept, scale = combined(matrix[~without], metric.repetitions)
    none = np.zeros(len(slots), dtype=np.bool_)
    scale *= scale_of_values(metric)
    return Outcomes(codes[~without], kept, scale, units, absent, filled, none, none, lost)


def units_of(cells: Cells, metric: Plain) -> int:
    """How many codes a cell has."""
    return max(1, len(cells.ranks(metric.unit or ""))) if metric.unit is not None else 1


def shown_by(cells: Cells, name: str, metric: Plain, reading: str | None, slots: Numbers) -> Numbers:
    """The codes of the units that a repetition of these cells shows, with a value or as null."""
    return np.unique(_unit_rows(cells, name, metric, reading, slots)[0]) if metric.unit is not None else _NO_CODES


def _unit_rows(
    cells: Cells, name: str, metric: Plain, reading: str | None, slots: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """The code, the repetition and the value of every unit that these cells show."""
    ragged = cells.ragged(name, reading)
    rank = cells.ranks(metric.unit or "")  # the same on every side
    order = np.argsort(slots.reshape(-1), kind="stable")
    rows = ragged.slot.all()
    place = np.searchsorted(slots.reshape(-1)[order], rows)
    place = np.where(place < slots.size, place, 0)
    found = slots.reshape(-1)[order[place]] == rows
    cell, repetition = np.divmod(order[place[found]], slots.shape[1])
    code = cell * units_of(cells, metric) + rank[ragged.unit.all()[found]]
    return code, repetition, ragged.value.all()[found]


def summed_by_cell(parts: Sequence[Outcomes], units: Sequence[str | None]) -> list[Outcomes]:
    """Parts of a ratio, a row a cell: one with units is summed over those that the cell showed, 0 where it showed none.

    Parts that count the same units are first cut to those that each has a value for. `lost` has the cell of each unit
    that is in no sum, once, in one of the parts.
    """
    kept, lost = [part.code for part in parts], [part.lost for part in parts]
    if len(set(units)) == 1:
        kept = [reduce(np.intersect1d, kept)] * len(kept)
        lost = [reduce(np.union1d, lost), *(_NO_CODES for _ in lost[1:])]
    return [
        part if unit is None else _summed(part, codes, without)
        for part, unit, codes, without in zip(parts, units, kept, lost, strict=True)
    ]


def _summed(part: Outcomes, kept: Numbers, lost: Numbers) -> Outcomes:
    """The sums over the units `kept` of every cell that has an outcome."""
    here = np.isin(part.code, kept)
    value = roomy(part.value[here], times=part.units)
    sums = np.zeros(len(part.absent), dtype=value.dtype)
    np.add.at(sums, part.code[here] // part.units, value)
    there = np.flatnonzero(~(part.absent | part.null))
    return replace(part, code=there, value=sums[there], units=1, lost=lost // part.units)


def combined(values: Numbers, how: Repetitions | None) -> tuple[Whole, Fraction]:
    """One whole number a row, and the scale that it is to be read on, from a row of repetitions.

    `pass_at_k` is the unbiased estimator 1 - C(n-c, k) / C(n, k) of c successes in n repetitions (Chen and others,
    Evaluating Large Language Models Trained on Code, 2021, equation 1).
    """
    if how is None:
        return values[:, 0], Fraction(1)
    if isinstance(how, PassAtK):
        n = values.shape[1]
        all_draws = math.comb(n, how.k)
        table = [all_draws - math.comb(n - successes, how.k) for successes in range(n + 1)]
        exact: Whole = np.array(table, dtype=np.int64 if all_draws < 2**53 else object)
        return exact[values.sum(axis=1)], Fraction(1, all_draws)
    if how.kind == "mean":
        return roomy(values, times=values.shape[1]).sum(axis=1), Fraction(1, values.shape[1])
    some = values != 0
    return (some.any(axis=1) if how.kind == "any" else some.all(axis=1)).astype(np.int64), Fraction(1)


def _without_end(here: NDArray[np.bool_], standin: Standin, metric_name: str, *, plus: bool) -> str:
    if standin == "failure":
        return f"{_slots(here)} counted as failure, and {metric_name} has no worst value"
    return f"{_slots(here)} without an outcome, and {metric_name} has no {_end(standin, plus=plus)} value"


def _end(standin: Standin, *, plus: bool) -> str:
    return "best" if standin != "failure" and (standin == "for") == plus else "worst"


def _slots(here: NDArray[np.bool_]) -> str:
    count = int(here.sum())
    return f"{count} slot{'s' if count != 1 else ''}"
