"""How a mapping of a plan file becomes a frozen record, whose annotations say what each key holds.

>>> class Attempts(Part):
...     max: Annotated[int, Whole(1)]
...     retry_on: tuple[Literal["provider_error", "harness_error"], ...]
>>> read_part(Attempts, {"max": 2, "retry_on": ("harness_error",)}, problems := [])
Attempts(max=2, retry_on=('harness_error',))
>>> read_part(Attempts, {"max": 0, "retries": ()}, problems)
>>> [(problem.path, problem.what, problem.remedy) for problem in problems]  # doctest: +NORMALIZE_WHITESPACE
[(('retries',), 'no key retries belongs here', 'did you mean retry_on?'),
 (('max',), 'found 0, due a whole number from 1 on', 'see `sealkit schema plan`')]

Nothing is filled in: a key without a default must be there, another key may not. Why not pydantic: to import it and
build these records takes ten times as long as to start Python, at every command (docs/decisions/0006). For the
same reason no module of parts has `from __future__ import annotations`: to evaluate them all from text takes longer.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, dataclass_transform, get_args, get_origin

import msgspec

from sealkit.plan.forms import (
    UNREAD,
    Flag,
    Form,
    Listed,
    Mapped,
    Nullable,
    OneOf,
    Place,
    Schema,
    Whole,
    either,
    refused,
)
from sealkit.plan.problems import Problem, cut
from sealkit.plan.yaml import Tree
from sealkit.wire.records import Json

P = TypeVar("P", bound="Part")
__all__ = ["ByKey", "ByKind", "ByShape", "Limits", "Part", "Whole", "form_of", "read_part"]


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every part of a plan: frozen. A subclass may `check` what no single key can show.

    `rest` names the field that takes all keys that are no field; without it such keys are refused.
    """

    rest: ClassVar[str] = ""

    def check(self) -> Iterator[tuple[str, str, str]]:
        """(key, what, remedy) for everything that is wrong between the keys; the empty key means the whole."""
        return iter(())


def read_part(kind: type[P], tree: Tree, problems: list[Problem]) -> P | None:
    """The `kind` that `tree` spells, or null with every problem noted."""
    before = len(problems)
    part = form_of(kind).read(tree, Place((), problems))
    return cast(P, part) if len(problems) == before else None


class Limits(msgspec.Struct, frozen=True):
    """Narrows the list or mapping before it in an annotation."""

    least: int = 0
    distinct: str = ""


# --- records


class Keys(msgspec.Struct, frozen=True):
    """A mapping with the keys of a `Part`."""

    kind: type[Part]

    def read(self, tree: Tree, place: Place) -> object:
        """The part."""
        if not isinstance(tree, dict):
            return refused(tree, "a mapping", place)
        rest = self.kind.rest
        forms = {key: form for key, form in _fields(self.kind).items() if key != rest}
        values: dict[str, object] = {}
        if rest:
            values[rest] = _fields(self.kind)[rest][0].read({k: v for k, v in tree.items() if k not in forms}, place)
        missing = [key for key, (_, required) in forms.items() if required and key not in tree]
        unknown = [key for key in tree if key not in forms and not rest]
        left = [key for key in forms if key not in tree]
        meant = {key: nearest(key, missing) or nearest(key, left, 0.6) for key in unknown}
        for key in unknown:
            remedy = f"did you mean {meant[key]}?" if meant[key] else _anywhere(key)
            place.at(key).refuse(f"no key {cut(key)} belongs here", remedy, at_key=True)
        for key in missing:
            if key not in meant.values():
                place.at(key).refuse(f"the key {key} is missing", "write it: no key has a default")
        values |= {key: forms[key][0].read(value, place.at(key)) for key, value in tree.items() if key in forms}
        if missing or unknown or UNREAD in values.values():
            return UNREAD
        part = self.kind(**cast(dict[str, Any], values))
        wrong = list(part.check())
        for key, what, remedy in wrong:
            (place.at(key) if key else place).refuse(what, remedy)
        return UNREAD if wrong else part

    def schema(self) -> Schema:
        """An object with these keys."""
        forms = dict(_fields(self.kind))
        others: Json = False
        if self.kind.rest:
            others = cast(Mapped, forms.pop(self.kind.rest)[0]).form_schema()
        properties: Json = {key: form.schema() for key, (form, _) in forms.items()}
        required: Json = [key for key, (_, is_required) in forms.items() if is_required]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": others}


@lru_cache(maxsize=256)
def _fields(kind: type[Part]) -> Mapping[str, tuple[Form, bool]]:
    """The form of each key of `kind`, and whether it must be there."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: (form_of(hints[field.name]), field.required) for field in msgspec.structs.fields(kind)}


def nearest(key: str, names: list[str], likeness: float = 0.5) -> str:
    """The one of `names` that is spelled most like `key`; empty if none is."""
    import difflib

    return next(iter(difflib.get_close_matches(key, names, 1, likeness)), "")


def _misspelled(tree: Mapping[str, Tree], keys: list[str]) -> str:
    """A remedy for a mapping that has none of `keys`, if one of its own is spelled much like one of them."""
    meant = ((key, nearest(key, keys, 0.75)) for key in tree)
    return next((f"it has {cut(key)}: did you mean {near}?" for key, near in meant if near), "")


def _anywhere(key: str) -> str:
    """A remedy for an unknown key: the key of any part that is spelled much like it."""
    parts, keys = list(Part.__subclasses__()), set[str]()
    while parts:
        part = parts.pop()
        parts += part.__subclasses__()
        keys |= set(part.__struct_fields__)
    near = nearest(key, sorted(keys), 0.8)
    return f"did you mean {near}?" if near else "drop it, or see `sealkit schema plan`"


# --- choices between forms


class ByKind(msgspec.Struct, frozen=True, eq=False):  # hashed by identity: it stands in annotations
    """Several parts, told apart by the word at one key, `kind` if not said otherwise."""

    key: str = "kind"
    forms: Mapping[str, Form] = msgspec.field(default_factory=dict)

    def read(self, tree: Tree, place: Place) -> object:
        """The part of that kind."""
        if not isinstance(tree, dict):
            return refused(tree, "a mapping", place)
        if self.key not in tree:
            meant = _misspelled(tree, [self.key])
            remedy = f"it says which: {either(tuple(self.forms))}"
            return place.refuse(f"the key {self.key} is missing", f"{meant}; {remedy}" if meant else remedy)
        kind = tree[self.key]
        if not isinstance(kind, str) or kind not in self.forms:
            return refused(kind, either(tuple(self.forms)), place.at(self.key))
        return self.forms[kind].read(tree, place)

    def schema(self) -> Schema:
        """One of them."""
        return {"oneOf": [form.schema() for form in dict.fromkeys(self.forms.values())]}


class ByKey(msgspec.Struct, frozen=True, eq=False):  # hashed by identity: it stands in annotations
    """Several forms of `what`, told apart by the first of these keys that is there; or else the form for ""."""

    what: str
    types: Mapping[str, object]

    def read(self, tree: Tree, place: Place) -> object:
        """The value in that form."""
        if not isinstance(tree, dict):
            return refused(tree, "a mapping", place)
        key = next((key for key in self.types if key in tree or not key), None)
        if key is None:
            keys = ", ".join(self.types)
            remedy = _misspelled(tree, list(self.types)) or "add one of them"
            return place.refuse(f"{self.what} has one of the keys {keys}, and this has none", remedy)
        return form_of(self.types[key]).read(tree, place)

    def schema(self) -> Schema:
        """One of them."""
        return {"anyOf": [form_of(each).schema() for each in self.types.values()]}


class ByShape(msgspec.Struct, frozen=True):
    """A value in one form if it is a word, in another if it is a mapping, else in `other`; each where it is said."""

    other: object
    word: object = None
    mapping: object = None

    def read(self, tree: Tree, place: Place) -> object:
        """The value in the form for its shape."""
        shaped = self.word if isinstance(tree, str) else self.mapping if isinstance(tree, dict) else None
        return form_of(shaped or self.other).read(tree, place)

    def schema(self) -> Schema:
        """Any of them."""
        return {"anyOf": [form_of(each).schema() for each in (self.word, self.mapping, self.other) if each]}


# --- from annotations to forms


def form_of(annotation: object) -> Form:
    """The form that an annotation stands for; `TypeError` if it stands for none, a mistake of this code."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _annotated(*get_args(annotation))
    if origin is Literal:
        return OneOf(get_args(annotation))
    if origin in (typing.Union, types.UnionType):
        rest = [each for each in get_args(annotation) if each is not types.NoneType]
        if len(rest) == 1:
            return Nullable(form_of(rest[0]))
    if origin is tuple and get_args(annotation)[1:] == (...,):
        return Listed(form_of(get_args(annotation)[0]))
    if origin is Mapping:
        key, value = get_args(annotation)
        return Mapped(form_of(key), form_of(value))
    if annotation is bool:
        return Flag()
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return Keys(annotation)
    raise TypeError(f"no form for {annotation}")


def _annotated(base: object, *marks: Any) -> Form:
    first, *rest = marks
    if isinstance(first, ByKind):
        kinds = {word: Keys(kind) for kind in get_args(base) for word in _kinds(kind, first.key)}
        form: Form = msgspec.structs.replace(first, forms=kinds)
    elif isinstance(first, Limits):
        form, rest = form_of(base), [first, *rest]
    else:
        form = first
    for limits in rest:
        form = _limited(form, limits)
    return form


def _limited(form: Form, limits: Limits) -> Form:
    if isinstance(form, Listed):
        return msgspec.structs.replace(form, least=limits.least, distinct=limits.distinct)
    if isinstance(form, Mapped):
        return msgspec.structs.replace(form, least=limits.least)
    raise TypeError(f"{limits} cannot narrow {form}")


def _kinds(kind: type[Part], key: str) -> tuple[str, ...]:
    return cast(tuple[str, ...], get_args(typing.get_type_hints(kind)[key]))
