"""Published studies: the small one as it is, and one whose texts are hostile and whose tracker is excluded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import _once
from tests.publish.hostile import CLAIM, SAYS, TITLE
from tests.studies import PLAN, SMALL, call, make_study, ok, plan_text

STRICT = '''"""Rejects whatever the tracker did."""

from sealkit.wire.episode import Trusted
from sealkit.wire.verdict import Accepted, Reason, Rejected, Verdict


def check(trusted: Trusted, episode: bytes) -> Verdict:
    if trusted.slot["arm"] == "tracker":
        return Rejected(reasons=(Reason(origin="boundary", where="acts[1]", found="\\u202e<b>|", due="nothing"),))
    return Accepted()
'''


@pytest.fixture
def published(published_once: Path, tmp_path: Path) -> Path:
    """A copy of the small study after `publish`."""
    return Path(shutil.copytree(published_once, tmp_path / "study"))


@pytest.fixture
def edition(published: Path) -> Path:
    """The folder of its edition."""
    (folder,) = (published / "publications").iterdir()
    return folder


@pytest.fixture(scope="session")
def held_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with hostile texts and a verifier of its own that excludes an arm, published."""

    def make(folder: Path) -> None:
        make_study(folder, SMALL)
        text = plan_text(SMALL).replace("verifiers: [witness, replay]", "verifiers: [witness, strict]")
        text = text.replace("    text: The oracle succeeded.\n", f"    text: {CLAIM}\n")
        text = text.replace("    says: the oracle succeeds 4 of 4\n", f"    says: {SAYS}\n")
        lines = [f"title: {TITLE}" if line.startswith("title: ") else line for line in text.splitlines()]
        (folder / PLAN).write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "verifiers" / "strict").mkdir()
        (folder / "verifiers" / "strict" / "__init__.py").write_text("", encoding="utf-8")
        (folder / "verifiers" / "strict" / "check.py").write_text(STRICT, encoding="utf-8")
        for command in (("seal", PLAN), ("run", PLAN, "--jobs", "1"), ("analyse", PLAN), ("publish", PLAN)):
            ok(call(*command, cwd=folder))

    return _once(tmp_path_factory, "held", make)


@pytest.fixture
def held(held_once: Path, tmp_path: Path) -> Path:
    """A copy of the held study."""
    return Path(shutil.copytree(held_once, tmp_path / "held"))
