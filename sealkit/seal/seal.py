"""Makes a seal: commits to a plan and to everything that it depends on, before any confirmatory call.

`make_seal` writes manifest and archive, then the seal, where no seal was, and last the journal's first entry. A
crash before the seal leaves none, and the next call starts over; a crash after it leaves a seal whose first entry
the next call writes. There is never half a seal, and never a second one: a change is an amendment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import sealkit
from sealkit.files import create_file, read_if_there
from sealkit.plan.actors import ExternalWorld
from sealkit.plan.load import Plan, check_sealable, open_plan_bytes
from sealkit.plan.yaml import MAX_BYTES
from sealkit.seal.archive import write_archive
from sealkit.seal.closure import make_closure
from sealkit.seal.commitment import PilotSeal, PlanSeal, Seal, SourceSeal
from sealkit.seal.journal import CALLS, EPISODES, HEAD, JOURNAL, exclusive, utc
from sealkit.seal.manifest import planned_keys, write_manifest
from sealkit.seal.piloted import PILOT, seal_pilot
from sealkit.seal.places import beside, declared, plan_entry, receipts_folder, study_of
from sealkit.seal.recovery import begin_or_recover
from sealkit.seal.sealed import SealedPlan, open_seal
from sealkit.seal.siblings import check_id_is_own, siblings_of
from sealkit.seal.tree import Kept
from sealkit.wire.canon import encode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.errors import OutOfOrderError, UsageError
from sealkit.world.loader import LoadedWorld, load_world, make_scenario
from sealkit.world.named import check_named


def make_seal(plan_path: Path, *, now: datetime) -> SealedPlan:
    """The plan is sealed, on disk, and its journal begun, after this.

    Completes what a crash cut off. `OutOfOrderError` if the plan is sealed already, or if there are receipts;
    `UsageError` if its pilot tried confirmatory seeds.
    """
    study = study_of(plan_path)
    plan = read_plan(plan_path, study)
    with exclusive(plan_path.parent, inside=study):
        if os.path.lexists(beside(plan_path, "seal.json")):
            return _complete(plan_path, plan, now)
        check_id_is_own(plan_path, plan, study)
        _refuse_receipts(study, plan)
        check_sealable(plan)
        world = check_named(study, plan).world  # what does not load would lose every episode
        with ExitStack() as until:
            pilot = seal_pilot(receipts_folder(study, plan) / PILOT, plan, inside=study, until=until)
            archive = _write(plan_path, study, plan, world, pilot, now)
        sealed = open_seal(plan_path, parsed=plan, written=archive)
        begin_or_recover(sealed.receipts, sealed.first, inside=study, now=now)
    return sealed


def _write(plan_path: Path, study: Path, plan: Plan, world: LoadedWorld | None, pilot: PilotSeal, now: datetime) -> str:
    """Manifest, archive and seal are on disk; the archive's digest."""
    kept = Kept()
    closure = make_closure(study, declared(plan.spec), kept=kept)
    plan_seal = seal_of_plan(plan_path, study, plan)
    manifest = write_manifest(beside(plan_path, "manifest.jsonl"), planned_scenarios(plan, world))
    archive = beside(plan_path, "source.tar")
    digest, size = write_archive(archive, closure, plan_entry(plan_seal), study=study, kept=kept)
    seal = Seal(
        plan=plan_seal,
        closure=closure,
        manifest=manifest,
        source=SourceSeal(digest=digest, size=size),
        sealkit=sealkit.__version__,
        sealed_at=utc(now),
        data_access=plan.spec.data_access,
        pilot=pilot,
        key_id=None,
        time_authority=None,
        beside=siblings_of(plan_path, study),
    )
    path = beside(plan_path, "seal.json")
    try:
        create_file(path, encode_record(seal) + b"\n")
    except FileExistsError:
        raise _sealed_already(path) from None
    return digest


def seal_of_plan(plan_path: Path, study: Path, plan: Plan) -> PlanSeal:
    """What a seal or an amendment says of the plan."""
    return PlanSeal(
        path=plan_path.relative_to(study).as_posix(),
        id=plan.spec.id,
        file=plan.file_digest,
        size=len(plan.data),
        canonical=plan.digest,
        sections=dict(plan.sections),
    )


def open_world(study: Path, plan: Plan) -> LoadedWorld | None:
    """The plan's world as the working tree has it; None for an external one."""
    return None if isinstance(plan.spec.world, ExternalWorld) else load_world(study, plan.spec.world.name)


def planned_scenarios(plan: Plan, world: LoadedWorld | None) -> Iterator[Scenario]:
    """Every scenario that the plan runs at any stage, as its world makes it."""
    if world is None or isinstance(plan.spec.world, ExternalWorld):
        return  # an external world fixes its own scenarios; sealkit has none to commit to
    for family, seed in planned_keys(plan.spec):
        yield make_scenario(world, family, seed, plan.spec.world.params, where=plan.where)


def _refuse_receipts(study: Path, plan: Plan) -> None:
    folder = receipts_folder(study, plan)
    for name in (JOURNAL, HEAD, EPISODES, CALLS):
        path = folder / name
        if os.path.lexists(path) and path.lstat().st_size:
            raise OutOfOrderError(
                f"there are receipts under the id {plan.spec.id}, but no seal",
                where=str(path),
                remedy="give the plan another id, or put its seal back",
            )


def _complete(plan_path: Path, plan: Plan, now: datetime) -> SealedPlan:
    """The seal that is there, if its journal lacks the first entry; else the plan is sealed already."""
    if os.path.lexists(receipts_folder(study_of(plan_path), plan) / HEAD):
        raise _sealed_already(beside(plan_path, "seal.json"))
    sealed = open_seal(plan_path, parsed=plan)
    begin_or_recover(sealed.receipts, sealed.first, inside=sealed.study, now=now)
    return sealed


def _sealed_already(path: Path) -> OutOfOrderError:
    remedy = "a change after the seal is recorded with `sealkit amend`"
    return OutOfOrderError("the plan is sealed already", where=str(path), remedy=remedy)


def read_plan(plan_path: Path, study: Path) -> Plan:
    """The plan in the working tree, checked; `UsageError` if there is none."""
    data = read_if_there(plan_path, inside=study, limit=MAX_BYTES)
    if data is None:
        raise UsageError("there is no such plan", where=str(plan_path))
    return open_plan_bytes(data, str(plan_path))
