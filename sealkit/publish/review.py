"""Reviews one sealed study from its files: every byte, every episode, every slot, and what holds its history.

`review` is what `sealkit verify` prints and what an analysis stands on. It raises on bytes that do not hold;
episodes whose evidence does not hold are counted, slot by slot, with their origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sealkit.files import read_file_safely
from sealkit.infer.admit import Admission, ArmTally, admit
from sealkit.infer.cells import Cells
from sealkit.infer.flow import ArmFlow
from sealkit.publish.measuring import Measuring
from sealkit.run.progress import begin_sealed
from sealkit.seal.changelog import ALL, CHANGELOG, block_of, check_changelog, read_changelog
from sealkit.seal.closure import environment, environment_changes, sealkit_drift
from sealkit.seal.heads import KnownHeads, quoted_heads
from sealkit.seal.history import Anchor, History, spell_slot
from sealkit.seal.sealed import SealedPlan, find_drift
from sealkit.verify.study import Checked, Study
from sealkit.wire.canon import decode_value
from sealkit.wire.chain import (
    Admitted,
    Amended,
    Analysed,
    ArmCounts,
    Entry,
    EpisodeKept,
    Failed,
    JournalHead,
    Published,
    Verified,
    Withdrawn,
    parse_head,
)
from sealkit.wire.errors import MalformedError, SealkitError
from sealkit.wire.records import Counts
from sealkit.wire.verdict import Abstained, Accepted, Rejected

PUBLICATIONS = "publications"
_MAX_EDITION = 64 * 1024 * 1024
_MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """A slot with an episode that was not admitted; `apart` says why it would not have counted anyhow, if so."""

    slot: str
    admission: Admission
    apart: str


@dataclass(slots=True)
class Review:
    """What a review found. `refused` counts the episodes that were not admitted of those that count, `refused_apart`
    those of a smoke run and those that an amendment left out, by that word; `not_admitted` names the first of all.
    `cells` is there if measures were asked for.

    `pins` are what the episodes that count ran under, as `cells` number them. `changed_since` says that an amendment
    or a withdrawal came after the analysis that `analysed` is the digest of. `left_out` counts episodes by arm and by
    what an amendment did to them; `withdrawn` has the reasons of withdrawals, by claim or `*`; `published` the digest
    of each recorded edition's results.json; `analyses` the digest of every analysis that was recorded.
    """

    head: JournalHead
    arms: dict[str, ArmTally]
    abandoned: dict[str, int]
    not_admitted: list[NotAdmitted]
    refused: int
    refused_apart: dict[str, int]
    tampered_apart: int
    verified: Verified
    totals: Counts
    smoke: int
    closed: bool
    anchors: tuple[Anchor, ...]
    notes: tuple[str, ...]
    recorded: dict[str, ArmCounts] | None
    analysed: str | None
    changed_since: bool
    left_out: dict[str, dict[str, int]]
    withdrawn: dict[str, str]
    published: dict[str, str]
    analyses: tuple[str, ...]
    flow: dict[str, ArmFlow]
    pins: tuple[str, ...]
    cells: Cells | None
    measuring: Measuring | None

    @property
    def faults(self) -> int:
        """Episodes that were not admitted, unless the journal records just these exclusions.

        A record that is not what it claims to be was written by no world: it is a fault, recorded or not, whether the
        episode counts or not.
        """
        tampered = sum(arm.excluded.get("evidence", 0) for arm in self.arms.values())
        return self.tampered_apart + (tampered if self.recorded == arm_counts(self.arms) else self.refused)


def arm_counts(arms: dict[str, ArmTally]) -> dict[str, ArmCounts]:
    """The admissions of each arm as the journal records them."""
    return {
        name: ArmCounts(
            admitted=arm.admitted, excluded=dict(sorted(arm.excluded.items())), errored=arm.errored,
            missing=arm.missing,
        )
        for name, arm in sorted(arms.items())
    }  # fmt: skip


def review(study: Study, *, anchors: Iterable[Anchor], measure: bool, step: Callable[[int], None]) -> Review:
    """The review of a study; with `measure`, the sealed judge measures every admitted confirmatory episode.

    Verifiers that need the study's code while none of it is run are left out of the admission, and said.
    """
    history = study.sealed.history(anchors)
    watching = _Watching(study, history)
    measuring = Measuring(study) if measure and study.sandbox is not None else None
    for checked in study.episodes(history, watching.see):
        step(1)
        admission = watching.rule(checked)
        if measuring is not None and checked.stage == "confirmatory":
            measuring.take(checked, admission)
    if measuring is not None:
        measuring.fail(watching.failed)
    check_changelog(study.sealed, watching.blocks)
    stage = watching.stage
    return Review(
        head=history.head,
        arms=watching.arms(),
        abandoned={arm: count for arm, count in stage.abandoned.items() if count},
        not_admitted=watching.not_admitted,
        refused=watching.refused,
        refused_apart=dict(watching.refused_apart),
        tampered_apart=watching.tampered_apart,
        verified=watching.verified(),
        totals=watching.totals,
        smoke=watching.smoke,
        closed=stage.closed,
        anchors=history.anchored,
        notes=_notes(study, history.clock_went_back),
        recorded=watching.recorded,
        analysed=watching.analysed,
        changed_since=watching.changed_since,
        left_out=watching.left_out,
        withdrawn=dict(watching.withdrawn),
        published=dict(watching.published),
        analyses=tuple(watching.analyses),
        flow=watching.flow(),
        pins=measuring.pins if measuring is not None else (study.sealed.latest.pin,),
        cells=measuring.cells if measuring is not None else None,
        measuring=measuring,
    )


class _Watching:
    """What a review keeps while episodes stream by: counts, one byte a slot, and the first refusals in words."""

    def __init__(self, study: Study, history: History) -> None:
        self.study = study
        self.history = history
        self.stage = begin_sealed(study.sealed.pins, "confirmatory")
        self.recorded: dict[str, ArmCounts] | None = None
        self.analysed: str | None = None
        self.changed_since = False
        self.left_out: dict[str, dict[str, int]] = {}
        self.withdrawn: dict[str, str] = {}
        self.published: dict[str, str] = {}
        self.analyses: list[str] = []
        self.blocks: list[bytes] = []
        self.not_admitted: list[NotAdmitted] = []
        self.refused = self.smoke = self.tampered_apart = 0
        self.refused_apart: dict[str, int] = {}
        self.totals = Counts(acts=0, occurrences=0, restores=0, notices=0)
        self._arms = {name: ArmTally() for name in study.sealed.plan.spec.factors.arm}
        self._flow = {name: ArmFlow(tally=tally) for name, tally in self._arms.items()}
        self._failed: dict[str, Failed] = {}
        self._accepted = self._abstained = self._errored = 0
        self._rejected: dict[str, int] = {}

    def see(self, entry: Entry) -> None:
        self.stage.follow(entry)
        if isinstance(entry.event, Admitted):
            self.recorded = dict(entry.event.arms)
        elif isinstance(entry.event, Analysed):
            self.analysed, self.changed_since = entry.event.results, False
            self.analyses.append(entry.event.results)
        elif isinstance(entry.event, Published):
            self.published[entry.event.edition] = entry.event.results
        elif isinstance(entry.event, (Amended, Withdrawn)):
            self._change(entry, entry.event)
        elif isinstance(entry.event, Failed) and entry.event.stage == "confirmatory":
            self._failed[spell_slot(entry.event.slot)] = entry.event
            if (flow := self._flow.get(str(entry.event.slot["arm"]))) is not None:
                flow.failed += 1
        elif isinstance(entry.event, EpisodeKept) and entry.event.stage == "confirmatory":
            self._failed.pop(spell_slot(entry.event.slot), None)

    def _change(self, entry: Entry, event: Amended | Withdrawn) -> None:
        self.blocks.append(block_of(self.study.sealed, entry, self.history.head))
        self.changed_since = True
        if isinstance(event, Withdrawn):
            self.withdrawn["*" if event.what == ALL else event.what] = event.reason

    @property
    def failed(self) -> tuple[Failed, ...]:
        """The last failure at every slot that has no episode."""
        return tuple(self._failed.values())

    def rule(self, checked: Checked) -> Admission:
        """The admission of one episode, counted."""
        left_out = self.study.unchecked
        admission = admit({name: verdict for name, verdict in checked.verdicts.items() if name not in left_out})
        self._count(checked)
        if admission.status != "admitted":
            self._refuse(checked, admission)
        if checked.stage == "smoke":
            self.smoke += 1
        elif checked.left_out is not None:
            counts = self.left_out.setdefault(str(checked.slot["arm"]), {})
            counts[checked.left_out.why] = counts.get(checked.left_out.why, 0) + 1
        else:
            arm = str(checked.slot["arm"])
            self._arms[arm].count(admission)
            self._flow[arm].ended[checked.ended] = self._flow[arm].ended.get(checked.ended, 0) + 1
        return admission

    def _refuse(self, checked: Checked, admission: Admission) -> None:
        apart = "smoke" if checked.stage == "smoke" else checked.left_out.why if checked.left_out is not None else ""
        if apart:
            self.refused_apart[apart] = self.refused_apart.get(apart, 0) + 1
            self.tampered_apart += admission.origin == "evidence"
        else:
            self.refused += 1
        if len(self.not_admitted) < _MOST_NAMED:
            self.not_admitted.append(NotAdmitted(spell_slot(checked.slot), admission, apart))

    def _count(self, checked: Checked) -> None:
        totals, counts = self.totals, checked.counts
        self.totals = Counts(
            acts=totals.acts + counts.acts, occurrences=totals.occurrences + counts.occurrences,
            restores=totals.restores + counts.restores, notices=totals.notices + counts.notices,
        )  # fmt: skip
        for verdict in checked.verdicts.values():
            if isinstance(verdict, Accepted):
                self._accepted += 1
            elif isinstance(verdict, Rejected):
                self._rejected[verdict.origin] = self._rejected.get(verdict.origin, 0) + 1
            elif isinstance(verdict, Abstained):
                self._abstained += 1
            else:
                self._errored += 1

    def arms(self) -> dict[str, ArmTally]:
        """Every arm, its slots without an episode counted as missing."""
        spec = self.study.sealed.plan.spec
        per_arm = self.stage.index.count // len(spec.factors.arm)
        for arm in self._arms.values():
            arm.missing += per_arm - arm.slots
        return self._arms

    def flow(self) -> dict[str, ArmFlow]:
        """What became of every arm's slots; `arms` has been called."""
        stage = self.stage
        per_arm = stage.index.count // len(self._flow)
        for place, (name, arm) in enumerate(self._flow.items()):  # arm is the first factor: its slots lie together
            tried = stage.tried[place * per_arm : (place + 1) * per_arm]
            arm.attempts, arm.attempted = sum(tried), sum(times > 0 for times in tried)
            arm.abandoned = stage.abandoned.get(name, 0)
        return self._flow

    def verified(self) -> Verified:
        """The entry that records what every verifier said."""
        closure = self.study.sealed.latest.closure
        trees = {name: closure.tree(f"verifiers/{name}").root for name in self.study.verifiers}
        return Verified(
            verifiers=trees, accepted=self._accepted, rejected=dict(sorted(self._rejected.items())),
            abstained=self._abstained, errored=self._errored,
        )  # fmt: skip


def anchors_of(study: Study, known: KnownHeads | None, expected: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Every head that something outside the journal quotes: the caller's, this machine's, the changelog's."""
    sealed = study.sealed
    anchors = list(expected)
    if known is not None and (head := known.recall(sealed.pin)) is not None:
        anchors.append(head.anchor())
    changelog = read_changelog(sealed.study).decode(errors="replace")
    anchors += quoted_heads(changelog, plan=sealed.plan.spec.id, source=CHANGELOG)
    return (*anchors, *_edition_anchors(sealed))


def _edition_anchors(sealed: SealedPlan) -> Iterator[Anchor]:
    """The heads that the study's own editions of this seal quote."""
    for path in sorted((sealed.study / PUBLICATIONS).glob("*/results.json")):
        source = f"edition {path.parent.name}"
        raw = read_file_safely(path, inside=sealed.study, limit=_MAX_EDITION)
        edition = decode_value(raw.removesuffix(b"\n"), where=str(path))
        study = edition.get("study") if isinstance(edition, dict) else None
        if not isinstance(study, dict):
            raise MalformedError("is no edition", where=str(path), remedy="it was edited")
        if study.get("pin") == sealed.pin:
            count, digest = parse_head(str(study.get("head")), where=str(path))
            yield Anchor(count, digest, source)


def _has_working_tree(study: Path) -> bool:
    """Whether there is more of a study here than its records: in a bundle there is not."""
    return any((study / name).is_dir() for name in ("worlds", "verifiers", "arms"))


def _notes(study: Study, clock_went_back: tuple[int, ...]) -> tuple[str, ...]:
    sealed = study.sealed
    notes = [f"the clock went back before entry {number}: order comes from the chain" for number in clock_went_back[:5]]
    states = {(name, state) for under in study.under.values() for name, state in under.verifiers.items()}
    notes += [f"verifier {name} {state}" for name, state in sorted(states) if state.startswith("differs")]
    notes += [f"verifier {name} is not checked: it needs the study's code (--replay)" for name in study.unchecked]
    if states and all(state == "the study's own" for _, state in states):
        notes.append("admitted by the study's own verifiers alone: no verifier of yours ruled on this evidence")
    since = "the seal" if not sealed.latest.number else f"amendment {sealed.latest.number}"
    if _has_working_tree(sealed.study):
        try:
            moved = [str(one) for one in find_drift(sealed)]
        except SealkitError as error:
            moved = [str(error)]
        if moved:
            notes.append(f"the working tree has moved on since {since}, {len(moved)} files; the first: {moved[0]}")
    elif own := sealkit_drift(sealed.latest.closure):
        notes.append(f"this sealkit is another than at {since}, {len(own)} files; the first: {own[0]}")
    changes = environment_changes(sealed.latest.closure.environment, environment())
    if changes:
        notes.append(f"another environment than at the seal: {'; '.join(changes[:4])}{' …' if changes[4:] else ''}")
    return tuple(notes)
