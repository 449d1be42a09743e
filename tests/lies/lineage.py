"""Rows 11 and 12: snapshots, restores, and what a resume does to acts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace as changed

from sealkit.wire.canon import digest_json, digest_record
from sealkit.wire.declared import Restore
from sealkit.wire.episode import Action, AnyReceipt, Delta, Generation, Receipt
from sealkit.wire.patch import diff
from sealkit.wire.records import Json
from sealkit.world.occurred import Restored
from sealkit.world.sdk import Told
from sealkit.world.witness import Recorder
from tests.lies.boundary import applied_at
from tests.lies.stage import DONE, FERN, FILL, FULL, ROSE, WAIT, Evidence, World, lie, stage, without


def storm(
    world: type[World] = World, recorder: type[Recorder] = Recorder, actions: Sequence[Action] = FULL
) -> Evidence:
    """An episode with two restores, after acts 8 and 10."""
    return stage(world, recorder, family="storm", actions=actions)


# --- row 11 ----------------------------------------------------------------------------------------


@lie(11, "witness", "lineage")
def restored_from_another_snapshot() -> Evidence:
    class Mixed(Recorder):
        def _restore(self, k: int, head: str) -> list[Delta]:
            if "shut" in self.kept:
                self.kept["dry"] = self.kept["shut"]
            return super()._restore(k, head)

    return storm(recorder=Mixed)


@lie(11, "witness", "lineage")
def snapshot_taken_an_act_late() -> Evidence:
    """The restore is right; what it restores was kept at another boundary."""

    class Late(Recorder):
        def _restore(self, k: int, head: str) -> list[Delta]:
            if k == 2:
                self.kept["dry"] = self.session.snapshot()
            return super()._restore(k, head)

    return storm(recorder=Late)


@lie(11, "witness", "lineage")
def residue_after_a_restore() -> Evidence:
    """One plant keeps its water."""
    return storm(Leaving)


class Leaving(World):
    """A world whose restores forget the bench."""

    def restore(self, snapshot: bytes) -> None:
        bench = self.here["bench"]
        super().restore(snapshot)
        self.here["bench"] = bench


@lie(11, "witness", "lineage")
def residue_after_a_restore_logged_as_whole() -> Evidence:
    """The log repeats what the restore should have done; the roots tell the truth."""

    class Parrot(Recorder):
        then: dict[str, Json]

        def _restore(self, k: int, head: str) -> list[Delta]:
            deltas = super()._restore(k, head)
            if k == 1:
                self.then = dict(self.state)
            return deltas

        def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
            before: Json = dict(self.state)
            delta = super()._come_back(restore, k, head)
            return Delta(cause=delta.cause, ops=diff(before, dict(self.then))) if restore.id == "back" else delta

    return storm(Leaving, Parrot)


@lie(11, "witness", "lineage")
def restore_left_out() -> Evidence:
    class Skipping(Recorder):
        def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
            raise AssertionError("left out")

        def _restore(self, k: int, head: str) -> list[Delta]:
            self._come_back = super()._come_back  # type: ignore[method-assign]
            return [] if k == 8 else super()._restore(k, head)

    return storm(recorder=Skipping)


@lie(11, "witness", "lineage")
def restore_never_declared() -> Evidence:
    class Extra(Recorder):
        def _restore(self, k: int, head: str) -> list[Delta]:
            deltas = super()._restore(k, head)
            if k == 6:
                deltas.append(self._come_back(changed(self.scenario.restores[0], id="undo"), k, head))
            return deltas

    return storm(recorder=Extra)


@lie(11, "witness", "lineage")
def restore_repeated() -> Evidence:
    class Twice(Recorder):
        def _restore(self, k: int, head: str) -> list[Delta]:
            deltas = super()._restore(k, head)
            if k == 9:
                deltas.append(self._come_back(self.scenario.restores[0], k, head))
            return deltas

    return storm(recorder=Twice)


@lie(11, "witness", "lineage")
def occurrence_repeated_after_a_restore() -> Evidence:
    """The restore brings back the books too: rain falls a second time, with its own receipt and notice."""
    return storm(recorder=Rewound)


class Rewound(Recorder):
    """A recorder that forgets, with a restore, what was applied since the snapshot."""

    def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
        delta = super()._come_back(restore, k, head)
        if restore.id == "back":
            self.applied.pop("rain")
        return delta

    def _occur(self, k: int, action: Action, head: str) -> list[Delta]:
        deltas = super()._occur(k, action, head)
        if k == 9:
            rain = next(item for item in self.scenario.contracts if item.id == "rain")
            deltas.append(self._apply(rain, {"level": 4}, k, head))
        return deltas


@lie(11, "witness", "lineage")
def occurrence_repeated_after_a_restore_and_numbered_two() -> Evidence:
    class Counting(Rewound):
        def _receipts(self) -> tuple[AnyReceipt, ...]:
            numbers: dict[str, int] = {}
            made: list[AnyReceipt] = []
            for item in super()._receipts():
                if isinstance(item, Receipt):
                    id = item.contract.id
                    numbers[id] = numbers.get(id, 0) + 1
                    item = changed(item, contract=changed(item.contract, occurrence=numbers[id]))
                made.append(item)
            return rechained(made)

    return storm(recorder=Counting)


def rechained(receipts: Sequence[AnyReceipt]) -> tuple[AnyReceipt, ...]:
    """The same receipts with `previous` made right."""
    made: list[AnyReceipt] = []
    for item in receipts:
        made.append(changed(item, previous=digest_record(made[-1]) if made else None))
    return tuple(made)


@lie(11, "witness", "lineage")
def occurrence_dropped_after_a_restore() -> Evidence:
    """Dusk is due after act 11, behind both restores, and never comes."""

    class Dropping(Recorder):
        def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
            self.applied["dusk"] = k
            return super()._come_back(restore, k, head)

    return storm(recorder=Dropping)


@lie(11, "witness", "lineage")
def receipts_dropped_with_a_restore() -> Evidence:
    """The restore takes the receipts since the snapshot along."""

    class Amnesiac(Recorder):
        def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
            self.happened = [item for item in self.happened if item.boundary.applied <= 1]
            return super()._come_back(restore, k, head)

    return storm(recorder=Amnesiac)


@lie(11, "witness", "lineage")
def generation_not_counted() -> Evidence:
    class Stuck(Recorder):
        def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
            before = self.generation
            delta = super()._come_back(restore, k, head)
            self.generation = before
            return delta

    return storm(recorder=Stuck)


@lie(11, "witness", "lineage")
def snapshot_misnamed_in_the_receipts() -> Evidence:
    class Misnaming(Recorder):
        def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
            delta = super()._come_back(restore, k, head)
            self.generation = Generation(generation=self.generation.generation, snapshot="dry")
            last = self.happened[-1]
            assert isinstance(last, Restored)
            self.happened[-1] = Restored(id=last.id, boundary=last.boundary, roots=last.roots, restore=self.generation)
            return delta

    return storm(recorder=Misnaming)


@lie(11, "witness", "lineage")
def previous_broken() -> Evidence:
    class Cut(Recorder):
        def _receipts(self) -> tuple[AnyReceipt, ...]:
            made = super()._receipts()
            return (*made[:2], changed(made[2], previous=digest_json("something else")), *rechained(made[2:])[1:])

    return stage(recorder=Cut)


@lie(11, "witness", "lineage")
def receipts_in_another_order() -> Evidence:
    class Shuffled(Recorder):
        def _receipts(self) -> tuple[AnyReceipt, ...]:
            made = super()._receipts()
            return rechained((made[1], made[0], *made[2:]))

    return stage(recorder=Shuffled)


@lie(11, "witness", "lineage")
def start_with_the_residue_of_another_episode() -> Evidence:
    """The greenhouse is not reset: the rose is wet before anything happens."""

    class Unclean(World):
        def __init__(self, genesis: dict[str, Json]) -> None:
            super().__init__(genesis)
            self.here["bench"]["rose"]["wet"] = 2

    return stage(Unclean)


# --- row 12 ----------------------------------------------------------------------------------------

# Nothing but acts: after the restore at act 8 the world resumes.
CALM_RESUME = (WAIT, WAIT, FILL, WAIT, WAIT, WAIT, WAIT, WAIT, FERN, ROSE, FILL, WAIT, DONE)


def resumed(session: Callable[[World, Action, Callable[[Action], Sequence[Told]]], Sequence[Told]]) -> Evidence:
    """An episode with a restore after act 8 and no contract near it; `session` carries out what follows."""

    class Resumed(World):
        def act(self, action: Action) -> Sequence[Told]:
            if self.now < 8:
                return super().act(action)
            return session(self, action, super().act)

    keep = without("storm", "lock", "leak", "rumour", "mould", "haze", "gauge", "dusk")
    return stage(Resumed, family="storm", actions=CALM_RESUME, within=keep)


@lie(12, "replay", "lineage")
def act_skipped_after_a_resume() -> Evidence:
    """Act 10 is recorded and was never carried out."""

    def skip(world: World, action: Action, honest: Callable[[Action], Sequence[Told]]) -> Sequence[Told]:
        return honest(WAIT) if world.now == 9 else honest(action)

    return resumed(skip)


@lie(12, "replay", "lineage")
def act_doubled_after_a_resume() -> Evidence:
    """Act 9 is carried out twice and recorded once."""

    def double(world: World, action: Action, honest: Callable[[Action], Sequence[Told]]) -> Sequence[Told]:
        if world.now == 8:
            honest(action)
            world.now -= 1
        return honest(action)

    return resumed(double)


@lie(12, "replay", "lineage")
def acts_reordered_after_a_resume() -> Evidence:
    """Acts 10 and 11 change places in the world, not in the record."""

    def swap(world: World, action: Action, honest: Callable[[Action], Sequence[Told]]) -> Sequence[Told]:
        return honest({9: CALM_RESUME[10], 10: CALM_RESUME[9]}.get(world.now, action))

    return resumed(swap)


@lie(12, "replay", "lineage")
def act_lost_after_a_resume() -> Evidence:
    """Act 9 was carried out and recorded; its effect is gone when act 10 begins."""

    def lose(world: World, action: Action, honest: Callable[[Action], Sequence[Told]]) -> Sequence[Told]:
        if world.now == 9:
            world.here["bench"]["fern"]["wet"] = 0
            world.here["tank"]["level"] += 1
        return honest(action)

    return resumed(lose)


@lie(12, "witness", "lineage")
def boundary_moved_by_a_resume() -> Evidence:
    """After the restores the world has lost count of an act: dusk comes after act 12, not 11."""
    return stage(recorder=applied_at("dusk", 12, due=11), family="storm", actions=FULL)
