"""A program that is spoken to in lines: started without a shell, every wait bounded, killed with all it started."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, cast

from sealkit.agents.programs import end, new_mark
from sealkit.wire.errors import HarnessError

MOST_LINE: Final = 1 << 20
SECONDS_PER_LINE: float = 120
# What the program gets of this process's environment. Keys for models are not among it.
PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "SYSTEMROOT")
_CHUNK: Final = 1 << 16
_NEWLINE: Final = b"\n"


class Pipe:
    """A running program; `HarnessError` names it whatever goes wrong with it."""

    def __init__(self, command: Sequence[str], folder: Path, *, seconds: float | None = None) -> None:
        self._name = command[0]
        self._seconds = SECONDS_PER_LINE if seconds is None else seconds
        self._waiting = b""
        self._mark = new_mark()
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        try:
            self._program = subprocess.Popen(
                command, cwd=folder, env={**environment, **self._mark}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise HarnessError(f"it does not start: {error}", where=self._name) from error
        self._in = cast(IO[bytes], self._program.stdin)
        self._out = cast(IO[bytes], self._program.stdout)
        os.set_blocking(self._in.fileno(), False)

    def send(self, line: bytes) -> None:
        """Write one line."""
        rest, deadline = memoryview(line + _NEWLINE), time.monotonic() + self._seconds
        while rest:
            self._wait(self._in, selectors.EVENT_WRITE, deadline, "read its input")
            try:
                rest = rest[os.write(self._in.fileno(), rest) :]
            except OSError as error:
                raise self._ended() from error

    def receive(self) -> bytes:
        """The next line, without its end."""
        deadline = time.monotonic() + self._seconds
        while _NEWLINE not in self._waiting:
            if len(self._waiting) > MOST_LINE:
                raise HarnessError(f"wrote a line of more than {MOST_LINE} bytes", where=self._name)
            self._wait(self._out, selectors.EVENT_READ, deadline, "write a line")
            chunk = os.read(self._out.fileno(), _CHUNK)
            if not chunk:
                raise self._ended()
            self._waiting += chunk
        line, _, self._waiting = self._waiting.partition(_NEWLINE)
        if len(line) > MOST_LINE:
            raise HarnessError(f"wrote a line of more than {MOST_LINE} bytes", where=self._name)
        return line

    def close(self) -> None:
        """Kill the program and what it started; closing twice does nothing."""
        end(self._program, self._mark)
        self._in.close()
        self._out.close()

    def _wait(self, stream: IO[bytes], event: int, deadline: float, what: str) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(stream, event)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise HarnessError(f"did not {what} for {self._seconds:g} seconds", where=self._name)

    def _ended(self) -> HarnessError:
        """The program gave up its end of a pipe: it is over, or as good as that."""
        end(self._program, self._mark)  # the status of one that has ended already stays what it was
        status = self._program.returncode
        return HarnessError(f"it ended in the middle of an episode (status {status})", where=self._name)
