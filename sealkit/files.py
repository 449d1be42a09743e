"""Opening and replacing files in a folder that a stranger may have made.

Everything that sealkit reads of a study goes through here: a regular file, reached without following any link
inside the study, never blocking on a pipe. The study folder itself may be reached over links: the reader named
it. What is read is bounded, and the bytes that are parsed are the bytes that were read once.

Refused, each by name: links, folders, pipes, sockets, devices, `..`, NUL and other characters that no path
of a study holds, files above their limit. A file that is not there is `UntrustedError`, or None from
`read_if_there`, which is for files that may rightly be absent.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from types import TracebackType

from sealkit.wire.errors import HarnessError, MalformedError, UntrustedError

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHUNK = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
_KINDS = (
    (stat.S_ISLNK, "a link"), (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISREG, "a file"),
    (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
)  # fmt: skip

_MAY_NOT = "give yourself the right to write there, or work in a copy of the study"
_ROOM = "make room, and run it again"
_REMEDIES = {
    errno.EACCES: _MAY_NOT, errno.EPERM: _MAY_NOT, errno.EROFS: _MAY_NOT, errno.ENOSPC: _ROOM, errno.EDQUOT: _ROOM,
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
}  # fmt: skip


class Folder:
    """An open folder, in which files are opened by name; `open_folder` makes one. Close it, or use `with`."""

    __slots__ = ("descriptor", "path")

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the folder back; closing twice does nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """A descriptor of the regular file `name`; `flags` are those of `os.open`.

        Raises `FileNotFoundError` if there is none, `MalformedError` if it is no regular file.
        """
        try:
            descriptor = os.open(name, flags | _FILE, 0o644, dir_fd=self.descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._refusal(name, error) from error
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            os.close(descriptor)
            raise _not_regular(self.path / name, mode)
        return descriptor

    def below(self, name: str) -> Folder:
        """The folder `name` in this one."""
        try:
            return Folder(self.path / name, os.open(name, _DIRECTORY, dir_fd=self.descriptor))
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._refusal(name, error, due="a folder") from error

    def read(self, name: str, *, limit: int) -> bytes | None:
        """The bytes of the file `name`, at most `limit`; None if there is none."""
        try:
            descriptor = self.open(name)
        except FileNotFoundError:
            return None
        with open(descriptor, "rb", buffering=0) as file:
            parts, left = [], limit + 1
            due = os.fstat(descriptor).st_size + 1  # asked for more, `read` would first make room for all of it
            while left and (part := file.read(min(left, due))):
                parts.append(part)
                left -= len(part)
                due = _CHUNK
        if not left:
            raise MalformedError(f"more than {limit} bytes", where=spell(self.path / name))
        return b"".join(parts)

    def replace(self, name: str, data: bytes) -> None:
        """`name` holds `data`, on disk, after this; a crash leaves the old content or the new, never a mixture."""
        os.replace(self._write(name, (data,)), name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        os.fsync(self.descriptor)

    def create(self, name: str, chunks: Iterable[bytes]) -> None:
        """Like `replace`, but raises `FileExistsError`, changing nothing, if there is anything called `name`.

        Whatever is raised on the way to the last chunk leaves nothing.
        """
        temporary, place = self._write(name, chunks), self.descriptor
        try:
            # A rename would replace what is there; a link is made only where nothing is.
            os.link(temporary, name, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError as error:
            what = f"cannot be put there: {error.strerror}"
            raise HarnessError(what, where=spell(self.path / name), remedy="a file system with hard links") from error
        finally:
            os.unlink(temporary, dir_fd=place)
        os.fsync(place)

    def has(self, name: str) -> bool:
        """Whether there is anything called `name`."""
        try:
            os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def remove(self, name: str) -> bool:
        """There is no file `name`, on disk, after this; whether there was one."""
        try:
            os.unlink(name, dir_fd=self.descriptor)
        except FileNotFoundError:
            return False
        os.fsync(self.descriptor)
        return True

    def _write(self, name: str, chunks: Iterable[bytes]) -> str:
        """The name of a new file beside `name` that holds these bytes, on disk."""
        temporary = f".{name}.tmp"
        try:
            descriptor = os.open(temporary, _NEW, 0o644, dir_fd=self.descriptor)
        except FileExistsError:  # a crash left it
            os.unlink(temporary, dir_fd=self.descriptor)
            descriptor = os.open(temporary, _NEW, 0o644, dir_fd=self.descriptor)
        except OSError as error:
            raise self._refusal(temporary, error) from error
        try:
            for chunk in chunks:
                write_all(descriptor, chunk)
            os.fsync(descriptor)
        except BaseException:
            os.unlink(temporary, dir_fd=self.descriptor)
            raise
        finally:
            os.close(descriptor)
        return temporary

    def _refusal(self, name: str, error: OSError, *, due: str = "a regular file") -> Exception:
        path = self.path / name
        try:
            mode = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mode
        except OSError:
            mode = 0
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.EMLINK):
            return _not_regular(path, mode, due=due)
        if error.errno == errno.ENAMETOOLONG:
            return MalformedError("the name is too long", where=spell(path))
        return HarnessError(f"cannot be opened: {error.strerror}", where=spell(path), remedy=remedy_for(error))


def open_folder(path: Path, *, inside: Path) -> Folder:
    """The folder at `path`, reached without following links inside `inside`; `FileNotFoundError` if there is none."""
    return _walk(inside, _parts(path, inside) if path != inside else ())


def open_safely(path: Path, *, inside: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the regular file at `path`, which lies in the folder `inside`; see `Folder.open`."""
    parts = _parts(path, inside)
    with _walk(inside, parts[:-1]) as folder:
        return folder.open(parts[-1], flags)


def read_file_safely(path: Path, *, inside: Path, limit: int) -> bytes:
    """The bytes of the regular file at `path` below `inside`, at most `limit` of them."""
    data = read_if_there(path, inside=inside, limit=limit)
    if data is None:
        raise UntrustedError("there is no such file", where=spell(path))
    return data


def read_if_there(path: Path, *, inside: Path, limit: int) -> bytes | None:
    """Like `read_file_safely`; None if there is no file at `path`."""
    parts = _parts(path, inside)
    try:
        with _walk(inside, parts[:-1]) as folder:
            return folder.read(parts[-1], limit=limit)
    except FileNotFoundError:
        return None


def read_files_safely(paths: Iterable[Path], *, inside: Path, limit: int) -> Iterator[bytes]:
    """`read_file_safely` of each path in turn; a folder stays open while the next file is in it too."""
    for place, group in groupby(paths, key=lambda path: path.parent):
        with open_folder(place, inside=inside) as folder:
            for path in group:
                data = folder.read(path.name, limit=limit)
                if data is None:
                    raise UntrustedError("there is no such file", where=spell(path))
                yield data


def replace_file(path: Path, data: bytes) -> None:
    """`path` holds `data`, on disk, after this; see `Folder.replace`."""
    with open_folder(path.parent, inside=path.parent) as folder:
        folder.replace(path.name, data)


def create_file(path: Path, data: bytes) -> None:
    """`path`, where nothing was, holds `data`, on disk, after this; see `Folder.create`."""
    create_in_chunks(path, (data,))


def create_in_chunks(path: Path, chunks: Iterable[bytes]) -> None:
    """Like `create_file`, of bytes that need not be in memory at once."""
    with open_folder(path.parent, inside=path.parent) as folder:
        folder.create(path.name, chunks)


def read_in_chunks(path: Path, *, inside: Path, size: int | None = None) -> Iterator[bytes]:
    """The bytes of the regular file at `path` below `inside`, to its end, or the first `size`, which must be there."""
    with open(open_safely(path, inside=inside), "rb", buffering=0) as file:
        left = size
        while chunk := file.read(_CHUNK if left is None else min(_CHUNK, left)):
            left = None if left is None else left - len(chunk)
            yield chunk
        if left:
            raise UntrustedError(f"ends {left} bytes before its time", where=spell(path))


def sync_folder(path: Path) -> None:
    """The names in the folder at `path` are on disk after this."""
    with open_folder(path, inside=path) as folder:
        os.fsync(folder.descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`, or raise `HarnessError`."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        raise HarnessError(f"writing failed: {error.strerror}", remedy="make room and run it again") from error


def to_type(*words: Path | str) -> str:
    """The sealkit command line with these words, as a shell takes it.

    >>> to_type("seal", Path("my study/plans/v1.yaml"))
    "sealkit seal 'my study/plans/v1.yaml'"
    """
    return shlex.join((*_program(), *map(str, words)))


def _program() -> tuple[str, ...]:
    """How sealkit is called here: by its name, unless a shell would not find it and it was called otherwise."""
    called = Path(sys.argv[0])
    if shutil.which("sealkit") is None and called.parent != Path():
        if called.name == "sealkit":
            return (str(called),)
        if called.parts[-2:] == ("sealkit", "__main__.py"):
            return (sys.executable, "-m", "sealkit")
    return ("sealkit",)


def kind_of_file(mode: int) -> str:
    """What a file of this mode is, in words."""
    return next((word for test, word in _KINDS if test(mode)), "something else")


def remedy_for(error: OSError) -> str:
    """What to do about a failure of the file system; nothing if that is not known."""
    return _REMEDIES.get(error.errno or 0, "")


def spell(path: Path | str) -> str:
    """`path` for a message: as it is, or escaped if a terminal could show it as something else."""
    text = str(path)
    return text if text.isascii() and text.isprintable() else ascii(text)


def _parts(path: Path, inside: Path) -> tuple[str, ...]:
    try:
        parts = path.relative_to(inside).parts
        str(path).encode()
    except ValueError as error:  # UnicodeEncodeError is one
        raise MalformedError(f"is not a path inside {spell(inside)}", where=spell(path)) from error
    if not parts or ".." in parts or "\0" in str(path):
        raise MalformedError(f"is not a path inside {spell(inside)}", where=spell(path))
    return parts


def _walk(inside: Path, parts: tuple[str, ...]) -> Folder:
    try:
        folder = Folder(inside, os.open(inside, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except NotADirectoryError as error:
        raise MalformedError("found a file, due a folder", where=spell(inside)) from error
    for name in parts:
        with folder:
            folder = folder.below(name)
    return folder


def _not_regular(path: Path, mode: int, *, due: str = "a regular file") -> MalformedError:
    what = f"found {kind_of_file(mode)}, due {due}"
    return MalformedError(what, where=spell(path), remedy="put the file itself there")
