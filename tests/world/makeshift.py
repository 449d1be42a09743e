"""Worlds made up on the spot, to be broken in one place."""

from __future__ import annotations

from pathlib import Path

from sealkit.world.loader import LoadedWorld, load_world

WORLD = '''\
"""A lamp that can be lit."""

from sealkit.world import Outline, after_act, authority, contract, never, reading, replace, text

FAMILIES = ("calm", "windy")
WIND = authority("wind", rung="A1", scope="outside", binding=True)


def scenario(family, seed, draws, *, oil=3):
    gust = contract("gust", when=after_act(1), then=[replace("/lamp/lit", False)], tell=never(), authority=WIND)
    return Outline(
        genesis={"lamp": {"lit": False, "oil": oil}, "room": {"name": draws.choice(("hall", "attic"))}},
        briefing="Light the lamp, then say done.",
        contracts=(gust,) if family == "windy" else (),
        footprints={"light": ("/lamp/lit", "/lamp/oil"), "look": (), "done": ()},
        finals=("done",),
        max_acts=4,
    )


def act(state, action):
    lamp = state["lamp"]
    if action.name == "light" and lamp["oil"] > 0:
        return {**state, "lamp": {"lit": True, "oil": lamp["oil"] - 1}}, (text("You light it."),)
    if action.name == "look":
        return state, (reading("/lamp/lit", "Lit: {value}."),)
    return state, (text("Nothing happens."),)
'''

AGENTS = '''\
"""An agent that lights the lamp."""

from sealkit.world import Scripted, action


class Lighter:
    def __init__(self):
        self.plan = ["light", "look", "done"]

    def act(self, view):
        return action(self.plan.pop(0))


AGENTS = {"lighter": Scripted(make=lambda draws: Lighter())}
'''

JUDGE = '''\
"""Whether the lamp was lit at least once."""

MEASURES = ("lit",)


def judge(scenario, episode):
    return {"lit": int(any(act.action.name == "light" and act.delta for act in episode.acts))}
'''

SPEC = "# World `lamp`\n\nFamilies: calm, windy.\n"


def put_world(
    study: Path, *, world: str = WORLD, agents: str = AGENTS, judge: str = JUDGE, spec: str = SPEC, name: str = "lamp"
) -> Path:
    """The world's folder; an empty text leaves that file out."""
    folder = study / "worlds" / name
    folder.mkdir(parents=True, exist_ok=True)
    files = {"world.py": world, "agents.py": agents, "judge.py": judge, "SPEC.md": spec}
    (folder / "__init__.py").write_text("", encoding="utf-8")
    for file, text in files.items():
        if text:
            (folder / file).write_text(text, encoding="utf-8")
    return folder


def edited(text: str, old: str, new: str) -> str:
    """The text with the first `old`, which must be there, replaced."""
    assert old in text
    return text.replace(old, new, 1)


def lamp(study: Path, old: str = "", new: str = "") -> LoadedWorld:
    """The lamp's world, loaded; with one edit of its world.py."""
    put_world(study, world=edited(WORLD, old, new) if old else WORLD)
    return load_world(study, "lamp")
