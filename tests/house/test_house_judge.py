"""The judge on small traces whose measures were counted by hand, in a house whose rooms carry the plan's own names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sealkit.wire.declared import ActsLater, Contract, Scenario, ThisReturn
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

if TYPE_CHECKING:
    from .conftest import House

DOORS = ("c0-c1", "c1-c2", "c2-c3", "c3-c4", "c4-c5", "c0-c5", "c1-sa", "c4-sb")
ROOMS = ("c0", "c1", "c2", "c3", "c4", "c5", "sa", "sb")
BY_HOUSE = authority("house", rung="A1", scope="test", binding=True)


def scenario(start: str, places: dict[str, str], task: list[tuple[str, str]], *changes: Contract) -> Scenario:
    """A house with c0 … sb as names; labels that end in `key` fit what their color says: "red key" fits "red"."""
    items: dict[str, Json] = {}
    for number, label in enumerate(sorted(places)):
        lock = label.removesuffix(" key")
        items[f"i{number}"] = (
            {"label": label, "tag": lock, "fits": lock} if label.endswith(" key") else {"label": label}
        )
    return Scenario(
        world="house",
        family="hand",
        seed=0,
        params={},
        genesis={
            "agent": {"hand": "nothing", "room": start},
            "doors": {**dict.fromkeys(sorted(DOORS), "open"), "c3-closet": "closed"},
            "items": items,
            "tables": {
                room: ", ".join(sorted(label for label, place in places.items() if place == room)) or "nothing"
                for room in ROOMS
            },
            "task": {str(n): {"thing": thing, "room": room} for n, (thing, room) in enumerate(task, start=1)},
        },
        briefing="",
        contracts=changes,
        snapshots=(),
        restores=(),
        footprints={},
        finals=("done",),
        max_acts=30,
    )


def lock_on(label: str) -> Contract:
    return contract(
        "lock", sees={"hand": "/agent/hand"}, when=on(f"hand == '{label}'"), then=[replace("/doors/c0-c1", "locked")],
        tell=seen("/doors/c0-c1", "reading == 'locked'"), authority=BY_HOUSE,
    )  # fmt: skip


def swap(turn: int) -> Contract:
    return contract(
        "swap", when=after_act(0), then=[replace("/items/i0/fits", "red"), replace("/items/i1/fits", "blue")],
        tell=notice("The tags are swapped.", channel="m", sender="s", due=ActsLater(acts=turn)), authority=BY_HOUSE,
    )  # fmt: skip


STALE_DOOR = scenario("c5", {"mug": "sa"}, [("mug", "c0")], lock_on("mug"))
TARGET = scenario(
    "c0", {"mug": "c0"}, [("mug", "c2")],
    contract(
        "target", sees={"hand": "/agent/hand"}, when=on("hand == 'mug'"), then=[replace("/task/1/room", "c4")],
        tell=notice("To c4.", channel="m", sender="s", due=ActsLater(acts=2)), authority=BY_HOUSE,
    ),
)  # fmt: skip
KEYS = scenario("c0", {"blue key": "c2", "red key": "c5"}, [("red key", "c4")], swap(3))
FALSE_LOCKED = contract(
    "noise", sees={"n": count("/doors/c0-c1", "open")}, when=on("n >= 2"),
    tell=false_reading("/doors/c0-c1", "locked"), authority=BY_HOUSE,
)  # fmt: skip
NOISE = scenario("c5", {"mug": "sa"}, [("mug", "c0")], FALSE_LOCKED)
NOISE_OF_TWO = scenario("c5", {"mug": "sa", "vase": "c1"}, [("mug", "c0"), ("vase", "c2")], FALSE_LOCKED)
CARRIED = scenario(
    "sa", {"mug": "sa", "vase": "c1"}, [("mug", "c1"), ("vase", "c2")],
    contract(
        "back", sees={"room": "/agent/room", "at": "/tables/c1"}, when=on("room != 'c1' && at == 'mug'"),
        then=[replace("/tables/c1", "nothing"), replace("/tables/sa", "mug")], tell=never(), authority=BY_HOUSE,
    ),
)  # fmt: skip
FAR_LOCK = scenario(
    "c0", {"mug": "c0"}, [("mug", "c4")],
    contract(
        "far", when=after_act(1), then=[replace("/doors/c4-c5", "locked")],
        tell=seen("/doors/c4-c5", "reading == 'locked'"), authority=BY_HOUSE,
    ),
    contract(
        "news", when=after_act(1), tell=notice("It rains.", channel="m", sender="s", due=ThisReturn()),
        authority=BY_HOUSE,
    ),
)  # fmt: skip
TWICE = scenario(
    "c0", {"mug": "c0"}, [("mug", "c2")],
    contract("first", when=after_act(1), then=[replace("/task/1/room", "c4")], tell=never(), authority=BY_HOUSE),
    contract("second", when=after_act(2), then=[replace("/task/1/room", "c0")], tell=never(), authority=BY_HOUSE),
)  # fmt: skip
DOUBLE = scenario("c1", {"blue key": "sa", "red key": "c2"}, [("red key", "c5")], swap(2), lock_on("blue key"))

# From c5, acts 1 to 5. What the door c0–c1 reads is in returns 1, 2 and 5.
FETCH = "move c0; move c1; move sa; pick mug; move c1; "
ROUND = "move c2; move c3; move c4; move c5; move c0; drop mug; done"
# "back" is applied after act 5.
DELIVER = "pick mug; move c1; drop mug; pick vase; move c2; drop vase; "

# name: (scenario, walk, (success, false_completion, stale, avoidable_stale, noise_flip, correction_latency))
CASES: dict[str, tuple[Scenario, str, tuple[int | None, ...]]] = {
    # Return 5 reads the door as locked; act 6 goes round at once.
    "door heeded": (STALE_DOOR, FETCH + ROUND, (1, 0, 0, 0, 0, 1)),
    # Act 6 tries the door all the same: right if it were open, wrong as it is locked, told before. Act 7 goes round.
    "door tried": (STALE_DOOR, FETCH + "move c0; " + ROUND, (1, 0, 1, 1, 0, 2)),
    # Act 6, to try the door, was held back or could not be read: nothing was executed, but the turn is gone.
    "door not tried": (STALE_DOOR, FETCH + "noop; " + ROUND, (1, 0, 0, 0, 0, 2)),
    "done not said": (CARRIED, DELIVER + "noop", (0, 0, 0, 0, 0, None)),
    "door tried twice": (STALE_DOOR, FETCH + "move c0; look; move c0; " + ROUND, (1, 0, 2, 2, 0, 4)),
    # The item is never picked: nothing happens. The walk ends without done.
    "door never locks": (STALE_DOOR, "move c0; move c1; move sa", (0, 0, 0, 0, 0, None)),
    "done at once": (STALE_DOOR, "done", (0, 1, 0, 0, 0, None)),
    # Act 2 serves c2 alone. From c1 both ways to c4 are three doors long: act 3 serves both. Return 3 has the message.
    "target heeded": (TARGET, "pick mug; move c1; move c2; move c3; move c4; drop mug; done", (1, 0, 1, 0, 0, 1)),
    # Acts 4 and 5 come after the message and serve c2 alone.
    "target ignored": (TARGET, "pick mug; move c1; move c2; drop mug; done", (0, 1, 3, 2, 0, None)),
    # ask reads the new room in return 2, so that act 3 could have known; act 4 turns back.
    "target asked": (TARGET, "pick mug; ask; move c1; move c0; move c5; move c4; drop mug; done", (1, 0, 1, 1, 0, 2)),
    # In truth the red key is the one tagged blue, in c2. Acts 1 and 2 fetch the other one. With it in the hand, act 3
    # to c4 is also one of two equal ways to c2, and act 4 drops what is not wanted. Done is stale, after the message.
    "keys ignored": (KEYS, "move c5; pick red key; move c4; drop red key; done", (0, 1, 3, 1, 0, 1)),
    "keys heeded": (
        KEYS,
        "move c5; pick red key; look; drop red key; move c0; move c1; move c2; pick blue key; move c3; move c4; "
        "drop blue key; done",
        (1, 0, 2, 0, 0, 1),
    ),
    # The false reading is in return 5. Acts 6 and 7 are right only if it were true: from c2 it is two doors back to c0
    # and four on. From c3 both ways are equal. Return 10 reads the door again, and act 11 drops the mug.
    "noise believed": (NOISE, FETCH + ROUND, (1, 0, 2, 0, 1, 1)),
    "noise looked at again": (NOISE, FETCH + "look; move c0; drop mug; done", (1, 0, 0, 0, 0, 1)),
    "noise tried": (NOISE, FETCH + "move c0; drop mug; done", (1, 0, 0, 0, 0, 1)),
    # Return 6 reads the door as open; who still goes round does so against evidence, and that is no flip.
    "noise refuted, yet believed": (NOISE, FETCH + "look; " + ROUND, (1, 0, 2, 2, 0, 3)),
    # Were the door locked, it would be shorter to leave the mug here and deliver the vase first. The return of that act
    # reads the door as open again: it was a flip all the same.
    "noise believed for one act": (NOISE_OF_TWO, FETCH + "drop mug; pick mug", (0, 0, 1, 0, 1, 1)),
    # Done in c2 is right only if the mug still lay in c1.
    "return unseen": (CARRIED, DELIVER + "done", (0, 1, 1, 0, 0, None)),
    # Return 7 shows the empty table: done is then avoidable.
    "return seen, yet done": (CARRIED, DELIVER + "move c1; done", (0, 1, 1, 1, 0, None)),
    "return mended": (
        CARRIED,
        DELIVER + "move c1; look; move sa; pick mug; move c1; drop mug; done",
        (1, 0, 0, 0, 0, 2),
    ),
    # Once it holds the mug again, the agent knows: to say done with it in the hand rests on no stale premise.
    "return seen, given up": (CARRIED, DELIVER + "move c1; move sa; pick mug; done", (0, 1, 0, 0, 0, 1)),
    "return seen, taken elsewhere": (
        CARRIED,
        DELIVER + "move c1; move sa; pick mug; move c1; move c0; drop mug; done",
        (0, 1, 0, 0, 0, 1),
    ),
    # Act 2 runs into the lock; the message before it was about something else. Return 2 reads the door.
    "news is no evidence": (FAR_LOCK, "pick mug; move c5; move c0", (0, 0, 1, 0, 0, 1)),
    # The room changed to c4, then to c0, so c2 is no longer what a fault made false.
    "changed again": (TWICE, "pick mug; look; move c1", (0, 0, 0, 0, 0, None)),
    "changed again, second premise": (TWICE, "pick mug; look; move c5", (0, 0, 1, 0, 0, None)),
    # Act 1 serves the wrong key. The message is in return 2. Return 6 reads the door as locked; act 7 tries it.
    # The keys waited one act, for act 3, and the door two, for act 8.
    "both faults": (
        DOUBLE,
        "move c2; look; move c1; move sa; pick blue key; move c1; move c0; move c2; move c3; move c4; move c5; "
        "drop blue key; done",
        (1, 0, 2, 1, 0, 2),
    ),
    # The walk ends after return 5 read the door as locked and before any act goes round: no latency.
    "second fault unmended": (
        DOUBLE,
        "look; look; move sa; pick blue key; move c1; move c0",
        (0, 0, 1, 1, 0, None),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_hand_counted(house: House, name: str) -> None:
    scenario, walk, due = CASES[name]
    steps = walk.split("; ")
    measures = house.judge(scenario, house.walk(scenario, steps))
    assert measures == dict(zip(house.measures, (*due, len(steps)), strict=True))


def test_the_judge_is_pure(house: House) -> None:
    scenario, walk, _ = CASES["both faults"]
    episode = house.walk(scenario, walk.split("; "))
    before = repr((scenario, episode))
    assert house.judge(scenario, episode) == house.judge(scenario, episode)
    assert repr((scenario, episode)) == before


# --- the planner against a search that knows nothing but `act` -------------------------------------


def lengths_by_acting(house: House, start: dict[str, Json], satisfied: str) -> tuple[int, set[tuple[str, str]]]:
    """The length of the shortest plan from `start`, and its first steps, by trying every action in every state."""
    plan = house.part("plan")
    labels = ("mug", "vase")
    steps = [("move", room) for room in ROOMS] + [(verb, label) for verb in ("pick", "drop") for label in labels]
    known: dict[str, set[tuple[str, str]]] = {repr(start): set()}
    fringe, length = [start], 0
    while fringe:
        found = [state for state in fringe if eval(satisfied, {}, state)]
        if found:
            firsts = set().union(*(known[repr(state)] for state in found))
            return length + 1, firsts or {("done", "")}
        reached: dict[str, dict[str, Json]] = {}
        firsts_of: dict[str, set[tuple[str, str]]] = {}
        for state in fringe:
            for step in steps:
                after, _ = house.world.module.act(state, plan.action_of(step))
                if repr(after) in known:
                    continue
                reached[repr(after)] = after
                firsts_of.setdefault(repr(after), set()).update(known[repr(state)] or {step})
        known.update(firsts_of)
        fringe, length = list(reached.values()), length + 1
    raise AssertionError("no plan")


@pytest.mark.parametrize("seed", range(12))
def test_first_steps_are_those_of_an_exhaustive_search_over_acts(house: House, seed: int) -> None:
    plan, draws = house.part("plan"), Draws("search", seed)
    labels = ["mug", "vase"]
    rooms = draws.sample(ROOMS, 5)
    made = scenario(rooms[0], dict(zip(labels, rooms[1:3], strict=True)), [("mug", rooms[3])])
    goal = f"'mug' in tables['{rooms[3]}'].split(', ')"
    if seed % 3 == 0:  # two deliveries
        made = scenario(rooms[0], dict(zip(labels, rooms[1:3], strict=True)), [("mug", rooms[3]), ("vase", rooms[4])])
        goal += f" and 'vase' in tables['{rooms[4]}'].split(', ')"
    state = dict(made.genesis)
    if seed % 2:  # a door is locked; the thing in the hand is wanted or not
        state["doors"] = {**state["doors"], "c0-c1": "locked"}  # type: ignore[dict-item]
        label = draws.choice(labels)
        state["agent"] = {"hand": label, "room": rooms[0]}
        state["tables"] = {
            room: table if table != label else "nothing"
            for room, table in state["tables"].items()  # type: ignore[union-attr]
        }
    length, firsts = lengths_by_acting(house, state, goal)
    assert set(plan.first_steps(plan.situation(state))) == firsts
    assert walk_length(house, state) == length


def walk_length(house: House, state: dict[str, Json]) -> int:
    plan, acts = house.part("plan"), 0
    while True:
        step, acts = plan.first_steps(plan.situation(state))[0], acts + 1
        if step == ("done", ""):
            return acts
        state, _ = house.world.module.act(state, plan.action_of(step))
