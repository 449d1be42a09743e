"""What a world's `words.py` must hold, and what it is told if it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sealkit.agents.arms.wording import open_wording
from sealkit.wire.errors import HarnessError, UsageError
from sealkit.world.loader import load_world
from tests.world.makeshift import put_world

WORDS = """
ACTIONS = {"look": None, "light": "with"}
OBSERVING = ("look",)

def observe(briefing, text):
    return ()

def spell(subject, value):
    return subject, value
"""
SCHEMAS = 'ACTIONS = {"look": {"type": "object"}, "light": {"type": "object"}}'


def put(tmp_path: Path, words: str) -> None:
    put_world(tmp_path)
    (tmp_path / "worlds" / "lamp" / "words.py").write_text(words, encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "argument"),
    [(WORDS, "argument"), (WORDS.replace('ACTIONS = {"look": None, "light": "with"}', SCHEMAS), "arguments")],
)
def test_actions_take_a_text_or_an_object(words: str, argument: str, tmp_path: Path) -> None:
    put(tmp_path, words)
    assert open_wording(load_world(tmp_path, "lamp")).argument == argument


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (WORDS.replace("def spell", "def spelling"), "declares no spell"),
        (WORDS.replace('("look",)', '("stare",)'), "OBSERVING names what is none of ACTIONS"),
        (WORDS.replace('"light": "with"', '"light": {"type": "object"}'), "gives some a schema and others none"),
        (WORDS.replace('{"look": None, "light": "with"}', "{}"), "ACTIONS names no action"),
    ],
)
def test_words_that_lack_something_are_told_what(words: str, says: str, tmp_path: Path) -> None:
    put(tmp_path, words)
    with pytest.raises(HarnessError, match=says):
        open_wording(load_world(tmp_path, "lamp"))


def test_a_world_without_words_cannot_speak_with_a_model(tmp_path: Path) -> None:
    put_world(tmp_path)
    with pytest.raises(UsageError, match="the world has no words for a model"):
        open_wording(load_world(tmp_path, "lamp"))
