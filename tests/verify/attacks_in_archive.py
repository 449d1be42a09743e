"""Members of the source archive that no archive of ours holds: links, pipes, paths that lead out, vast sizes."""

from __future__ import annotations

from collections.abc import Callable

from tests.verify.attacks_on_files import ROW
from tests.verify.hands import ATTACKS, Attack, Study


def _header(study: Study, member: str, edit: Callable[[bytearray], None]) -> None:
    """Edit the header of a member where it stands, its checksum made right."""
    data = bytearray(study.archive.read_bytes())
    at = data.index(member.encode() + b"\0")
    header = data[at : at + 512]
    edit(header)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    data[at : at + 512] = header
    study.archive.write_bytes(data)


def _name(new: bytes) -> Callable[[bytearray], None]:
    def edit(header: bytearray) -> None:
        header[:100] = new.ljust(100, b"\0")

    return edit


def _kind(flag: bytes) -> Callable[[bytearray], None]:
    def edit(header: bytearray) -> None:
        header[156:157] = flag
        header[157:168] = b"/etc/passwd"

    return edit


def _size(digits: bytes) -> Callable[[bytearray], None]:
    def edit(header: bytearray) -> None:
        header[124:136] = digits

    return edit


MEMBER = "worlds/house/world.py"
for _title, _edit, _says in (
    ("a_link", _kind(b"2"), "holds a link, due files alone"),
    ("a_hard_link", _kind(b"1"), "holds a hard link, due files alone"),
    ("a_pipe", _kind(b"6"), "holds a pipe, due files alone"),
    ("a_device", _kind(b"3"), "holds a device, due files alone"),
    ("an_extended_header", _kind(b"x"), "holds an extended header, due files alone"),
    ("dots", _name(b"../../world.py"), "'../../world.py'"),
    ("an_absolute_path", _name(b"/etc/passwd"), "'/etc/passwd'"),
    ("nul", _name(b"worlds/house/wo\0rld.py"), "NUL in the name"),
    ("a_surrogate", _name(b"worlds/house/\xed\xa0\x80.py"), "'worlds/house/\\xed\\xa0\\x80.py'"),
    ("a_twin", _name(b"worlds/house/spec.md"), "worlds/house/spec.md is there twice, perhaps but for case"),
    ("a_member_of_8_gigabytes", _size(b"77777777777\0"), "has 8589934591 bytes, due at most"),
    ("a_negative_size", _size(b"-0000000001\0"), "has no size in eleven octal digits"),
):

    def _archive(study: Study, edit: Callable[[bytearray], None] = _edit) -> None:
        _header(study, MEMBER, edit)

    _full = f"{_title}_in_the_archive"
    ATTACKS[_full] = Attack(_full, ROW, ["plans/part.source.tar", _says], _archive)
