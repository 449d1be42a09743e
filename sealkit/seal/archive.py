"""The sealed source as one tar file, the same bytes on every machine, and a reader that trusts none of it.

The archive holds every file of a closure and the plan, by its path in the study, so that it runs where it is
unpacked: `sealkit/…`, `worlds/…`, `verifiers/…`, `arms/…`, `requirements.lock`, `plans/NAME.yaml`. It is an
uncompressed ustar file that any tar reads. A member is a 512-byte header in which only path and size (and so
the checksum) differ from member to member, then the bytes, padded with zeros to a multiple of 512; members
stand in the order of their paths; two blocks of zeros end the file, and nothing follows. A path of more than
100 characters, as a bundle may have, is cut in two at the first slash behind which the rest fits.

>>> len(header("sealkit/__init__.py", 103)), header("sealkit/__init__.py", 103)[:20], header("a", 103)[124:136]
(512, b'sealkit/__init__.py\\x00', b'00000000147\\x00')
>>> len(header(f"receipts/{'a' * 60}/{'b' * 60}", 0)), header(f"receipts/{'a' * 60}/{'b' * 60}", 0)[345:360]
(512, b'receipts/aaaaaa')

The reader takes what the writer makes and nothing else. Refused, each by name: links, devices, pipes, folders,
extended headers; absolute paths, `..`, NUL and other characters; a path twice, or twice but for case, or out
of order; modes, owners and times; anything cut, padded or appended; more or larger files than the closure has.
`unpack` checks every file against the closure before it writes the first one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Protocol

from sealkit.files import open_safely, read_files_safely, sync_folder, write_all
from sealkit.seal.closure import SEALKIT, Closure, closure_files, sealkit_folder
from sealkit.seal.tree import MAX_FILE, Kept, TreeEntry, check_path
from sealkit.wire.digest import PREFIX, digest_bytes, short
from sealkit.wire.errors import MalformedError, OutOfOrderError, UntrustedError

BLOCK = 512
CHUNK = 1 << 20
MAX_MEMBERS = 20_000
NAME, PREFIX_FIELD = 100, 155  # characters of both name fields of a header
_MAGIC = b"ustar\00000"
MAX_ARCHIVE = 256 * 1024 * 1024
_FLAGS = {
    b"\0": "a file in the old form", b"1": "a hard link", b"2": "a link", b"3": "a device", b"4": "a device",
    b"5": "a folder", b"6": "a pipe", b"x": "an extended header", b"g": "an extended header",
    b"L": "a long name of GNU tar", b"K": "a long link of GNU tar", b"S": "a sparse file of GNU tar",
}  # fmt: skip


class Source(Protocol):
    """Bytes to read from, in order."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


def contents(closure: Closure, plan: TreeEntry) -> Mapping[str, TreeEntry]:
    """What the archive of this closure holds: path → entry, in order. `plan` is the entry of the plan file."""
    return dict(sorted((*closure_files(closure), (plan.path, plan)), key=lambda item: item[0]))


def write_archive(
    path: Path, closure: Closure, plan: TreeEntry, *, study: Path, kept: Kept | None = None
) -> tuple[str, int]:
    """The archive is at `path`, on disk; its digest and its size in bytes. What is `kept` is not read again.

    `UntrustedError` if a file is no longer as the closure has it.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o644)
    digest, size = sha256(), 0
    try:
        for block in _gathered(_members(closure, plan, study, kept or Kept())):
            write_all(descriptor, block)
            digest.update(block)
            size += len(block)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
    sync_folder(path.parent)
    return PREFIX + digest.hexdigest(), size


def _gathered(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer pieces: most members are small, and each write costs as much as its bytes."""
    waiting: list[bytes] = []
    size = 0
    for block in blocks:
        waiting.append(block)
        size += len(block)
        if size >= CHUNK:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def _members(closure: Closure, plan: TreeEntry, study: Path, kept: Kept) -> Iterator[bytes]:
    own = sealkit_folder().parent
    held = contents(closure, plan).items()
    for is_own, group in groupby(held, key=lambda item: item[0].startswith(f"{SEALKIT}/")):
        root, members = own if is_own else study, tuple(group)
        absent = (root / name for name, _ in members if kept.get(name) is None)
        files = read_files_safely(absent, inside=root, limit=MAX_FILE)
        for name, entry in members:
            data = kept.get(name)
            if data is None:
                data = next(files)
            if digest_bytes(data) != entry.digest:
                raise UntrustedError("was changed while it was being sealed", where=name, remedy="seal again")
            yield header(name, len(data)) + data + bytes(-len(data) % BLOCK)
    yield bytes(2 * BLOCK)


def header(path: str, size: int) -> bytes:
    """The ustar header of a regular file: mode 0644, owner 0, time 0 (POSIX.1-2017, pax, ustar Interchange Format)."""
    before, name = _cut(path)
    fields = (
        name.encode("ascii").ljust(NAME, b"\0"), b"0000644\0", b"0000000\0", b"0000000\0", b"%011o\0" % size,
        b"00000000000\0", b" " * 8, b"0", bytes(100), b"ustar\00000", bytes(64), b"0000000\0" * 2,
        before.encode("ascii").ljust(PREFIX_FIELD, b"\0"), bytes(12),
    )  # fmt: skip
    header = b"".join(fields)
    return header[:148] + b"%06o\0 " % sum(header) + header[156:]


def _cut(path: str) -> tuple[str, str]:
    """The path's parts for the two name fields, the first empty where the second holds it all."""
    if len(path) <= NAME:
        return "", path
    slash = path.find("/", len(path) - NAME - 1)
    if slash < 1 or slash > PREFIX_FIELD:
        raise MalformedError("the path fits into no ustar header", where=path, remedy="use a shorter name")
    return path[:slash], path[slash + 1 :]


# --- reading -------------------------------------------------------------------------------------


def check_archive(
    path: Path,
    closure: Closure,
    plan: TreeEntry,
    *,
    inside: Path,
    digest: str,
    size: int,
    keep: Callable[[str], bool] = lambda name: False,
) -> dict[str, bytes]:
    """Raise, naming the part, unless the archive has this digest and size and holds the closure's files, no others.

    The files that `keep` chooses by their path come back with their bytes.
    """
    with open(open_safely(path, inside=inside), "rb") as file:
        return _check(file, closure, plan, where=str(path), digest=digest, size=size, keep=keep)


def unpack(path: Path, into: Path, closure: Closure, plan: TreeEntry, *, inside: Path, digest: str, size: int) -> None:
    """The files of the archive stand in the folder `into`, which is new or empty, after all of them were checked."""
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise OutOfOrderError("the folder is not empty", where=str(into), remedy="unpack into a new one")
    with open(open_safely(path, inside=inside), "rb") as file:
        _check(file, closure, plan, where=str(path), digest=digest, size=size)
        file.seek(0)
        due = contents(closure, plan)
        for name, data in read_members(file, where=str(path)):
            _check_member(name, data, due, str(path))  # again: the file may have changed since
            write_member(into, name, (data,))


def is_archive(begins: bytes) -> bool:
    """Whether what `begins` so could be an archive."""
    return begins[257:265] == _MAGIC


def read_members(file: Source, *, where: str, most: int = MAX_FILE) -> Iterator[tuple[str, bytes]]:
    """Each member's path and bytes, at most `most` of them a member, from an archive that may be anything."""
    return ((path, b"".join(chunks)) for path, chunks in stream_members(file, where=where, most=most))


def stream_members(file: Source, *, where: str, most: int) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The same in chunks, so that no member is held in memory. All sizes are checked before any byte is passed on."""
    previous, seen, total = "", set[str](), 0
    while True:
        block = _exactly(file, BLOCK, where)
        if block == bytes(BLOCK):
            break
        path, size = _parse(block, where, most)
        if path == previous:
            raise MalformedError(f"{path} is there twice", where=where)
        if path.casefold() in seen:
            raise MalformedError(f"{path} is there twice, perhaps but for case", where=where)
        if path < previous:
            raise MalformedError(f"{path} is out of order after {previous}", where=where)
        previous, total = path, total + size
        seen.add(path.casefold())
        if len(seen) > MAX_MEMBERS or total > MAX_ARCHIVE:
            raise MalformedError(f"more than {MAX_MEMBERS} files or {MAX_ARCHIVE} bytes", where=where)
        chunks = _chunks(file, size, where)
        yield path, chunks
        for _ in chunks:  # what nobody wanted
            pass
        if any(_exactly(file, -size % BLOCK, where)):
            raise MalformedError(f"{path} is padded with other bytes than zeros", where=where)
    if _exactly(file, BLOCK, where) != bytes(BLOCK) or file.read(1):
        raise MalformedError("bytes after the end of the archive", where=where)


def _check(
    file: BinaryIO,
    closure: Closure,
    plan: TreeEntry,
    *,
    where: str,
    digest: str,
    size: int,
    keep: Callable[[str], bool] = lambda name: False,
) -> dict[str, bytes]:
    found_size = os.fstat(file.fileno()).st_size
    if found_size != size or size > MAX_ARCHIVE:
        raise UntrustedError(f"has changed since its seal: found {found_size} bytes, sealed {size}", where=where)
    due = dict(contents(closure, plan))
    kept: dict[str, bytes] = {}
    reader = _Hashing(file)
    for name, data in read_members(reader, where=where):
        _check_member(name, data, due, where)
        del due[name]
        if keep(name):
            kept[name] = data
    if due:
        raise UntrustedError(f"{next(iter(due))} is sealed, but not in the archive", where=where)
    if reader.digest() != digest:
        raise UntrustedError("has changed since its seal: its digest differs", where=where)
    return kept


def _check_member(name: str, data: bytes, due: Mapping[str, TreeEntry], where: str) -> None:
    entry = due.get(name)
    if entry is None:
        raise UntrustedError(f"{name} is in the archive, but not sealed", where=where)
    if digest_bytes(data) != entry.digest:
        what = f"{name} has digest {short(digest_bytes(data))}, sealed {short(entry.digest)}"
        raise UntrustedError(what, where=where)


def _parse(block: bytes, where: str, most: int) -> tuple[str, int]:
    """Path and size in a header that `header` could have written; anything else has a name of its own."""
    if not is_archive(block):
        raise MalformedError("found no ustar header", where=where)
    flag = block[156:157]
    if flag != b"0":
        raise MalformedError(f"holds {_FLAGS.get(flag, 'a member of unknown kind')}, due files alone", where=where)
    before, name = block[345:500].rstrip(b"\0"), block[:NAME].rstrip(b"\0")
    if b"\0" in before + name:
        raise MalformedError(f"NUL in the name {before + name!r}", where=where)
    path = (before + b"/" * bool(before) + name).decode("latin-1")
    check_path(path, where=where, most=NAME + 1 + PREFIX_FIELD)
    digits = block[124:135]
    if not digits.isdigit() or b"8" in digits or b"9" in digits or block[135:136] != b"\0":
        raise MalformedError(f"{path} has no size in eleven octal digits", where=where)
    size = int(digits, 8)
    if size > most:
        raise MalformedError(f"{path} has {size} bytes, due at most {most}", where=where)
    if header(path, size) != block:
        what = f"the header of {path} has another mode, owner, time, name or checksum than sealkit writes"
        raise MalformedError(what, where=where)
    return path, size


def _chunks(file: Source, size: int, where: str) -> Iterator[bytes]:
    while size:
        chunk = _exactly(file, min(size, CHUNK), where)
        size -= len(chunk)
        yield chunk


def _exactly(file: Source, size: int, where: str) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise MalformedError("ends in the middle", where=where)
    return data


def write_member(into: Path, name: str, chunks: Iterable[bytes]) -> None:
    """Write one file below `into`, through folders that are no links, where nothing was."""
    *folders, last = name.split("/")
    descriptor = os.open(into, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            with suppress(FileExistsError):
                os.mkdir(folder, 0o755, dir_fd=descriptor)
            below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(last, flags, 0o644, dir_fd=descriptor), "wb") as file:
            file.writelines(chunks)
    finally:
        os.close(descriptor)


class _Hashing:
    """Passes bytes on and hashes them on the way."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = sha256()

    def read(self, size: int, /) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        return data

    def digest(self) -> str:
        return PREFIX + self._hash.hexdigest()
