"""What an arm may know of a scenario: what its agent is told, and nothing that is hidden from it."""

from __future__ import annotations

import msgspec

from sealkit.wire.declared import Scenario
from sealkit.wire.errors import UsageError
from sealkit.wire.records import Json


class Scene(msgspec.Struct, frozen=True):
    """A scenario without family, seed, genesis, contracts, snapshots and restores."""

    world: str
    params: dict[str, Json]
    briefing: str
    finals: tuple[str, ...]
    max_acts: int

    def window(self) -> int:
        """How many returns a model is shown again: the plan's `world.params.observation_window`."""
        window = self.params.get("observation_window")
        if isinstance(window, bool) or not isinstance(window, int) or window < 1:
            raise UsageError(
                f"found {window!r} for observation_window, due a whole number from 1 on",
                where="$.world.params",
                remedy="say how many returns a model is shown again",
            )
        return window


def scene_of(scenario: Scenario) -> Scene:
    """The scenario as an arm may know it."""
    return Scene(
        world=scenario.world,
        params=scenario.params,
        briefing=scenario.briefing,
        finals=scenario.finals,
        max_acts=scenario.max_acts,
    )
