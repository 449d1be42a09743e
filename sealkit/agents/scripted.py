"""Starts the scripted agents of a world, each with draws of its own slot."""

from __future__ import annotations

from sealkit.agents.turns import Player, Scripted
from sealkit.wire.declared import Scenario
from sealkit.wire.errors import UsageError
from sealkit.world.loader import LoadedWorld, scenario_draws


def start_scripted(world: LoadedWorld, name: str, scenario: Scenario) -> tuple[Player, bool]:
    """A fresh agent called `name`, and whether it may read the true state; `UsageError` if the world has none."""
    if name not in world.agents:
        known = ", ".join(sorted(world.agents)) or "none"
        raise UsageError(f"the world has no scripted agent {name!r}; it has {known}", where=f"worlds/{world.name}")
    scripted = world.agents[name]
    agent = scripted.make(scenario_draws(scenario).split("agent", name))
    return Scripted(agent), scripted.reads_truth
