"""Follows one act: its own delta, what is due after it, the contracts and restores recorded there, its root."""

from __future__ import annotations

from collections.abc import Sequence

from sealkit.wire.contract import Sighting, Values, effect, see
from sealkit.wire.declared import Inbox, Never, Restore, Snapshot, ThisReturn, WhenShown
from sealkit.wire.episode import Act, Delta, Generation
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Patch, Remove

from .study import Declared, Timed
from .walk import (
    EVERYWHERE,
    SCALARS,
    Lost,
    Occurrence,
    Restored,
    State,
    Stray,
    Walk,
    change,
    hash_again,
    leads,
    see_late,
)


def step(walk: Walk, act: Act) -> None:
    """Follow one act up to its root; `Lost` if the record cannot be followed."""
    if walk.unseen:
        walk.readings.update(walk.unseen)
        walk.fresh_readings, walk.unseen = True, []
    if act.delta:
        _check_footprint(walk, act)
        change(walk, act.delta, f"acts[{act.n}].delta")
    timed: Sequence[Timed] = walk.study.at.get(act.n, ())
    if act.n in walk.agenda:
        timed = [*timed, *walk.agenda.pop(act.n)]
    due = _now_due(walk, act, timed) if timed or walk.ruled else {}
    before = walk.root
    if act.deltas or timed:
        before = hash_again(walk).after
        _follow(walk, act, due, [item for item in timed if not isinstance(item, Declared)])
    if walk.touched:
        hash_again(walk)
    if act.root != walk.root:
        walk.strays.append(Stray(act=act.n, found=act.root, due=walk.root, before=before, state=walk.state))


def _check_footprint(walk: Walk, act: Act) -> None:
    outside = [op for op in act.delta if not walk.study.may_change(act.action.name, op.path)]
    if outside:
        walk.trespasses.append((act.n, walk.state, tuple(outside)))
    for op in outside:
        found = f"{act.action.name} changes {op.path}"
        walk.faults.add("environment", f"acts[{act.n}].delta", found, "a change inside its footprint")


# --- what is due -----------------------------------------------------------------------------------


def _now_due(walk: Walk, act: Act, timed: Sequence[Timed]) -> dict[str, Values]:
    """Contracts due at this boundary, all judged on the state after the act, with what they see there."""
    looking = [declared for declared in walk.ruled if _may_turn_true(walk, declared)]
    looking += [item for item in timed if isinstance(item, Declared)]
    walk.written, walk.fresh_readings = set(), False
    if not looking:
        return {}
    at = Sighting(state=walk.state, action=act.action, shown=walk.readings)
    due: dict[str, Values] = {}
    try:
        for declared in looking:
            values = see(declared.contract, at)
            if declared.rule is None or declared.rule.evaluate(values) is True:
                due[declared.contract.id] = values
    except MalformedError as error:
        walk.faults.add("environment", f"acts[{act.n}]", str(error), "a state that the contracts can be read against")
        raise Lost from error
    for id, values in due.items():
        walk.due[id] = (act.n, values)
    if due:
        walk.ruled = [declared for declared in walk.ruled if declared.contract.id not in due]
    return due


def _may_turn_true(walk: Walk, declared: Declared) -> bool:
    """False if the rule was false before on just the values that it would see now."""
    return (
        declared.sees_act
        or (declared.sees_readings and walk.fresh_readings)
        or EVERYWHERE in walk.written
        or not declared.places.isdisjoint(walk.written)
    )


# --- contracts and restores as recorded ------------------------------------------------------------


def _follow(walk: Walk, act: Act, due: dict[str, Values], lineage: list[Snapshot | Restore]) -> None:
    reached = walk.state  # what contracts see, whatever those before them do
    rank, restoring = -1, False
    for i, delta in enumerate(act.deltas):
        where = f"acts[{act.n}].deltas[{i}]"
        kind, _, id = delta.cause.partition(":")
        if kind == "restore":
            if not restoring:
                _note_lineage(walk, act.n, lineage)
            restoring = True
            _come_back(walk, act, delta, id, f"{where}.restore")
            continue
        declared = walk.study.by_id.get(id) if kind == "contract" else None
        if declared is None:
            walk.faults.add("environment", f"{where}.cause", delta.cause, "a contract or restore of the scenario")
            change(walk, delta.ops, where)
            hash_again(walk)
            continue
        if id in due and id not in walk.applied:
            if restoring:
                walk.faults.add("lineage", where, f"{id} applied after a restore", "contracts before restores")
            elif declared.rank < rank:
                walk.faults.add("boundary", where, f"{id} applied after a later one", "the order of the manifest")
            rank = declared.rank
        values = due.get(id)
        if values is None:
            at = Sighting(state=reached, action=act.action, shown=walk.readings)
            values = see_late(declared, at)
        _apply(walk, act, delta, declared, values, where)
    if not restoring:
        _note_lineage(walk, act.n, lineage)


def _apply(walk: Walk, act: Act, delta: Delta, declared: Declared, values: Values, where: str) -> None:
    before = walk.state
    change(walk, delta.ops, where)
    occurrence = Occurrence(
        declared=declared, act=act.n, head=act.head, before=before, after=walk.state, roots=hash_again(walk),
        generation=walk.generation, values=values, lawful=_is_lawful(before, walk.state, delta.ops, declared, values),
        place=len(walk.happened),
    )  # fmt: skip
    walk.happened.append(occurrence)
    if declared.contract.id not in walk.applied:
        walk.applied[declared.contract.id] = act.n
        for acts, item in walk.study.after.get(declared.contract.id, ()):
            walk.agenda.setdefault(act.n + acts, []).append(item)
    due = declared.contract.tell.due
    if isinstance(due, WhenShown):
        walk.latent.append(occurrence)
    elif isinstance(due, Inbox):
        walk.letters.append(occurrence)
    elif not isinstance(due, Never):
        n = act.n if isinstance(due, ThisReturn) else act.n + due.acts
        walk.timed.setdefault(n, []).append(occurrence)


def _is_lawful(before: State, after: State, ops: Patch, declared: Declared, values: Values) -> bool:
    """Whether `ops`, which lead from `before` to `after`, do what the contract says."""
    try:
        due = effect(declared.contract, values)
    except MalformedError:
        return False
    return _same(ops, due) or leads(before, after, due)


def _same(ops: Patch, due: Patch) -> bool:
    """Whether two patches are the same by their look; False says nothing, because one change has many spellings."""
    if len(ops) != len(due):
        return False
    for op, other in zip(ops, due, strict=True):
        if type(op) is not type(other) or op.path != other.path:
            return False
        if isinstance(op, Remove) or isinstance(other, Remove):
            continue
        # Type by type, because Python takes true for 1.
        if type(op.value) not in SCALARS or type(op.value) is not type(other.value) or op.value != other.value:
            return False
    return True


def _note_lineage(walk: Walk, n: int, lineage: list[Snapshot | Restore]) -> None:
    """Keep the root of snapshots due here, and note the restores that have to follow."""
    for item in lineage:
        if isinstance(item, Snapshot):
            walk.kept[item.id] = walk.root
        else:
            walk.restores_due[item.id] = n


def _come_back(walk: Walk, act: Act, delta: Delta, id: str, where: str) -> None:
    change(walk, delta.ops, where)
    roots = hash_again(walk)
    restore = walk.study.restores.get(id)
    if restore is None:
        walk.faults.add("lineage", where, delta.cause, "a restore of the scenario")
        return
    generation = Generation(generation=walk.generation.generation + 1, snapshot=restore.snapshot)
    walk.generation = generation
    walk.happened.append(Restored(restore=restore, act=act.n, head=act.head, roots=roots, generation=generation))
    due = walk.kept.get(restore.snapshot, f"snapshot {restore.snapshot}, which was not taken yet")
    # Once roots have strayed, recorded deltas say nothing more about what was restored.
    if roots.after != due and not walk.strays:
        walk.faults.add("lineage", where, roots.after, due)
