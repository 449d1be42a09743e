"""Ends a program with everything that it started, also what left its session.

    mark = new_mark()
    program = subprocess.Popen(..., env={**environment, **mark}, start_new_session=True)
    ...
    end(program, mark)
    last_words(stderr, folder), quoted(line)     # what it wrote, to be told to whoever wrote the program

The process group is killed first. What has left it (`setsid`, a double fork) still has the mark in its environment: on
Linux every process that shows it is killed, until none does. Not found: a process that was started with an environment
that was emptied, one of another user, and on other systems whatever has left the group.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sealkit.agents.models.secrets import Watch

MARK: Final = "SEALKIT_ATTEMPT"
MOST_WORDS: Final = 1 << 14  # of what a program writes to its standard error, the end
_QUOTED: Final = 60
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


def last_words(words: bytes, folder: Path) -> str:
    """The last line that a program wrote to its standard error, behind the place that a traceback names; or nothing.

    Paths in `folder` are told from there on.

    >>> last_words(b'  File "/study/agent.py", line 3, in <module>\\nValueError: boom\\n', Path("/study"))
    'agent.py line 3: ValueError: boom'
    """
    text = words.decode(errors="replace").replace(f"{folder}{os.sep}", "")
    lines = text.strip().splitlines()
    places = re.findall(r'^  File "([^"]+)", line (\d+)', text, re.MULTILINE)
    own = [f"{path} line {line}: " for path, line in places if not path.startswith(("/", "<"))]
    return f"{own[-1] if own else ''}{lines[-1]}" if lines else ""


def quoted(line: bytes, watch: Watch) -> str:
    """How what a program wrote begins, for its author to know it again; nothing of it if it holds a key."""
    if watch.found_in(line):
        return "what looks like a key"
    if not line:
        return "nothing"
    return f"{line[:_QUOTED].decode(errors='replace')!a}{'…' if len(line) > _QUOTED else ''}"


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
