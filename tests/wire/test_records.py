"""Records: the frozen vectors of version 1, their schemas, and that the types refuse what schemas refuse."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from sealkit.wire import calls, chain, declared, episode, events, journal_head, recorded, records
from sealkit.wire.canon import decode_record, digest_record, encode_record, reencode
from sealkit.wire.digest import digest_bytes, is_digest
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Record
from sealkit.wire.schemas import DIGESTS, PUBLISHED, kind_of, record_schema, record_schemas
from tests.wire import sample

MODULES = (records, declared, episode, recorded, calls, journal_head, events, chain)
KINDS = {kind_of(record): record for record in PUBLISHED}
INDEX: dict[str, str] = json.loads((sample.VECTORS / "index.json").read_bytes())


def vector(kind: str) -> bytes:
    line = (sample.VECTORS / f"{kind}.jsonl").read_bytes()
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    return line[:-1]


@cache
def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(record_schemas()[kind])


# --- frozen vectors ------------------------------------------------------------------------------


def test_there_is_a_vector_for_every_published_kind() -> None:
    files = {path.name for path in sample.VECTORS.iterdir()}
    assert files == {"README.md", "index.json"} | {f"{kind}.jsonl" for kind in KINDS}
    assert INDEX.keys() == KINDS.keys() == sample.RECORDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_vector_decodes_encodes_and_has_its_digest(kind: str) -> None:
    line = vector(kind)
    record = decode_record(line, KINDS[kind])
    assert record == sample.RECORDS[kind]
    assert encode_record(record) == reencode(record) == line
    assert digest_record(record) == digest_bytes(line) == INDEX[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_vector_follows_its_schema(kind: str) -> None:
    validator(kind).validate(json.loads(vector(kind)))


def test_no_vector_passes_for_another_kind() -> None:
    for kind in KINDS:
        value = json.loads(vector(kind))
        for other, record in KINDS.items():
            if other != kind:
                assert not validator(other).is_valid(value), (kind, other)
                with pytest.raises(MalformedError):
                    decode_record(vector(kind), record)


def test_writing_vectors_never_overwrites(tmp_path: Any) -> None:
    with pytest.raises(SystemExit, match="never edited"):
        sample.write(sample.VECTORS)
    sample.write(tmp_path)
    for path in sample.VECTORS.iterdir():
        if path.suffix != ".md":
            assert (tmp_path / path.name).read_bytes() == path.read_bytes()


# --- schemas -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_one(kind: str) -> None:
    schema = record_schemas()[kind]
    Draft202012Validator.check_schema(schema)
    assert schema == record_schema(KINDS[kind])
    assert "discriminator" not in json.dumps(schema)


Place = tuple[str | int, ...]


def places(value: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    yield at, value
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*at, key))


def changed(value: Any, at: Place, to: Any) -> Any:
    """`value` with what stands at `at` replaced."""
    value = copy.deepcopy(value)
    node = value
    for key in at[:-1]:
        node = node[key]
    node[at[-1]] = to
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_knows_every_digest_of_its_vector(kind: str) -> None:
    value = json.loads(vector(kind))
    check = validator(kind)
    digests = [at for at, item in places(value) if isinstance(item, str) and is_digest(item)]
    for at in digests:
        assert not check.is_valid(changed(value, at, "sha256:" + "g" * 64)), at
    assert digests or kind in ("assignment", "component", "contract", "scenario")


def test_the_table_of_digests_names_fields_that_exist() -> None:
    for name, fields in DIGESTS.items():
        (kind,) = {getattr(module, name) for module in MODULES if hasattr(module, name)}
        assert set(fields) <= set(kind.__struct_fields__), name


OTHERS: tuple[Any, ...] = (None, True, -1, 1.5, 2**53, "text", [], {}, {"\u00e9": 1})


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_and_the_type_refuse_the_same_changes(kind: str) -> None:
    """Members of another type; only that a text must be a digest is left to the schema alone."""
    value = json.loads(vector(kind))
    check = validator(kind)
    everywhere = list(places(value))[1:]
    for at, item in random.Random(kind).sample(everywhere, min(12, len(everywhere))):
        for other in OTHERS:
            case = changed(value, at, other)
            line = msgspec.json.encode(case, order="sorted")
            try:
                decode_record(line, KINDS[kind])
                decoded = True
            except MalformedError:
                decoded = False
            if check.is_valid(case) != decoded:
                # A text where the type does not ask for a digest, and the schema does.
                assert decoded and isinstance(other, str) and isinstance(item, str | None), (at, other)
        if isinstance(item, dict) and "type" in item:
            assert not check.is_valid(changed(value, (*at, "unknown"), 1))


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_needed_and_none_is_unknown(kind: str) -> None:
    value = json.loads(vector(kind))
    check = validator(kind)
    for field in value:
        case = {name: item for name, item in value.items() if name != field}
        assert not check.is_valid(case)
        with pytest.raises(MalformedError):
            decode_record(msgspec.json.encode(case, order="sorted"), KINDS[kind])
    case = value | {"zzz": 1}
    assert not check.is_valid(case)
    with pytest.raises(MalformedError, match="unknown field `zzz`"):
        decode_record(msgspec.json.encode(case, order="sorted"), KINDS[kind])


def every_type() -> list[type[Record]]:
    found = [item for module in MODULES for item in vars(module).values()]
    return [item for item in found if isinstance(item, type) and issubclass(item, Record)]


@pytest.mark.parametrize("kind", every_type(), ids=lambda kind: kind.__name__)
def test_every_record_is_frozen_closed_and_complete(kind: type[Record]) -> None:
    config = kind.__struct_config__
    # Lines of a journal are spelled as they were before shards: one mark is left out where there is none.
    # So are analyses as they were before they said what they came to.
    marked = {chain.Entry: (None,), events.Analysed: ((),)}.get(kind, ())
    assert config.frozen and config.forbid_unknown_fields and config.omit_defaults is bool(marked)
    assert kind.__struct_defaults__ == marked, "a default could change a ruling"
    assert kind.__doc__
