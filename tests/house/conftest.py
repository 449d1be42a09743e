"""Episodes in the house, run by the real recorder, from the loader's own copies of world, judge and agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Action, Episode, Trusted
from sealkit.wire.records import Json
from sealkit.wire.trace import bare
from sealkit.world.draws import Draws
from sealkit.world.loader import LoadedWorld, load_judge, load_world, make_scenario
from sealkit.world.sdk import Judge, View
from sealkit.world.witness import Recorder

ROOT = Path(__file__).parents[2]
PARAMS: dict[str, Json] = {"turn_budget": 15, "observation_window": 3}


@dataclass(frozen=True, eq=False)
class House:
    """The loaded world with its judge, and what tests do with them."""

    world: LoadedWorld
    judge: Judge
    measures: tuple[str, ...]

    @cache  # noqa: B019 one instance for the whole session
    def scenario(self, family: str, seed: int) -> Scenario:
        return make_scenario(self.world, family, seed, PARAMS)

    def part(self, name: str) -> ModuleType:
        """A module of the world's folder, as the loader has it."""
        return import_module(f"{self.world.module.__package__}.{name}")

    def record(self, scenario: Scenario, choose: Callable[[View], Action | None]) -> Episode:
        """One episode; `choose` may look at the truth, and ends it early with None."""
        session = self.world.session(scenario)
        recorder = Recorder(
            session, Trusted(pin="pin", judge="judge", slot={"arm": "test"}, scenario=encode_record(scenario))
        )
        last, ended = recorder.begin().segments, "budget"
        for used in range(scenario.max_acts):
            left = scenario.max_acts - used
            action = choose(View(briefing=scenario.briefing, last=last, acts_left=left, truth=session.material()))
            if action is None:
                ended = "stopped"
                break
            last = recorder.act(bare(action)).segments
            if action.name in scenario.finals:
                ended = "final"
                break
        return decode_record(recorder.close(ended, why=""), Episode)

    def play(self, agent: str, family: str, seed: int) -> tuple[Scenario, Episode]:
        """The episode of a scripted agent, which sees the truth only if it declares so."""
        scenario, scripted = self.scenario(family, seed), self.world.agents[agent]
        player = scripted.make(Draws("test", agent, family, seed))
        blind = not scripted.reads_truth
        return scenario, self.record(scenario, lambda view: player.act(replace(view, truth=None) if blind else view))

    def walk(self, scenario: Scenario, steps: Sequence[str]) -> Episode:
        """The episode of a written walk such as `["move c1", "pick red mug", "done"]`."""
        keys = {"move": "to", "open": "door", "pick": "item", "drop": "item"}
        actions = []
        for step in steps:
            name, _, word = step.partition(" ")
            actions.append(Action(name=name, args={keys[name]: word} if word else {}))
        waiting = iter(actions)
        return self.record(scenario, lambda view: next(waiting, None))


@pytest.fixture(scope="session")
def house() -> House:
    judge, measures = load_judge(ROOT, "worlds/house/judge")  # each load is fresh, so the world comes last
    return House(world=load_world(ROOT, "house"), judge=judge, measures=measures)
