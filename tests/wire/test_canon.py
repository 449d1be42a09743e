"""Canonical JSON against RFC 8785's own vectors and a second implementation; and every refusal by name."""

from __future__ import annotations

import datetime
import enum
import hashlib
import json
import random
import struct
from collections import OrderedDict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from sealkit.wire import canon
from sealkit.wire.canon import (
    MAX_INT,
    MAX_LINE,
    check_value,
    decode_record,
    decode_value,
    digest_json,
    digest_record,
    encode_json,
    encode_record,
    encode_value,
    reencode,
)
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Action, Boundary, Component, Roots, Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Json
from tests.wire import sample

VECTORS = Path(__file__).parent.parent / "vectors" / "jcs"

# --- RFC 8785 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.name for path in (VECTORS / "input").iterdir()))
def test_the_vectors_of_rfc_8785(name: str) -> None:
    value = json.loads((VECTORS / "input" / name).read_bytes())
    assert encode_json(value) == (VECTORS / "output" / name).read_bytes()


def es6_numbers() -> Iterator[float]:
    """The number stream of testdata/numgen.js: fixed values, a run of the smallest normals, then SHA-256 chained."""
    for word in (VECTORS / "es6-static.txt").read_text().split():
        yield struct.unpack(">d", bytes.fromhex(word))[0]
    for offset in range(2000):
        yield struct.unpack(">d", (0x0010000000000000 + offset).to_bytes(8, "big"))[0]
    block = bytes(32)
    while True:
        block = hashlib.sha256(block).digest()
        for number in struct.unpack("<4d", block):
            if number and abs(number) < float("inf"):  # also false for NaN
                yield number


# From the table in the README of cyberphone/json-canonicalization.
@pytest.mark.parametrize(
    ("count", "digest"),
    [
        (1000, "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687"),
        (10000, "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892"),
    ],
)
def test_the_numbers_of_rfc_8785(count: int, digest: str) -> None:
    lines = hashlib.sha256()
    for _, number in zip(range(count), es6_numbers(), strict=False):
        word = struct.pack(">d", number).hex().lstrip("0") or "0"
        lines.update(f"{word},{encode_json(number).decode()}\n".encode())
    assert lines.hexdigest() == digest


FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 1e-5, 9.999999999999999e-6, 1e-6, 9.999999999999997e-7, 1e-7, 1e16, 1e20, 1e21),
    *(999999999999999900000.0, 1e22, 2.0**53, 2.0**53 - 1, 2.0**53 + 2, 5e-324, 2.2250738585072014e-308, 1.5e300),
    *(1.7976931348623157e308, 4.5, 0.002, 333333333.3333332, 1e-27, float("nan"), float("inf"), float("-inf")),
)
INTEGERS = (0, 1, -1, 2**31, MAX_INT, -MAX_INT, MAX_INT + 1, -MAX_INT - 1, 2**63, 2**64, -(2**63), 10**30)
# U+10000 and U+1F511 come before U+E000, U+FB33 and U+FFFF in UTF-16, and after them in UTF-8.
LETTERS = 'aAzZ09 "\\/\x00\x01\x08\t\n\x0b\x0c\r\x1f\x7f\x80é\u20ac\u2028\ud7ff\ue000\ufb33\uffff\U00010000\U0001f511'


def random_text(draw: random.Random) -> str:
    text = "".join(draw.choices(LETTERS, k=draw.choice((0, 1, 1, 2, 3, 8))))
    return text + "\ud83d" if draw.random() < 0.002 else text


def random_float(draw: random.Random) -> float:
    kind = draw.random()
    if kind < 0.4:
        return draw.choice(FLOATS)
    if kind < 0.7:
        return float(struct.unpack(">d", draw.randbytes(8))[0])
    return round(draw.uniform(-1e6, 1e6), draw.randrange(8)) * 10.0 ** draw.randrange(-12, 16)


def random_value(draw: random.Random, depth: int) -> Json | float:
    kind = draw.random()
    if depth and kind < 0.25:
        return [random_value(draw, depth - 1) for _ in range(draw.randrange(4))]  # type: ignore[misc]
    if depth and kind < 0.6:
        return {random_text(draw): random_value(draw, depth - 1) for _ in range(draw.randrange(5))}  # type: ignore[misc]
    if kind < 0.75:
        return random_text(draw)
    if kind < 0.83:
        return random_float(draw)
    if kind < 0.95:
        return draw.choice(INTEGERS) if draw.random() < 0.3 else draw.randrange(-1000, 1000)
    return draw.choice((None, True, False))


def test_encoding_agrees_with_rfc8785_on_100_000_random_values() -> None:
    draw = random.Random(8785)
    by_orjson = refused = plain = 0
    for _ in range(100_000):
        value = random_value(draw, draw.choice((0, 1, 2, 3)))
        try:
            due = rfc8785.dumps(value)
        except (rfc8785.CanonicalizationError, UnicodeEncodeError):
            refused += 1
            with pytest.raises(MalformedError):
                encode_json(value)
            continue
        assert encode_json(value) == due, value
        by_orjson += canon._orjson_agrees(value)
        try:
            check_value(value, where="value")  # type: ignore[arg-type]
        except MalformedError:
            continue
        plain += 1
        assert encode_value(value) == due, value  # type: ignore[arg-type]
        assert decode_value(due) == value
    # Each way was gone often enough to mean something.
    assert by_orjson > 20_000 and 100_000 - by_orjson - refused > 20_000 and refused > 5_000 and plain > 20_000


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (1e21, b"1e+21"),
        (1e20, b"100000000000000000000"),
        (-0.0, b"0"),
        (1e-6, b"0.000001"),
        (9.5e-6, b"0.0000095"),
        (1e-7, b"1e-7"),
        (2.0, b"2"),
        ({"\U00010000": 1, "\ue000": 2}, '{"\U00010000":1,"\ue000":2}'.encode()),
        ((1, (2,)), b"[1,[2]]"),
    ],
)
def test_where_orjson_would_write_otherwise(value: Json | float, spelled: bytes) -> None:
    assert encode_json(value) == spelled


def nested(depth: int) -> Json:
    value: Json = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_encode_json_takes_what_orjson_finds_too_deep() -> None:
    assert encode_json(nested(270)) == b"[" * 270 + b"]" * 270


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(float("nan"), id="nan"),
        pytest.param([float("inf")], id="infinity"),
        pytest.param(MAX_INT + 1, id="integer beyond 2^53-1"),
        pytest.param("\ud800", id="lone surrogate"),
        pytest.param({"\ud800": 1, "a": 2}, id="lone surrogate in a key"),
        pytest.param({1: 2}, id="key that is no text"),
        pytest.param({"a": {1}}, id="set"),
        pytest.param(b"bytes", id="bytes"),
        pytest.param(datetime.date(2026, 3, 1), id="date, which orjson would write"),
        pytest.param(Decimal("1.5"), id="decimal"),
        pytest.param(nested(3000), id="nested beyond the stack"),
    ],
)
def test_encode_json_refuses(value: Json) -> None:
    with pytest.raises(MalformedError):
        encode_json(value)


# --- the record profile --------------------------------------------------------------------------


class Colour(enum.IntEnum):
    RED = 1


class Shade(str):
    pass


UNFIT = [
    pytest.param(1.5, "a float (1.5)", id="float"),
    pytest.param(float("nan"), "a float (nan)", id="nan"),
    pytest.param(MAX_INT + 1, "beyond 2^53-1", id="wide integer"),
    pytest.param(2**70, "beyond 2^53-1", id="integer beyond 64 bits"),
    pytest.param(-MAX_INT - 1, "beyond 2^53-1", id="wide negative integer"),
    pytest.param("\udc00", "a lone surrogate", id="lone surrogate"),
    pytest.param({"é": 1}, "key 'é' is not ASCII", id="key beyond ASCII"),
    pytest.param({1: 2}, "key 1 is not ASCII", id="key that is no text"),
    pytest.param({1}, "set is no JSON value", id="set"),
    pytest.param(b"x", "bytes is no JSON value", id="bytes"),
    pytest.param(datetime.date(2026, 3, 1), "date is no JSON value", id="date"),
    pytest.param(Decimal("1.5"), "Decimal is no JSON value", id="decimal"),
    pytest.param(Shade("red"), "Shade is no JSON value", id="subclass of str"),
    pytest.param(object(), "object is no JSON value", id="object"),
    pytest.param(nested(64), "nested deeper than 64", id="nested too deep in its record"),
    pytest.param(nested(3000), "nested deeper than 64", id="nested beyond the stack"),
]


@pytest.mark.parametrize(("value", "what"), UNFIT)
def test_records_refuse_with_the_pointer(value: Json, what: str) -> None:
    with pytest.raises(MalformedError) as refusal:
        encode_record(Action(name="go", args={"to": [0, value]}))
    assert refusal.value.where.startswith("record/args/to/1")
    assert what in str(refusal.value)


@pytest.mark.parametrize(("value", "what"), UNFIT)
def test_values_refuse_with_the_pointer(value: Json, what: str) -> None:
    with pytest.raises(MalformedError) as refusal:
        encode_value({"to": [0, value]})
    assert refusal.value.where.startswith("value/to/1")
    assert what in str(refusal.value)


def test_an_enumeration_is_no_value() -> None:
    with pytest.raises(MalformedError, match="Colour is no JSON value"):
        encode_value([Colour.RED])


def test_a_record_is_not_written_if_it_could_not_be_read() -> None:
    with pytest.raises(MalformedError, match=r">= 0 - at `\$.due`"):
        encode_record(Boundary(due=-1, applied=0, head=""))


def test_tuples_and_other_dicts_are_written_as_arrays_and_objects() -> None:
    value = OrderedDict(b=(1, (2, None)), a="x")
    assert encode_record(Component(name="c", value=value)) == encode_record(  # type: ignore[arg-type]
        Component(name="c", value={"a": "x", "b": [1, [2, None]]})
    )
    assert encode_value(value) == b'{"a":"x","b":[1,[2,null]]}'  # type: ignore[arg-type]


def test_bytes_stand_in_typed_fields_only() -> None:
    trusted = Trusted(pin=sample.PIN, judge=sample.JUDGE, slot={"é": 1}, scenario=b"{}")
    with pytest.raises(MalformedError, match="record/slot: key 'é'"):
        encode_record(trusted)
    trusted = msgspec.structs.replace(trusted, slot={"a": 1})
    assert decode_record(encode_record(trusted), Trusted) == trusted
    check_value(trusted, where="record")


def test_a_record_inside_a_free_value_is_written_as_its_members() -> None:
    roots = Roots(before="a", after="b", moved=())
    line = encode_record(Component(name="c", value=roots))  # type: ignore[arg-type]
    assert decode_record(line, Component).value == {"after": "b", "before": "a", "moved": []}


def test_every_field_of_a_record_is_checked() -> None:
    with pytest.raises(MalformedError, match="record/moved/0: set is no JSON value"):
        encode_record(Roots(before="", after="", moved=({1},)))  # type: ignore[arg-type]


def line_of(size: int) -> bytes:
    empty = len(b'{"name":"","type":"sealkit/component/v1","value":0}')
    return b'{"name":"' + b"x" * (size - empty) + b'","type":"sealkit/component/v1","value":0}'


def test_a_line_of_4_mib_is_the_longest() -> None:
    longest = decode_record(line_of(MAX_LINE), Component)
    assert encode_record(longest) == line_of(MAX_LINE)
    with pytest.raises(MalformedError, match="a line of 4194305 bytes, due at most 4194304"):
        decode_record(line_of(MAX_LINE + 1), Component)
    longer = Component(name=longest.name + "x", value=0)
    with pytest.raises(MalformedError, match="a line of 4194305 bytes"):
        encode_record(longer)
    with pytest.raises(MalformedError, match="a line of 4194305 bytes"):
        encode_value("x" * (MAX_LINE - 1))


COMPONENT = '{"name":"a","type":"sealkit/component/v1","value":%s}'


@pytest.mark.parametrize(
    ("value", "what"),
    [
        pytest.param(b'{"a":1,"a":2}', "not the canonical spelling", id="duplicate key"),
        pytest.param(b'{"a":1,"a":1}', "not the canonical spelling", id="duplicate key and value"),
        pytest.param(b"NaN", "invalid character", id="NaN"),
        pytest.param(b"Infinity", "invalid character", id="Infinity"),
        pytest.param(b"1.0", "a float (1.0)", id="1.0 for 1"),
        pytest.param(b"1e2", "a float (1e2)", id="1e2 for 100"),
        pytest.param(b"1e999", "a float (1e999)", id="float beyond doubles"),
        pytest.param(b"-0", "not the canonical spelling", id="-0"),
        pytest.param(b"01", "malformed", id="leading zero"),
        pytest.param(b"+1", "invalid character", id="plus sign"),
        pytest.param(b"9007199254740992", "beyond 2^53-1", id="2^53"),
        pytest.param(b"-9007199254740992", "beyond 2^53-1", id="-2^53"),
        pytest.param(b"18446744073709551616", "beyond 2^53-1", id="2^64"),
        pytest.param(b"1" * 5000, "out of range", id="5000 digits"),
        pytest.param(b" 1", "not the canonical spelling", id="space before"),
        pytest.param(b"1 ", "not the canonical spelling", id="space after"),
        pytest.param(b"[1, 2]", "not the canonical spelling", id="space inside"),
        pytest.param(b"1\n", "not the canonical spelling", id="newline"),
        pytest.param(b'{"b":1,"a":2}', "not the canonical spelling", id="unsorted keys"),
        pytest.param(b'"\\u0041"', "not the canonical spelling", id="needless escape"),
        pytest.param(b'"\\/"', "not the canonical spelling", id="escaped slash"),
        pytest.param(b'"\\u000a"', "not the canonical spelling", id="long escape"),
        pytest.param(b'"\\u001F"', "not the canonical spelling", id="escape in capitals"),
        pytest.param(b'"\x1f"', "malformed", id="bare control character"),
        pytest.param(b'"\\ud800"', "truncated", id="lone high surrogate"),
        pytest.param(b'"\\udc00"', "malformed", id="lone low surrogate"),
        pytest.param(b'"\xed\xa0\x80"', "Invalid UTF-8", id="surrogate in UTF-8"),
        pytest.param(b'"\xff"', "Invalid UTF-8", id="byte that is no UTF-8"),
        pytest.param(b'"\xc0\xaf"', "Invalid UTF-8", id="overlong UTF-8"),
        pytest.param('{"é":1}'.encode(), "key 'é' is not ASCII", id="key beyond ASCII"),
        pytest.param('{"a":{"\\"é\\\\":"x"}}'.encode(), "is not ASCII", id="key beyond ASCII among escapes"),
        pytest.param(b"[" * 1000 + b"]" * 1000, "nested deeper than 64", id="depth 1000"),
        pytest.param(b"[" * 100_000 + b"]" * 100_000, "nested deeper than 64", id="depth 100000"),
        pytest.param(b"[" * 64 + b"]" * 64, "nested deeper than 64", id="depth 65 with its record"),
        pytest.param(b"[" * 4_000_000, "nested deeper than 64", id="brackets only"),
        pytest.param(b'["]",' * 70 + b"0" + b',"["]' * 70, "nested deeper", id="depth hidden by brackets in strings"),
        pytest.param(b'["\\"]",' * 70 + b"0" + b',"["]' * 70, "nested deeper", id="depth hidden by escapes"),
        pytest.param(b'{"a":' * 64 + b"0" + b"}" * 64, "nested deeper than 64", id="objects, depth 65"),
        pytest.param(b"1]", "malformed", id="bracket too many"),
        pytest.param(b'1,"x":2', "unknown field", id="unknown field"),
        pytest.param(b"", "malformed", id="no value"),
        pytest.param(b"nul", "malformed", id="cut word"),
    ],
)
def test_decoding_refuses(value: bytes, what: str) -> None:
    with pytest.raises(MalformedError) as refusal:
        decode_record(COMPONENT.encode().replace(b"%s", value), Component, where="line 3")
    assert refusal.value.where.startswith("line 3")
    assert what in str(refusal.value)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"9007199254740992", id="2^53"),
        pytest.param(b"-9007199254740992", id="-2^53"),
        pytest.param(b"18446744073709551616", id="2^64"),
        pytest.param(b"[" * 65 + b"]" * 65, id="depth 65"),
        pytest.param(b'["]",' * 65 + b"0" + b',"["]' * 65, id="depth hidden by brackets in strings"),
        pytest.param(b'["[]",' * 70 + b"0" + b"]" * 70, id="depth hidden by pairs of brackets in strings"),
        pytest.param(b'["]]]",' + b"[" * 64 + b"]" * 64 + b"]", id="depth 65 after a string"),
        pytest.param(rb'["\"",' + b"[" * 70 + b"]" * 70 + rb',"\""]', id="depth between escaped quotes"),
        pytest.param(rb'["\\",' + b"[" * 70 + b"]" * 70 + rb',"\\"]', id="depth between escaped backslashes"),
        pytest.param(rb'{"a":"\"","' + "é".encode() + b'":1}', id="key beyond ASCII after an escaped quote"),
    ],
)
def test_decoding_refuses_the_value(line: bytes) -> None:
    with pytest.raises(MalformedError):
        decode_value(line)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        pytest.param(b"", "truncated", id="nothing"),
        pytest.param(b"\xef\xbb\xbf{}", "malformed", id="byte order mark"),
        pytest.param(b"{}", "missing required field `name`", id="empty object"),
        pytest.param(b"[]", "Expected `object`", id="array"),
        pytest.param(b'{"name":"a","value":1}', "canonical", id="type left out"),
        pytest.param(b'{"name":"a","type":"sealkit/root/v1","value":1}', "Invalid value", id="another kind"),
        pytest.param(b'{"type":"sealkit/component/v1","name":"a","value":1}', "canonical", id="fields out of order"),
        pytest.param(b'{"name":1,"type":"sealkit/component/v1","value":1}', "Expected `str`", id="wrong type"),
        pytest.param(b'{"name":"a","type":"sealkit/component/v1"}', "missing required field `value`", id="no value"),
        pytest.param(
            b'{"name":"a","name":"a","type":"sealkit/component/v1","value":1}', "canonical", id="duplicate field"
        ),
        pytest.param(b'{"name":"a","type":"sealkit/component/v1","value":1}\n', "canonical", id="newline"),
        pytest.param(b'{"name":"a","type":"sealkit/component/v1","value":1}{}', "trailing", id="trailing bytes"),
        pytest.param(b'{"name":"a","type":"sealkit/component/v1","value":1}\x00', "trailing", id="trailing NUL"),
    ],
)
def test_decoding_refuses_the_line(line: bytes, what: str) -> None:
    with pytest.raises(MalformedError, match=what.replace("[", r"\[")):
        decode_record(line, Component)


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 64 + b"]" * 64,
        b'{"":' * 63 + b"[]" + b"}" * 63,
        b'{"a":["[[[[","}}}}\\\\","\\"]["],"b":{"c":"{{"}}',
        '[{},[],[[]],"é [ ] { }",{"key":"ü"}]'.encode(),
        b"9007199254740991",
        b"-9007199254740991",
        b'[":1234567890123456789"]',
        b'"\\b\\t\\n\\f\\r\\u0000\\u001f\x7f\\"\\\\/"',
        b'[["x","a\\\\"],["\\\\\\"[","["]]',
    ],
)
def test_decoding_accepts_what_only_looks_suspicious(line: bytes) -> None:
    value = decode_value(line)
    assert encode_value(value) == line
    assert digest_json(value) == digest_bytes(line)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INT, MAX_INT) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(max_codepoint=127), max_size=6), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(values)
def test_what_is_encoded_decodes_to_itself(value: Json) -> None:
    line = encode_value(value)
    assert decode_value(line) == value
    assert line == encode_json(value) == rfc8785.dumps(value)
    component = Component(name="c", value=value)
    assert decode_record(encode_record(component), Component) == component
    assert reencode(component) == encode_record(component)
    assert digest_record(component) == digest_bytes(encode_record(component))


def test_changed_bytes_are_refused_or_are_another_canonical_line() -> None:
    """Flips, cuts, doublings and insertions: never another exception, never two spellings of one value."""
    draw = random.Random(4)
    lines = [encode_record(record) for record in (sample.SCENARIO, sample.ACT_1, sample.RECEIPT_1)]
    kinds = [type(record) for record in (sample.SCENARIO, sample.ACT_1, sample.RECEIPT_1)]
    survived = 0
    for turn in range(8_000):
        line = bytearray(lines[turn % 3])
        for _ in range(draw.choice((1, 1, 1, 2, 4))):
            at = draw.randrange(len(line))
            match draw.randrange(4):
                case 0:
                    line[at] = draw.randrange(256)
                case 1:
                    del line[at : at + draw.randrange(1, 9)]
                case 2:
                    line[at:at] = line[at : at + draw.randrange(1, 30)]
                case _:
                    line[at:at] = draw.choice((b"[", b"]", b'"', b"\\", b"1" * 17, b"{}", b",", b"-", b".5", b"\xff"))
        try:
            record = decode_record(bytes(line), kinds[turn % 3])
        except MalformedError:
            continue
        survived += 1
        check_value(record, where="record")
        assert encode_record(record) == bytes(line)
    assert survived > 500
