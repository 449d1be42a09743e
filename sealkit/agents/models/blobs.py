"""Bodies of requests and replies, each in a file named by the plain SHA-256 of its bytes.

    receipts/ID/blobs/ba/ba7816bf….gz        zcat receipts/ID/blobs/ba/ba7816bf….gz | sha256sum

The file is gzip without a time. Its own bytes may differ with the zlib that wrote it; what is inside may not. A
digest that is recorded and whose body was withheld has no file, and gets none if just these bytes come again.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from sealkit.agents.models.errors import WithheldError
from sealkit.files import open_folder, read_if_there, spell, write_all
from sealkit.wire.digest import PREFIX, digest_bytes, is_digest, short
from sealkit.wire.errors import HarnessError, MalformedError, UntrustedError

MAX_BODY: Final = 4 * 1024 * 1024
_GZIP: Final = 31  # what zlib calls its window of 32 kB with a gzip header
_LEVEL: Final = 6
# Who writes: two machines that share the folder may have processes of one number.
_WRITER: Final = os.urandom(6).hex()
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Blobs:
    """The bodies below `folder`, which lies in the folder `inside`; `withheld` are digests that have no body.

    `warn` is told, once for each, if a body is to be put that is withheld: it is not written. `shared` says that other
    processes write them too: a body that is there already may not be on disk yet.
    """

    def __init__(
        self, folder: Path, *, inside: Path, withheld: Collection[str] = (), shared: bool = False,
        warn: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self.folder = folder
        self._inside = inside
        self._withheld = frozenset(withheld)
        self._text = str(folder)  # a path object costs more than the hash
        self._shared = shared
        self._unsynced: set[str] = set()
        self._shards: set[str] = set()
        self._warn = warn
        self._came_again: set[str] = set()

    def put(self, body: bytes) -> str:
        """The digest of `body`, whose file is there after this, on disk only after the next `flush`.

        One that is withheld gets no file, and that is said.
        """
        digest = digest_bytes(body)
        if digest in self._withheld:
            self._say_withheld(digest)
            return digest
        name = digest.removeprefix(PREFIX)
        shard = f"{self._text}/{name[:2]}"
        if shard not in self._shards:
            self._make(shard)
        path = f"{shard}/{name}.gz"
        if not os.path.exists(path):
            packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
            _write(path, packer.compress(body) + packer.flush())
            self._unsynced.add(path)
        elif self._shared:
            self._unsynced.add(path)
        return digest

    def get(self, digest: str) -> bytes:
        """The body with this digest, checked; `WithheldError` if it was withheld, `UntrustedError` if it is not it."""
        if not is_digest(digest):
            raise MalformedError(f"found {digest[:80]!a}, due a digest", where=spell(self.folder))
        if digest in self._withheld:
            raise WithheldError("the body was withheld", where=spell(self.folder))
        path = self.path(digest)
        packed = read_if_there(path, inside=self._inside, limit=MAX_BODY + (1 << 16))
        if packed is None:
            raise UntrustedError("there is no such body, and no entry withholds it", where=spell(path))
        return _unpack(packed, digest, spell(path))

    def accounts_for(self, digest: str) -> bool:
        """Whether the body with this digest is there, or withheld."""
        return digest in self._withheld or self.path(digest).exists()

    def _say_withheld(self, digest: str) -> None:
        if self._warn is not None and digest not in self._came_again:
            self._came_again.add(digest)
            self._warn(
                f"the body {short(digest)}, which is withheld, was sent or came again: it is not written, and an "
                "episode or a reading to which it is the reply can be run again by nobody"
            )

    def path(self, digest: str) -> Path:
        """Where the body with this digest is kept."""
        name = digest.removeprefix(PREFIX)
        return self.folder / name[:2] / f"{name}.gz"

    def flush(self) -> None:
        """Every body put so far is on disk: call it before the record that names them is."""
        written = tuple(self._unsynced)
        for path in written:
            _sync(path)
        for shard in {path.rpartition("/")[0] for path in written}:
            _sync(shard)
        if written:
            _sync(self._text)
        self._unsynced.difference_update(written)  # all of them, or whoever is next finds them unsynced still

    def _make(self, shard: str) -> None:
        """The folder `shard` is there, and neither it nor the one above it is a link."""
        self.folder.mkdir(exist_ok=True)
        Path(shard).mkdir(exist_ok=True)
        open_folder(Path(shard), inside=self._inside).close()
        self._shards.add(shard)


def _write(path: str, data: bytes) -> None:
    """`path` holds `data`, whole or not at all under any kill; two processes may write the same body at once."""
    temporary = f"{path}.{os.getpid()}.{_WRITER}.tmp"
    try:
        try:
            descriptor = os.open(temporary, _NEW, 0o644)
        except FileExistsError:  # a crash left it
            os.unlink(temporary)
            descriptor = os.open(temporary, _NEW, 0o644)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise HarnessError(what, where=spell(path), remedy="make room and run it again") from error


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unpack(packed: bytes, digest: str, where: str) -> bytes:
    unpacker = zlib.decompressobj(_GZIP)
    try:
        body = unpacker.decompress(packed, MAX_BODY + 1)
    except zlib.error as error:
        raise MalformedError("is no gzip", where=where) from error
    if len(body) > MAX_BODY:
        raise MalformedError(f"unpacks to more than {MAX_BODY} bytes", where=where)
    if not unpacker.eof or unpacker.unused_data:
        raise MalformedError("is not one whole gzip", where=where)
    found = digest_bytes(body)
    if found != digest:
        raise UntrustedError(f"holds the body {found}", where=where, remedy="it was changed or renamed")
    return body
