"""What must change nothing, and what must turn everything around."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.infer.estimate import Estimated, Found, estimate
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.slots import Slot
from sealkit.wire.records import Json
from tests.infer.told import EXCLUDED, MISSING, Outcome, Teller, small, told, verdicts_of

FAMILIES = ("x", "z")
SEEDS = 6
BINARY = {"success": "{kind: binary, better: %s}"}
METHODS_OF_PAIRS = ("boot", "law", "tango", "newcombe")
STRATA = ", strata: {by: family, weights: {x: 0.3, z: 0.7}}"
CLUSTER = ", cluster: [family]"


def effect(plus: str, minus: str, method: str, more: str = "") -> str:
    return f"{{contrast: {plus} - {minus}, join: [family, seed], population: all, method: {method}{more}}}"


values = st.sampled_from([0, 1, 0, 1, 0, 1, None, MISSING, EXCLUDED])
counted = st.one_of(st.integers(0, 4), st.sampled_from([None, MISSING, EXCLUDED]))


def tables(each: st.SearchStrategy[Json | str]) -> st.SearchStrategy[dict[tuple[str, str, int], Json | str]]:
    keys = [(arm, family, seed) for arm in ("plus", "minus") for family in FAMILIES for seed in range(SEEDS)]
    return st.tuples(*[each] * len(keys)).map(lambda found: dict(zip(keys, found, strict=True)))


def teller(table: dict[tuple[str, str, int], Json | str]) -> Teller:
    def outcome(slot: Slot) -> Outcome:
        value = table[str(slot["arm"]), str(slot["family"]), int(slot["seed"])]
        return value if isinstance(value, str) else {"success": value}

    return outcome


def shape(found: Found) -> tuple[object, ...]:
    numbers = found.estimate
    if isinstance(numbers, NotEstimable):
        return ("not_estimable", numbers.reason, found.basis)
    return (dict(numbers.fields), dict(numbers.beside), numbers.notes, found.basis)


VARIANTS = [(method, "") for method in METHODS_OF_PAIRS] + [
    ("boot", STRATA),
    ("boot", CLUSTER),
    ("boot", STRATA + CLUSTER),
]


@pytest.mark.parametrize(("method", "more"), VARIANTS)
@settings(max_examples=8, deadline=None)
@given(table=tables(values), seed=st.integers(0, 2**32))
def test_the_order_of_telling_changes_nothing(method: str, more: str, table, seed: int) -> None:  # type: ignore[no-untyped-def]
    plan = small({"e": effect("plus", "minus", method, more)}, families="[x, z]", seeds=SEEDS)

    def shuffled(found: list[Slot]) -> list[Slot]:
        return random.Random(seed).sample(found, len(found))

    one = estimate(told(plan, teller(table)), "e", "success", rule="complete_pairs")
    other = estimate(told(plan, teller(table), order=shuffled), "e", "success", rule="complete_pairs")
    assert shape(one) == shape(other)


@pytest.mark.parametrize(("method", "more"), [*VARIANTS[:4], ("boot", CLUSTER)])
@settings(max_examples=8, deadline=None)
@given(table=tables(values), permuted=st.permutations(range(SEEDS)))
def test_renaming_keys_changes_nothing(method: str, more: str, table, permuted: list[int]) -> None:  # type: ignore[no-untyped-def]
    """Other names for families, in another order, and the seeds dealt anew: the pairs are the same pairs."""
    plan = small({"e": effect("plus", "minus", method, more)}, families="[x, z]", seeds=SEEDS)
    renamed = small({"e": effect("plus", "minus", method, more)}, families="[walrus, ant]", seeds=SEEDS)
    names = {"walrus": "z", "ant": "x"}

    def outcome(slot: Slot) -> Outcome:
        return teller(table)(slot | {"family": names[str(slot["family"])], "seed": permuted[int(slot["seed"])]})

    one = estimate(told(plan, teller(table)), "e", "success", rule="complete_pairs")
    other = estimate(told(renamed, outcome), "e", "success", rule="complete_pairs")
    assert shape(one) == shape(other)


@pytest.mark.parametrize(("method", "more"), VARIANTS)
@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize("missing", ["complete_pairs", "failure"])
@settings(max_examples=5, deadline=None)
@given(table=tables(values))
def test_swapping_the_arms_turns_everything_around(method: str, more: str, better: str, missing: str, table) -> None:  # type: ignore[no-untyped-def]
    effects = {"e": effect("plus", "minus", method, more), "f": effect("minus", "plus", method, more)}
    plan = small(
        effects, metrics={"success": BINARY["success"] % better}, families="[x, z]", seeds=SEEDS, missing=missing
    )
    cells = told(plan, teller(table))
    one, other = (estimate(cells, name, "success", rule=plan.spec.sample.missing) for name in "ef")
    if isinstance(one.estimate, NotEstimable):
        assert one.estimate == other.estimate
        return
    assert isinstance(other.estimate, Estimated)
    e, f = ({**each.estimate.fields, **each.estimate.beside} for each in (one, other))  # type: ignore[union-attr]
    assert (e["n"], e["b"], e["c"]) == (f["n"], f["c"], f["b"])
    assert (e["estimate"], e["lower"], e["upper"]) == (-f["estimate"], -f["upper"], -f["lower"])


@settings(max_examples=15, deadline=None)
@given(table=tables(values))
def test_swapping_the_arms_swaps_supported_and_contradicted(table) -> None:  # type: ignore[no-untyped-def]
    effects = {"e": effect("plus", "minus", "law"), "f": effect("minus", "plus", "law")}
    rules = {"supported": "%s.lower > 0", "contradicted": "%s.upper < 0"}
    hypotheses = {f"{name}-{verdict}": ("success", rule % name) for name in "ef" for verdict, rule in rules.items()}
    plan = small(effects, families="[x, z]", seeds=SEEDS, hypotheses=hypotheses)
    found = verdicts_of(plan, teller(table))
    assert found["e-supported"] == found["f-contradicted"]
    assert found["e-contradicted"] == found["f-supported"]


@settings(max_examples=15, deadline=None)
@given(table=tables(counted))
def test_worst_and_best_swap_with_the_arms_too(table) -> None:  # type: ignore[no-untyped-def]
    metrics = {"success": "{kind: score, better: higher, range: [0, 4], step: 1}"}
    plan = small(
        {name: effect(*arms, "boot") for name, arms in (("e", ("plus", "minus")), ("f", ("minus", "plus")))},
        metrics=metrics, families="[x, z]", seeds=SEEDS,
    )  # fmt: skip
    cells = told(plan, teller(table))
    for case, other in (("worst", "best"), ("best", "worst")):
        e = estimate(cells, "e", "success", rule=case).estimate  # type: ignore[arg-type]
        f = estimate(cells, "f", "success", rule=other).estimate  # type: ignore[arg-type]
        if isinstance(e, Estimated) and isinstance(f, Estimated):
            assert (e.fields["estimate"], e.fields["lower"]) == (-f.fields["estimate"], -f.fields["upper"])
        else:
            assert e == f


@settings(max_examples=10, deadline=None)
@given(table=tables(counted))
def test_the_ruling_lies_between_its_bounds(table) -> None:  # type: ignore[no-untyped-def]
    metrics = {"success": "{kind: score, better: lower, range: [0, 4], step: 1}"}
    plan = small({"e": effect("plus", "minus", "boot")}, metrics=metrics, families="[x, z]", seeds=SEEDS)
    cells = told(plan, teller(table))
    worst, best, bad = (estimate(cells, "e", "success", rule=rule).estimate for rule in ("worst", "best", "failure"))  # type: ignore[arg-type]
    if all(isinstance(each, Estimated) for each in (worst, best, bad)):
        value = [each.fields["estimate"] for each in (worst, best)]  # type: ignore[union-attr]
        assert value[0] <= value[1]
    if not any(value in (MISSING, EXCLUDED, None) for value in table.values()):
        assert worst == best == bad


@pytest.mark.parametrize("method", METHODS_OF_PAIRS)
@settings(max_examples=8, deadline=None)
@given(table=tables(values), more=st.lists(values, min_size=2 * SEEDS, max_size=2 * SEEDS))
def test_a_family_outside_the_population_changes_nothing(method: str, table, more) -> None:  # type: ignore[no-untyped-def]
    populations = "{all: {family: [x, z]}}"
    plan = small({"e": effect("plus", "minus", method)}, families="[x, z]", seeds=SEEDS, populations=populations)
    wider = small(
        {"e": effect("plus", "minus", method)}, families="[x, outside, z]", seeds=SEEDS, populations=populations
    )

    def outcome(slot: Slot) -> Outcome:
        if slot["family"] != "outside":
            return teller(table)(slot)
        value = more[int(slot["seed"]) + SEEDS * (slot["arm"] == "plus")]
        return value if isinstance(value, str) else {"success": value}

    one = estimate(told(plan, teller(table)), "e", "success", rule="complete_pairs")
    other = estimate(told(wider, outcome), "e", "success", rule="complete_pairs")
    assert shape(one) == shape(other)
