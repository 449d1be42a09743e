"""Slots that have their outcome, and no value of a metric that a rule reads: null, left out, or a unit not shown.

    for each in lost_in_rules(cells):
        each.effect, each.metric, each.arm, each.null, each.without, each.slots

A population is fixed by what the sealed scenario fixes. Who says null decides after treatment which slots an effect
rests on, so such a slot is lost like one without an episode: it meets the exclusion cap, here of the slots that the
effect rests on in that arm, for the verdicts and claims that rest on the effect (docs/decisions/0018).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from sealkit.infer.assumed import needed
from sealkit.infer.cells import FAILED, KNOWN, MISSING, SET_ASIDE, Cells
from sealkit.infer.columns import NULL, Numbers
from sealkit.infer.measures import Plain, parts_of, plain_metrics
from sealkit.infer.outcomes import shown_by, units_of
from sealkit.infer.sample import EVERYTHING, Side, levels_of, reading_of, sides_of
from sealkit.infer.standins import is_left_out
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.analysis import Difference, Ratio, Single
from sealkit.plan.questions import questions
from sealkit.plan.schema import Spec
from sealkit.plan.slots import sides
from sealkit.plan.uses import uses_of
from sealkit.wire.records import Json

_Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Lost:
    """One side of an effect: of its `slots` in the arm, `null` have an outcome and no value of the metric.

    `without` counts these and all that have no outcome, or one that may have been drawn by choice.
    """

    effect: str
    metric: str
    arm: str
    null: int
    without: int
    slots: int

    def over(self, cap: Decimal) -> bool:
        """Whether a larger share than `cap` of what the effect rests on is lost."""
        return self.without > Fraction(cap) * self.slots

    @property
    def record(self) -> dict[str, Json]:
        """As an analysis record holds it."""
        found: dict[str, Json] = msgspec.to_builtins(self)
        return found

    def __str__(self) -> str:
        return f"{self.effect} on {self.metric}: {self.without} of {self.slots} in {self.arm}, {self.null} of them null"


def lost_quoted(record: Mapping[str, Json]) -> tuple[Lost, ...]:
    """What `lost_in_rules` found, as an analysis record holds it."""
    exclusions = record.get("exclusions")
    rows = exclusions.get("null") if isinstance(exclusions, dict) else None
    return tuple(msgspec.convert(row, Lost) for row in rows) if isinstance(rows, list) else ()


def lost_in_rules(cells: Cells) -> tuple[Lost, ...]:
    """Every side of an effect that a rule or a correction reads, in which a slot with an outcome has no value."""
    return tuple(lost for lost, _ in _read_by_rules(cells) if lost.null)


def without_value(cells: Cells) -> NDArray[np.bool_]:
    """Of every slot, whether it has an outcome, and no value of a metric where a rule reads it."""
    found = np.zeros(cells.grid.count, dtype=np.bool_)
    for _, slots in _read_by_rules(cells):
        found[slots] = True
    found &= cells.state() == KNOWN
    return found


def _read_by_rules(cells: Cells) -> Iterator[tuple[Lost, Numbers]]:
    """Every side, and its slots without a value."""
    pairs = dict.fromkeys((use.effect, use.metric) for use in uses_of(cells.spec) if use.ruling)
    for pair in pairs:
        yield from _of(cells, *pair)


def _of(cells: Cells, effect_name: str, metric: str) -> Iterator[tuple[Lost, Numbers]]:
    effect = cells.spec.effects[effect_name]
    if isinstance(effect, Difference):
        return  # its parts are listed
    chosen = levels_of(cells.spec, effect, EVERYTHING)
    found = sides_of(cells, effect, metric, chosen, "complete_pairs", EVERYTHING, against=False)
    if isinstance(found, NotEstimable):
        return
    for side in found:
        null, bad = _null_and_bad(cells, metric, side)
        without = null | bad | (cells.drawn_again()[side.slots] > 0)
        arm = str(side.fixed["arm"])
        lost = Lost(effect_name, metric, arm, int((null & ~bad).sum()), int(without.sum()), side.slots.size)
        yield lost, side.slots[null & ~bad]


def _null_and_bad(cells: Cells, metric_name: str, side: Side) -> tuple[_Mask, _Mask]:
    """The slots of a side without a value though there is an outcome or a failure, and those without an outcome."""
    null, bad = np.zeros(side.slots.shape, dtype=np.bool_), np.zeros(side.slots.shape, dtype=np.bool_)
    metrics = plain_metrics(cells.spec)
    for name, part in zip(parts_of(cells.spec, metric_name), side.parts, strict=True):
        metric = metrics[name]
        reading = reading_of(metric, side.fixed)
        state = cells.state_of(name, reading)[side.slots]
        bad |= np.isin(state, (MISSING, SET_ASIDE))
        if metric.unit is None:
            null |= (state == KNOWN) & (cells.column(name, reading).at(side.slots) == NULL)
        else:
            null[part.lost // part.units] = True  # the whole cell: its units are lost in all repetitions
            if not isinstance(cells.spec.metrics[metric_name], Ratio):  # in a sum, none is 0
                null |= _shows_none(cells, name, metric, reading, side.slots) & (state == KNOWN)
        null |= (state == FAILED) & is_left_out(metric)
    return null, bad


def _shows_none(cells: Cells, name: str, metric: Plain, reading: str | None, slots: Numbers) -> _Mask:
    """The slots of cells that show no unit: whatever the other side shows, they are in no figure."""
    none = np.ones(slots.shape, dtype=np.bool_)
    none[shown_by(cells, name, metric, reading, slots) // units_of(cells, metric)] = False
    return none


def lost_under(spec: Spec, hypothesis: str, metric: str | None, lost: Iterable[Lost]) -> tuple[Lost, ...]:
    """Those that a verdict of this hypothesis rests on: on `metric`, or on any where that is null."""
    pairs = _rests_on(spec, hypothesis, metric)
    return tuple(one for one in lost if (one.effect, one.metric) in pairs)


def arms_under(spec: Spec, hypothesis: str, metric: str | None) -> tuple[str, ...]:
    """The arms that a verdict of this hypothesis rests on, in the plan's order."""
    found = set()
    for name, _ in _rests_on(spec, hypothesis, metric):
        effect = spec.effects[name]
        assert not isinstance(effect, Difference), "a difference rests on its parts"
        fixed = (effect.of,) if isinstance(effect, Single) else sides(effect)
        found |= {str(side["arm"]) for side in fixed}
    return tuple(arm for arm in spec.factors.arm if arm in found)


def _rests_on(spec: Spec, hypothesis: str, metric: str | None) -> set[tuple[str, str]]:
    asked = (one for one in questions(spec, hypothesis) if metric is None or one.metric == metric)
    return {pair for question in asked for pair in needed(spec, question)}
