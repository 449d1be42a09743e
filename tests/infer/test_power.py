"""The chance of each verdict: against closed forms, enumeration by other means, and one way against the other."""

from __future__ import annotations

from decimal import Decimal
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from sealkit.infer import power as power_module
from sealkit.infer.assumed import PairRates, Spread, assumptions, parse_assumption
from sealkit.infer.drawing import drawings, planned
from sealkit.infer.power import Power, power
from sealkit.infer.stats.paired import PairedCounts, tango
from sealkit.plan.load import Plan
from sealkit.wire.errors import UsageError
from tests.infer.told import METHODS, PAIRED, ROOT, house, plan_of, small

LEVEL = Decimal("0.95")
SINGLE = "{of: {arm: plus}, population: all, method: %s}"


def powers(plan: Plan, *statements: str, simulations: int = 400, seed: int = 1) -> tuple[Power, ...]:
    assumed = assumptions(plan.spec, map(parse_assumption, statements))
    return tuple(power(plan.spec, assumed, simulations=simulations, seed=seed, step=lambda count: None))


def chances(found: Power) -> dict[str, float]:
    return {chance.verdict: float(chance.chance) for chance in found.chances}


# --- exact: closed forms -------------------------------------------------------------------------


@pytest.mark.parametrize("k", [3, 8, 10])
@pytest.mark.parametrize("x", ["0", "0.35", "0.8", "1"])
def test_a_rule_on_one_arm_has_a_binomial_chance(k: int, x: str) -> None:
    plan = small({"e": SINGLE % "wilson"}, hypotheses={"H": ("success", f"e.x >= {k}")})
    (found,) = powers(plan, f"e=x:{x}")
    assert found.way == "exact"
    assert chances(found)["supported"] == pytest.approx(binom.sf(k - 1, 10, float(x)), abs=1e-12)
    assert sum(chance.chance for chance in found.chances) == 1


def test_a_rule_on_signs_has_a_trinomial_chance() -> None:
    """b of n pairs for and c against: n! / (b! c! (n-b-c)!) p^b q^c (1-p-q)^(n-b-c), summed where b > c."""
    n, p, q = 10, 0.3, 0.1
    due = sum(
        comb(n, b) * comb(n - b, c) * p**b * q**c * (1 - p - q) ** (n - b - c)
        for b in range(n + 1)
        for c in range(n - b + 1)
        if b > c
    )
    plan = small({"e": PAIRED % "tango"}, hypotheses={"H": ("success", "e.b > e.c")})
    (found,) = powers(plan, "e=b:0.3,c:0.1")
    assert found.way == "exact"
    assert chances(found) == {
        "supported": pytest.approx(due, abs=1e-12),
        "not_shown": pytest.approx(1 - due, abs=1e-12),
    }


@pytest.mark.parametrize("method", ["tango", "boot", "law", "exact"])
def test_the_plans_own_interval_rules(method: str) -> None:
    """Other methods, other limits: their chances differ, and Tango's is that of its own score."""
    plan = small({"e": PAIRED % method}, seeds=6)
    (found,) = powers(plan, "e=b:0.5,c:0.1")
    assert found.way == "exact"
    due = 0.0
    for b in range(7):
        for c in range(7 - b):
            interval = tango(PairedCounts(6, b, c), level=LEVEL)
            if interval.lower > 0:  # type: ignore[union-attr]
                due += comb(6, b) * comb(6 - b, c) * 0.5**b * 0.1**c * 0.4 ** (6 - b - c)
    if method == "tango":
        assert chances(found)["supported"] == pytest.approx(due, abs=1e-12)
    else:
        assert 0 < chances(found)["supported"] < 1


def test_a_metric_that_is_better_low_is_turned_round() -> None:
    low = small({"e": PAIRED % "tango"}, metrics={"success": "{kind: binary, better: lower}"})
    high = small({"e": PAIRED % "tango"})
    assert [chances(one) for one in powers(low, "e=b:0.4,c:0.1")] == [
        chances(one) for one in powers(high, "e=b:0.4,c:0.1")
    ]
    single = small({"e": SINGLE % "wilson"}, metrics={"success": "{kind: binary, better: lower}"},
                   hypotheses={"H": ("success", "e.x >= 9")})  # fmt: skip
    (found,) = powers(single, "e=x:0.9")
    assert chances(found)["supported"] == pytest.approx(binom.sf(8, 10, 0.9), abs=1e-12)


def test_effects_on_other_episodes_are_multiplied() -> None:
    effects = {
        "one": "{of: {arm: plus}, population: x, method: wilson}",
        "two": "{of: {arm: plus}, population: z, method: wilson}",
    }
    plan = small(effects, families="[x, z]", populations="{x: {family: [x]}, z: {family: [z]}}",
                 hypotheses={"H": ("success", "one.x >= 8 && two.x >= 5")})  # fmt: skip
    (found,) = powers(plan, "one=x:0.8", "two=x:0.5")
    assert found.way == "exact"
    assert chances(found)["supported"] == pytest.approx(binom.sf(7, 10, 0.8) * binom.sf(4, 10, 0.5), abs=1e-12)


# --- simulated: against what is known ------------------------------------------------------------


def inside(found: Power, verdict: str, due: float) -> bool:
    """Whether the Monte Carlo interval holds the true chance, with room for one seed."""
    (chance,) = (one for one in found.chances if one.verdict == verdict)
    assert chance.lower is not None and chance.upper is not None
    width = chance.upper - chance.lower
    return float(chance.lower - width) <= due <= float(chance.upper + width)


@pytest.mark.parametrize("statement", ["e=b:0.4,c:0.1", "e=b:0.4,c:0.1,both:0.2"])
def test_both_ways_agree(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = small({"e": PAIRED % "tango"})
    (exact,) = powers(plan, statement)
    monkeypatch.setattr(power_module, "MOST_STATES", 0)
    (drawn,) = powers(plan, statement, simulations=4000)
    assert (exact.way, drawn.way) == ("exact", "simulated")
    assert inside(drawn, "supported", chances(exact)["supported"])


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    plan = small({"e": PAIRED % "boot"}, metrics={"steps": "{kind: count, better: lower}"})
    one, same, other = (powers(plan, "e=mean:0.5,sd:1", seed=seed, simulations=150) for seed in (5, 5, 8))
    assert one == same
    assert one != other
    assert one[0].way == "simulated"


def test_a_mean_difference_of_nothing_is_rarely_shown_and_a_large_one_always() -> None:
    plan = small({"e": PAIRED % "boot"}, metrics={"steps": "{kind: count, better: lower}"}, seeds=20)
    (nothing,), (much,) = (powers(plan, f"e=mean:{mean},sd:1", simulations=100) for mean in (0, 3))
    assert chances(nothing)["supported"] < 0.1
    assert chances(much)["supported"] == 1


def chained(d_c: str = "b:0.3,c:0.1,both:0.3", c_a: str = "b:0.2,c:0.1") -> tuple[Plan, tuple[str, str]]:
    effects = {
        "dc": "{contrast: D - C, join: [family, seed], population: all, method: tango}",
        "ca": "{contrast: C - A, join: [family, seed], population: all, method: tango}",
    }
    plan = small(effects, arms=("A", "C", "D"), hypotheses={"H": ("success", "dc.b > dc.c && ca.b > ca.c")})
    return plan, (f"dc={d_c}", f"ca={c_a}")


def test_arms_that_two_effects_share_are_drawn_once() -> None:
    """D - C and C - A over one cell: P(d, c, a) = P(c) P(d | c) P(a | c), enumerated over ten cells by convolution."""
    plan, statements = chained()
    (found,) = powers(plan, *statements, simulations=4000)
    assert found.way == "simulated"
    cells: dict[tuple[int, int], float] = {}
    given_d = {1: (0.3 / 0.4, 0.1 / 0.4), 0: (0.3 / 0.6, 0.3 / 0.6)}  # both and c of the rate 0.4; b and neither of 0.6
    given_a = {1: (0.2 / 0.4, 0.2 / 0.4), 0: (0.1 / 0.6, 0.5 / 0.6)}
    for c, rate in ((1, 0.4), (0, 0.6)):
        for d in (0, 1):
            for a in (0, 1):
                p = rate * given_d[c][1 - d] * given_a[c][1 - a]
                cells[d - c, c - a] = cells.get((d - c, c - a), 0) + p
    assert sum(cells.values()) == pytest.approx(1)
    sums = {(0, 0): 1.0}
    for _ in range(10):
        after: dict[tuple[int, int], float] = {}
        for (x, y), weight in sums.items():
            for (dx, dy), p in cells.items():
                after[x + dx, y + dy] = after.get((x + dx, y + dy), 0) + weight * p
        sums = after
    due = sum(weight for (x, y), weight in sums.items() if x > 0 and y > 0)
    apart = sum(w for (x, _), w in sums.items() if x > 0) * sum(w for (_, y), w in sums.items() if y > 0)
    assert inside(found, "supported", due)
    # The shared arm matters: what one effect gains, the other loses.
    assert abs(chances(found)["supported"] - due) < abs(apart - due) / 2


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.integers(0, 2**16))
def test_pairs_are_drawn_with_the_rates_that_were_supposed(b: int, c: int, both: int, seed: int) -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=400)
    rates = PairRates(b=Decimal(b) / 12, c=Decimal(c) / 12, both=Decimal(both) / 12, units=1)
    (drawing,) = drawings(plan.spec, [planned(plan.spec, ("e", "success"), 1)], {("e", "success"): rates})
    plus, minus = drawing.draw(np.random.default_rng(seed), 20)["e", "success"]
    assert minus is not None and plus.shape == minus.shape == (400, 20)
    for found, due in (((plus > minus), b), ((plus < minus), c), ((plus & minus) == 1, both)):
        assert abs(np.mean(found) - due / 12) < 0.04


def test_differences_of_one_shared_arm_correlate_by_minus_a_half() -> None:
    metric = {"steps": "{kind: count, better: lower}"}
    effects = {name: f"{{contrast: {arms}, join: [family, seed], population: all, method: boot}}"
               for name, arms in (("dc", "D - C"), ("ca", "C - A"))}  # fmt: skip
    plan = small(
        effects,
        arms=("A", "C", "D"),
        metrics=metric,
        seeds=200,
        hypotheses={"H": ("steps", "dc.lower > 0 && ca.lower > 0")},
    )
    pairs = [("dc", "steps"), ("ca", "steps")]
    spread = {pair: Spread(mean=Decimal("0.5"), sd=Decimal(3), units=1) for pair in pairs}
    (drawing,) = drawings(plan.spec, [planned(plan.spec, pair, 1) for pair in pairs], spread)
    found = drawing.draw(np.random.default_rng(3), 50)
    differences = []
    for pair in pairs:
        plus, minus = found[pair]
        assert minus is not None and min(plus.min(), minus.min()) == 0
        differences.append((minus - plus).ravel())  # lower is better: above 0 is what was predicted
    assert [np.mean(one) for one in differences] == pytest.approx([0.5, 0.5], abs=0.1)
    assert [np.std(one) for one in differences] == pytest.approx([3, 3], abs=0.1)
    assert np.corrcoef(differences)[0, 1] == pytest.approx(-0.5, abs=0.03)


@pytest.mark.parametrize(
    ("metric", "mean", "sd"),
    [("{kind: count, better: lower}", "2.3", "1.5"), ("{kind: score, better: higher, range: [0, 10], step: 0.5}", "4.2", "1"),
     ("{kind: count, better: lower}", "0.4", "0"), ("{kind: count, better: lower}", "0", "0")],
)  # fmt: skip
def test_values_of_one_arm_keep_their_mean(metric: str, mean: str, sd: str) -> None:
    plan = small({"e": SINGLE % "mean"}, metrics={"m": metric}, seeds=400)
    pair = ("e", "m")
    part = planned(plan.spec, pair, 1)
    (drawing,) = drawings(plan.spec, [part], {pair: Spread(mean=Decimal(mean), sd=Decimal(sd), units=1)})
    values, minus = drawing.draw(np.random.default_rng(1), 25)[pair]
    assert minus is None and values.min() >= 0
    assert np.mean(values) * float(part.rows.scale) == pytest.approx(float(mean), abs=0.05)


# --- the sealed plan itself ----------------------------------------------------------------------


def test_every_question_of_v1_has_its_power() -> None:
    statements = (
        "dc.success=b:0.25,c:0.10,both:0.3", "ca.success=b:0.20,c:0.10", "gains.success=b:0.3,c:0.1",
        "noise.success=b:0.1,c:0.1", "dc=mean:0.4,sd:1.2", "ca=mean:0.4,sd:1.2", "diag=b:0.3,c:0.1,units:2",
    )  # fmt: skip
    few = house(("resamples: 10000", "resamples: 200"))
    found = powers(few, *statements, simulations=10)
    assert [(one.hypothesis, one.metric, one.way) for one in found] == [
        ("H1", "success", "simulated"), ("H1", "avoidable_stale", "simulated"), ("H2", None, "not supposed"),
        ("H3", "success", "exact"), ("H3", "avoidable_stale", "not supposed"),
    ]  # fmt: skip
    assert found[2].lacking == (("task", "success"),)
    for one in found:
        assert not one.chances or sum(chance.chance for chance in one.chances) == pytest.approx(1, abs=1e-9)


def test_corrected_p_values_and_differences_are_ruled_on() -> None:
    family = (
        "{kind: holm, test: mcnemar_exact, members: [{effect: dc, metric: success}, {effect: ca, metric: success}]}"
    )
    effects = {name: f"{{contrast: {arms}, join: [family, seed], population: all, method: boot}}"
               for name, arms in (("dc", "D - C"), ("ca", "C - A"))}  # fmt: skip
    effects["more"] = "{difference: dc - ca, method: boot}"
    rules = {"H": ("success", "dc.p_adjusted < 0.05 && ca.p_adjusted == 1"), "K": ("success", "more.lower > 0")}
    plan = small(effects, arms=("A", "C", "D"), multiplicity=family, hypotheses=rules, seeds=20)
    corrected, difference = powers(plan, "dc=b:0.9,c:0,both:0", "ca=b:0,c:0", simulations=100)
    assert (corrected.way, difference.way) == ("simulated", "simulated")
    assert chances(corrected)["supported"] == 1  # 14 or more of 14 discordant pairs, doubled by Holm
    assert chances(difference)["supported"] == 1


def test_a_design_that_cannot_be_estimated_says_so() -> None:
    plan = small({"e": PAIRED % "boot"}, seeds=1)
    (found,) = powers(plan, "e=b:0.5,c:0.1")
    assert chances(found) == {"supported": 0, "not_shown": 0, "not_estimable": 1}


# --- what cannot be supposed ---------------------------------------------------------------------


def refusal(plan: Plan, *statements: str) -> str:
    with pytest.raises(UsageError) as caught:
        powers(plan, *statements)
    return str(caught.value)


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (["e"], "found no statement"),
        (["e=b"], "found no statement"),
        (["e=b:0.2,c:x"], "found no statement"),
        (["e=b:0.2,b:0.1"], "b is said twice"),
        (["e=b:0.2,c:0.1", "e.success=b:0.1,c:0.1"], "supposed twice"),
        (["f=b:0.2,c:0.1"], "no rule of the plan reads f"),
        (["e.steps=b:0.2,c:0.1"], "no rule of the plan reads e on steps"),
        (["e=x:0.2"], "takes b and c"),
        (["e=b:0.2"], "takes b and c"),
        (["e=b:0.6,c:0.6"], "at most 1 together"),
        (["e=b:-0.1,c:0.6"], "0 or more each"),
        (["e=b:0.5,c:0.2,both:0.4"], "at most 1 together"),
        (["e=b:0.5,c:0.2,units:2"], "takes b and c"),
    ],
)
def test_what_does_not_fit_the_plan_is_refused(statements: list[str], says: str) -> None:
    message = refusal(small({"e": PAIRED % "tango"}), *statements)
    assert says in message and message.startswith("--assume")


def test_numbers_that_no_metric_has_are_refused() -> None:
    plan = small({"e": SINGLE % "mean"}, metrics={"steps": "{kind: count, better: lower}"})
    assert "0 or more" in refusal(plan, "e=mean:1,sd:-1")
    assert "values of steps lie between 0 and Infinity" in refusal(plan, "e=mean:-1,sd:1")


@pytest.mark.parametrize(
    ("d_c", "c_a", "says"),
    [
        ("b:0.3,c:0.1", "b:0.2,c:0.1", "say for one of them in how many pairs both sides have it"),
        ("b:0.3,c:0.1,both:0.3", "b:0.2,c:0.1,both:0.3", "these statements cannot hold together"),  # C: 0.4, and 0.5
        ("b:0.3,c:0.1,both:0.3", "b:0.5,c:0.1", "these statements cannot hold together"),  # C has it in 0.4 only
        ("b:0.3,c:0.1,both:0.6", "b:0.1,c:0.5", "these statements cannot hold together"),  # C lacks it in 0.3 only
    ],
)
def test_statements_about_a_shared_arm_must_go_together(d_c: str, c_a: str, says: str) -> None:
    plan, statements = chained(d_c, c_a)
    assert says in refusal(plan, *statements)


def test_an_effect_that_follows_from_others_cannot_be_supposed_apart() -> None:
    def effect(arms: str) -> str:
        return f"{{contrast: {arms}, join: [family, seed], population: all, method: tango}}"

    effects = {"dc": effect("D - C"), "ca": effect("C - A"), "da": effect("D - A")}
    rule = {"H": ("success", "dc.lower > 0 && ca.lower > 0 && da.lower > 0")}
    plan = small(effects, arms=("A", "C", "D"), hypotheses=rule)
    every = [f"{name}=b:0.2,c:0.1,both:0.3" for name in effects]
    assert "one follows from the others" in refusal(plan, *every)


def test_an_arm_alone_and_compared_has_one_rate() -> None:
    effects = {"one": SINGLE % "wilson", "e": PAIRED % "tango"}
    plan = small(effects, hypotheses={"H": ("success", "one.x >= 5 && e.lower > 0")})
    assert "these statements cannot hold together" in refusal(plan, "one=x:0.5", "e=b:0.3,c:0.1,both:0.1")
    (found,) = powers(plan, "one=x:0.5", "e=b:0.3,c:0.1")
    assert found.way == "simulated"
    counts = {"one": SINGLE % "mean", "e": PAIRED % "boot"}
    steps = small(
        counts,
        metrics={"steps": "{kind: count, better: lower}"},
        hypotheses={"H": ("steps", "one.lower > 0 && e.lower > 0")},
    )
    assert "rest on the same episodes" in refusal(steps, "one=mean:1,sd:1", "e=mean:1,sd:1")


def test_a_ratio_is_not_drawn() -> None:
    metrics = {"a": "{kind: count, better: lower}", "b": "{kind: count, better: lower}",
               "r": "{kind: ratio, of: a, over: b, better: lower}"}  # fmt: skip
    plan = small({"e": (PAIRED % "boot")[:-1] + ", metric: r}"}, metrics=metrics)
    assert "nothing: it is a ratio" in refusal(plan, "e=mean:1,sd:1")
    (found,) = powers(plan)
    assert found.way == "not supposed"


def test_every_method_of_a_plan_has_a_bound_for_enumeration() -> None:
    kinds = {text.split("kind: ")[1].split(",")[0].rstrip("}") for text in METHODS.values()}
    assert kinds - {"newcombe_10"} == power_module.MOST_ROWS.keys()  # Newcombe reads agreement too: it is drawn


def test_newcombes_method_is_drawn() -> None:
    (found,) = powers(small({"e": PAIRED % "newcombe"}), "e=b:0.4,c:0.1,both:0.2", simulations=100)
    assert found.way == "simulated"


def test_the_plan_of_the_dry_run_is_certain_where_its_agents_are() -> None:
    text = (ROOT / "plans/dry-run.yaml").read_text()
    (first, *_rest) = powers(plan_of(text), "oracle=x:1", "oracle_stale=mean:0,sd:0", simulations=100)
    assert chances(first) == {"supported": 1, "contradicted": 0, "not_shown": 0}
