"""The value of a metric in every cell of one side of an effect, repetitions combined.

A cell is what the plan calls one: all repetitions of one combination of factors. Its value counts only if every
repetition has one: a mean, or an `any`, over those that happen to be there would be another estimand. For a metric
with a unit each (cell, unit) is a row of its own; in a ratio they are summed by cell. Values are whole numbers over one
scale; there are no floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from sealkit.infer.cells import ELSEWHERE, FAILED, KNOWN, MISSING, SET_ASIDE, Cells
from sealkit.infer.columns import NULL, Numbers, Whole, roomy
from sealkit.infer.measures import Plain, scale_of_values
from sealkit.infer.standins import STANDINS, Rule, Standin, Unbounded, value_of
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.analysis import PassAtK, Repetitions


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Rows with a value: row i is `code[i]`, rising, and has the value `value[i] * scale`.

    A code is cell × `units` + unit, cells counted in plan order. `absent`, `filled` and `null` say of every cell
    whether a repetition is without an outcome that nothing stands in for, whether something stands in, and whether the
    measure does not apply; `left_out`, whether one of those that are absent is a failure that the plan leaves out.
    """

    code: Numbers
    value: Whole
    scale: Fraction
    units: int
    absent: NDArray[np.bool_]
    filled: NDArray[np.bool_]
    null: NDArray[np.bool_]
    left_out: NDArray[np.bool_]


def outcomes(
    cells: Cells, metric_name: str, metric: Plain, reading: str | None, slots: Numbers, *, rule: Rule, plus: bool
) -> Outcomes | NotEstimable:
    """The rows of the cells whose slots are given, a row a cell and a column a repetition."""
    states = cells.state_of(metric_name, reading)[slots]
    if metric.unit is not None:
        return _of_units(cells, metric_name, metric, reading, slots, states, rule)
    values = cells.column(metric_name, reading).at(slots)
    absent = (states == ELSEWHERE).any(axis=1)
    filled = np.zeros(len(slots), dtype=np.bool_)
    left_out = np.zeros(len(slots), dtype=np.bool_)
    for state in (MISSING, SET_ASIDE, FAILED):
        here = states == state
        if not here.any():
            continue
        standin = value_of(metric, STANDINS[rule][state], plus=plus)
        if isinstance(standin, Unbounded):
            return NotEstimable(_without_end(here, STANDINS[rule][state], metric_name, plus=plus))
        if standin is None:
            absent |= here.any(axis=1)
            if STANDINS[rule][state] == "failure":
                left_out |= here.any(axis=1)
        else:
            filled |= here.any(axis=1)
            values = np.where(here, standin, values)
    null = ~absent & (values == NULL).any(axis=1)
    there = ~(absent | null)
    value, scale = combined(values[there], metric.repetitions)
    return Outcomes(
        np.flatnonzero(there), value, scale * scale_of_values(metric), 1, absent, filled & there, null, left_out
    )


def _of_units(
    cells: Cells, name: str, metric: Plain, reading: str | None, slots: Numbers, states: NDArray[np.uint8], rule: Rule
) -> Outcomes | NotEstimable:
    unknown = states != KNOWN
    due = np.isin(states, [state for state, standin in STANDINS[rule].items() if standin != "nothing"])
    if due.any():
        what = f"{_slots(due)} without an outcome, and nothing says how many of {metric.unit} they would have shown"
        return NotEstimable(what)
    ragged = cells.ragged(name, reading)
    rank = cells.ranks(metric.unit or "")  # the same on every side
    units = max(1, len(rank))
    order = np.argsort(slots.reshape(-1), kind="stable")
    rows = ragged.slot.all()
    place = np.searchsorted(slots.reshape(-1)[order], rows)
    place = np.where(place < slots.size, place, 0)
    found = slots.reshape(-1)[order[place]] == rows
    cell = order[place[found]] // slots.shape[1]
    code = cell * units + rank[ragged.unit.all()[found]]
    by_code = np.argsort(code, kind="stable")
    value = ragged.value.all()[found][by_code]
    known, first, times = np.unique(code[by_code], return_index=True, return_counts=True)
    # A unit that one repetition showed and another did not has no combined value.
    whole = times == slots.shape[1]
    matrix = value[first[whole][:, None] + np.arange(slots.shape[1])]
    absent = unknown.any(axis=1)
    there = ~absent[known[whole] // units] & (matrix != NULL).all(axis=1)
    combined_value, scale = combined(matrix[there], metric.repetitions)
    none = np.zeros(len(slots), dtype=np.bool_)
    scale *= scale_of_values(metric)
    return Outcomes(known[whole][there], combined_value, scale, units, absent, none, none, none)


def summed_by_cell(parts: Sequence[Outcomes], units: Sequence[str | None]) -> list[Outcomes]:
    """Parts of a ratio, a row a cell: one with units is summed over those that the cell showed, 0 where it showed none.

    Parts that count the same units are first cut to those that each has a value for.
    """
    kept = [part.code for part in parts]
    if len(set(units)) == 1:
        kept = [reduce(np.intersect1d, kept)] * len(kept)
    return [
        part if unit is None else _summed(part, codes) for part, unit, codes in zip(parts, units, kept, strict=True)
    ]


def _summed(part: Outcomes, kept: Numbers) -> Outcomes:
    """The sums over the units `kept` of every cell that has an outcome."""
    here = np.isin(part.code, kept)
    value = roomy(part.value[here], times=part.units)
    sums = np.zeros(len(part.absent), dtype=value.dtype)
    np.add.at(sums, part.code[here] // part.units, value)
    there = np.flatnonzero(~(part.absent | part.null))
    return replace(part, code=there, value=sums[there], units=1)


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
    end = "best" if (standin == "for") == plus else "worst"
    return f"{_slots(here)} without an outcome, and {metric_name} has no {end} value"


def _slots(here: NDArray[np.bool_]) -> str:
    count = int(here.sum())
    return f"{count} slot{'s' if count != 1 else ''}"
