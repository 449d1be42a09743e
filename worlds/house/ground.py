"""The ground plan, the same in every house, and the words from which each house draws its names.

Rooms are called c0 … c5, sA and sB only here and in `families.py`; states, briefings and returns use the drawn names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sealkit.world.draws import Draws

RING = ("c0", "c1", "c2", "c3", "c4", "c5")
SPURS = {"sA": "c1", "sB": "c4"}
ROOMS = (*RING, *SPURS)
DOORS = (*zip(RING, (*RING[1:], RING[0]), strict=True), *SPURS.items())
FAULTY = ("c0", "c1")

_ROOM_NAMES = (
    "attic", "bedroom", "cellar", "den", "foyer", "gallery", "hall", "kitchen", "laundry", "library",
    "loft", "lounge", "nursery", "office", "pantry", "parlor", "porch", "studio", "study", "workshop",
)  # fmt: skip
_DECOR_NAMES = ("alcove", "closet", "cupboard", "locker", "wardrobe")
_COLORS = ("black", "blue", "brown", "green", "grey", "orange", "purple", "red", "white", "yellow")
_THINGS = ("basket", "book", "bowl", "clock", "kettle", "lamp", "mug", "radio", "scarf", "vase")
_LOCKS = ("barn", "boat", "chest", "garage", "gate", "safe", "shed", "trunk")


def door_id(a: str, b: str) -> str:
    """The name of the door between two rooms, the same from both sides."""
    return f"{a}-{b}" if a < b else f"{b}-{a}"


def neighbours(room: str) -> tuple[str, ...]:
    """The rooms that a door joins to `room`."""
    return tuple(a if b == room else b for a, b in DOORS if room in (a, b))


def _walks(start: str) -> dict[str, int]:
    found, fringe = {start: 0}, [start]
    for room in fringe:  # grows while it is read
        for beyond in neighbours(room):
            if beyond not in found:
                found[beyond] = found[room] + 1
                fringe.append(beyond)
    return found


DISTANCE: Mapping[str, Mapping[str, int]] = {room: _walks(room) for room in ROOMS}


@dataclass(frozen=True, slots=True)
class Names:
    """The names drawn for one house."""

    rooms: Mapping[str, str]
    decor: str
    decor_room: str
    labels: tuple[str, str]  # of two things
    keys: tuple[str, str]  # of two keys
    locks: tuple[str, str]  # what the two keys fit
    ids: tuple[str, str]

    def door(self, a: str = FAULTY[0], b: str = FAULTY[1]) -> str:
        """The pointer of the door between two rooms of the ground plan."""
        return f"/doors/{door_id(self.rooms[a], self.rooms[b])}"

    def table(self, room: str) -> str:
        """The pointer of the table in a room of the ground plan."""
        return f"/tables/{self.rooms[room]}"


def draw_names(draws: Draws) -> Names:
    """The names of one house; no two things in it are called alike."""
    rooms = draws.split("rooms").sample(_ROOM_NAMES, len(ROOMS))
    decor = draws.split("decor")
    colors = draws.split("colors").sample(_COLORS, 2)
    things = draws.split("things").sample(_THINGS, 2)
    locks = draws.split("locks").sample(_LOCKS, 2)
    ids = draws.split("ids").sample(range(10, 100), 2)
    return Names(
        rooms=dict(zip(ROOMS, rooms, strict=True)),
        decor=decor.choice(_DECOR_NAMES),
        decor_room=decor.choice(ROOMS),
        labels=(f"{colors[0]} {things[0]}", f"{colors[1]} {things[1]}"),
        keys=(f"{colors[0]} key", f"{colors[1]} key"),
        locks=(locks[0], locks[1]),
        ids=(f"i{ids[0]}", f"i{ids[1]}"),
    )
