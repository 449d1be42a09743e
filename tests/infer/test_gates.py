"""Each gate: open with its evidence, closed by taking just that away, closed without any."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sealkit.infer.admit import ArmTally
from sealkit.infer.denominators import irreconcilable
from sealkit.infer.gates import NO_EVIDENCE, Evidence, all_open, decide_gates
from sealkit.plan.actors import ScriptedArm
from sealkit.plan.load import open_plan_bytes
from sealkit.plan.rights import lacking
from sealkit.plan.ruling import GATES, Gate
from sealkit.plan.schema import Spec
from tests.infer.told import EXCLUDED, MISSING, PAIRED, analysed, by_arm, house, pairs_of, small

SPEC = msgspec.structs.replace(house().spec, gates=GATES)
ARMS = tuple(SPEC.factors.arm)
FULL = Evidence(
    sealed=0,
    first_attempt=2,
    first_look=40,
    arms={arm: ArmTally(admitted=58, excluded={"boundary": 1}, missing=1) for arm in ARMS},
    planned=dict.fromkeys(ARMS, 60),
    recorded_agrees=True,
    irreconcilable=(),
    off_the_map=(),
    exploratory=(),
    dropped=0,
    faults=0,
    replayed=True,
    rederived=True,
    verifiers={"witness": "sealkit's", "replay": "sealkit's"},
    ruled={
        "baselines_conform": (True, "supported, as conform.estimate == 1"),
        "forks_isolated": (True, "supported, as isolated.estimate == 1"),
        "false_rejection_acceptable": (True, "supported, as faithful.upper < 0.05"),
    },
)


def closed(evidence: Evidence, spec: Spec = SPEC) -> dict[Gate, str]:
    """The gates that are closed, and what they say."""
    return {ruling.gate: ruling.evidence for ruling in decide_gates(spec, evidence, {}) if not ruling.open}


def plan_of(name: str) -> Spec:
    return open_plan_bytes((Path(__file__).parents[1] / "plan" / name).read_bytes(), name).spec


def rights(spec: Spec = SPEC, **words: object) -> Spec:
    return msgspec.structs.replace(spec, rights=msgspec.structs.replace(spec.rights, **words))


def test_with_all_its_evidence_every_gate_is_open() -> None:
    rulings = decide_gates(SPEC, FULL, {})
    assert [ruling.gate for ruling in rulings] == list(GATES)
    assert closed(FULL) == {}
    assert all_open(rulings)
    assert all(ruling.evidence and ruling.meaning for ruling in rulings)


@pytest.mark.parametrize(
    ("gate", "without", "says"),
    [
        ("sealed_before_look", {"sealed": None}, "no entry sealed"),
        ("sealed_before_look", {"first_attempt": None}, "nothing was run"),
        ("sealed_before_look", {"sealed": 7}, "sealed is entry 7, but entry 2 came before it"),
        ("sealed_before_look", {"sealed": 1, "first_look": 0}, "sealed is entry 1, but entry 0 came before it"),
        *(
            (gate, {"ruled": {name: ruled for name, ruled in FULL.ruled.items() if name != gate}}, f"hypothesis {gate}")
            for gate in FULL.ruled
        ),
        *((gate, {"ruled": {**FULL.ruled, gate: (False, "not_shown")}}, "not_shown") for gate in FULL.ruled),
        ("denominators_reconcile", {"arms": {}}, "not every arm was ruled on"),
        ("denominators_reconcile", {"arms": {"A": FULL.arms["A"]}}, "not every arm was ruled on"),
        (
            "denominators_reconcile",
            {"arms": {**FULL.arms, "A": ArmTally(admitted=59)}},
            "arm A: 59 slots ruled on, 60 planned",
        ),
        ("denominators_reconcile", {"recorded_agrees": False}, "not those that the journal records"),
        ("denominators_reconcile", {"irreconcilable": None}, "were not added up"),
        ("denominators_reconcile", {"irreconcilable": ("arm A: 3 slots",)}, "arm A: 3 slots"),
        ("claims_follow_map", {"off_the_map": None}, "nobody compared"),
        ("claims_follow_map", {"off_the_map": ("it-helps (hypotheses.H1)",)}, "not marked exploratory: it-helps (hyp"),
        ("files_verify", {"faults": 2}, "2 episodes do not hold"),
        ("files_verify", {"replayed": False}, "the sealed source was not run again"),
        ("files_verify", {"rederived": False}, "not those that the journal records"),
        ("files_verify", {"verifiers": {"witness": "sealkit's"}}, "no ruling of replay"),
    ],
)
def test_a_gate_closes_alone_when_just_its_evidence_is_gone(gate: Gate, without: dict[str, Any], says: str) -> None:
    found = closed(replace(FULL, **without))
    assert list(found) == [gate]
    assert says in found[gate]
    assert not all_open(decide_gates(SPEC, replace(FULL, **without), {}))


def test_without_evidence_every_gate_is_closed() -> None:
    found = closed(NO_EVIDENCE, rights(model_outputs="none"))
    assert list(found) == list(GATES)


def test_nothing_is_published_through_no_gates() -> None:
    assert not all_open(())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("none", "names no licence"), ("provider terms of 2026-08", "names no licence"), ("free to use", "no licence"),
        ("GPT-4.0 output", "names no licence"), ("LicenseRef-", "names no licence"), ("MIT", "not where that comes from"),
        (" Apache-2.0. ", "not where that comes from"), ("see MIT-licence.txt", "names no licence"),
    ],
)  # fmt: skip
def test_outputs_of_models_need_a_named_licence_and_its_source(words: str, says: str) -> None:
    found = closed(FULL, rights(model_outputs=words))
    assert list(found) == ["rights_documented"] and says in found["rights_documented"]


def test_each_of_several_models_needs_its_terms() -> None:
    terms = dict.fromkeys(SPEC.models, "LicenseRef-provider-terms, of 2026-08")
    assert closed(FULL, rights(model_outputs=terms)) == {}
    several = plan_of("everything.yaml")
    assert lacking(several) == ()
    assert lacking(rights(several, model_outputs="MIT, by its authors")) == (
        "rights.model_outputs gives one text for roles that ask different models: give one for each role",
    )
    (first, *_) = terms
    less = {name: text for name, text in terms.items() if name != first} | {"nobody": "MIT, by its authors"}
    found = closed(FULL, rights(model_outputs=less))["rights_documented"]
    assert found == f"rights.model_outputs.{first} is missing; rights.model_outputs.nobody is no role"


def test_an_external_world_needs_terms_for_its_data() -> None:
    spec = plan_of("external.yaml")
    assert lacking(spec) == ()
    assert lacking(rights(spec, data=None)) == ("rights.data is missing",)
    assert "rights.data names no licence" in lacking(rights(spec, data="ours"))[0]


def test_scripted_agents_need_no_terms_but_silence_is_none() -> None:
    arms = {name: ScriptedArm(role="control", scripted="oracle") for name in ARMS}
    factors = msgspec.structs.replace(SPEC.factors, arm=arms)
    scripted = msgspec.structs.replace(SPEC, factors=factors, models={})
    assert closed(FULL, rights(scripted, model_outputs="none")) == {}
    assert list(closed(FULL, rights(scripted, model_outputs="unknown"))) == ["rights_documented"]
    assert list(closed(FULL, rights(scripted, model_outputs="none", humans="unknown"))) == ["rights_documented"]
    asked = msgspec.structs.replace(scripted, models=SPEC.models)  # by readings
    assert list(closed(FULL, rights(asked, model_outputs="none"))) == ["rights_documented"]


def test_data_that_was_seen_before_the_seal_closes_its_gate() -> None:
    seen = msgspec.structs.replace(SPEC, data_access="seen")
    assert closed(FULL, seen) == {"sealed_before_look": "the plan says that its data had been seen before the seal"}
    assert closed(FULL, msgspec.structs.replace(SPEC, data_access="collected_unseen")) == {}


def test_a_plan_that_asks_for_no_replay_is_not_said_to_be_replayed() -> None:
    plain = msgspec.structs.replace(SPEC, verifiers=("witness",))
    (ruling,) = (one for one in decide_gates(plain, FULL, {}) if one.gate == "files_verify")
    assert ruling.open and "no episode run again" in ruling.evidence


def test_whose_verifiers_ruled_is_said() -> None:
    both = msgspec.structs.replace(SPEC, verifiers=("witness", "mine"))
    evidence = replace(FULL, verifiers={"witness": "sealkit's", "mine": "the study's own"})
    (ruling,) = (one for one in decide_gates(both, evidence, {}) if one.gate == "files_verify")
    assert ruling.open and ruling.evidence.endswith("; ruled by mine (the study's own), witness (sealkit's)")


def test_exploratory_claims_leave_the_map_openly() -> None:
    marked = replace(FULL, exploratory=("enforced-revalidation-helps",))
    (ruling,) = (one for one in decide_gates(SPEC, marked, {}) if one.gate == "claims_follow_map")
    count = len(SPEC.claims)
    assert (
        ruling.open and f"{count - 1} of {count} claims" in ruling.evidence and "1 are exploratory" in ruling.evidence
    )


# --- whether counts add up -----------------------------------------------------------------------


def test_what_the_analysis_counts_adds_up_whatever_became_of_the_slots() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=6, endings={"agent_stopped": "missing"})
    outcome = by_arm(plus=[1, 0, EXCLUDED, MISSING, "agent_stopped", 1], minus=[0, 0, 1, EXCLUDED, 1, MISSING])
    assert irreconcilable(plan.spec, analysed(plan, outcome).record) == ()
    effect = (
        "{contrast: plus - minus, join: [family, seed, fault], cluster: [family, seed], population: all, method: boot}"
    )
    units = small({"e": effect}, seeds=3, metrics={"success": "{kind: binary, better: higher, unit: fault}"})
    record = analysed(units, lambda slot: {"success": {"one": 1, "two": int(slot["arm"] == "plus")}}).record
    assert irreconcilable(units.spec, record) == ()


def edited(*path: str | int, value: Any) -> tuple[str, ...]:
    plan = small({"e": PAIRED % "tango"}, seeds=6)
    record: Any = msgspec.json.decode(analysed(plan, pairs_of(6, 2, 1)).line)
    place = record
    for step in path[:-1]:
        place = place[step]
    assert place[path[-1]] != value
    place[path[-1]] = value
    return irreconcilable(plan.spec, record)


def test_every_count_that_is_off_is_named() -> None:
    assert edited("flow", "plus", "slots", value=7) == (
        "arm plus: 7 slots, but 6 admitted, 0 excluded, 0 errored, 0 missing",
        "arm plus: 6 episodes of 7 slots, 0 of them missing",
    )
    assert edited("flow", "plus", "outcomes", value=5) == ("arm plus: 5 outcomes of 6 admitted, 0 without",)
    assert edited("flow", "plus", "excluded", value={"boundary": 1}) == (
        "arm plus: 6 slots, but 6 admitted, 1 excluded, 0 errored, 0 missing",
    )
    assert edited("flow", value={}) == ("the flow has the arms , the plan plus, minus",)
    assert edited("effects", 0, "basis", 0, "absent", value=1) == (
        "effect e on success: 6 planned, but n is 6, 1 absent, 0 without a value",
    )


def test_a_gate_that_an_amendment_after_the_look_left_out_is_decided_all_the_same() -> None:
    spec = msgspec.structs.replace(SPEC, gates=("files_verify",))
    left_out = "amendment 1, after the first look, left this gate out: it is decided all the same"
    rulings = decide_gates(spec, replace(FULL, sealed=None), {"sealed_before_look": left_out})
    assert [(one.gate, one.open) for one in rulings] == [("files_verify", True), ("sealed_before_look", False)]
    assert rulings[1].evidence == f"the journal has no entry sealed; {left_out}"
    assert not all_open(rulings)


def test_claims_that_an_amendment_dropped_after_the_look_are_counted() -> None:
    (ruling,) = (one for one in decide_gates(SPEC, replace(FULL, dropped=2), {}) if one.gate == "claims_follow_map")
    assert ruling.open and ruling.evidence.endswith(
        "; 2 more, dropped or reworded after the first attempt, stay listed"
    )


def test_what_could_not_be_run_again_is_told_and_what_was_withheld_closes() -> None:
    said = "bodies are withheld: 2 episodes and 5 readings could not be run again"
    assert closed(replace(FULL, withheld=(2, 5))) == {"files_verify": said}
    assert closed(replace(FULL, withheld=(0, 1))).keys() == {"files_verify"}
    rulings = decide_gates(SPEC, replace(FULL, programs=3), {})
    (words,) = (ruling.evidence for ruling in rulings if ruling.open and ruling.gate == "files_verify")
    assert "but for what the programs of 3 episodes decided, which were not run again" in words
