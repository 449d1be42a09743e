"""A program that is spoken to in lines: started without a shell, every wait bounded, killed with all it started."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, cast

from sealkit.agents.models.secrets import Watch
from sealkit.agents.programs import MOST_WORDS, end, last_words, new_mark
from sealkit.wire.errors import HarnessError
from sealkit.wire.text import plain, shortened

MOST_LINE: Final = 1 << 20
SECONDS_PER_LINE: float = 120
QUIET_SECONDS: float = 10  # after so many, who waits is told
# What the program gets of this process's environment. Keys for models are not among it.
PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "SYSTEMROOT")
_CHUNK: Final = 1 << 16
_NEWLINE: Final = b"\n"
_told: Final = set[str]()  # the programs that this process has said something of


class Pipe:
    """A running program; `HarnessError` names it whatever goes wrong with it."""

    def __init__(self, command: Sequence[str], folder: Path, *, seconds: float | None = None) -> None:
        self._command = " ".join(command)
        self._name, self._folder = command[0], Path(os.path.abspath(folder))
        self._seconds = SECONDS_PER_LINE if seconds is None else seconds
        self._waiting, self._words, self._silent = b"", b"", False
        self._mark = new_mark()
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        try:
            self._program = subprocess.Popen(
                command, cwd=folder, env={**environment, **self._mark}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise HarnessError(f"it does not start: {error}", where=self._name) from error
        self._in = cast(IO[bytes], self._program.stdin)
        self._out = cast(IO[bytes], self._program.stdout)
        self._err = cast(IO[bytes], self._program.stderr)
        for pipe in (self._in, self._err):
            os.set_blocking(pipe.fileno(), False)

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
        self._err.close()

    def _wait(self, stream: IO[bytes], event: int, deadline: float, what: str) -> None:
        """Return once the stream is ready; what the program writes to its standard error is taken in meanwhile."""
        quiet = time.monotonic() + QUIET_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(stream, event)
            if not self._silent:
                selector.register(self._err, selectors.EVENT_READ)
            while True:
                now = time.monotonic()
                until = deadline if now >= quiet else min(deadline, quiet)
                ready = [key.fileobj for key, _ in selector.select(max(0.0, until - now))]
                if stream in ready:
                    return
                if self._err in ready and not self._listen():
                    selector.unregister(self._err)
                now = time.monotonic()
                if now >= deadline:
                    raise HarnessError(f"did not {what} for {self._seconds:g} seconds{self._last()}", where=self._name)
                if now >= quiet and not ready:
                    self._tell(what)

    def _listen(self) -> bool:
        """Take in some of its standard error; False at its end."""
        chunk = os.read(self._err.fileno(), _CHUNK)
        self._words = (self._words + chunk)[-MOST_WORDS:]
        self._silent = not chunk
        return bool(chunk)

    def _tell(self, what: str) -> None:
        """Say once that the program is waited for: else one that keeps its lines to itself is minutes of silence."""
        if self._command not in _told:
            _told.add(self._command)
            has = f"it has {self._seconds:g} s; does it flush what it writes?"
            words = f"the program `{self._command}` did not {what} for {QUIET_SECONDS:g} s; {has}"
            sys.stderr.write(f"{plain(words)}\n")

    def _last(self) -> str:
        """Its last words, and not those that hold what looks like a key."""
        with contextlib.suppress(BlockingIOError):
            while not self._silent and self._listen():
                pass
        last = last_words(self._words, self._folder)
        if Watch(()).found_in(self._words):
            return "; its last words hold what looks like a key"
        return f"; its last words: {shortened(last, 300)}" if last else ""

    def _ended(self) -> HarnessError:
        """The program gave up its end of a pipe: it is over, or as good as that."""
        end(self._program, self._mark)  # the status of one that has ended already stays what it was
        status = self._program.returncode
        what = f"it ended in the middle of an episode (status {status}){self._last()}"
        return HarnessError(what, where=self._name)
