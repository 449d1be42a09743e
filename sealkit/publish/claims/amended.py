"""What amendments, withdrawals and withheld replies make of an analysis: which claims they hold back, and why.

    found = amended(study, review, analysis)
    found.reservations          for `infer.claims.rule_claims`; its notes say "as amended before the first look"
    found.rows                  one row an amendment, for the report
    found.generations           effects and verdicts with the first episodes in the place of those that were run again,
                                with the second, and so on
    found.other_code            by pin, the verdicts of code that was pinned when there could be outcomes and is not in
                                force any more
    found.earlier               what was asked then or later and is not asked any more: verdicts, withheld claims
    found.analyses              verdicts of analyses that were recorded earlier, where they are others today
    found.gates                 the gates that amendments brought or left out then or later

The rule is that of docs/decisions/0008, decided where its words are made (`seal.foundations`). What an amendment made
exploratory stays so, also if another one puts it back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sealkit.infer.analysis import Analysis
from sealkit.infer.cells import Cells
from sealkit.infer.claims import ClaimRuling, Reservations
from sealkit.infer.flow import arms_over, tries_again
from sealkit.plan.ruling import Gate, Need, needs_of
from sealkit.plan.schema import Spec
from sealkit.publish.claims.drawn_anew import drawn_anew
from sealkit.publish.claims.lost_readings import held_by_readings
from sealkit.publish.claims.lost_values import arms_under_claims, held_by_values
from sealkit.publish.claims.ruled_again import (
    Generation,
    again,
    by_key,
    generation_rows,
    generations_of,
    held_by_generations,
    one_of,
    sensitivity_row,
)
from sealkit.publish.review.asked import Earlier, claims_of_earlier, gates_amended, rows_of_earlier
from sealkit.publish.review.cut_off import unlike
from sealkit.publish.review.measuring import Asking, pins_since
from sealkit.publish.review.other_code import Verdicts
from sealkit.publish.review.recorded_analyses import otherwise
from sealkit.publish.review.study import Review
from sealkit.seal.changes import unchanged_words
from sealkit.seal.commitment import Amendment
from sealkit.seal.foundations import made_exploratory, made_to_say, moved_under_claims
from sealkit.seal.in_force import COMPLETE, LOOKED, TRIED, WHEN
from sealkit.seal.pins import Pinned
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.study import Study
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.records import Json


@dataclass(frozen=True, slots=True)
class Amended:
    """What follows from the amendments and withdrawals of a study."""

    spec: Spec
    reservations: Reservations
    rows: tuple[Mapping[str, Json], ...]
    generations: tuple[Generation, ...]
    other_code: Mapping[str, Verdicts]
    differing: tuple[Mapping[str, Json], ...]  # verdicts that are others in `generations` or `other_code`
    earlier: tuple[Mapping[str, Json], ...]
    earlier_claims: tuple[ClaimRuling, ...]
    analyses: tuple[Mapping[str, Json], ...]
    gates: Mapping[Gate, str]

    @property
    def record(self) -> Mapping[str, Json]:
        """All of it but the rows, as an edition holds it."""
        rows: list[Json] = [dict(row) for row in self.differing]
        return {
            "sensitivity": sensitivity_row(self.spec, self.generations[0].ruled) if self.generations else None,
            "other_code": [
                {"pin": pin, "hypothesis": name, "metric": metric, "verdict": ruled[name, metric]}
                for pin, ruled in self.other_code.items()
                for name, metric in sorted(ruled, key=lambda key: (key[0], key[1] or ""))
            ],
            "differing": rows,
            "earlier": [dict(row) for row in self.earlier],
            **generation_rows(self.generations),
        }  # fmt: skip


def amended(study: Study, found: Review, analysis: Analysis) -> Amended:
    """What the amendments of a study, whose episodes the review measured, make of its analysis."""
    sealed, measuring = study.sealed, found.measuring
    generations = generations_of(sealed, measuring)
    sensitivity = generations[0].ruled if generations else None
    beside = measuring.beside if measuring is not None else ()
    other_code = {one.pinned.pin: one.cells.verdicts() for one in beside}
    differing = [*_differing("first episodes", analysis, by_key(sensitivity))]
    for one in generations[1:]:
        differing += _differing(f"episodes of generation {one.number}", analysis, by_key(one.ruled))
    for pin, ruled in other_code.items():
        differing += _differing(f"code of pin {short(pin)}", analysis, ruled)
    today = by_key(analysis)
    earlier = [(one.earlier, _verdicts_of(one)) for one in (measuring.earlier if measuring is not None else ())]
    others = [
        *((ruled, f"by the code of pin {short(pin)}") for pin, ruled in other_code.items()),
        *((_of_asked(one, ruled), f"as asked before amendment {one.amendment}, {one.when}") for one, ruled in earlier),
        (by_key(sensitivity), _superseded(sealed)),
        *((by_key(one.ruled), one_of(one)) for one in generations[1:]),
    ]
    lost, chosen = held_by_readings(sealed, found)
    return Amended(
        spec=sealed.plan.spec,
        reservations=Reservations(
            withheld=held_by_values(sealed, analysis.record)
            | dict(lost)
            | {name: f"withdrawn: {reason}" for name, reason in found.withdrawn.items()},
            exploratory=dict(chosen) | _exploratory(sealed, analysis, found, generations, others),
            notes=_notes(sealed),
        ),
        rows=tuple(_row(before, after) for before, after in pairwise(sealed.pins)),
        generations=generations,
        other_code=other_code,
        differing=tuple(differing),
        earlier=tuple(row for one, ruled in earlier for row in rows_of_earlier(one, ruled, today)),
        earlier_claims=tuple(
            ruling for one, ruled in earlier for ruling in claims_of_earlier(one, ruled, found.withdrawn)
        ),
        analyses=tuple(otherwise(found.recorded_analyses, digest_bytes(analysis.line), today)),
        gates=gates_amended(sealed.pins),
    )


def _verdicts_of(asking: Asking) -> Verdicts:
    return by_key(again(asking.cells)) if asking.far is None else asking.far.verdicts()


def _of_asked(one: Earlier, ruled: Verdicts) -> Verdicts:
    return {key: verdict for key, verdict in ruled.items() if key[0] in one.hypotheses}


def off_the_map(sealed: SealedPlan, exploratory: Collection[str]) -> tuple[str, ...]:
    """Each claim that is not exploratory, and what it stands on that changed when all outcomes were there."""
    since = pins_since(sealed, COMPLETE)
    moved = moved_under_claims(since[0].plan, sealed.plan) if since else {}
    unmarked = [name for name in moved if name in sealed.plan.spec.claims and name not in exploratory]
    return tuple(f"{name} ({', '.join(moved[name])})" for name in unmarked)


# --- claims --------------------------------------------------------------------------------------


def _exploratory(
    sealed: SealedPlan,
    analysis: Analysis,
    found: Review,
    generations: Sequence[Generation],
    others: Iterable[tuple[Verdicts, str]],
) -> dict[str, str]:
    reasons: dict[str, str] = {}
    late, cells = found.late, found.cells
    for before, after in pairwise(sealed.pins):
        amendment = after.commitment
        assert isinstance(amendment, Amendment)
        when = f"amendment {amendment.number}, {WHEN[amendment.phase]},"
        for name, moved in made_exploratory(before.plan, after.plan, amendment.phase).items():
            reasons.setdefault(name, f"{when} changed what it stands on: {', '.join(moved)}")
    for past in found.recorded_analyses:  # before what only measures decide: the journal alone says it to everybody
        for name, why in _unlike(sealed, analysis, past.verdicts, f"in the analysis recorded at {past.time}"):
            reasons.setdefault(name, why)
    reasons = drawn_anew(sealed, found.dropped) | reasons
    for pinned in pins_since(sealed, TRIED):
        cap = pinned.plan.spec.sample.exclusion_cap_per_arm
        if cells is not None and (over := arms_over(cap, cells)):
            what = f"more slots are without an outcome{_or_again(cells)} than the cap under pin {short(pinned.pin)}"
            for name in sealed.plan.spec.claims:
                reasons.setdefault(name, f"{what} allowed, in {', '.join(over)}")
    for asking in found.measuring.earlier if found.measuring is not None else ():
        asked = asking.earlier
        if over := arms_over(asking.cells.spec.sample.exclusion_cap_per_arm, asking.cells):
            again = _or_again(asking.cells)
            what = f"of the slots before amendment {asked.amendment}, {asked.when}, more have no outcome{again}"
            for name in sealed.plan.spec.claims:
                reasons.setdefault(name, f"{what} than the cap allowed, in {', '.join(over)}")
    for name, arms in arms_under_claims(sealed.plan.spec).items():
        if unlike({arm: found.cut_off.get(arm, 0) for arm in arms}):
            reasons.setdefault(name, "its arms are too unlike in how many tries were abandoned and begun again")
    if late.played_on is not None:
        when = f"amendment {late.played_on}, after the first look,"
        for name in sealed.plan.spec.claims:
            reasons.setdefault(name, f"{when} changed what episodes run under, and more came after")
    for one in late.lost:
        why = f"shard {one.shard} of {one.of} was lost, and its slots may have run anew by choice"
        reasons |= {name: reasons.get(name, why) for name in sealed.plan.spec.claims}
    for run in late.runs.killed:
        if not run.under_way:
            reasons |= {name: reasons.get(name, str(run)) for name in sealed.plan.spec.claims}
    for name, why in held_by_generations(sealed.plan.spec, generations):
        reasons.setdefault(name, why)
    for ruled, words in others:
        for name, why in _unlike(sealed, analysis, ruled, words):
            reasons.setdefault(name, why)
    return {name: why for name, why in reasons.items() if name in sealed.plan.spec.claims}


def _or_again(cells: Cells) -> str:
    return " or were drawn again" if tries_again(cells) else ""


def _notes(sealed: SealedPlan) -> dict[str, str]:
    """For each claim that stays although something that it stands on was changed: that it was."""
    notes: dict[str, str] = {}
    for before, after in pairwise(sealed.pins):
        amendment = after.commitment
        assert isinstance(amendment, Amendment)
        for name, said in made_to_say(before.plan, after.plan, amendment.phase).items():
            notes[name] = f"{said} (amendment {amendment.number})"
    return {name: note for name, note in notes.items() if name in sealed.plan.spec.claims}


def _superseded(sealed: SealedPlan) -> str:
    """In words, which episodes the first ones are: a draw that pleases less stays in the record, whenever it came."""
    numbers = [str(amendment.number) for amendment in sealed.amendments if amendment.superseded]
    late = any(amendment.superseded and amendment.phase in LOOKED for amendment in sealed.amendments)
    which = f"amendment{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
    return f"with the episodes that {which} superseded{' after the first look' if late else ''}"


def _unlike(sealed: SealedPlan, analysis: Analysis, other: Verdicts, words: str) -> Iterator[tuple[str, str]]:
    """The claims that need a verdict which is another in `other`, with a sentence."""
    now = by_key(analysis)
    for name, claim in sealed.plan.spec.claims.items():
        for need in needs_of(claim):
            for key in _keys(need, now):
                if key in other and other[key] != now[key]:
                    yield name, f"{_spell(key)} is {now[key]}, and {other[key]} {words}"


def _keys(need: Need, verdicts: Verdicts) -> Iterator[tuple[str, str | None]]:
    return (key for key in verdicts if key[0] == need.hypothesis and need.metric in (None, key[1]))


def _spell(key: tuple[str, str | None]) -> str:
    return f"{key[0]} on {key[1]}" if key[1] is not None else key[0]


# --- rows ----------------------------------------------------------------------------------------


def _differing(source: str, analysis: Analysis, other: Verdicts | None) -> Iterator[Mapping[str, Json]]:
    for key, verdict in by_key(analysis).items():
        if other and key in other and other[key] != verdict:
            yield {"source": source, "hypothesis": key[0], "metric": key[1], "verdict": verdict, "other": other[key]}


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
