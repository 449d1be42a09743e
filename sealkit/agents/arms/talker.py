"""What all model arms have in common: what the agent is shown, asking it, what becomes of a reply without an act."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final

from sealkit.agents.arms.prompt import own_prompt, system_text, user_text
from sealkit.agents.arms.scene import Scene
from sealkit.agents.arms.wording import Wording
from sealkit.agents.turns import Ask, Fault, Message, Move, Reply, Tool, Turn
from sealkit.wire.records import Json
from sealkit.world.replies import Object, Unreadable, read_object
from sealkit.world.sdk import View, words_of

SAY: Final[Mapping[str, str]] = {
    "refusal": "You gave no action. The turn is used.\n",
    "cut_off": "Your reply was cut off before it ended. The turn is used.\n",
}
UNREADABLE: Final = "unparsable_reply"
SAID_OF_A_TOOL: Final = ("$schema", "title", "description")  # no part of what a reply must fit


class Talker(ABC):
    """A player that asks one model once a turn. A subclass says what is kept, how to reply, and what a reply means."""

    def __init__(self, role: str, wording: Wording, scene: Scene, how_to_reply: tuple[str, ...]) -> None:
        self.wording = wording
        self.scene = scene
        self.act = -1  # the number of the act whose return was shown last
        self._role = role
        self._window = scene.window()
        self._returns: list[tuple[int, str]] = []
        self._system = system_text((own_prompt("core"), *how_to_reply))

    def turn(self, view: View) -> Turn:
        """Ask once; what the model replied is the move, or the fault."""
        self.act += 1
        shown = words_of(view.last)
        if self.act > 0 or shown:
            self._returns = [*self._returns, (self.act, shown)][-self._window :]
        self.observe(shown)
        reply = yield self._question(view)
        return self._decided(reply)

    def observe(self, shown: str) -> None:  # noqa: B027 - most arms keep nothing of it
        """Take in the return of act `self.act`."""

    @abstractmethod
    def kept(self) -> tuple[tuple[str, str], ...]:
        """What the agent kept, as (heading, text)."""

    @abstractmethod
    def memory(self) -> dict[str, Json]:
        """What the arm keeps of an act in which nothing was decided."""

    @abstractmethod
    def schema(self) -> dict[str, Json] | None:
        """What a reply is due to look like; None if it is to call a tool."""

    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model may call."""
        return ()

    @abstractmethod
    def decide(self, reply: Object, call: str) -> Move | Unreadable:
        """The move that a reply asks for."""

    def _question(self, view: View) -> Ask:
        user = user_text(self.scene.briefing, self._returns, self.kept(), view.acts_left)
        messages = (Message(role="system", content=self._system), Message(role="user", content=user))
        return Ask(role=self._role, messages=messages, schema=self.schema(), tools=self.tools())

    def _decided(self, reply: Reply) -> Move | Fault:
        if reply.status != "complete":
            return self._fault(reply.status, SAY[reply.status], reply.call)
        given = read_object(reply.text)
        decided = given if isinstance(given, Unreadable) else self.decide(given, reply.call)
        if isinstance(decided, Unreadable):
            say = f"Your reply could not be read: {decided.why}. The turn is used.\n"
            return self._fault(UNREADABLE, say, reply.call)
        return decided

    def _fault(self, why: str, say: str, call: str) -> Fault:
        return Fault(why=why, say=say, calls=(call,), memory=self.memory())


def reply_schema(wording: Wording, **more: Json) -> dict[str, Json]:
    """The JSON Schema of a reply with an action, its argument or arguments, and these further keys, all of them due."""
    properties: dict[str, Json] = {
        "action": {"type": "string", "enum": list(wording.actions)},
        wording.argument: _argument_schema(wording),
        **more,
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _argument_schema(wording: Wording) -> dict[str, Json]:
    """A text, or the arguments of any action; that they are those of the action asked for, the world looks at."""
    schemas = [dict(takes) for takes in wording.actions.values() if isinstance(takes, Mapping)]
    bare = [{key: part for key, part in schema.items() if key not in SAID_OF_A_TOOL} for schema in schemas]
    distinct: list[Json] = [schema for n, schema in enumerate(bare) if schema not in bare[:n]]
    return {"anyOf": distinct} if distinct else {"type": "string"}
