"""The six families: where things stand, what is to be done, and the contract that changes it.

Each family lists, in the room names of the ground plan, every layout in which its change matters and 15 acts
suffice; the draws pick one. SPEC.md says the same in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TypeAlias

from sealkit.wire.declared import ActsLater, Authority, Contract, Tell
from sealkit.wire.records import Json
from sealkit.world.draws import Draws
from sealkit.world.sdk import (
    after_act,
    authority,
    contract,
    count,
    false_reading,
    never,
    notice,
    on,
    replace,
    seen,
)

from .ground import DISTANCE, RING, ROOMS, Names, neighbours
from .plan import NOTHING, laid

Layout: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """One scenario in the making; rooms as in the ground plan."""

    start: str
    items: Mapping[str, dict[str, Json]]
    places: Mapping[str, str]  # label → room
    task: tuple[tuple[str, str], ...]  # (thing, room)
    contracts: tuple[Contract, ...]


# --- layouts ---------------------------------------------------------------------------------------


@cache
def stale_door_layouts() -> tuple[Layout, ...]:
    """(start, target): the shortest way to sA and back leads through c0–c1, the other way back is longer."""
    return tuple(product(("c0", "c5"), repeat=2))


@cache
def wrong_start_layouts() -> tuple[Layout, ...]:
    """(start, believed, right, target): the believed key is never delivered and done before the message at turn 4."""
    return tuple(
        (start, believed, right, target)
        for start, believed, right, target in product(ROOMS, repeat=4)
        if len({believed, right, target}) == 3
        and start not in (believed, right)
        and DISTANCE[start][believed] <= 2
        and DISTANCE[believed][target] <= 2
        and DISTANCE[start][believed] + DISTANCE[believed][target] >= 3
        and DISTANCE[right][target] <= 2
    )


@cache
def delayed_update_layouts() -> tuple[Layout, ...]:
    """(start, home, old target, new target): no first step from the home serves both targets."""
    return tuple(
        (start, home, old, new)
        for start, home, old, new in product(ROOMS, RING, ROOMS, ROOMS)
        if DISTANCE[start][home] in (1, 2)
        and DISTANCE[home][old] in (2, 3)
        and DISTANCE[home][new] in (1, 2, 3)
        and not _ways(home, old) & _ways(home, new)
    )


@cache
def noise_layouts() -> tuple[Layout, ...]:
    """(start, home, target): the door is read twice as open on the way; every shortest way back leads through it."""
    from_c1 = product(("c5",), ("sA", "c1"), ("c0", "c5"))
    from_c0 = product(("sA", "c2"), ("c0",), ("c1", "c2", "sA"))
    return (*from_c1, *from_c0, ("sA", "c5", "c1"), ("sA", "c5", "sA"))


@cache
def unobservable_layouts() -> tuple[Layout, ...]:
    """(home, first target, second target), each one door from the next; the second thing waits at the first target."""
    return tuple(
        (home, first, second)
        for first in RING
        for home, second in product(neighbours(first), repeat=2)
        if home != second
    )


@cache
def double_fault_layouts() -> tuple[Layout, ...]:
    """(start, believed, target), the right key in sA: after two acts the wrong way, 14 acts still suffice."""
    return tuple(
        (start, believed, target)
        for start, believed, target in product(RING, RING, ("c0", "c5"))
        if DISTANCE[start][believed] in (1, 2)
        and believed != target
        # After two acts the wrong key has been reached, and picked if it was one door away: then it must be put down.
        and (DISTANCE[start][believed] == 1) + DISTANCE[believed]["sA"] <= (2 if target == "c0" else 3)
    )


def _ways(here: str, there: str) -> set[str]:
    """The rooms that may come first on a shortest way."""
    return {room for room in neighbours(here) if DISTANCE[room][there] < DISTANCE[here][there]}


# --- families --------------------------------------------------------------------------------------


def stale_door(names: Names, draws: Draws) -> Plot:
    """The door c0–c1, seen open, locks when the item in sA is picked."""
    start, target = draws.choice(stale_door_layouts())
    lock = contract(
        "door_locks",
        sees={"hand": "/agent/hand", "seen_open": count(names.door(), "open")},
        when=on(f"hand == '{names.labels[0]}' && seen_open > 0"),
        then=[replace(names.door(), "locked")],
        tell=_read_as_locked(names),
        authority=_house("doors"),
    )
    return _one_thing(names, start, "sA", target, lock)


def wrong_start(names: Names, draws: Draws) -> Plot:
    """From the start the two keys are tagged the wrong way round; a message says so at turn 3 or 4."""
    start, believed, right, target = draws.choice(wrong_start_layouts())
    return _two_keys(names, start, believed, right, target, _swap(names, turn=draws.between(3, 4)))


def delayed_update(names: Names, draws: Draws) -> Plot:
    """The target changes when the item is picked; a message says so 2 or 3 turns later."""
    start, home, old, new = draws.choice(delayed_update_layouts())
    label = names.labels[0]
    change = contract(
        "target_changes",
        sees={"hand": "/agent/hand"},
        when=on(f"hand == '{label}'"),
        then=[replace("/task/1/room", names.rooms[new])],
        tell=_message(f"The task has changed: put the {label} in the {names.rooms[new]}.", draws.between(2, 3)),
        authority=_house("task"),
    )
    return _one_thing(names, start, home, old, change)


def noise(names: Names, draws: Draws) -> Plot:
    """After two readings of c0–c1 as open, the next one says that it is locked, though it is open."""
    start, home, target = draws.choice(noise_layouts())
    flicker = contract(
        "false_locked",
        sees={"seen_open": count(names.door(), "open")},
        when=on("seen_open >= 2"),
        tell=false_reading(names.door(), "locked"),
        authority=_house("readings"),
    )
    return _one_thing(names, start, home, target, flicker)


def unobservable(names: Names, draws: Draws) -> Plot:
    """The first delivery is moved back to where it came from once the agent has left its room."""
    home, first, second = draws.choice(unobservable_layouts())
    thing, other = names.labels
    both = laid((thing, other))
    back = contract(
        "thing_returns",
        sees={"room": "/agent/room", "target": names.table(first), "home": names.table(home)},
        when=on(
            f"room != '{names.rooms[first]}' && home == '{NOTHING}' && (target == '{thing}' || target == '{both}')"
        ),
        then=[
            replace(names.table(first), {"cel": f"target == '{both}' ? '{other}' : '{NOTHING}'"}),
            replace(names.table(home), thing),
        ],
        tell=never(),
        authority=_house("tables"),
    )
    return Plot(
        start=home,
        items={id: {"label": label} for id, label in zip(names.ids, names.labels, strict=True)},
        places={thing: home, other: first},
        task=((thing, first), (other, second)),
        contracts=(back,),
    )


def double_fault(names: Names, draws: Draws) -> Plot:
    """The keys are tagged wrong (message at turn 2), and c0–c1 locks when the right key, in sA, is picked."""
    start, believed, target = draws.choice(double_fault_layouts())
    lock = contract(
        "door_locks",
        sees={"hand": "/agent/hand"},
        when=on(f"hand == '{names.keys[1]}'"),
        then=[replace(names.door(), "locked")],
        tell=_read_as_locked(names),
        authority=_house("doors"),
    )
    return _two_keys(names, start, believed, "sA", target, _swap(names, turn=2), lock)


FAMILIES: Mapping[str, Callable[[Names, Draws], Plot]] = {
    "stale_door": stale_door,
    "wrong_start": wrong_start,
    "delayed_update": delayed_update,
    "noise": noise,
    "unobservable": unobservable,
    "double_fault": double_fault,
}


# --- parts -----------------------------------------------------------------------------------------


def _house(scope: str) -> Authority:
    return authority("house", rung="A1", scope=scope, binding=True)


def _message(words: str, turns: int) -> Tell:
    return notice(
        f"Message from the steward: {words}\n", channel="message", sender="steward", due=ActsLater(acts=turns)
    )


def _read_as_locked(names: Names) -> Tell:
    return seen(names.door(), "reading == 'locked'")


def _swap(names: Names, *, turn: int) -> Contract:
    (believed, right), (lock, other) = names.keys, names.locks
    return contract(
        "tags_swapped",
        when=after_act(0),
        then=[replace(f"/items/{names.ids[0]}/fits", other), replace(f"/items/{names.ids[1]}/fits", lock)],
        tell=_message(
            f"Two tags were swapped: the {lock} key is the {right}, and the {other} key is the {believed}.", turn
        ),
        authority=_house("keys"),
    )


def _one_thing(names: Names, start: str, home: str, target: str, change: Contract) -> Plot:
    label = names.labels[0]
    return Plot(
        start=start,
        items={names.ids[0]: {"label": label}},
        places={label: home},
        task=((label, target),),
        contracts=(change,),
    )


def _two_keys(names: Names, start: str, believed: str, right: str, target: str, *changes: Contract) -> Plot:
    return Plot(
        start=start,
        items={
            id: {"label": label, "tag": lock, "fits": lock}
            for id, label, lock in zip(names.ids, names.keys, names.locks, strict=True)
        },
        places=dict(zip(names.keys, (believed, right), strict=True)),
        task=((f"{names.locks[0]} key", target),),
        contracts=changes,
    )
