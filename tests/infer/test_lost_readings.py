"""A reading that failed is a missing outcome at its level: the plan's rule applies, and nothing else of the episode moves.

Five seeds, one arm, two levels. The reading at `aside` failed under seeds 1 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import pytest

from sealkit.infer.flow import arms_over, readings_over
from sealkit.plan.load import Plan
from sealkit.plan.readings import LOST
from sealkit.plan.slots import Slot
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Json
from tests.infer.told import numbers_in, reason_in, small, told

READER = "{reader: {of: diagnosis, levels: {aside: {model: null, arms: all}, whole: {model: null, arms: all}}}}"
WHOLE = "{plus: {arm: plus, reader: whole}, minus: {arm: plus, reader: aside}, join: [family, seed%s], %s"
END = "population: all, method: boot}"


def plan_of(missing: str, *, unit: bool = False, better: str = "higher") -> Plan:
    kept = f"{{kind: binary, better: {better}, {'unit: fault, ' if unit else ''}read_by: reader}}"
    effect = WHOLE % (", fault", f"cluster: [family, seed], {END}") if unit else WHOLE % ("", END)
    return small({"e": effect}, metrics={"named": kept}, seeds=5, readings=READER, missing=missing)


def named(slot: Slot) -> Mapping[str, Json]:
    return {"named": {"whole": 1, "aside": LOST if slot["seed"] in (1, 3) else 0}}


@pytest.mark.parametrize(
    ("missing", "better", "n", "estimate"),
    [
        ("complete_pairs", "higher", 3, "1"),  # three pairs of 1 and 0: the others are left out
        ("failure", "higher", 5, "1"),  # a lost reading counts as the worst value, 0, as any missing outcome does
        ("worst_case", "higher", 5, "0.6"),  # against the predicted direction: 1 on the minus side
        ("complete_pairs", "lower", 3, "-1"),
    ],
)
def test_the_plans_rule_for_missing_outcomes_holds(missing: str, better: str, n: int, estimate: str) -> None:
    found = numbers_in(plan_of(missing, better=better), named, metric="named")
    assert (found["n"], format(found["estimate"].normalize(), "f")) == (n, estimate)  # type: ignore[union-attr]


def test_other_levels_of_the_episode_keep_their_outcome() -> None:
    cells = told(plan_of("complete_pairs"), named)
    assert cells.state().all(), "every slot has its episode and its outcome"
    assert [int(state) for state in cells.state_of("named", "aside")[:5]] == [1, 0, 1, 0, 1]
    assert cells.state_of("named", "whole").all()


def test_a_lost_reading_of_units_shows_none_of_them() -> None:
    def faults(slot: Slot) -> Mapping[str, Json]:
        whole = {"door": 1, "key": 1}
        return {"named": {"whole": whole, "aside": LOST if slot["seed"] in (1, 3) else {"door": 0, "key": 1}}}

    found = numbers_in(plan_of("complete_pairs", unit=True), faults, metric="named")
    assert (found["n"], format(found["estimate"].normalize(), "f")) == (6, "0.5")  # type: ignore[union-attr]
    says = reason_in(plan_of("failure", unit=True), faults, metric="named")
    assert says == "2 slots without an outcome, and nothing says how many of fault they would have shown"


@pytest.mark.parametrize(("cap", "over"), [("0.3", {"reader": ("minus", "plus")}), ("0.4", {})])
def test_lost_readings_count_against_the_cap(cap: str, over: Mapping[str, tuple[str, ...]]) -> None:
    cells = told(plan_of("complete_pairs"), named)
    assert readings_over(Decimal(cap), cells) == over and arms_over(Decimal(cap), cells) == ()


def test_a_level_that_is_not_there_is_no_missing_outcome() -> None:
    with pytest.raises(MalformedError, match="found no aside, a reader that the plan takes in arm plus; let the judge"):
        told(plan_of("complete_pairs"), lambda slot: {"named": {"whole": 1}})
