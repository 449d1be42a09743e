"""Records a change after the seal: what it is, on which side of the first look it falls, what becomes of the claims.

    with amending(plan_path, now=now) as draft:       # nobody else writes here meanwhile
        amendment = draft.amendment(reason=…)         # what would be recorded; nothing is written
        draft.commit(amendment)

`commit` writes, each step on disk before the next: manifest, archive, the amendment's file, its entry in the journal,
its block in CHANGELOG_AFTER_SEAL.md. A crash before the file leaves nothing that counts. A crash after it leaves an
amendment without its entry or its block, which `run` and `verify` refuse by name, and which the next `amend` or
`withdraw` completes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import sealkit
from sealkit.files import create_file, read_file_safely
from sealkit.plan.load import Plan
from sealkit.seal.archive import write_archive
from sealkit.seal.changelog import ALL, blocks_due, complete_changelog
from sealkit.seal.changes import Version, changes, is_change, judge_files, own_files, unified
from sealkit.seal.closure import SEALKIT, Closure, closure_files, make_closure, sealkit_folder
from sealkit.seal.commitment import Amendment, Changed, Impact, SourceSeal, check_reason
from sealkit.seal.foundations import effect_on_claims
from sealkit.seal.history import History, spell_slot
from sealkit.seal.journal import exclusive, utc
from sealkit.seal.manifest import Manifest, ManifestSeal, open_manifest, write_manifest
from sealkit.seal.piloted import PILOT
from sealkit.seal.places import amendment_file, beside, declared, plan_entry, study_of
from sealkit.seal.recovery import recover
from sealkit.seal.seal import open_world, planned_scenarios, read_plan, seal_of_plan
from sealkit.seal.sealed import SealedPlan, open_seal, open_seal_only
from sealkit.seal.shards import check_none_waits
from sealkit.seal.tree import MAX_FILE
from sealkit.seal.tried import check_untried, tried_in
from sealkit.wire.canon import MAX_LINE, encode_record
from sealkit.wire.errors import MalformedError, OutOfOrderError, UntrustedError, UsageError
from sealkit.wire.events import Phase, Slot, Withdrawn
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.text import counted

MOST_NAMED: Final = 20


@dataclass(frozen=True, slots=True)
class Draft:
    """What has changed since the pin in force, under the locks of `amending`.

    `completed` says what this call has completed of earlier ones that were cut off.
    """

    sealed: SealedPlan
    plan: Plan
    closure: Closure
    manifest: Manifest
    scenarios: ManifestSeal
    source: SourceSeal
    changed: Changed
    phase: Phase
    head: JournalHead
    completed: tuple[str, ...]
    now: datetime

    @property
    def number(self) -> int:
        """The number that the amendment would have."""
        return len(self.sealed.pins)

    def amendment(self, *, reason: str, impact: Impact | None = None, superseded: Sequence[Slot] = ()) -> Amendment:
        """What would be recorded; `OutOfOrderError` if there is nothing to record."""
        _check_reason(reason)
        before = self.sealed.latest
        if not is_change(self.changed) and not superseded:
            since = "the seal" if not before.number else f"amendment {before.number}"
            raise OutOfOrderError(f"nothing has changed since {since}", where=str(self.sealed.path))
        effect = effect_on_claims(before.plan, self.plan, self.changed, self.phase, len(superseded))
        return Amendment(
            number=self.number, plan=seal_of_plan(self.sealed.path, self.sealed.study, self.plan), previous=before.pin,
            reason=reason, made_at=utc(self.now), phase=self.phase, head=str(self.head), closure=self.closure,
            manifest=self.scenarios, source=self.source, sealkit=sealkit.__version__,
            data_access=before.commitment.data_access, changed=self.changed, impact=impact,
            superseded=tuple(superseded), effect=effect,
        )  # fmt: skip

    def diff(self) -> Iterator[str]:
        """A unified diff of everything that has changed, bounded."""
        before = self.sealed.latest
        names = changed_names(self.changed, self.sealed, plan=before.commitment.plan.file != self.plan.file_digest)
        after = {name: data for name in names if (data := self._read(name)) is not None}
        return unified(names, before.files(frozenset(names)), after)

    def commit(self, amendment: Amendment) -> SealedPlan:
        """The amendment is in force, on disk, after this; the plan as it is sealed now."""
        path, study, number = self.sealed.path, self.sealed.study, self.number
        line = encode_record(amendment)
        if len(line) > MAX_LINE:
            what = f"an amendment of {len(line)} bytes, due at most {MAX_LINE}"
            raise UsageError(what, where=str(path), remedy="supersede fewer blocks at a time")
        scenarios = (self.manifest.scenario(*key) for key in self.manifest.keys())  # noqa: SIM118 - it is no mapping
        write_manifest(beside(path, "manifest.jsonl", number), scenarios)
        archive = beside(path, "source.tar", number)
        written = write_archive(archive, self.closure, plan_entry(amendment.plan), study=study)
        if written != (amendment.source.digest, amendment.source.size):
            raise UntrustedError("was changed while it was being amended", where=str(path), remedy="amend again")
        create_file(amendment_file(path, number), line + b"\n")
        sealed = open_seal(path)
        _complete(sealed, self.now)
        return sealed

    def _read(self, name: str) -> bytes | None:
        if name == self.sealed.path.relative_to(self.sealed.study).as_posix():
            return self.plan.data
        return _read(self.sealed.study, self.closure, name)


@contextmanager
def amending(plan_path: Path, *, now: datetime) -> Iterator[Draft]:
    """What has changed since the pin in force; nobody else seals, runs or amends this plan meanwhile.

    First completes what an earlier call was cut off in. `OutOfOrderError` if the plan is not sealed, `UsageError` if
    the working tree's plan is none, or changes what no amendment may: the plan's id and its data access; or if seeds
    are confirmatory in it that the pilot or a smoke run has tried.
    """
    study = study_of(plan_path)
    with _alone(plan_path, study, now) as sealed, tempfile.TemporaryDirectory(prefix="sealkit-amend-") as scratch:
        completed = _complete(sealed, now)
        history = sealed.history()
        tried = tried_in(sealed.receipts / PILOT, inside=study)
        for entry in history.entries():
            tried.follow(entry.event)
        assert history.in_force is not None
        if history.taken is not None:
            check_none_waits(sealed, history.taken, before="an amendment is made")
        plan = read_plan(plan_path, study)
        _check_kept(sealed, plan)
        check_untried(plan, tried)
        _check_returning(history, plan)
        closure = make_closure(study, declared(plan.spec))
        draft_plan = seal_of_plan(plan_path, study, plan)
        scenarios = write_manifest(Path(scratch) / "manifest.jsonl", planned_scenarios(plan, open_world(study, plan)))
        digest, size = write_archive(Path(scratch) / "source.tar", closure, plan_entry(draft_plan), study=study)
        with open_manifest(Path(scratch) / "manifest.jsonl", scenarios, inside=Path(scratch)) as manifest:
            own = own_files(closure)
            sources = {name: _read(study, closure, name) or b"" for name in own if name.endswith(".py")}
            working = Version(draft_plan, plan.spec, closure, manifest, judge_files(plan.spec, own, sources))
            yield Draft(
                sealed=sealed, plan=plan, closure=closure, manifest=manifest, scenarios=scenarios,
                source=SourceSeal(digest=digest, size=size), changed=changes(sealed.latest.version, working),
                phase=history.in_force.phases.phase, head=history.head, completed=completed, now=now,
            )  # fmt: skip


def withdraw(plan_path: Path, what: str, *, reason: str, now: datetime) -> tuple[SealedPlan, tuple[str, ...]]:
    """The claim `what`, or `all` of them, is withdrawn, in the journal and the changelog, after this.

    The sealed plan, and what this call has completed of earlier ones. `OutOfOrderError` if that was withdrawn before.
    """
    _check_reason(reason)
    study = study_of(plan_path)
    with _alone(plan_path, study, now) as sealed:
        completed = _complete(sealed, now)
        claims = sealed.plan.spec.claims
        if what != ALL and what not in claims:
            known = ", ".join(claims) or "none"
            raise UsageError(f"the plan has no claim {what!r}; it has {known}", where=str(plan_path))
        events = [entry.event for entry in sealed.history().entries()]
        if any(isinstance(event, Withdrawn) and event.what in (what, ALL) for event in events):
            raise OutOfOrderError(f"{what} was withdrawn before", where=str(plan_path))
        sealed.journal().append(Withdrawn(what=what, reason=reason), now=now)
        _complete(sealed, now)
        return sealed, completed


def changed_names(changed: Changed, sealed: SealedPlan, *, plan: bool) -> tuple[str, ...]:
    """The files that a diff shows: the plan, if it has changed, ruling code, and the harness."""
    own = (sealed.path.relative_to(sealed.study).as_posix(),) if plan else ()
    return (*own, *(file.path for file in (*changed.ruling, *changed.harness)))


@contextmanager
def _alone(plan_path: Path, study: Path, now: datetime) -> Iterator[SealedPlan]:
    """The sealed plan, whose journal is whole, while nobody else writes beside it or into its receipts."""
    with exclusive(plan_path.parent, inside=study):
        sealed = open_seal_only(plan_path)
        try:
            with exclusive(sealed.receipts, inside=study):
                recover(sealed.receipts, inside=study, now=now)
                yield sealed
        finally:
            sealed.close()


def _complete(sealed: SealedPlan, now: datetime) -> tuple[str, ...]:
    """The journal has the entry, and the changelog the block, of everything recorded, after this; what they lacked."""
    done = []
    history = sealed.history(lacks_last=True)
    for _ in history.entries():
        pass
    assert history.in_force is not None
    if history.in_force.met < len(sealed.amendments):
        last = sealed.latest.due()
        sealed.journal().append(last.event, now=now)
        done.append(f"amendment {last.event.number} has its entry in the journal")
    lacked = complete_changelog(sealed, blocks_due(sealed, sealed.history()))
    if lacked:
        done.append(f"the changelog has its blocks, {lacked} new")
    return tuple(done)


def _check_reason(reason: str) -> None:
    try:
        check_reason(reason, where="--reason")
    except MalformedError as error:
        raise UsageError(error.what, where=error.where, remedy=error.remedy) from error


def _check_kept(sealed: SealedPlan, plan: Plan) -> None:
    where = plan.where("id")
    if plan.spec.id != sealed.plan.spec.id:
        what = f"found the id {plan.spec.id}, but the sealed plan is {sealed.plan.spec.id}"
        raise UsageError(what, where=where, remedy="another id is another plan: give it a file of its own")
    if plan.spec.data_access != sealed.seal.data_access:
        what = f"found {plan.spec.data_access}, but {sealed.seal.data_access} was stated at the seal"
        raise UsageError(what, where=plan.where("data_access"), remedy="every amendment keeps it")


def _check_returning(history: History, plan: Plan) -> None:
    assert history.dropped is not None
    back = [(spell_slot(slot), by) for slot, by in history.dropped.returning(plan.spec)]
    if back:
        named = "; ".join(f"{slot} (dropped by amendment {by})" for slot, by in back[:MOST_NAMED])
        more = f"; and {len(back) - MOST_NAMED} more" if len(back) > MOST_NAMED else ""
        raise UsageError(
            f"{counted(len(back), 'slot')} had an episode when an amendment dropped them, and would be drawn again: "
            f"{named}{more}",
            where=plan.where("factors"),
            remedy="a plan that draws them anew is a new plan, under an id and in a file of its own",
        )


def _read(study: Path, closure: Closure, name: str) -> bytes | None:
    """A file of the working tree, if an archive made now would hold it."""
    if all(name != path for path, _ in closure_files(closure)):
        return None
    root = sealkit_folder().parent if name.startswith(f"{SEALKIT}/") else study
    return read_file_safely(root / name, inside=root, limit=MAX_FILE)
