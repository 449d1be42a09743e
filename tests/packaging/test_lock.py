"""The locks pin everything by hash, agree with each other, and cover what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dask.lock", "requirements-build.lock", "requirements-dev.lock")
PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[0-9][0-9a-z.]*)((?: --hash=sha256:[0-9a-f]{64})+)\Z")


def pins(text: str) -> dict[str, str]:
    """Name → version; fails on any line that is not a pin with its hashes."""
    found: dict[str, str] = {}
    for entry in re.sub(r" \\\n +", " ", text).splitlines():
        match = PIN.match(entry)
        assert match, f"not a pin with hashes: {entry[:80]}"
        found[match["name"]] = match["version"]
    return found


def locked(name: str) -> dict[str, str]:
    return pins((ROOT / name).read_text())


def project() -> dict[str, list[str]]:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {
        "run": content["project"]["dependencies"],
        "dask": content["project"]["optional-dependencies"]["dask"],
        "build": content["build-system"]["requires"],
    }


@pytest.mark.parametrize(
    "text",
    [
        "click==8.1.0\n",
        "click>=8 \\\n    --hash=sha256:" + "0" * 64 + "\n",
        "click @ https://example.org/click.whl \\\n    --hash=sha256:" + "0" * 64 + "\n",
        "--extra-index-url https://example.org/simple\n",
        "-c constraints.txt\n",
    ],
)
def test_what_is_no_pin_is_found(text: str) -> None:
    with pytest.raises(AssertionError, match="not a pin"):
        pins(text)


@pytest.mark.parametrize("name", LOCKS)
def test_every_line_is_a_pin_with_hashes(name: str) -> None:
    assert locked(name)


def test_the_locks_agree() -> None:
    dev = locked("requirements-dev.lock")
    for name in LOCKS:
        assert locked(name).items() <= dev.items()


@pytest.mark.parametrize(
    ("lock", "part"),
    [("requirements.lock", "run"), ("requirements-dask.lock", "dask"), ("requirements-build.lock", "build")],
)
def test_the_lock_satisfies_the_project(lock: str, part: str) -> None:
    versions = locked(lock)
    for text in project()[part]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), text


def test_what_everybody_installs_is_free_of_the_extra() -> None:
    assert not {"dask", "distributed", "tornado"} & set(locked("requirements.lock"))
    assert locked("requirements.lock").items() <= locked("requirements-dask.lock").items()


def test_the_dev_lock_holds_what_was_asked_for() -> None:
    asked = [line for line in (ROOT / "requirements-dev.in").read_text().splitlines() if line[:1] not in ("", "#", "-")]
    assert set(asked) <= set(locked("requirements-dev.lock"))
