"""Shortest plans by breadth-first search, for the judge and for every agent that plans.

A `Situation` holds all that a plan depends on. The search takes no side: the judge gives it the true state or
a premise that has become false, an agent what it believes. One hand carries one thing, so a plan is a walk over
(room, place of each wanted thing), ended by `done`. Moves, picks and drops can all be undone by one step, so
one search from the goals gives the plan length of every situation in the same house with the same goals; the
lengths are kept for next time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, cast

from sealkit.wire.episode import Action
from sealkit.wire.records import Json

Step: TypeAlias = tuple[str, str]  # the action's name and the one word it is about, "" where there is none
Node: TypeAlias = tuple[str, ...]  # the agent's room, then the place of each wanted thing

NOTHING = "nothing"
DONE: Step = ("done", "")
_HAND = "the hand"
_WORDS = {"move": ("to", "room"), "open": ("door", "room", "to"), "pick": ("item",), "drop": ("item",)}


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a plan depends on; `wanted` names each thing to be delivered, where it is and where it is to go."""

    doors: tuple[tuple[str, str], ...]  # the open doors between rooms, sorted
    room: str
    hand: str
    wanted: tuple[tuple[str, str, str], ...]


def step_of(action: Action) -> Step:
    """What an action asks for, whatever stands in its arguments: "The Porch " is "porch", a list is ""."""
    for name in _WORDS.get(action.name, ()):
        word = action.args.get(name)
        if isinstance(word, str):
            return action.name, word.strip().lower().removeprefix("the ").strip()
    return action.name, ""


def action_of(step: Step) -> Action:
    """The action that asks for `step`."""
    name, word = step
    return Action(name=name, args={_WORDS[name][0]: word} if name in _WORDS else {})


def things_on(table: str) -> tuple[str, ...]:
    """What lies on a table, from the words that stand for it in the state and in its readings."""
    return () if table == NOTHING else tuple(table.split(", "))


def laid(things: tuple[str, ...]) -> str:
    """The words for a table with `things` on it, in alphabetical order."""
    return ", ".join(sorted(things)) or NOTHING


def situation(state: Mapping[str, Json]) -> Situation:
    """The situation that a state of the world amounts to, read as the truth."""
    agent, doors, tables, task = (
        cast(dict[str, str], state["agent"]),
        cast(dict[str, str], state["doors"]),
        cast(dict[str, str], state["tables"]),
        cast(dict[str, dict[str, str]], state["task"]),
    )
    items = cast(dict[str, dict[str, str]], state["items"])
    labels = {f"{item['fits']} key" if "fits" in item else item["label"]: item["label"] for item in items.values()}
    places = {thing: room for room, table in tables.items() if table != NOTHING for thing in things_on(table)}
    return Situation(
        doors=open_doors(tuple(doors.items()), tuple(tables)),
        room=agent["room"],
        hand=agent["hand"],
        wanted=tuple(
            (label := labels[task[key]["thing"]], places.get(label, _HAND), task[key]["room"]) for key in sorted(task)
        ),
    )


@lru_cache(maxsize=1024)
def open_doors(doors: tuple[tuple[str, str], ...], rooms: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The open doors between two of `rooms`; the decor door leads to none."""
    pairs = sorted(tuple(door.split("-")) for door, value in doors if value == "open")
    return tuple((a, b) for a, b in pairs if a in rooms and b in rooms)


@lru_cache(maxsize=4096)
def first_steps(now: Situation) -> tuple[Step, ...]:
    """Every step that begins a shortest plan, drops before picks before moves; empty if there is no plan."""
    exits, lengths = _searched(now.doors, tuple(goal for _, _, goal in now.wanted))
    labels = tuple(label for label, _, _ in now.wanted)
    places = tuple(_HAND if label == now.hand else place for label, place, _ in now.wanted)
    node = (now.room, *places)
    length = lengths.get(node)
    if length is None:
        return ()
    if length == 1:
        return (DONE,)
    steps = tuple(step for step, after in _steps(node, labels, exits) if lengths.get(after) == length - 1)
    if now.hand in (NOTHING, *labels):
        return steps
    # What is held is not wanted. It must be put down before the next pick, anywhere on the way there.
    return (("drop", now.hand), *(step for step in steps if step[0] == "move"))


def step_toward(doors: tuple[tuple[str, str], ...], here: str, there: str) -> Step:
    """The first move on a shortest way from one room to another; `look` if there is none."""
    # The way to a room is the way on which one would carry something there.
    steps = first_steps(Situation(doors=doors, room=here, hand="load", wanted=(("load", _HAND, there),)))
    return next((step for step in steps if step[0] == "move"), ("look", ""))


def _steps(node: Node, labels: tuple[str, ...], exits: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[Step, Node]]:
    room, places = node[0], node[1:]
    for index, place in enumerate(places, start=1):
        if place == _HAND:
            yield ("drop", labels[index - 1]), (*node[:index], room, *node[index + 1 :])
        elif place == room and _HAND not in places:
            yield ("pick", labels[index - 1]), (*node[:index], _HAND, *node[index + 1 :])
    for beyond in exits.get(room, ()):
        yield ("move", beyond), (beyond, *places)


@lru_cache(maxsize=1024)
def _searched(
    doors: tuple[tuple[str, str], ...], goals: tuple[str, ...]
) -> tuple[Mapping[str, tuple[str, ...]], Mapping[Node, int]]:
    """The exits of each room, and the length of the shortest plan, `done` included, from each node that has one."""
    rooms = sorted({room for pair in doors for room in pair})
    exits = {room: tuple(sorted({a if b == room else b for a, b in doors if room in (a, b)})) for room in rooms}
    labels = ("",) * len(goals)
    fringe: list[Node] = [(room, *goals) for room in rooms]
    lengths = dict.fromkeys(fringe, 1)
    length = 1
    while fringe:
        length += 1
        reached: list[Node] = []
        for node in fringe:
            for _, before in _steps(node, labels, exits):
                if before not in lengths:
                    lengths[before] = length
                    reached.append(before)
        fringe = reached
    return exits, lengths
