"""Looks at the names in a sealed study before any file is read: files and folders, nothing that leads elsewhere.

What is read of a study is opened without following links. This looks at the rest of the receipts too, and beside
the plan, so that a folder that passes can be copied, packed and served as it is. Refused, each by name: links,
pipes, sockets, devices; names that are no plain text; two names that differ in case alone; more than a hundred
thousand names.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from sealkit.files import open_folder, open_safely, spell
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.errors import MalformedError

MOST_NAMES = 100_000
MOST_DEEP = 8

_is_plain = re.compile(r"[A-Za-z0-9._-]+\Z").match


def check_folder(sealed: SealedPlan) -> None:
    """Raise, naming the path, if the receipts of a plan, or what lies beside it under its name, hold such a thing."""
    plans, stem = sealed.path.parent, f"{sealed.path.stem}.".casefold()
    _check([path for path in _names(plans, sealed.study) if path.name.casefold().startswith(stem)], sealed.study)
    _check(list(_below(sealed.receipts, sealed.study, 0)), sealed.study)


def _below(folder: Path, inside: Path, depth: int) -> Iterator[Path]:
    if depth > MOST_DEEP:
        raise MalformedError(f"folders nested deeper than {MOST_DEEP}", where=spell(folder))
    for path in _names(folder, inside):
        yield path
        if _is(path, stat.S_ISDIR):
            yield from _below(path, inside, depth + 1)


def _names(folder: Path, inside: Path) -> Iterator[Path]:
    """The paths in one folder, sorted; none if there is no such folder, which whoever reads it says better."""
    try:
        with open_folder(folder, inside=inside) as opened:
            names = os.listdir(opened.descriptor)
    except FileNotFoundError:
        return iter(())
    if len(names) > MOST_NAMES:
        raise MalformedError(f"more than {MOST_NAMES} names", where=spell(folder))
    return (folder / name for name in sorted(names))


def _check(paths: list[Path], inside: Path) -> None:
    seen: dict[str, Path] = {}
    for path in paths:
        if not _is_plain(path.name):
            raise MalformedError("the name is not made of A-Z a-z 0-9 . _ -", where=spell(path), remedy="rename it")
        twin = seen.setdefault(str(path).casefold(), path)
        if twin != path:
            raise MalformedError(
                f"{twin.name} is there too, the same but for case", where=spell(path), remedy="drop one"
            )
        if not _is(path, stat.S_ISREG) and not _is(path, stat.S_ISDIR):
            os.close(open_safely(path, inside=inside))  # refuses it by what it is


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    return kind(path.lstat().st_mode)
