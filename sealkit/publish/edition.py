"""One edition of a study: what is published, built from its records, the same bytes whenever it is built.

    edition = build_edition(study, step=…)         # nothing written; every gate decided, every claim ruled on
    edition = edition_of(study, review)            # the same, from a review in which the sealed judge measured
    write_edition(edition, folder)                 # only if all of the plan's gates are open; never over another

An edition is a function of the pins, the episodes, and the journal up to its last `analysed` entry. Its files:
results.json (every number of the report is read from it), report.md, report.html, bundle.tar.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, cast

from sealkit.files import create_in_chunks, open_folder, read_in_chunks, sync_folder, to_type
from sealkit.infer.analysis import Analysis
from sealkit.infer.claims import ClaimRuling
from sealkit.infer.gates import GateRuling, all_open
from sealkit.publish.bundle import Bundle, make_bundle
from sealkit.publish.document import Rulings, Upto, document_of, evidence_of, journal_upto, rulings
from sealkit.publish.pages.markdown import markdown
from sealkit.publish.pages.page import page
from sealkit.publish.review.analyse import analysis_of
from sealkit.publish.review.study import Review, review
from sealkit.seal.archive import MAX_ARCHIVE
from sealkit.verify.study import Study
from sealkit.wire.canon import decode_value, encode_value
from sealkit.wire.digest import PREFIX, digest_bytes, short
from sealkit.wire.errors import HarnessError, MalformedError, OutOfOrderError, UntrustedError
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.records import Json

BUNDLE: Final = "bundle.tar"
MAX_RESULTS: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Edition:
    """An edition: its name, its files, its bundle to be written, and what decided whether it may be written."""

    name: str
    plan: str
    pin: str
    files: Mapping[str, bytes]  # all but the bundle
    bundle: Bundle
    claims: tuple[ClaimRuling, ...]
    gates: tuple[GateRuling, ...]
    head: JournalHead
    results: str
    recorded: bool  # whether the journal has it as published

    @property
    def may_be_published(self) -> bool:
        """Whether every gate of the plan is open."""
        return all_open(self.gates)

    def digests(self) -> dict[str, str]:
        """The digest of every file, the bundle too, by its name."""
        return {name: digest_bytes(data) for name, data in self.files.items()} | {BUNDLE: self.bundle.digest}


def build_edition(study: Study, *, step: Callable[[int], None]) -> Edition:
    """The edition of the study's last analysis; `OutOfOrderError` if there is none that stands."""
    found = review(study, anchors=(), measure=True, step=step)
    return edition_of(study, found)


def edition_of(study: Study, found: Review) -> Edition:
    """The edition of a study that was reviewed, its episodes measured; `OutOfOrderError` if no analysis stands.

    The sealed world makes every scenario again: `UntrustedError` if one is another.
    """
    upto = journal_upto(study)
    if upto is None:
        path = study.sealed.path
        raise OutOfOrderError("there is no analysis to publish", where=str(path), remedy=to_type("analyse", path))
    if found.changed_since:
        path = study.sealed.path
        what = "an amendment, a withdrawal or a withheld body came after the last analysis"
        raise OutOfOrderError(what, where=str(path), remedy=to_type("analyse", path))
    study.check_scenarios()
    analysis = analysis_of(study, found)
    ruled = rulings(study, found, analysis, evidence_of(study, found, analysis, upto.course))
    bundle = make_bundle(study.sealed, upto.head)
    return _edition(study, found, analysis, upto, ruled, bundle)


def _edition(study: Study, found: Review, analysis: Analysis, upto: Upto, ruled: Rulings, bundle: Bundle) -> Edition:
    sealed, spec = study.sealed, study.sealed.plan.spec
    document = document_of(study, found, analysis, upto, ruled, bundle.digest)
    name, results = str(document["edition"]), digest_bytes(analysis.line)
    line = encode_value(document)
    # The reports are made of what was written, keys in its order: a reader has nothing else.
    written = cast(dict[str, Json], decode_value(line))
    files = {
        "results.json": line + b"\n",
        "report.md": markdown(written).encode(),
        "report.html": page(written).encode(),
    }
    recorded = found.published.get(name) == digest_bytes(files["results.json"])
    return Edition(name, spec.id, sealed.pin, files, bundle, ruled.claims, ruled.gates, upto.head, results, recorded)


def write_edition(edition: Edition, publications: Path) -> bool:
    """The edition stands in `publications/NAME`, whole, after this; whether it is new. Nobody else publishes the plan.

    It is written beside its place and moved there at once: a crash leaves no part of an edition, and what it leaves the
    next call removes. An edition that is there is compared, byte by byte, and never written over: `UntrustedError` if
    it differs.
    """
    publications.mkdir(parents=True, exist_ok=True)
    open_folder(publications, inside=publications.parent).close()  # refuses a link
    folder, making = publications / edition.name, publications / f".{edition.plan}.making"
    _remove(making)
    if os.path.lexists(folder):
        return _complete(edition, folder, publications)
    making.mkdir()
    for name in edition.digests():
        _write(edition, making, name)
    try:
        os.rename(making, folder)
    except OSError as error:
        what = f"cannot be moved there: {error.strerror}"
        raise HarnessError(what, where=str(folder), remedy="publish again") from error
    sync_folder(publications)
    return True


def _remove(making: Path) -> None:
    """What a crash left of an edition is gone after this."""
    if not os.path.lexists(making):
        return
    try:
        making.unlink() if making.is_symlink() or not making.is_dir() else shutil.rmtree(making)
    except OSError as error:
        what = f"a crash left this, and it cannot be removed: {error.strerror}"
        raise HarnessError(what, where=str(making), remedy="remove it, and publish again") from error


def _complete(edition: Edition, folder: Path, publications: Path) -> bool:
    """Compare what is there; whether something was lacking, which is there now."""
    lacking = []
    for name, due in edition.digests().items():
        path = folder / name
        there = digest_of_file(path, inside=publications)
        if there is None:
            lacking.append(name)
        elif there != due:
            raise UntrustedError(
                f"differs from the edition built now ({short(there)} there, {short(due)} now)",
                where=str(path),
                remedy="it was edited, or built by another sealkit; move it away to build it again",
            )
    for name in lacking:
        _write(edition, folder, name)
    return bool(lacking)


def _write(edition: Edition, folder: Path, name: str) -> None:
    create_in_chunks(folder / name, edition.bundle.chunks() if name == BUNDLE else (edition.files[name],))


def digest_of_file(path: Path, *, inside: Path) -> str | None:
    """The digest of the bytes of a regular file, which are not held in memory; None if there is none."""
    hashed, left = sha256(), 2 * MAX_ARCHIVE
    try:
        for chunk in read_in_chunks(path, inside=inside):
            hashed.update(chunk)
            left -= len(chunk)
            if left < 0:
                raise MalformedError(f"more than {2 * MAX_ARCHIVE} bytes", where=str(path))
    except FileNotFoundError:
        return None
    return PREFIX + hashed.hexdigest()
