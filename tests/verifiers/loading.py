"""The verifiers of this repository, loaded by path as sealkit loads them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import cast

from sealkit.wire.episode import Trusted
from sealkit.wire.verdict import Verdict
from sealkit.world.loader import load_package

ROOT = Path(__file__).parents[2]


def _check(name: str) -> Callable[..., Verdict]:
    package = load_package(ROOT / "verifiers" / name, f"tests_verifiers_{name}")
    return cast(Callable[..., Verdict], import_module(f"{package.__name__}.check").check)


_witness, replay = _check("witness"), _check("replay")


def witness(trusted: Trusted, line: bytes) -> Verdict:
    """The verdict of `verifiers/witness`."""
    return _witness(trusted, line)
