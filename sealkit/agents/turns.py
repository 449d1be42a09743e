"""What acts in an episode, as one shape for all: a player that takes turns, and asks models without calling them.

A turn is a generator. It yields each `Ask`, is sent the `Reply`, and returns what it decided: a `Move`, or a `Fault`
if nothing came that could be acted on. A player never opens a connection, so the same code acts under a live
endpoint, under sixty-four of them at once, and when an episode is run again from recorded replies.

>>> class Echo:
...     def turn(self, view):
...         reply = yield Ask(role="agent", messages=(Message(role="user", content="where to?"),), schema=None)
...         return Move(action=Action(name=reply.text, args={}), calls=(reply.call,), memory={})
>>> turn = Echo().turn(None)
>>> next(turn).messages[0].content
'where to?'
>>> try:
...     turn.send(Reply(text="north", status="complete", call="sha256:…"))
... except StopIteration as done:
...     done.value.action.name
'north'
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from sealkit.wire.episode import Action, Move
from sealkit.wire.records import Json
from sealkit.wire.trace import bare
from sealkit.world.sdk import Agent, Message, View

__all__ = (
    "Action", "Ask", "Closable", "Fault", "Message", "Move", "Player", "Reply", "Scripted", "Tool", "Turn",
)  # fmt: skip


class Tool(msgspec.Struct, frozen=True):
    """A tool that a model may call, as it is told of it: `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Json]


class Ask(msgspec.Struct, frozen=True):
    """A question to the model that plays `role` in the plan; its settings are the plan's, never the player's.

    `schema` is the JSON Schema that the reply is due to meet, for endpoints that can hold a model to it. With `tools`
    the model is due to call one of them; the text of the reply is then `{"tool": NAME, "arguments": {…}}`, one a line.
    """

    role: str
    messages: tuple[Message, ...]
    schema: dict[str, Json] | None
    tools: tuple[Tool, ...] = ()


class Reply(msgspec.Struct, frozen=True):
    """What came back: the text, whether the model finished it, and the digest of the body that holds it."""

    text: str
    status: Literal["complete", "refusal", "cut_off"]
    call: str


class Fault(msgspec.Struct, frozen=True):
    """A turn without an action: `why` is a word of the plan's endings, which says whether the episode goes on.

    `say` is what the agent is told if it does; `calls` and `memory` are kept as those of a move are.
    """

    why: str
    say: str
    calls: tuple[str, ...]
    memory: dict[str, Json]


Turn: TypeAlias = Generator[Ask, Reply, Move | Fault]


class Player(Protocol):
    """One agent in one episode; it may remember whatever it was shown."""

    def turn(self, view: View) -> Turn:
        """Decide what to do next."""


@runtime_checkable
class Closable(Protocol):
    """A player that holds something, such as a running program: whoever plays it closes it, however it ends."""

    def close(self) -> None:
        """Let go of it."""


class Scripted:
    """A scripted agent as a player: it asks nobody."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def turn(self, view: View) -> Turn:
        """The agent's next action."""
        yield from ()
        return bare(self._agent.act(view))
