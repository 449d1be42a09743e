"""Every record on disk has a published schema, and what is committed in this repository follows it."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import sealkit.seal
import sealkit.wire
from sealkit.seal.schemas import seal_schemas
from sealkit.wire.digest import is_digest
from sealkit.wire.records import Record
from sealkit.wire.schemas import kind_of, record_schemas
from tests.studies import PLAN, ROOT, call, ok

SCHEMAS = record_schemas() | seal_schemas()
CHECKS = {kind: Draft202012Validator(schema) for kind, schema in SCHEMAS.items()}
COMMITTED = {
    "plans/dry-run.seal.json": "seal", "plans/dry-run.manifest.jsonl": "scenario",
    "receipts/house-dry-run/journal.jsonl": "entry", "receipts/house-dry-run/HEAD": "journal-head",
    "receipts/house-dry-run/episodes.jsonl": "episode",
}  # fmt: skip
MOST = 40  # lines of a file; a second implementation of schemas takes its time


def _kinds(record: type[Record]) -> Iterator[str]:
    for below in record.__subclasses__():
        # A study's own content may have records of its own: nobody has promised a schema of those.
        if str(below.__struct_config__.tag).startswith("sealkit/") and below.__module__.startswith("sealkit."):
            yield kind_of(below)
        yield from _kinds(below)


def test_every_kind_of_record_has_a_schema() -> None:
    for package in (sealkit.wire, sealkit.seal):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    assert set(_kinds(Record)) == set(SCHEMAS)


def test_the_command_prints_each(tmp_path: Path) -> None:
    assert set(ok(call("schema", cwd=tmp_path)).out.split()) == {"plan", "answer", *SCHEMAS}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_one(kind: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind])


def lines(path: Path) -> list[Any]:
    found = path.read_bytes().split(b"\n")[:-1]
    return [json.loads(line) for line in found[:: max(1, len(found) // MOST)]]


@pytest.mark.parametrize("file", COMMITTED)
def test_what_is_committed_follows_its_schema(file: str) -> None:
    found = lines(ROOT / file)
    assert found
    for line in found:
        CHECKS[COMMITTED[file]].validate(line)


def test_an_amendment_and_what_a_machine_remembers_follow_theirs(sealed: Path, state: Path) -> None:
    plan = sealed / PLAN
    plan.write_text(plan.read_text().replace("title: ", "title: Now, "))
    judge = sealed / "worlds" / "house" / "judge.py"
    judge.write_text(judge.read_text() + "\n# changed\n")
    ok(call("amend", PLAN, "--reason", "to see it", cwd=sealed))
    ok(call("verify", "receipts", cwd=sealed))
    (amendment,) = lines(sealed / "plans" / "part.A-0001.json")
    (known,) = lines(state / "sealkit" / "known_heads")
    for kind, value in (("amendment", amendment), ("known-head", known)):
        CHECKS[kind].validate(value)
        assert _loose(CHECKS[kind], value) == []


def test_the_schema_of_a_seal_knows_every_digest() -> None:
    (seal,) = lines(ROOT / "plans" / "dry-run.seal.json")
    for tree in seal["closure"]["trees"]:
        del tree["entries"][1:]
    assert _loose(CHECKS["seal"], seal) == []


def _loose(check: Draft202012Validator, value: Any) -> list[str]:
    """Where `value` has a digest that the schema would take for any text."""
    found: list[str] = []

    def visit(node: Any, at: str) -> None:
        for key, item in list(node.items() if isinstance(node, dict) else enumerate(node)):
            if isinstance(item, (dict, list)):
                visit(item, f"{at}/{key}")
            elif isinstance(item, str) and is_digest(item):
                node[key] = "sha256:" + "g" * 64
                if check.is_valid(value):
                    found.append(f"{at}/{key}")
                node[key] = item

    visit(value, "")
    return found
