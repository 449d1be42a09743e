"""A lock that others hold is waited for in words, not in silence, and not for ever."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from sealkit.seal import waiting
from tests.studies import ID, PLAN, call, ok

WHAT = "waiting for its lock, which "


class Clock:
    """Time that passes only in sleep; `then` is what happens after that many sleeps."""

    def __init__(self, then: Callable[[], None] = lambda: None, after: int = -1) -> None:
        self.now, self.slept, self.then, self.after = 0.0, 0, then, after

    def sleep(self, seconds: float) -> None:
        self.now += 0.5
        self.slept += 1
        if self.slept == self.after:
            self.then()


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Clock], Clock]:
    def use(clock: Clock) -> Clock:
        monkeypatch.setattr(waiting, "sleep", clock.sleep)
        monkeypatch.setattr(waiting, "monotonic", lambda: clock.now)
        return clock

    return use


@pytest.mark.parametrize(
    "command", [["verify", "receipts"], ["run", PLAN, "--jobs", "1"], ["analyse", PLAN], ["publish", PLAN]]
)
def test_a_lock_that_is_never_given_back_is_named_and_given_up(
    command: list[str], study: Path, passing: Callable[[Clock], Clock]
) -> None:
    clock = passing(Clock())
    with (study / "receipts" / ID / "journal.jsonl").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        outcome = call(*command, cwd=study)
    assert outcome.code == 3 and outcome.err.count(WHAT) == 1
    told, refused = outcome.err.splitlines()
    assert "journal.jsonl: " + WHAT in told and told.endswith(" holds; at most 60 s")
    assert "journal.jsonl: locked for 60 s by " in refused and "end that process, or wait until it has ended" in refused
    assert 60 <= clock.now < 62


def test_a_lock_that_is_given_back_is_taken(study: Path, passing: Callable[[Clock], Clock]) -> None:
    file = (study / "receipts" / ID / "journal.jsonl").open()
    fcntl.flock(file, fcntl.LOCK_EX)
    passing(Clock(file.close, after=6))
    assert WHAT in ok(call("verify", "receipts", "--no-remember", cwd=study)).err


def test_a_short_wait_is_not_worth_a_word(study: Path, passing: Callable[[Clock], Clock]) -> None:
    file = (study / "receipts" / ID / "journal.jsonl").open()
    fcntl.flock(file, fcntl.LOCK_EX)
    passing(Clock(file.close, after=1))
    assert ok(call("verify", "receipts", "--no-remember", cwd=study)).err == ""


def test_the_process_that_holds_a_lock_is_named_where_the_system_tells(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    passing: Callable[[Clock], Clock],
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    inode = (tmp_path / "file").stat().st_ino
    locks = tmp_path / "locks"  # as proc_locks(5) has it
    locks.write_text(
        f"1: POSIX  ADVISORY  READ 5433 08:01:7864448 128 128\n2: FLOCK  ADVISORY  WRITE 2001 08:01:{inode} 0 EOF\n"
    )
    monkeypatch.setattr(waiting, "_LOCKS", locks)
    with (tmp_path / "file").open() as holder, (tmp_path / "file").open() as file:
        fcntl.flock(holder, fcntl.LOCK_SH)
        passing(Clock(holder.close, after=4))
        waiting.take_lock(file.fileno(), tmp_path / "file", shared=False)
    assert "which process 2001, perhaps another sealkit, holds" in capsys.readouterr().err
