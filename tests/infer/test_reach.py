"""Verdicts that no data of the planned size can give: against the enumeration of `power`, and by hand."""

from __future__ import annotations

import pytest

from sealkit.infer.assumed import assumptions, parse_assumption
from sealkit.infer.power import power
from sealkit.infer.reach import unreached
from tests.infer.told import PAIRED, small

SINGLE = "{of: {arm: plus}, population: all, method: wilson}"


def named(effects: dict[str, str], rule: str, seeds: int) -> list[str]:
    plan = small(effects, seeds=seeds, hypotheses={"H": ("success", rule)})
    return [str(one) for one in unreached(plan.spec)]


@pytest.mark.parametrize(("method", "above"), [("tango", "0"), ("exact", "0"), ("newcombe", "0.1")])
def test_an_interval_of_two_pairs_is_not_above_this(method: str, above: str) -> None:
    """By Newcombe, 2 for and 0 against have 1 - sqrt(0.658² + 0.658²) = 0.07 as their lower limit."""
    assert named({"e": PAIRED % method}, f"e.lower > {above}", 2) == ["H: no data of 2 pairs can give supported"]
    assert named({"e": PAIRED % method}, f"e.lower > {above}", 8) == []


def test_a_bootstrap_of_two_pairs_that_agree_is() -> None:
    assert named({"e": PAIRED % "law"}, "e.lower > 0", 2) == []


def test_what_power_gives_no_chance_under_any_supposition_is_named() -> None:
    for seeds in (2, 3, 4, 5):
        plan = small({"e": PAIRED % "tango"}, seeds=seeds, hypotheses={"H": ("success", "e.lower > 0")})
        assumed = assumptions(plan.spec, [parse_assumption("e=b:0.5,c:0.25")])  # every table has a chance
        (found,) = power(plan.spec, assumed, simulations=100, seed=1, step=lambda count: None)
        never = [one.verdict for one in found.chances if not one.chance]
        assert [one.verdict for one in unreached(plan.spec)] == never
        assert bool(never) == (seeds < 4), seeds


def test_a_rate_that_so_few_cells_cannot_show_is_named_and_one_that_missing_cells_leave_is_not() -> None:
    assert named({"e": SINGLE}, "e.lower > 0.75", 10) == ["H: no data of 10 cells can give supported"]
    assert named({"e": SINGLE}, "e.lower > 0.70", 10) == []
    assert named({"e": SINGLE}, "e.n < 10", 10) == []


def test_of_two_effects_the_sizes_are_named_and_of_many_pairs_nothing_is_said() -> None:
    both = named({"e": PAIRED % "tango", "f": SINGLE}, "e.lower > 0 && f.x == 2", 2)
    assert both == ["H: no data of 2 pairs of e and 2 cells of f can give supported"]
    assert named({"e": PAIRED % "tango"}, "e.lower > 0.99", 100) == []
