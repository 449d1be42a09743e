"""A folder as a record: path, size and digest of every file, under one root.

A file's digest is plain SHA-256 of its bytes (`sha256sum` gives the same digits; line endings are never
touched). The root is that of RFC 9162 over the entries' canonical lines, sorted by path:

>>> from sealkit.wire.canon import encode_record
>>> entry = TreeEntry(path="world.py", size=3, digest="sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
>>> encode_record(entry)
b'{"digest":"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","path":"world.py","size":3,"type":"sealkit/tree-entry/v1"}'
>>> tree_of("worlds/toy", (entry,)).root == merkle_root([encode_record(entry)])
True

What a tree of the study's own code holds: files of the kinds in `KINDS`. What is passed over: the folders in
`CACHES`, and what editors and desktops leave (`.DS_Store`, `x~`, `.x.swp`, `.#x`, `#x#`). Everything else is
refused with its path: a file kind that is not listed (`.so`, `.pth`, and `.pyc` outside `__pycache__`, which
Python would import without its source), other hidden files and folders, links, pipes, characters outside
`[A-Za-z0-9._/-]`, two names equal but for case, a tree without files, files above 16 MiB.

What a program in another language depends on (`foreign`) may be of any kind but those in `NEVER`. sealkit's own
tree (`own`) is its `*.py`, and the `*.md` in folders called `prompts`, without `reference/`, which a checkout does not
have.
"""  # noqa: E501 - an entry's line is as long as it is

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from sealkit.files import Folder, open_folder, spell
from sealkit.wire.canon import reencode
from sealkit.wire.digest import digest_bytes, is_digest
from sealkit.wire.errors import MalformedError, UntrustedError, UsageError
from sealkit.wire.merkle import merkle_root
from sealkit.wire.records import Count, Record

MAX_FILE = 16 * 1024 * 1024
MAX_FILES = 5000
MAX_KEPT = 16 * 1024 * 1024
MAX_PATH = 100  # what a ustar header holds without its second name field
MAX_FOLDERS_DEEP = 16
CACHES = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
KINDS = frozenset(
    {".py", ".pyi", ".typed", ".md", ".txt", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".csv", ".tsv", ".cel", ".j2"}
)
NEVER = frozenset({".so", ".pyd", ".dll", ".dylib", ".pth", ".pyc", ".pyo"})
BARE_NAMES = frozenset({"LICENSE", "NOTICE", "README", "AUTHORS"})

Content: TypeAlias = Literal["study", "foreign", "own"]

_is_path = re.compile(r"[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*\Z").match
_is_litter = re.compile(r"(\.DS_Store|.*~|\.#.*|#.*#|\..*\.sw[a-p])\Z").match


class Kept:
    """Bytes that were read for their digest and are wanted again at once, up to a bound: the rest is read again."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}
        self._left = MAX_KEPT

    def keep(self, path: str, data: bytes) -> None:
        """`data` is that of `path`, unless too much is held already."""
        if len(data) <= self._left:
            self._left -= len(data)
            self._held[path] = data

    def get(self, path: str) -> bytes | None:
        """The bytes of `path`, if they are held."""
        return self._held.get(path)


class TreeEntry(Record, frozen=True, tag_field="type", tag="sealkit/tree-entry/v1"):
    """One file: its path below the tree, its size in bytes, the digest of its bytes."""

    path: str
    size: Count
    digest: str


class Tree(Record, frozen=True, tag_field="type", tag="sealkit/tree/v1"):
    """A folder of the study at `path`: its files sorted by path, and the root over their lines."""

    path: str
    root: str
    entries: tuple[TreeEntry, ...]


def tree_record(root: Path, path: str, *, content: Content = "study", kept: Kept | None = None) -> Tree:
    """The tree at `root/path` as it stands; errors name the file that cannot be part of a tree."""
    folder = root / path
    entries: list[TreeEntry] = []
    try:
        with open_folder(folder, inside=root) as opened:
            for entry in _walk(opened, path, content, kept):
                entries.append(entry)
                if len(entries) > MAX_FILES:
                    raise MalformedError(f"more than {MAX_FILES} files", where=spell(folder))
    except FileNotFoundError as error:
        raise UsageError("there is no such folder or file", where=error.filename or str(folder)) from error
    if not entries:
        raise UsageError("a tree without files", where=spell(folder), remedy="seal what there is, or drop its name")
    tree = tree_of(path, entries)
    check_tree(tree, where=path)
    return tree


def file_record(root: Path, path: str) -> TreeEntry:
    """The entry of the one file at `root/path`; `FileNotFoundError` if there is none."""
    place = root / path
    with open_folder(place.parent, inside=root) as folder:
        return _entry(folder, place.name, path)


def _entry(folder: Folder, name: str, path: str, tree: str | None = None, kept: Kept | None = None) -> TreeEntry:
    if tree is not None:
        check_path(f"{tree}/{path}", where=f"{folder.path}/{name}")
    data = folder.read(name, limit=MAX_FILE)
    if data is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{folder.path}/{name}")
    if kept is not None and tree is not None:
        kept.keep(f"{tree}/{path}", data)
    return TreeEntry(path=path, size=len(data), digest=digest_bytes(data))


def tree_of(path: str, entries: Iterable[TreeEntry]) -> Tree:
    """The record of a tree with these files."""
    ordered = tuple(sorted(entries, key=lambda entry: entry.path))
    return Tree(path=path, root=_root(ordered), entries=ordered)


def check_tree(tree: Tree, *, where: str) -> None:
    """Raise, naming the path, unless `tree` could stand for a folder on every system and its root is right."""
    seen: dict[str, str] = {}
    previous = ""
    for entry in tree.entries:
        check_path(f"{tree.path}/{entry.path}", where=where)
        if entry.path <= previous:
            raise MalformedError(f"{entry.path} is out of order after {previous}", where=where)
        previous = entry.path
        twin = seen.setdefault(entry.path.casefold(), entry.path)
        if twin != entry.path:
            raise MalformedError(f"{twin} and {entry.path} differ in case alone", where=where, remedy="rename one")
        if entry.size > MAX_FILE:
            raise MalformedError(f"{entry.path} has {entry.size} bytes, due at most {MAX_FILE}", where=where)
        if not is_digest(entry.digest):
            raise MalformedError(f"{entry.path} has no digest", where=where)
    _check_folders(tree, where)
    if len(tree.entries) > MAX_FILES or not tree.entries:
        raise MalformedError(f"{len(tree.entries)} files, due 1 to {MAX_FILES}", where=where)
    if _root(tree.entries) != tree.root:
        raise UntrustedError("its root is not that of its entries", where=where)


def check_path(path: str, *, where: str, most: int = MAX_PATH) -> None:
    """Raise `MalformedError` unless `path` is relative, plain and of at most `most` characters."""
    if not _is_path(path) or any(part in (".", "..") for part in path.split("/")):
        raise MalformedError(
            f"the path {path!a} is not made of A-Z a-z 0-9 . _ - between single slashes",
            where=spell(where),
            remedy="rename it",
        )
    if len(path) > most:
        raise MalformedError(f"the path {path[:40]}... has {len(path)} characters, due at most {most}", where=where)


def _check_folders(tree: Tree, where: str) -> None:
    """No file stands where another entry has a folder, and no two folders differ in case alone."""
    files = {entry.path.casefold() for entry in tree.entries}
    folders: dict[str, str] = {}
    for entry in tree.entries:
        folder = entry.path
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            twin = folders.setdefault(folder.casefold(), folder)
            if twin != folder or folder.casefold() in files:
                raise MalformedError(f"{folder} is there twice but for case", where=where, remedy="rename one")


def _root(entries: Iterable[TreeEntry]) -> str:
    return merkle_root(reencode(entry) for entry in entries)


def _walk(folder: Folder, tree: str, content: Content, kept: Kept | None, prefix: str = "") -> Iterator[TreeEntry]:
    """The files below `folder`, in no order that matters; refuses what is no file of a kind that belongs there."""
    if prefix.count("/") > MAX_FOLDERS_DEEP:
        raise MalformedError(f"folders nested deeper than {MAX_FOLDERS_DEEP}", where=spell(folder.path))
    with os.scandir(folder.descriptor) as found:
        items = [(item.name, item.is_dir(follow_symlinks=False), item.is_file(follow_symlinks=False)) for item in found]
    for name, is_folder, is_file in items:
        path = prefix + name
        if is_folder:
            if name not in CACHES and (content != "own" or path != "reference"):
                _check_visible(folder.path / name)
                with folder.below(name) as inner:
                    yield from _walk(inner, tree, content, kept, path + "/")
        elif content == "own":
            if name.endswith(".py") or (name.endswith(".md") and f"/{prefix}".endswith("/prompts/")):
                yield _entry(folder, name, path, tree, kept)
        elif not _is_litter(name):
            if is_file:  # what is no file is refused by its own name when it is opened
                _check_kind(folder.path / name, content)
            yield _entry(folder, name, path, tree, kept)


def _check_visible(folder: Path) -> None:
    if folder.name.startswith("."):
        raise MalformedError("a hidden folder has no place in a sealed tree", where=spell(folder), remedy="move it out")


def _check_kind(path: Path, content: Content) -> None:
    listed = not path.name.startswith(".") and (path.suffix in KINDS or path.name in BARE_NAMES)
    if path.suffix in NEVER or (content == "study" and not listed):
        raise MalformedError(
            f"a file of kind {path.suffix or path.name!a} has no place in a sealed tree",
            where=spell(path),
            remedy=f"move it out of the tree; a tree holds {' '.join(sorted(KINDS))}",
        )
