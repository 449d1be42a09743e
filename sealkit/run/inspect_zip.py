"""Reads the members of an Inspect AI log, a zip of JSON files, from bytes that a stranger may have made.

    header.json                   what was evaluated, when, how it ended
    samples/ID_epoch_N.json       one sample in one epoch; every other member is passed over

A log is at most 256 MiB, with at most 20,000 members; a member is at most 64 MiB, and what is read of all of them at
most 1 GiB, counted while it is unpacked and not as the file says. Refused, each by name: what is no zip; encrypted
members; a name twice; compression other than none, deflate and Zstandard; members that are not as long, or not of the
checksum, that the zip says. Zstandard, in which newer versions of Inspect write, needs the extra `inspect`.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Final

from sealkit.wire.errors import HarnessError, MalformedError

MAX_LOG: Final = 256 * 1024 * 1024
MAX_MEMBERS: Final = 20_000
MAX_MEMBER: Final = 64 * 1024 * 1024
MAX_READ: Final = 1024 * 1024 * 1024
STORED: Final = 0
DEFLATE: Final = 8
ZSTANDARD: Final = 93
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_PIECE: Final = 1 << 16


def members(data: bytes, wanted: Callable[[str], bool], *, where: str) -> Iterator[tuple[str, bytes]]:
    """(name, content) of each member whose name is `wanted`; `MalformedError` naming what cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, ValueError, struct.error, OSError, NotImplementedError) as error:
        raise MalformedError(f"is no zip: {error}", where=where) from error
    if len(infos) > MAX_MEMBERS:
        raise MalformedError(f"{len(infos)} members, due at most {MAX_MEMBERS}", where=where)
    seen: set[str] = set()
    left = MAX_READ
    for info in infos:
        name = info.filename
        if name in seen:
            raise MalformedError(f"the member {name[:100]!a} stands twice", where=where)
        seen.add(name)
        if wanted(name):
            content = _content(data, info, min(MAX_MEMBER, left), f"{where}: {name[:100]!a}")
            left -= len(content)
            yield name, content


def _content(data: bytes, info: zipfile.ZipInfo, most: int, where: str) -> bytes:
    if info.flag_bits & 1:
        raise MalformedError("is encrypted", where=where)
    unpack = _UNPACK.get(info.compress_type)
    if unpack is None:
        what = f"is compressed by method {info.compress_type}, due none, deflate or Zstandard"
        raise MalformedError(what, where=where, remedy="inspect log convert --to json")
    start = info.header_offset
    header = data[start : start + _LOCAL.size]
    if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
        raise MalformedError("the zip has no such member where it says", where=where)
    name_size, extra_size = _LOCAL.unpack(header)[-2:]
    start += _LOCAL.size + name_size + extra_size
    packed = data[start : start + info.compress_size]
    if len(packed) != info.compress_size:
        raise MalformedError("is cut", where=where)
    if info.file_size > most:
        raise MalformedError(f"is {info.file_size} bytes unpacked, due at most {most}", where=where)
    content = unpack(packed, info.file_size, where)
    if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
        raise MalformedError("is not as long, or not of the checksum, that the zip says", where=where)
    return content


def _stored(packed: bytes, due: int, where: str) -> bytes:
    return packed


def _inflated(packed: bytes, due: int, where: str) -> bytes:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = unpacker.decompress(packed, due + 1)  # one more than is due shows that there is more
    except zlib.error as error:
        raise MalformedError(f"cannot be unpacked: {error}", where=where) from error
    return content


def _zstandard(packed: bytes, due: int, where: str) -> bytes:
    try:
        import zstandard
    except ImportError as error:
        remedy = "`inspect log convert --to json`; or in sealkit's checkout: pip install '.[inspect]'"
        raise HarnessError("is compressed by Zstandard, which is not installed", where=where, remedy=remedy) from error
    parts, left = [], due + 1
    try:
        with zstandard.ZstdDecompressor(max_window_size=MAX_MEMBER).stream_reader(packed) as reader:
            while left and (part := reader.read(min(left, _PIECE))):
                parts.append(part)
                left -= len(part)
    except zstandard.ZstdError as error:
        raise MalformedError(f"cannot be unpacked: {error}", where=where) from error
    return b"".join(parts)


_UNPACK: Final = {STORED: _stored, DEFLATE: _inflated, ZSTANDARD: _zstandard}
