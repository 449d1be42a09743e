"""What every record is made of, as typed, frozen, canonical JSON; patches, which most of them hold.

The records themselves: `wire.declared` has what a scenario declares, `wire.episode` what an episode leaves,
`wire.events` and `wire.chain` what a journal holds.

A record is one line of canonical JSON (`wire.canon`) that carries `type: sealkit/<kind>/v1`. Decoding
checks every field, refuses unknown ones, re-encodes and compares bytes, so a line has one spelling:

>>> from sealkit.wire.canon import decode_record, encode_record
>>> from sealkit.wire.episode import Component
>>> line = encode_record(Component(name="doors", value={"d0": "open"}))
>>> line
b'{"name":"doors","type":"sealkit/component/v1","value":{"d0":"open"}}'
>>> decode_record(line, Component).value
{'d0': 'open'}

How the kinds hang together (→ reads "is committed to by"):

    component → root → act.root, receipt.roots         scenario → start → act 0 .prev
    (n, action, delta, prev) → head → receipt.boundary          act n → act n+1 .prev
    receipt → next receipt .previous                   all of it → episode.closing.record

Refused: unknown or missing fields, floats, integers beyond 2^53-1, keys outside ASCII, duplicate keys,
another spelling of the same value, nesting beyond 64, lines beyond 4 MiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | str | list["Json"] | dict[str, "Json"] | None
else:
    # msgspec cannot build a recursive alias; `canon` walks such values itself.
    Json = Any

Scalar: TypeAlias = bool | int | str | None
Level: TypeAlias = int | str
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every record: frozen, and closed against unknown fields."""


# --- patches -------------------------------------------------------------------------------------


class Add(Record, frozen=True, tag_field="op", tag="add"):
    """RFC 6902 `add`: a new member, or an insertion into an array (`-` appends)."""

    path: str
    value: Json


class Replace(Record, frozen=True, tag_field="op", tag="replace"):
    """RFC 6902 `replace`: the target must exist."""

    path: str
    value: Json


class Remove(Record, frozen=True, tag_field="op", tag="remove"):
    """RFC 6902 `remove`: the target must exist."""

    path: str


Op: TypeAlias = Add | Replace | Remove
# Each operation copies what it changes: without a bound a hostile record costs more to follow than its size says.
MAX_PATCH = 4096
Patch: TypeAlias = Annotated[tuple[Op, ...], Meta(max_length=MAX_PATCH)]
