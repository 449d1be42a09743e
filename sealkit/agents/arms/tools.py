"""Arms whose model is given the world's actions as tools, in its endpoint's own way, and calls one of them a turn.

A name is spelt for the endpoint: what is no letter, digit, `_` or `-` in it becomes `_`, so `case.read` is the tool
`case_read`. The model keeps no notes: it sees the last returns alone. A reply that calls no tool, or several, or one
that there is not, cannot be read.

>>> spelt("case.read")
'case_read'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from sealkit.agents.arms.prompt import own_prompt
from sealkit.agents.arms.reply import Takes, read_action
from sealkit.agents.arms.scene import Scene
from sealkit.agents.arms.talker import SAID_OF_A_TOOL, Talker
from sealkit.agents.arms.wording import Wording
from sealkit.agents.turns import Action, Move, Tool
from sealkit.plan.actors import ToolsArm
from sealkit.wire.errors import UsageError
from sealkit.wire.records import Json
from sealkit.world.replies import Object, Unreadable

_odd = re.compile(r"[^A-Za-z0-9_-]")


def spelt(name: str) -> str:
    """The name of the tool for an action."""
    return _odd.sub("_", name)


class ToolsPlayer(Talker):
    """A model with tools."""

    def __init__(self, arm: ToolsArm, wording: Wording, scene: Scene) -> None:
        super().__init__(arm.model, wording, scene, (own_prompt("tools"),))
        self._names = {spelt(name): name for name in wording.actions}
        self._takes: dict[str, Takes] = {spelt(name): takes for name, takes in wording.actions.items()}
        if wording.argument != "arguments" or len(self._names) != len(wording.actions):
            raise UsageError(
                "the world gives its actions no schemas, or two of them would be one tool",
                where=f"worlds/{scene.world}/words.py",
                remedy="see ACTIONS in docs/writing-a-world.md, or take the scaffold notes",
            )
        self._tools = tuple(_tool(name, cast(Mapping[str, Json], takes)) for name, takes in self._takes.items())

    def kept(self) -> tuple[tuple[str, str], ...]:
        """Nothing."""
        return ()

    def memory(self) -> dict[str, Json]:
        """Nothing."""
        return {}

    def schema(self) -> None:
        """None: a tool is called."""

    def tools(self) -> tuple[Tool, ...]:
        """The actions of the world."""
        return self._tools

    def decide(self, reply: Object, call: str) -> Move | Unreadable:
        """The action whose tool was called."""
        called = read_action({"action": reply.get("tool"), "arguments": reply.get("arguments")}, self._takes)
        if isinstance(called, Unreadable):
            return Unreadable(called.why.replace("`action`", "the tool"))
        return Move(action=Action(name=self._names[called.name], args=called.args), calls=(call,), memory={})


def _tool(name: str, schema: Mapping[str, Json]) -> Tool:
    told = ". ".join(str(schema[key]).rstrip(".") for key in ("title", "description") if key in schema)
    parameters = {key: part for key, part in schema.items() if key not in SAID_OF_A_TOOL}
    return Tool(name=name, description=f"{told}." if told else "", parameters=parameters)
