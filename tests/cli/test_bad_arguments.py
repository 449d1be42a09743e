"""Whatever is given to a command: one message, one exit code, never a traceback."""

from __future__ import annotations

import os
import shutil
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sealkit.cli import COMMANDS
from sealkit.cli.out import one_line
from sealkit.wire.errors import UsageError
from tests.studies import PLAN, ROOT, call

# Called in this process with SEALKIT_TRACEBACK set: a defect of sealkit raises, and fails the test.

ON_A_PLAN: list[list[str]] = [
    ["check"], ["pilot"], ["seal"], ["run", "--jobs", "1"], ["run", "--smoke"], ["analyse"], ["show"], ["status"],
    ["amend", "--dry-run"], ["amend", "--reason", "x"], ["publish", "--dry-run"],
]  # fmt: skip


def _binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 20)


def _text(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None


PLANS: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "folder": lambda path: path.mkdir(),
    "empty": _text(b""),
    "binary": _binary,
    "null": _text(b"null\n"),
    "list": _text(b"[1, 2]\n"),
    "number": _text(b"5\n"),
    "control": _text(b"a: \x1b[31m\n"),
    "latin": _text("título: x\n".encode("latin-1")),
    "utf16": _text("sealkit: 1\n".encode("utf-16")),
    "deep": _text(b"[" * 5000),
    "long": _text(b"a: " + b"x" * 3_000_000),
    "almost": _text(b"sealkit: 1\nid: x\n"),
    "tab": _text(b"sealkit:\t1\n\tid: x\n"),
    "document twice": _text(b"sealkit: 1\n---\nsealkit: 1\n"),
    "tag": _text(b"sealkit: !!python/object/apply:os.system ['touch owned']\n"),
    "link": lambda path: path.symlink_to("/etc/passwd"),
    "loop": lambda path: path.symlink_to(path.name),
    "pipe": lambda path: os.mkfifo(path),
}


@pytest.mark.parametrize("reason", ["the key was swordfish-and-more", "sk-abcdefghijklmnopqrstuvwx ran out"])
def test_a_reason_that_holds_a_key_is_refused_and_not_quoted(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEALKIT_API_KEY_AGENT", "swordfish-and-more")
    with pytest.raises(UsageError, match="what looks like a key") as refused:
        one_line(reason, option="--reason")
    assert reason not in str(refused.value)


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_that_is_none_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    PLANS[kind](tmp_path / PLAN)
    for command in ON_A_PLAN:
        outcome = call(*command, PLAN, cwd=tmp_path)
        if command[0] == "status":
            off = outcome.code in (1, 2) and (": does not hold" in outcome.out or ": the plan is off" in outcome.out)
            assert off or "there is no such plan" in outcome.err
        else:
            assert outcome.code in (1, 2) and outcome.err.startswith(f"sealkit: {PLAN}"), command
        assert all(c.isprintable() or c == "\n" for c in outcome.said)
    assert not (tmp_path / "owned").exists() and not (tmp_path / "receipts").exists()


PATHS = [
    "", ".", "..", "/", "plans", "plans/", "plans/none.yaml", "none/plans/x.yaml", "/etc/passwd", "/dev/null", "/dev/zero",
    "x" * 300, "plans/" + "y" * 300 + ".yaml", "plans/\udcff.yaml", "plans/é.yaml", "~", "-", "plans/part.yml",
    "/proc/self/mem", "plans/part.yaml/", "plans/../plans/none.yaml",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=ascii)
def test_a_path_that_leads_nowhere_is_refused(path: str, tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    for command in (*ON_A_PLAN, ["verify"], ["verify", "--replay"], ["conformance"], ["schema"]):
        outcome = call(*command, path, cwd=tmp_path)
        assert outcome.code in (1, 2, 3) and outcome.said.strip(), (command, outcome)


@pytest.mark.parametrize(
    "path", ["/", "/etc/passwd", "/dev/null", "/etc", "x" * 300, "plans/part.yaml/", ".."], ids=ascii
)
@pytest.mark.parametrize("command", [["init"], ["demo", "--into"]], ids=["init", "demo"])
def test_a_place_where_no_study_can_be_made_is_refused(command: list[str], path: str, tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / PLAN).touch()
    (tmp_path / "in").mkdir()
    outcome = call(*command, path, cwd=tmp_path / "in" if path == ".." else tmp_path)
    assert outcome.code in (2, 3) and outcome.err.startswith("sealkit: ")


@pytest.fixture(scope="module")
def unsealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan, never sealed, that no command line here can harm."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "plans").mkdir()
    shutil.copyfile(ROOT / "plans" / "v1.yaml", folder / PLAN)
    return folder


WORDS = st.one_of(
    st.sampled_from([
        *COMMANDS, PLAN, "receipts", "--json", "--help", "--jobs", "2", "-1", "--smoke", "--replay", "--expect", "--entry",
        "0", "--scenario", "noise:0", "--debug", "arm=oracle", "--", "-", "--into", "--reason", "--amendment",
    ]),
    st.text(alphabet=string.printable, max_size=8),
    st.text(max_size=4).filter(lambda text: "\0" not in text),
)  # fmt: skip


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(WORDS, max_size=4))
def test_no_command_line_ends_in_a_traceback(unsealed: Path, words: list[str]) -> None:
    if {"init", "demo", "conformance"} & set(words):
        return  # they write into, or import from, whatever they are given
    outcome = call(*words, cwd=unsealed)
    assert outcome.code in (0, 1, 2, 3)


def test_a_command_that_cannot_write_says_so(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No room, no right: the machine failed, and nobody calls it a defect."""

    def full(*arguments: object, **named: object) -> int:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr("sealkit.cli.init.make_study", full)
    outcome = call("init", "new", cwd=study)
    assert (
        outcome.code == 3
        and outcome.err == "sealkit: somewhere: No space left on device; make room, and run it again\n"
    )


def test_a_defect_is_called_one(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("sealkit.cli.init.make_study", broken)
    with pytest.raises(KeyError):
        call("init", "new", cwd=study)
    outcome = call("init", "new", cwd=study, traceback=False)
    assert outcome.code == 3
    assert outcome.err == "sealkit: a defect in sealkit: KeyError: 'lost'; set SEALKIT_TRACEBACK=1 to see where\n"
