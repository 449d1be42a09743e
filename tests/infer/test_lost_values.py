"""A null is a missing outcome, and a slot that was drawn again meets the cap: nothing decided after treatment is free.

Each forged table is the smallest that a judge, or a program that fails by choice, could make pass: named by its defect.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.infer.analysis import analyse
from sealkit.infer.estimate import Estimated, estimate
from sealkit.infer.flow import arms_over, tries_again
from sealkit.infer.lost import lost_in_rules, lost_under
from sealkit.wire.canon import decode_value
from tests.infer.told import MISSING, PAIRED, PIN, Outcome, Teller, analysed, by_arm, flow_of, numbers_in, small, told

ONE = "{of: {arm: plus}, population: all, method: wilson}"
UNIT = {"success": "{kind: binary, better: higher, unit: fault}"}
BY_FAULT = (
    "{contrast: plus - minus, join: [family, seed, fault], cluster: [family, seed], population: all, method: boot}"
)
LATENCY = {"success": "{kind: duration, better: lower, most: 15, censored: {kind: left_out}}"}
Row = dict[str, Any]


def record(plan: Any, outcome: Teller) -> Any:
    found = decode_value(analysed(plan, outcome).line)
    assert isinstance(found, dict)
    return found


def losses(plan: Any, outcome: Teller) -> list[str]:
    return [str(one) for one in lost_in_rules(told(plan, outcome))]


# --- nulls


def test_null_where_the_treatment_failed_is_a_loss_to_bounds_cap_and_balance() -> None:
    """Without its five nulls the treatment is never worse; each of them may be a loss."""
    never_worse = {"H": ("success", "e.c == 0")}
    plan = small({"e": PAIRED % "tango"}, seeds=10, cap="0", hypotheses=never_worse)
    found = record(plan, by_arm(plus=[1] * 5 + [None] * 5, minus=[1] * 10))
    (row,), (verdict,), exclusions = found["effects"], found["verdicts"], found["exclusions"]
    assert (row["n"], row["c"], row["basis"][0]["null"]) == (5, 0, 5)
    assert (row["bounds"]["worst"]["c"], row["bounds"]["best"]["c"], row["bounds"]["worst"]["n"]) == (5, 0, 10)
    assert (verdict["verdict"], verdict["if_worst"], verdict["if_best"]) == ("supported", "not_shown", "supported")
    assert exclusions["null_over_cap"] == verdict["null"] == ["e on success: 5 of 10 in plus, 5 of them null"]
    assert [row["plus"] for row in exclusions["imbalance"] if row["of"] == "without"] == [[5, 10]]
    assert [found["flow"][arm]["no_value"] for arm in ("plus", "minus")] == [5, 0]


@pytest.mark.parametrize(("rule", "c"), [("complete_pairs", 0), ("failure", 5), ("worst_case", 5)])
def test_null_has_the_stand_in_of_a_missing_outcome(rule: str, c: int) -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=10, missing=rule)
    for lost in (None, MISSING):
        assert numbers_in(plan, by_arm(plus=[1] * 5 + [lost] * 5, minus=[1] * 10))["c"] == c


def test_null_on_both_sides_is_a_loss_too_for_a_control_that_always_fails_would_excuse_the_treatment() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=4, cap="0")
    found = losses(plan, by_arm(plus=[1, None, 0, 1], minus=[0, None, 0, 0]))
    assert found == [f"e on success: 1 of 4 in {arm}, 1 of them null" for arm in ("plus", "minus")]


def test_null_in_one_arm_alone_is_a_loss() -> None:
    plan = small({"e": ONE}, seeds=10, cap="0", hypotheses={"H": ("success", "e.x == e.n")})
    (verdict,) = record(plan, by_arm(plus=[1] * 4 + [None] * 6, minus=[0] * 10))["verdicts"]
    assert (verdict["verdict"], verdict["if_worst"], verdict["if_best"]) == ("supported", "not_shown", "supported")
    assert verdict["null"] == ["e on success: 6 of 10 in plus, 6 of them null"]


def test_nulls_in_a_small_population_do_not_hide_in_a_large_arm() -> None:
    effect = "{contrast: plus - minus, join: [family, seed], population: small, method: tango}"
    populations = "{small: {seed: [0, 1, 2]}}"
    plan = small({"e": effect}, seeds=60, cap="0.05", populations=populations)
    cells = told(plan, by_arm(plus=[1, 1, None, *[1] * 57], minus=[0] * 60))
    (lost,) = lost_in_rules(cells)
    assert (lost.without, lost.slots, lost.over(plan.spec.sample.exclusion_cap_per_arm)) == (1, 3, True)


def test_nulls_and_missing_outcomes_meet_the_cap_together() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=20, cap="0.05")
    (lost,) = lost_in_rules(told(plan, by_arm(plus=[1] * 18 + [None, MISSING], minus=[0] * 20)))
    assert (lost.null, lost.without, lost.over(plan.spec.sample.exclusion_cap_per_arm)) == (1, 2, True)


def test_nulls_outside_what_rules_read_cost_nothing() -> None:
    populations = "{some: {seed: [0, 1]}}"
    effect = "{contrast: plus - minus, join: [family, seed], population: some, method: tango}"
    plan = small({"e": effect}, seeds=4, cap="0", populations=populations)
    found = record(plan, by_arm(plus=[1, 1, None, None], minus=[0, 0, 0, None]))
    assert (found["exclusions"]["null"], found["effects"][0]["bounds"]) == ([], None)
    assert found["flow"]["plus"]["no_value"] == 0


@pytest.mark.parametrize("lost", [None, "provider_error"])
def test_a_duration_that_is_left_out_is_a_loss_where_a_rule_reads_it(lost: Any) -> None:
    """The two acts that took longest never ended: without them the treatment is quicker."""
    plan = small({"e": PAIRED % "boot"}, metrics=LATENCY, seeds=6, cap="0", endings={"provider_error": "failure"})
    outcome = by_arm(plus=[3, 3, 2, 3, lost, lost], minus=[4, 5, 4, 4, 4, 4])
    found = record(plan, outcome)
    (row,), (verdict,) = found["effects"], found["verdicts"]
    assert (row["n"], row["bounds"]["worst"]["n"]) == (4, 6)
    assert (verdict["verdict"], verdict["if_worst"], verdict["if_best"]) == ("supported", "not_shown", "supported")
    assert verdict["null"] == ["e on success: 2 of 6 in plus, 2 of them null"]


def test_a_duration_that_counts_as_a_number_is_no_loss() -> None:
    counts = {"success": "{kind: duration, better: lower, censored: {kind: counts_as, value: 15}}"}
    plan = small({"e": PAIRED % "boot"}, metrics=counts, seeds=3, cap="0")
    assert losses(plan, by_arm(plus=[3, None, 2], minus=[4, 5, None])) == []


def faults(plus: Any, minus: Any) -> Teller:
    return lambda slot: {"success": plus if slot["arm"] == "plus" else minus}


@pytest.mark.parametrize("plus", [{"a": 1}, {"a": 1, "b": None}])
def test_a_unit_that_one_side_leaves_out_is_a_loss(plus: Any) -> None:
    plan = small({"e": BY_FAULT}, metrics=UNIT, seeds=4, cap="0")
    found = record(plan, faults(plus, {"a": 0, "b": 1}))
    (row,) = found["effects"]
    assert (row["n"], row["c"], row["basis"][0]["unpaired"]) == (4, 0, 4)
    assert [(row["bounds"][case]["n"], row["bounds"][case]["c"]) for case in ("worst", "best")] == [(8, 4), (8, 0)]
    assert found["verdicts"][0]["null"] == ["e on success: 4 of 4 in plus, 4 of them null"]


def test_a_slot_that_shows_no_unit_is_a_loss_where_the_other_side_shows_none_either() -> None:
    """Whoever shows units chooses by that which slots an effect rests on."""
    plan = small({"e": BY_FAULT}, metrics=UNIT, seeds=4, cap="0")
    found = record(plan, lambda slot: {"success": {"a": int(slot["arm"] == "plus")} if slot["seed"] else {}})
    assert (found["effects"][0]["n"], found["verdicts"][0]["verdict"]) == (3, "supported")
    both = [f"e on success: 1 of 4 in {arm}, 1 of them null" for arm in ("plus", "minus")]
    assert found["exclusions"]["null_over_cap"] == found["verdicts"][0]["null"] == both
    assert [found["flow"][arm]["no_value"] for arm in ("plus", "minus")] == [1, 1]


def test_a_null_unit_of_one_arm_alone_is_counted() -> None:
    plan = small(
        {"e": "{of: {arm: plus}, cluster: [family, seed], population: all, method: mean}"},
        metrics=UNIT,
        seeds=4,
        cap="0",
    )
    found = record(plan, faults({"a": 1, "b": None}, {}))
    assert (found["effects"][0]["n"], found["effects"][0]["basis"][0]["null"]) == (4, 4)
    assert found["effects"][0]["bounds"]["worst"]["n"] == 8
    assert found["verdicts"][0]["null"] == ["e on success: 4 of 4 in plus, 4 of them null"]


@pytest.mark.parametrize("of", [{"a": 1}, {"a": 1, "b": None}])
def test_a_unit_that_one_part_of_a_ratio_leaves_out_is_a_loss(of: Any) -> None:
    metrics = {
        "good": "{kind: count, better: higher, most: 1, unit: fault}",
        "all": "{kind: count, better: higher, most: 1, unit: fault}",
        "share": "{kind: ratio, of: good, over: all, better: higher}",
    }
    plan = small(
        {"e": PAIRED % "boot"}, metrics=metrics, seeds=4, cap="0", hypotheses={"H": ("share", "e.lower > 0")}
    )  # fmt: skip
    found = record(
        plan, lambda slot: {"good": of if slot["arm"] == "plus" else {"a": 0, "b": 1}, "all": {"a": 1, "b": 1}}
    )
    assert found["effects"][0]["basis"][0]["unpaired"] == 4
    assert found["verdicts"][0]["verdict"] == "supported" != found["verdicts"][0]["if_worst"]


def test_only_what_a_verdict_rests_on_is_held_against_it() -> None:
    effects = {"e": PAIRED % "tango", "f": PAIRED.replace("population", "metric: other, population") % "tango"}
    metrics = {"success": "{kind: binary, better: higher}", "other": "{kind: binary, better: higher}"}
    rules = {"H": ("success", "e.lower > 0"), "G": ("", "f.lower > 0")}
    plan = small(effects, metrics=metrics, seeds=4, hypotheses=rules)
    lost = lost_in_rules(told(plan, lambda slot: {"success": 1, "other": None if slot["arm"] == "plus" else 0}))
    assert [lost_under(plan.spec, name, None, lost) for name in ("H", "G")] == [(), lost]


VALUES = st.sampled_from([0, 1, 1, None])


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(VALUES, VALUES), min_size=3, max_size=5), st.sampled_from(["higher", "lower"]))
def test_the_bounds_enclose_every_way_to_fill_the_nulls(
    table: list[tuple[int | None, int | None]], better: str
) -> None:
    plan = small(
        {"e": PAIRED % "tango"}, seeds=len(table), metrics={"success": f"{{kind: binary, better: {better}}}"}
    )  # fmt: skip

    def fields(values: list[tuple[int | None, int | None]], rule: Any = "complete_pairs") -> Row:
        cells = told(plan, by_arm(plus=[plus for plus, _ in values], minus=[minus for _, minus in values]))
        found = estimate(cells, "e", "success", rule=rule).estimate
        assert isinstance(found, Estimated)
        return dict(found.fields)

    worst, best = fields(table, "worst"), fields(table, "best")
    flat = [value for pair in table for value in pair]
    for fill in product((0, 1), repeat=min(flat.count(None), 4)):
        given_ = iter(fill)
        filled = [next(given_, 0) if value is None else value for value in flat]
        found = fields(list(zip(filled[::2], filled[1::2], strict=True)))
        for name in ("estimate", "lower", "upper"):
            assert worst[name] <= found[name] <= best[name], name


# --- tries drawn again


def drawn(plan: Any, tries: dict[int, int], outcome: Teller) -> Any:
    """The record where so many tries of the plus arm, by seed, failed before its episode."""
    cells = told(plan, outcome)
    for seed, count in tries.items():
        cells.draw_again({"arm": "plus", "family": "x", "seed": seed}, count)
    return cells, analyse(plan, [PIN], flow_of(plan, outcome), cells).record


WON = by_arm(plus=[1] * 10, minus=[0] * 10)


@pytest.mark.parametrize(("cap", "over"), [("0", ["plus"]), ("0.1", ["plus"]), ("0.2", [])])
def test_best_of_many_tries_meets_the_cap_and_every_verdict_says_so(cap: str, over: list[str]) -> None:
    _, found = drawn(small({"e": PAIRED % "tango"}, cap=cap), {0: 1, 7: 36}, WON)
    assert found["exclusions"]["over_cap"] == over
    assert found["exclusions"]["drawn_again"] == {"plus": 37}
    assert found["verdicts"][0]["drawn_again"] == {"plus": 37, "minus": 0}
    assert [found["flow"][arm]["drawn_again"] for arm in ("plus", "minus")] == [2, 0]


def test_slots_without_an_outcome_and_slots_drawn_again_meet_the_cap_together() -> None:
    plan = small({"e": PAIRED % "tango"}, cap="0.1")
    lost: Outcome = MISSING
    outcome = by_arm(plus=[1] * 9 + [lost], minus=[0] * 10)  # type: ignore[list-item]
    cap = plan.spec.sample.exclusion_cap_per_arm
    assert arms_over(cap, drawn(plan, {}, outcome)[0]) == ()
    assert arms_over(cap, drawn(plan, {0: 1}, outcome)[0]) == ("plus",)


def test_a_failure_that_stayed_one_was_not_drawn_by_choice() -> None:
    plan = small({"e": PAIRED % "tango"}, endings={"provider_error": "failure"})
    cells, _ = drawn(plan, {9: 2}, by_arm(plus=[1] * 9 + ["provider_error"], minus=[0] * 10))
    assert tries_again(cells) == {}


def test_nothing_is_said_where_no_try_was_drawn_again() -> None:
    _, found = drawn(small({"e": PAIRED % "tango"}, cap="0"), {}, WON)
    assert (found["exclusions"]["drawn_again"], found["verdicts"][0]["drawn_again"]) == ({}, {})
