"""The greenhouse: its scenarios and its simulator."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sealkit.wire.declared import (
    ActsLater,
    After,
    AfterAct,
    Contract,
    Distort,
    Inbox,
    Restore,
    Scenario,
    Snapshot,
    Tell,
    ThisReturn,
    WhenShown,
)
from sealkit.wire.episode import Action
from sealkit.wire.patch import apply
from sealkit.wire.records import Patch
from sealkit.world.draws import Draws
from sealkit.world.sdk import (
    Outline,
    State,
    Told,
    add,
    after,
    after_act,
    authority,
    contract,
    count,
    false_reading,
    inbox,
    never,
    notice,
    of_act,
    on,
    reading,
    remove,
    replace,
    seen,
    text,
)

FAMILIES = ("calm", "plain", "storm")
BUDGET = 14

NATURE = authority("nature", rung="A1", scope="everything outside", binding=True)
OWNER = authority("owner", rung="A4", scope="the greenhouse", binding=True)
NEIGHBOUR = authority("neighbour", rung="A2", scope="opinions", binding=False)

GENESIS: State = {
    "bench": {"fern": {"wet": 0}, "rose": {"wet": 0}},
    "shed": {"door": "open", "tools": ["spade", "rake"]},
    "sky": {"now": "clear"},
    "tank": {"level": 4, "valve": "open"},
}
FOOTPRINTS = {"water": ("/bench/*/wet", "/tank/level"), "fill": ("/tank/level",)}


def contracts(draws: Draws) -> tuple[Contract, ...]:
    """One contract of every `when` and every `tell`; (when; tell; effect) in the comments."""
    later = draws.between(1, 2)
    return (
        # fixed act 0; never; adds a member
        contract("seedling", when=after_act(0), then=[add("/bench/moss", {"wet": 1})], tell=never(), authority=NATURE),
        # fixed act; notice in this return with a value; replaces
        contract(
            "rain", when=after_act(2), then=[replace("/sky/now", "rain")], sees={"level": "/tank/level"},
            tell=notice("Radio: rain. Your tank holds {level}.", channel="radio", sender="station", due=ThisReturn()),
            authority=NATURE,
        ),
        # rule over state and action; discloses itself by a reading; computed value
        contract(
            "leak", when=on("name == 'water' && level < 4"), then=[replace("/tank/level", {"cel": "level - 1"})],
            sees={"name": of_act("/name"), "level": "/tank/level"}, tell=seen("/tank/level", "reading < 3"),
            authority=NATURE,
        ),
        # after another; notice some acts later; replaces and removes
        contract(
            "lock", when=after("leak", 1), then=[replace("/shed/door", "locked"), remove("/shed/tools/0")],
            tell=notice("The shed is locked now.", channel="speaker", sender="owner", due=ActsLater(acts=later)),
            authority=OWNER,
        ),
        # fixed act; inbox; replaces
        contract(
            "valve", when=after_act(4), then=[replace("/tank/valve", "shut")],
            tell=notice("Letter: the valve is shut.", channel="letter", sender="owner", due=Inbox()), authority=OWNER,
        ),
        # rule over a count of readings; notice with the reading that shows it; appends
        contract(
            "rumour", when=on("looks >= 2"), then=[add("/shed/tools/-", "hose")],
            sees={"looks": count("/shed/door", "open")},
            tell=notice("Neighbour: a hose is in the shed.", channel="fence", sender="neighbour",
                        due=WhenShown(pointer="/sky/now", rule="reading == 'rain'")),
            authority=NEIGHBOUR,
        ),
        # fixed act; a declared false reading; no effect
        contract("haze", when=after_act(5), tell=false_reading("/sky/now", "clear"), authority=NATURE),
        # fixed act; a false reading with a notice behind it; no effect
        contract(
            "gauge", when=after_act(6),
            tell=Tell(channel="label", sender="maker", template="The gauge sticks.",
                      due=WhenShown(pointer="/tank/level", rule="true"),
                      distort=Distort(pointer="/tank/level", reading=9)),
            authority=NATURE,
        ),
        # fixed act; notice only
        contract(
            "visit", when=after_act(7),
            tell=notice("Somebody calls.", channel="bell", sender="visitor", due=ThisReturn()), authority=NEIGHBOUR,
        ),
        # rule over state alone; never; replaces
        contract(
            "mould", when=on("wet >= 3"), then=[replace("/bench/fern/wet", {"cel": "wet + 10"})],
            sees={"wet": "/bench/fern/wet"}, tell=never(), authority=NATURE,
        ),
        # fixed act behind both restores; notice in this return
        contract(
            "dusk", when=after_act(11), then=[replace("/sky/now", "dark")],
            tell=notice("It gets dark.", channel="window", sender="nature", due=ThisReturn()), authority=NATURE,
        ),
    )  # fmt: skip


def scenario(family: str, seed: int, draws: Draws) -> Outline:
    """A greenhouse of `family`; the seed moves delays only."""
    stormy = family == "storm"
    return Outline(
        genesis=GENESIS,
        briefing="Keep the plants wet. Say done.",
        contracts=() if family == "calm" else contracts(draws.split("contracts")),
        snapshots=(Snapshot(id="dry", when=AfterAct(act=1)), Snapshot(id="shut", when=After(contract="valve", acts=1)))
        if stormy else (),
        restores=(Restore(id="back", snapshot="dry", when=AfterAct(act=8)),
                  Restore(id="again", snapshot="shut", when=After(contract="visit", acts=3))) if stormy else (),
        footprints=FOOTPRINTS,
        finals=("done",),
        max_acts=BUDGET,
    )  # fmt: skip


class Greenhouse:
    """The simulator. It holds its state in objects of its own and changes them in place."""

    def __init__(self, genesis: State) -> None:
        self.here: dict[str, Any] = json.loads(json.dumps(genesis))

    def material(self) -> State:
        """All of it: nothing that matters is outside."""
        return self.here

    def act(self, action: Action) -> Sequence[Told]:
        """One act of the gardener."""
        if action.name == "look":
            return self._look(str(action.args.get("at")))
        if action.name == "water":
            return self._water(str(action.args.get("plant")))
        if action.name == "fill":
            self.here["tank"]["level"] += 2
            return (text("You fill the tank. "), reading("/tank/level", "It holds {value}."))
        if action.name == "mail":
            return (text("You open the box. "), inbox(), text(" That is all."))
        return (text("Time passes."),)

    def _look(self, at: str) -> Sequence[Told]:
        if at == "tank":
            return (reading("/tank/level", "The tank holds {value}. "), reading("/tank/valve", "The valve is {value}."))
        if at == "shed":
            return (reading("/shed/door", "The door is {value}."),)
        if at == "sky":
            return (reading("/sky/now", "The sky: {value}."),)
        if at == "bench":
            return tuple(reading(f"/bench/{name}/wet", name + ": {value}. ") for name in sorted(self.here["bench"]))
        return (text("Nothing there."),)

    def _water(self, plant: str) -> Sequence[Told]:
        bench, tank = self.here["bench"], self.here["tank"]
        if plant not in bench or tank["valve"] != "open" or tank["level"] <= 0:
            return (text("No water comes."),)
        bench[plant]["wet"] += 1
        tank["level"] -= 1
        return (text("You water it. "), reading(f"/bench/{plant}/wet", "It is {value} wet."))

    def occur(self, contract: Contract, effect: Patch) -> None:
        """The effect as it stands, on objects of its own: what it is given belongs to the scenario."""
        self.here = json.loads(json.dumps(apply(self.here, effect)))

    def snapshot(self) -> bytes:
        """The whole greenhouse."""
        return json.dumps(self.here).encode()

    def restore(self, snapshot: bytes) -> None:
        """The whole greenhouse as it was."""
        self.here = json.loads(snapshot)


def session(scenario: Scenario, draws: Draws) -> Greenhouse:
    """A fresh greenhouse; nothing in it is drawn."""
    return Greenhouse(scenario.genesis)
