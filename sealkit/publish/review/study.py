"""Reviews one sealed study from its files: every byte, every episode, every slot, and what holds its history.

`review` is what `sealkit verify` prints and what an analysis stands on. It raises on bytes that do not hold;
episodes whose evidence does not hold are counted, slot by slot, with their origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from sealkit.infer.admit import ArmTally
from sealkit.infer.cells import Cells
from sealkit.infer.flow import ArmFlow
from sealkit.publish.review.late import Late
from sealkit.publish.review.measuring import Measuring
from sealkit.publish.review.notes import notes_of
from sealkit.publish.review.own_ruling import OwnRuling
from sealkit.publish.review.recorded_analyses import RecordedAnalysis
from sealkit.publish.review.watching import NotAdmitted, Watching
from sealkit.seal.changelog import check_changelog
from sealkit.seal.dropped import Group
from sealkit.seal.history import Anchor
from sealkit.seal.journal import JOURNAL
from sealkit.seal.piloted import Piloted, check_pilot
from sealkit.seal.tried import Tried
from sealkit.verify.folder import leftovers
from sealkit.verify.shards import check_shards
from sealkit.verify.study import Study
from sealkit.verify.tally import CallTally
from sealkit.wire.chain import Entry
from sealkit.wire.episode import Counts
from sealkit.wire.events import ArmCounts, Verified
from sealkit.wire.journal_head import JournalHead


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
    another harness after a look; `dropped` has the slots with an episode that amendments dropped.
    `own` has what this sealkit came to, where the sealed one is another and that was
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
    dropped: tuple[Group, ...]
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
    pilot = check_pilot(study.sealed, tried := Tried())
    history = study.sealed.history(anchors)
    watching = Watching(study, history)
    own = OwnRuling(study) if measure and study.rules_twice else None
    measuring = Measuring(study, history.due, own) if measure and study.sandbox is not None else None

    def see(entry: Entry) -> None:
        tried.follow(entry.event)
        tried.check(entry.event, f"{study.sealed.receipts / JOURNAL} entry {entry.seq}")
        watching.see(entry)

    for checked in study.episodes(history, see):
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
        dropped=history.dropped.groups if history.dropped is not None else (),
        own=own,
    )
