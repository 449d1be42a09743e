"""From (family, seed) to a scenario: what is refused, and who is to blame."""

from __future__ import annotations

from pathlib import Path

import pytest

from sealkit.wire.canon import encode_record
from sealkit.wire.errors import HarnessError, UsageError
from sealkit.world.loader import make_scenario
from tests.world.makeshift import lamp


def test_a_scenario_holds_what_the_author_said_and_whose_it_is(tmp_path: Path) -> None:
    scenario = make_scenario(lamp(tmp_path), "windy", 5, {"oil": 2})
    assert (scenario.world, scenario.family, scenario.seed, scenario.params) == ("lamp", "windy", 5, {"oil": 2})
    assert scenario.genesis["lamp"] == {"lit": False, "oil": 2}
    assert [contract.id for contract in scenario.contracts] == ["gust"]
    assert scenario.finals == ("done",) and scenario.max_acts == 4


def test_the_same_family_and_seed_give_the_same_line_and_others_their_own(tmp_path: Path) -> None:
    world = lamp(tmp_path)
    lines = [encode_record(make_scenario(world, family, seed, {})) for family in world.families for seed in range(20)]
    again = [encode_record(make_scenario(world, family, seed, {})) for family in world.families for seed in range(20)]
    assert lines == again and len(set(lines)) == 40
    assert {b'"hall"' in line for line in lines} == {True, False}, "seeds draw both rooms"


def test_an_unknown_family_is_the_plans_fault(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the world has no family 'stormy'; it has calm, windy"):
        make_scenario(lamp(tmp_path), "stormy", 0, {})


@pytest.mark.parametrize("params", [{"wax": 1}, {"oil": 1, "wick": 2}])
def test_params_that_do_not_fit_are_the_plans_fault(params: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the plan's world.params do not fit: .*unexpected keyword argument"):
        make_scenario(lamp(tmp_path), "calm", 0, params)


def test_params_that_are_missing_are_the_plans_fault(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"world.params do not fit: missing a required .*argument: 'oil'"):
        make_scenario(lamp(tmp_path, "oil=3", "oil"), "calm", 0, {})


PICKY = "    if not isinstance(oil, int) or oil < 1:\n        raise ValueError('oil is at least 1')\n    gust ="


@pytest.mark.parametrize(
    ("new", "params", "at", "says"),
    [
        (PICKY, {"oil": 0}, "$.world.params.oil", "raised ValueError: oil is at least 1"),
        ("    oil < 3\n    gust =", {"oil": "much"}, "$.world.params.oil", "raised TypeError: '<' not supported"),
        ("    oil = oil * 2**50\n    gust =", {"oil": 8}, "$.world.params.oil", r"an integer beyond 2\^53-1"),
    ],
)
def test_params_that_the_world_refuses_are_the_plans_fault_at_their_key(
    new: str, params: dict[str, int | str], at: str, says: str, tmp_path: Path
) -> None:
    """Whatever way the world fails: it makes the scenario without this parameter."""
    world = lamp(tmp_path, "    gust =", new)
    with pytest.raises(UsageError, match=says) as refused:
        make_scenario(world, "windy", 0, dict(params))
    assert refused.value.where == at


def test_two_bad_params_are_blamed_together(tmp_path: Path) -> None:
    world = lamp(
        tmp_path, "oil=3):\n", "oil=3, wick=1):\n    if oil < 1 or wick < 1:\n        raise ValueError('too little')\n"
    )
    with pytest.raises(UsageError, match="too little") as refused:
        make_scenario(world, "calm", 0, {"oil": 0, "wick": 0})
    assert refused.value.where == "$.world.params"
    with pytest.raises(UsageError, match="too little") as refused:
        make_scenario(world, "calm", 0, {"oil": 1, "wick": 0}, where=lambda *path: "plans/x.yaml:3:4 " + "/".join(path))
    assert refused.value.where == "plans/x.yaml:3:4 world/params/wick"


def test_a_world_that_fails_under_its_own_params_too_is_to_blame(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="ZeroDivisionError"):
        make_scenario(lamp(tmp_path, "    gust =", "    1 / 0\n    gust ="), "calm", 0, {"oil": 1})


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("    gust =", "    1 / 0\n    gust =", "raised ZeroDivisionError: division by zero"),
        ("return Outline(", "return dict(", "found dict, due an Outline"),
        ('"oil": oil}', '"oil": 0.5}', "a float (0.5) where records hold integers"),
        ('"oil": oil}', '"oil": {1}}', "/genesis/lamp/oil: set is no JSON value"),
        ('"oil": oil}', '"oil": 2**53}', "an integer beyond 2^53-1"),
        ('"oil": oil}', '"öl": oil}', "key 'öl' is not ASCII text"),
        ('"oil": oil}', '"oil": "\\ud800"}', "a lone surrogate"),
        ("max_acts=4", "max_acts=0", "max_acts: found 0, due at least 1"),
        ('finals=("done",)', "finals=()", "finals: no action ends the episode"),
        ('("/lamp/lit", "/lamp/oil")', '("/lamp/lit", "/tank/oil")', "footprints.light: pointer /tank/oil is in no component"),
        ('[replace("/lamp/lit", False)]', '[replace("/lamps/lit", False)]', "pointer /lamps/lit is in no component"),
        ('[replace("/lamp/lit", False)]', '[replace("/lamp/lit", {"cel": "wind > 3"})]', "no name 'wind' is declared"),
        ("(gust,) if", "(gust, gust) if", "two declarations are called 'gust'"),
        ('genesis={"lamp"', 'snapshots=(), restores=("back",), genesis={"lamp"', "restores"),
    ],
)  # fmt: skip
def test_a_scenario_that_cannot_be_meant_is_the_worlds_fault(old: str, new: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as refused:
        make_scenario(lamp(tmp_path, old, new), "windy", 0, {})
    assert refused.value.where == "worlds/lamp: scenario('windy', 0)"
    assert says in str(refused.value)
