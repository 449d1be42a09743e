"""Gates that a hypothesis decides: each open and closed by its verdict, alone, and by nothing that was amended late."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from sealkit.infer.gates import Evidence, decide_gates
from sealkit.infer.lost import lost_in_rules
from sealkit.plan.describe import describe
from sealkit.plan.load import Plan
from sealkit.plan.ruling import OTHERWISE, Claim, Gate, Need
from sealkit.publish.claims.amended import Amended
from sealkit.publish.claims.gates_ruled import _ruled, closed_by_draws
from sealkit.publish.claims.ruled_again import Generation, Sensitivity
from tests.infer.test_gates import FULL, SPEC
from tests.infer.told import analysed, by_arm, small, told

FAITHFUL = "{of: {arm: plus}, population: all, metric: success, method: clopper}"
RULES = {
    "baselines_conform": ("e.estimate == 1", 1, 0),
    "forks_isolated": ("e.estimate == 1", 1, 0),
    "false_rejection_acceptable": ("e.upper < 0.5", 0, 1),
}


def plan_of(gate: str) -> Plan:
    return small({"e": FAITHFUL}, hypotheses={gate: ("success", RULES[gate][0])})


def ruled(gate: str, value: int, *, changed: bool = False) -> tuple[bool, str]:
    plan = plan_of(gate)
    return _ruled(plan.spec, gate, analysed(plan, lambda slot: {"success": value}), changed=changed, lost=())


@pytest.mark.parametrize("gate", RULES)
def test_it_is_open_if_its_hypothesis_is_supported_and_closed_alone_if_not(gate: Gate) -> None:
    rule, good, bad = RULES[gate]
    assert ruled(gate, good)[0] and f"supported, as {rule}" in ruled(gate, good)[1]
    for found in (ruled(gate, bad), ruled(gate, good, changed=True)):
        rulings = decide_gates(SPEC, _with(gate, found), {})
        assert [(ruling.gate, ruling.evidence) for ruling in rulings if not ruling.open] == [(gate, found[1])]
    assert "n 10" in ruled(gate, bad)[1]
    assert ruled(gate, good, changed=True)[1].endswith("but it was changed when there could be outcomes")


def test_it_is_closed_by_another_draw_or_other_code_that_comes_to_another_verdict() -> None:
    spec, opened = plan_of("forks_isolated").spec, {"forks_isolated": (True, "supported")}
    row = {
        "source": "episodes of generation 2",
        "hypothesis": "forks_isolated",
        "verdict": "supported",
        "other": "not_shown",
    }
    over = Generation(1, Sensitivity({}, ()), over=("plus",), again=False, lost=())
    for differing, generations, why in (
        ((row,), (), "not_shown by the episodes of generation 2"),
        (
            (),
            (over,),
            "with episode 1 of every slot, or else its last, more slots are lost than the exclusion cap allows",
        ),
    ):
        after = cast(Amended, SimpleNamespace(differing=differing, generations=generations))
        assert closed_by_draws(spec, opened, after) == {"forks_isolated": (False, f"supported; but {why}")}
    assert closed_by_draws(spec, opened, cast(Amended, SimpleNamespace(differing=(), generations=()))) == opened


def test_it_is_closed_if_nothing_could_be_estimated() -> None:
    plan = plan_of("forks_isolated")
    found = _ruled(plan.spec, "forks_isolated", analysed(plan, lambda slot: "missing"), changed=False, lost=())
    assert not found[0] and "not_estimable" in found[1]


def test_it_is_closed_if_the_values_that_would_close_it_are_null() -> None:
    plan = plan_of("forks_isolated")
    outcome = by_arm(plus=[1] * 9 + [None], minus=[1] * 10)
    lost = lost_in_rules(told(plan, outcome))
    found = _ruled(plan.spec, "forks_isolated", analysed(plan, outcome), changed=False, lost=lost)
    assert not found[0] and found[1].endswith("than the cap allows: e on success: 1 of 10 in plus, 1 of them null")


def _with(gate: str, found: tuple[bool, str]) -> Evidence:
    return replace(FULL, ruled={**FULL.ruled, gate: found})


def test_check_warns_of_what_is_called_supported_without_a_rule_that_says_so() -> None:
    plan = plan_of("forks_isolated")
    [(name, hypothesis)] = plan.spec.hypotheses.items()
    need = Need(hypothesis=name, verdict=("not_shown", "supported"))
    claim = Claim(text="x", stratum="confirmatory", needs=need, does_not_show="y")
    verdict = {"not_shown": "1 > 2", OTHERWISE: "supported"}
    spec = msgspec.structs.replace(
        plan.spec, hypotheses={name: msgspec.structs.replace(hypothesis, verdict=verdict)}, claims={"odd": claim}
    )
    assert [warning for warning in describe(replace(plan, spec=spec)).warnings if "supported" in warning] == [
        f"hypotheses.{name} is supported where none of its rules holds, whatever the effect is",
        f"claims.odd is called supported where {name} is not_shown: its text must say what that shows",
    ]


def test_check_warns_of_a_gate_that_nothing_decides() -> None:
    plan = plan_of("forks_isolated")
    gates = ("forks_isolated", "baselines_conform")
    spec = msgspec.structs.replace(plan.spec, gates=gates)
    assert [warning for warning in describe(replace(plan, spec=spec)).warnings if "gate" in warning] == [
        "nothing will be published, gate baselines_conform is closed: "
        "no hypothesis baselines_conform says how it is decided"
    ]
