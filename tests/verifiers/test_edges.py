"""Where the record stops being readable, or is made to be a burden: rejected all the same, in bounded words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from sealkit.wire.declared import ThisReturn
from sealkit.wire.episode import Action, Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.verdict import Accepted, Rejected
from sealkit.world.sdk import Told, after_act, contract, notice
from sealkit.world.sdk import replace as put
from tests.lies.environment import applied_again
from tests.lies.stage import DONE, WAIT, World, scenario, stage
from tests.lying_world import honest
from tests.reseal import read, reseal
from tests.toy.worlds.toy.world import NATURE
from tests.verifiers.loading import witness

FREEZE = Action(name="freeze", args={})
FAKE = "sha256:" + "0" * 64


class Freezing(World):
    """A tank whose level can turn into what no contract can see."""

    def act(self, action: Action) -> Sequence[Told]:
        told = super().act(action)
        if action == FREEZE:
            self.here["tank"]["level"] = {"ice": 4}
        return told


def test_a_contract_applied_again_where_it_cannot_see() -> None:
    """It sees a level, computes with it and tells it; then the level is no number any more, and it comes again."""
    drip = contract(
        "drip", when=after_act(1), then=[put("/tank/level", {"cel": "level - 1"})], sees={"level": "/tank/level"},
        tell=notice("{level} left.", channel="label", sender="maker", due=ThisReturn()), authority=NATURE,
    )  # fmt: skip
    declared = replace(
        scenario("calm"), contracts=(drip,), footprints={**scenario("calm").footprints, "freeze": ("/tank",)}
    )
    trusted, line = stage(Freezing, within=declared, actions=(WAIT, FREEZE, DONE))
    assert witness(trusted, line) == Accepted()
    trusted, line = stage(Freezing, applied_again("drip", 2), within=declared, actions=(WAIT, FREEZE, DONE))
    verdict = witness(trusted, line)
    assert isinstance(verdict, Rejected)
    assert verdict.origin == "environment"


@pytest.mark.parametrize("ended", ["final", "stopped"])
def test_a_spent_budget_has_one_name(ended: str) -> None:
    trusted, line = stage(actions=(WAIT,) * 14, family="calm", ended=ended)
    verdict = witness(trusted, line)
    assert isinstance(verdict, Rejected)
    assert [(reason.origin, reason.where) for reason in verdict.reasons] == [("evidence", "closing.ended")]


def test_an_episode_may_end_before_its_first_act() -> None:
    trusted, line = stage(actions=(), ended="the provider failed", family="storm")
    assert witness(trusted, line) == Accepted()


def test_a_restore_that_strayed_roots_explain_is_not_named() -> None:
    """The roots are off from act 2 on; that a restore is missing behind that says nothing."""
    trusted, line = honest("storm")
    document = read(line)
    for act in document["acts"][2:]:
        act["root"] = FAKE
    del document["acts"][8]["deltas"][0]
    verdict = witness(trusted, reseal(document, trusted))
    assert isinstance(verdict, Rejected)
    assert verdict.reasons[0].where == "receipts[9]"  # its receipt is still there


def test_a_verdict_is_short_however_much_is_wrong() -> None:
    trusted, line = honest("storm")
    document = read(line)
    for act in document["acts"]:
        act["calls"] = ["x" * 1000] * 50
    verdict = witness(trusted, reseal(document, trusted))
    assert isinstance(verdict, Rejected)
    assert len(verdict.reasons) <= 8
    assert max(len(reason.found) for reason in verdict.reasons) <= 160


def test_a_scenario_that_is_none_is_the_callers_fault() -> None:
    trusted, line = honest()
    broken = Trusted(pin=trusted.pin, judge=trusted.judge, slot=trusted.slot, scenario=b"{}")
    with pytest.raises(MalformedError):
        witness(broken, line)
    unmeant = Trusted(
        pin=trusted.pin, judge=trusted.judge, slot=trusted.slot,
        scenario=trusted.scenario.replace(b'"max_acts":14', b'"max_acts":0'),
    )  # fmt: skip
    with pytest.raises(MalformedError, match="max_acts"):
        witness(unmeant, line)


def test_two_scenarios_are_not_taken_for_each_other() -> None:
    """What is derived from a scenario is remembered by its bytes."""
    for family in ("calm", "plain", "storm", "calm", "plain"):
        trusted, line = honest(family)
        assert witness(trusted, line) == Accepted()
