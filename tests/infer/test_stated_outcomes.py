"""An empty arm, an arm of errors only, one pair, no discordant pairs, constant data, duplicate and missing keys."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest

from sealkit.infer.estimate import Estimated, estimate_effect
from sealkit.wire.errors import MalformedError
from tests.infer.told import (
    EXCLUDED,
    MISSING,
    PAIRED,
    by_arm,
    found_in,
    numbers_in,
    pairs_of,
    reason_in,
    small,
    told,
    verdicts_of,
)

PAIR_METHODS = ["boot", "law", "tango", "newcombe", "exact"]
SINGLE = "{of: {arm: plus}, population: all, method: %s}"


@pytest.mark.parametrize("method", PAIR_METHODS)
@pytest.mark.parametrize("lost", [MISSING, EXCLUDED])
def test_an_arm_that_is_empty_or_all_errors_is_not_estimable(method: str, lost: str) -> None:
    plan = small({"e": PAIRED % method})
    outcome = by_arm(plus=[1] * 10, minus=[lost] * 10)
    assert reason_in(plan, outcome) == "0 of 10 pairs have a value"
    assert verdicts_of(plan, outcome) == {"e-success": "not_estimable"}


@pytest.mark.parametrize("method", ["wilson", "clopper", "mean", "tally"])
@pytest.mark.parametrize("lost", [MISSING, EXCLUDED])
def test_one_arm_alone_that_is_empty_is_not_estimable_and_never_0(method: str, lost: str) -> None:
    plan = small({"e": SINGLE % method})
    assert reason_in(plan, by_arm(plus=[lost] * 10, minus=[1] * 10)) == "0 of 10 cells have a value"


def test_arms_that_share_no_pair_are_not_estimable_though_both_have_values() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=4)
    assert reason_in(plan, by_arm(plus=[1, 1, MISSING, MISSING], minus=[MISSING, MISSING, 0, 0])).startswith("0 of 4")


def test_a_missing_partner_is_a_missing_pair() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=4)
    found = found_in(plan, by_arm(plus=[1, 1, 0, MISSING], minus=[0, MISSING, 1, 0]))
    assert isinstance(found.estimate, Estimated)
    assert {name: found.estimate.fields[name] for name in ("n", "b", "c")} == {"n": 2, "b": 1, "c": 1}
    (basis,) = found.basis
    assert (basis.planned, basis.absent, basis.n) == (4, 2, 2)


ONE = by_arm(plus=[1, *[MISSING] * 9], minus=[0] * 10)


@pytest.mark.parametrize("method", ["boot", "law"])
def test_one_pair_has_nothing_to_resample(method: str) -> None:
    assert reason_in(small({"e": PAIRED % method}), ONE) == "one unit has no spread to resample"


@pytest.mark.parametrize("method", ["tango", "newcombe", "exact"])
def test_one_pair_has_an_interval_that_says_little(method: str) -> None:
    found = numbers_in(small({"e": PAIRED % method}), ONE)
    assert (found["n"], found["b"], found["c"], found["estimate"]) == (1, 1, 0, 1)
    assert found["lower"] < 0 < found["upper"] == 1


@pytest.mark.parametrize("method", PAIR_METHODS)
def test_no_discordant_pairs(method: str) -> None:
    found = found_in(small({"e": PAIRED % method}), pairs_of(10, 0, 0, 4))
    assert isinstance(found.estimate, Estimated)
    fields = found.estimate.fields
    assert (fields["b"], fields["c"], fields["estimate"]) == (0, 0, 0)
    if method in ("boot", "law"):
        assert fields["lower"] == fields["upper"] == 0
        assert "no width" in found.estimate.notes[0]
    else:
        assert fields["lower"] == -fields["upper"] < 0


def test_constant_data_have_no_width_under_the_bootstrap_and_say_so() -> None:
    plan = small({"e": PAIRED % "boot"}, metrics={"success": "{kind: count, better: lower}"})
    found = found_in(plan, by_arm(plus=[3] * 10, minus=[5] * 10))
    assert isinstance(found.estimate, Estimated)
    assert {found.estimate.fields[name] for name in ("estimate", "lower", "upper")} == {Decimal(2)}
    assert "no width" in found.estimate.notes[0]


def test_a_key_that_several_cells_share_is_refused_and_named() -> None:
    """No plan that opens has such a join: the engine refuses it once more."""
    plan = small({"e": PAIRED % "tango"}, seeds=3)
    effect = msgspec.structs.replace(plan.spec.effects["e"], join=("family",))
    cells = told(plan, pairs_of(3, 1, 1))
    with pytest.raises(MalformedError) as caught:
        estimate_effect(cells, effect, "success", rule="complete_pairs", within={})
    assert "3 cells of one side share the key {'family': 'x'}: they differ in seed" in str(caught.value)
    assert "add seed to the join" in str(caught.value)


def test_a_measure_that_does_not_apply_is_no_value_and_is_counted_apart() -> None:
    plan = small({"e": PAIRED % "boot"}, seeds=5)
    found = found_in(plan, by_arm(plus=[1, None, 0, 1, MISSING], minus=[0, 1, 0, None, None]))
    (basis,) = found.basis
    assert (basis.planned, basis.absent, basis.null, basis.n) == (5, 1, 2, 2)


def test_no_episode_with_a_value_is_not_the_same_as_no_episode() -> None:
    plan = small({"e": SINGLE % "tally"}, metrics={"success": "{kind: count, better: lower}"}, seeds=3)
    found = found_in(plan, by_arm(plus=[None, None, None], minus=[1, 1, 1]))
    assert found.basis[0].null == 3 and found.basis[0].absent == 0
