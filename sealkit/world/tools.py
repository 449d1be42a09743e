"""Tools of a world: each action's arguments as a JSON Schema, published beside the world and checked by `jsonschema`.

    worlds/underwriting/tools/case.read.json      one schema a tool, named like its action

    TOOLS = load_tools(Path(__file__).parent)
    TOOLS.fits(action("case.read"))               True: the action is known and its arguments are valid

The schemas are JSON Schema 2020-12 and stand alone (no `$ref`), so that they can be handed to a model or to another
program as they are. Only yes or no is kept of an answer: the words of `jsonschema` differ between its versions, and an
episode must be the same bytes under each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sealkit.wire.canon import encode_value
from sealkit.wire.episode import Action
from sealkit.wire.errors import HarnessError, MalformedError
from sealkit.wire.records import Json
from sealkit.world.loader import read_text

if TYPE_CHECKING:
    from jsonschema.protocols import Validator  # type: ignore[import-untyped]

FOLDER = "tools"
_reference = re.compile(r'"\$(?:ref|dynamicRef)"\s*:')


class Tools:
    """The tools of one world: `schemas` has the JSON Schema of each one's arguments, by name."""

    def __init__(self, schemas: Mapping[str, Mapping[str, Json]]) -> None:
        self.schemas = schemas

    def fits(self, action: Action) -> bool:
        """Whether there is such a tool and the arguments are valid under its schema."""
        validator = self._validators.get(action.name)
        return validator is not None and bool(validator.is_valid(action.args))

    @cached_property
    def _validators(self) -> Mapping[str, Validator]:
        import jsonschema  # type: ignore[import-untyped] # late: it takes as long as all else that a world needs

        return {name: jsonschema.Draft202012Validator(dict(schema)) for name, schema in self.schemas.items()}


def load_tools(folder: Path) -> Tools:
    """The tools whose schemas stand in `folder/tools`, one `NAME.json` each; `HarnessError` names one that is off."""
    files = sorted((folder / FOLDER).glob("*.json"))
    if not files:
        raise HarnessError("there is no tool", where=str(folder / FOLDER), remedy="write a schema NAME.json for each")
    return Tools({file.name.removesuffix(".json"): _schema(folder, file) for file in files})


def _schema(folder: Path, file: Path) -> Mapping[str, Json]:
    import json

    import jsonschema

    text = read_text(folder, f"{FOLDER}/{file.name}")
    if _reference.search(text):
        raise HarnessError("a tool's schema stands alone, and this one has a $ref", where=str(file), remedy="inline it")
    try:
        schema = json.loads(text)
        encode_value(schema)
        jsonschema.Draft202012Validator.check_schema(schema)
    except (ValueError, MalformedError, jsonschema.SchemaError) as error:
        reason = str(error).partition("\n")[0]
        raise HarnessError(f"this is no JSON Schema of records: {reason}", where=str(file)) from error
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise HarnessError('found no schema of an object, due "type": "object"', where=str(file))
    return cast(Mapping[str, Json], schema)
