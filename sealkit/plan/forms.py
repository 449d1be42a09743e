"""How one value of a plan file is read: text, numbers, words, lists, mappings, each with what is due in its place.

>>> Whole(1).read(0, Place(("sample", "attempts"), problems := []))
UNREAD
>>> [(problem.path, problem.what) for problem in problems]
[(('sample', 'attempts'), 'found 0, due a whole number from 1 on')]

A form takes a tree as the YAML reader made it. It converts nothing: a quoted number is text. What it refuses is noted
with its place, and reading goes on, so that one look at a file finds everything that is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, Protocol, TypeAlias, cast

import msgspec

from sealkit.plan.problems import KeyPath, Problem, cut
from sealkit.plan.scalars import MAX_INT
from sealkit.plan.yaml import Tree
from sealkit.wire.records import Json

Schema: TypeAlias = dict[str, Json]


class Unread:
    """Stands for a value that was refused."""

    def __repr__(self) -> str:
        return "UNREAD"


UNREAD: Final = Unread()


class Place(msgspec.Struct, frozen=True):
    """Where reading stands, and the problems found so far."""

    path: KeyPath
    problems: list[Problem]

    def at(self, step: str | int) -> Place:
        """The place one step further in."""
        return Place((*self.path, step), self.problems)

    def refuse(self, what: str, remedy: str, *, at_key: bool = False) -> Unread:
        """Note a problem here; reading goes on, to find the others."""
        self.problems.append(Problem(self.path, what, remedy, at_key))
        return UNREAD


class Form(Protocol):
    """One way to read a value, and its JSON Schema for editors."""

    def read(self, tree: Tree, place: Place) -> object:
        """The value that `tree` spells, or `UNREAD` with a problem noted."""

    def schema(self) -> Schema:
        """What JSON Schema can say of it."""


def found(value: object) -> str:
    """`value` as messages show it: its YAML spelling, cut, or its shape."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return ascii(cut(value)) if isinstance(value, str) else str(value)


def refused(tree: Tree, due: str, place: Place) -> Unread:
    """Note that `tree` stands where `due` is due."""
    quoted = isinstance(tree, str) and re.fullmatch(r"-?[0-9.]+", tree) is not None and "number" in due
    remedy = "write it without quotes" if quoted else "see `sealkit schema plan`"
    return place.refuse(f"found {found(tree)}, due {due}", remedy)


# --- scalars


class TextForm(msgspec.Struct, frozen=True):
    """Text that matches `pattern` whole; `due` says what that is."""

    pattern: str
    due: str = "text"
    most: int = 10_000

    def read(self, tree: Tree, place: Place) -> object:
        """The text itself."""
        if not isinstance(tree, str):
            what = f"found {found(tree)}, due text"
            plain = tree is not None and not isinstance(tree, Mapping | tuple)
            return place.refuse(what, f'write "{found(tree)}" if that is the text' if plain else "write some text")
        if len(tree) > self.most or re.fullmatch(self.pattern, tree, re.DOTALL) is None:
            return refused(tree, self.due, place)
        return tree

    def schema(self) -> Schema:
        """A string."""
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "maxLength": self.most}


class Whole(msgspec.Struct, frozen=True):
    """A whole number from `low` to `high`."""

    low: int = 0
    high: int = MAX_INT

    def read(self, tree: Tree, place: Place) -> object:
        """The number itself."""
        if not isinstance(tree, int) or isinstance(tree, bool) or not self.low <= tree <= self.high:
            end = "on" if self.high == MAX_INT else f"to {self.high}"
            return refused(tree, f"a whole number from {self.low} {end}", place)
        return tree

    def schema(self) -> Schema:
        """An integer."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


class ExactForm(msgspec.Struct, frozen=True):
    """A decimal or whole number, exact; `open_ends` leaves `low` and `high` themselves out."""

    low: int | None = None
    high: int | None = None
    open_ends: bool = False

    def read(self, tree: Tree, place: Place) -> object:
        """The number as a decimal."""
        if not isinstance(tree, int | Decimal) or isinstance(tree, bool):
            return refused(tree, f"a number{self._bounds()}", place)
        value = Decimal(tree)
        beyond = (self.low is not None and value < self.low) or (self.high is not None and value > self.high)
        if beyond or (self.open_ends and value in (self.low, self.high)):
            return refused(tree, f"a number{self._bounds()}", place)
        return value

    def _bounds(self) -> str:
        low, high = ("above", "below") if self.open_ends else ("from", "to")
        ends = ((low, self.low), (high, self.high))
        parts = [f"{word} {end}" for word, end in ends if end is not None]
        return " " + " and ".join(parts) if parts else ""

    def schema(self) -> Schema:
        """A number."""
        least, most = ("exclusiveMinimum", "exclusiveMaximum") if self.open_ends else ("minimum", "maximum")
        ends: Schema = {name: end for name, end in ((least, self.low), (most, self.high)) if end is not None}
        return {"type": "number", **ends}


class OneOf(msgspec.Struct, frozen=True):
    """One of a few words or numbers."""

    words: tuple[str | int, ...]

    def read(self, tree: Tree, place: Place) -> object:
        """The word itself."""
        if not isinstance(tree, str | int) or isinstance(tree, bool) or tree not in self.words:
            return refused(tree, either(self.words), place)
        return tree

    def schema(self) -> Schema:
        """An enumeration."""
        return {"enum": list(self.words)}


def either(words: tuple[str | int, ...]) -> str:
    """`words` as a choice: `a, b or c`."""
    return ", ".join(str(word) for word in words[:-1]) + (" or " if words[1:] else "") + str(words[-1])


class Flag(msgspec.Struct, frozen=True):
    """`true` or `false`."""

    def read(self, tree: Tree, place: Place) -> object:
        """The truth value itself."""
        return tree if isinstance(tree, bool) else refused(tree, "true or false", place)

    def schema(self) -> Schema:
        """A boolean."""
        return {"type": "boolean"}


class Custom(msgspec.Struct, frozen=True):
    """A value read by a function, which gives the value or a pair (what, remedy) in a `Misfit`."""

    function: Callable[[Tree], object]
    described: Callable[[], Schema]

    def read(self, tree: Tree, place: Place) -> object:
        """What the function gives."""
        value = self.function(tree)
        return place.refuse(value.what, value.remedy) if isinstance(value, Misfit) else value

    def schema(self) -> Schema:
        """As described."""
        return self.described()


class Misfit(msgspec.Struct, frozen=True):
    """Why a value was not read."""

    what: str
    remedy: str


class Nullable(msgspec.Struct, frozen=True):
    """Null, or a value of another form."""

    form: Form

    def read(self, tree: Tree, place: Place) -> object:
        """Null or the value."""
        return None if tree is None else self.form.read(tree, place)

    def schema(self) -> Schema:
        """Null, or the other."""
        return {"anyOf": [self.form.schema(), {"type": "null"}]}


# --- lists and mappings


class Listed(msgspec.Struct, frozen=True):
    """A list of at least `least` items; `distinct` names what may not stand twice."""

    form: Form | None = None
    least: int = 0
    distinct: str = ""

    def read(self, tree: Tree, place: Place) -> object:
        """A tuple of the items."""
        if not isinstance(tree, tuple):
            return refused(tree, "a list", place)
        if len(tree) < self.least:
            return place.refuse(f"a list of {len(tree)}, due at least {self.least}", "name them")
        words = [item for item in tree if isinstance(item, str)] if self.distinct else []
        if len(set(words)) < len(words):
            again = next(word for index, word in enumerate(words) if word in words[:index])
            return place.refuse(f"{self.distinct} {found(again)} stands twice", "keep one")
        form = cast(Form, self.form)
        items = tuple(form.read(item, place.at(index)) for index, item in enumerate(tree))
        return UNREAD if UNREAD in items else items

    def schema(self) -> Schema:
        """An array."""
        return {"type": "array", "items": cast(Form, self.form).schema(), "minItems": self.least}


class Mapped(msgspec.Struct, frozen=True):
    """A mapping of at least `least` names to values."""

    key: Form | None = None
    form: Form | None = None
    least: int = 0

    def read(self, tree: Tree, place: Place) -> object:
        """A dictionary in the order of the file."""
        if not isinstance(tree, dict):
            return refused(tree, "a mapping", place)
        if len(tree) < self.least:
            return place.refuse(f"a mapping of {len(tree)}, due at least {self.least}", "name them")
        key_form, form = cast(Form, self.key), cast(Form, self.form)
        entries: dict[str, object] = {}
        for key, value in tree.items():
            scratch: list[Problem] = []
            if isinstance(key_form.read(key, Place((), scratch)), Unread):
                due = scratch[0].what.partition(", due ")[2]
                place.at(key).refuse(f"the name {found(key)} does not fit", f"use {due}", at_key=True)
            entries[key] = form.read(value, place.at(key))
        return UNREAD if UNREAD in entries.values() else entries

    def schema(self) -> Schema:
        """An object with free keys."""
        names, values = cast(Form, self.key).schema(), self.form_schema()
        return {"type": "object", "propertyNames": names, "additionalProperties": values, "minProperties": self.least}

    def form_schema(self) -> Schema:
        """What a value has to be."""
        return cast(Form, self.form).schema()
