"""Published numbers, pushed through a whole plan: cells in, the record's numbers out. The source stands at each."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sealkit.plan.slots import Slot
from tests.infer.told import PAIRED, Outcome, analysed, by_arm, numbers_in, pairs_of, small

# Newcombe, Stat Med 1998, 17:857, table I, methods 3 (score) and 5 (exact), x of n.
PROPORTIONS = [
    (81, 263, "wilson", "0.2553", "0.3662"),
    (15, 148, "wilson", "0.0624", "0.1605"),
    (0, 20, "wilson", "0.0000", "0.1611"),
    (1, 29, "wilson", "0.0061", "0.1718"),
    (81, 263, "clopper", "0.2527", "0.3676"),
    (15, 148, "clopper", "0.0578", "0.1617"),
    (0, 20, "clopper", "0.0000", "0.1684"),
    (1, 29, "clopper", "0.0009", "0.1776"),
]


def rounded(number: Decimal | int, places: int = 4) -> Decimal:
    return round(Decimal(number), places)


@pytest.mark.parametrize(("x", "n", "method", "lower", "upper"), PROPORTIONS)
def test_one_proportion(x: int, n: int, method: str, lower: str, upper: str) -> None:
    plan = small({"e": f"{{of: {{arm: plus}}, population: all, method: {method}}}"}, seeds=n)
    found = numbers_in(plan, by_arm(plus=[1] * x + [0] * (n - x), minus=[0] * n))
    assert (found["x"], found["n"]) == (x, n)
    assert (rounded(found["lower"]), rounded(found["upper"])) == (Decimal(lower), Decimal(upper))


# Fagerland, Lydersen and Laake, Stat Med 2014, 33:2850: airway hyper-responsiveness before and after stem cell
# transplantation (Bentur and others, 2009), 21 pairs; complete response (Cavo and others, 2012), 161 pairs.
PAIRS = [
    (21, 1, 7, 1, "tango", 3, "-0.517", "-0.026"),
    (21, 1, 7, 1, "newcombe", 3, "-0.507", "-0.026"),
    (161, 6, 16, 59, "tango", 4, "-0.1240", "-0.0054"),
    (161, 6, 16, 59, "newcombe", 4, "-0.1186", "-0.0046"),
]


@pytest.mark.parametrize(("n", "b", "c", "both", "method", "places", "lower", "upper"), PAIRS)
@pytest.mark.parametrize("better", ["higher", "lower"])
def test_paired_difference(
    n: int, b: int, c: int, both: int, method: str, places: int, lower: str, upper: str, better: str
) -> None:
    plan = small({"e": PAIRED % method}, seeds=n, metrics={"success": f"{{kind: binary, better: {better}}}"})
    found = numbers_in(plan, pairs_of(n, b, c, both))
    limits = [rounded(found["lower"], places), rounded(found["upper"], places)]
    if better == "higher":
        assert (found["b"], found["c"]) == (b, c)
        assert limits == [Decimal(lower), Decimal(upper)]
    else:  # the published value turned around, since what is lower is now what is predicted
        assert (found["b"], found["c"]) == (c, b)
        assert limits == [-Decimal(upper), -Decimal(lower)]


@pytest.mark.parametrize(("test", "p"), [("mcnemar_exact", "0.0703"), ("mcnemar_midp", "0.0391")])
def test_mcnemar_of_airways(test: str, p: str) -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=21, reported=f"[{{test: {test}, effects: [e], metrics: [success]}}]")
    (row,) = analysed(plan, pairs_of(21, 1, 7, 1)).record["reported"]  # type: ignore[misc]
    assert (row["n"], row["b"], row["c"], rounded(Decimal(row["p"]))) == (21, 1, 7, Decimal(p))


def test_noninferiority_of_contact_lenses() -> None:
    """Tango, Stat Med 1998, 17:891, section 6.1: lower 90 % limit -0.096, one-sided p 0.044, margin 0.1."""
    effect = PAIRED % "tango90"
    margin = "{kind: noninferiority, value: 0.1, why: as published}"
    plan = small(
        {"e": effect.replace("}", f", margin: {margin}}}")},
        seeds=44,
        hypotheses={"h": ("success", "e.lower > -e.margin")},
    )
    outcome = by_arm(plus=[1] * 43 + [0], minus=[1] * 44)
    analysis = analysed(plan, outcome)
    (row,) = analysis.record["effects"]  # type: ignore[misc]
    assert rounded(Decimal(row["lower"]), 3) == Decimal("-0.096")
    assert rounded(Decimal(row["margin_test"]["p"]), 3) == Decimal("0.044")
    assert analysis.verdicts[0].verdict == "supported"


def test_sign_flips_of_darwins_maize() -> None:
    """Fisher, The Design of Experiments, 1935, section 21: 15 pairs in eighths of an inch; p = 1726 of 32768."""
    differences = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    plan = small(
        {"e": PAIRED % "law"},
        seeds=15,
        metrics={"success": "{kind: count, better: higher}"},
        reported="[{test: sign_flip, effects: [e], metrics: [success]}]",
    )
    outcome = by_arm(plus=[100 + one for one in differences], minus=[100] * 15)
    (row,) = analysed(plan, outcome).record["reported"]  # type: ignore[misc]
    assert row["p"] == "0.052673339844"  # 1726/32768
    assert (row["b"], row["c"]) == (13, 2)


def test_the_exact_interval_at_n_of_n_has_a_closed_form() -> None:
    """If only n of n lies as far out, its largest chance at D is ((1 + D)/2)^n, and that is 0.025 at the limit."""
    plan = small({"e": PAIRED % "exact"}, seeds=10)
    found = numbers_in(plan, pairs_of(10, 10, 0))
    assert float(found["lower"]) == pytest.approx(2 * 0.025 ** (1 / 10) - 1, abs=1e-9)
    assert found["upper"] == 1


def test_pass_at_k_is_the_unbiased_estimator() -> None:
    """Chen and others, 2021, equation 1: 1 - C(n-c, k)/C(n, k). Of 5 tries 2 succeed: 1 - 3/10 at k = 2."""
    plan = small(
        {"e": "{of: {arm: plus}, population: all, method: mean}"},
        seeds=2,
        repetitions=5,
        metrics={"success": "{kind: binary, better: higher, repetitions: {kind: pass_at_k, k: 2}}"},
    )

    def outcome(slot: Slot) -> Outcome:
        return {"success": int(int(slot["repetition"]) < 2)}

    assert numbers_in(plan, outcome)["estimate"] == Decimal("0.7")


def test_holm_and_benjamini_hochberg_by_hand() -> None:
    """p-values of 5/0, 6/1 and 2/2 discordant pairs: 0.0625, 0.125 and 1."""
    arms = ("a", "b", "c", "d")
    effects = {
        f"e{one}": f"{{contrast: {one} - d, join: [family, seed], population: all, method: tango}}" for one in "abc"
    }
    members = ", ".join(f"{{effect: e{one}, metric: success}}" for one in "abc")
    outcome = by_arm(
        a=[1] * 5 + [0] * 9 + [1] * 6, b=[1] * 6 + [0] * 8 + [1] * 5 + [0], c=[1] * 2 + [0] * 12 + [1] * 4 + [0] * 2,
        d=[0] * 14 + [1] * 6,
    )  # fmt: skip
    wanted = {
        "holm": ["0.1875", "0.25", "1"],  # 3 × 1/16, 2 × 1/8, 1 × 1
        "benjamini_hochberg": ["0.1875", "0.1875", "1"],  # 3 × 1/16, 3/2 × 1/8, 1 × 1
    }
    for kind, adjusted in wanted.items():
        plan = small(
            effects,
            arms=arms,
            seeds=20,
            multiplicity=f"{{kind: {kind}, test: mcnemar_exact, members: [{members}]}}",
            hypotheses={f"h{one}": ("success", f"e{one}.p_adjusted <= 0.05") for one in "abc"},
        )
        rows = {row["effect"]: row for row in analysed(plan, outcome).record["effects"]}  # type: ignore[index,union-attr]
        assert [Decimal(rows[f"e{one}"]["p"]) for one in "abc"] == [Decimal("0.0625"), Decimal("0.125"), 1]
        assert [Decimal(rows[f"e{one}"]["p_adjusted"]) for one in "abc"] == [Decimal(p) for p in adjusted]
