"""Starts the player of an arm in a scenario."""

from __future__ import annotations

from pathlib import Path

from sealkit.agents.scripted import start_scripted
from sealkit.agents.turns import Player
from sealkit.plan.actors import Arm, ScriptedArm
from sealkit.wire.errors import UsageError
from sealkit.wire.records import Scenario
from sealkit.world.loader import LoadedWorld


def start_player(arm: Arm, world: LoadedWorld, scenario: Scenario, study: Path) -> tuple[Player, bool]:
    """A fresh player of `arm`, and whether it may read the true state.

    `study` is the folder that arms of the study's own are loaded from. `UsageError` if the world or the study lacks
    what the arm needs, `HarnessError` if the study's own code or program does not start.
    """
    if isinstance(arm, ScriptedArm):
        return start_scripted(world, arm.scripted, scenario)
    raise UsageError("no such arm yet", where=str(study))
