"""What was due against what was applied: names the origin where the two part.

The same wrong trace has several readings, and the first faulty origin is the one that explains it:

    right effect at another act                      boundary, and behind a restore lineage
    due and nowhere applied, or with another effect  environment, and missing behind a restore lineage
    applied again                                    environment, and across a restore lineage

Behind a restore the record cannot tell an effect that came late from acts that the resume lost or did twice;
both are the resume's doing, and lineage is named. An effect can also come at another act without being
recorded there: inside an act's own delta, in roots that turn right later, or after the last act.
"""

from __future__ import annotations

from typing import cast

from sealkit.wire.contract import Sighting, Values, effect
from sealkit.wire.declared import After, Contract, CountSight, Restore
from sealkit.wire.episode import Episode, Receipt
from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import apply, covers, diff
from sealkit.wire.records import Patch
from sealkit.wire.trace import component_digests, root_digest
from sealkit.wire.verdict import Origin

from .study import Declared
from .walk import Occurrence, Restored, State, Stray, Walk, leads, see_late


def settle(walk: Walk, episode: Episode) -> set[str]:
    """Compare every contract and restore with the trace; the ids of those that are not as due, once each."""
    irregular = {declared.contract.id for declared in walk.study.declared if not _regular(walk, declared)}
    elsewhere = _came_inside_acts(walk) if walk.trespasses else set()
    if episode.closing.root != walk.root:
        elsewhere |= _came_after_the_end(walk, episode)
    for id in irregular:
        _settle_contract(walk, episode, walk.study.by_id[id], irregular, elsewhere)
    for restore in walk.study.scenario.restores:
        _settle_restore(walk, restore, irregular)
    for stray in walk.strays:
        if not any(other.act == stray.act - 1 for other in walk.strays):
            _name_stray(walk, episode, stray)
    return irregular


def _regular(walk: Walk, declared: Declared) -> bool:
    due = walk.due.get(declared.contract.id)
    applied = _applications(walk, declared)
    if due is None:
        return not applied
    return len(applied) == 1 and applied[0].act == due[0] and applied[0].lawful


def _applications(walk: Walk, declared: Declared) -> list[Occurrence]:
    return [item for item in walk.happened if isinstance(item, Occurrence) and item.declared is declared]


def _restored_between(walk: Walk, first: int, last: int) -> bool:
    """Whether a restore came after the contracts of act `first` and before those of act `last`."""
    return any(isinstance(item, Restored) and first <= item.act < last for item in walk.happened)


def _past_stray(walk: Walk, acts: list[int]) -> bool:
    """Whether all of it lies behind roots that have strayed, where the recorded states decide nothing."""
    return bool(walk.strays) and min(acts) > walk.strays[0].act


def _hangs_on_a_fault(walk: Walk, declared: Contract | Restore, irregular: set[str]) -> bool:
    """Whether its time follows from what is faulty itself: another contract's time, or a count of false facts."""
    if isinstance(declared.when, After):
        return declared.when.contract in irregular
    sights = declared.sees.values() if isinstance(declared, Contract) else ()
    return any(isinstance(sight, CountSight) and sight.pointer in walk.misread for sight in sights)


# --- contracts -------------------------------------------------------------------------------------


def _settle_contract(
    walk: Walk, episode: Episode, declared: Declared, irregular: set[str], elsewhere: set[str]
) -> None:
    id = declared.contract.id
    due = walk.due.get(id)
    applied = _applications(walk, declared)
    if _past_stray(walk, [item.act for item in applied] + ([due[0]] if due else [])):
        return
    if not applied:
        if due is not None and id not in elsewhere and not _hangs_on_a_fault(walk, declared.contract, irregular):
            _name_missing(walk, episode, declared, due)
        return
    first = next((item for item in applied if due is not None and item.act == due[0]), applied[0])
    if due is not None and first.act == due[0]:
        if not first.lawful:
            late = any(item.lawful for item in applied if item is not first)
            origin: Origin = "boundary" if late else "environment"
            walk.faults.add(origin, _where(id, first.act), _ops(first), _effect_words(declared, due[1]))
    elif not _lawful_at(first, due):
        walk.faults.add("environment", _where(id, first.act), _ops(first), _effect_words(declared, first.values))
    elif not _hangs_on_a_fault(walk, declared.contract, irregular):
        _name_moved(walk, id, first.act, due)
    for item in applied:
        if item is not first:
            between = sorted((first.act, item.act))
            origin = "lineage" if _restored_between(walk, between[0], between[1]) else "environment"
            walk.faults.add(origin, _where(id, item.act), "applied again", f"once, after act {first.act}")


def _lawful_at(item: Occurrence, due: tuple[int, Values] | None) -> bool:
    """Whether it did what the contract says, on what was seen there or at the boundary where it was due."""
    if item.lawful or due is None:
        return item.lawful
    try:
        return leads(item.before, item.after, effect(item.declared.contract, due[1]))
    except MalformedError:
        return False


def _name_missing(walk: Walk, episode: Episode, declared: Declared, due: tuple[int, Values]) -> None:
    id = declared.contract.id
    last = episode.acts[-1].n
    claims = [item for item in episode.receipts if isinstance(item, Receipt) and item.contract.id == id]
    if any(claim.boundary.applied > last for claim in claims):
        walk.faults.add("boundary", f"contract {id}", f"applied after act {last}, the last", f"after act {due[0]}")
        return
    origin: Origin = "lineage" if _restored_between(walk, 0, due[0]) else "environment"
    walk.faults.add(origin, f"contract {id}", "not applied", f"applied after act {due[0]}")


def _name_moved(walk: Walk, id: str, act: int, due: tuple[int, Values] | None) -> None:
    first = act if due is None else min(act, due[0])
    origin: Origin = "lineage" if _restored_between(walk, 0, first) else "boundary"
    words = "not in this episode" if due is None else f"applied after act {due[0]}"
    walk.faults.add(origin, f"contract {id}", f"applied after act {act}", words)


def _came_inside_acts(walk: Walk) -> set[str]:
    """Contracts whose effect stands in the own delta of an act that has no right to it."""
    found: set[str] = set()
    for act, before, stray in walk.trespasses:
        for declared in walk.study.declared:
            id = declared.contract.id
            due = walk.due.get(id)
            if id not in found and due is not None and _stands_in(declared, due[1], before, stray):
                found.add(id)
                _name_moved(walk, id, act, due)
    return found


def _came_after_the_end(walk: Walk, episode: Episode) -> set[str]:
    """Contracts that the trace lacks and the final root has: applied after the last act."""
    found: set[str] = set()
    last = episode.acts[-1]
    for declared in walk.study.declared:
        id = declared.contract.id
        if id in walk.applied:
            continue
        due = walk.due.get(id)
        values = due[1] if due else see_late(declared, Sighting(state=walk.state, action=last.action, shown={}))
        if _root_with(declared, values, walk.state) == episode.closing.root:
            found.add(id)
            _name_moved(walk, id, last.n + 1, due)
    return found


def _stands_in(declared: Declared, values: Values, before: State, ops: Patch) -> bool:
    try:
        moved = diff(before, apply(before, effect(declared.contract, values)))
    except MalformedError:
        return False
    return bool(moved) and all(op in ops for op in moved)


# --- restores and roots ----------------------------------------------------------------------------


def _settle_restore(walk: Walk, restore: Restore, irregular: set[str]) -> None:
    due = walk.restores_due.get(restore.id)
    acts = [item.act for item in walk.happened if isinstance(item, Restored) and item.restore is restore]
    if acts == [due] or (due is None and not acts):
        return
    if _past_stray(walk, acts + ([due] if due is not None else [])):
        return
    where = f"restore {restore.id}"
    words = "not in this episode" if due is None else f"after act {due}"
    if len(acts) > 1:
        walk.faults.add("lineage", where, f"restored after acts {', '.join(map(str, acts))}", words)
    elif not _hangs_on_a_fault(walk, restore, irregular):
        if acts:
            walk.faults.add("boundary", where, f"restored after act {acts[0]}", words)
        else:
            walk.faults.add("lineage", where, "not restored", words)


def _name_stray(walk: Walk, episode: Episode, stray: Stray) -> None:
    """Name the first of a row of acts whose recorded roots are not those of the recorded deltas."""
    origin: Origin = "environment"
    if any(isinstance(item, Restored) and item.act == stray.act for item in walk.happened):
        origin = "lineage"
    elif _turns_right(walk, episode, stray) or _runs_ahead(walk, stray):
        origin = "boundary"
    walk.faults.add(origin, f"acts[{stray.act}].root", stray.found, stray.due)


def _turns_right(walk: Walk, episode: Episode, stray: Stray) -> bool:
    """Whether the root lacks the contracts of this act, and that of a later act has them by itself."""
    missing = [op.path for item in walk.happened if item.act == stray.act and isinstance(item, Occurrence)
               for op in diff(item.before, item.after)]  # fmt: skip
    strays = {other.act for other in walk.strays}
    right = next((act for act in episode.acts[stray.act :] if act.n not in strays), None)
    if stray.found != stray.before or not missing or right is None:
        return False
    written = [op.path for ops in (right.delta, *(delta.ops for delta in right.deltas)) for op in ops]
    return not any(covers(path, place) or covers(place, path) for path in written for place in missing)


def _runs_ahead(walk: Walk, stray: Stray) -> bool:
    """Whether the root already has a contract that the trace applies one act later."""
    following = [item for item in walk.happened if isinstance(item, Occurrence) and item.act == stray.act + 1]
    return any(_root_with(item.declared, item.values, stray.state) == stray.found for item in following)


def _root_with(declared: Declared, values: Values, state: State) -> str | None:
    """The root of `state` with the contract's effect applied, None if it does not apply or changes nothing."""
    try:
        changed = cast(State, apply(state, effect(declared.contract, values)))
    except MalformedError:
        return None
    return root_digest(component_digests(changed)) if diff(state, changed) else None


# --- words -----------------------------------------------------------------------------------------


def _where(id: str, act: int) -> str:
    return f"acts[{act}].deltas, contract {id}"


def _ops(item: Occurrence) -> str:
    return repr(diff(item.before, item.after))


def _effect_words(declared: Declared, values: Values) -> str:
    try:
        return repr(effect(declared.contract, values))
    except MalformedError as error:
        return str(error)
