"""docs/rules-and-methods.md lists what rules may read and what methods, metrics and effects take, as the code has it.

python -m tests.plan.test_rules_and_methods      prints the tables that are due
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest

from sealkit.plan import analysis
from sealkit.plan.fields import FIELDS, MEANINGS, METHODS
from sealkit.plan.parts import Part
from tests.studies import ROOT

DOC = ROOT / "docs" / "rules-and-methods.md"


def ticked(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def kinds_of(part: type[Part]) -> tuple[str, ...]:
    hint = get_type_hints(part)["kind"]
    assert get_origin(hint) is Literal
    return tuple(get_args(hint))


def keys_of(part: type[Part]) -> str:
    fields = [field for field in msgspec.structs.fields(part) if field.name != "kind"]
    optional = tuple(field.name for field in fields if not field.required)
    due = ticked(tuple(field.name for field in fields if field.required))
    return f"{due}; if you like, {ticked(optional)}" if optional else due


def says(part: type[Part]) -> str:
    return " ".join((part.__doc__ or "").split("\n\n")[0].split())


def parts_of(union: object) -> tuple[type[Part], ...]:
    return tuple(get_args(get_args(union)[0]))


def tables() -> Iterator[tuple[str, list[str]]]:
    yield "fields", [f"| {form} | {scale} | {ticked(names)} |" for (form, scale), names in FIELDS.items()]
    yield "meanings", [f"| `{name}` | {meaning} |" for name, meaning in MEANINGS.items()]
    keys = {kind: keys_of(part) for part in parts_of(analysis.Method) for kind in kinds_of(part)}
    assert keys.keys() == METHODS.keys()
    yield (
        "methods",
        [
            f"| `{kind}` | {keys[kind]} | {', '.join(forms)} | {', '.join(scales)} |"
            for kind, (forms, scales) in METHODS.items()
        ],
    )
    for name, union in (
        ("metrics", analysis.Metric), ("repetitions", analysis.Repetitions), ("multiplicity", analysis.Multiplicity)
    ):  # fmt: skip
        yield name, [f"| {ticked(kinds_of(part))} | {keys_of(part)} | {says(part)} |" for part in parts_of(union)]
    yield "effects", [f"| {keys_of(part)} | {says(part)} |" for part in parts_of(analysis.Effect)]
    yield "tests", [f"| `{test}` |" for test in get_args(analysis.Test)]


@pytest.mark.parametrize(("name", "due"), list(tables()))
def test_the_page_has_what_the_code_has(name: str, due: list[str]) -> None:
    _, _, after = DOC.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    table = after.rstrip().partition("\n\n")[0].splitlines()
    assert table[2:] == due, f"write under <!-- {name} -->:\n" + "\n".join(due)


if __name__ == "__main__":
    for name, rows in tables():
        print(f"<!-- {name} -->", *rows, sep="\n")
