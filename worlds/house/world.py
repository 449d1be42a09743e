"""The house: what a scenario holds, and what each action does and tells.

State, all names drawn per (family, seed):

    agent   {"room": "porch", "hand": "nothing"}
    doors   {"hall-porch": "open", …, "closet-den": "closed"}      open, closed or locked; the last is decor
    items   {"i42": {"label": "red key", "tag": "shed", "fits": "shed"}, …}      tag and fits for keys only
    tables  {"porch": "nothing", "den": "blue bowl, red mug", …}   what lies in each room
    task    {"1": {"thing": "shed key", "room": "den"}, …}

An action with arguments of any kind changes nothing that it should not and never raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from sealkit.wire.episode import Action
from sealkit.wire.records import Json
from sealkit.world.draws import Draws
from sealkit.world.sdk import Outline, Reading, State, Told, reading, text

from .families import FAMILIES as _FAMILIES
from .families import Plot
from .ground import DOORS, RING, ROOMS, SPURS, Names, door_id, draw_names
from .plan import NOTHING, laid, step_of, things_on

FAMILIES = tuple(_FAMILIES)
TRIAL_PARAMS: Mapping[str, Json] = {"turn_budget": 15, "observation_window": 3}  # for `sealkit conformance`


# --- scenarios -------------------------------------------------------------------------------------


def scenario(family: str, seed: int, draws: Draws, *, turn_budget: int, observation_window: int) -> Outline:
    """The house of (family, seed). `observation_window` is for the arms: how many returns an agent still sees."""
    if turn_budget < 1 or observation_window < 1:
        raise ValueError("turn_budget and observation_window are at least 1")
    names = draw_names(draws.split("names"))
    plot = _FAMILIES[family](names, draws.split("plot"))
    decor = door_id(names.decor, names.rooms[names.decor_room])
    return Outline(
        genesis=_genesis(names, plot, decor),
        briefing=_briefing(names, plot, draws.split("briefing"), turn_budget),
        footprints={
            "look": (),
            "move": ("/agent/room",),
            "open": (f"/doors/{decor}",),
            "pick": ("/agent/hand", "/tables/*"),
            "drop": ("/agent/hand", "/tables/*"),
            "ask": (),
            "done": (),
        },
        finals=("done",),
        max_acts=turn_budget,
        contracts=plot.contracts,
    )


def _genesis(names: Names, plot: Plot, decor: str) -> State:
    doors: dict[str, Json] = {door_id(names.rooms[a], names.rooms[b]): "open" for a, b in DOORS}
    doors[decor] = "closed"
    tables: dict[str, Json] = {
        names.rooms[room]: laid(tuple(label for label, place in plot.places.items() if place == room)) for room in ROOMS
    }
    return {
        "agent": {"hand": NOTHING, "room": names.rooms[plot.start]},
        "doors": doors,
        "items": dict(plot.items),
        "tables": tables,
        "task": {
            str(number): {"thing": thing, "room": names.rooms[room]}
            for number, (thing, room) in enumerate(plot.task, start=1)
        },
    }


def _briefing(names: Names, plot: Plot, draws: Draws, turn_budget: int) -> str:
    """What the agent is told before its first act. It is made from genesis and never updated."""
    # The ring is printed from a drawn room in a drawn direction, so that no place in the list means anything.
    turn, ring = draws.below(len(RING)), RING if draws.below(2) else RING[::-1]
    order = [names.rooms[room] for room in (*ring[turn:], *ring[:turn])]
    off = draws.shuffled([*SPURS.items()])
    spurs = [f"The {names.rooms[spur]} is off the {names.rooms[room]}." for spur, room in off]
    orders = [f"put the {thing} in the {names.rooms[room]}" for thing, room in plot.task]
    places = [f"the {label} is in the {names.rooms[room]}" for label, room in draws.shuffled([*plot.places.items()])]
    tags = [f"the {item['label']} is tagged {item['tag']}" for item in plot.items.values() if "tag" in item]
    lines = [
        f"Task: {' and '.join(orders)}.",
        f"Map: six rooms form a ring: {', '.join(order)}, and the {order[-1]} leads back to the {order[0]}."
        f" {' '.join(spurs)} Every door between two rooms is open."
        f" The {names.decor} in the {names.rooms[names.decor_room]} is closed.",
        f"Items: {'; '.join(places)}.",
        *([f"Keys: {'; '.join(sorted(tags))}. A tag names what the key is for."] if tags else []),
        f"Start: you are in the {names.rooms[plot.start]}. Your hand is empty, and it holds one thing at a time.",
        "Actions: look; move to a room next to this one; open a door; pick an item; drop an item; ask what the task is;"
        f" done, which ends the episode. You have {turn_budget} actions.",
    ]
    return "\n".join(lines) + "\n"


# --- acts ------------------------------------------------------------------------------------------


def act(state: State, action: Action) -> tuple[State, tuple[Told, ...]]:
    """The state after `action`, and what its return tells: the outcome, then what is to be seen where the agent is."""
    name, word = step_of(action)
    if name == "look":
        outcome = _told(state, "You look around.")
    elif name == "move":
        outcome = _move(state, word)
    elif name == "open":
        outcome = _open(state, word)
    elif name == "pick":
        outcome = _pick(state, word)
    elif name == "drop":
        outcome = _drop(state, word)
    elif name == "ask":
        outcome = state, (text("You ask what the task is.\n"), *_orders(state))
    elif name == "done":
        return _told(state, "You say that you are done.")
    else:
        return _told(state, "There is no such action. Nothing happens.")
    after, told = outcome
    return after, (*told, *_surroundings(after))


def _told(state: State, words: str) -> tuple[State, tuple[Told, ...]]:
    return state, (text(words + "\n"),)


def _agent(state: State) -> tuple[str, str]:
    agent = cast(Mapping[str, str], state["agent"])
    return agent["room"], agent["hand"]


def _move(state: State, word: str) -> tuple[State, tuple[Told, ...]]:
    room, hand = _agent(state)
    door = dict(_exits(state, room)).get(word)
    if door is None:
        return _told(state, "You cannot go there from here.")
    if word not in _tables(state):
        return _told(state, "That leads to no room.")
    if _doors(state)[door] != "open":
        return _told(state, f"You try the door to the {word}. It does not open.")
    return _told({**state, "agent": {"hand": hand, "room": word}}, f"You go to the {word}.")


def _open(state: State, word: str) -> tuple[State, tuple[Told, ...]]:
    room, _ = _agent(state)
    door = dict(_exits(state, room)).get(word)
    if door is None:
        return _told(state, "There is no such door here.")
    doors = _doors(state)
    if doors[door] == "open":
        return _told(state, "That door is open already.")
    if doors[door] == "locked":
        return _told(state, f"You try the door to the {word}. It does not open.")
    return _told({**state, "doors": {**doors, door: "open"}}, f"You open the {word}. There is nothing in it.")


def _pick(state: State, word: str) -> tuple[State, tuple[Told, ...]]:
    room, hand = _agent(state)
    tables = _tables(state)
    here = things_on(tables[room])
    if word not in here:
        return _told(state, "There is no such thing here.")
    if hand != NOTHING:
        return _told(state, "Your hand is full.")
    rest = laid(tuple(thing for thing in here if thing != word))
    after: State = {**state, "agent": {"hand": word, "room": room}, "tables": {**tables, room: rest}}
    return after, (text(f"You pick up the {word}.\n"), *_tag(state, word))


def _drop(state: State, word: str) -> tuple[State, tuple[Told, ...]]:
    room, hand = _agent(state)
    if word != hand or hand == NOTHING:
        return _told(state, "You do not hold that.")
    tables = _tables(state)
    table = laid((*things_on(tables[room]), word))
    after: State = {**state, "agent": {"hand": NOTHING, "room": room}, "tables": {**tables, room: table}}
    return _told(after, f"You put the {word} on the table.")


# --- readings --------------------------------------------------------------------------------------


def _surroundings(state: State) -> tuple[Reading, ...]:
    room, _ = _agent(state)
    return (
        reading("/agent/room", "You are in the {value}.\n"),
        *(
            reading(f"/doors/{door}", f"The door between the {room} and the {beyond} is {{value}}.\n")
            for beyond, door in _exits(state, room)
        ),
        reading(f"/tables/{room}", "On the table here: {value}.\n"),
        reading("/agent/hand", "In your hand: {value}.\n"),
    )


def _orders(state: State) -> tuple[Reading, ...]:
    task = cast(Mapping[str, Mapping[str, str]], state["task"])
    return tuple(
        reading(f"/task/{number}/room", f"Task: put the {task[number]['thing']} in the {{value}}.\n")
        for number in sorted(task)
    )


def _tag(state: State, label: str) -> tuple[Reading, ...]:
    items = cast(Mapping[str, Mapping[str, str]], state["items"])
    return tuple(
        reading(f"/items/{id}/tag", "Its tag says: {value}.\n")
        for id, item in items.items()
        if item["label"] == label and "tag" in item
    )


def _doors(state: State) -> Mapping[str, str]:
    return cast(Mapping[str, str], state["doors"])


def _tables(state: State) -> Mapping[str, str]:
    return cast(Mapping[str, str], state["tables"])


def _exits(state: State, room: str) -> tuple[tuple[str, str], ...]:
    return _exits_by_room(tuple(_doors(state))).get(room, ())


@lru_cache(maxsize=256)
def _exits_by_room(doors: tuple[str, ...]) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """What lies behind each door of each room, with the door, in alphabetical order."""
    exits: dict[str, list[tuple[str, str]]] = {}
    for door in sorted(doors):
        a, b = door.split("-")
        exits.setdefault(a, []).append((b, door))
        exits.setdefault(b, []).append((a, door))
    return {room: tuple(sorted(beyond)) for room, beyond in exits.items()}
