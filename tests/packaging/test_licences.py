"""What sealkit runs on may be used, changed and passed on by anyone."""

from __future__ import annotations

import importlib.metadata
import re
from email.message import Message
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PERMISSIVE = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "PSF-2.0", "Zlib"}
# Copyleft by file: it binds who changes the package's own files, not who imports it.
MPL = {"MPL-2.0", "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)"}
BY_NAME = {"orjson": MPL, "certifi": MPL}
CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License",
    "License :: OSI Approved :: BSD License",
    "License :: OSI Approved :: MIT License",
}


def is_permissive(metadata: Message, also: frozenset[str] = frozenset()) -> bool:
    """By the SPDX expression where there is one (each AND part needs one allowed OR part), else by classifiers."""
    expression = metadata.get("License-Expression")
    if expression:
        parts = re.sub(r"[()]", "", expression).split(" AND ")
        return all(set(part.split(" OR ")) & (PERMISSIVE | also) for part in parts)
    found = {text for text in metadata.get_all("Classifier") or [] if text.startswith("License ::")}
    return bool(found) and found <= CLASSIFIERS | also


def described(**fields: str) -> Message:
    message = Message()
    for name, value in fields.items():
        message[name.replace("_", "-")] = value
    return message


@pytest.mark.parametrize(
    ("metadata", "permissive"),
    [
        (described(License_Expression="MIT"), True),
        (described(License_Expression="BSD-3-Clause AND (GPL-3.0-only OR MIT)"), True),
        (described(License_Expression="BSD-3-Clause AND GPL-3.0-only"), False),
        (described(Classifier="License :: OSI Approved :: MIT License"), True),
        (described(Classifier="License :: OSI Approved :: GNU Affero General Public License v3"), False),
        (described(License="MIT"), False),
    ],
)
def test_licences_are_told_apart(metadata: Message, permissive: bool) -> None:
    assert is_permissive(metadata) is permissive


@pytest.mark.parametrize("name", re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.M))
def test_a_run_time_dependency_is_permissive(name: str) -> None:
    assert is_permissive(importlib.metadata.metadata(name), frozenset(BY_NAME.get(name, ())))
