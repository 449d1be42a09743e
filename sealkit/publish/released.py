"""An edition as it lies in a folder, checked against what its own results.json and the journal say of it.

    results.json              its analysis has the digest that an `analysed` entry records; it, what `published` records
    report.md, report.html    what this sealkit makes of results.json, byte for byte
    bundle.tar                has the digest that results.json quotes

Nothing here runs code of the study. That results.json follows from the bundle is seen by building the edition again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import jinja2

import sealkit
from sealkit.files import read_file_safely
from sealkit.publish.document import EDITION
from sealkit.publish.edition import BUNDLE, MAX_RESULTS, Edition, digest_of_file
from sealkit.publish.markdown import markdown
from sealkit.publish.page import page
from sealkit.publish.parts import Row, part_of
from sealkit.publish.review import Review
from sealkit.seal.history import Anchor
from sealkit.wire.canon import decode_value, digest_json
from sealkit.wire.chain import parse_head
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import MalformedError, UntrustedError

RESULTS: Final = "results.json"
_MAX_REPORT: Final = 2 * MAX_RESULTS


@dataclass(frozen=True, slots=True)
class Released:
    """An edition in a folder, whose files agree with each other."""

    folder: Path
    document: Row
    results: bytes
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """What it calls itself."""
        return str(self.document["edition"])

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


def is_released(folder: Path) -> bool:
    """Whether a folder is that of an edition."""
    return (folder / RESULTS).is_file() and (folder / BUNDLE).is_file()


def open_released(folder: Path) -> Released:
    """The edition in `folder`; `UntrustedError` or `MalformedError` naming the file that does not fit the others."""
    where = str(folder / RESULTS)
    results = read_file_safely(folder / RESULTS, inside=folder, limit=MAX_RESULTS)
    document = decode_value(results.removesuffix(b"\n"), where=where)
    if not isinstance(document, dict) or document.get("type") != EDITION or not results.endswith(b"\n"):
        raise MalformedError(f"is no {EDITION}", where=where, remedy="it was edited")
    if document.get("edition") != folder.name:
        raise UntrustedError(
            f"calls itself {str(document.get('edition'))[:80]!a}", where=where, remedy="name its folder so"
        )
    bundle = digest_of_file(folder / BUNDLE, inside=folder)
    if bundle is None:
        raise UntrustedError("there is no such file", where=str(folder / BUNDLE), remedy="fetch the whole edition")
    quoted = str(part_of(document, "study").get("bundle"))
    if bundle != quoted:
        what = f"has digest {short(bundle)}, but results.json quotes {short(quoted)[:12]!a}"
        raise UntrustedError(what, where=str(folder / BUNDLE), remedy="one of them was edited")
    return Released(folder, document, results, tuple(_check_reports(folder, document)))


def _check_reports(folder: Path, document: Row) -> list[str]:
    own, maker = f"sealkit {sealkit.__version__}", str(document.get("made_by"))[:80]
    found = {
        name: read_file_safely(folder / name, inside=folder, limit=_MAX_REPORT) for name in ("report.md", "report.html")
    }
    if maker != own:
        return [f"the reports of edition {folder.name} were made by {maker}, and are not compared by {own}"]
    try:
        due = {"report.md": markdown(document).encode(), "report.html": page(document).encode()}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, jinja2.TemplateError) as error:
        what = f"no report can be made of it: {type(error).__name__}"
        raise MalformedError(what, where=str(folder / RESULTS), remedy="it was edited") from error
    for name, data in due.items():
        if found[name] != data:
            raise UntrustedError(
                "is not the report of results.json", where=str(folder / name), remedy="one of them was edited"
            )
    return []


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
    """Raise `UntrustedError`, naming the file, unless the edition built again from the bundle is that in the folder."""
    for name, due in edition.digests().items():
        there = digest_of_file(released.folder / name, inside=released.folder)
        if there != due:
            found = "gone" if there is None else short(there)
            what = f"is {found}, but built again from the bundle it is {short(due)}"
            raise UntrustedError(
                what, where=str(released.folder / name), remedy="it was edited, or made by another sealkit"
            )
