"""One edition of a study: what is published, built from its records, the same bytes whenever it is built.

    edition = build_edition(study, step=…)         # nothing written; every gate decided, every claim ruled on
    edition = edition_of(study, review)            # the same, from a review in which the sealed judge measured
    write_edition(edition, folder)                 # only if all of the plan's gates are open; never over another

An edition is a function of the pins, the episodes, and the journal up to its last `analysed` entry. Its files:
results.json (every number of the report is read from it), report.md, report.html, bundle.tar.
"""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final, cast

import sealkit
from sealkit.files import create_in_chunks, open_folder, read_in_chunks, sync_folder, to_type
from sealkit.infer.analysis import Analysis
from sealkit.infer.claims import ClaimRuling, Reservations, rule_claims
from sealkit.infer.denominators import irreconcilable
from sealkit.infer.gates import Evidence, GateRuling, all_open, decide_gates, not_asked
from sealkit.plan.ruling import GATE_MEANINGS
from sealkit.plan.schema import Spec
from sealkit.plan.slots import slot_count
from sealkit.publish.amended import Amended, amended, off_the_map
from sealkit.publish.analyse import analysis_of
from sealkit.publish.bundle import Bundle, make_bundle
from sealkit.publish.failures import Failures
from sealkit.publish.gates_ruled import gates_by_hypothesis
from sealkit.publish.markdown import markdown
from sealkit.publish.methods import Course, methods
from sealkit.publish.not_proved import not_proved
from sealkit.publish.page import page
from sealkit.publish.planned import planned
from sealkit.publish.review import Review, review
from sealkit.seal.archive import MAX_ARCHIVE
from sealkit.seal.journal import CALLS
from sealkit.verify.study import Study
from sealkit.verify.under_pin import VerifierState
from sealkit.wire.attempts import read_calls
from sealkit.wire.canon import decode_value, encode_value
from sealkit.wire.chain import Analysed, JournalHead
from sealkit.wire.digest import PREFIX, digest_bytes, short
from sealkit.wire.errors import HarnessError, MalformedError, OutOfOrderError, UntrustedError
from sealkit.wire.records import Json

EDITION: Final = "sealkit/edition/v1"
BUNDLE: Final = "bundle.tar"
MAX_RESULTS: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Edition:
    """An edition: its name, its files, its bundle to be written, and what decided whether it may be written."""

    name: str
    plan: str
    pin: str
    files: Mapping[str, bytes]  # all but the bundle
    bundle: Bundle
    claims: tuple[ClaimRuling, ...]
    gates: tuple[GateRuling, ...]
    head: JournalHead
    results: str
    recorded: bool  # whether the journal has it as published

    @property
    def may_be_published(self) -> bool:
        """Whether every gate of the plan is open."""
        return all_open(self.gates)

    def digests(self) -> dict[str, str]:
        """The digest of every file, the bundle too, by its name."""
        return {name: digest_bytes(data) for name, data in self.files.items()} | {BUNDLE: self.bundle.digest}


def build_edition(study: Study, *, step: Callable[[int], None]) -> Edition:
    """The edition of the study's last analysis; `OutOfOrderError` if there is none that stands."""
    found = review(study, anchors=(), measure=True, step=step)
    return edition_of(study, found)


def edition_of(study: Study, found: Review) -> Edition:
    """The edition of a study that was reviewed, its episodes measured; `OutOfOrderError` if no analysis stands.

    The sealed world makes every scenario again: `UntrustedError` if one is another.
    """
    history = study.sealed.history()
    so_far, course, head, analyses = Course(), Course(), history.head, 0
    failures, failed = Failures(), list[Json]()
    for entry in history.entries():
        so_far.see(entry)
        failures.see(entry)
        so_far.hear(read_calls(history.calls, where=f"{CALLS} (entry {entry.seq})"))
        if isinstance(entry.event, Analysed):
            course, head, analyses = copy.deepcopy(so_far), history.head, analyses + 1
            failed = failures.record()
    if not analyses:
        path = study.sealed.path
        raise OutOfOrderError("there is no analysis to publish", where=str(path), remedy=to_type("analyse", path))
    if found.changed_since:
        path = study.sealed.path
        what = "an amendment, a withdrawal or a withheld body came after the last analysis"
        raise OutOfOrderError(what, where=str(path), remedy=to_type("analyse", path))
    study.check_scenarios()
    analysis = analysis_of(study, found)
    return _edition(study, found, analysis, course, head, analyses, failed)


def _edition(
    study: Study,
    found: Review,
    analysis: Analysis,
    course: Course,
    head: JournalHead,
    analyses: int,
    failed: list[Json],
) -> Edition:
    sealed, spec = study.sealed, study.sealed.plan.spec
    after = amended(study, found, analysis)
    gates = decide_gates(spec, _evidence(study, found, analysis, course, after), after.gates)
    claims = (*rule_claims(spec, analysis.verdicts, _reservations(analysis, after, gates)), *after.earlier_claims)
    results = digest_bytes(analysis.line)
    # Analysed again after an amendment or a withdrawal, the same numbers may come with other claims.
    name = f"{spec.id}-{short(results)}" + (f"-{analyses}" if analyses > 1 else "")
    bundle = make_bundle(sealed, head)
    document: dict[str, Json] = {
        "type": EDITION,
        "edition": name,
        "made_by": f"sealkit {sealkit.__version__}",
        "plan": planned(spec),
        "analysis": dict(analysis.record),
        "failures": failed,
        **_readings(found),
        "claims": [_claim(spec, ruling) for ruling in claims],
        "gates": [
            {"gate": gate.gate, "meaning": gate.meaning, "open": gate.open, "evidence": gate.evidence} for gate in gates
        ],
        "gates_not_asked": [{"gate": gate, "meaning": GATE_MEANINGS[gate]} for gate in not_asked(gates)],
        "amendments": [dict(row) for row in after.rows],
        "after_amendments": dict(after.record),
        "withdrawn": dict(found.withdrawn),
        "methods": methods(spec, sealed.seal, sealed.pin, course),
        "study": _study(study, found, course, head, results) | {"bundle": bundle.digest},
        "does_not_prove": list(not_proved(spec.evidence)),
    }
    line = encode_value(document)
    # The reports are made of what was written, keys in its order: a reader has nothing else.
    written = cast(dict[str, Json], decode_value(line))
    files = {
        "results.json": line + b"\n",
        "report.md": markdown(written).encode(),
        "report.html": page(written).encode(),
    }
    recorded = found.published.get(name) == digest_bytes(files["results.json"])
    return Edition(name, spec.id, sealed.pin, files, bundle, claims, gates, head, results, recorded)


def _evidence(study: Study, found: Review, analysis: Analysis, course: Course, after: Amended) -> Evidence:
    spec, exploratory = study.sealed.plan.spec, after.reservations.exploratory
    per_arm = slot_count(spec, "confirmatory") // len(spec.factors.arm)
    return Evidence(
        sealed=course.sealed,
        first_attempt=course.first_attempt,
        first_look=course.first_look,
        arms=found.arms,
        planned=dict.fromkeys(spec.factors.arm, per_arm),
        recorded_agrees=found.as_recorded,
        irreconcilable=irreconcilable(spec, analysis.record),
        off_the_map=off_the_map(study.sealed, exploratory),
        exploratory=tuple(name for name in spec.claims if name in exploratory),
        dropped=len(after.earlier_claims),
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
    exclusions = analysis.record.get("exclusions")
    over = exclusions.get("over_cap") if isinstance(exclusions, dict) else None
    held: dict[str, str] = {}
    if shut or not gates:
        held["*"] = f"a gate is closed: {shut}" if gates else "the plan names no gate"
    if isinstance(over, list) and over:
        what = "more slots are without an outcome than the plan's exclusion cap allows"
        held["*"] = f"{what}, in {', '.join(map(str, over))}"
    return replace(after.reservations, withheld=held | dict(after.reservations.withheld))


def _claim(spec: Spec, ruling: ClaimRuling) -> Json:
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


def write_edition(edition: Edition, publications: Path) -> bool:
    """The edition stands in `publications/NAME`, whole, after this; whether it is new. Nobody else publishes the plan.

    It is written beside its place and moved there at once: a crash leaves no part of an edition, and what it leaves the
    next call removes. An edition that is there is compared, byte by byte, and never written over: `UntrustedError` if
    it differs.
    """
    publications.mkdir(parents=True, exist_ok=True)
    open_folder(publications, inside=publications.parent).close()  # refuses a link
    folder, making = publications / edition.name, publications / f".{edition.plan}.making"
    _remove(making)
    if os.path.lexists(folder):
        return _complete(edition, folder, publications)
    making.mkdir()
    for name in edition.digests():
        _write(edition, making, name)
    try:
        os.rename(making, folder)
    except OSError as error:
        what = f"cannot be moved there: {error.strerror}"
        raise HarnessError(what, where=str(folder), remedy="publish again") from error
    sync_folder(publications)
    return True


def _remove(making: Path) -> None:
    """What a crash left of an edition is gone after this."""
    if not os.path.lexists(making):
        return
    try:
        making.unlink() if making.is_symlink() or not making.is_dir() else shutil.rmtree(making)
    except OSError as error:
        what = f"a crash left this, and it cannot be removed: {error.strerror}"
        raise HarnessError(what, where=str(making), remedy="remove it, and publish again") from error


def _complete(edition: Edition, folder: Path, publications: Path) -> bool:
    """Compare what is there; whether something was lacking, which is there now."""
    lacking = []
    for name, due in edition.digests().items():
        path = folder / name
        there = digest_of_file(path, inside=publications)
        if there is None:
            lacking.append(name)
        elif there != due:
            raise UntrustedError(
                f"differs from the edition built now ({short(there)} there, {short(due)} now)",
                where=str(path),
                remedy="it was edited, or built by another sealkit; move it away to build it again",
            )
    for name in lacking:
        _write(edition, folder, name)
    return bool(lacking)


def _write(edition: Edition, folder: Path, name: str) -> None:
    create_in_chunks(folder / name, edition.bundle.chunks() if name == BUNDLE else (edition.files[name],))


def digest_of_file(path: Path, *, inside: Path) -> str | None:
    """The digest of the bytes of a regular file, which are not held in memory; None if there is none."""
    hashed, left = sha256(), 2 * MAX_ARCHIVE
    try:
        for chunk in read_in_chunks(path, inside=inside):
            hashed.update(chunk)
            left -= len(chunk)
            if left < 0:
                raise MalformedError(f"more than {2 * MAX_ARCHIVE} bytes", where=str(path))
    except FileNotFoundError:
        return None
    return PREFIX + hashed.hexdigest()
