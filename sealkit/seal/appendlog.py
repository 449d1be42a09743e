"""A file of lines that only grows, written by one process at a time.

An append is one write and one fsync, after a check that the file ends where the writer thinks it ends, in a
newline; so nothing is ever glued to half a line, and the work does not grow with the file. The lock is that
of `flock`, held on the file itself, which is never replaced.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from sealkit.files import Folder
from sealkit.seal.waiting import take_lock
from sealkit.wire.canon import MAX_LINE
from sealkit.wire.errors import HarnessError, MalformedError, UntrustedError
from sealkit.wire.events import MAX_CALLS

_CHUNK = 1 << 16


class AppendLog:
    """One open append-only file; use it as a context manager. `open_log` makes one."""

    __slots__ = ("descriptor", "path")

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    def __enter__(self) -> AppendLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.descriptor)  # gives the lock back too

    def lock(self, *, shared: bool = False) -> None:
        """Wait until no other process writes here (`shared`), or reads or writes; lasts until this is closed.

        See `waiting.take_lock`: it says what it waits for, and raises `HarnessError` if that does not end.
        """
        take_lock(self.descriptor, self.path, shared=shared)

    def size(self) -> int:
        """How many bytes the file has now."""
        return os.fstat(self.descriptor).st_size

    def append(self, line: bytes, *, due: int) -> None:
        """`line` and a newline stand behind the first `due` bytes, on disk; `UntrustedError` if there are others."""
        if b"\n" in line or len(line) > MAX_LINE:
            raise MalformedError(f"a line of {len(line)} bytes, due one line of at most {MAX_LINE}", where=self._where)
        self._append(line + b"\n", due)

    def append_lines(self, lines: bytes, *, due: int) -> None:
        """What `append` does, of several lines that each end in their newline."""
        if not lines.endswith(b"\n") or len(lines) > MAX_CALLS:
            raise MalformedError(f"{len(lines)} bytes, due whole lines, at most {MAX_CALLS} bytes", where=self._where)
        self._append(lines, due)

    def _append(self, data: bytes, due: int) -> None:
        self.check_end(due)
        written, failure = 0, "the file system took a part of it"
        try:
            written = os.write(self.descriptor, data)
            os.fsync(self.descriptor)
        except OSError as error:
            written, failure = -1, error.strerror or str(error)
        if written != len(data):
            os.ftruncate(self.descriptor, due)
            raise HarnessError(f"nothing was appended: {failure}", where=self._where, remedy="make room, run it again")

    def check_end(self, due: int) -> None:
        """Raise unless the file has `due` bytes, the last of which is a newline."""
        size = self.size()
        if size != due:
            raise UntrustedError(
                f"found {size} bytes, due {due}", where=self._where, remedy="`sealkit run` repairs what a crash left"
            )
        if due and os.pread(self.descriptor, 1, due - 1) != b"\n":
            raise UntrustedError(f"no newline before byte {due}", where=self._where, remedy="the file was edited")

    def last_line(self, end: int) -> bytes:
        """The line, without its newline, that ends with byte number `end`."""
        start, line = end - 1, b""
        while start > 0 and len(line) <= MAX_LINE:
            size = min(_CHUNK, start)
            chunk = self.read(start - size, size)
            newline = chunk.rfind(b"\n")
            line = chunk[newline + 1 :] + line
            start -= size
            if newline >= 0:
                break
        return line

    def read(self, offset: int, size: int) -> bytes:
        """At most `size` bytes from `offset`."""
        return os.pread(self.descriptor, size, offset)

    def cut(self, size: int) -> None:
        """The file has its first `size` bytes, on disk, after this. Whoever cuts has kept the rest elsewhere."""
        os.ftruncate(self.descriptor, size)
        os.fsync(self.descriptor)

    @property
    def _where(self) -> str:
        return str(self.path)


def open_log(folder: Folder, name: str, *, writes: bool, create: bool = False) -> AppendLog:
    """The log `name` in `folder`; `FileNotFoundError` if there is none and it is not to be made."""
    flags = (os.O_RDWR | os.O_APPEND) if writes else os.O_RDONLY
    if not create:
        return AppendLog(folder.path / name, folder.open(name, flags))
    log = AppendLog(folder.path / name, folder.open(name, flags | os.O_CREAT))
    if not log.size():
        os.fsync(folder.descriptor)
    return log
