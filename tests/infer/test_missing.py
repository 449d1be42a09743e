"""Outcomes that are not there: the plan's rule, what endings mean, and the worst and the best case beside a ruling."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sealkit.infer.analysis import Analysis
from sealkit.infer.cells import FAILED
from sealkit.infer.estimate import Estimated, estimate
from sealkit.infer.standins import Rule
from sealkit.infer.stats.results import NotEstimable
from sealkit.wire.errors import UsageError
from tests.infer.told import EXCLUDED, MISSING, PAIRED, analysed, by_arm, found_in, numbers_in, reason_in, small, told

SINGLE = "{of: {arm: plus}, population: all, method: %s}"
LOWER = {"success": "{kind: binary, better: lower}"}
COUNT = {"success": "{kind: count, better: lower}"}
# Pairs: both there and equal; plus missing; minus missing; plus excluded; minus excluded.
LOST = by_arm(plus=[0, MISSING, 1, EXCLUDED, 1], minus=[0, 0, MISSING, 0, EXCLUDED])


def counts(found: dict[str, Decimal | int]) -> tuple[Decimal | int, ...]:
    return found["n"], found["b"], found["c"]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("complete_pairs", (1, 0, 0)),
        ("failure", (3, 1, 0)),  # the missing count as 0; the excluded are left out, never counted against the agent
        ("worst_case", (5, 0, 0)),  # a missing plus is 0, a missing minus 1
    ],
)
def test_the_plans_rule_holds(rule: str, expected: tuple[int, int, int]) -> None:
    assert counts(numbers_in(small({"e": PAIRED % "tango"}, seeds=5, missing=rule), LOST)) == expected


@pytest.mark.parametrize(
    ("rule", "expected"), [("complete_pairs", (1, 0, 0)), ("failure", (3, 0, 1)), ("worst_case", (5, 0, 4))]
)
def test_where_lower_is_better_the_bad_value_is_1(rule: str, expected: tuple[int, int, int]) -> None:
    """b and c are oriented: b pairs in which the plus side alone is better, that is 0."""
    assert counts(numbers_in(small({"e": PAIRED % "tango"}, metrics=LOWER, seeds=5, missing=rule), LOST)) == expected


@pytest.mark.parametrize(("rule", "x", "n"), [("complete_pairs", 2, 3), ("failure", 2, 4), ("worst_case", 2, 5)])
def test_one_arm_alone(rule: str, x: int, n: int) -> None:
    found = numbers_in(small({"e": SINGLE % "wilson"}, seeds=5, missing=rule), LOST)
    assert (found["x"], found["n"]) == (x, n)


@pytest.mark.parametrize(
    ("rule", "says"), [("failure", "1 slot counted as failure"), ("worst_case", "1 slot without an outcome")]
)
def test_a_count_has_no_worst_value_and_says_so(rule: Rule, says: str) -> None:
    """No plan with such a rule can be sealed; the engine does not rely on it."""
    cells = told(small({"e": PAIRED % "boot"}, metrics=COUNT, seeds=3), by_arm(plus=[1, 2, MISSING], minus=[3, 3, 3]))
    found = estimate(cells, "e", "success", rule=rule).estimate
    assert found == NotEstimable(f"{says}, and success has no worst value")


# The plus side has 1, 2 and a failure without an episode, the minus side 3, 3, 3.
FAILING = by_arm(plus=[1, 2, "provider_error"], minus=[3, 3, 3])


@pytest.mark.parametrize("rule", ["complete_pairs", "failure", "worst_case"])
def test_a_failure_is_never_dropped_it_counts_as_the_most_that_the_plan_declares(rule: str) -> None:
    """Left out, the arm that fails would look better: 1.5 fewer. With its failure at 15 it is (2 + 1 - 12)/3 = -3."""
    most = {"success": "{kind: count, better: lower, most: 15}"}
    plan = small({"e": PAIRED % "boot"}, metrics=most, seeds=3, missing=rule, endings={"provider_error": "failure"})
    found = found_in(plan, FAILING)
    assert (numbers_in(plan, FAILING)["estimate"], found.basis[0].filled, found.basis[0].n) == (-3, 1, 3)


@pytest.mark.parametrize(
    ("options", "key"),
    [({"endings": {"provider_error": "failure"}}, "endings.provider_error"), ({"missing": "failure"}, "missing")],
)
def test_a_ruling_on_failures_that_have_no_value_is_refused_before_the_seal(options: Any, key: str) -> None:
    says = rf"sample.{key} a slot without an episode counts as a failure, and success has no worst value; .*most: 15"
    with pytest.raises(UsageError, match=says):
        small({"e": PAIRED % "boot"}, metrics=COUNT, seeds=3, **options)
    small({"e": PAIRED % "boot"}, metrics={"success": COUNT["success"][:-1] + ", most: 15}"}, seeds=3, **options)


def test_a_failure_that_has_no_value_is_not_estimable_also_under_complete_pairs() -> None:
    cells = told(small({"e": PAIRED % "boot"}, metrics=COUNT, seeds=3), by_arm(plus=[1, 2, MISSING], minus=[3, 3, 3]))
    cells.states[cells.grid.number({"arm": "plus", "family": "x", "seed": 2})] = FAILED
    found = estimate(cells, "e", "success", rule="complete_pairs").estimate
    assert found == NotEstimable("1 slot counted as failure, and success has no worst value")


def test_a_failure_that_the_plan_leaves_out_is_counted_as_left_out() -> None:
    left_out = {"success": "{kind: duration, better: lower, censored: {kind: left_out}}"}
    plan = small({"e": PAIRED % "boot"}, metrics=left_out, seeds=3, endings={"provider_error": "failure"})
    (basis,) = found_in(plan, FAILING).basis
    assert (basis.planned, basis.absent, basis.left_out, basis.n) == (3, 1, 1, 2)


def test_what_a_duration_stands_at_in_the_worst_case_is_the_most_that_it_can_be() -> None:
    capped = {"success": "{kind: duration, better: lower, most: 15, censored: {kind: left_out}}"}
    plan = small({"e": PAIRED % "boot"}, metrics=capped, seeds=2, missing="worst_case")
    assert numbers_in(plan, by_arm(plus=[MISSING, 5], minus=[5, 5]))["estimate"] == -5


def test_where_only_the_best_count_is_due_the_worst_case_has_a_number() -> None:
    """A missing minus side stands at its best, which for a count that is better lower is 0."""
    cells = told(small({"e": PAIRED % "boot"}, metrics=COUNT, seeds=3), by_arm(plus=[1, 2, 3], minus=[3, 3, MISSING]))
    found = estimate(cells, "e", "success", rule="worst_case").estimate
    assert isinstance(found, Estimated) and found.fields["estimate"] == 0  # (2 + 1 - 3)/3


def test_a_duration_that_failed_did_not_end() -> None:
    capped = {"success": "{kind: duration, better: lower, censored: {kind: counts_as, value: 15}}"}
    plan = small({"e": PAIRED % "boot"}, metrics=capped, seeds=2, missing="failure")
    assert numbers_in(plan, by_arm(plus=[MISSING, 5], minus=[5, 5]))["estimate"] == -5
    left_out = {"success": "{kind: duration, better: lower, censored: {kind: left_out}}"}
    plan = small({"e": PAIRED % "boot"}, metrics=left_out, seeds=3, missing="failure")
    assert numbers_in(plan, by_arm(plus=[MISSING, 5, 4], minus=[5, 5, 5]))["n"] == 2


def test_a_score_stands_at_its_ends() -> None:
    score = {"success": "{kind: score, better: higher, range: [-1, 2], step: 0.5}"}
    plan = small({"e": PAIRED % "boot"}, metrics=score, seeds=2, missing="worst_case")
    found = numbers_in(plan, by_arm(plus=[MISSING, 0], minus=[0, MISSING]))
    assert (found["n"], found["estimate"]) == (2, Decimal("-1.5"))


# --- endings


@pytest.mark.parametrize("rule", ["complete_pairs", "failure", "worst_case"])
def test_an_ending_that_means_failure_is_one_even_without_an_episode(rule: str) -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=2, missing=rule, endings={"provider_error": "failure"})
    found = found_in(plan, by_arm(plus=["provider_error", 1], minus=[1, 1]))
    assert found.basis[0].filled == 1
    assert counts(numbers_in(plan, by_arm(plus=["provider_error", 1], minus=[1, 1]))) == (2, 0, 1)


@pytest.mark.parametrize(("meaning", "n"), [("missing", 1), ("failure", 2)])
def test_the_same_ending_under_another_meaning_is_left_out(meaning: str, n: int) -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=2, endings={"provider_error": meaning})
    assert numbers_in(plan, by_arm(plus=["provider_error", 1], minus=[1, 1]))["n"] == n


# --- repetitions


def test_a_stand_in_takes_the_place_of_one_repetition() -> None:
    metric = {"success": "{kind: binary, better: higher, repetitions: {kind: mean}}"}
    plan = small({"e": PAIRED % "boot"}, metrics=metric, seeds=2, repetitions=2, missing="worst_case")
    outcome = by_arm(plus=[1, 1], minus=[0, 0])

    def first_plus_lost(slot):  # type: ignore[no-untyped-def]
        return MISSING if (slot["arm"], slot["seed"], slot["repetition"]) == ("plus", 0, 1) else outcome(slot)

    assert numbers_in(plan, first_plus_lost)["estimate"] == Decimal("0.75")


# --- bounds


def record(analysis: Analysis) -> tuple[dict, dict]:  # type: ignore[type-arg]
    (row,), (verdict,) = analysis.record["effects"], analysis.record["verdicts"]  # type: ignore[misc]
    return row, verdict


def test_bounds_stand_beside_a_verdict_that_the_missing_could_turn() -> None:
    plan = small({"e": PAIRED % "law"}, seeds=20)
    row, verdict = record(analysed(plan, by_arm(plus=[1] * 8 + [0] * 8 + [MISSING] * 4, minus=[0] * 20)))
    assert (row["n"], row["estimate"]) == (16, "0.500000000000")
    assert (row["bounds"]["worst"]["n"], row["bounds"]["worst"]["estimate"]) == (20, "0.400000000000")
    assert row["bounds"]["best"]["estimate"] == "0.600000000000"
    assert (verdict["verdict"], verdict["if_worst"], verdict["if_best"]) == ("supported", "supported", "supported")
    row, verdict = record(analysed(plan, by_arm(plus=[1] * 6 + [0] * 8 + [EXCLUDED] * 6, minus=[0] * 15 + [1] * 5)))
    assert row["bounds"]["worst"]["c"] == 5
    assert (verdict["verdict"], verdict["if_worst"], verdict["if_best"]) == ("supported", "not_shown", "supported")


@pytest.mark.parametrize("rule", ["complete_pairs", "failure", "worst_case"])
def test_the_bounds_are_the_same_whatever_the_plans_rule(rule: str) -> None:
    row, _ = record(analysed(small({"e": PAIRED % "law"}, seeds=5, missing=rule), LOST))
    assert [row["bounds"][case]["estimate"] for case in ("worst", "best")] == ["0.000000000000", "0.800000000000"]


def test_nothing_missing_nothing_bounded() -> None:
    row, verdict = record(
        analysed(small({"e": PAIRED % "law"}, seeds=4), by_arm(plus=[1, 1, 1, 0], minus=[0, 1, 0, 0]))
    )
    assert row["bounds"] is None
    assert verdict["verdict"] == verdict["if_worst"] == verdict["if_best"]


def test_a_bound_that_a_count_does_not_have_is_said_not_made_up() -> None:
    plan = small({"e": PAIRED % "law"}, metrics=COUNT, seeds=3)
    row, verdict = record(analysed(plan, by_arm(plus=[1, 2, MISSING], minus=[3, 3, 3])))
    assert row["bounds"]["worst"] == {"not_estimable": "1 slot without an outcome, and success has no worst value"}
    assert row["bounds"]["best"]["estimate"] == "2.000000000000"  # 0 for the missing one
    assert (verdict["verdict"], verdict["if_worst"], verdict["if_best"]) == ("supported", "not_estimable", "supported")


def test_units_of_an_episode_that_is_not_there_are_not_known() -> None:
    metrics = {"success": "{kind: binary, better: higher, unit: fault}"}
    effect = (
        "{contrast: plus - minus, join: [family, seed, fault], cluster: [family, seed], population: all, method: boot}"
    )
    plan = small({"e": effect}, metrics=metrics, seeds=3)

    def outcome(slot):  # type: ignore[no-untyped-def]
        if slot == {"arm": "plus", "family": "x", "seed": 2}:
            return MISSING
        return {"success": {"a": int(slot["arm"] == "plus"), "b": 0}}

    row, _ = record(analysed(plan, outcome))
    assert row["n"] == 4
    assert "nothing says how many of fault" in row["bounds"]["worst"]["not_estimable"]
    failing = small({"e": effect}, metrics=metrics, seeds=3, missing="failure")
    assert "nothing says how many of fault" in reason_in(failing, outcome)
    ending = small({"e": effect}, metrics=metrics, seeds=3, endings={"provider_error": "failure"})
    assert "nothing says how many of fault" in reason_in(
        ending, lambda slot: "provider_error" if outcome(slot) == MISSING else outcome(slot)
    )


def test_the_worst_case_of_a_difference_is_worst_for_the_whole_of_it() -> None:
    text = "{contrast: %s, join: [family, seed], population: all, method: boot}"
    effects = {"one": text % "a - c", "other": text % "b - c", "e": "{difference: one - other, method: boot}"}
    plan = small(effects, arms=("a", "b", "c"), seeds=4)
    analysis = analysed(plan, by_arm(a=[1, 1, 0, MISSING], b=[0, 0, 1, MISSING], c=[0, 0, 0, 0]))
    rows = {row["effect"]: row for row in analysis.record["effects"]}  # type: ignore[index,union-attr]
    # The fourth a stands at 0 and the fourth b at 1: what is taken away is at its best where the whole is at its worst.
    assert rows["e"]["bounds"]["worst"]["estimate"] == "0.000000000000"
    assert rows["e"]["bounds"]["best"]["estimate"] == "0.500000000000"
    assert rows["other"]["bounds"]["worst"]["estimate"] == "0.250000000000"
