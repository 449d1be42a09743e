"""What was given to be verified: a study, one plan of it, editions, or a bundle alone; anything else is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal, TypeAlias

from sealkit.files import kind_of_file, to_type
from sealkit.publish.edition import BUNDLE
from sealkit.publish.released import RESULTS
from sealkit.publish.review.anchors import PUBLICATIONS, editions_in
from sealkit.wire.errors import UsageError

Given: TypeAlias = Literal["study", "plan", "editions", "edition", "bundle"]
_WHAT = "name a study's folder, its receipts/, plans/NAME.yaml, publications/, an edition's folder, or its bundle.tar"


def what_is_given(path: Path) -> Given:
    """What `path` is; `UsageError` if there is nothing, or nothing that holds a study. Nothing is opened."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        if _was_sealed(path):
            return "study"  # its receipts are gone: which is for the review to say
        raise UsageError("there is no study here", where=str(path), remedy=_WHAT) from None
    if stat.S_ISREG(mode):
        return "plan" if path.parent.name == "plans" and path.suffix == ".yaml" else "bundle"
    if not stat.S_ISDIR(mode):
        what = f"found {kind_of_file(mode)}, due a folder or a file that holds a study"
        raise UsageError(what, where=str(path), remedy=_WHAT)
    if (path / "plans").is_dir() or _was_sealed(path):
        return "study"
    if _is_edition(path):
        return "edition"
    if path.name == PUBLICATIONS and editions_of(path):
        return "editions"
    above = path.parent if (path.parent / "plans").is_dir() else None
    remedy = _WHAT if above is None else to_type("verify", above)
    raise UsageError("there is no study here", where=str(path), remedy=remedy)


def editions_of(folder: Path) -> tuple[Path, ...]:
    """The editions in a folder `publications`, by name."""
    return tuple(path for path in editions_in(folder.parent) if _is_edition(path))


def _is_edition(path: Path) -> bool:
    return os.path.lexists(path / RESULTS) or os.path.lexists(path / BUNDLE)


def _was_sealed(path: Path) -> bool:
    """Whether `path` is where a study has its receipts, or one plan's of them."""
    place = path if path.name == "receipts" else path.parent
    return place.name == "receipts" and (place.parent / "plans").is_dir()
