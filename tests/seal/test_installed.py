"""What is installed, against `importlib.metadata` as the oracle."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from sealkit.seal.closure import DEPENDENCIES
from sealkit.seal.installed import versions


def test_every_dependency_has_the_version_that_importlib_finds() -> None:
    found = dict(versions(DEPENDENCIES))
    assert found.keys() >= {"click", "msgspec", "numpy", "ruamel-yaml", "scipy"}
    assert found == {name: metadata.version(name) for name in found}


def test_what_a_distribution_requires_is_found_and_what_only_an_extra_requires_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = 'Requires-Dist: deep_down>=1\nRequires-Dist: for-tests; extra == "test"\n'
    write(tmp_path, "top-1.0.dist-info", f"Name: top\nVersion: 1.0\n{needs}\nRequires-Dist: in-the-readme\n")
    write(tmp_path, "Deep.Down-2.5.dist-info", "Name: Deep.Down\nVersion: 2.5\n")
    write(tmp_path, "for_tests-3.dist-info", "Name: for-tests\nVersion: 3\n")
    write(tmp_path, "in_the_readme-4.dist-info", "Name: in-the-readme\nVersion: 4\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "absent"), str(tmp_path)])
    assert dict(versions(["top", "nowhere"])) == {"top": "1.0", "deep-down": "2.5"}


def test_the_first_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a", "top-1.0.dist-info", "Name: top\nVersion: 1.0\n")
    write(tmp_path / "b", "top-2.0.dist-info", "Name: top\nVersion: 2.0\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "b"), str(tmp_path / "a")])
    assert dict(versions(["top"])) == {"top": "2.0"}


def write(place: Path, name: str, text: str) -> None:
    folder = place / name
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(text)
