"""How a world speaks with a model: the module `words.py` and the folder `prompts/` of `worlds/NAME`.

ACTIONS      name → the key of its one argument, or None: {"look": None, "move": "to"}
             or for all of them name → the JSON Schema of its arguments, such as those of `load_tools`
OBSERVING    the actions that only observe, which no controller holds back
observe(briefing, text)    the statements that a return makes, in their order
spell(subject, value)      both as `observe` would write them, from an agent's own words

prompts/actions.md         which actions there are and how to write them
prompts/beliefs.md         which subjects there are, and their values; for arms with a belief store
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sealkit.agents.arms.reply import Takes
from sealkit.wire.errors import HarnessError, UsageError
from sealkit.world.beliefs import Statement
from sealkit.world.loader import LoadedWorld, read_text


@dataclass(frozen=True, slots=True)
class Wording:
    """One world's words."""

    actions: Mapping[str, Takes]
    observing: frozenset[str]
    observe: Callable[[str, str], Sequence[Statement]]
    spell: Callable[[str, str], tuple[str, str]]
    folder: Path

    @property
    def argument(self) -> str:
        """The key of a reply that holds what an action is about: `argument`, a text, or `arguments`, an object."""
        return "arguments" if any(isinstance(takes, Mapping) for takes in self.actions.values()) else "argument"

    def prompt(self, name: str) -> str:
        """The world's prompt of that name."""
        return read_text(self.folder, f"prompts/{name}.md")


def open_wording(world: LoadedWorld) -> Wording:
    """The world's words; `UsageError` if it has none, `HarnessError` names what they lack."""
    module, where = world.words, f"worlds/{world.name}/words.py"
    if module is None:
        raise UsageError("the world has no words for a model", where=where, remedy="see docs/writing-a-world.md")
    for name in ("ACTIONS", "OBSERVING", "observe", "spell"):
        if not hasattr(module, name):
            raise HarnessError(f"the module declares no {name}", where=where)
    actions = dict(cast(Mapping[str, Takes], module.ACTIONS))
    if len({isinstance(takes, Mapping) for takes in actions.values()}) != 1:
        raise HarnessError("ACTIONS names no action, or gives some a schema and others none", where=where)
    observing = frozenset(cast(Sequence[str], module.OBSERVING))
    if not observing <= actions.keys():
        raise HarnessError("OBSERVING names what is none of ACTIONS", where=where)
    return Wording(
        actions=actions, observing=observing, observe=module.observe, spell=module.spell,
        folder=world.folder,
    )  # fmt: skip
