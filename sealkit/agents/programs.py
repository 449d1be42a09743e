"""Ends a program with everything that it started, also what left its session.

    mark = new_mark()
    program = subprocess.Popen(..., env={**environment, **mark}, start_new_session=True)
    ...
    end(program, mark)

The process group is killed first. What has left it (`setsid`, a double fork) still has the mark in its environment: on
Linux every process that shows it is killed, until none does. Not found: a process that was started with an environment
that was emptied, one of another user, and on other systems whatever has left the group.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

MARK: Final = "SEALKIT_ATTEMPT"
_PROCESSES: Final = Path("/proc")
_MOST_ROUNDS: Final = 100  # one that forks faster than it is killed is left to the system's own limits


def new_mark() -> dict[str, str]:
    """A variable that no other program has, to be added to the environment of one."""
    return {MARK: secrets.token_hex(16)}


def end(program: subprocess.Popen[bytes], mark: Mapping[str, str]) -> None:
    """Nothing that the program started runs after this, as far as it can be found; ending it twice does nothing."""
    if program.returncode is None:
        # Not waited for yet, so the group is still the program's own: it was started as a leader of a session.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, signal.SIGKILL)
    for _ in range(_MOST_ROUNDS):
        if not sum(_kill(number, f"{MARK}={mark[MARK]}".encode()) for number in _numbers()):
            break
    program.wait()


def _numbers() -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from (int(name) for name in os.listdir(_PROCESSES) if name.isdigit())


def _kill(number: int, mark: bytes) -> bool:
    """Whether process `number` had the mark, and was killed."""
    try:
        opened = os.pidfd_open(number)  # so that no other process of this number is killed in its place
    except (OSError, AttributeError):
        return False
    try:
        if mark not in (_PROCESSES / str(number) / "environ").read_bytes().split(b"\0"):
            return False
        signal.pidfd_send_signal(opened, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(opened)
    return True
