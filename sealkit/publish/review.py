"""Reviews one sealed study from its files: every byte, every episode, every slot, and what holds its history.

`review` is what `sealkit verify` prints and what an analysis stands on. It raises on bytes that do not hold;
episodes whose evidence does not hold are counted, slot by slot, with their origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec

from sealkit.infer.admit import Admission, ArmTally, admit
from sealkit.infer.cells import Cells
from sealkit.infer.flow import ArmFlow
from sealkit.publish.cut_off import CutOff
from sealkit.publish.late import Late
from sealkit.publish.measuring import Measuring
from sealkit.publish.own_ruling import OwnRuling
from sealkit.publish.past import Past
from sealkit.publish.recorded_analyses import RecordedAnalysis, recorded
from sealkit.publish.redrawn import Redrawn
from sealkit.publish.review_notes import notes_of
from sealkit.run.progress import begin_sealed
from sealkit.seal.changelog import ALL, block_of, check_changelog
from sealkit.seal.history import Anchor, History, spell_slot
from sealkit.seal.piloted import Piloted, check_pilot
from sealkit.verify.folder import leftovers
from sealkit.verify.shards import check_shards
from sealkit.verify.study import Checked, Study
from sealkit.verify.tally import CallTally
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
    Repaired,
    Verified,
    Withdrawn,
    Withheld,
)
from sealkit.wire.episode import Counts
from sealkit.wire.verdict import Abstained, Accepted, Rejected

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

    `pins` are what the slots that count ran under, as `cells` number them. `changed_since` says that an amendment,
    a withdrawal or a withheld body came after the analysis that `analysed` is the digest of. `left_out` counts
    episodes by arm and by what an amendment did to them; `withdrawn` has the reasons of withdrawals, by claim or
    `*`; `published` the digest of each recorded edition's results.json; `analyses` the digest of every analysis
    that was recorded, `analysed_at` the heads after them, at which editions end, `recorded_analyses` what each came to;
    `edition` is that of the analysis in force; `pilot` what was piloted before the seal, as the seal says; `calls`
    what the confirmatory run asked models, by arm, whether it left an episode or not. `readings` counts those of the
    episodes that count, by reading and level; what they asked models, `reading_calls`, is no arm's. `cut_off`
    counts, by arm, abandoned tries of which something may have been known. `late` knows whether slots were played under
    another harness after a look. `own` has what this sealkit came to, where the sealed one is another and that was
    asked for.
    """

    head: JournalHead
    arms: dict[str, ArmTally]
    abandoned: dict[str, int]
    cut_off: dict[str, int]
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
    analysed_at: tuple[JournalHead, ...]
    recorded_analyses: tuple[RecordedAnalysis, ...]
    edition: str | None
    pilot: Piloted | None
    flow: dict[str, ArmFlow]
    pins: tuple[str, ...]
    cells: Cells | None
    measuring: Measuring | None
    calls: dict[str, CallTally]
    readings: dict[str, dict[str, int]]
    reading_calls: CallTally
    late: Late
    own: OwnRuling | None

    @property
    def faults(self) -> int:
        """Episodes that were not admitted, unless the journal records just these exclusions.

        A record that is not what it claims to be was written by no world: it is a fault, recorded or not, whether the
        episode counts or not.
        """
        tampered = sum(arm.excluded.get("evidence", 0) for arm in self.arms.values())
        return self.tampered_apart + (tampered if self.as_recorded else self.refused)

    @property
    def as_recorded(self) -> bool:
        """Whether the journal records just these admissions.

        Where nothing was measured, it may record as errored what is admitted here: the judge failed on it then.
        """
        found = arm_counts(self.arms)
        if self.recorded is None or self.measuring is not None or self.recorded.keys() != found.keys():
            return self.recorded == found
        return all(_but_for_the_judge(self.recorded[name], counts) for name, counts in found.items())


def arm_counts(arms: dict[str, ArmTally]) -> dict[str, ArmCounts]:
    """The admissions of each arm as the journal records them."""
    return {
        name: ArmCounts(
            admitted=arm.admitted, excluded=dict(sorted(arm.excluded.items())), errored=arm.errored,
            missing=arm.missing,
        )
        for name, arm in sorted(arms.items())
    }  # fmt: skip


def _unmeasured(recorded: dict[str, ArmCounts] | None, arms: dict[str, ArmTally]) -> Iterator[str]:
    """What a review that measured nothing has to say of arms in which the judge had failed."""
    for name, counts in sorted((recorded or {}).items()):
        failed = counts.errored - arms[name].errored if name in arms else 0
        if failed > 0:
            what = "of the episodes admitted here are recorded as errored, the judge failed on them"
            yield f"arm {name}: {failed} {what}"


def _but_for_the_judge(recorded: ArmCounts, found: ArmCounts) -> bool:
    """Whether the counts agree but for admitted episodes that could not be measured."""
    unmeasured = recorded.errored - found.errored
    return unmeasured >= 0 and recorded == msgspec.structs.replace(
        found, admitted=found.admitted - unmeasured, errored=recorded.errored
    )


def review(study: Study, *, anchors: Iterable[Anchor], measure: bool, step: Callable[[int], None]) -> Review:
    """The review of a study; with `measure`, the sealed judge measures every admitted confirmatory episode.

    Verifiers that need the study's code while none of it is run are left out of the admission, and said.
    """
    pilot = check_pilot(study.sealed)
    history = study.sealed.history(anchors)
    watching = _Watching(study, history)
    own = OwnRuling(study) if measure and study.rules_twice else None
    measuring = Measuring(study, own) if measure and study.sandbox is not None else None
    for checked in study.episodes(history, watching.see):
        step(1)
        admission = watching.admission(checked)
        if measuring is not None and checked.stage == "confirmatory":
            admission = measuring.take(checked, admission)
        watching.count(checked, admission)
    if measuring is not None:
        measuring.fail(watching.failed)
        watching.redrawn.tell(measuring)
    check_changelog(study.sealed, watching.blocks)
    stage, arms = watching.stage, watching.arms()
    unmeasured = () if measuring is not None else _unmeasured(watching.recorded, arms)
    return Review(
        head=history.head,
        arms=arms,
        abandoned={arm: count for arm, count in stage.abandoned.items() if count},
        cut_off=watching.cut_off.tries,
        not_admitted=watching.not_admitted,
        refused=watching.refused,
        refused_apart=dict(watching.refused_apart),
        tampered_apart=watching.tampered_apart,
        verified=watching.verified(),
        totals=watching.totals,
        smoke=watching.smoke,
        closed=stage.closed,
        anchors=history.anchored,
        notes=(
            *notes_of(study, history.clock_went_back),
            *unmeasured,
            *check_shards(study.sealed, history),
            *leftovers(study.sealed, study.calls.named, study.calls.taken_out, watching.moved),
        ),
        recorded=watching.recorded,
        analysed=watching.analysed,
        changed_since=watching.changed_since,
        left_out=watching.left_out,
        withdrawn=dict(watching.withdrawn),
        published=dict(watching.published),
        edition=watching.past.edition,
        analyses=tuple(watching.analyses),
        analysed_at=tuple(watching.analysed_at),
        recorded_analyses=tuple(watching.recorded_analyses),
        pilot=pilot,
        flow=watching.flow(arms),
        pins=measuring.pins if measuring is not None else (study.sealed.latest.pin,),
        cells=measuring.cells if measuring is not None else None,
        measuring=measuring,
        calls=dict(sorted(study.calls.confirmatory.items())),
        readings=watching.redrawn.beside(stage.reads.counts(study.withheld_readings)),
        reading_calls=study.calls.readings,
        late=watching.late,
        own=own,
    )


class _Watching:
    """What a review keeps while episodes stream by: counts, one byte a slot, and the first refusals in words."""

    def __init__(self, study: Study, history: History) -> None:
        self.study = study
        self.history = history
        self.stage = begin_sealed(study.sealed.pins, "confirmatory")
        self.late = Late(self.stage)
        self.recorded: dict[str, ArmCounts] | None = None
        self.analysed: str | None = None
        self.changed_since = False
        self.left_out: dict[str, dict[str, int]] = {}
        self.withdrawn: dict[str, str] = {}
        self.published: dict[str, str] = {}
        self.past = Past()
        self.redrawn = Redrawn(study.sealed)
        self.cut_off = CutOff(study.sealed)
        self.analyses: list[str] = []
        self.analysed_at: list[JournalHead] = []
        self.recorded_analyses: list[RecordedAnalysis] = []
        self.blocks: list[bytes] = []
        self.moved: set[str] = set()
        self.not_admitted: list[NotAdmitted] = []
        self.refused = self.smoke = self.tampered_apart = 0
        self.refused_apart: dict[str, int] = {}
        self.totals = Counts(acts=0, occurrences=0, restores=0, notices=0)
        self._arms = {name: ArmTally() for name in study.sealed.plan.spec.factors.arm}
        self._ended: dict[str, dict[str, int]] = {name: {} for name in self._arms}
        self._failures = dict.fromkeys(self._arms, 0)
        self._failed: dict[str, Failed] = {}
        self._accepted = self._abstained = self._errored = 0
        self._rejected: dict[str, int] = {}

    def see(self, entry: Entry) -> None:
        self.late.follow(entry)
        self.stage.follow(entry)
        self.past.follow(entry)
        self.redrawn.see(entry, self.history.calls)
        self.cut_off.see(entry, self.history.calls)
        if isinstance(entry.event, Admitted):
            self.recorded = dict(entry.event.arms)
        elif isinstance(entry.event, Analysed):
            self.analysed, self.changed_since = entry.event.results, False
            self.analyses.append(entry.event.results)
            self.analysed_at.append(self.history.head)
            self.recorded_analyses.append(recorded(entry, entry.event, self.history.head))
        elif isinstance(entry.event, Published):
            self.published[entry.event.edition] = entry.event.results
        elif isinstance(entry.event, Repaired) and entry.shard is None:
            self.moved.add(entry.event.moved_to)
        elif isinstance(entry.event, Withheld):
            self.changed_since = True
        elif isinstance(entry.event, (Amended, Withdrawn)):
            self._change(entry, entry.event)
        elif isinstance(entry.event, Failed) and entry.event.stage == "confirmatory":
            self._failed[spell_slot(entry.event.slot)] = entry.event
            if (arm := str(entry.event.slot["arm"])) in self._failures:
                self._failures[arm] += 1
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

    def admission(self, checked: Checked) -> Admission:
        """The ruling on one episode by its evidence."""
        left_out = self.study.unchecked
        return admit({name: verdict for name, verdict in checked.verdicts.items() if name not in left_out})

    def count(self, checked: Checked, admission: Admission) -> None:
        """One episode, ruled so."""
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
            self._ended[arm][checked.ended] = self._ended[arm].get(checked.ended, 0) + 1

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
        per_arm = self.stage.index.count // len(self._arms)
        return {name: replace(arm, missing=arm.missing + per_arm - arm.slots) for name, arm in self._arms.items()}

    def flow(self, arms: dict[str, ArmTally]) -> dict[str, ArmFlow]:
        """What became of the slots of these arms."""
        stage, found = self.stage, dict[str, ArmFlow]()
        per_arm = stage.index.count // len(arms)
        for place, (name, tally) in enumerate(arms.items()):  # arm is the first factor: its slots lie together
            tried = stage.tried[place * per_arm : (place + 1) * per_arm]
            found[name] = ArmFlow(
                attempted=sum(times > 0 for times in tried), attempts=sum(tried),
                abandoned=stage.abandoned.get(name, 0), failed=self._failures[name], ended=self._ended[name],
                tally=tally,
            )  # fmt: skip
        return found

    def verified(self) -> Verified:
        """The entry that records what every verifier said."""
        closure = self.study.sealed.latest.closure
        trees = {name: closure.tree(f"verifiers/{name}").root for name in self.study.verifiers}
        return Verified(
            verifiers=trees, accepted=self._accepted, rejected=dict(sorted(self._rejected.items())),
            abstained=self._abstained, errored=self._errored,
        )  # fmt: skip
