"""What a contract means: sights, times, effects, disclosures, words."""

from __future__ import annotations

import msgspec
import pytest

from sealkit.wire.contract import (
    Sighting,
    discloses,
    effect,
    falls_on,
    fill,
    is_due,
    placeholders,
    rule_in,
    see,
    spell,
)
from sealkit.wire.declared import (
    ActSight,
    After,
    AfterAct,
    Contract,
    CountSight,
    On,
    Sight,
    StateSight,
    When,
    WhenShown,
)
from sealkit.wire.episode import Action
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Add, Json, Remove, Replace, Scalar
from tests.wire import sample


def contract(when: When | None = None, sees: dict[str, Sight] | None = None, then: tuple[object, ...] = ()) -> Contract:
    return msgspec.structs.replace(sample.LOCK, when=when or AfterAct(act=2), sees=sees or {}, then=then)


AT = Sighting(
    state={"items": {"k1": {"held": True}, "list": [1, 2]}, "n": None},
    action=Action(name="pick", args={"item": "k1"}),
    shown={("/d", bool, True): 2, ("/d", int, 1): 5, ("/d", str, "1"): 7},
)


@pytest.mark.parametrize(
    ("sight", "value"),
    [
        (StateSight(pointer="/items/k1/held"), True),
        (StateSight(pointer="/items/list/1"), 2),
        (StateSight(pointer="/n"), None),
        (StateSight(pointer="/items/k9/held"), None),
        (StateSight(pointer="/items/list/-"), None),
        (ActSight(pointer="/name"), "pick"),
        (ActSight(pointer="/args/item"), "k1"),
        (ActSight(pointer="/args/room"), None),
        (CountSight(pointer="/d", equals=True), 2),
        (CountSight(pointer="/d", equals=1), 5),
        (CountSight(pointer="/d", equals="1"), 7),
        (CountSight(pointer="/d", equals=2), 0),
        (CountSight(pointer="/e", equals=True), 0),
    ],
)
def test_a_sight_is_a_scalar(sight: Sight, value: Scalar) -> None:
    assert see(contract(sees={"x": sight}), AT) == {"x": value}


@pytest.mark.parametrize("sight", [StateSight(pointer="/items/k1"), ActSight(pointer="/args")])
def test_a_contract_never_sees_a_whole(sight: Sight) -> None:
    with pytest.raises(MalformedError, match="a contract sees scalars only; point at one value"):
        see(contract(sees={"x": sight}), AT)


@pytest.mark.parametrize("odd", [[], {}, ["k1"], {"k1": 1}])
def test_an_argument_that_is_no_scalar_is_null(odd: Json) -> None:
    """An agent may write anything there; it must not be able to end the episode by that."""
    at = Sighting(state={}, action=Action(name="pick", args={"item": odd}), shown={})
    assert see(contract(sees={"x": ActSight(pointer="/args/item")}), at) == {"x": None}


@pytest.mark.parametrize(
    ("when", "k", "applied", "due"),
    [
        (AfterAct(act=2), 1, {}, False),
        (AfterAct(act=2), 2, {}, True),
        (AfterAct(act=2), 3, {}, False),
        (After(contract="fee", acts=2), 3, {}, False),
        (After(contract="fee", acts=2), 3, {"fee": 1}, True),
        (After(contract="fee", acts=2), 4, {"fee": 1}, False),
        (After(contract="fee", acts=2), 3, {"fee": 2}, False),
    ],
)
def test_times(when: AfterAct | After, k: int, applied: dict[str, int], due: bool) -> None:
    assert is_due(contract(when), k, {}, applied) is due
    assert falls_on(when_of=contract(when), k=k, applied=applied) is due


@pytest.mark.parametrize(("rule", "due"), [("held", True), ("!held", False), ("1", False), ("held ? null : 1", False)])
def test_a_rule_is_due_when_it_is_true(rule: str, due: bool) -> None:
    held: dict[str, Sight] = {"held": StateSight(pointer="/items/k1/held")}
    assert is_due(contract(On(rule=rule), held), 7, {"held": True}, {}) is due
    with pytest.raises(MalformedError, match="a rule is no fixed time"):
        falls_on(when_of=contract(On(rule=rule), held), k=7, applied={})


def test_an_effect_evaluates_its_rules() -> None:
    literal: Json = {"cel": "cost", "x": 1}
    then = (
        Replace(path="/a", value={"cel": "115 * cost / 100"}),
        Add(path="/b", value={"cel": "cost > 5 ? 'dear' : 'cheap'"}),
        Replace(path="/c", value=literal),
        Add(path="/d", value=[{"cel": "cost"}]),
        Remove(path="/e"),
    )
    made = effect(contract(sees={"cost": StateSight(pointer="/x")}, then=then), {"cost": 11})
    assert made == (Replace(path="/a", value=12), Add(path="/b", value="dear"), *then[2:])


@pytest.mark.parametrize(("rule", "fits"), [("9007199254740991", True), ("-9007199254740991 - 1", False)])
def test_an_effect_fits_into_a_record(rule: str, fits: bool) -> None:
    made = contract(then=(Replace(path="/a", value={"cel": rule}),))
    if fits:
        assert effect(made, {}) == (Replace(path="/a", value=2**53 - 1),)
    else:
        with pytest.raises(MalformedError, match=r"the rule gives an integer beyond 2\^53-1"):
            effect(made, {})


@pytest.mark.parametrize(
    ("value", "rule"),
    [({"cel": "1"}, "1"), ({"cel": 1}, None), ({"cel": "1", "x": 1}, None), ({}, None), ("cel", None), (None, None)],
)
def test_what_stands_for_a_rule(value: Json, rule: str | None) -> None:
    assert rule_in(value) == rule


def test_what_discloses() -> None:
    due = WhenShown(pointer="/d", rule="reading == 'locked'")
    assert discloses(due, "/d", "locked")
    assert not discloses(due, "/d", "open")
    assert not discloses(due, "/e", "locked")
    assert not discloses(due, "/d", True)


def test_words() -> None:
    values: dict[str, Scalar] = {"a": "x{b}", "b": True, "c": None, "d": -3, "e": False}
    assert fill("{a} {b} {c} {d} {e} {not-a-name} {} {a}", values) == "x{b} true null -3 false {not-a-name} {} x{b}"
    assert placeholders("{a} {b_2} {1} {a}") == ("a", "b_2", "a")
    assert [spell(value) for value in values.values()] == ["x{b}", "true", "null", "-3", "false"]
