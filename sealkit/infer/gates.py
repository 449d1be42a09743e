"""Decides every gate of a plan from evidence that comes in as values; without its evidence a gate is closed.

    sealed_before_look          entry `sealed` precedes the first attempt and the first look in the journal's chain
    baselines_conform           every baseline passed its conformance suite
    forks_isolated              the independent audit found every fork to change exactly its one thing
    denominators_reconcile      every slot has its one status, as was recorded, and every effect's n adds up from there
    false_rejection_acceptable  faithful parents were rejected no more often than the frozen rule allows
    rights_documented           the plan names a licence and its source for outputs of models, humans and data
    claims_follow_map           every claim stands on what was pinned before the first look, or is marked exploratory
    files_verify                the files at hand verify, run again to the same bytes, and give the recorded results;
                                records of an external world cannot be run again, and the gate says so

Three of them are about what a study compares: baselines_conform, forks_isolated and false_rejection_acceptable. The
plan says how each is decided, by a hypothesis of the gate's name: the gate is open if every verdict on it is
`supported`, and the hypothesis stands as it was before the first attempt.

A gate is decided only if the plan names it, or named it when there could be outcomes; what is published needs all of
these open. `NO_EVIDENCE` opens none of them but `rights_documented`, whose evidence is in the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sealkit.infer.admit import ArmTally
from sealkit.plan.lint_world import NOT_REPLAYABLE, RECORDED
from sealkit.plan.rights import lacking
from sealkit.plan.ruling import GATE_MEANINGS, GATES, GATES_BY_HYPOTHESIS, Gate
from sealkit.plan.schema import Spec

REPLAY: Final = "replay"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What gates are decided on. A None says that there is no such evidence.

    Entry numbers are places in the journal. `irreconcilable` names counts of the analysis that do not add up,
    `off_the_map` claims that stand on something that changed when all outcomes were there, without being `exploratory`.
    `dropped` counts claims that are listed as they were asked before an amendment, when there could be outcomes.
    `replayed` says that the sealed source ran, `rederived` that the analysis it gives is the recorded one; `verifiers`
    says of every verifier that ruled whose it is, and `collected_before` names the arms whose logs were begun before
    the seal. `withheld` counts the episodes and the readings that cannot be run again because a body was taken out, and
    `programs` the episodes of arms whose program is not run again. `ruled` says of every hypothesis with the
    name of a gate whether it opens that gate, and why.
    """

    sealed: int | None
    first_attempt: int | None
    first_look: int | None
    arms: Mapping[str, ArmTally]
    planned: Mapping[str, int]
    recorded_agrees: bool
    irreconcilable: tuple[str, ...] | None
    off_the_map: tuple[str, ...] | None
    exploratory: tuple[str, ...]
    dropped: int
    faults: int
    replayed: bool
    rederived: bool
    verifiers: Mapping[str, str]
    withheld: tuple[int, int] = (0, 0)
    programs: int = 0
    collected_before: tuple[str, ...] = ()
    ruled: Mapping[str, tuple[bool, str]] = field(default_factory=dict)


NO_EVIDENCE: Final = Evidence(
    sealed=None, first_attempt=None, first_look=None, arms={}, planned={}, recorded_agrees=False, irreconcilable=None,
    off_the_map=None, exploratory=(), dropped=0, faults=0, replayed=False, rederived=False, verifiers={},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GateRuling:
    """Whether a gate is open, and the evidence in words."""

    gate: Gate
    meaning: str
    open: bool
    evidence: str


def decide_gates(spec: Spec, evidence: Evidence, amended: Mapping[Gate, str]) -> tuple[GateRuling, ...]:
    """The ruling on every gate that the plan names, in its order, and then on the other ones of `amended`.

    `amended` has the gates that amendments brought or left out when there could be outcomes, each with a sentence.
    """
    due = dict.fromkeys((*spec.gates, *amended))
    return tuple(_decide(gate, spec, evidence, amended.get(gate, "")) for gate in due)


def _decide(gate: Gate, spec: Spec, evidence: Evidence, amended: str) -> GateRuling:
    is_open, words = _DECISIONS[gate](spec, evidence)
    return GateRuling(gate, GATE_MEANINGS[gate], is_open, f"{words}; {amended}" if amended else words)


def all_open(rulings: tuple[GateRuling, ...]) -> bool:
    """Whether something may be published: there are gates, and every one is open."""
    return bool(rulings) and all(ruling.open for ruling in rulings)


def not_asked(rulings: tuple[GateRuling, ...]) -> tuple[Gate, ...]:
    """The gates that nobody asked for: nothing was decided on them, and a reader is told so."""
    return tuple(gate for gate in GATES if gate not in {ruling.gate for ruling in rulings})


Decision = tuple[bool, str]


def _sealed_before_look(spec: Spec, evidence: Evidence) -> Decision:
    sealed, look, attempt = evidence.sealed, evidence.first_look, evidence.first_attempt
    if sealed is None:
        return False, "the journal has no entry sealed"
    if attempt is None:
        return False, "nothing was run"
    before = min(attempt, attempt if look is None else look)
    if before < sealed:
        return False, f"sealed is entry {sealed}, but entry {before} came before it"
    if spec.data_access == "seen":
        return False, "the plan says that its data had been seen before the seal"
    if evidence.collected_before and spec.data_access == "none_collected":
        return False, f"arms were collected before the seal: {', '.join(evidence.collected_before)}"
    looked = f"the first look entry {look}" if look is not None else "nobody has looked"
    access = f"data access {spec.data_access}"
    if evidence.collected_before:
        arms = ", ".join(evidence.collected_before)
        access += f"; collected before the seal, by the word of the logs: {arms}"
    return True, f"sealed is entry {sealed}, the first attempt entry {attempt}, {looked}; {access}"


def _denominators_reconcile(spec: Spec, evidence: Evidence) -> Decision:
    for name, arm in evidence.arms.items():
        if arm.slots != evidence.planned.get(name):
            return False, f"arm {name}: {arm.slots} slots ruled on, {evidence.planned.get(name)} planned"
    if not evidence.arms or evidence.arms.keys() != evidence.planned.keys():
        return False, "not every arm was ruled on"
    if not evidence.recorded_agrees:
        return False, "the admissions derived here are not those that the journal records"
    if evidence.irreconcilable is None or evidence.irreconcilable:
        return False, "; ".join(evidence.irreconcilable or ("the analysis' own counts were not added up",))
    slots, admitted = (
        sum(arm.slots for arm in evidence.arms.values()), sum(arm.admitted for arm in evidence.arms.values())
    )  # fmt: skip
    return True, f"{slots} slots in {len(evidence.arms)} arms, {admitted} admitted, the rest each with its status"


def _rights_documented(spec: Spec, evidence: Evidence) -> Decision:
    if wanting := lacking(spec):
        return False, "; ".join(wanting)
    outputs = spec.rights.model_outputs
    said = outputs if isinstance(outputs, str) else ", ".join(f"{role}: {text}" for role, text in outputs.items())
    data = f"; data: {spec.rights.data}" if spec.rights.data else ""
    return True, f"declared, not checked: model outputs: {said}; humans: {spec.rights.humans}{data}"


def _claims_follow_map(spec: Spec, evidence: Evidence) -> Decision:
    if evidence.off_the_map is None:
        return False, "nobody compared the claims with what was pinned at the first look"
    if evidence.off_the_map:
        off = "; ".join(evidence.off_the_map)
        return False, f"changed when all outcomes were there, and not marked exploratory: {off}"
    marked = len(evidence.exploratory)
    rest = f"{len(spec.claims) - marked} of {len(spec.claims)} claims stand on what was pinned before the first look"
    marks = f", {marked} are exploratory" if marked else ""
    late = "dropped or reworded after the first attempt, stay listed"
    dropped = f"; {evidence.dropped} more, {late}" if evidence.dropped else ""
    return True, f"{rest}{marks}{dropped}"


def _files_verify(spec: Spec, evidence: Evidence) -> Decision:
    if evidence.faults:
        return False, f"{evidence.faults} episodes do not hold beyond what was recorded"
    if not evidence.replayed:
        return False, "the sealed source was not run again"
    if not evidence.rederived:
        return False, "the results derived from these files are not those that the journal records"
    if any(evidence.withheld):
        episodes, readings = evidence.withheld
        return False, f"bodies are withheld: {episodes} episodes and {readings} readings could not be run again"
    again = "every episode run again to the same bytes"
    if evidence.programs:
        again += f", but for what the programs of {evidence.programs} episodes decided, which were not run again"
    if spec.evidence == RECORDED:
        again = f"no episode run again: they are {NOT_REPLAYABLE}"
    elif REPLAY not in spec.verifiers:
        again = "no episode run again: the plan asks for none"
    if silent := sorted(set(spec.verifiers) - set(evidence.verifiers)):
        return False, f"no ruling of {', '.join(silent)}"
    ruled = ", ".join(f"{name} ({whose})" for name, whose in sorted(evidence.verifiers.items()))
    return True, f"every byte checked, {again}, the recorded results derived again; ruled by {ruled}"


def _by_hypothesis(gate: Gate) -> Callable[[Spec, Evidence], Decision]:
    def decide(spec: Spec, evidence: Evidence) -> Decision:
        return evidence.ruled.get(gate, (False, f"the plan has no hypothesis {gate}, which alone decides this gate"))

    return decide


_DECISIONS: Mapping[Gate, Callable[[Spec, Evidence], Decision]] = {
    "sealed_before_look": _sealed_before_look,
    "denominators_reconcile": _denominators_reconcile,
    "rights_documented": _rights_documented,
    "claims_follow_map": _claims_follow_map,
    "files_verify": _files_verify,
    **{gate: _by_hypothesis(gate) for gate in GATES_BY_HYPOTHESIS},
}
