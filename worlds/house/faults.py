"""A fault, once its contract has been applied: which premise it makes false, and what reveals that.

Three kinds, told apart by what the contract declares:

    Overwritten    a door, a key's use or the task's target was changed: the premise is the value before
    Carried        a thing was carried from one table to another: the premise is that it lies where it lay
    Misread        a reading was false: the premise is that the reading was true
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from sealkit.wire.declared import Contract
from sealkit.wire.episode import Act, Fact, Notice, Segment
from sealkit.wire.patch import apply, resolve
from sealkit.wire.records import Replace, Scalar
from sealkit.world.sdk import State

from .plan import laid, things_on


@dataclass(frozen=True, slots=True)
class Overwritten:
    """Values were replaced. `since` is the act after which they were, `revealed` that whose return first told."""

    contract: str
    values: tuple[tuple[str, Scalar, Scalar], ...]  # pointer, value before, value after
    since: int
    revealed: int | None
    is_false_reading: bool = False

    def premise(self, state: State) -> State | None:
        """The true state with the old values; None if another change has come over the new ones."""
        if any(resolve(state, pointer) != after for pointer, _, after in self.values):
            return None
        return cast(State, apply(state, [Replace(path=pointer, value=before) for pointer, before, _ in self.values]))


@dataclass(frozen=True, slots=True)
class Carried:
    """A thing was carried from one room to another."""

    contract: str
    thing: str
    origin: str
    to: str
    since: int
    revealed: int | None
    is_false_reading: bool = False

    def premise(self, state: State) -> State | None:
        """The true state with the thing back; None once the agent has moved it, and so knows better."""
        tables = cast(Mapping[str, str], state["tables"])
        if self.thing not in things_on(tables[self.to]):
            return None
        left = laid(tuple(thing for thing in things_on(tables[self.to]) if thing != self.thing))
        back = laid((*things_on(tables[self.origin]), self.thing))
        return {**state, "tables": {**tables, self.to: left, self.origin: back}}


@dataclass(frozen=True, slots=True)
class Misread:
    """A reading of `pointer` showed `shown`, which was not so. `since` is the act whose return showed it."""

    contract: str
    pointer: str
    shown: Scalar
    since: int
    revealed: int | None
    is_false_reading: bool = True

    def premise(self, state: State) -> State | None:
        """The true state with the reading taken for true."""
        return cast(State, apply(state, [Replace(path=self.pointer, value=self.shown)]))


Fault: TypeAlias = Overwritten | Carried | Misread


def fault_of(contract: Contract, before: State, after: State, acts: Sequence[Act]) -> Fault | None:
    """The fault that a contract amounts to; `acts` are that of its boundary and all later ones.

    None for a false reading that was never shown, and for a contract that changed nothing.
    """
    distort = contract.tell.distort
    if distort is not None:
        return _misread(contract.id, distort.pointer, distort.reading, acts)
    pointers = tuple(op.path for op in contract.then)
    if all(pointer.startswith("/tables/") for pointer in pointers):
        return _carried(contract.id, before, after, acts)
    pairs = ((pointer, _scalar(before, pointer), _scalar(after, pointer)) for pointer in pointers)
    values = tuple((pointer, old, new) for pointer, old, new in pairs if old != new)
    if not values:
        return None
    told = {(pointer, new) for pointer, _, new in values}
    revealed = _revealed(contract.id, acts, lambda fact: (fact.pointer, fact.value) in told)
    return Overwritten(contract=contract.id, values=values, since=acts[0].n, revealed=revealed)


def _misread(contract: str, pointer: str, shown: Scalar, acts: Sequence[Act]) -> Misread | None:
    since = _first(acts, lambda segment: isinstance(segment, Fact) and segment.pointer == pointer)
    if since is None:
        return None
    later = [act for act in acts if act.n > since]
    revealed = _revealed(contract, later, lambda fact: fact.pointer == pointer and fact.value != shown)
    return Misread(contract=contract, pointer=pointer, shown=shown, since=since, revealed=revealed)


def _carried(contract: str, before: State, after: State, acts: Sequence[Act]) -> Carried | None:
    was, now = _places(before), _places(after)
    moved = sorted(thing for thing in was.keys() & now.keys() if was[thing] != now[thing])
    if not moved:
        return None
    thing = moved[0]
    origin, to = was[thing], now[thing]

    def tells(fact: Fact) -> bool:
        here = thing in things_on(str(fact.value))
        return (fact.pointer == f"/tables/{origin}" and not here) or (fact.pointer == f"/tables/{to}" and here)

    revealed = _revealed(contract, acts, tells)
    return Carried(contract=contract, thing=thing, origin=origin, to=to, since=acts[0].n, revealed=revealed)


def _places(state: State) -> dict[str, str]:
    tables = cast(Mapping[str, str], state["tables"])
    return {thing: room for room, table in tables.items() for thing in things_on(table)}


def _scalar(state: State, pointer: str) -> Scalar:
    return cast(Scalar, resolve(state, pointer))


def _revealed(contract: str, acts: Sequence[Act], tells: Callable[[Fact], bool]) -> int | None:
    """The first act in whose return a fact tells of the change, or the contract's own notice does."""

    def shows(segment: Segment) -> bool:
        if isinstance(segment, Fact):
            return tells(segment)
        return isinstance(segment, Notice) and segment.contract == contract

    return _first(acts, shows)


def _first(acts: Sequence[Act], shows: Callable[[Segment], bool]) -> int | None:
    return next((act.n for act in acts if any(shows(segment) for segment in act.segments)), None)
