"""What a scenario must keep, each defect by name and place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sealkit.wire.declared import (
    ActSight,
    ActsLater,
    After,
    AfterAct,
    CountSight,
    Distort,
    Never,
    On,
    Restore,
    Scenario,
    Snapshot,
    StateSight,
    Tell,
    WhenShown,
)
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Remove, Replace
from sealkit.wire.scenario import MAX_OPS, check_scenario
from tests.wire import sample


def scenario(**fields: Any) -> Scenario:
    return msgspec.structs.replace(sample.SCENARIO, **fields)


def lock(**fields: Any) -> Scenario:
    return scenario(contracts=(msgspec.structs.replace(sample.LOCK, **fields), *sample.SCENARIO.contracts[1:]))


def tell(**fields: Any) -> Tell:
    return msgspec.structs.replace(sample.LOCK.tell, **fields)


def test_the_sample_is_in_order() -> None:
    check_scenario(sample.SCENARIO)
    check_scenario(scenario(restores=(Restore(id="again", snapshot="dawn", when=AfterAct(act=3)),)))
    check_scenario(lock(tell=tell(template="{name}: {held}")))


DEFECTS: dict[str, tuple[Scenario, str]] = {
    "no state": (scenario(genesis={}), "genesis: a scenario without material state"),
    "no acts": (scenario(max_acts=0), "max_acts: found 0, due at least 1"),
    "no end": (scenario(finals=()), "finals: no action ends the episode"),
    "footprint outside": (
        scenario(footprints={"go": ("/sea",)}),
        "footprints.go: pointer /sea is in no component; components: doors, fees, items",
    ),
    "footprint of everything": (scenario(footprints={"go": ("",)}), "footprints.go: pointer  is in no component"),
    "footprint that is no pointer": (scenario(footprints={"go": ("doors",)}), "a pointer is empty or begins with /"),
    "contract twice": (
        scenario(contracts=(*sample.SCENARIO.contracts, sample.LOCK)),
        "contracts: two declarations are called 'lock'",
    ),
    "snapshot called as a contract": (
        scenario(snapshots=(Snapshot(id="fee", when=AfterAct(act=0)),), restores=()),
        "two declarations are called 'fee'",
    ),
    "sight of the state outside": (
        lock(sees={"held": StateSight(pointer="/sea/wet"), "name": ActSight(pointer="/name")}),
        "contracts.lock.sees.held: pointer /sea/wet is in no component",
    ),
    "count outside": (
        lock(sees={"held": CountSight(pointer="/sea", equals=1), "name": ActSight(pointer="/name")}),
        "contracts.lock.sees.held: pointer /sea is in no component",
    ),
    "sight of the act outside": (
        lock(sees={"held": StateSight(pointer="/items"), "name": ActSight(pointer="/item")}),
        "contracts.lock.sees.name: pointer /item is in no part of an action; parts: /name, /args",
    ),
    "sight of a whole act": (
        lock(sees={"held": StateSight(pointer="/items"), "name": ActSight(pointer="")}),
        "contracts.lock.sees.name: pointer  is in no part of an action",
    ),
    "rule over what is not seen": (
        lock(when=On(rule="held && nam == 'pick'")),
        "contracts.lock.when: rule \"held && nam == 'pick'\", column 9: no name 'nam' is declared here; "
        "did you mean 'name'?",
    ),
    "rule in an effect": (
        lock(then=(Replace(path="/doors/d0", value={"cel": "held +"}),)),
        "contracts.lock.then: rule 'held +', column 7",
    ),
    "effect outside": (lock(then=(Remove(path="/sea"),)), "contracts.lock.then: pointer /sea is in no component"),
    "too many operations": (
        lock(then=(Remove(path="/doors/d0"),) * (MAX_OPS + 1)),
        "contracts.lock.then: found 65 operations, due at most 64",
    ),
    "after itself": (
        lock(when=After(contract="lock", acts=1)),
        "contracts.lock: due after 'lock', which is no other contract",
    ),
    "after nothing": (
        lock(when=After(contract="gate", acts=1)),
        "contracts.lock: due after 'gate', which is no other contract",
    ),
    "after zero acts": (
        lock(when=After(contract="bell", acts=0)),
        "contracts.lock: due 0 acts after another contract; let it be 1 act or more",
    ),
    "template over nothing": (
        lock(tell=tell(template="The {door} is locked.")),
        "contracts.lock.tell: {door} stands in the template, and nothing in sees is called so",
    ),
    "zero acts later": (
        lock(tell=tell(due=ActsLater(acts=0))),
        "contracts.lock.tell: acts_later 0 is this_return; use this_return",
    ),
    "shown outside": (
        lock(tell=tell(due=WhenShown(pointer="/sea", rule="true"))),
        "contracts.lock.tell: pointer /sea is in no component",
    ),
    "shown by another name": (
        lock(tell=tell(due=WhenShown(pointer="/doors/d0", rule="held"))),
        "contracts.lock.tell.due: rule 'held', column 1: no name 'held' is declared here; did you mean 'reading'?",
    ),
    "distortion never shown": (
        lock(tell=tell(due=Never(), distort=Distort(pointer="/doors/d0", reading="shut"))),
        "contracts.lock.tell: a distortion is of the next reading",
    ),
    "distortion of another reading": (
        lock(
            tell=tell(
                due=WhenShown(pointer="/doors/d0", rule="reading == 1"),
                distort=Distort(pointer="/doors/d0", reading="shut"),
            )
        ),
        "contracts.lock.tell: a distortion is of the next reading",
    ),
    "restore of nothing": (
        scenario(restores=(Restore(id="again", snapshot="dusk", when=AfterAct(act=1)),)),
        "again: restores 'dusk', which no snapshot keeps",
    ),
    "restore after nothing": (
        scenario(restores=(Restore(id="again", snapshot="dawn", when=After(contract="gate", acts=1)),)),
        "again: due after 'gate', which is no other contract",
    ),
    "snapshot after nothing": (
        scenario(snapshots=(Snapshot(id="dawn", when=After(contract="gate", acts=1)),)),
        "dawn: due after 'gate', which is no other contract",
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_refused_with_its_place(defect: str) -> None:
    case, message = DEFECTS[defect]
    with pytest.raises(MalformedError) as refusal:
        check_scenario(case)
    assert message in str(refusal.value)


@pytest.mark.parametrize("fields", [{"footprints": {"noop": ()}}, {"finals": ("begin",)}])
def test_sealkits_own_words_are_no_actions(fields: dict[str, Any]) -> None:
    with pytest.raises(MalformedError, match="sealkit's own word"):
        check_scenario(scenario(**fields))
