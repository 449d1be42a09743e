"""Whether the sealkit that is running rules by the code that was sealed."""

from __future__ import annotations

from sealkit.seal.changes import is_ruling
from sealkit.seal.closure import SEALKIT, sealkit_tree
from sealkit.seal.sealed import SealedPlan


def moved_analysis_code(sealed: SealedPlan) -> tuple[str, ...]:
    """The files of sealkit's ruling code that are not, here, as the pin in force has them."""
    pinned = {entry.path: entry.digest for entry in sealed.latest.closure.tree(SEALKIT).entries}
    here = {entry.path: entry.digest for entry in sealkit_tree().entries}
    return tuple(
        path
        for path in sorted(pinned.keys() | here.keys())
        if is_ruling(f"{SEALKIT}/{path}", frozenset()) and pinned.get(path) != here.get(path)
    )
