"""What an agent believes: begun from the briefing, moved on by its own acts, corrected by what it is shown.

Everything here comes from the briefing, from facts and from notices. Nothing reads the state.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sealkit.wire.episode import Fact, Notice

from .ground import door_id
from .plan import NOTHING, Situation, Step, open_doors, step_toward, things_on

_ring = re.compile(r"form a ring: ([a-z, ]+), and the").search
_spurs = re.compile(r"The ([a-z]+) is off the ([a-z]+)\.").findall
_items = re.compile(r"the ([a-z]+ [a-z]+) is in the ([a-z]+)").findall
_tags = re.compile(r"the ([a-z]+ key) is tagged ([a-z]+)").findall
_orders = re.compile(r"put the ([a-z]+ [a-z]+) in the ([a-z]+)").findall
_keys = re.compile(r"the ([a-z]+ key) is the ([a-z]+ key)").findall
_start = re.compile(r"you are in the ([a-z]+)\.").search


class Belief:
    """One agent's picture of the house. `origins` is where each thing was at first."""

    __slots__ = ("doors", "goals", "hand", "keys", "origins", "places", "room", "rooms")

    def __init__(self, briefing: str) -> None:
        lines = dict(line.split(": ", 1) for line in briefing.splitlines())
        ring, start = _ring(lines["Map"]), _start(lines["Start"])
        if ring is None or start is None:
            raise ValueError("the briefing names no ring or no starting room")
        rooms: list[str] = ring[1].split(", ")
        spurs: list[tuple[str, str]] = _spurs(lines["Map"])
        pairs = [*zip(rooms, [*rooms[1:], rooms[0]], strict=True), *spurs]
        self.rooms = (*rooms, *(spur for spur, _ in spurs))
        self.doors = {door_id(a, b): "open" for a, b in sorted(pairs)}
        self.room = start[1]
        self.hand = NOTHING
        self.origins: dict[str, str] = dict(_items(lines["Items"]))
        self.places = dict(self.origins)
        self.keys: dict[str, str] = {f"{tag} key": label for label, tag in _tags(lines.get("Keys", ""))}
        self.goals: dict[str, str] = dict(_orders(lines["Task"]))

    def situation(self) -> Situation:
        """The situation as believed, to be planned from."""
        return Situation(
            doors=open_doors(tuple(self.doors.items()), self.rooms),
            room=self.room,
            hand=self.hand,
            wanted=tuple((label, self.places.get(label, ""), room) for label, room in self.deliveries()),
        )

    def deliveries(self) -> tuple[tuple[str, str], ...]:
        """Which thing is to go where, as believed."""
        return tuple((self.keys.get(thing, thing), room) for thing, room in self.goals.items())

    def toward(self, room: str) -> Step:
        """The first step on a shortest way to `room`, as believed."""
        return step_toward(open_doors(tuple(self.doors.items()), self.rooms), self.room, room)

    def shut(self, a: str, b: str) -> None:
        """Believe that the door between two rooms does not open."""
        if door_id(a, b) in self.doors:
            self.doors[door_id(a, b)] = "shut"

    def expect(self, step: Step) -> None:
        """Take for done what the step just asked for."""
        name, word = step
        if name == "move":
            self.room = word
        elif name == "pick":
            self.hand = word
            self.places[word] = ""
        elif name == "drop":
            self.hand = NOTHING
            self.places[word] = self.room

    def contradicts(self, fact: Fact) -> bool:
        """Whether the fact tells of a door, or of a known thing on a table, what is not believed."""
        kind, name = _subject(fact.pointer)
        if kind == "doors":
            return name in self.doors and self.doors[name] != fact.value
        if kind == "tables":
            here = things_on(str(fact.value))
            return any((place == name) != (label in here) for label, place in self.places.items())
        return False

    def learn(self, fact: Fact) -> None:
        """Believe what the fact tells."""
        kind, name = _subject(fact.pointer)
        value = str(fact.value)
        if kind == "doors":
            if name in self.doors:
                self.doors[name] = value
        elif kind == "tables":
            self._learn_table(name, things_on(value))
        elif kind == "task":
            self._learn_order(fact.text)
        elif name == "room":
            self.room = value
        elif name == "hand":
            self.hand = value

    def heed(self, notice: Notice) -> None:
        """Believe what a message tells of the task and of the keys."""
        self._learn_order(notice.text)
        self.keys.update(_keys(notice.text))

    def _learn_table(self, room: str, here: tuple[str, ...]) -> None:
        for label, place in self.places.items():
            if label in here:
                self.places[label] = room
            elif place == room:
                # What is gone is looked for where it came from, then nowhere.
                self.places[label] = self.origins[label] if self.origins[label] != room else ""

    def _learn_order(self, words: str) -> None:
        for thing, room in _orders(words):
            if thing in self.goals:
                self.goals[thing] = room


@lru_cache(maxsize=4096)
def _subject(pointer: str) -> tuple[str, str]:
    """What a fact is about: the first and the last part of its pointer."""
    parts = pointer.split("/")
    return parts[1], parts[-1]
