"""The words that plan parts are made of: names, texts, levels, exact numbers.

A key that chooses something is required, or takes an explicit `null`. A key may be left out only where that says that
there is no such thing (no cluster, no margin, no observer): then nothing is chosen for the author.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Final, Literal, TypeAlias

from sealkit.plan.forms import Custom, ExactForm, Misfit, TextForm, Whole, found
from sealkit.plan.parts import ByShape, Limits
from sealkit.plan.scalars import Range
from sealkit.plan.yaml import Tree
from sealkit.wire.records import Json, Level

MOST_LEVELS: Final = 100_000


def _level(tree: Tree) -> Level | Misfit:
    if isinstance(tree, int) and not isinstance(tree, bool):
        return tree
    if isinstance(tree, str) and tree.strip() == tree and 0 < len(tree) <= 100 and "\n" not in tree:
        return tree
    return Misfit(f"found {found(tree)}, due a label or a whole number", "write labels of 1 to 100 characters")


def _levels(tree: Tree) -> tuple[Level, ...] | Misfit:
    """The levels listed, with each range written out."""
    items = (tree,) if isinstance(tree, Range) else tree
    if not isinstance(items, tuple):
        return Misfit(f"found {found(tree)}, due a list of levels", "write [a, b] or 0..9")
    if not items:
        return Misfit("an empty list of levels", "name at least one")
    if sum(item.high - item.low + 1 if isinstance(item, Range) else 1 for item in items) > MOST_LEVELS:
        return Misfit(f"more than {MOST_LEVELS} levels", "a smaller range")
    levels: list[Level] = []
    for item in items:
        if isinstance(item, Range):
            levels += range(item.low, item.high + 1)
            continue
        level = _level(item)
        if isinstance(level, Misfit):
            return level
        levels.append(level)
    return tuple(levels)


def _json(tree: Tree) -> Json | Misfit:
    """The value as records hold it: whole numbers and text, no decimals."""
    if tree is None or isinstance(tree, bool | int | str):
        return tree
    if isinstance(tree, tuple):
        items: list[Json] = []
        for item in tree:
            value = _json(item)
            if isinstance(value, Misfit):
                return value
            items.append(value)
        return items
    if isinstance(tree, dict):
        entries: dict[str, Json] = {}
        for key, item in tree.items():
            value = _json(item) if key.isascii() else Misfit(f"the key {found(key)} is not ASCII", "rename it")
            if isinstance(value, Misfit):
                return value
            entries[key] = value
        return entries
    return Misfit(f"found {found(tree)}, and parameters hold whole numbers and text", "write it in a smaller unit")


_LEVEL = Custom(_level, lambda: {"type": ["string", "integer"]})
_LEVELS = Custom(
    _levels,
    lambda: {
        "anyOf": [
            {"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 1},
            {"type": "string", "pattern": r"^[0-9]+\.\.[0-9]+$"},
        ]
    },
)
_JSON = Custom(_json, lambda: {})
_NAME = TextForm(r"[A-Za-z][A-Za-z0-9_-]{0,63}", "a name of letters, digits, _ and -")
_WORD = TextForm(r"[A-Za-z_][A-Za-z0-9_]{0,63}", "a word of letters, digits and _")
_PATH = TextForm(r"(?!(?:.*/)?\.\.?(?:/|\Z))[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*", "a path inside the study folder")

# A name of something in the study: an arm, a hypothesis, a claim.
Name = Annotated[str, _NAME]
# A name that rules, records or functions use as an identifier: a factor, metric, effect, population.
Word = Annotated[str, _WORD]
Text = Annotated[str, TextForm(r".*\S.*", "some text")]
RelativePath = Annotated[str, _PATH]
Count = Annotated[int, Whole()]
Positive = Annotated[int, Whole(1)]
Exact = Annotated[Decimal, ExactForm()]
Share = Annotated[Decimal, ExactForm(0, 1)]
Inside = Annotated[Decimal, ExactForm(0, 1, open_ends=True)]
Above = Annotated[Decimal, ExactForm(0, open_ends=True)]
OneLevel = Annotated[Level, _LEVEL]
Levels = Annotated[tuple[Level, ...], _LEVELS]
# `all`, or the levels meant.
Pick = Annotated[Literal["all"] | tuple[Level, ...], ByShape(Levels, word=Literal["all"])]
Parameters = Mapping[Word, Annotated[Json, _JSON]]
Selection: TypeAlias = Mapping[Word, Pick]
Words = Annotated[tuple[Word, ...], Limits(1, "the name")]
