"""What amendments and withdrawals make of an analysis: which claims they hold back, and what is to be told of each.

    found = amended(study, review, analysis)
    found.reservations          for `infer.claims.rule_claims`
    found.notes                 what is to be said of claims that stay: "as amended before the first look"
    found.rows                  one row an amendment, for the report
    found.sensitivity           effects and verdicts with the first episodes in the place of those that were run again
    found.at_look               the verdicts by the code that was pinned at the first look, where it has changed since
    found.earlier               what was asked at the look or later and is not asked any more: verdicts, withheld claims
    found.gates                 the gates that amendments after the look brought or left out

The rule is that of docs/decisions/0008. What an amendment touched after the first look stays exploratory, also if
another one puts it back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from sealkit.infer.analysis import Analysis, pairs_read, ruled_on
from sealkit.infer.cells import Cells
from sealkit.infer.claims import ClaimRuling, Reservations
from sealkit.infer.effects import Effects, effects_under
from sealkit.infer.rows import effect_row
from sealkit.infer.verdicts import Verdict
from sealkit.plan.ruling import Gate, Need, needs_of
from sealkit.plan.schema import Spec
from sealkit.publish.asked import claims_of_earlier, gates_amended, rows_of_earlier
from sealkit.publish.late import Late
from sealkit.publish.measuring import Asking, pin_at_look, ruling_changed_since_look
from sealkit.publish.review import Review
from sealkit.publish.ruling_at_look import Verdicts
from sealkit.seal.changes import unchanged_words
from sealkit.seal.commitment import Amendment
from sealkit.seal.foundations import moved_under_claims
from sealkit.seal.in_force import LOOKED
from sealkit.seal.pins import Pinned
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.study import Study
from sealkit.wire.digest import short
from sealkit.wire.records import Json


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What the same plan comes to on other cells."""

    effects: Effects
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Amended:
    """What follows from the amendments and withdrawals of a study."""

    spec: Spec
    reservations: Reservations
    notes: Mapping[str, str]
    rows: tuple[Mapping[str, Json], ...]
    sensitivity: Sensitivity | None
    at_look: Verdicts | None
    differing: tuple[Mapping[str, Json], ...]  # verdicts that are others in `sensitivity` or `at_look`
    earlier: tuple[Mapping[str, Json], ...]
    earlier_claims: tuple[ClaimRuling, ...]
    gates: Mapping[Gate, str]

    @property
    def record(self) -> Mapping[str, Json]:
        """All of it but the rows, as an edition holds it."""
        rows: list[Json] = [dict(row) for row in self.differing]
        return {
            "sensitivity": None if self.sensitivity is None else _sensitivity_row(self.spec, self.sensitivity),
            "at_look": None if self.at_look is None else [
                {"hypothesis": name, "metric": metric, "verdict": self.at_look[name, metric]}
                for name, metric in sorted(self.at_look, key=lambda key: (key[0], key[1] or ""))
            ],
            "differing": rows,
            "earlier": [dict(row) for row in self.earlier],
        }  # fmt: skip


def amended(study: Study, found: Review, analysis: Analysis) -> Amended:
    """What the amendments of a study, whose episodes the review measured, make of its analysis."""
    sealed, measuring = study.sealed, found.measuring
    sensitivity = at_look = None
    if measuring is not None and measuring.first_cells is not None:
        sensitivity = _again(measuring.first_cells)
    if measuring is not None and measuring.far_cells is not None:
        at_look = measuring.far_cells.verdicts()
    differing = [
        *_differing("first episodes", analysis, _by_key(sensitivity)),
        *_differing("code at the look", analysis, at_look),
    ]
    today = _by_key(analysis)
    earlier = [(one.earlier, _verdicts_of(one)) for one in (measuring.earlier if measuring is not None else ())]
    return Amended(
        spec=sealed.plan.spec,
        reservations=Reservations(
            withheld={name: f"withdrawn: {reason}" for name, reason in found.withdrawn.items()},
            exploratory=_exploratory(sealed, analysis, found.late, _by_key(sensitivity), at_look),
        ),
        notes=_notes(sealed, found.late),
        rows=tuple(_row(before, after) for before, after in pairwise(sealed.pins)),
        sensitivity=sensitivity,
        at_look=at_look,
        differing=tuple(differing),
        earlier=tuple(row for one, ruled in earlier for row in rows_of_earlier(one, ruled, today)),
        earlier_claims=tuple(
            ruling for one, ruled in earlier for ruling in claims_of_earlier(one, ruled, found.withdrawn)
        ),
        gates=gates_amended(sealed.pins),
    )


def _verdicts_of(asking: Asking) -> Verdicts:
    return _by_key(_again(asking.cells)) if isinstance(asking.cells, Cells) else asking.cells.verdicts()


def _again(cells: Cells) -> Sensitivity:
    spec = cells.spec
    effects = effects_under(cells, pairs_read(spec), spec.sample.missing)
    return Sensitivity(effects, ruled_on(spec, effects))


def off_the_map(sealed: SealedPlan, exploratory: Collection[str]) -> tuple[str, ...]:
    """Each claim that is not exploratory, and what it stands on that is not as it was pinned at the first look."""
    then = pin_at_look(sealed)
    if then is None:
        return ()
    moved = moved_under_claims(then.plan, sealed.plan)
    unmarked = [name for name in moved if name in sealed.plan.spec.claims and name not in exploratory]
    return tuple(f"{name} ({', '.join(moved[name])})" for name in unmarked)


# --- claims --------------------------------------------------------------------------------------


def _exploratory(
    sealed: SealedPlan, analysis: Analysis, late: Late, first: Verdicts | None, at_look: Verdicts | None
) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for before, after in pairwise(sealed.pins):
        amendment = after.commitment
        when = _too_late(amendment, late) if isinstance(amendment, Amendment) else None
        if when is not None:
            for name, moved in moved_under_claims(before.plan, after.plan).items():
                reasons.setdefault(name, f"{when}, changed what it stands on: {', '.join(moved)}")
    then = ruling_changed_since_look(sealed)
    if at_look is not None and then is not None:
        words = f"by the code pinned at the first look ({short(then.pin)})"
        for name, why in _unlike(sealed, analysis, at_look, words):
            reasons.setdefault(name, why)
    if late.played_on is not None:
        when = f"amendment {late.played_on}, after the first look,"
        for name in sealed.plan.spec.claims:
            reasons.setdefault(name, f"{when} changed what episodes run under, and more came after")
    for one in late.lost:
        why = f"shard {one.shard} of {one.of} was lost, and its slots may have run anew by choice"
        reasons |= {name: reasons.get(name, why) for name in sealed.plan.spec.claims}
    if first is not None:
        for name, why in _unlike(sealed, analysis, first, _superseded(sealed)):
            reasons.setdefault(name, why)
    return {name: why for name, why in reasons.items() if name in sealed.plan.spec.claims}


def _too_late(amendment: Amendment, late: Late) -> str | None:
    """Which amendment, and what makes it too late for claims on what it changes; None if it was in time."""
    if amendment.phase in LOOKED:
        return f"amendment {amendment.number}, after the first look"
    if amendment.number in late.full:
        return f"amendment {amendment.number}, when the run had ended or every slot had its outcome"
    return None


def _notes(sealed: SealedPlan, late: Late) -> dict[str, str]:
    """For each claim that stands on something that was changed before the first look: that it was."""
    notes: dict[str, str] = {}
    for before, after in pairwise(sealed.pins):
        amendment = after.commitment
        if isinstance(amendment, Amendment) and _too_late(amendment, late) is None:
            tried = ", after the first confirmatory attempt" if amendment.phase == "after_first_episode" else ""
            for name in moved_under_claims(before.plan, after.plan):
                notes[name] = f"as amended before the first look{tried} (amendment {amendment.number})"
    return {name: note for name, note in notes.items() if name in sealed.plan.spec.claims}


def _superseded(sealed: SealedPlan) -> str:
    """In words, which episodes the first ones are: a draw that pleases less stays in the record, whenever it came."""
    numbers = [str(amendment.number) for amendment in sealed.amendments if amendment.superseded]
    late = any(amendment.superseded and amendment.phase in LOOKED for amendment in sealed.amendments)
    which = f"amendment{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
    return f"with the episodes that {which} superseded{' after the first look' if late else ''}"


def _unlike(sealed: SealedPlan, analysis: Analysis, other: Verdicts, words: str) -> Iterator[tuple[str, str]]:
    """The claims that need a verdict which is another in `other`, with a sentence."""
    now = _by_key(analysis)
    for name, claim in sealed.plan.spec.claims.items():
        for need in needs_of(claim):
            for key in _keys(need, now):
                if key in other and other[key] != now[key]:
                    yield name, f"{_spell(key)} is {now[key]}, and {other[key]} {words}"


def _keys(need: Need, verdicts: Verdicts) -> Iterator[tuple[str, str | None]]:
    return (key for key in verdicts if key[0] == need.hypothesis and need.metric in (None, key[1]))


def _by_key(analysis: Analysis | Sensitivity | None) -> Verdicts:
    return {(one.hypothesis, one.metric): one.verdict for one in analysis.verdicts} if analysis is not None else {}


def _spell(key: tuple[str, str | None]) -> str:
    return f"{key[0]} on {key[1]}" if key[1] is not None else key[0]


# --- rows ----------------------------------------------------------------------------------------


def _differing(source: str, analysis: Analysis, other: Verdicts | None) -> Iterator[Mapping[str, Json]]:
    for key, verdict in _by_key(analysis).items():
        if other and key in other and other[key] != verdict:
            yield {"source": source, "hypothesis": key[0], "metric": key[1], "verdict": verdict, "other": other[key]}


def _sensitivity_row(spec: Spec, found: Sensitivity) -> Json:
    effects: list[Json] = []
    for (name, metric), estimated in sorted(found.effects.items()):
        row: dict[str, Json] = {"effect": name, "metric": metric}
        effects.append(row | effect_row(spec, spec.effects[name], metric, estimated))
    verdicts: list[Json] = [
        {"hypothesis": one.hypothesis, "metric": one.metric, "verdict": one.verdict, "why": one.why}
        for one in found.verdicts
    ]
    return {"effects": effects, "verdicts": verdicts}


def _row(before: Pinned, after: Pinned) -> Mapping[str, Json]:
    amendment = after.commitment
    assert isinstance(amendment, Amendment)
    changed = amendment.changed
    unchanged: list[Json] = list(unchanged_words(before.commitment.plan, amendment.plan))
    return {
        "number": amendment.number, "made_at": amendment.made_at, "reason": amendment.reason, "phase": amendment.phase,
        "after_look": amendment.phase in LOOKED, "pin": after.pin, "changed": "; ".join(_changed(amendment)),
        "unchanged": unchanged, "effect": "; ".join(amendment.effect), "superseded": len(amendment.superseded),
        "protected": list(changed.protected), "ruling": len(changed.ruling), "harness": len(changed.harness),
    }  # fmt: skip


def _changed(amendment: Amendment) -> Iterator[str]:
    changed = amendment.changed
    sections = (*changed.protected, *changed.described)
    if sections:
        yield f"sections {', '.join(sections)}"
    if changed.layout:
        yield "comments or layout of the plan"
    for kind, files in (("ruling code", changed.ruling), ("harness", changed.harness)):
        if files:
            more = f" and {len(files) - 5} more" if len(files) > 5 else ""
            yield f"{kind}: {', '.join(file.path for file in files[:5])}{more}"
    if changed.scenarios:
        yield f"{changed.scenarios} scenarios"
    if amendment.superseded:
        yield f"{len(amendment.superseded)} blocks to be run again"
