"""An edition held against the plan that its bundle seals, its journal, and the estimates that it quotes.

    check_held(released, study, found)     # no code of the study is run, nothing is measured

All of `results.json` is made again but for two things: `made_by`, and the numbers of the analysis, of which the journal
records the digest. The rules of this sealkit rule again on those numbers: verdicts, claims, gates. Where an amendment
after the first attempt, or a reading, asks for measures that only a run of the sealed judge has, what they come to is
taken as quoted, and a claim may be held back further than what is seen here says, never less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, cast

import jinja2

from sealkit.infer.admit import ArmTally
from sealkit.infer.quoted import analysis_quoted, faults_of
from sealkit.plan.actors import CommandArm
from sealkit.plan.ruling import GATES_BY_HYPOTHESIS
from sealkit.publish.bundle import make_bundle
from sealkit.publish.document import claim_row, document_of, evidence_of, journal_upto, rulings
from sealkit.publish.pages.parts import Row, part_of, rows_of
from sealkit.publish.released import OWN, RESULTS, Released
from sealkit.publish.review.asked import Earlier, asked_earlier, claims_of_earlier
from sealkit.publish.review.measuring import pins_since
from sealkit.publish.review.study import Review
from sealkit.seal.in_force import TRIED
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.study import Study
from sealkit.wire.canon import decode_value, digest_json, encode_value
from sealkit.wire.digest import short
from sealkit.wire.errors import HarnessError, MalformedError, UntrustedError
from sealkit.wire.events import EpisodeKept
from sealkit.wire.records import Json
from sealkit.wire.verdict import Origin

_MAP: Final = "claims_follow_map"
_HELD_BACK: Final = ("exploratory", "withheld")  # each holds back more than the one before it
_is_sentence = re.compile(
    r"\$\.(methods|does_not_prove\[[0-9]+\]|gates\[[0-9]+\]\.(evidence|meaning)|gates_not_asked\[[0-9]+\]\.meaning"
    r"|claims\[[0-9]+\]\.why)\Z"
).match
_programs_said = re.compile(r"the programs of ([0-9]{1,12}) episodes").search


def check_held(released: Released, study: Study, found: Review) -> tuple[str, ...]:
    """What was not compared, in words; `UntrustedError` naming the first part that is not what is due.

    The edition is that of the last analysis of the study's journal, whose review measured nothing.
    """
    try:
        compare(released, due_of(released, study, found))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, jinja2.TemplateError) as error:
        what = f"cannot be ruled on again: {type(error).__name__}"
        raise MalformedError(what, where=_where(released), remedy="it was edited") from error
    left = []
    if is_measured_again(study.sealed):
        left.append("what its amendments ask to be measured again (after_amendments, and claims held back for it)")
    if study.sealed.plan.spec.readings:
        left.append("claims held back for readings without an outcome")
    return tuple(left)


def is_measured_again(sealed: SealedPlan) -> bool:
    """Whether an amendment asks for more than one reading of the episodes."""
    return bool(pins_since(sealed, TRIED)) or any(pinned.blocks for pinned in sealed.pins)


def due_of(released: Released, study: Study, found: Review) -> Row:
    """What `results.json` is to say; `UntrustedError` if the analysis that it quotes is not the last, or breaks rules.

    Only what nothing here decides is taken from the edition itself.
    """
    record, spec = part_of(released.document, "analysis"), study.sealed.plan.spec
    upto = journal_upto(study)
    if upto is None or digest_json(record) != found.analysed:
        last = "none" if found.analysed is None else short(found.analysed)
        raise UntrustedError(f"its analysis is not the last that the journal records, {last}", where=_where(released))
    for fault in faults_of(spec, record, found.flow):
        _refuse(released, f"$.analysis.{fault.where}", fault.found, fault.due)
    analysis = analysis_quoted(spec, record, found.flow)
    told = replace(found, arms=_recorded(found))
    evidence = replace(
        evidence_of(study, told, analysis, upto.course),
        faults=0,
        replayed=True,  # as published: what this gate says of a run is seen by a run alone
        withheld=(0, 0),
        programs=_programs(study, released.document),
    )
    ruled = rulings(study, told, analysis, evidence)
    bundle = make_bundle(study.sealed, upto.head).digest
    due = document_of(study, told, analysis, upto, ruled, bundle)
    due["made_by"] = released.document.get("made_by")
    return _as_far_as_seen(due, released, study.sealed, found)


def _recorded(found: Review) -> dict[str, ArmTally]:
    """The admissions that the journal records: where something went unchecked or unmeasured, those found are others."""
    return {
        name: ArmTally(arm.admitted, cast(dict[Origin, int], dict(arm.excluded)), arm.errored, arm.missing)
        for name, arm in (found.recorded or {}).items()
    }


def _programs(study: Study, document: Row) -> int:
    """How many episodes programs decided: as quoted, if there are that many."""
    sealed = study.sealed
    if not any(isinstance(arm, CommandArm) for pinned in sealed.pins for arm in pinned.plan.spec.factors.arm.values()):
        return 0
    there = 0
    for entry in sealed.history().entries():
        if isinstance(event := entry.event, EpisodeKept):
            arms = sealed.under(event.pin).plan.spec.factors.arm
            there += isinstance(arms.get(str(event.slot["arm"])), CommandArm)
    said = _programs_said(" ".join(str(row.get("evidence")) for row in rows_of(document, "gates")))
    return int(said[1]) if said is not None and 0 < int(said[1]) <= there else there


# --- what only measures decide -------------------------------------------------------------------


def _as_far_as_seen(due: Row, released: Released, sealed: SealedPlan, found: Review) -> Row:
    """`due` with what is quoted in the place of what nothing here decides."""
    again = is_measured_again(sealed)
    if not again and not sealed.plan.spec.readings:
        return due
    quoted = released.document
    claims = rows_of(due, "claims")
    if again:
        due["after_amendments"] = quoted.get("after_amendments")
        claims += _claims_of_earlier(sealed, quoted, found)
        for gate, said in zip(rows_of(due, "gates"), rows_of(quoted, "gates"), strict=False):
            if gate["gate"] == said.get("gate") == _MAP:
                gate["evidence"] = said.get("evidence")
            elif gate["gate"] == said.get("gate") and gate["gate"] in GATES_BY_HYPOTHESIS and said.get("open") is False:
                gate |= {"open": False, "evidence": said.get("evidence")}
    for claim, said in zip(claims, rows_of(quoted, "claims"), strict=False):
        if _rank(said.get("status")) > _rank(claim["status"]):
            claim |= {"status": said.get("status"), "why": said.get("why")}
    return due | {"claims": cast(Json, claims)}


def _rank(status: Json) -> int:
    return _HELD_BACK.index(status) if isinstance(status, str) and status in _HELD_BACK else -1


def _claims_of_earlier(sealed: SealedPlan, quoted: Row, found: Review) -> list[Row]:
    """What was claimed before an amendment; what its needs came to, as quoted where it is not among the rows."""
    rows: list[Row] = []
    said = rows_of(quoted, "claims")[len(sealed.plan.spec.claims) :]
    for one in asked_earlier(sealed.pins):
        spec = one.pinned.plan.spec
        rulings_of = claims_of_earlier(one, _verdicts(one, quoted), found.withdrawn)
        rows += [cast(Row, claim_row(spec, ruling)) for ruling in rulings_of]
    for row, there in zip(rows, said, strict=False):
        for need, other in zip(rows_of(row, "needs"), rows_of(there, "needs"), strict=False):
            if need["found"] is None:
                need["found"] = other.get("found")
    return rows


def _verdicts(one: Earlier, quoted: Row) -> dict[tuple[str, str | None], str]:
    return {
        (str(row["hypothesis"]), cast(str | None, row["metric"])): str(row["verdict"])
        for row in rows_of(quoted, "after_amendments", "earlier")
        if (row["pin"], row["amendment"]) == (one.pinned.pin, one.amendment)
    }


# --- comparing -----------------------------------------------------------------------------------


def compare(released: Released, due: Row) -> None:
    """`UntrustedError` naming the first place at which the edition is not `due`.

    Where another sealkit made it, by its own word, its sentences may be worded otherwise, and no more than that: then
    this one cannot tell who worded them so, which is a `HarnessError`.
    """
    line, reworded = encode_value(due), ""
    for where, found, expected in _differences(released.document, decode_value(line), "$"):
        if released.made_by == OWN or not _is_sentence(where) or not (found is _ABSENT or isinstance(found, str)):
            _refuse(released, where, found, expected)
        reworded = reworded or where
    if reworded:
        raise HarnessError(
            f"{reworded} is not worded as this sealkit words it; all that is no such sentence was compared, the same",
            where=_where(released),
            remedy=f"made by {released.made_by}, by its own word: verify with that one",
        )
    if line + b"\n" != released.results:
        raise UntrustedError("is not written as an edition is", where=_where(released), remedy="it was edited")


_ABSENT: Final = object()


def _differences(found: object, due: object, where: str) -> Iterator[tuple[str, object, object]]:
    """Every place at which the two are not the same."""
    if isinstance(found, dict) and isinstance(due, dict):
        for key in dict.fromkeys((*due, *found)):
            yield from _differences(found.get(key, _ABSENT), due.get(key, _ABSENT), f"{where}.{key}")
    elif isinstance(found, list) and isinstance(due, list):
        for place in range(max(len(found), len(due))):
            one, other = (rows[place] if place < len(rows) else _ABSENT for rows in (found, due))
            yield from _differences(one, other, f"{where}[{place}]")
    elif type(found) is not type(due) or found != due:
        yield where, found, due


def _refuse(released: Released, where: str, found: object, due: object) -> None:
    what = f"{where} is {_said(found)}, due {_said(due)} by the sealed plan, the journal and the quoted estimates"
    raise UntrustedError(
        what, where=_where(released), remedy=f"it was edited, or made by another sealkit than {released.made_by}"
    )


def _said(value: object) -> str:
    if value is _ABSENT:
        return "not there"
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _where(released: Released) -> str:
    return str(released.folder / RESULTS)
