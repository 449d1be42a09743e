"""What a model is asked each turn: one prompt core for all arms, the world's own words, and what the agent may see.

    system   prompts/core.md; then prompts/json.md, the world's prompts/actions.md, and how to reply: prompts/notes.md,
             or prompts/belief_store.md with the world's prompts/beliefs.md. Where actions are tools, prompts/tools.md
    user     the briefing, the last returns, what the agent kept, how many actions are left

Arms differ in nothing else. Arms A and B are asked in the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import Template

from sealkit.world.loader import read_text

PROMPTS = Path(__file__).parent / "prompts"


def own_prompt(name: str) -> str:
    """The text of `prompts/NAME.md` of this sealkit."""
    return read_text(PROMPTS.parent, f"prompts/{name}.md")


def filled(text: str, **values: int | str) -> str:
    """The prompt with its `$names` filled in."""
    return Template(text).substitute({name: str(value) for name, value in values.items()})


def system_text(parts: Sequence[str]) -> str:
    """The parts of the system message, a blank line between them."""
    return "\n\n".join(part for part in parts if part) + "\n"


def user_text(
    briefing: str, returns: Sequence[tuple[int, str]], kept: Sequence[tuple[str, str]], acts_left: int
) -> str:
    """The user message: `returns` are (act, text), `kept` (heading, text) of the agent's own memory."""
    shown = "\n".join(f"Return {act}:\n{text.strip()}" for act, text in returns) or "(none yet)"
    sections = [
        ("Briefing", briefing.strip()),
        ("Last returns", shown),
        *kept,
        ("Actions left", str(acts_left)),
    ]
    return "\n\n".join(f"## {heading}\n\n{text}" for heading, text in sections) + "\n"
