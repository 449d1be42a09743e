"""How the house speaks with a model: its actions, and what its texts state, in the subjects of `prompts/beliefs.md`.

    door attic-den        open, closed, locked
    place white scarf     a room, or hand; what a text only denies is a statement that does not hold
    target white scarf    the room where the task wants it
    key boat              the key that is for it

Everything is read off the text that the agent sees. A return's lines are told apart by how they begin, so words of a
model that come back to it are no statement. A tag states nothing of a key: it tells what is written on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from sealkit.world.beliefs import Statement, plain

from .belief import Belief
from .ground import door_id
from .plan import things_on

ACTIONS: Final[Mapping[str, str | None]] = {
    "look": None, "move": "to", "open": "door", "pick": "item", "drop": "item", "ask": None, "done": None,
}  # fmt: skip
OBSERVING: Final = ("look", "ask")
HAND: Final = "hand"

_door = re.compile(r"^The door between the ([a-z]+) and the ([a-z]+) is ([a-z]+)\.$", re.MULTILINE)
_room = re.compile(r"^You are in the ([a-z]+)\.$", re.MULTILINE)
_table = re.compile(r"^On the table here: ([a-z, ]+)\.$", re.MULTILINE)
_hand = re.compile(r"^In your hand: ([a-z ]+)\.$", re.MULTILINE)
_news = re.compile(r"^(?:Task|Message from the steward): (.*)$", re.MULTILINE)
_order = re.compile(r"put the ([a-z]+ [a-z]+) in the ([a-z]+)")
_key = re.compile(r"the ([a-z]+) key is the ([a-z]+ key)")


def brief(briefing: str) -> tuple[Statement, ...]:
    """What the briefing states."""
    belief = _briefed(briefing)
    return (
        *(Statement(f"door {door}", value) for door, value in belief.doors.items()),
        *(Statement(f"place {label}", room) for label, room in belief.places.items()),
        *(Statement(f"key {thing.removesuffix(' key')}", label) for thing, label in belief.keys.items()),
        *(Statement(f"target {thing}", room) for thing, room in belief.goals.items()),
    )


def observe(briefing: str, text: str) -> tuple[Statement, ...]:
    """What a return states, in the order of its text; the briefing tells which things there are."""
    return (
        *(Statement(f"door {door_id(a, b)}", value) for a, b, value in _door.findall(text)),
        *_places(tuple(_briefed(briefing).origins), text),
        *_told(text),
    )


def spell(subject: str, value: str) -> tuple[str, str]:
    """A belief in the words above, as far as it was written in something like them."""
    kind, _, rest = plain(subject).partition(" ")
    rest, value = plain(rest), plain(value)
    if kind == "door":
        rooms = re.split(r"\s*(?:-|–|/|,|\band\b|\bto\b)\s*", rest.removeprefix("between ").strip())
        if len(rooms) == 2:
            rest = door_id(plain(rooms[0]), plain(rooms[1]))
    elif kind == "key":
        rest = rest.removesuffix(" key")
    elif kind == "place":
        value = HAND if value in ("in hand", "my hand", "in my hand", "your hand", "held") else value
        value = plain(value.removeprefix("in ").removesuffix(" table"))
    return f"{kind} {rest}".strip(), value


@lru_cache(maxsize=512)
def _briefed(briefing: str) -> Belief:
    return Belief(briefing)  # read only: nobody here lets it learn


def _places(labels: Sequence[str], text: str) -> Iterator[Statement]:
    """Where things are, and of what is not on the table here, that it is not."""
    here: dict[str, str] = {}
    for hand in _hand.findall(text):
        here[hand] = HAND
    room, tables = _room.search(text), _table.findall(text)
    for label in things_on(tables[-1]) if tables and room is not None else ():
        here[label] = room[1] if room is not None else ""
    for label in labels:
        if label in here:
            yield Statement(f"place {label}", here[label])
        elif tables and room is not None:
            yield Statement(f"place {label}", room[1], holds=False)
            yield Statement(f"place {label}", HAND, holds=False)


def _told(text: str) -> Iterator[Statement]:
    for line in _news.findall(text):
        yield from (Statement(f"target {thing}", room) for thing, room in _order.findall(line))
        yield from (Statement(f"key {lock}", label) for lock, label in _key.findall(line))
