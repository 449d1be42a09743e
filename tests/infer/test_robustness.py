"""How much a verdict owes to the seed and to the method: said beside it, changing nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sealkit.cli.analyse import caveats
from sealkit.infer import robustness
from sealkit.publish.pages.parts import verdict_lines
from tests.infer.told import METHODS, PAIRED, Teller, analysed, by_arm, pairs_of, small

BOOT = {"boot10": "{kind: paired_bootstrap_percentile, level: 0.95, resamples: 10000, seed: %d}"}


def rows(plan: Any, outcome: Teller) -> tuple[dict[str, Any], dict[str, Any]]:
    record: Any = analysed(plan, outcome).record
    return record["effects"][0], record["verdicts"][0]


def seeded(seed: int, rule: str = "e.lower >= 0") -> Any:
    METHODS["boot10"] = BOOT["boot10"] % seed
    try:
        return small({"e": PAIRED % "boot10"}, seeds=32, hypotheses={"h": ("success", rule)})
    finally:
        del METHODS["boot10"]


def test_9_3_32_the_seed_decides_and_it_is_said() -> None:
    """(b, c, n) = (9, 3, 32), 10,000 resamples: lower limit 0 in 44 of 60 seeds and -1/32 in 16."""
    row, verdict = rows(seeded(0), pairs_of(32, 9, 3))
    assert (row["n"], row["b"], row["c"]) == (32, 9, 3)
    assert row["lower"] == "-0.031250000000"  # this is what seed 0 draws, and seed 0 is what the plan says
    assert row["robustness"] == {
        "seeds": {"tried": 60, "same_lower": 16, "same_upper": 47, "same_limits": 11},
        "exact_law": {"lower": "0.000000000000", "upper": "0.375000000000"},
        "tango": {"lower": "-0.027090464504", "upper": "0.389697487139"},
    }
    assert verdict["verdict"] == "not_shown"
    assert verdict["robustness"] == {
        "seeds_tried": 60, "seeds_same": 16, "seed_decides": True, "seeds_untried": None, "exact_law": "supported", "tango": "not_shown",
    }  # fmt: skip


def test_9_3_32_is_told_to_the_one_who_types_analyse() -> None:
    assert list(caveats(analysed(seeded(0), pairs_of(32, 9, 3)))) == [
        "h: the bootstrap's seed decides: 16 of 60 seeds say not_shown",
        "h: the exact bootstrap law says supported",
        "h: Tango's interval says not_shown",
    ]


def test_an_interval_without_width_is_told_in_the_words_of_the_page() -> None:
    told = list(caveats(analysed(small({"e": PAIRED % "boot"}), pairs_of(10, 0, 0, 4))))
    assert told[-1] == "Beware, e on success: the interval has no width."


def test_9_3_32_under_another_seed_the_ruling_is_the_other_one() -> None:
    row, verdict = rows(seeded(1), pairs_of(32, 9, 3))
    assert (row["lower"], verdict["verdict"]) == ("0.000000000000", "supported")
    assert (verdict["robustness"]["seeds_same"], verdict["robustness"]["seed_decides"]) == (44, True)


def test_a_clear_case_owes_nothing_to_the_seed() -> None:
    _, verdict = rows(seeded(0), pairs_of(32, 20, 1))
    assert verdict["robustness"] == {
        "seeds_tried": 60, "seeds_same": 60, "seed_decides": False, "seeds_untried": None, "exact_law": "supported", "tango": "supported",
    }  # fmt: skip


def test_a_method_without_a_seed_has_no_seeds_to_try() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=32)
    row, verdict = rows(plan, pairs_of(32, 9, 3))
    assert row["robustness"]["seeds"] is None
    assert row["robustness"]["tango"] == {"lower": row["lower"], "upper": row["upper"]}
    assert (verdict["robustness"]["seeds_tried"], verdict["robustness"]["seed_decides"]) == (0, None)
    assert verdict["robustness"]["seeds_untried"] == "no method of this verdict has a seed"
    assert not any("seed" in line for line in caveats(analysed(plan, pairs_of(32, 9, 3))))


def test_one_arm_that_is_resampled_has_seeds_and_a_law_too() -> None:
    plan = small({"e": "{of: {arm: plus}, population: all, method: mean}"}, seeds=9)
    row, verdict = rows(plan, by_arm(plus=[1, 0, 1] * 3, minus=[0] * 9))
    assert row["robustness"]["seeds"]["tried"] == 60 and row["robustness"]["exact_law"] is not None
    assert (verdict["robustness"]["seeds_same"], verdict["robustness"]["tango"]) == (60, None)


@pytest.mark.parametrize("method", ["wilson", "clopper", "tally"])
def test_one_arm_with_an_interval_of_its_own_has_none(method: str) -> None:
    plan = small({"e": f"{{of: {{arm: plus}}, population: all, method: {method}}}"}, seeds=9)
    row, verdict = rows(plan, by_arm(plus=[1, 0, 1] * 3, minus=[0] * 9))
    assert row["robustness"] is None and verdict["robustness"] is None


def test_counts_have_an_exact_law_and_no_tango() -> None:
    plan = small({"e": PAIRED % "boot"}, metrics={"success": "{kind: count, better: lower}"}, seeds=9)
    row, verdict = rows(plan, by_arm(plus=[1, 0, 1] * 3, minus=[3, 0, 2] * 3))
    assert row["robustness"]["exact_law"] is not None and row["robustness"]["tango"] is None
    assert verdict["robustness"]["tango"] is None and verdict["robustness"]["exact_law"] == "supported"


def test_a_sample_too_large_to_draw_again_is_left_to_the_exact_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robustness, "MOST_DRAWS", 10)
    plan = small({"e": PAIRED % "boot"}, seeds=32)
    row, verdict = rows(plan, pairs_of(32, 9, 3))
    assert row["robustness"]["seeds"] == {"tried": 0, "same_lower": 0, "same_upper": 0, "same_limits": 0}
    assert verdict["robustness"]["seed_decides"] is None and verdict["robustness"]["exact_law"] is not None
    why = "e is too large to be drawn again from 60 seeds, or has no limits under some of them"
    assert verdict["robustness"]["seeds_untried"] == why
    assert f"No other bootstrap seed was tried: {why}." in verdict_lines(verdict)
    told = list(caveats(analysed(plan, pairs_of(32, 9, 3))))
    assert f"e-success: whether the bootstrap's seed decides is not known: {why}" in told


def test_each_seed_is_used_for_every_effect_of_a_verdict_at_once() -> None:
    METHODS["boot10"] = BOOT["boot10"] % 0
    try:
        effect = "{contrast: %s - minus, join: [family, seed], population: all, method: boot10}"
        plan = small(
            {"e": effect % "plus", "f": effect % "other"},
            arms=("plus", "minus", "other"),
            seeds=32,
            hypotheses={"h": ("success", "e.lower >= 0 && f.lower >= 0")},
        )
    finally:
        del METHODS["boot10"]
    base = pairs_of(32, 9, 3)

    def outcome(slot: Any) -> Any:
        return base({**slot, "arm": "plus"} if slot["arm"] == "other" else slot)

    record: Any = analysed(plan, outcome).record
    (verdict,) = record["verdicts"]
    assert verdict["robustness"]["seeds_same"] == 16  # the two move together: 16 of 60, not fewer


def test_what_is_not_estimable_has_no_robustness() -> None:
    row, verdict = rows(small({"e": PAIRED % "boot"}, seeds=2), by_arm(plus=["missing"] * 2, minus=[0, 0]))
    assert row["robustness"] is None and verdict["robustness"] is None
    assert Decimal("0.95") == Decimal(row["level"])
