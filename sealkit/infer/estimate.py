"""One effect on one metric, estimated by the method that the plan names.

    found = estimate(cells, "dc", "success", rule="complete_pairs")
    found.estimate          # Estimated, with exactly the fields that a rule may read (`plan.fields`), or NotEstimable

Limits and estimates are 12-place decimals before any rule sees them. Nothing to estimate from is `NotEstimable`, and
never 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import msgspec

from sealkit.infer.cells import Cells
from sealkit.infer.difference import TwoEffects
from sealkit.infer.intervals import Data, interval_of
from sealkit.infer.sample import EVERYTHING, Basis, sample
from sealkit.infer.shapes import Rows, total_of
from sealkit.infer.standins import Rule
from sealkit.infer.stats.decimals import exact_decimal
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.analysis import Difference, Effect, Ratio, Tally
from sealkit.plan.base import Selection
from sealkit.plan.fields import FIELDS, LIMITS, form_of, scale_of
from sealkit.plan.schema import Spec

Number: TypeAlias = Decimal | int


@dataclass(frozen=True, slots=True)
class Estimated:
    """The numbers of one effect on one metric: `fields` that rules may read, more counts beside them, and notes."""

    fields: Mapping[str, Number]
    beside: Mapping[str, Number]
    notes: tuple[str, ...]


Estimate: TypeAlias = Estimated | NotEstimable


@dataclass(frozen=True, slots=True)
class Found:
    """An effect on a metric: what it rests on, null if no rows could be made, and the estimate."""

    data: Data | None
    estimate: Estimate

    @property
    def basis(self) -> tuple[Basis, ...]:
        """How the rows came about: of the effect, or of both parts of a difference of effects."""
        if self.data is None:
            return ()
        parts = (self.data,) if isinstance(self.data, Rows) else (self.data.plus, self.data.minus)
        return tuple(part.sample.basis for part in parts)


def estimate(cells: Cells, effect_name: str, metric_name: str, *, rule: Rule) -> Found:
    """A declared effect on a metric, under a rule for what is missing. Cells in any order give the same."""
    return estimate_effect(cells, cells.spec.effects[effect_name], metric_name, rule=rule, within=EVERYTHING)


def estimate_effect(cells: Cells, effect: Effect, metric_name: str, *, rule: Rule, within: Selection) -> Found:
    """An effect, declared or made for a report, inside the levels `within`."""
    data = gather(cells, effect, metric_name, rule=rule, within=within, against=False)
    if isinstance(data, NotEstimable):
        return Found(None, data)
    return Found(data, measured(cells.spec, effect, metric_name, data))


def gather(
    cells: Cells, effect: Effect, metric_name: str, *, rule: Rule, within: Selection, against: bool
) -> Data | NotEstimable:
    """The rows that the effect rests on; `against` if it is the part of a difference that is taken away."""
    if isinstance(effect, Difference):
        parts: list[Rows] = []
        plus, minus = effect.difference.split(" - ")
        for name, taken in ((plus, against), (minus, not against)):
            part = gather(cells, cells.spec.effects[name], metric_name, rule=rule, within=within, against=taken)
            if not isinstance(part, Rows):
                return NotEstimable(f"{name}: {part.reason if isinstance(part, NotEstimable) else 'a difference'}")
            parts.append(part)
        return TwoEffects(parts[0], parts[1], (plus, minus))
    if effect.strata is not None and effect.strata.by in within:
        effect = msgspec.structs.replace(effect, strata=None)  # one stratum alone is not weighted
    rows = sample(cells, effect, metric_name, rule=rule, within=within, against=against)
    if isinstance(rows, NotEstimable):
        return rows
    metric = cells.spec.metrics[metric_name]
    return Rows(
        grid=cells.grid,
        effect=effect,
        sample=rows,
        lower_is_better=metric.better == "lower",
        is_ratio=isinstance(metric, Ratio),
        binary=scale_of(metric) == "binary",
    )


def measured(spec: Spec, effect: Effect, metric_name: str, data: Data) -> Estimate:
    """The numbers of these rows, by the effect's method; `NotEstimable` where they have none."""
    if lacking := _lacking(data):
        return NotEstimable(lacking)
    value, method = data.value(), spec.methods[effect.method]
    if isinstance(value, NotEstimable):
        return value
    numbers: dict[str, Number] = {"n": data.n, "estimate": exact_decimal(value), "units": data.units()}
    if isinstance(data, Rows):
        numbers |= _counts(data)
    notes: tuple[str, ...] = ()
    if not isinstance(method, Tally):
        interval = interval_of(data, method)
        if isinstance(interval, NotEstimable):
            return interval
        numbers |= {"lower": interval.lower, "upper": interval.upper}
        notes = interval.notes
    notes += tuple(_over_nothing(data))
    if effect.margin is not None:
        numbers["margin"] = effect.margin.value
    readable = [name for name in FIELDS[form_of(effect), scale_of(spec.metrics[metric_name])] if name in numbers]
    readable += ["margin"] if effect.margin is not None else []
    fields = {name: numbers.pop(name) for name in readable}
    return Estimated(fields, {name: number for name, number in numbers.items() if name not in LIMITS}, notes)


def _over_nothing(data: Data) -> Iterator[str]:
    """How many rows of a ratio have 0 below on a side: such a row has no share in what the side is divided by."""
    if isinstance(data, TwoEffects):
        for name, part in zip(data.names, (data.plus, data.minus), strict=True):
            yield from (f"{name}: {note}" for note in _over_nothing(part))
    elif data.is_ratio:
        sides_ = (("the plus side", data.sample.plus), ("the minus side", data.sample.minus))
        zeros = {name: int((side[1] == 0).sum()) for name, side in sides_ if side is not None}
        if any(zeros.values()):
            of = {name: f" of {name}" for name in zeros} if len(zeros) > 1 else dict.fromkeys(zeros, "")
            said = " and ".join(f"{count} of {data.n} denominators{of[name]}" for name, count in zeros.items())
            yield f"{said} are 0"


def _counts(data: Rows) -> dict[str, Number]:
    if data.sample.minus is not None:
        b, c = data.signs()
        return {"b": b, "c": c}
    if data.is_ratio or data.scale != 1:
        return {}
    total = total_of(data.sample.plus[0])
    return {"x": total} if data.binary else {"total": total}


def _lacking(data: Data) -> str:
    """Why there is nothing to estimate from; empty if there is something."""
    if isinstance(data, TwoEffects):
        reasons = ((name, _lacking(part)) for name, part in zip(data.names, (data.plus, data.minus), strict=True))
        return next((f"{name}: {reason}" for name, reason in reasons if reason), "")
    basis = data.sample.basis
    what = "pairs" if data.sample.minus is not None else "cells"
    if not basis.n:
        return f"0 of {basis.planned} {what} have a value"
    empty = data.empty_stratum()
    return f"no {what} in {empty}" if empty else ""
