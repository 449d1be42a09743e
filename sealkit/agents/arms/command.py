"""An arm that is a program: it speaks JSON lines on its standard input and output.

    → {"start": {"briefing": …, "params": {…}, "finals": […], "max_acts": 15}}            once, before the first view
    → {"view": {"act": 0, "return": "…", "acts_left": 15}}                                 the turn begins
    ← {"ask": {"role": "agent", "messages": [{"role": "user", "content": "…"}], "schema": null}}    as often as it likes
    → {"reply": {"text": "…", "status": "complete"}}                                       or refusal, or cut_off
    ← {"act": {"name": "move", "args": {"to": "porch"}}, "memory": {}}                     the turn ends
    ← {"stop": "why"}                                                                      or: the agent stopped

`return` is the text that came back from act number `act`, as any agent sees it. The program may ask the model roles
that the plan names. It is started in the study's folder, one program an episode, and killed when the episode
is over. Its death, a line that is none of these, or none in time is `HarnessError`: the attempt fails, not the agent.

While the program thinks nothing else in this process goes on: one that is slow is better run in several processes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast

import msgspec

from sealkit.agents.arms.own import check_role
from sealkit.agents.arms.pipe import Pipe
from sealkit.agents.arms.scene import Scene, scene_of
from sealkit.agents.models.secrets import Watch
from sealkit.agents.programs import quoted
from sealkit.agents.turns import Action, Ask, Fault, Message, Move, Player, Turn
from sealkit.plan.actors import CommandArm
from sealkit.wire.canon import check_value
from sealkit.wire.declared import Scenario
from sealkit.wire.errors import HarnessError, MalformedError
from sealkit.wire.records import Json
from sealkit.wire.text import shortened
from sealkit.world.sdk import View, words_of

MOST_ASKS: Final = 32  # in one turn


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the program asks a model."""

    role: str
    messages: tuple[Message, ...]
    schema: dict[str, Json] | None = None


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the program: one of ask, act and stop."""

    ask: Question | None = None
    act: Action | None = None
    stop: str | None = None
    memory: dict[str, Json] = {}


class Entered(msgspec.Struct, frozen=True):
    """What of a line enters the episode."""

    act: Action | None
    memory: dict[str, Json]


def start_command(arm: CommandArm, scenario: Scenario, study: Path) -> Player:
    """A player that is the arm's program; it is started with the first turn."""
    return CommandPlayer(arm, scene_of(scenario), study)


class CommandPlayer:
    """A program as a player."""

    def __init__(self, arm: CommandArm, scene: Scene, study: Path) -> None:
        self._arm = arm
        self._scene = scene
        self._study = study
        self._act = -1
        self._pipe: Pipe | None = None

    def turn(self, view: View) -> Turn:
        """Show the view, carry questions and replies to and fro, until the program acts or stops."""
        pipe = self._started()
        self._act += 1
        _send(pipe, view={"act": self._act, "return": words_of(view.last), "acts_left": view.acts_left})
        calls: list[str] = []
        while True:
            line = self._line(pipe)
            if line.act is not None:
                return Move(action=line.act, calls=tuple(calls), memory=line.memory)
            if line.stop is not None:
                return Fault(why="agent_stopped", say=shortened(line.stop), calls=tuple(calls), memory=line.memory)
            if len(calls) == MOST_ASKS:
                raise HarnessError(f"asked more than {MOST_ASKS} times in one turn", where=self._arm.run[0])
            question = cast(Question, line.ask)
            asked = Ask(role=question.role, messages=question.messages, schema=question.schema)
            check_role(asked, self._arm.models, self._arm.run[0])
            reply = yield asked
            calls.append(reply.call)
            _send(pipe, reply={"text": reply.text, "status": reply.status})

    def close(self) -> None:
        """Kill the program."""
        if self._pipe is not None:
            self._pipe.close()

    def _started(self) -> Pipe:
        if self._pipe is None:
            self._pipe = Pipe(self._arm.run, self._study)
            scene = self._scene
            start = {"briefing": scene.briefing, "params": scene.params, "finals": scene.finals}
            _send(self._pipe, start={**start, "max_acts": scene.max_acts})
        return self._pipe

    def _line(self, pipe: Pipe) -> Line:
        where = self._arm.run[0]
        raw = pipe.receive()
        try:
            line = msgspec.json.decode(raw, type=Line)
            check_value(Entered(act=line.act, memory=line.memory), where="")  # here, not at some later act
        except (msgspec.MsgspecError, MalformedError, RecursionError) as error:
            what = f"wrote what is no line of an arm: {error}; it begins {quoted(raw, Watch(()))}"
            raise HarnessError(what, where=where) from error
        if sum(part is not None for part in (line.ask, line.act, line.stop)) != 1:
            what = f"wrote a line that is not one of ask, act and stop; it begins {quoted(raw, Watch(()))}"
            raise HarnessError(what, where=where)
        return line


def _send(pipe: Pipe, **line: object) -> None:
    pipe.send(msgspec.json.encode(line))
