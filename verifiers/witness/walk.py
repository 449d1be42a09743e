"""Where a trace leads: the state after each delta, its digests, and what occurred on the way.

The walk goes along the states as recorded, because every later question (what was due, was a reading true) is
about the world as it then was. Where the record and the contracts part, it keeps both: `due` says when each
contract was due on these states, `applied` what the record applied. `settle` compares them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from sealkit.wire.contract import Sighting, Values, see
from sealkit.wire.declared import Restore
from sealkit.wire.episode import Generation, Roots, Shown
from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import apply, diff, resolve, tokens
from sealkit.wire.records import Json, Patch, Replace, Scalar
from sealkit.wire.trace import component_digest, root_digest
from sealkit.wire.verdict import Origin

from .faults import Faults
from .study import Declared, Study, Timed

State: TypeAlias = dict[str, Json]
Reading: TypeAlias = tuple[str, type, Scalar]  # pointer, type of the value, value


@dataclass(slots=True, eq=False)
class Occurrence:
    """One application of a contract as the trace records it; `lawful`: it did what the contract says."""

    declared: Declared
    act: int
    head: str
    before: State
    after: State
    roots: Roots
    generation: Generation
    values: Values
    lawful: bool
    place: int  # in the order of all that happened
    told: Shown | None = None


@dataclass(slots=True, eq=False)
class Restored:
    """One restore as the trace records it."""

    restore: Restore
    act: int
    head: str
    roots: Roots
    generation: Generation


@dataclass(frozen=True, slots=True)
class Stray:
    """An act whose recorded root is not that of the state that its deltas lead to."""

    act: int
    found: str
    due: str
    before: str  # the root before contracts and restores
    state: State


@dataclass(slots=True, eq=False)
class Walk:
    """Where the trace has led so far, and what happened on the way, in its order."""

    study: Study
    faults: Faults
    state: State
    digests: dict[str, str]
    root: str
    ruled: list[Declared]  # not due yet, and due by a rule
    generation: Generation
    happened: list[Occurrence | Restored] = field(default_factory=list)
    timed: dict[int, list[Occurrence]] = field(default_factory=dict)  # notices due in the return of an act
    letters: list[Occurrence] = field(default_factory=list)  # notices waiting in the inbox
    latent: list[Occurrence] = field(default_factory=list)  # to be disclosed by a reading
    applied: dict[str, int] = field(default_factory=dict)
    due: dict[str, tuple[int, Values]] = field(default_factory=dict)
    restores_due: dict[str, int] = field(default_factory=dict)
    agenda: dict[int, list[Timed]] = field(default_factory=dict)  # what a contract applied has put there
    kept: dict[str, str] = field(default_factory=dict)
    readings: Counter[Reading] = field(default_factory=Counter)  # in the returns of the acts before
    unseen: list[Reading] = field(default_factory=list)  # in the return of this act
    read: dict[str, Json] = field(default_factory=dict)  # what stands at a pointer, as long as the state stays
    misread: set[str] = field(default_factory=set)  # pointers of facts that were not so
    notices: int = 0
    strays: list[Stray] = field(default_factory=list)
    trespasses: list[tuple[int, State, Patch]] = field(default_factory=list)  # act, state before, ops outside
    written: set[str] = field(default_factory=lambda: {EVERYWHERE})  # places changed since rules last looked
    fresh_readings: bool = True
    touched: set[str] = field(default_factory=set)  # components to hash again


SCALARS = (str, int, bool, type(None))
EVERYWHERE = ""


class Lost(Exception):
    """A delta cannot be followed, so nothing can be said of the states behind it."""


def start_walk(study: Study, faults: Faults) -> Walk:
    """At the sealed genesis, before act 0."""
    return Walk(
        study=study, faults=faults, state=study.scenario.genesis, digests=dict(study.genesis), root=study.root,
        ruled=list(study.ruled), generation=Generation(generation=0, snapshot=None),
    )  # fmt: skip


def change(walk: Walk, ops: Patch, where: str) -> None:
    """Take one delta; `Lost` if it does not fit the state. Digests follow with `hash_again`."""
    before = walk.state
    try:
        state = cast(State, apply(before, ops))
    except MalformedError as error:
        origin: Origin = "lineage" if ".restore" in where and not walk.strays else "environment"
        walk.faults.add(origin, where, str(error), "a change of the state that was")
        raise Lost from error
    if state.keys() != before.keys():
        walk.faults.add("environment", where, "a component added or dropped", "the components of the genesis")
        raise Lost
    walk.state = state
    if _is_plain(before, ops):  # nothing but the places written has another value
        for op in ops:
            walk.touched.add(op.path.split("/", 2)[1])
            walk.written.add(op.path)
            walk.read.pop(op.path, None)
        return
    walk.touched.update(tokens(op.path)[0] for op in ops)
    walk.written.add(EVERYWHERE)
    walk.read = {}
    if not walk.strays and diff(before, state) != ops:
        walk.faults.add("environment", where, ops, "the difference that it makes, as it is spelled")


def _is_plain(before: State, ops: Patch) -> bool:
    """Whether `ops` only put other scalars for scalars, in order: then they are the difference, for sure."""
    last: list[str] = []
    for op in ops:
        if not isinstance(op, Replace) or "~" in op.path or type(op.value) not in SCALARS:
            return False
        old, place = resolve(before, op.path), op.path.split("/")
        if type(old) not in SCALARS or (type(old) is type(op.value) and old == op.value):
            return False
        if last and (place <= last or any(token.isdigit() for token in place)):  # places of arrays sort otherwise
            return False
        last = place
    return True


def hash_again(walk: Walk) -> Roots:
    """Bring digests and root up to the state; only touched components are hashed."""
    before, moved = walk.root, []
    for name in walk.touched:
        digest = component_digest(name, walk.state[name])
        if digest != walk.digests[name]:
            walk.digests[name] = digest
            moved.append(name)
    walk.touched = set()
    if moved:
        walk.root = root_digest(walk.digests)
    return Roots(before=before, after=walk.root, moved=tuple(sorted(moved)))


def leads(before: State, after: State, due: Patch) -> bool:
    """Whether `due` leads from `before` to `after`, exactly."""
    try:
        return not diff(apply(before, due), after)
    except MalformedError:
        return False


def see_late(declared: Declared, at: Sighting) -> Values:
    """What a contract sees where it is not due; nothing if it cannot see there."""
    try:
        return see(declared.contract, at)
    except MalformedError:
        return {}
