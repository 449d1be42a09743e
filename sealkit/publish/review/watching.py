"""What a review keeps of a study while its journal and its episodes stream by."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sealkit.infer.admit import Admission, ArmTally, admit
from sealkit.infer.flow import ArmFlow
from sealkit.publish.review.cut_off import CutOff
from sealkit.publish.review.late import Late
from sealkit.publish.review.past import Past
from sealkit.publish.review.recorded_analyses import RecordedAnalysis, recorded
from sealkit.publish.review.redrawn import Redrawn
from sealkit.run.progress import begin_sealed
from sealkit.seal.changelog import ALL, block_of
from sealkit.seal.history import History, spell_slot
from sealkit.verify.study import Checked, Study
from sealkit.wire.chain import Entry
from sealkit.wire.episode import Counts
from sealkit.wire.events import (
    Admitted,
    Amended,
    Analysed,
    ArmCounts,
    EpisodeKept,
    Failed,
    Published,
    Repaired,
    Verified,
    Withdrawn,
    Withheld,
)
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.verdict import Abstained, Accepted, Rejected

_MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """A slot with an episode that was not admitted; `apart` says why it would not have counted anyhow, if so."""

    slot: str
    admission: Admission
    apart: str


class Watching:
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
        """Take one entry of the journal into account."""
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
