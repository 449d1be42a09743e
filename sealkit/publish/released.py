"""An edition as it lies in a folder, checked against what its own results.json and the journal say of it.

    results.json              its analysis has the digest that an `analysed` entry records; it, what `published` records
    report.md, report.html    what this sealkit makes of results.json, byte for byte; not read if another one made them
    bundle.tar                has the digest that results.json quotes

Nothing here runs code of the study. What results.json says follows from the bundle: `publish.held` compares all of it
that needs no run, building the edition again the rest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import jinja2

import sealkit
from sealkit.files import read_file_safely
from sealkit.publish.document import EDITION
from sealkit.publish.edition import BUNDLE, MAX_RESULTS, Edition, digest_of_file
from sealkit.publish.pages.markdown import markdown
from sealkit.publish.pages.page import page
from sealkit.publish.pages.parts import Row, part_of
from sealkit.publish.review.study import Review
from sealkit.seal.history import Anchor
from sealkit.wire.canon import decode_value, digest_json, encode_value
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import HarnessError, MalformedError, UntrustedError
from sealkit.wire.journal_head import parse_head

RESULTS: Final = "results.json"
FILES: Final = (RESULTS, "report.md", "report.html", BUNDLE)
_is_edition = re.compile(r"sealkit/edition/v[1-9][0-9]{0,3}\Z").match
_is_maker = re.compile(r"sealkit [0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}").fullmatch
OWN: Final = f"sealkit {sealkit.__version__}"
_MAX_REPORT: Final = 2 * MAX_RESULTS


@dataclass(frozen=True, slots=True)
class Released:
    """An edition in a folder, whose files agree with each other."""

    folder: Path
    document: Row
    results: bytes
    notes: tuple[str, ...]
    unread: tuple[str, ...]  # its files that this sealkit cannot make again, and did not read

    @property
    def name(self) -> str:
        """What it calls itself."""
        return str(self.document["edition"])

    @property
    def made_by(self) -> str:
        """The sealkit that made it, by its own word."""
        return str(self.document.get("made_by"))

    @property
    def pages(self) -> str:
        """In words, what is known of its pages."""
        if self.unread:
            return f"{' and '.join(self.unread)} were NOT read, they are laid out by {self.made_by}, by its own word"
        return "its pages are those of results.json"

    @property
    def pin(self) -> str:
        """The seal that it belongs to."""
        return str(part_of(self.document, "study").get("pin"))

    @property
    def anchor(self) -> Anchor:
        """The head that it quotes."""
        head = str(part_of(self.document, "study").get("head"))
        count, digest = parse_head(head, where=str(self.folder / RESULTS))
        return Anchor(count, digest, f"edition {self.folder.name}")


def lacking(folder: Path) -> tuple[str, ...]:
    """The files of an edition that are not in `folder`."""
    return tuple(name for name in FILES if not os.path.lexists(folder / name))


def open_released(folder: Path) -> Released:
    """The edition in `folder`; `UntrustedError` or `MalformedError` naming the file that does not fit the others."""
    where = str(folder / RESULTS)
    if missing := lacking(folder):
        what = f"lacks {', '.join(missing)}"
        raise UntrustedError(what, where=str(folder), remedy="an edition has four files: fetch the whole of it")
    results = read_file_safely(folder / RESULTS, inside=folder, limit=MAX_RESULTS)
    document = decode_value(results.removesuffix(b"\n"), where=where)
    kind = document.get("type") if isinstance(document, dict) else None
    if kind != EDITION and isinstance(kind, str) and _is_edition(kind):
        what = f"is written as {kind}, and this sealkit reads {EDITION}"
        raise HarnessError(what, where=where, remedy="its bundle holds the sealkit that was sealed")
    if not isinstance(document, dict) or kind != EDITION or not results.endswith(b"\n"):
        raise MalformedError(f"is no {EDITION}", where=where, remedy="it was edited")
    maker = document.get("made_by")
    if not isinstance(maker, str) or not _is_maker(maker):  # it is shown, and no bundle says it: no room for more
        what = f"made_by is {str(maker)[:80]!a}, due a version as in {OWN!a}"
        raise MalformedError(what, where=where, remedy="it was edited")
    if document.get("edition") != folder.name:
        raise UntrustedError(
            f"calls itself {str(document.get('edition'))[:80]!a}", where=where, remedy="name its folder so"
        )
    bundle = digest_of_file(folder / BUNDLE, inside=folder)
    quoted = str(part_of(document, "study").get("bundle"))
    if bundle != quoted:
        there = "is gone" if bundle is None else f"has digest {short(bundle)}"
        what = f"{there}, but results.json quotes {short(quoted)[:12]!a}"
        raise UntrustedError(what, where=str(folder / BUNDLE), remedy="one of them was edited")
    unread = _check_reports(folder, document)
    return Released(folder, document, results, tuple(_beside(folder)), unread)


def _beside(folder: Path) -> Iterator[str]:
    """What else is in the folder, to be told: nothing of it was made by sealkit."""
    if more := sorted(path.name for path in folder.iterdir() if path.name not in FILES):
        yield f"edition {folder.name}: beside it lie {', '.join(more[:5])}, which are no part of it and were not read"


def _check_reports(folder: Path, document: Row) -> tuple[str, ...]:
    """The pages that were not read: another sealkit lays them out otherwise, by what results.json says of itself."""
    unread = []
    for name, due in reports(document, str(folder / RESULTS)).items():
        if read_file_safely(folder / name, inside=folder, limit=_MAX_REPORT) != due:
            if document.get("made_by") == OWN:
                what, remedy = "is not the report of results.json", "one of them was edited"
                raise UntrustedError(what, where=str(folder / name), remedy=remedy)
            unread.append(name)
    return tuple(unread)


def reports(document: Row, where: str) -> dict[str, bytes]:
    """Both reports of an edition, by name; `MalformedError` if none can be made of it."""
    try:
        return {"report.html": page(document).encode(), "report.md": markdown(document).encode()}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, jinja2.TemplateError) as error:
        what = f"no report can be made of it: {type(error).__name__}"
        raise MalformedError(what, where=where, remedy="it was edited") from error


def check_released(released: Released, found: Review) -> None:
    """Raise `UntrustedError` unless the journal, which was checked, has this analysis, and no other such edition."""
    where = str(released.folder / RESULTS)
    analysis = digest_json(part_of(released.document, "analysis"))
    if analysis not in found.analyses:
        raise UntrustedError(f"its analysis {short(analysis)} is none that the journal records", where=where)
    recorded = found.published.get(released.name)
    if recorded is not None and recorded != digest_bytes(released.results):
        what = f"has digest {short(digest_bytes(released.results))}, but {short(recorded)} was published"
        raise UntrustedError(what, where=where, remedy="it was edited")


def check_rebuilt(released: Released, edition: Edition) -> None:
    """Raise `UntrustedError`, naming the file, unless the edition built again from the bundle is that in the folder.

    Of one that another sealkit made, by its own word, results.json is due with that word. Its pages, where this
    sealkit lays them out otherwise, are `unread`.
    """
    due = edition.digests()
    if released.made_by != OWN:
        written = decode_value(edition.files[RESULTS].removesuffix(b"\n"))
        assert isinstance(written, dict)
        document: Row = written | {"made_by": released.document.get("made_by")}
        due[RESULTS] = digest_bytes(encode_value(document) + b"\n")
    for name in FILES:
        if name in released.unread:
            continue
        there = digest_of_file(released.folder / name, inside=released.folder)
        if there != due[name]:
            found = "gone" if there is None else short(there)
            what = f"is {found}, but built again from the bundle it is {short(due[name])}"
            by = "another sealkit" if released.made_by == OWN else f"{released.made_by}, which can tell"
            raise UntrustedError(what, where=str(released.folder / name), remedy=f"it was edited, or made by {by}")
