"""From scheduled slots to outcomes, arm by arm: how many are left at each step, and whether the arms lost alike.

    slots = admitted + excluded + errored + missing        every slot is ruled on, whatever files there are
    outcomes = admitted - no_outcome                       an ending that the plan counts as missing has none
    no_value                                               of the outcomes, those that are null where a rule reads them
    drawn_again                                            of the outcomes, those behind a failed try (`infer.cells`)

The difference of two arms' shares comes with Newcombe's interval: square-and-add of two Wilson intervals (Stat Med
1998, 17:873, method 10, for independent proportions).

>>> lower, upper = newcombe_independent((56, 70), (48, 80), level=0.95)
>>> f"{lower:.4f} to {upper:.4f}"  # his example (a)
'0.0524 to 0.3339'
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sealkit.infer.admit import ArmTally
from sealkit.infer.cells import FAILED, KNOWN, MISSING, SET_ASIDE, Cells
from sealkit.infer.columns import NULL
from sealkit.infer.lost import lost_in_rules, without_value
from sealkit.infer.measures import plain_metrics
from sealkit.infer.stats.decimals import as_text, exact_decimal, to_decimal
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.stats.special import wilson_limits
from sealkit.plan.analysis import Difference, Single
from sealkit.plan.schema import Spec
from sealkit.plan.slots import sides
from sealkit.wire.records import Json

IMBALANCE_LEVEL: Final = Decimal("0.95")


@dataclass(slots=True)
class ArmFlow:
    """What became of the slots of one arm.

    `attempted` slots were tried, in `attempts` tries, of which `failed` ended without an episode and `abandoned` left
    nothing at all. `ended` counts the episodes by how they ended; `tally` has the ruling on every slot.
    """

    attempted: int = 0
    attempts: int = 0
    abandoned: int = 0
    failed: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    tally: ArmTally = field(default_factory=ArmTally)

    @property
    def episodes(self) -> int:
        """Slots with an episode, admitted or not."""
        return self.tally.slots - self.tally.missing

    @property
    def not_admitted(self) -> int:
        """Episodes that were excluded, or that no verifier came to a verdict on."""
        return sum(self.tally.excluded.values()) + self.tally.errored


Flow = Mapping[str, ArmFlow]


def flow_record(flow: Flow, cells: Cells) -> dict[str, Json]:
    """Every arm's counts."""
    outcomes = _per_arm(cells, cells.state(), KNOWN)
    failures = _per_arm(cells, cells.state(), FAILED)
    no_value = _per_arm(cells, without_value(cells), True)
    again = _per_arm(cells, cells.drawn_again() > 0, True)
    return {
        arm: _arm(flow[arm], outcomes[arm], failures[arm]) | {"no_value": no_value[arm], "drawn_again": again[arm]}
        for arm in sorted(flow)
    }


def _arm(arm: ArmFlow, outcomes: int, failures: int) -> dict[str, Json]:
    tally = arm.tally
    excluded: dict[str, Json] = {origin: tally.excluded[origin] for origin in sorted(tally.excluded)}
    ended: dict[str, Json] = {word: arm.ended[word] for word in sorted(arm.ended)}
    return {
        "slots": tally.slots, "attempted": arm.attempted, "attempts": arm.attempts, "abandoned": arm.abandoned,
        "failed": arm.failed, "episodes": arm.episodes, "ended": ended, "admitted": tally.admitted,
        "excluded": excluded, "errored": tally.errored, "missing": tally.missing,
        "no_outcome": tally.admitted - outcomes, "outcomes": outcomes, "counted_as_failure": failures,
    }  # fmt: skip


def _per_arm(cells: Cells, state: NDArray[np.uint8] | NDArray[np.bool_], *due: int) -> dict[str, int]:
    """How many slots of each arm are in one of these states."""
    places = cells.grid.places(np.isin(state, due).nonzero()[0], "arm")
    return {str(arm): int((places == place).sum()) for place, arm in enumerate(cells.grid.factors["arm"])}


def tries_again(cells: Cells) -> dict[str, int]:
    """How many failed tries of each arm were drawn again and left an outcome; arms without any are left out."""
    tries = cells.drawn_again()
    arm = cells.grid.places(np.arange(len(tries)), "arm")
    found = {str(name): int(tries[arm == place].sum()) for place, name in enumerate(cells.grid.factors["arm"])}
    return {name: count for name, count in found.items() if count}


# --- exclusions


def arms_over(cap: Decimal, cells: Cells) -> tuple[str, ...]:
    """The arms of which a larger share of slots than `cap` is without an outcome, or was drawn again.

    A slot without an outcome counts whatever the reason: who gives up slots has left them out too. One that the plan
    counts as a failure has its outcome. One that was drawn again has an outcome that may have been chosen.
    """
    return _over(cap, cells, cells.state())


def _over(cap: Decimal, cells: Cells, state: NDArray[np.uint8]) -> tuple[str, ...]:
    without = _per_arm(cells, np.isin(state, (MISSING, SET_ASIDE)) | (cells.drawn_again() > 0), True)
    slots = len(state) // len(without)
    return tuple(arm for arm in sorted(without) if without[arm] > Fraction(cap) * slots)


def readings_over(cap: Decimal, cells: Cells) -> dict[str, tuple[str, ...]]:
    """By reading, the arms of which a larger share of slots is without an outcome at some level of it."""
    found: dict[str, tuple[str, ...]] = {}
    for name, metric in plain_metrics(cells.spec).items():
        for level in cells.spec.readings[metric.read_by].levels if metric.read_by is not None else ():
            if over := _over(cap, cells, cells.state_of(name, level)):
                reading = str(metric.read_by)
                found[reading] = tuple(sorted({*found.get(reading, ()), *over}))
    return found


def exclusions_record(spec: Spec, flow: Flow, cells: Cells) -> Json:
    """The cap, the arms over it, and how unlike compared arms lost episodes (`excluded`) and outcomes (`without`).

    `drawn_again` counts the failed tries that were drawn again, by arm; `null` lists the sides of effects that rules
    read in which slots with an outcome have no value, and `null_over_cap` those of them that lost more than the cap.
    """
    cap, outcomes = spec.sample.exclusion_cap_per_arm, _per_arm(cells, cells.state(), KNOWN)
    over: list[Json] = [*arms_over(cap, cells)]
    again: dict[str, Json] = {**tries_again(cells)}
    lost = lost_in_rules(cells)
    null: list[Json] = [one.record for one in lost]
    null_over: list[Json] = [str(one) for one in lost if one.over(cap)]
    nulls = _per_arm(cells, without_value(cells), True)
    without = {arm: (flow[arm].tally.slots - outcomes[arm] + nulls[arm], flow[arm].tally.slots) for arm in flow}
    excluded = {arm: (flow[arm].not_admitted, flow[arm].tally.slots) for arm in flow}
    rows: list[Json] = [
        _imbalance(plus, minus, what, shares)
        for plus, minus in compared_arms(spec)
        for what, shares in (("excluded", excluded), ("without", without))
    ]
    return {
        "cap": str(cap), "over_cap": over, "drawn_again": again, "null": null, "null_over_cap": null_over,
        "imbalance": rows,
    }  # fmt: skip


def compared_arms(spec: Spec) -> Iterator[tuple[str, str]]:
    """Every two arms that an effect of the plan compares, once, in the plan's order."""
    seen: set[frozenset[str]] = set()
    for effect in spec.effects.values():
        if isinstance(effect, Single | Difference):
            continue
        plus, minus = (str(side["arm"]) for side in sides(effect))
        if plus != minus and frozenset((plus, minus)) not in seen:
            seen.add(frozenset((plus, minus)))
            yield plus, minus


def _imbalance(plus: str, minus: str, what: str, shares: Mapping[str, tuple[int, int]]) -> Json:
    one, other = shares[plus], shares[minus]
    row: dict[str, Json] = {"arms": f"{plus} - {minus}", "of": what, "plus": list(one), "minus": list(other)}
    if not one[1] or not other[1]:
        return row | {"not_estimable": "an arm without slots"}
    row["difference"] = as_text(exact_decimal(Fraction(*one) - Fraction(*other)))
    limits = newcombe_independent(one, other, level=float(IMBALANCE_LEVEL))
    lower, upper = (to_decimal(limit) for limit in limits)
    assert not isinstance(lower, NotEstimable) and not isinstance(upper, NotEstimable)
    return row | {"lower": as_text(lower), "upper": as_text(upper), "level": str(IMBALANCE_LEVEL)}


def newcombe_independent(one: tuple[int, int], other: tuple[int, int], *, level: float) -> tuple[float, float]:
    """The limits of x/n - y/m, each share as (count, of)."""
    p, q = one[0] / one[1], other[0] / other[1]
    (l1, u1), (l2, u2) = (wilson_limits(*share, level) for share in (one, other))
    return p - q - math.hypot(p - l1, u2 - q), p - q + math.hypot(u1 - p, q - l2)


# --- overhead


def overhead_record(cells: Cells) -> dict[str, Json]:
    """What the admitted episodes of every arm took: acts, and usage where it was measured."""
    found: dict[str, Json] = {}
    for place, arm in enumerate(cells.grid.factors["arm"]):
        row: dict[str, Json] = {}
        for name, column in cells.overhead():
            known = (column != NULL).nonzero()[0]
            values = column[known[cells.grid.places(known, "arm") == place]]
            if len(values):
                total = sum(values.tolist())
                row[name] = {
                    "n": len(values),
                    "total": total,
                    "mean": as_text(exact_decimal(Fraction(total, len(values)))),
                }
        found[str(arm)] = row
    return found
