"""Canonical JSON (RFC 8785), and the stricter profile in which records are written.

>>> encode_json({"b": 1.0, "a": [1e21, "€"]})
b'{"a":[1e+21,"\\xe2\\x82\\xac"],"b":1}'

`encode_json` takes any JSON value. Records are stricter, so that a second implementation has nothing to
decide: ASCII keys, no floats, |int| ≤ 2^53-1, no duplicate keys, nesting ≤ 64, one line of ≤ 4 MiB.
`decode_record` decodes, encodes again and compares bytes; what it returns has this one spelling:

>>> from sealkit.wire.episode import Component
>>> decode_record(b'{"name":"a","type":"sealkit/component/v1","value":1.5}', Component)
Traceback (most recent call last):
    ...
sealkit.wire.errors.MalformedError: record: a float (1.5) where records hold integers or decimal strings - at `$.value`

Refused by both: NaN, infinities, lone surrogates, values that are no JSON. The encoder never turns what
it does not know into something else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, cast

import msgspec
import orjson
import rfc8785

from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Json, Record

MAX_DEPTH = 64
MAX_LINE = 4 * 1024 * 1024
MAX_INT = 2**53 - 1

R = TypeVar("R")

_encoder = msgspec.json.Encoder(order="sorted")
_decoders: dict[object, msgspec.json.Decoder[object]] = {}

# Two byte tables for `_may_be_wide`: digits to 0, what may stand before a number to a colon.
_NUMBER_SHAPE = bytes(
    ord("0") if chr(b).isdigit() and b < 128 else ord(":") if chr(b) in ":,[-" else ord(" ") for b in range(256)
)
_WIDE_DIGITS = b"0" * 16
_NOT_QUOTES_OR_BRACKETS = bytes(b for b in range(256) if chr(b) not in '"[]{}')


def encode_json(value: Json | float) -> bytes:
    """`value` as RFC 8785 writes it; `MalformedError` if it is no JSON value with one spelling."""
    try:
        if _orjson_agrees(value):
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (orjson.JSONEncodeError, RecursionError):
        pass  # lone surrogates and deep nesting; the reference says what is wrong, or encodes
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type,unused-ignore]
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise MalformedError(str(error), where="value") from error


def digest_json(value: Json) -> str:
    """The digest of `value` under the record profile, for values that are no typed record."""
    return digest_bytes(encode_value(value))


def encode_value(value: Json) -> bytes:
    """`value` under the record profile; `MalformedError` with a JSON Pointer if it does not fit."""
    check_value(value, where="value")
    return _bounded(_encoder.encode(value), where="value")


def encode_record(record: Record) -> bytes:
    """The one line (no newline) that stands for `record`, as `decode_record` accepts it; else `MalformedError`."""
    try:
        line = _encoder.encode(record)
        if _decode(line, type(record), "record") == record:
            return line
    except (MalformedError, TypeError, ValueError, OverflowError, RecursionError):
        check_value(record, where="record")  # names the place
        raise
    check_value(record, where="record")  # a tuple came back as a list, which is fine; or a set did, which is not
    return line


def reencode(record: Record) -> bytes:
    """The bytes of a record that was decoded, or built from decoded parts: `encode_record` without its checks."""
    return _encoder.encode(record)


def digest_record(record: Record) -> str:
    """The digest of a record that was decoded, or built from decoded parts."""
    return digest_bytes(_encoder.encode(record))


def decode_record(raw: bytes, kind: type[R], *, where: str = "record") -> R:
    """The record that `raw` spells, checked; `MalformedError` names `where`, the field and what is due."""
    return cast(R, _decode(raw, kind, where))


def decode_value(raw: bytes, *, where: str = "value") -> Json:
    """Like `decode_record`, for a value that is no typed record."""
    return cast(Json, _decode(raw, Json, where))


def check_value(value: Json | msgspec.Struct, *, where: str) -> None:
    """Raise `MalformedError`, with the JSON Pointer behind `where`, unless `value` fits the record profile."""
    unfit = _first_unfit(value, 1)
    if unfit is not None:
        what, pointer = unfit
        raise MalformedError(what, where=where + pointer)


def _first_unfit(value: object, depth: int) -> tuple[str, str] | None:
    """What does not fit the profile, and the pointer to it; None if everything does."""
    kind = type(value)
    if value is None or kind is bool:
        return None
    if isinstance(value, str) and kind is str:
        return None if value.isascii() or _is_utf8(value) else ("a lone surrogate, which UTF-8 cannot hold", "")
    if isinstance(value, int) and kind is int:
        return None if -MAX_INT <= value <= MAX_INT else ("an integer beyond 2^53-1; write it as a string", "")
    if isinstance(value, float):
        return f"a float ({value}) where records hold integers or decimal strings", ""
    if depth > MAX_DEPTH:
        return f"nested deeper than {MAX_DEPTH}", ""
    if isinstance(value, dict):
        for key in value:
            if type(key) is not str or not key.isascii():
                return f"key {key!r} is not ASCII text", ""
        return _first_unfit_member(value.items(), depth)
    if isinstance(value, (list, tuple)):
        return _first_unfit_member(enumerate(value), depth)
    if isinstance(value, msgspec.Struct):
        return _first_unfit_member(
            [(name, getattr(value, name)) for name in value.__struct_fields__], depth, typed=True
        )
    return f"{kind.__name__} is no JSON value", ""


def _first_unfit_member(
    members: Iterable[tuple[str | int, object]], depth: int, *, typed: bool = False
) -> tuple[str, str] | None:
    for name, item in members:
        if isinstance(item, str) and type(item) is str and item.isascii():
            continue
        if typed and type(item) is bytes:  # a typed field, written in base64
            continue
        unfit = _first_unfit(item, depth + 1)
        if unfit is not None:
            return unfit[0], f"/{name}{unfit[1]}"
    return None


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bounded(raw: bytes, *, where: str) -> bytes:
    if len(raw) > MAX_LINE:
        raise MalformedError(f"a line of {len(raw)} bytes, due at most {MAX_LINE}", where=where)
    return raw


def _orjson_agrees(value: Json | float) -> bool:
    """Whether orjson writes `value` as RFC 8785 does, for sure.

    It does not for floats that are whole, below 1e-5, NaN or infinite, integers beyond 2^53-1, and keys whose order
    hangs on a character beyond U+FFFF (UTF-16 puts those before U+E000, UTF-8 after U+FFFF).
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if isinstance(value, float):
        return kind is float and 1e-5 <= abs(value) < 1e16 and not value.is_integer()
    if isinstance(value, int):
        return kind is int and -MAX_INT <= value <= MAX_INT
    if isinstance(value, dict):
        for key, item in value.items():
            if type(key) is not str or not (key.isascii() or max(key) < "\ue000") or not _orjson_agrees(item):
                return False
        return kind is dict
    return kind in (list, tuple) and all(map(_orjson_agrees, cast("list[Json]", value)))


def _refuse_float(text: str) -> float:
    raise ValueError(f"a float ({text}) where records hold integers or decimal strings")


def _decode(raw: bytes, kind: object, where: str) -> object:
    _bounded(raw, where=where)
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind, float_hook=_refuse_float)
    try:
        record = decoder.decode(raw)
    except RecursionError as error:
        raise MalformedError(f"nested deeper than {MAX_DEPTH}", where=where) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedError(str(error), where=where) from error
    if _encoder.encode(record) != raw:
        raise MalformedError("not the canonical spelling of its value", where=where, remedy="it was edited by hand")
    _check_profile(raw, where)
    return record


def _check_profile(raw: bytes, where: str) -> None:
    """Check what the typed decoder cannot: free integers, keys and depth. Bytes first; walk only on suspicion."""
    plain = raw
    if b"\\" in raw:  # without escapes, every quote begins or ends a string
        plain = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if _may_be_wide(raw) or _may_be_deep(plain) or not (raw.isascii() or _keys_are_ascii(plain)):
        check_value(msgspec.json.decode(raw), where=where)


def _may_be_wide(raw: bytes) -> bool:
    """False only if no integer has 16 digits or more."""
    shape = raw.translate(_NUMBER_SHAPE)
    return b":" + _WIDE_DIGITS in shape or shape.startswith(_WIDE_DIGITS)


def _may_be_deep(plain: bytes) -> bool:
    """False only if nesting is at most 64."""
    # Dropping two quotes side by side moves no bracket into a string or out of one.
    brackets = plain.translate(None, _NOT_QUOTES_OR_BRACKETS).replace(b'""', b"")
    if b'"' in brackets:
        brackets = b"".join(brackets.split(b'"')[::2])  # every second piece stands outside strings
    for _ in range(MAX_DEPTH // 2):  # each round strips one level or two, never more
        if not brackets:
            return False
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    return bool(brackets)


def _keys_are_ascii(plain: bytes) -> bool:
    *members, _ = plain.split(b'":')  # each piece but the last ends in a key
    return all(member.rpartition(b'"')[2].isascii() for member in members if not member.isascii())
