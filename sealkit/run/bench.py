"""What a stage of a plan is run on: its pin, its journal, and what is trusted of each slot.

The confirmatory and smoke stages stand on a `SealedPlan` and share its journal. A pilot needs no seal: it has
a journal and a pin of its own, the digest of the plan's canonical parse, which can never pass for a seal's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import sealkit
from sealkit.files import read_if_there, to_type
from sealkit.plan.actors import ReferenceWorld, ScriptedArm
from sealkit.plan.asked import roles_asked_for_arms, roles_asked_for_readings
from sealkit.plan.assignment import assignment_line
from sealkit.plan.describe import parts_of_later_engines
from sealkit.plan.load import Plan, open_plan_bytes
from sealkit.plan.slots import Stage, slot_count
from sealkit.plan.yaml import MAX_BYTES
from sealkit.run.external import Command, open_command
from sealkit.run.order import drawn_blocks, drawn_slots
from sealkit.run.play import Playing, answered, nobody, play_arm
from sealkit.run.progress import Standing, begin, begin_sealed, begin_shard
from sealkit.run.shares import drawn_share
from sealkit.seal.closure import environment, make_closure
from sealkit.seal.guard import Guard, open_guard
from sealkit.seal.history import History, open_history
from sealkit.seal.journal import Journal, exclusive
from sealkit.seal.recovery import begin_or_recover, recover
from sealkit.seal.sealed import SealedPlan, declared, open_seal, receipts_folder, study_of
from sealkit.seal.shards import (
    Shard,
    check_none_waits,
    check_still_here,
    find_shards,
    read_sharded,
    shard_folder,
)
from sealkit.seal.withheld import withheld_bodies
from sealkit.wire.canon import digest_record, encode_record
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import OutOfOrderError, UsageError
from sealkit.wire.events import Opened, Sharded, ShardHead, Slot
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.merged import Taken
from sealkit.wire.shardruns import KilledRun
from sealkit.world.loader import LoadedWorld, load_world, make_scenario
from sealkit.world.readers import open_readers
from sealkit.world.ruling import check_verifiers, open_judge
from sealkit.world.sdk import Reader


@dataclass(frozen=True, slots=True)
class Bench:
    """One stage of one plan, ready to be run; `open_bench` makes one.

    `scenario_line` gives the line of a slot: from the sealed manifest, for a pilot from the world itself, and for an
    external world the assignment. `world` is null where nothing is to be run: episodes come from logs.
    """

    plan_path: Path
    study: Path
    plan: Plan
    stage: Stage
    pin: str
    judge: str
    folder: Path
    sealed: SealedPlan | None
    world: LoadedWorld | Command | None
    scenario_line: Callable[[Slot], bytes]
    guard: Guard  # of the files under which all of this was loaded
    share: tuple[int, int] | None = None  # this shard, of so many
    readers: Mapping[str, Reader] = field(default_factory=dict)  # the judge's, where models are asked for readings
    killed: list[KilledRun] = field(default_factory=list)  # of this shard, as known once it is written to

    def trusted(self, slot: Slot) -> Trusted:
        """What a verifier may rely on for an episode of this slot."""
        return Trusted(pin=self.pin, judge=self.judge, slot=slot, scenario=self.scenario_line(slot))

    def playing(self, slot: Slot) -> Playing:
        """The episode of this slot in a world that sealkit runs, as it asks and is answered."""
        if not isinstance(self.world, LoadedWorld):
            raise UsageError("no world that sealkit runs", where=self.plan.where("world"))
        arm = self.plan.spec.factors.arm[str(slot["arm"])]
        return play_arm(arm, self.world, self.trusted(slot), self.study, self.plan.spec.sample.endings.meanings())

    def play(self, slot: Slot) -> bytes:
        """The episode of this slot, where sealkit is asked for no model's reply."""
        if isinstance(self.world, Command):
            return self.world.play(self.trusted(slot), guard=self.guard)
        return answered(self.playing(slot), nobody)

    def check_untouched(self, slot: Slot) -> None:
        """What an attempt at this slot read or started anew was as sealed until now, or `DriftError`.

        The code of scripted agents was loaded with the bench.
        """
        if not isinstance(self.plan.spec.factors.arm[str(slot["arm"])], ScriptedArm):
            self.guard.look(since=time.monotonic())

    @property
    def roles(self) -> tuple[str, ...]:
        """The model roles that sealkit asks in this stage, for arms or for readings, each once."""
        return tuple(dict.fromkeys((*self.arm_roles, *self.reading_roles)))

    @property
    def arm_roles(self) -> tuple[str, ...]:
        """Those that it asks for the arms of this stage; an external world asks by itself."""
        return roles_asked_for_arms(self.plan.spec, self.stage)

    @property
    def reading_roles(self) -> tuple[str, ...]:
        """Those that it asks for readings of this stage's episodes; a pilot's are not read."""
        return roles_asked_for_readings(self.plan.spec, self.stage)

    def history(self) -> History:
        """The stage's journal and episodes, to be read and checked."""
        if self.sealed is not None and self.share is None:
            return self.sealed.history()
        if self.share is not None:
            return open_history(self.folder, inside=self.study, first=read_sharded(self.folder, study=self.study))
        return open_history(self.folder, inside=self.study, first=None)

    def begin(self) -> Standing:
        """Where the stage stands before its first entry."""
        if self.share is not None:
            return begin_shard(self.plan.spec, *self.share)
        if self.sealed is not None:
            return begin_sealed(self.sealed.pins, self.stage)
        return begin(self.plan.spec, self.stage)

    def drawn(self) -> Iterator[Slot]:
        """The slots that are to be run here, in drawn order."""
        if self.share is not None:
            return drawn_share(self.plan.spec, *self.share)
        return drawn_slots(self.plan.spec, self.stage)

    def opened(self) -> Opened:
        """The entry that says that a run begins or goes on here."""
        here = digest_record(environment())
        return Opened(stage=self.stage, pin=self.pin, sealkit=sealkit.__version__, environment=here)

    @contextmanager
    def writing(self, now: Callable[[], datetime]) -> Iterator[Journal]:
        """The stage's journal, recovered from a crash if need be; nobody else writes it meanwhile."""
        if self.share is not None:
            with self._writing_shard(*self.share, now) as journal:
                yield journal
            return
        if self.stage == "pilot":
            self.folder.mkdir(parents=True, exist_ok=True)
        with exclusive(self.folder, inside=self.study):
            if self.stage == "pilot":
                _refuse_sealed(self.plan_path)  # it may have been sealed since the bench was opened
                yield begin_or_recover(self.folder, self.opened(), inside=self.study, now=now())
            else:
                recover(self.folder, inside=self.study, now=now())
                yield Journal.open(self.folder, inside=self.study)

    @contextmanager
    def _writing_shard(self, shard: int, of: int, now: Callable[[], datetime]) -> Iterator[Journal]:
        """The shard's own journal, bound to the main one, which notes where it stands before and after."""
        assert self.sealed is not None
        main = self.sealed.receipts
        # Other shards may run meanwhile, and note where they stand: each entry under the main journal's own lock.
        with exclusive(main, inside=self.study, shared=True):
            recover(main, inside=self.study, now=now())
            due = _sharded(self.sealed, shard, of)
            self.folder.mkdir(parents=True, exist_ok=True)
            with exclusive(self.folder, inside=self.study):
                journal = begin_or_recover(self.folder, due, inside=self.study, now=now())
                self.killed[:] = Shard(self.folder, due, self.study).killed(_taken(self.sealed))
                before = journal.head
                try:
                    yield journal
                finally:
                    if journal.head != before:  # a run began: its end is noted too, even where nothing came of it
                        self._note(journal.head, now)

    def begin_run(self, journal: Journal, now: Callable[[], datetime]) -> None:
        """The journal says that a run begins or goes on; of a shard, the main journal knows it before any attempt."""
        journal.append(self.opened(), now=now())
        if self.share is not None:
            self._note(journal.head, now)

    def _note(self, head: JournalHead, now: Callable[[], datetime]) -> None:
        """The main journal tells that the shard's stands at `head`."""
        assert self.sealed is not None and self.share is not None
        shard, of = self.share
        self.sealed.journal().append(ShardHead(shard=shard, of=of, head=str(head)), now=now())

    def withheld_before(self) -> frozenset[str]:
        """The bodies that are withheld here: of a shard, those of the main journal too, into which it is merged."""
        main = frozenset() if self.sealed is None else withheld_bodies(self.sealed.receipts, inside=self.study)
        return main | withheld_bodies(self.folder, inside=self.study)

    def check_may_run(self, history: History) -> None:
        """`OutOfOrderError` if shards of this stage wait to be merged: their slots would be run twice."""
        if self.sealed is not None and self.stage == "confirmatory" and history.taken is not None:
            check_none_waits(self.sealed, history.taken, before="the main run goes on")


def _sharded(sealed: SealedPlan, shard: int, of: int) -> Sharded:
    """The entry that begins a shard's journal, or has begun it; `OutOfOrderError` if it cannot be run here now.

    `UntrustedError` if this shard or another began here before, and its journal is gone or another.
    """
    taken = _taken(sealed)
    if taken.attempted or taken.merged or taken.lost:
        merged = taken.merged or taken.lost
        what = "the shards are merged" if merged else "the confirmatory run has begun without shards"
        raise OutOfOrderError(what, where=str(sealed.receipts), remedy=to_type("run", sealed.path))
    if taken.shared_among not in (None, of):
        what = f"the run is shared among {taken.shared_among}, not {of}"
        raise OutOfOrderError(what, where=str(sealed.receipts), remedy=f"--shard i/{taken.shared_among}")
    here = find_shards(sealed)
    check_still_here(sealed, taken.begun.keys() - {one.sharded.shard for one in here if one.sharded.of == of}, of)
    for one in here:
        where, begun = str(one.folder), one.sharded
        if begun.pin != sealed.latest.pin:
            if (begun.shard, begun.of) == (shard, of):
                what = "it was begun under an earlier pin than the one in force"
                raise OutOfOrderError(what, where=where, remedy="move it out of shards/, or share the run another way")
        elif begun.of != of:
            what = f"the run is shared among {begun.of}, not {of}"
            raise OutOfOrderError(what, where=where, remedy=f"--shard i/{begun.of}")
        elif begun.shard == shard:
            taken.met(begun.after, f"{where} entry 0")
            return begun
    return Sharded(
        plan=sealed.plan.spec.id, seal=sealed.pin, pin=sealed.latest.pin, shard=shard, of=of, after=taken.after
    )


def _taken(sealed: SealedPlan) -> Taken:
    """What the main journal, read to its end, says of shards."""
    history = sealed.history()
    for _ in history.entries():
        pass
    assert history.taken is not None
    return history.taken


def open_bench(plan_path: Path, stage: Stage, *, share: tuple[int, int] | None = None, runs: bool = True) -> Bench:
    """The bench of `stage`, or of a share of the confirmatory stage, everything checked that a run rests on.

    Without `runs` no world is loaded.

    `UsageError` if the plan has no such stage, or uses a part that this sealkit cannot run; for a sealed stage
    `OutOfOrderError` without a seal, `UntrustedError` with a broken one, `DriftError` on drift.
    """
    bench = _pilot_bench(plan_path, runs) if stage == "pilot" else _sealed_bench(plan_path, stage, share, runs)
    later = parts_of_later_engines(bench.plan)
    if later:
        what = "\n  ".join(later)
        raise UsageError(f"this sealkit can seal, but not yet run:\n  {what}", where=str(plan_path))
    return bench


def _sealed_bench(plan_path: Path, stage: Stage, share: tuple[int, int] | None, runs: bool) -> Bench:
    sealed = open_seal(plan_path)
    _check_stage(sealed.plan, stage)
    if share is not None:
        shared = sum(1 for _ in drawn_blocks(sealed.plan.spec, stage)) if stage == "confirmatory" else 0
        if share[1] > shared:
            what = f"{share[1]} shards, but only whole blocks of the confirmatory stage are shared, and it has {shared}"
            raise UsageError(what, where="--shard", remedy="take fewer shards")
    guard = open_guard(sealed)
    readers: Mapping[str, Reader] = {}
    if runs:  # before the world: each load is a fresh one
        check_verifiers(sealed.study, sealed.plan)
        open_judge(sealed.study, sealed.plan)
        readers = open_readers(sealed.study, sealed.plan)
    world = _world(sealed.study, sealed.plan) if runs else None
    guard.look(since=time.monotonic())  # what was loaded was read after the check
    return Bench(
        plan_path=plan_path, study=sealed.study, plan=sealed.plan, stage=stage, pin=sealed.latest.pin,
        judge=sealed.judge, folder=sealed.receipts if share is None else shard_folder(sealed.receipts, *share),
        sealed=sealed, world=world, scenario_line=lambda slot: sealed.trusted(slot).scenario, guard=guard, share=share,
        readers=readers,
    )  # fmt: skip


def _pilot_bench(plan_path: Path, runs: bool) -> Bench:
    study = study_of(plan_path)
    data = read_if_there(plan_path, inside=study, limit=MAX_BYTES)
    if data is None:
        raise UsageError("there is no such plan", where=str(plan_path))
    plan = open_plan_bytes(data, str(plan_path))
    _check_stage(plan, "pilot")
    _refuse_sealed(plan_path)
    world = _world(study, plan) if runs else None
    closure = make_closure(study, declared(plan.spec))
    judge = closure.tree(plan.spec.judge).root if plan.spec.judge is not None else ""

    def line(slot: Slot) -> bytes:
        if not isinstance(world, LoadedWorld) or not isinstance(plan.spec.world, ReferenceWorld):
            return assignment_line(plan.spec, slot)
        family, seed = str(slot["family"]), int(slot["seed"])
        return encode_record(make_scenario(world, family, seed, plan.spec.world.params, where=plan.where))

    return Bench(
        plan_path=plan_path, study=study, plan=plan, stage="pilot", pin=plan.digest, judge=judge,
        folder=receipts_folder(study, plan) / "pilot", sealed=None, world=world, scenario_line=line,
        guard=Guard(None),
    )  # fmt: skip


def _refuse_sealed(plan_path: Path) -> None:
    if plan_path.with_suffix(".seal.json").exists():
        raise OutOfOrderError("the plan is sealed; a pilot comes before", where=str(plan_path))


def _world(study: Path, plan: Plan) -> LoadedWorld | Command:
    if isinstance(plan.spec.world, ReferenceWorld):
        return load_world(study, plan.spec.world.name)
    return open_command(plan.spec.world, study, os.environ)


def _check_stage(plan: Plan, stage: Stage) -> None:
    if not slot_count(plan.spec, stage):
        raise UsageError(f"the plan has no {stage} stage", where=plan.where("sample"), remedy=f"declare sample.{stage}")
