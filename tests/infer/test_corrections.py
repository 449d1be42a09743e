"""Families of tests through the engine: gates that close, members without a p-value, tests that do not apply."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sealkit.infer import intervals
from sealkit.infer.shapes import Rows
from sealkit.infer.stats.results import NotEstimable
from sealkit.wire.errors import UsageError
from tests.infer.told import MISSING, PAIRED, Teller, analysed, by_arm, found_in, pairs_of, small

ARMS = ("a", "b", "c", "d")
EFFECTS = {f"e{one}": f"{{contrast: {one} - d, join: [family, seed], population: all, method: tango}}" for one in "abc"}
HYPOTHESES = {f"h{one}": ("success", f"e{one}.p_adjusted <= 0.05") for one in "abc"}
BASE = [0] * 20


def effects(plan: Any, outcome: Teller) -> dict[str, Any]:
    record: Any = analysed(plan, outcome).record
    return {row["effect"]: row for row in record["effects"]} | {row["hypothesis"]: row for row in record["verdicts"]}


def gated(families: str, outcome: Teller) -> dict[str, Any]:
    kind = "{kind: gatekeeping, test: mcnemar_exact, alpha: 0.05, families: %s}"
    return effects(small(EFFECTS, arms=ARMS, seeds=20, multiplicity=kind % families, hypotheses=HYPOTHESES), outcome)


def member(one: str) -> str:
    return f"{{effect: e{one}, metric: success}}"


def ahead(**by: int) -> Teller:
    """So many of 20 pairs in which each arm alone succeeds."""
    return by_arm(**{arm: [1] * by.get(arm, 0) + BASE[by.get(arm, 0) :] for arm in ARMS})


SERIAL = f"[[{member('a')}], [{member('b')}, {member('c')}]]"


def test_an_open_gate_lets_the_next_family_be_tested() -> None:
    found = gated(SERIAL, ahead(a=10, b=10, c=9))
    assert [found[f"h{one}"]["verdict"] for one in "abc"] == ["supported"] * 3
    assert Decimal(found["ec"]["p_adjusted"]) == Decimal(2) / 2**9 * 2 / 2  # the larger of two: Holm leaves it at p


def test_a_closed_gate_closes_everything_behind_it() -> None:
    found = gated(SERIAL, ahead(a=4, b=12, c=12))
    assert [found[f"h{one}"]["verdict"] for one in "abc"] == ["not_shown"] * 3
    assert found["eb"]["p_adjusted"] == found["ea"]["p_adjusted"] == "0.125000000000"
    assert Decimal(found["eb"]["p"]) < Decimal("0.001")


@pytest.mark.parametrize("kind", ["holm", "benjamini_hochberg"])
def test_a_member_without_a_p_value_keeps_its_place(kind: str) -> None:
    """Without it 2 × 2/2^7 would be below 0.05; with it 3 × 2/2^7 under Holm, and 3/2 × 2/2^7 under BH."""
    members = ", ".join(member(one) for one in "abc")
    correction = f"{{kind: {kind}, test: mcnemar_exact, members: [{members}]}}"
    plan = small(EFFECTS, arms=ARMS, seeds=20, multiplicity=correction, hypotheses=HYPOTHESES)
    found = effects(plan, by_arm(a=[1] * 7 + BASE[7:], b=[1] * 7 + BASE[7:], c=[MISSING] * 20, d=BASE))
    factor = {"holm": Decimal(3), "benjamini_hochberg": Decimal("1.5")}[kind]
    assert Decimal(found["ea"]["p_adjusted"]) == factor * 2 / 2**7
    assert found["ec"]["not_estimable"] == "0 of 20 pairs have a value"
    assert found["hc"]["verdict"] == "not_estimable"
    assert found["ha"]["verdict"] == "supported"


def test_a_gate_without_a_p_value_stays_closed() -> None:
    outcome = by_arm(a=[MISSING] * 20, b=[1] * 12 + BASE[12:], c=[1] * 12 + BASE[12:], d=BASE)
    found = gated(SERIAL, outcome)
    assert [found[f"h{one}"]["verdict"] for one in "abc"] == ["not_estimable", "not_shown", "not_shown"]
    assert found["eb"]["p_adjusted"] == "1.000000000000"


MCNEMAR = "{kind: holm, test: mcnemar_exact, members: [{effect: e, metric: success}, {effect: f, metric: success}]}"


@pytest.mark.parametrize(
    ("more", "has"),
    [(", cluster: [family]}", "clusters"), (", strata: {by: family, weights: {x: 0.9, z: 0.1}}}", "strata")],
)
def test_mcnemar_on_pairs_that_hang_together_is_refused_before_the_seal(more: str, has: str) -> None:
    rules = {"h": ("success", "e.p_adjusted <= 0.05"), "i": ("success", "f.p_adjusted <= 0.05")}
    hanging = {"e": PAIRED[:-1] % "boot" + more, "f": PAIRED % "tango"}
    says = f"mcnemar_exact takes every pair to be independent and alike, and e has {has}; write sign_flip"
    with pytest.raises(UsageError, match=says):
        small(hanging, families="[x, z]", multiplicity=MCNEMAR, hypotheses=rules)
    # Were such a plan ruled on all the same, the engine gives no p-value.
    found = found_in(small({"e": hanging["e"]}, families="[x, z]"), pairs_of(10, 9, 0))
    assert isinstance(found.data, Rows)
    assert intervals.tested(found.data, "mcnemar_exact") == NotEstimable(
        "mcnemar_exact knows no clusters and no strata"
    )


def test_a_sign_flip_flips_clusters_whole_and_weighs_strata() -> None:
    reported = "[{test: sign_flip, effects: [e, f, g], metrics: [success]}]"
    effects_ = {
        "e": PAIRED % "boot",
        "f": PAIRED[:-1] % "boot" + ", cluster: [family]}",
        "g": PAIRED[:-1] % "boot" + ", strata: {by: family, weights: {x: 0.9, z: 0.1}}}",
    }
    plan = small(effects_, families="[x, z]", seeds=3, reported=reported)

    def outcome(slot: Any) -> Any:
        good = slot["arm"] == "plus" and (slot["family"] == "x" or slot["seed"] == 0)
        return {"success": int(good)}

    record: Any = analysed(plan, outcome).record
    p = {row["effect"]: Decimal(row["p"]) for row in record["reported"]}
    assert p["e"] == Decimal(2) / 2**4  # four pairs differ, all one way
    assert p["f"] == Decimal(1) / 2  # two clusters, both one way
    assert p["g"] == Decimal(2) / 2**4


def test_a_test_under_the_worst_case_is_corrected_over_the_worst_case() -> None:
    members = ", ".join(member(one) for one in "ab")
    two = {name: text for name, text in EFFECTS.items() if name != "ec"}
    plan = small(
        two, arms=("a", "b", "d"), seeds=20,
        multiplicity=f"{{kind: holm, test: mcnemar_exact, members: [{members}]}}",
        hypotheses={name: rule for name, rule in HYPOTHESES.items() if name != "hc"},
    )  # fmt: skip
    outcome = by_arm(a=[1] * 8 + [0] * 10 + [MISSING] * 2, b=[1] * 7 + BASE[7:], d=[0] * 17 + [1] * 3)
    found = effects(plan, outcome)
    assert found["ea"]["bounds"]["worst"]["c"] == 3
    assert found["ea"]["bounds"]["worst"]["p_adjusted"] != found["ea"]["p_adjusted"]
    assert found["eb"]["bounds"] is None
