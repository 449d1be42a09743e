"""Arms with a belief store: the agent keeps it, sees it, and cites the revisions that each action depends on.

With `enforce: revalidation` a controller checks the cites before a world action (`revalidation.py`). A block uses the
turn; the updates of that reply stand. Nothing else differs, and the agent is not told whether there is a controller.
"""

from __future__ import annotations

from dataclasses import dataclass

from sealkit.agents.arms.prompt import filled, own_prompt
from sealkit.agents.arms.reply import read_action, read_cites, read_text, read_updates
from sealkit.agents.arms.revalidation import Heard, revalidate, warning
from sealkit.agents.arms.scene import Scene
from sealkit.agents.arms.talker import Talker, reply_schema
from sealkit.agents.arms.wording import Wording
from sealkit.agents.turns import Action, Move
from sealkit.plan.actors import BeliefStoreArm
from sealkit.wire.records import Json
from sealkit.wire.trace import blocked
from sealkit.world.beliefs import Beliefs, Block, Kept, Update, current, revise, table
from sealkit.world.replies import Object, Unreadable

_TEXT: Json = {"type": "string"}
_BELIEF: Json = {
    "type": "object",
    "properties": {"subject": _TEXT, "value": _TEXT, "seen": {"type": "integer"}},
    "required": ["subject", "value", "seen"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class _Intent:
    """A reply, read: what to do, what is now believed, what the action depends on, the plan."""

    action: Action
    updates: tuple[Update, ...]
    cites: tuple[str, ...]
    plan: str


class StorePlayer(Talker):
    """A model with a belief store."""

    def __init__(self, arm: BeliefStoreArm, wording: Wording, scene: Scene) -> None:
        how = filled(own_prompt("belief_store"), argument=own_prompt(wording.argument), plan_chars=arm.plan_chars)
        parts = (own_prompt("json"), wording.prompt("actions"), how, wording.prompt("beliefs"))
        super().__init__(arm.model, wording, scene, parts)
        self._enforced = arm.enforce == "revalidation"
        self._limit = arm.plan_chars
        self._plan = ""
        self._beliefs: Beliefs = ()
        self._heard: list[Heard] = []

    def observe(self, shown: str) -> None:
        """Keep what the return states, for the controller."""
        self._heard += [Heard(self.act, statement) for statement in self.wording.observe(self.scene.briefing, shown)]

    def kept(self) -> tuple[tuple[str, str], ...]:
        """The store with the latest revision of each belief, and the plan."""
        store = current(self._beliefs)
        return (
            ("Your beliefs", f"{table(store.values())}\nThe next free id is b{len(store) + 1}."),
            ("Your plan", self._plan or "(none)"),
        )

    def memory(self) -> dict[str, Json]:
        """No updates and no cites; the plan as it was."""
        return Kept(beliefs=(), cites=(), plan=self._plan, block=None).memory()

    def schema(self) -> dict[str, Json]:
        """Action, argument, beliefs, cites, plan."""
        return reply_schema(
            self.wording,
            beliefs={"type": "array", "items": _BELIEF},
            cites={"type": "array", "items": _TEXT},
            plan={"type": "string", "maxLength": self._limit},
        )

    def decide(self, reply: Object, call: str) -> Move | Unreadable:
        """The action, or the block of it, after the updates were made."""
        read = self._read(reply)
        if isinstance(read, Unreadable):
            return read
        self._plan = read.plan
        self._beliefs = revise(self._beliefs, read.updates)
        block = self._block(read) if self._enforced else None
        kept = Kept(beliefs=read.updates, cites=read.cites, plan=read.plan, block=block)
        action = read.action if block is None else blocked(warning(_words(read.action), block.stale))
        return Move(action=action, calls=(call,), memory=kept.memory())

    def _read(self, reply: Object) -> _Intent | Unreadable:
        action = read_action(reply, self.wording.actions)
        updates, cites = read_updates(reply, last=self.act), read_cites(reply)
        plan = read_text(reply, "plan", before=self._plan, limit=self._limit)
        if isinstance(action, Unreadable):
            return action
        if isinstance(updates, Unreadable):
            return updates
        if isinstance(cites, Unreadable):
            return cites
        if isinstance(plan, Unreadable):
            return plan
        return _Intent(action=action, updates=tuple(map(self._spelled, updates)), cites=cites, plan=plan)

    def _spelled(self, update: Update) -> Update:
        subject, value = self.wording.spell(update.subject, update.value)
        return Update(subject=subject, value=value, seen=update.seen)

    def _block(self, read: _Intent) -> Block | None:
        observes = read.action.name in self.wording.observing
        stale = revalidate(read.cites, self._beliefs, self._heard, observes=observes)
        name, argument = read.action.name, _argument(read.action)
        return Block(action=name, argument=argument, stale=stale) if stale else None


def _argument(action: Action) -> str:
    return " ".join(str(value) for value in action.args.values())


def _words(action: Action) -> str:
    return " ".join(f"{action.name} {_argument(action)}".split())
