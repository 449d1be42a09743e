"""Tools of a world: what fits their schemas, and schemas that are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sealkit.wire.errors import HarnessError
from sealkit.wire.records import Json
from sealkit.world.sdk import action
from sealkit.world.tools import Tools, load_tools

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"count": {"type": "integer", "minimum": 1}, "to": {"enum": ["port", "sea"]}},
    "required": ["count"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("args", "fits"),
    [
        ({"count": 1}, True),
        ({"count": 3, "to": "sea"}, True),
        ({}, False),
        ({"count": 0}, False),
        ({"count": True}, False),  # JSON has no number true, though Python takes it for 1
        ({"count": "1"}, False),
        ({"count": 1, "to": "Sea"}, False),
        ({"count": 1, "by": "sail"}, False),
    ],
)
def test_arguments_fit_or_do_not(args: dict[str, Json], fits: bool) -> None:
    assert Tools({"sail": SCHEMA}).fits(action("sail", **args)) is fits


def test_what_is_no_tool_fits_nothing() -> None:
    assert not Tools({"sail": SCHEMA}).fits(action("row", count=1))


def put(folder: Path, text: str | bytes) -> Path:
    (folder / "tools").mkdir()
    (folder / "tools" / "sail.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_a_tool_is_called_as_its_file_is(tmp_path: Path) -> None:
    tools = load_tools(put(tmp_path, json.dumps(SCHEMA)))
    assert tools.schemas == {"sail": SCHEMA}
    assert tools.fits(action("sail", count=2))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "this is no JSON Schema of records: Expecting property name"),
        (b"\xff", "the text is not UTF-8"),
        ('{"type": "objekt"}', "this is no JSON Schema of records: 'objekt' is not valid"),
        ('{"type": "object", "maxProperties": 1.5}', "this is no JSON Schema of records"),
        ('{"type": "array"}', 'found no schema of an object, due "type": "object"'),
        ("true", "found no schema of an object"),
        ('{"type": "object", "properties": {"to": {"$ref": "sea.json"}}}', "stands alone, and this one has a $ref"),
    ],
)
def test_a_schema_that_is_off_is_named(text: str | bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as refused:
        load_tools(put(tmp_path, text))
    assert says in str(refused.value)
    assert "sail.json" in str(refused.value)


def test_a_folder_without_tools_is_told_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match=r"there is no tool; write a schema NAME\.json for each"):
        load_tools(tmp_path)


def test_a_link_is_no_schema(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "secret.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "tools" / "sail.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(Exception, match="found a link"):
        load_tools(tmp_path)
