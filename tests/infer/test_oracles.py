"""Differences of stratified effects and ratios of units: against every resample there is, enumerated without sealkit.

A percentile of 10,000 draws from a law lies, but for a chance below 10^-6, where the law's own chance is within EPSILON
of the tail: 5 standard errors of sqrt(0.025 * 0.975 / 10,000).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.load import Plan
from sealkit.plan.slots import Slot
from sealkit.wire.errors import UsageError
from tests.infer.told import METHODS, MISSING, Outcome, Teller, found_in, numbers_in, small

EPSILON = Fraction(8, 1000)
TAIL = Fraction(25, 1000)
SEEDS = 3
FAMILIES = ("x", "z")


@pytest.fixture(autouse=True)
def ten_thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"boot10": "paired_bootstrap_percentile", "mean10": "bootstrap_percentile"}
    for name, kind in kinds.items():
        monkeypatch.setitem(METHODS, name, f"{{kind: {kind}, level: 0.95, resamples: 10000, seed: 0}}")


def drawn(groups: Sequence[Sequence[Any]]) -> Iterator[list[list[Any]]]:
    """Every resample: from each group as many as it has, with replacement."""
    for picked in product(*(product(group, repeat=len(group)) for group in groups)):
        yield [list(each) for each in picked]


def check(found: Mapping[str, Decimal | int], observed: Fraction, law: Sequence[Fraction]) -> None:
    """The estimate is exact, and both limits are percentiles of the law."""
    assert abs(Fraction(found["estimate"]) - observed) < Fraction(1, 10**11)
    small_step = Fraction(1, 10**9)  # limits are rounded to 12 places
    for limit, values in (
        (Fraction(found["lower"]), law),
        (-Fraction(found["upper"]), [-value for value in law]),
    ):
        below = Fraction(sum(value < limit - small_step for value in values), len(values))
        upto = Fraction(sum(value <= limit + small_step for value in values), len(values))
        assert below <= TAIL + EPSILON and upto >= TAIL - EPSILON, (limit, below, upto)


def mean(values: Sequence[int | Fraction]) -> Fraction:
    return Fraction(sum(values), 1) / len(values)


# --- differences of stratified effects

VALUES = {
    "a": {"x": [1, 1, 0], "z": [1, 0, 1]},
    "b": {"x": [0, 1, 0], "z": [0, 0, 1]},
    "c": {"x": [0, 1, 1], "z": [0, 0, 0]},
}
TEXT = "{contrast: %s, join: [family, seed], population: %s, method: boot10%s}"
WEIGHTS = ", strata: {by: family, weights: {x: %s, z: %s}}"


def outcome(slot: Slot) -> Outcome:
    return {"success": VALUES[str(slot["arm"])][str(slot["family"])][int(slot["seed"])]}


def stratified(one: str, other: str, *, populations: tuple[str, str] = ("all", "all")) -> Plan:
    effects = {
        "one": TEXT % ("a - c", populations[0], one), "other": TEXT % ("b - c", populations[1], other),
        "e": "{difference: one - other, method: boot10}",
    }  # fmt: skip
    return small(
        effects,
        arms=("a", "b", "c"),
        families="[x, z]",
        seeds=SEEDS,
        populations="{all: {family: all}}" if populations[1] == "all" else "{all: {family: all}, z: {family: [z]}}",
        hypotheses={name: ("success", f"{name}.lower > 0") for name in effects},
    )


def pair(plus: str, minus: str, family: str, seed: int) -> int:
    return VALUES[plus][family][seed] - VALUES[minus][family][seed]


@pytest.mark.parametrize("other", [("0.25", "0.75"), ("0.5", "0.5"), ("0.9", "0.1")])
def test_a_difference_of_stratified_effects_is_one_of_weighted_means_resampled_key_by_key(
    other: tuple[str, str],
) -> None:
    """Each key brings its pair of either effect; keys of a family are drawn among themselves."""
    ones, others = (Fraction(1, 4), Fraction(3, 4)), tuple(map(Fraction, other))
    keys = [[(pair("a", "c", family, i), pair("b", "c", family, i)) for i in range(SEEDS)] for family in FAMILIES]

    def effect(groups: Sequence[Sequence[tuple[int, int]]]) -> Fraction:
        return sum(
            (
                w * mean([one for one, _ in group]) - v * mean([two for _, two in group])
                for w, v, group in zip(ones, others, groups, strict=True)
            ),
            Fraction(0),
        )

    found = numbers_in(stratified(WEIGHTS % ("0.25", "0.75"), WEIGHTS % other), outcome)
    check(found, effect(keys), [effect(groups) for groups in drawn(keys)])
    assert found["units"] == 6


def test_only_one_of_two_effects_is_stratified() -> None:
    """The other one is the mean over all of its pairs; its keys lie in the strata of the first nevertheless."""
    keys = [[(pair("a", "c", family, i), pair("b", "c", family, i)) for i in range(SEEDS)] for family in FAMILIES]

    def effect(groups: Sequence[Sequence[tuple[int, int]]]) -> Fraction:
        weights = (Fraction(9, 10), Fraction(1, 10))
        one = sum((w * mean([p for p, _ in group]) for w, group in zip(weights, groups, strict=True)), Fraction(0))
        return one - mean([p for group in groups for _, p in group])

    found = numbers_in(stratified(WEIGHTS % ("0.9", "0.1"), ""), outcome)
    check(found, effect(keys), [effect(groups) for groups in drawn(keys)])


def test_a_stratified_effect_less_one_on_a_part_of_its_keys() -> None:
    keys = [[(pair("a", "c", family, i), pair("b", "c", family, i)) for i in range(SEEDS)] for family in FAMILIES]

    def effect(groups: Sequence[Sequence[tuple[int, int]]]) -> Fraction:
        one = mean([p for p, _ in groups[0]]) / 4 + mean([p for p, _ in groups[1]]) * 3 / 4
        return one - mean([p for _, p in groups[1]])

    found = numbers_in(stratified(WEIGHTS % ("0.25", "0.75"), "", populations=("all", "z")), outcome)
    check(found, effect(keys), [effect(groups) for groups in drawn(keys)])


def test_swapping_the_two_effects_turns_the_difference_around() -> None:
    effects = {
        "one": TEXT % ("a - c", "all", WEIGHTS % ("0.25", "0.75")), "other": TEXT % ("b - c", "all", ""),
        "e": "{difference: one - other, method: boot10}", "f": "{difference: other - one, method: boot10}",
    }  # fmt: skip
    rules = {name: ("success", f"{name}.lower > 0") for name in effects}
    plan = small(effects, arms=("a", "b", "c"), families="[x, z]", seeds=SEEDS, hypotheses=rules)
    e, f = numbers_in(plan, outcome, "e"), numbers_in(plan, outcome, "f")
    assert (e["estimate"], e["lower"], e["upper"]) == (-f["estimate"], -f["upper"], -f["lower"])


# --- ratios of metrics with units and readings

# What each episode of an arm showed, seed by seed: fault → (named, extra words), and its turns.
SHOWN: dict[str, list[tuple[dict[str, tuple[int | None, int]], int]]] = {
    "plus": [({"f1": (1, 3), "f2": (1, 0)}, 5), ({"f1": (0, 2)}, 4), ({}, 3), ({"f2": (1, 1), "f3": (None, 9)}, 6)],
    "minus": [({"f1": (0, 1)}, 4), ({"f1": (1, 0), "f2": (0, 2)}, 5), ({"f3": (1, 4)}, 2), ({}, 7)],
}  # fmt: skip
METRICS = {
    "named": "{kind: binary, better: higher, unit: fault}",
    "words": "{kind: count, better: lower, unit: fault}",
    "turns": "{kind: count, better: lower}",
}


def shown(slot: Slot) -> Outcome:
    faults, turns = SHOWN[str(slot["arm"])][int(slot["seed"])]
    return {
        "named": {fault: named for fault, (named, _) in faults.items()},
        "words": {fault: words for fault, (_, words) in faults.items()},
        "turns": turns,
    }


def sums(arm: str, of: str, over: str) -> list[tuple[int, int]]:
    """By hand: the two sums of every episode; where both count faults, only faults that have both."""
    found = []
    for faults, turns in SHOWN[arm]:
        both = [(named, words) for named, words in faults.values() if named is not None]
        words = [each for _, each in (both if {of, over} == {"named", "words"} else faults.values())]
        every = {"named": sum(named for named, _ in both), "words": sum(words), "turns": turns}
        found.append((every[of], every[over]))
    return found


def ratio(blocks: Sequence[tuple[int, int]]) -> Fraction | None:
    below = sum(bottom for _, bottom in blocks)
    return Fraction(sum(top for top, _ in blocks), below) if below else None


@pytest.mark.parametrize(("of", "over"), [("named", "turns"), ("words", "turns"), ("turns", "words")])
def test_a_ratio_sums_units_inside_each_episode(of: str, over: str) -> None:
    metrics = METRICS | {"r": f"{{kind: ratio, of: {of}, over: {over}, better: higher}}"}
    used = {name: text for name, text in metrics.items() if name in (of, over, "r")}
    effect = "{contrast: plus - minus, join: [family, seed], population: all, method: boot10, metric: r}"
    plan = small({"e": effect}, metrics=used, seeds=4, hypotheses={"h": ("", "e.lower > 0")})
    blocks = [[(*one, *two) for one, two in zip(sums("plus", of, over), sums("minus", of, over), strict=True)]]

    def difference(group: Sequence[tuple[int, int, int, int]]) -> Fraction | None:
        one, two = ratio([block[:2] for block in group]), ratio([block[2:] for block in group])
        return None if one is None or two is None else one - two

    law = [difference(group) for (group,) in drawn(blocks)]
    found = small_numbers(plan)
    if None in law:  # then sealkit gives no interval, and says so
        assert isinstance(found, str) and "the denominators sum to 0" in found
    else:
        observed = difference(blocks[0])
        assert observed is not None and not isinstance(found, str)
        check(found, observed, [value for value in law if value is not None])
        assert found["n"] == 4


def small_numbers(plan: Plan, teller: Teller = shown) -> Mapping[str, Decimal | int] | str:
    found = found_in(plan, teller, "e", "r").estimate
    return found.reason if isinstance(found, NotEstimable) else {**found.fields, **found.beside}


def test_a_ratio_of_two_metrics_of_one_unit_takes_units_that_have_both() -> None:
    """Named faults over words, one arm alone: fault f3 of the last episode has words and no verdict on its name."""
    metrics = {name: METRICS[name] for name in ("named", "words")} | {
        "r": "{kind: ratio, of: named, over: words, better: higher}"
    }
    effect = "{of: {arm: plus}, population: all, method: %s, metric: r}"
    plan = small({"e": effect % "mean10"}, metrics=metrics, seeds=4, hypotheses={"h": ("", "e.lower > 0")})
    assert sums("plus", "named", "words") == [(2, 3), (0, 2), (0, 0), (1, 1)]
    assert "the denominators sum to 0" in str(small_numbers(plan))  # the third episode alone, four times
    plain = small({"e": effect % "tally"}, metrics=metrics, seeds=4, hypotheses={"h": ("", "e.estimate > 0")})
    found = small_numbers(plain)
    assert not isinstance(found, str) and found["estimate"] == Decimal("0.5")


READ = {
    "named": "{kind: count, better: higher, read_by: reader}",
    "turns": "{kind: count, better: lower}",
    "r": "{kind: ratio, of: named, over: turns, better: higher}",
}
READINGS = "{reader: {of: x, levels: {one: {model: null, arms: all}, two: {model: null, arms: all}}}}"
NAMED = [(3, 1, 5), (2, 2, 4), (0, 1, 3), (4, 0, 6)]  # by the one reader, by the other, turns


def read_twice(slot: Slot) -> Outcome:
    one, two, turns = NAMED[int(slot["seed"])]
    return {"named": {"one": one, "two": two}, "turns": turns}


def reading(effect: str) -> Plan:
    return small({"e": effect}, metrics=READ, readings=READINGS, seeds=4, hypotheses={"h": ("", "e.lower > 0")})


def test_a_ratio_of_a_metric_that_is_read_takes_the_reading_that_a_side_fixes() -> None:
    sides = "{plus: {arm: plus, reader: one}, minus: {arm: plus, reader: two}, join: [family, seed], population: all"
    blocks = [[(one, turns, two, turns) for one, two, turns in NAMED]]

    def difference(group: Sequence[tuple[int, int, int, int]]) -> Fraction:
        one, two = ratio([block[:2] for block in group]), ratio([block[2:] for block in group])
        assert one is not None and two is not None
        return one - two

    found = numbers_in(reading(sides + ", method: boot10, metric: r}"), read_twice, metric="r")
    check(found, difference(blocks[0]), [difference(group) for (group,) in drawn(blocks)])


@pytest.mark.parametrize(
    ("effect", "says"),
    [
        ("{contrast: plus - minus, join: [family, seed], population: all, method: boot10, metric: r}", "fix reader"),
        ("{of: {arm: plus}, population: all, method: mean10, metric: r}", "fix reader"),
    ],
)
def test_a_side_that_does_not_say_which_reading_is_refused(effect: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        reading(effect)


def test_an_episode_that_is_not_there_has_no_units_to_sum() -> None:
    metrics = {name: METRICS[name] for name in ("named", "turns")} | {
        "r": "{kind: ratio, of: named, over: turns, better: higher}"
    }
    effect = "{contrast: plus - minus, join: [family, seed], population: all, method: boot10, metric: r}"
    plan = small({"e": effect}, metrics=metrics, seeds=4, hypotheses={"h": ("", "e.lower > 0")})

    def lost(slot: Slot) -> Outcome:
        return MISSING if slot["arm"] == "plus" and slot["seed"] == 1 else shown(slot)

    found = small_numbers(plan, lost)
    assert not isinstance(found, str) and found["n"] == 3
