"""JSON Schemas (draft 2020-12) of the published records, for readers that are not sealkit.

>>> sorted(record_schemas())[:4]
['act', 'assignment', 'call', 'component']
>>> record_schemas()["root"]["$defs"]["Root"]["properties"]["components"]["additionalProperties"]
{'type': 'string', 'pattern': '^sha256:[0-9a-f]{64}$'}

They are made from the types of the records themselves, and say what those leave to equality checks: which texts are
digests, how wide an integer is, what a free value may hold. A schema sees values, not bytes: spelling, duplicate keys
and depth are refused by `wire.canon` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, cast

import msgspec

from sealkit.wire.calls import Call
from sealkit.wire.canon import MAX_INT
from sealkit.wire.chain import Entry
from sealkit.wire.declared import Contract, Scenario
from sealkit.wire.digest import DIGEST_PATTERN
from sealkit.wire.episode import Act, Component, Episode, Head, Judged, Receipt, RestoreReceipt, Root, Start
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.recorded import Assignment, Recorded
from sealkit.wire.records import Json, Record

Schema: TypeAlias = dict[str, Json]

PUBLISHED: Final[tuple[type[Record], ...]] = (
    *(Act, Assignment, Call, Component, Contract, Entry, Episode, Head, JournalHead),
    *(Judged, Receipt, Recorded, RestoreReceipt, Root, Scenario, Start),
)

# The fields that hold a digest, an array of digests, or digests by name. The types call them `str`: a verifier
# compares every one of them with the digest that is due, and a pattern would cost it half a microsecond each.
DIGESTS: Final[dict[str, tuple[str, ...]]] = {
    "Act": ("head", "root", "calls", "prev"),
    "Amended": ("pin",),
    "Analysed": ("results",),
    "Asked": ("pin", "episode"),
    "Attempted": ("pin",),
    "Boundary": ("head",),
    "Call": ("pin", "request", "response"),
    "CallLines": ("digest",),
    "Closing": ("root", "judge", "judged", "record"),
    "ContractRef": ("digest",),
    "Entry": ("prev",),
    "Episode": ("pin", "scenario", "genesis"),
    "EpisodeKept": ("pin", "digest"),
    "FromCommand": ("answer",),
    "FromLog": ("log",),
    "Head": ("prev",),
    "JournalHead": ("digest",),
    "Imported": ("pin", "log"),
    "Judged": ("scenario", "trace", "root"),
    "Opened": ("pin", "sealkit", "environment"),
    "Read": ("pin", "episode"),
    "Receipt": ("episode", "previous"),
    "Recorded": ("pin", "assignment"),
    "RecordedClosing": ("record",),
    "Repaired": ("digest",),
    "RestoreReceipt": ("episode", "previous"),
    "Root": ("components",),
    "Roots": ("before", "after"),
    "Sealed": ("pin",),
    "Sharded": ("seal", "pin"),
    "Shown": ("digest",),
    "Start": ("pin", "scenario", "genesis"),
    "Verified": ("verifiers",),
    "Withheld": ("digest",),
}

_ASCII: Final[Schema] = {"pattern": r"^[\u0000-\u007f]*$"}
_WIDTH: Final[Schema] = {"minimum": -MAX_INT, "maximum": MAX_INT}
_FREE: Final[Schema] = {"$ref": "#/$defs/Json"}
_FREE_VALUE: Final[Schema] = {
    "description": "A free value: no floats, integers up to 2^53-1, ASCII keys.",
    "anyOf": [
        {"type": ["null", "boolean", "string"]},
        {"type": "integer", **_WIDTH},
        {"type": "array", "items": _FREE},
        {"type": "object", "propertyNames": _ASCII, "additionalProperties": _FREE},
    ],
}


def record_schemas() -> dict[str, Schema]:
    """The schema of every published record, by the kind in its `type`: `sealkit/<kind>/v1`."""
    return {kind_of(record): record_schema(record) for record in PUBLISHED}


def kind_of(record: type[Record]) -> str:
    """The kind that a record's `type` names."""
    return str(record.__struct_config__.tag).split("/")[1]


def record_schema(record: type[Record], *, digests: Mapping[str, tuple[str, ...]] = DIGESTS) -> Schema:
    """The schema of one record, complete in itself; `digests` names the fields of each part that hold digests."""
    (top,), parts = msgspec.json.schema_components([record], ref_template="#/$defs/{name}")
    defs: Schema = {name: _tightened(part, digests.get(name, ())) for name, part in sorted(parts.items())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **cast(Schema, top),
        "$defs": {**defs, "Json": _FREE_VALUE},
    }


def _tightened(part: Schema, digests: tuple[str, ...]) -> Schema:
    properties = cast("dict[str, Schema]", part["properties"])
    closed = {name: _digest(field) if name in digests else _closed(field) for name, field in properties.items()}
    return {**part, "properties": cast(Schema, closed)}


def _digest(field: Schema) -> Schema:
    """`field` with every text in it a digest."""
    tight = _closed(field)
    if tight == {"type": "string"}:
        return {"type": "string", "pattern": DIGEST_PATTERN}
    for inner in ("items", "additionalProperties"):
        if inner in tight:
            return {**tight, inner: _digest(cast(Schema, tight[inner]))}
    options = cast("list[Schema]", tight.get("anyOf", []))
    return {**tight, "anyOf": [_digest(option) for option in options]} if options else tight


def _closed(field: Schema) -> Schema:
    """`field` with what every record keeps: bounded integers, ASCII keys, free values without floats."""
    if not field:
        return _FREE
    closed = {name: value for name, value in field.items() if name != "discriminator"}  # OpenAPI's, not JSON Schema's
    if field.get("type") == "integer":
        return {**_WIDTH, **closed}
    if field.get("type") == "object":
        inner = cast(Schema, field.get("additionalProperties", {}))
        return {**closed, "propertyNames": _ASCII, "additionalProperties": _closed(inner)}
    if "items" in field:
        closed["items"] = _closed(cast(Schema, field["items"]))
    if "anyOf" in field:
        closed["anyOf"] = [_closed(option) for option in cast("list[Schema]", field["anyOf"])]
    return closed
