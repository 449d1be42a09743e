"""The heads that hold a study's history in place from outside its journal.

They are those given, the changelog's, those of editions, and those of seals that were made later in the same folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from sealkit.files import read_file_safely
from sealkit.seal.changelog import CHANGELOG, read_changelog
from sealkit.seal.heads import quoted_heads
from sealkit.seal.history import Anchor
from sealkit.seal.pins import read_seal
from sealkit.seal.sealed import SealedPlan
from sealkit.seal.siblings import sealed_beside
from sealkit.verify.study import Study
from sealkit.wire.canon import decode_value
from sealkit.wire.errors import MalformedError
from sealkit.wire.journal_head import parse_head

PUBLICATIONS: Final = "publications"
_MAX_EDITION: Final = 64 * 1024 * 1024


def anchors_of(study: Study, expected: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Every head that something outside the journal quotes: `expected`, the changelog, editions, later seals."""
    sealed = study.sealed
    anchors = list(expected)
    changelog = read_changelog(sealed.study).decode(errors="replace")
    anchors += quoted_heads(changelog, plan=sealed.plan.spec.id, source=CHANGELOG)
    return (*anchors, *_edition_anchors(sealed), *_sibling_anchors(sealed))


def editions_in(study: Path) -> tuple[Path, ...]:
    """The folders of a study's editions, but for those that are only being made."""
    return tuple(path for path in sorted((study / PUBLICATIONS).glob("*")) if not path.name.startswith("."))


def _edition_anchors(sealed: SealedPlan) -> Iterator[Anchor]:
    """The heads that the study's own editions of this seal quote."""
    for path in (folder / "results.json" for folder in editions_in(sealed.study)):
        if not path.exists():
            continue
        source = f"edition {path.parent.name}"
        raw = read_file_safely(path, inside=sealed.study, limit=_MAX_EDITION)
        edition = decode_value(raw.removesuffix(b"\n"), where=str(path))
        study = edition.get("study") if isinstance(edition, dict) else None
        if not isinstance(study, dict):
            raise MalformedError("is no edition", where=str(path), remedy="it was edited")
        if study.get("pin") == sealed.pin:
            count, digest = parse_head(str(study.get("head")), where=str(path))
            yield Anchor(count, digest, source)


def _sibling_anchors(sealed: SealedPlan) -> Iterator[Anchor]:
    """The heads of this journal that plans quote which were sealed later."""
    for path in sealed_beside(sealed.path):
        seal, _ = read_seal(path, sealed.study)
        for sibling in seal.beside:
            if sibling.pin == sealed.pin and sibling.head is not None:
                count, digest = parse_head(sibling.head, where=str(path))
                yield Anchor(count, digest, f"the seal of {seal.plan.id}")
