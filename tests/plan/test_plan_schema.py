"""The parts of a plan, and the JSON Schema that is published of them."""

from __future__ import annotations

import json
from decimal import Decimal

import jsonschema
import msgspec
import pytest

from sealkit.plan.fields import FIELDS, MEANINGS, METHODS
from sealkit.plan.parts import Part
from sealkit.plan.ruling import GATE_MEANINGS, GATES
from sealkit.plan.scalars import Range
from sealkit.plan.schema import plan_schema
from sealkit.plan.yaml import Tree
from tests.plan.trees import FILES, changed, tree_of, without

SCHEMA = plan_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def plain(tree: Tree) -> object:
    """`tree` as a common YAML reader gives it."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return [plain(item) for item in tree]
    return float(tree) if isinstance(tree, Decimal) else str(tree) if isinstance(tree, Range) else tree


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    json.dumps(SCHEMA)


@pytest.mark.parametrize("name", FILES)
def test_every_plan_follows_the_published_schema(name: str) -> None:
    VALIDATOR.validate(plain(tree_of(name)))


@pytest.mark.parametrize(
    "tree",
    [
        without(tree_of("v1"), ("sample", "pilot")),
        changed(tree_of("v1"), ("sample", "attempts"), {"max": 0, "retry_on": ()}),
        changed(tree_of("v1"), ("methods", "rate"), {"kind": "wald", "level": Decimal("0.95")}),
        changed(tree_of("v1"), ("methods", "rate"), {"kind": "wilson", "level": Decimal(1)}),
        changed(tree_of("v1"), ("effects", "dc"), {}),
        changed(tree_of("v1"), ("judge",), "..", key="jugde"),
        changed(tree_of("v1"), ("factors", "seed"), "all of them"),
        changed(tree_of("v1"), ("title",), 3),
    ],
)
def test_the_published_schema_refuses_what_it_can_see(tree: Tree) -> None:
    assert not VALIDATOR.is_valid(plain(tree))


def parts() -> list[type[Part]]:
    found = [Part]
    for part in found:
        found += part.__subclasses__()
    return [part for part in found if part.__module__.startswith("sealkit.")]


def test_no_key_has_a_default_that_chooses() -> None:
    """A key that may be left out stands for nothing, or for false, when it is."""
    assert len(parts()) > 40
    optional = {
        f"{part.__name__}.{field.name}"
        for part in parts()
        for field in msgspec.structs.fields(part)
        if not field.required and field.default not in (None, False)
    }
    assert optional == {"Factors.further"}


def test_every_field_and_gate_has_a_meaning_and_every_method_a_use() -> None:
    named = {name for names in FIELDS.values() for name in names} | {"margin", "p_adjusted"}
    assert named == set(MEANINGS)
    assert set(GATE_MEANINGS) == set(GATES)
    assert len(GATES) == 8
    kinds = {kind for form in [SCHEMA["properties"]["methods"]["additionalProperties"]] for kind in kinds_of(form)}  # type: ignore[index, call-overload]
    assert kinds == set(METHODS)


def kinds_of(form: dict[str, list[dict[str, dict[str, dict[str, list[str]]]]]]) -> list[str]:
    return [kind for each in form["oneOf"] for kind in each["properties"]["kind"]["enum"]]
