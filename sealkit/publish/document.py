"""What `results.json` of an edition holds, from the records of a study and the analysis of it.

    upto = journal_upto(study)                                        # what the journal says up to its last analysis
    ruled = rulings(study, found, analysis, evidence_of(…))           # every gate decided, every claim ruled on
    document_of(study, found, analysis, upto, ruled, bundle_digest)   # the record, reports are made of nothing else

`publish.edition` gives it an analysis that was made now, `publish.held` one that an edition quotes.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Final

import sealkit
from sealkit.infer.analysis import Analysis
from sealkit.infer.claims import ClaimRuling, Reservations, rule_claims
from sealkit.infer.denominators import irreconcilable
from sealkit.infer.gates import Evidence, GateRuling, decide_gates, not_asked
from sealkit.plan.ruling import GATE_MEANINGS
from sealkit.plan.schema import Spec
from sealkit.plan.slots import slot_count
from sealkit.publish.claims.amended import Amended, amended, off_the_map
from sealkit.publish.claims.gates_ruled import closed_by_draws, gates_by_hypothesis
from sealkit.publish.claims.lost_values import held_by_cap, verdicts_cut_off, with_tries
from sealkit.publish.failures import Failures
from sealkit.publish.methods import Course, methods
from sealkit.publish.not_proved import not_proved
from sealkit.publish.planned import planned
from sealkit.publish.review.study import Review
from sealkit.seal.journal import CALLS
from sealkit.verify.study import Study
from sealkit.verify.under_pin import VerifierState
from sealkit.wire.attempts import read_calls
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.events import Analysed
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.records import Json

EDITION: Final = "sealkit/edition/v2"


@dataclass(frozen=True, slots=True)
class Upto:
    """What the journal says up to its last analysis: all that an edition is told of its course."""

    course: Course
    head: JournalHead
    analyses: int
    failed: list[Json]


@dataclass(frozen=True, slots=True)
class Rulings:
    """What amendments come to, the gates, and the claims."""

    after: Amended
    gates: tuple[GateRuling, ...]
    claims: tuple[ClaimRuling, ...]


def journal_upto(study: Study) -> Upto | None:
    """What the journal says up to its last analysis; None if there is none."""
    history = study.sealed.history()
    so_far, failures, found, analyses = Course(), Failures(), None, 0
    for entry in history.entries():
        so_far.see(entry)
        failures.see(entry)
        so_far.hear(read_calls(history.calls, where=f"{CALLS} (entry {entry.seq})"))
        if isinstance(entry.event, Analysed):
            analyses += 1
            found = Upto(copy.deepcopy(so_far), history.head, analyses, failures.record())
    return found


def rulings(study: Study, found: Review, analysis: Analysis, evidence: Evidence) -> Rulings:
    """Every gate decided and every claim ruled on, by this sealkit's rules; `evidence` as `evidence_of` gives it."""
    spec, after = study.sealed.plan.spec, amended(study, found, analysis)
    exploratory = after.reservations.exploratory
    evidence = replace(
        evidence,
        ruled=closed_by_draws(spec, evidence.ruled, after),
        off_the_map=off_the_map(study.sealed, exploratory),
        exploratory=tuple(name for name in spec.claims if name in exploratory),
        dropped=len(after.earlier_claims),
    )
    gates = decide_gates(spec, evidence, after.gates)
    held = with_tries(_reservations(analysis, after, gates), spec, analysis.record, found.cut_off)
    claims = (*rule_claims(spec, analysis.verdicts, held), *after.earlier_claims)
    return Rulings(after, gates, claims)


def name_of(spec: Spec, results: str, analyses: int) -> str:
    """What the edition of the analysis number `analyses`, with these results, is called."""
    # Analysed again after an amendment or a withdrawal, the same numbers may come with other claims.
    return f"{spec.id}-{short(results)}" + (f"-{analyses}" if analyses > 1 else "")


def document_of(
    study: Study, found: Review, analysis: Analysis, upto: Upto, ruled: Rulings, bundle: str
) -> dict[str, Json]:
    """What `results.json` of an edition holds; `bundle` is the digest of its bundle."""
    sealed, spec, after = study.sealed, study.sealed.plan.spec, ruled.after
    results = digest_bytes(analysis.line)
    return {
        "type": EDITION,
        "edition": name_of(spec, results, upto.analyses),
        "made_by": f"sealkit {sealkit.__version__}",
        "plan": planned(spec),
        "analysis": dict(analysis.record),
        "failures": upto.failed,
        **_abandoned(spec, found, analysis),
        **_readings(found),
        "claims": [claim_row(spec, ruling) for ruling in ruled.claims],
        "gates": [
            {"gate": gate.gate, "meaning": gate.meaning, "open": gate.open, "evidence": gate.evidence}
            for gate in ruled.gates
        ],
        "gates_not_asked": [{"gate": gate, "meaning": GATE_MEANINGS[gate]} for gate in not_asked(ruled.gates)],
        "amendments": [dict(row) for row in after.rows],
        "after_amendments": dict(after.record),
        **_analyses(after),
        "withdrawn": dict(found.withdrawn),
        "methods": methods(spec, sealed.seal, sealed.pin, upto.course),
        "study": _study(study, found, upto.course, upto.head, results) | {"bundle": bundle},
        "does_not_prove": list(not_proved(spec.evidence)),
    }


def evidence_of(study: Study, found: Review, analysis: Analysis, course: Course) -> Evidence:
    """What gates are decided on, but for what amendments came to."""
    spec = study.sealed.plan.spec
    per_arm = slot_count(spec, "confirmatory") // len(spec.factors.arm)
    return Evidence(
        sealed=course.sealed,
        first_attempt=course.first_attempt,
        first_look=course.first_look,
        arms=found.arms,
        planned=dict.fromkeys(spec.factors.arm, per_arm),
        recorded_agrees=found.as_recorded,
        irreconcilable=irreconcilable(spec, analysis.record),
        off_the_map=None,
        exploratory=(),
        dropped=0,
        faults=found.faults,
        replayed=study.sandbox is not None,
        verifiers={name: _whose(state) for name, state in study.verifiers.items()},
        withheld=(study.reruns.withheld, study.readings.withheld),
        programs=study.reruns.programs,
        collected_before=tuple(one.arm for one in course.imported if one.before_seal),
        rederived=found.analysed == digest_bytes(analysis.line),
        ruled=gates_by_hypothesis(study.sealed, analysis),
    )


def _whose(state: VerifierState) -> str:
    """Whose verifier ruled. The same for everybody who builds the edition, whatever their own sealkit is."""
    return state if state == "the study's own" else "sealkit's"


def _reservations(analysis: Analysis, after: Amended, gates: tuple[GateRuling, ...]) -> Reservations:
    """What holds claims back: withdrawals, amendments, and what holds back all, lost outcomes and closed gates."""
    shut = ", ".join(gate.gate for gate in gates if not gate.open)
    held: dict[str, str] = {}
    if shut or not gates:
        held["*"] = f"a gate is closed: {shut}" if gates else "the plan names no gate"
    withheld = held | held_by_cap(analysis.record) | dict(after.reservations.withheld)
    return replace(after.reservations, withheld=withheld)


def claim_row(spec: Spec, ruling: ClaimRuling) -> Json:
    """A claim as `results.json` holds it."""
    needs: list[Json] = [
        {
            "hypothesis": met.need.hypothesis,
            "metric": met.need.metric,
            "due": list(met.need.verdict),
            "found": met.found,
        }
        for met in ruling.needs
    ]
    return {
        "name": ruling.name, "text": ruling.claim.text, "stratum": ruling.claim.stratum, "status": ruling.status,
        "does_not_show": ruling.claim.does_not_show, "needs": needs, "why": ruling.why,
        "evidence": spec.evidence,
    }  # fmt: skip


def _analyses(after: Amended) -> dict[str, Json]:
    """What earlier analyses came to, where it is not what this edition says."""
    rows: list[Json] = [dict(row) for row in after.analyses]
    return {"earlier_analyses": rows} if rows else {}


def _abandoned(spec: Spec, found: Review, analysis: Analysis) -> dict[str, Json]:
    """Tries that were abandoned and begun again, by verdict, where there are any."""
    rows = verdicts_cut_off(spec, analysis.record, found.cut_off)
    return {"abandoned": rows} if rows else {}


def _readings(found: Review) -> dict[str, Json]:
    """What models read, and what that used, where the plan asks for it."""
    if not found.readings:
        return {}
    levels: dict[str, Json] = {name: dict(counts.items()) for name, counts in found.readings.items()}
    used = found.reading_calls
    calls: dict[str, Json] = {
        "calls": used.calls, "requests": used.requests, "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens, "cost_microusd": used.cost_microusd,
    }  # fmt: skip
    return {"readings": {"levels": levels, "used": calls}}


def _study(study: Study, found: Review, course: Course, head: JournalHead, results: str) -> dict[str, Json]:
    sealed, spec = study.sealed, study.sealed.plan.spec
    seal = sealed.seal
    trees: dict[str, Json] = {tree.path: tree.root for tree in seal.closure.trees}
    return {
        "plan": spec.id, "title": spec.title, "question": spec.question, "confounds": list(spec.confounds),
        "power": spec.power, "evidence": spec.evidence, "data_access": seal.data_access, "sealed_at": seal.sealed_at,
        "sealkit": seal.sealkit, "pin": sealed.pin, "plan_file": seal.plan.file, "manifest": seal.manifest.root,
        "scenarios": seal.manifest.count, "source": seal.source.digest, "trees": trees, "head": str(head),
        "results": results, "first_attempt": course.first_attempt, "first_look": course.first_look,
        "slots": sum(arm.slots for arm in found.arms.values()),
        "admitted": sum(arm.admitted for arm in found.arms.values()),
        "rights": _rights(spec),
        "environment": f"Python {seal.closure.environment.python}, {seal.closure.environment.system} "
        f"{seal.closure.environment.machine}",
    }  # fmt: skip


def _rights(spec: Spec) -> dict[str, Json]:
    rights = spec.rights
    outputs: Json = rights.model_outputs if isinstance(rights.model_outputs, str) else dict(rights.model_outputs)
    return {"model_outputs": outputs, "humans": rights.humans, **({"data": rights.data} if rights.data else {})}
