"""Arms with a notes field: free text that the agent rewrites each turn, and is shown again the next.

An `observer` changes nothing here: its log is parsed from the transcript when a reading asks for it, and the agent
never sees it. So arms A and B ask in the same bytes, and with the same replies they act the same.
"""

from __future__ import annotations

from sealkit.agents.arms.prompt import filled, own_prompt
from sealkit.agents.arms.reply import read_action, read_text
from sealkit.agents.arms.scene import Scene
from sealkit.agents.arms.talker import Talker, reply_schema
from sealkit.agents.arms.wording import Wording
from sealkit.agents.turns import Move
from sealkit.plan.actors import NotesArm
from sealkit.wire.records import Json
from sealkit.world.replies import Object, Unreadable


class NotesPlayer(Talker):
    """A model with notes."""

    def __init__(self, arm: NotesArm, wording: Wording, scene: Scene) -> None:
        how = filled(own_prompt("notes"), argument=own_prompt(wording.argument), notes_chars=arm.notes_chars)
        super().__init__(arm.model, wording, scene, (own_prompt("json"), wording.prompt("actions"), how))
        self._limit = arm.notes_chars
        self._notes = ""

    def kept(self) -> tuple[tuple[str, str], ...]:
        """The notes of the turn before."""
        return (("Your notes", self._notes or "(none)"),)

    def memory(self) -> dict[str, Json]:
        """The notes."""
        return {"notes": self._notes}

    def schema(self) -> dict[str, Json]:
        """Action, argument, notes."""
        return reply_schema(self.wording, notes={"type": "string", "maxLength": self._limit})

    def decide(self, reply: Object, call: str) -> Move | Unreadable:
        """The action, and the notes for the next turn."""
        action = read_action(reply, self.wording.actions)
        notes = read_text(reply, "notes", before=self._notes, limit=self._limit)
        if isinstance(action, Unreadable):
            return action
        if isinstance(notes, Unreadable):
            return notes
        self._notes = notes
        return Move(action=action, calls=(call,), memory=self.memory())
