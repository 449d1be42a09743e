"""What a wheel carries: sealkit as in the checkout, the reference study as data, and nothing beside them."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from hatchling import build

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    before = Path.cwd()
    os.chdir(ROOT)  # a build backend is called in the project's folder
    try:
        return zipfile.ZipFile(folder / build.build_wheel(str(folder)))
    finally:
        os.chdir(before)


def content(wheel: zipfile.ZipFile, prefix: str) -> dict[str, bytes]:
    return {name.removeprefix(prefix): wheel.read(name) for name in wheel.namelist() if name.startswith(prefix)}


def files(*patterns: str) -> dict[str, bytes]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for pattern in patterns
        for path in ROOT.glob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_only_sealkit_reaches_site_packages(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"sealkit"}


def test_its_own_source_is_that_of_the_checkout(wheel: zipfile.ZipFile) -> None:
    own = {name: data for name, data in content(wheel, "").items() if name.startswith("sealkit/")}
    own = {name: data for name, data in own.items() if not name.startswith("sealkit/reference/")}
    assert own == files(
        "sealkit/**/*.py", "sealkit/py.typed", "sealkit/**/*.json", "sealkit/**/*.j2", "sealkit/**/*.md"
    )


def test_the_reference_study_is_that_of_the_checkout(wheel: zipfile.ZipFile) -> None:
    reference = content(wheel, "sealkit/reference/")
    assert reference == files(
        "worlds/**/*",
        "verifiers/**/*",
        "mutations/**/*",
        "plans/*.yaml",
        "docs/example/ab-prompts/**/*",
        "requirements.lock",
    )
    assert {"requirements.lock", "plans/dry-run.yaml", "worlds/house/SPEC.md"} <= set(reference)


def test_it_says_python_licence_and_typing(wheel: zipfile.ZipFile) -> None:
    (metadata,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    text = wheel.read(metadata).decode()
    assert "\nRequires-Python: >=3.11\n" in text
    assert "\nLicense-Expression: Apache-2.0\n" in text
    assert "sealkit/py.typed" in wheel.namelist()
