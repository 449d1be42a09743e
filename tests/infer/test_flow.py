"""From slots to outcomes: every count reconciles; exclusions are capped and compared between arms."""

from __future__ import annotations

from typing import Any

import pytest

from sealkit.infer.analysis import analyse
from sealkit.infer.cells import Cells
from sealkit.infer.flow import newcombe_independent
from sealkit.plan.slots import slots
from sealkit.wire.canon import decode_value
from tests.infer.told import EXCLUDED, MISSING, PAIRED, PIN, analysed, by_arm, flow_of, small

LOST = by_arm(plus=[1, 0, MISSING, EXCLUDED, EXCLUDED, 1], minus=[0, 1, 1, 1, EXCLUDED, "provider_error"])


def record(**options: Any) -> Any:
    plan = small({"e": PAIRED % "tango"}, seeds=6, **options)
    return analysed(plan, LOST).record


def test_every_slot_is_accounted_for() -> None:
    for arm in record()["flow"].values():
        assert arm["slots"] == arm["admitted"] + sum(arm["excluded"].values()) + arm["errored"] + arm["missing"] == 6
        assert arm["episodes"] == arm["slots"] - arm["missing"]
        assert arm["outcomes"] == arm["admitted"] - arm["no_outcome"]


def test_the_flow_says_what_became_of_each() -> None:
    plus, minus = (record(endings={"provider_error": "failure"})["flow"][arm] for arm in ("plus", "minus"))
    assert (plus["admitted"], plus["excluded"], plus["missing"], plus["counted_as_failure"]) == (
        3,
        {"boundary": 2},
        1,
        0,
    )
    assert (minus["admitted"], minus["missing"], minus["counted_as_failure"]) == (4, 1, 1)


def test_an_ending_that_means_missing_leaves_an_admitted_episode_without_an_outcome() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=6, endings={"agent_stopped": "missing"})
    outcome = by_arm(plus=[1] * 6, minus=[0] * 6)
    flow = flow_of(plan, outcome)
    cells = Cells(plan.spec)
    for arm in ("plus", "minus"):
        for seed in range(6):
            ended = "agent_stopped" if (arm, seed) == ("plus", 0) else "final"
            slot = {"arm": arm, "family": "x", "seed": seed}
            cells.admit(slot, {"success": int(arm == "plus")}, ended=ended, acts=2, pin=0)
    found: Any = analyse(plan, [PIN], flow, cells).record
    assert (found["flow"]["plus"]["no_outcome"], found["flow"]["plus"]["outcomes"]) == (1, 5)
    assert found["effects"][0]["basis"][0] == {
        "planned": 6, "absent": 1, "null": 0, "filled": 0, "unpaired": 0, "left_out": 0, "n": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cap", "over"), [("0", ["minus", "plus"]), ("0.2", ["minus", "plus"]), ("0.34", ["plus"]), ("0.5", []), ("1", [])]
)  # 2 of 6 and 1 of 6 excluded, one more of each missing
def test_the_cap_is_by_arm_and_over_means_over(cap: str, over: list[str]) -> None:
    assert record(cap=cap)["exclusions"]["over_cap"] == over


def test_slots_that_were_given_up_meet_the_cap() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=20, cap="0.05")
    found: Any = analysed(plan, by_arm(plus=[1] * 6 + [MISSING] * 14, minus=[0] * 20)).record
    assert found["exclusions"]["over_cap"] == ["plus"]


def test_a_missing_slot_that_the_plan_counts_as_failure_has_its_outcome() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=6, cap="0", endings={"provider_error": "failure"})
    found: Any = analysed(plan, by_arm(plus=[1] * 6, minus=[0] * 5 + ["provider_error"])).record
    assert found["exclusions"]["over_cap"] == []


def test_a_cap_that_is_just_met_is_not_exceeded() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=20, cap="0.05")
    outcome = by_arm(plus=[EXCLUDED] + [1] * 19, minus=[0] * 20)
    found: Any = analysed(plan, outcome).record
    assert found["exclusions"]["over_cap"] == []


def test_an_imbalance_comes_with_its_interval() -> None:
    excluded, without = record()["exclusions"]["imbalance"]
    assert (excluded["arms"], excluded["of"], excluded["plus"], excluded["minus"]) == (
        "plus - minus",
        "excluded",
        [2, 6],
        [1, 6],
    )
    assert excluded["difference"] == "0.166666666667"
    assert float(excluded["lower"]) < 0 < float(excluded["upper"])
    assert (without["of"], without["plus"], without["minus"]) == ("without", [3, 6], [2, 6])


def test_one_arm_alone_is_compared_with_none() -> None:
    plan = small({"e": "{of: {arm: plus}, population: all, method: wilson}"}, seeds=6)
    found: Any = analysed(plan, LOST).record
    assert found["exclusions"]["imbalance"] == []


# Newcombe, Stat Med 1998, 17:873, table II, method 10.
@pytest.mark.parametrize(
    ("one", "other", "limits"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.1611, 0.2775)),
        ((0, 10), (0, 10), (-0.2775, 0.2775)),
        ((10, 10), (0, 20), (0.6791, 1.0000)),
        ((10, 10), (0, 10), (0.6075, 1.0000)),
    ],
)
def test_newcombes_interval_of_independent_shares(
    one: tuple[int, int], other: tuple[int, int], limits: tuple[float, float]
) -> None:
    assert newcombe_independent(one, other, level=0.95) == pytest.approx(limits, abs=6e-5)


def test_overhead_counts_acts_and_usage_of_admitted_episodes() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=2)
    cells = Cells(plan.spec)
    for seed, used in ((0, {"input_tokens": 10, "calls": 2}), (1, {"input_tokens": 5})):
        cells.admit({"arm": "plus", "family": "x", "seed": seed}, {"success": 1, **used}, ended="final", acts=3, pin=0)
    cells.set_aside({"arm": "minus", "family": "x", "seed": 0}, pin=0)
    found: Any = analyse(plan, [PIN], flow_of(plan, by_arm(plus=[1, 1], minus=[EXCLUDED, MISSING])), cells).record
    assert found["overhead"] == {
        "plus": {
            "acts": {"n": 2, "total": 6, "mean": "3.000000000000"},
            "input_tokens": {"n": 2, "total": 15, "mean": "7.500000000000"},
            "calls": {"n": 1, "total": 2, "mean": "2.000000000000"},
        },
        "minus": {},
    }


def test_the_record_is_canonical_and_holds_no_float() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=6)
    line = analysed(plan, LOST).line
    assert decode_value(line, where="results") == analysed(plan, LOST).record


def cells_under(plan: Any, outcome: Any, pin_of: Any) -> Cells:
    """Cells in which every slot counts under a pin of its own."""
    cells = Cells(plan.spec)
    for slot in slots(plan.spec, "confirmatory"):
        found, pin = outcome(slot), pin_of(slot)
        if isinstance(found, str):
            cells.fail(slot, found, pin=pin)
        else:
            cells.admit(slot, found, ended="final", acts=9, pin=pin)
    return cells


PINS = [PIN, "sha256:" + "1" * 64]


def test_several_pins_are_told_apart() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=4)
    outcome = by_arm(plus=[1, 1, 0, 0], minus=[0, 0, 0, 1])
    cells = cells_under(plan, outcome, lambda slot: int(slot["seed"]) // 2)
    found: Any = analyse(plan, PINS, flow_of(plan, outcome), cells).record
    assert [part["pin"][-1] for part in found["by_pin"]] == ["0", "1"]
    assert [part["effects"][0]["n"] for part in found["by_pin"]] == [2, 2]
    assert [(part["effects"][0]["b"], part["effects"][0]["c"]) for part in found["by_pin"]] == [(2, 0), (0, 1)]
    assert found["effects"][0]["n"] == 4
    assert analysed(plan, outcome).record["by_pin"] == []


@pytest.mark.parametrize(
    ("rule", "due"), [("complete_pairs", [(2, 2, 0), (1, 0, 1)]), ("failure", [(2, 2, 0), (2, 0, 1)])]
)
def test_under_each_pin_the_plans_own_rule_holds_and_a_failure_counts_once(rule: str, due: list[Any]) -> None:
    """Of pin 1 one plus slot failed and one minus slot is missing; of pin 0 nothing is. (n, b, c) by hand."""
    plan = small({"e": PAIRED % "tango"}, seeds=4, missing=rule, endings={"provider_error": "failure"})
    outcome = by_arm(plus=[1, 1, "provider_error", 0], minus=[0, 0, 1, "harness_error"])
    cells = cells_under(plan, outcome, lambda slot: int(slot["seed"]) // 2)
    found: Any = analyse(plan, PINS, flow_of(plan, outcome), cells).record
    rows = [part["effects"][0] for part in found["by_pin"]]
    assert [(row["n"], row["b"], row["c"]) for row in rows] == due
    assert [row["basis"][0]["filled"] for row in rows] == [0, due[1][0]]
