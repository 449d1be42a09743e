"""Looks at the names in a sealed study before any file is read: files and folders, nothing that leads elsewhere.

What is read of a study is opened without following links. This looks at the rest of the receipts too, and beside
the plan, so that a folder that passes can be copied, packed and served as it is. Refused, each by name: links,
pipes, sockets, devices; names that are no plain text; two names that differ in case alone; more than a hundred
thousand names.

What is left after that and what no entry refers to is read by nobody and decides nothing: `leftovers` names it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from sealkit.files import open_folder, open_safely, spell
from sealkit.seal.journal import BLOBS, CALLS, EPISODES, HEAD, JOURNAL
from sealkit.seal.piloted import PILOT
from sealkit.seal.sealed import SealedPlan
from sealkit.seal.shards import SHARDS
from sealkit.wire.digest import PREFIX
from sealkit.wire.errors import MalformedError
from sealkit.wire.order import TORN

MOST_NAMES = 100_000
MOST_DEEP = 8

_KEPT = f"(?:{'|'.join(map(re.escape, (JOURNAL, HEAD, EPISODES, CALLS)))})"
_SHARD = rf"{SHARDS}/[0-9]+-of-[0-9]+"
# Of pilots and shards the names are known; their own readers check what is in them.
_is_record = re.compile(rf"(?:(?:{PILOT}|{_SHARD})/)?{_KEPT}\Z|(?:{PILOT}|{_SHARD})/(?:{BLOBS}|{TORN})/").match
_is_body = re.compile(rf"{BLOBS}/[0-9a-f]{{2}}/([0-9a-f]{{64}})\.gz\Z").match
_is_plain = re.compile(r"[A-Za-z0-9._-]+\Z").match


def check_folder(sealed: SealedPlan) -> None:
    """Raise, naming the path, if the receipts of a plan, or what lies beside it under its name, hold such a thing."""
    plans, stem = sealed.path.parent, f"{sealed.path.stem}.".casefold()
    _check([path for path in _names(plans, sealed.study) if path.name.casefold().startswith(stem)], sealed.study)
    _check(list(_below(sealed.receipts, sealed.study, 0)), sealed.study)


def leftovers(
    sealed: SealedPlan, named: Collection[str], withheld: Collection[str], moved: Collection[str]
) -> tuple[str, ...]:
    """What lies in the receipts of a plan, and no entry refers to, in words.

    `named` are the digests of the bodies that calls have, those in `withheld` should be gone; `moved` is what repairs
    have put into torn/.
    """
    strange, bodies, kept = list[str](), list[str](), list[str]()
    for path in _below(sealed.receipts, sealed.study, 0):
        name = path.relative_to(sealed.receipts).as_posix()
        if _is(path, stat.S_ISDIR) or name in moved or _is_record(name):
            continue
        body = _is_body(name)
        if body is None:
            strange.append(name)
        elif f"{PREFIX}{body[1]}" not in named:
            bodies.append(name)
        elif f"{PREFIX}{body[1]}" in withheld:
            kept.append(name)
    told = (
        (strange, "files that no entry refers to and nobody reads"),
        (bodies, "bodies that no call names, as an attempt that was killed leaves them"),
        (kept, "bodies that are withheld and still there: the same `sealkit withhold … --yes` removes them"),
    )
    return tuple(f"{len(found)} {words}, the first: {found[0]}" for found, words in told if found)


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
