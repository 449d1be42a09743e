"""Starts the player of an arm in a scenario."""

from __future__ import annotations

from pathlib import Path

from sealkit.agents.arms.belief_store import StorePlayer
from sealkit.agents.arms.command import start_command
from sealkit.agents.arms.notes import NotesPlayer
from sealkit.agents.arms.own import start_own
from sealkit.agents.arms.scene import scene_of
from sealkit.agents.arms.tools import ToolsPlayer
from sealkit.agents.arms.wording import open_wording
from sealkit.agents.scripted import start_scripted
from sealkit.agents.turns import Player
from sealkit.plan.actors import Arm, CommandArm, ExternalArm, NotesArm, OwnArm, ScriptedArm, ToolsArm
from sealkit.wire.declared import Scenario
from sealkit.wire.errors import UsageError
from sealkit.world.loader import LoadedWorld


def start_player(arm: Arm, world: LoadedWorld, scenario: Scenario, study: Path) -> tuple[Player, bool]:
    """A fresh player of `arm`, and whether it may read the true state.

    `study` is the folder that arms of the study's own are loaded from. `UsageError` if the world or the study lacks
    what the arm needs, `HarnessError` if the study's own code or program does not start.
    """
    if isinstance(arm, ScriptedArm):
        return start_scripted(world, arm.scripted, scenario)
    if isinstance(arm, OwnArm):
        return start_own(arm, scenario, study), False
    if isinstance(arm, CommandArm):
        return start_command(arm, scenario, study), False
    if isinstance(arm, ExternalArm):
        raise UsageError("the arm of an external world cannot act in a world that sealkit runs", where="plan")
    wording, scene = open_wording(world), scene_of(scenario)
    if isinstance(arm, NotesArm):
        return NotesPlayer(arm, wording, scene), False
    if isinstance(arm, ToolsArm):
        return ToolsPlayer(arm, wording, scene), False
    return StorePlayer(arm, wording, scene), False
