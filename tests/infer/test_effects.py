"""Orientation, repetitions, units, clusters, strata, ratios, differences: each against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import pytest

from sealkit.infer.difference import TwoEffects
from sealkit.infer.estimate import Estimated
from sealkit.infer.shapes import Rows
from sealkit.infer.stats.decimals import exact_decimal
from sealkit.plan.slots import Slot
from sealkit.wire.errors import UsageError
from sealkit.wire.records import Json
from tests.infer.told import MISSING, PAIRED, Outcome, by_arm, found_in, numbers_in, pairs_of, reason_in, small

COUNT = "{kind: count, better: %s}"
SINGLE = "{of: {arm: plus}, population: all, method: %s}"


# --- orientation


@pytest.mark.parametrize(("better", "sign"), [("higher", 1), ("lower", -1)])
def test_above_0_is_better_whatever_better_means(better: str, sign: int) -> None:
    plan = small({"e": PAIRED % "boot"}, metrics={"success": COUNT % better}, seeds=4)
    found = numbers_in(plan, by_arm(plus=[5, 5, 5, 1], minus=[1, 1, 1, 2]))
    assert found["estimate"] == sign * Decimal("2.75")
    assert sorted([found["b"], found["c"]]) == [1, 3]
    assert (found["b"] > found["c"]) == (found["estimate"] > 0)


def test_one_arm_alone_is_not_turned_around() -> None:
    plan = small({"e": SINGLE % "mean"}, metrics={"success": COUNT % "lower"}, seeds=4)
    assert numbers_in(plan, by_arm(plus=[5, 5, 5, 1], minus=[0] * 4))["estimate"] == 4


def test_sides_keep_the_values_as_measured() -> None:
    plan = small({"e": PAIRED % "boot"}, metrics={"success": COUNT % "lower"}, seeds=3)
    data = found_in(plan, by_arm(plus=[5, 5, MISSING], minus=[1, 2, 9])).data
    assert isinstance(data, Rows) and data.sample.minus is not None
    assert (data.mean(data.sample.plus), data.mean(data.sample.minus)) == (5, Fraction(3, 2))


def test_a_score_is_exact_on_its_steps() -> None:
    metric = "{kind: score, better: higher, range: [0, 1], step: 0.2}"
    plan = small({"e": PAIRED % "boot"}, metrics={"success": metric}, seeds=3)
    found = numbers_in(plan, by_arm(plus=["0.6", "0.2", "1"], minus=["0.4", "0.4", "0.8"]))
    assert found["estimate"] == exact_decimal(Fraction(1, 15))
    assert found["lower"] == Decimal("-0.2")


WITHIN = "{plus: {arm: plus, family: x}, minus: {arm: plus, family: z}, join: %s, population: all, method: boot}"
SUCCESSES = {"x": [1, 1, 0, 1], "z": [0, 1, 1, 0]}


def test_two_families_are_compared_within_one_arm_seed_by_seed() -> None:
    plan = small({"e": WITHIN % "[seed]"}, families="[x, z]", seeds=4)

    def told(slot: Slot) -> Outcome:
        family, seed = str(slot["family"]), int(slot["seed"])
        return {"success": SUCCESSES[family][seed] if slot["arm"] == "plus" else 0}

    found = numbers_in(plan, told)
    assert (found["n"], found["b"], found["c"], found["estimate"]) == (4, 2, 1, Decimal("0.25"))
    without_one = numbers_in(plan, lambda slot: MISSING if slot["family"] == "z" and slot["seed"] == 0 else told(slot))
    assert (without_one["n"], without_one["b"], without_one["c"]) == (3, 1, 1)


def test_families_within_one_arm_are_joined_by_every_other_factor() -> None:
    with pytest.raises(UsageError, match="without identity"):
        small({"e": WITHIN % "[seed]"}, families="[x, z]", seeds=2, further="  identity: [one, two]\n")


# --- repetitions

TRIES = [[1, 0, 0], [1, 1, 1], [0, 0, 0], [1, 1, 0]]


def repeated(how: str, *, tries: list[list[Json | str]] = TRIES) -> dict[str, Decimal | int]:  # type: ignore[assignment]
    metric = f"{{kind: binary, better: higher, repetitions: {how}}}"
    plan = small({"e": SINGLE % "mean"}, metrics={"success": metric}, seeds=4, repetitions=3)

    def outcome(slot: Slot) -> Outcome:
        value = tries[int(slot["seed"])][int(slot["repetition"])]
        return value if isinstance(value, str) else {"success": value}

    return numbers_in(plan, outcome)


@pytest.mark.parametrize(
    ("how", "mean"),
    [
        ("{kind: mean}", Fraction(6, 12)),
        ("{kind: any}", Fraction(3, 4)),
        ("{kind: all}", Fraction(1, 4)),
        ("{kind: pass_at_k, k: 1}", Fraction(6, 12)),
        ("{kind: pass_at_k, k: 2}", (Fraction(2, 3) + 1 + 0 + 1) / 4),  # of 3 draws of 2, 2 hold the one success
        ("{kind: pass_at_k, k: 3}", Fraction(3, 4)),
    ],
)
def test_repetitions_become_one_value(how: str, mean: Fraction) -> None:
    found = repeated(how)
    assert (found["n"], found["estimate"]) == (4, exact_decimal(mean))


@pytest.mark.parametrize("how", ["{kind: mean}", "{kind: any}", "{kind: all}", "{kind: pass_at_k, k: 1}"])
def test_a_cell_with_a_missing_repetition_is_missing_even_where_the_others_decide(how: str) -> None:
    tries: list[list[Json | str]] = [[1, 1, MISSING], [1, 1, 1], [0, 0, 0], [0, 0, None]]
    found = repeated(how, tries=tries)
    assert (found["n"], found["estimate"]) == (2, Decimal("0.5"))


def test_thirds_leave_no_dust_around_0() -> None:
    """Three repetitions averaged, as many up as down: in floats the lower limit of such data comes out above 0."""
    metric = "{kind: binary, better: higher, repetitions: {kind: mean}}"
    plan = small({"e": PAIRED % "boot"}, metrics={"success": metric}, seeds=6, repetitions=3)

    def outcome(slot: Slot) -> Outcome:
        up = slot["arm"] == "plus" and slot["seed"] in (0, 1, 2, 3)
        return {"success": int(int(slot["repetition"]) < (2 if up else 1))}

    found = numbers_in(plan, outcome)
    assert found["estimate"] == exact_decimal(Fraction(4, 18))
    assert found["upper"] == exact_decimal(Fraction(1, 3))
    law = small({"e": PAIRED % "boot"}, metrics={"success": metric}, seeds=6, repetitions=3)
    assert found_in(law, outcome).data is not None


# --- units inside an episode

UNITS = {"success": "{kind: binary, better: higher, unit: fault}"}
BY_FAULT = (
    "{contrast: plus - minus, join: [family, seed, fault], cluster: [family, seed], population: all, method: boot}"
)


def per_fault(plus: list[Mapping[str, Json] | str], minus: list[Mapping[str, Json] | str]) -> dict[str, Decimal | int]:
    plan = small({"e": BY_FAULT}, metrics=UNITS, seeds=len(plus))
    return numbers_in(plan, units(plus, minus))


def units(plus: list[Mapping[str, Json] | str], minus: list[Mapping[str, Json] | str]):  # type: ignore[no-untyped-def]
    def outcome(slot: Slot) -> Outcome:
        value = (plus if slot["arm"] == "plus" else minus)[int(slot["seed"])]
        return value if isinstance(value, str) else {"success": dict(value)}

    return outcome


def test_units_are_joined_by_name_in_any_order_and_clustered_by_episode() -> None:
    found = per_fault([{"a": 1, "b": 0}, {"c": 1}, {"a": 0}], [{"b": 1, "a": 0}, {"c": 0}, {"a": 0}])
    assert {name: found[name] for name in ("n", "b", "c", "units")} == {"n": 4, "b": 2, "c": 1, "units": 3}
    assert found["estimate"] == Decimal("0.25")


def test_a_unit_that_one_side_did_not_show_is_unpaired() -> None:
    plan = small({"e": BY_FAULT}, metrics=UNITS, seeds=3)
    found = found_in(plan, units([{"a": 1, "b": 0}, {"c": 1}, MISSING], [{"a": 0}, {"c": 0, "d": 1}, {"e": 1}]))
    (basis,) = found.basis
    assert (basis.planned, basis.absent, basis.unpaired, basis.n) == (3, 1, 2, 2)


def test_a_cluster_is_resampled_whole() -> None:
    """Two clusters of 1 and 3 pairs: a resample is one, the other, or both, so the mean is 1, 0 or 1/4."""
    found = per_fault([{"a": 1}, {"a": 0, "b": 0, "c": 0}], [{"a": 0}, {"a": 0, "b": 0, "c": 0}])
    assert (found["estimate"], found["lower"], found["upper"]) == (Decimal("0.25"), 0, 1)


# --- strata

STRATA = "strata: {by: family, weights: {x: 0.25, z: 0.75}}"
STRATIFIED = f"{{contrast: plus - minus, join: [family, seed], population: all, method: boot, {STRATA}}}"


def by_family(plus: Mapping[str, list[Json]], minus: Mapping[str, list[Json]]):  # type: ignore[no-untyped-def]
    def outcome(slot: Slot) -> Outcome:
        value = (plus if slot["arm"] == "plus" else minus)[str(slot["family"])][int(slot["seed"])]
        return value if isinstance(value, str) else {"success": value}

    return outcome


def test_strata_have_their_fixed_weights_whatever_their_size() -> None:
    plan = small({"e": STRATIFIED}, families="[x, z]", seeds=4)
    outcome = by_family({"x": [1, 1, 1, MISSING], "z": [0, 0, 0, 1]}, {"x": [0, 0, 1, 0], "z": [0, 0, 0, 0]})
    found = numbers_in(plan, outcome)
    assert found["estimate"] == exact_decimal(Fraction(1, 4) * Fraction(2, 3) + Fraction(3, 4) * Fraction(1, 4))
    assert found["n"] == 7


def test_a_stratum_without_pairs_makes_it_not_estimable_and_is_named() -> None:
    plan = small({"e": STRATIFIED}, families="[x, z]", seeds=2)
    outcome = by_family({"x": [1, 1], "z": [MISSING, MISSING]}, {"x": [0, 0], "z": [0, 0]})
    assert reason_in(plan, outcome) == "no pairs in family z"


def test_strata_of_clusters() -> None:
    effect = BY_FAULT.replace("method: boot", f"method: boot, {STRATA}")
    plan = small({"e": effect}, metrics=UNITS, families="[x, z]", seeds=2)

    def outcome(slot: Slot) -> Outcome:
        good = int(slot["arm"] == "plus" and slot["seed"] == 0)
        return {"success": {"a": good} if slot["family"] == "x" else {"a": good, "b": 0, "c": 0}}

    found = numbers_in(plan, outcome)
    assert found["estimate"] == exact_decimal(Fraction(1, 4) * Fraction(1, 2) + Fraction(3, 4) * Fraction(1, 6))
    assert (found["lower"], found["upper"], found["units"]) == (0, exact_decimal(Fraction(1, 4) + Fraction(1, 4)), 4)


# --- ratios

RATIO = {
    "tokens": "{kind: count, better: lower}",
    "acts": "{kind: count, better: lower}",
    "per_act": "{kind: ratio, of: tokens, over: acts, better: lower}",
}


def tokens(plus: list[tuple[int, int] | str], minus: list[tuple[int, int] | str]):  # type: ignore[no-untyped-def]
    def outcome(slot: Slot) -> Outcome:
        value = (plus if slot["arm"] == "plus" else minus)[int(slot["seed"])]
        return value if isinstance(value, str) else {"tokens": value[0], "acts": value[1]}

    return outcome


def test_a_ratio_is_sum_over_sum_and_is_oriented() -> None:
    plan = small({"e": PAIRED[:-1] % "boot" + ", metric: per_act}"}, metrics=RATIO, seeds=3)
    found = numbers_in(plan, tokens([(10, 1), (30, 3), MISSING], [(20, 1), (30, 4), (99, 1)]), metric="per_act")
    assert found["estimate"] == Decimal(0)  # 50/5 of the minus side less 40/4: lower is better
    found = numbers_in(plan, tokens([(10, 1), (30, 3), (0, 1)], [(20, 1), (30, 4), (0, 1)]), metric="per_act")
    assert found["estimate"] == exact_decimal(Fraction(50, 6) - Fraction(40, 5))
    assert (found["b"], found["c"]) == (1, 1)


def test_a_ratio_that_is_lower_everywhere_speaks_for_it_in_every_pair_and_limit() -> None:
    plan = small({"e": PAIRED[:-1] % "boot" + ", metric: per_act}"}, metrics=RATIO, seeds=3)
    found = numbers_in(plan, tokens([(10, 1), (30, 3), (9, 1)], [(20, 1), (80, 4), (19, 1)]), metric="per_act")
    assert (found["b"], found["c"]) == (3, 0)
    assert 0 < found["lower"] <= found["estimate"] <= found["upper"]


def test_a_ratio_of_one_arm() -> None:
    plan = small({"e": SINGLE[:-1] % "mean" + ", metric: per_act}"}, metrics=RATIO, seeds=2)
    found = numbers_in(plan, tokens([(10, 1), (30, 3)], [(1, 1), (1, 1)]), metric="per_act")
    assert (found["n"], found["estimate"], found["lower"], found["upper"]) == (2, 10, 10, 10)


def test_denominators_that_are_0_are_told_and_only_those() -> None:
    plan = small({"e": PAIRED[:-1] % "boot" + ", metric: per_act}"}, metrics=RATIO, seeds=9)

    def notes(acts: int) -> tuple[str, ...]:
        plus: list[tuple[int, int] | str] = [(0, acts), *[(9, 2), (5, 1)] * 4]
        found = found_in(plan, tokens(plus, [(1, 1)] * 9), metric="per_act").estimate
        assert isinstance(found, Estimated)
        return found.notes

    assert notes(0) == ("1 of 9 denominators of the plus side and 0 of 9 denominators of the minus side are 0",)
    assert notes(1) == ()


def test_a_ratio_over_nothing_is_not_estimable() -> None:
    plan = small({"e": PAIRED[:-1] % "boot" + ", metric: per_act}"}, metrics=RATIO, seeds=2)
    assert "sum to 0" in reason_in(plan, tokens([(10, 0), (30, 0)], [(1, 1), (1, 1)]), metric="per_act")


# --- differences of effects


def difference(populations: str, one: str, other: str) -> dict[str, str]:
    text = "{contrast: %s, join: [family, seed], population: %s, method: boot}"
    return {
        "one": text % (one, populations.split()[0]),
        "other": text % (other, populations.split()[1]),
        "e": "{difference: one - other, method: boot}",
    }


def test_a_difference_over_the_same_pairs_resamples_them_together() -> None:
    """(a - c) - (b - c) is a - b pair by pair: its interval is that of a - b, not one of two independent effects."""
    effects = difference("all all", "a - c", "b - c")
    plan = small(effects, arms=("a", "b", "c"), seeds=20)
    a, b, c = [1] * 12 + [0] * 8, [1] * 8 + [0] * 12, [0, 1] * 10
    found = numbers_in(plan, by_arm(a=a, b=b, c=c))
    assert found["estimate"] == Decimal("0.2")
    direct = small({"e": PAIRED % "law"}, seeds=20)
    limits = numbers_in(direct, by_arm(plus=a, minus=b))
    assert abs(found["lower"] - limits["lower"]) <= Decimal("0.05")
    assert abs(found["upper"] - limits["upper"]) <= Decimal("0.05")


def test_a_difference_over_two_populations_resamples_each_on_its_own() -> None:
    effects = difference("x z", "plus - minus", "plus - minus")
    plan = small(effects, families="[x, z]", seeds=3, populations="{x: {family: [x]}, z: {family: [z]}}")
    found = found_in(plan, by_family({"x": [1, 1, 1], "z": [1, 0, 0]}, {"x": [0, 0, 0], "z": [0, 0, 0]}))
    assert isinstance(found.data, TwoEffects)
    assert [basis.n for basis in found.basis] == [3, 3]
    numbers = numbers_in(plan, by_family({"x": [1, 1, 1], "z": [1, 0, 0]}, {"x": [0, 0, 0], "z": [0, 0, 0]}))
    assert numbers["estimate"] == exact_decimal(Fraction(2, 3))
    assert numbers["lower"] == 0 and numbers["upper"] == 1  # z alone varies: 3, 2, 1 or 0 of 3


def test_a_difference_that_lacks_a_part_says_which() -> None:
    effects = difference("all all", "a - c", "b - c")
    plan = small(effects, arms=("a", "b", "c"), seeds=3)
    assert reason_in(plan, by_arm(a=[1, 1, 1], b=[MISSING] * 3, c=[0, 0, 0])) == "other: 0 of 3 pairs have a value"


# --- readings, as pairs of one episode


def test_two_readings_of_one_arm_are_a_pair() -> None:
    readings = "{reader: {of: diagnosis, levels: {log: {model: null, arms: [plus]}, text: {model: null, arms: all}}}}"
    effect = (
        "{plus: {arm: plus, reader: log}, minus: {arm: plus, reader: text}, join: [family, seed, fault], "
        "cluster: [family, seed], population: all, method: boot}"
    )
    metrics = {"success": "{kind: binary, better: higher, unit: fault, read_by: reader}"}
    plan = small({"e": effect}, metrics=metrics, readings=readings, seeds=2)

    def outcome(slot: Slot) -> Outcome:
        if slot["arm"] == "minus":
            return {"success": {"text": {"a": 1}}}
        return {"success": {"log": {"a": 1, "b": 1}, "text": {"a": 0, "b": 1}}}

    found = numbers_in(plan, outcome)
    assert (found["n"], found["b"], found["c"], found["estimate"]) == (4, 2, 0, Decimal("0.5"))


def test_numbers_too_large_for_64_bits_stay_exact() -> None:
    huge = 2**53 - 1
    plan = small({"e": SINGLE % "mean"}, metrics={"success": COUNT % "higher"}, seeds=2000)
    found = numbers_in(plan, by_arm(plus=[huge] * 2000, minus=[0] * 2000))
    assert (found["estimate"], found["lower"], found["total"]) == (huge, huge, 2000 * huge)
    paired = small({"e": PAIRED % "boot"}, metrics={"success": COUNT % "higher"}, seeds=2000)
    assert numbers_in(paired, by_arm(plus=[huge] * 2000, minus=[0] * 2000))["estimate"] == huge


def test_a_binary_pair_reads_the_same_by_every_method() -> None:
    for method in ("boot", "law", "tango", "newcombe", "exact"):
        found = numbers_in(small({"e": PAIRED % method}, seeds=12), pairs_of(12, 5, 2, 3))
        assert (found["n"], found["b"], found["c"], found["estimate"]) == (12, 5, 2, Decimal("0.25"))
        assert found["lower"] <= found["estimate"] <= found["upper"]


def test_a_unit_that_one_repetition_did_not_show_has_no_combined_value() -> None:
    metrics = {"success": "{kind: binary, better: higher, unit: fault, repetitions: {kind: mean}}"}
    plan = small({"e": BY_FAULT}, metrics=metrics, seeds=3, repetitions=2)

    def outcome(slot: Slot) -> Outcome:
        good = int(slot["arm"] == "plus")
        late = {"b": good} if slot["seed"] == 0 and slot["repetition"] == 1 else {}
        return {"success": {"a": good if slot["repetition"] == 0 else 0, **late}}

    found = numbers_in(plan, outcome)
    assert (found["n"], found["estimate"]) == (3, Decimal("0.5"))
