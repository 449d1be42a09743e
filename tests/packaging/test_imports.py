"""Who may import whom, where import-linter does not look: study content, and third-party packages."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
# Where a module's name is not that of the distribution that brings it.
BROUGHT_BY = {"ruamel": "ruamel.yaml"}
UNSEEDED = {"asyncio", "datetime", "os", "random", "secrets", "socket", "subprocess", "threading", "time", "uuid"}


def imports(source: str, *, levels: int) -> Iterator[str]:
    """Absolute names that `source` imports, wherever in it; `levels` is how many dots stay inside its package."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level > levels:
            yield "." * node.level + (node.module or "")
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("__import__", "import_module", "spec_from_file_location"):
                yield f"{name}()"


def strays(source: str, allowed: tuple[str, ...], *, levels: int = 1) -> set[str]:
    """What `source` imports beside `allowed`, its own package and the part of the standard library that is pure."""
    return {
        name
        for name in imports(source, levels=levels)
        if not any(name == prefix or name.startswith(prefix + ".") for prefix in allowed)
        and (name.split(".")[0] not in sys.stdlib_module_names or name.split(".")[0] in UNSEEDED)
    }


def sources(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def label(path: Path) -> str:
    return str(path.relative_to(ROOT))


WORLDS = sources("worlds/*/**/*.py", "docs/*/worlds/*/**/*.py")
VERIFIERS = sources("verifiers/*/**/*.py")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import random", {"random"}),
        ("from time import time", {"time.time"}),
        ("def f():\n    import sealkit.seal.journal", {"sealkit.seal.journal"}),
        ("from sealkit.world.sdk import text", set()),
        ("from sealkit.worldly import x", {"sealkit.worldly.x"}),
        ("from sealkit import wire, run", {"sealkit.run"}),
        ("from . import judge\nfrom .. import other", {".."}),
        ("import json, collections.abc, worlds.house", {"worlds.house"}),
        ("import importlib\nimportlib.import_module('x')", {"import_module()"}),
    ],
)
def test_strays_are_found(source: str, found: set[str]) -> None:
    assert strays(source, ("sealkit.world", "sealkit.wire")) == found


def test_there_is_content_to_look_at() -> None:
    assert {path.parts[-2] for path in WORLDS} >= {"house"}
    assert {path.parts[-2] for path in VERIFIERS} >= {"witness", "replay"}


@pytest.mark.parametrize("path", WORLDS, ids=label)
def test_a_world_imports_only_the_sdk_and_wire(path: Path) -> None:
    depth = len(path.parts) - path.parts.index("worlds") - 2
    assert not strays(path.read_text(), ("sealkit.world", "sealkit.wire"), levels=depth)


@pytest.mark.parametrize("path", VERIFIERS, ids=label)
def test_a_verifier_imports_only_wire(path: Path) -> None:
    depth = len(path.parts) - path.parts.index("verifiers") - 2
    assert not strays(path.read_text(), ("sealkit.wire",), levels=depth)


MUTATIONS = sources("mutations/*.py")
AUDIT = sources("mutations/isolation/*.py")


@pytest.mark.parametrize("path", MUTATIONS, ids=label)
def test_mutations_import_only_the_sdk_and_wire(path: Path) -> None:
    assert not strays(path.read_text(), ("sealkit.world", "sealkit.wire"))
    assert not [node for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.ImportFrom) and "isolation" in (node.module or "")]  # fmt: skip


@pytest.mark.parametrize("path", AUDIT, ids=label)
def test_the_audit_of_isolation_shares_no_code_with_what_makes_forks(path: Path) -> None:
    assert not strays(path.read_text(), ())


def third_party() -> dict[str, set[str]]:
    """Top-level third-party name → the files below sealkit/ that import it."""
    found: dict[str, set[str]] = {}
    for path in sources("sealkit/**/*.py"):
        for name in imports(path.read_text(), levels=9):
            top = name.split(".")[0]
            if top.isidentifier() and top not in sys.stdlib_module_names | {"sealkit"}:
                found.setdefault(top, set()).add(label(path))
    return found


RUN_ONLY = {"local"}  # started as a program of its own, never imported


def test_the_declared_dependencies_are_those_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [
        *project["dependencies"],
        *(text for name, extra in project["optional-dependencies"].items() if name not in RUN_ONLY for text in extra),
    ]
    assert {Requirement(text).name for text in declared} == {BROUGHT_BY.get(name, name) for name in third_party()}


def test_an_extra_is_imported_where_a_cluster_is_spoken_to_alone() -> None:
    assert third_party()["distributed"] == {"sealkit/run/cluster.py", "sealkit/run/worker.py"}


def test_an_extra_is_installed_from_the_checkout_or_a_wheel_for_sealkit_is_on_no_index() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    told = [
        found
        for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sealkit/**/*.py"))
        for found in re.findall(r"pip install +'?([^\s'\[]*)\[(\w+)\]", path.read_text())
    ]
    assert {source for source, _ in told} == {".", "./sealkit-….whl"} and {extra for _, extra in told} <= set(extras)


def test_only_the_gateway_speaks_to_the_network() -> None:
    found = third_party()
    speakers = {path for name in ("aiohttp", "httpx", "requests", "urllib3") for path in found.get(name, set())}
    assert speakers <= {"sealkit/agents/models/transport.py"}
