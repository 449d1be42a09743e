"""Whether a sealed file was written to since it was checked: for what a run reads and starts anew, attempt by attempt.

    guard = open_guard(sealed)             # every file is as sealed, or `DriftError`
    ...                                    # code is loaded, a program is started
    guard.look(since=time.monotonic())     # none was touched meanwhile, or `DriftError`

A file counts as touched when its device, inode, size or one of its times (of its bytes, of its entry) is not what it
was before its bytes were checked, so that one which was changed and put back is found too. In a folder that is sealed
files may come and go that no seal holds (`__pycache__`): then the whole closure is compared again. A folder that was
moved, and moved back, counts as touched.

Not found: a file that no seal holds and that came and went between two looks; what is written without moving a time,
by whoever owns the clock, or twice in one tick of a file system that keeps time in whole seconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

from sealkit.seal.closure import SEALKIT, DriftError, closure_files, sealkit_folder
from sealkit.seal.sealed import SealedPlan, check_no_drift, find_drift
from sealkit.seal.tree import CACHES
from sealkit.wire.errors import SealkitError

DRIFT: Final = "drift"  # why a run pauses
_AGAIN: Final = "leave sealed files alone while a study runs; run again"
_PUT_BACK: Final = "put it back as it was sealed, and run again; or record the change with `sealkit amend`"

_Signature: TypeAlias = tuple[int, int, int, int, int]


class Guard:
    """The files of a seal, and their folders, as they were when it was made; of no seal it has none."""

    def __init__(self, sealed: SealedPlan | None) -> None:
        self._sealed = sealed
        self._files = {} if sealed is None else {path: _signature(path) for path in _files(sealed)}
        self._folders = {} if sealed is None else _folders(sealed)
        self._looked = 0.0
        self._found: DriftError | None = None

    def look(self, *, since: float) -> None:
        """Nothing was touched until `since`, by `time.monotonic`, or later. `DriftError` if something was, for good.

        A look that began no earlier is not made again.
        """
        if self._found is not None:
            raise self._found
        if self._looked >= since or self._sealed is None:
            return
        began = time.monotonic()
        for path, before in self._files.items():
            if _signature(path) != before:
                self._tell(path, "was written to")
        self._look_at_folders()
        self._looked = began

    def _look_at_folders(self) -> None:
        assert self._sealed is not None
        moved = [path for path, before in self._folders.items() if _signature(path) != before]
        if not moved:
            return
        for path in moved:
            if not _has_new_entries(self._folders[path], _signature(path)):
                self._tell(path, "was moved or replaced")
        now = _folders(self._sealed)  # before the files are read: what comes meanwhile is seen by the next look
        self._raise_drift()
        self._folders = now

    def _tell(self, path: str, what: str) -> NoReturn:
        assert self._sealed is not None
        self._raise_drift()
        name = _name(self._sealed, path)
        self._raise(DriftError(f"{name} {what} after the run had begun, though it is as sealed again", remedy=_AGAIN))

    def _raise_drift(self) -> None:
        """Raise if the bytes of any file are not as sealed."""
        assert self._sealed is not None
        try:
            found = find_drift(self._sealed)
        except (SealkitError, OSError) as error:
            self._raise(DriftError(str(error), remedy=_PUT_BACK), error)
        if found:
            more = f", and so are {len(found) - 1} more" if len(found) > 1 else ""
            self._raise(DriftError(f"{found[0]}{more}", remedy=_PUT_BACK))

    def _raise(self, error: DriftError, cause: Exception | None = None) -> NoReturn:
        self._found = error
        raise error from cause


def open_guard(sealed: SealedPlan) -> Guard:
    """The guard of a seal whose files are as sealed; `DriftError` naming those that are not."""
    guard = Guard(sealed)  # before the files are read: what is written while they are is found
    check_no_drift(sealed)
    guard.look(since=time.monotonic())
    return guard


def _files(sealed: SealedPlan) -> Iterator[str]:
    for name, _ in closure_files(sealed.latest.closure):
        yield os.path.abspath(_place(sealed, name))


def _folders(sealed: SealedPlan) -> Mapping[str, _Signature | None]:
    """Every folder of the sealed trees, and those of the study on the way to them."""
    found: dict[str, _Signature | None] = {}
    for tree in sealed.latest.closure.trees:
        root = _place(sealed, tree.path)
        for folder, names, _ in os.walk(root):
            names[:] = [name for name in names if name not in CACHES]
            found[os.path.abspath(folder)] = _signature(folder)
        above = () if tree.path == SEALKIT else Path(tree.path).parents[:-1]
        for one in above:
            found[os.path.abspath(sealed.study / one)] = _signature(sealed.study / one)
    return found


def _place(sealed: SealedPlan, name: str) -> Path:
    own = name == SEALKIT or name.startswith(f"{SEALKIT}/")
    return (sealkit_folder().parent if own else sealed.study) / name


def _name(sealed: SealedPlan, path: str) -> str:
    own = sealkit_folder().parent.absolute()
    root = sealed.study.absolute() if Path(path).is_relative_to(sealed.study.absolute()) else own
    return Path(path).relative_to(root).as_posix()


def _signature(path: str | Path) -> _Signature | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _has_new_entries(before: _Signature | None, now: _Signature | None) -> bool:
    """Whether a folder is the one that it was, and something came or went in it after it was last moved, if ever."""
    return before is not None and now is not None and before[:2] == now[:2] and now[3] == now[4]


__all__ = ["DRIFT", "Guard", "open_guard"]
