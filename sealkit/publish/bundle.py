"""One file that holds all that a stranger needs to check an edition: `sealkit verify bundle.tar`.

The same ustar form as a source archive, the same bytes on every machine, and one study alone:

    CHANGELOG_AFTER_SEAL.md                         if there is one, as of the edition
    plans/NAME.yaml  NAME.seal.json  NAME.manifest.jsonl  NAME.source.tar     and those of each amendment
    receipts/ID/blobs/ab/ab….gz                     the bodies that calls.jsonl names, but for those that are withheld
    receipts/ID/HEAD  calls.jsonl  episodes.jsonl  journal.jsonl     up to the entry that the edition was made at
    receipts/ID/pilot/HEAD  calls.jsonl  episodes.jsonl  journal.jsonl     whole, where the seal counts a pilot

Whoever opens one trusts nothing in it. Refused, besides what `seal.archive` refuses: any other name, a second study, a
missing part.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sealkit.agents.models.blobs import Blobs
from sealkit.files import open_safely, read_in_chunks
from sealkit.seal.archive import BLOCK, MAX_ARCHIVE, header, is_archive, stream_members, write_member
from sealkit.seal.changelog import CHANGELOG, changelog_upto
from sealkit.seal.journal import BLOBS, CALLS, EPISODES, HEAD, JOURNAL
from sealkit.seal.piloted import PILOT
from sealkit.seal.places import amendment_file, beside
from sealkit.seal.sealed import SealedPlan
from sealkit.seal.withheld import withheld_bodies
from sealkit.wire.attempts import read_calls
from sealkit.wire.canon import MAX_LINE, encode_record
from sealkit.wire.digest import PREFIX
from sealkit.wire.errors import MalformedError, UntrustedError, UsageError
from sealkit.wire.journal_head import JournalHead

_KEPT = f"(?:{re.escape(JOURNAL)}|{re.escape(EPISODES)}|{re.escape(CALLS)}|{re.escape(HEAD)})"
_is_part = re.compile(
    rf"plans/[A-Za-z0-9._-]+|receipts/[A-Za-z0-9_-]+/(?:{PILOT}/)?{_KEPT}"
    rf"|receipts/[A-Za-z0-9_-]+/{BLOBS}/([0-9a-f]{{2}})/\1[0-9a-f]{{62}}\.gz|{re.escape(CHANGELOG)}"
).fullmatch


@dataclass(frozen=True, slots=True)
class _Part:
    """One file of a bundle: bytes, or the first `size` of a file of the study."""

    name: str
    size: int
    source: bytes | Path


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle to be written. What it holds stays where it is until then; `digest` is that of its bytes."""

    study: Path
    parts: tuple[_Part, ...]
    digest: str

    def chunks(self) -> Iterator[bytes]:
        """Its bytes; `UntrustedError` at their end if they are no longer those that `digest` was made of."""
        hashed = sha256()
        for chunk in _chunks(self.study, self.parts):
            hashed.update(chunk)
            yield chunk
        if PREFIX + hashed.hexdigest() != self.digest:
            raise UntrustedError("was changed while its bundle was being written", where=str(self.study))


def make_bundle(sealed: SealedPlan, head: JournalHead) -> Bundle:
    """The bundle of a study as of `head`, a head that its journal had; `UsageError` beyond 256 MiB.

    Sizes are added up before anything is read.
    """
    parts = tuple(sorted(_parts(sealed, head), key=lambda part: part.name))
    size = sum(part.size for part in parts)
    if size > MAX_ARCHIVE:
        raise UsageError(f"a bundle of {size} bytes, due at most {MAX_ARCHIVE}", remedy="share the study's folder")
    hashed = sha256()
    for chunk in _chunks(sealed.study, parts):
        hashed.update(chunk)
    return Bundle(sealed.study, parts, PREFIX + hashed.hexdigest())


def _chunks(study: Path, parts: Iterable[_Part]) -> Iterator[bytes]:
    for part in parts:
        yield header(part.name, part.size)
        if isinstance(part.source, bytes):
            yield part.source
        else:
            yield from read_in_chunks(part.source, inside=study, size=part.size)
        yield bytes(-part.size % BLOCK)
    yield bytes(2 * BLOCK)


def _parts(sealed: SealedPlan, head: JournalHead) -> Iterator[_Part]:
    study, plan = sealed.study, sealed.path
    paths = [plan]
    for number in range(len(sealed.pins)):
        record = amendment_file(plan, number) if number else beside(plan, "seal.json")
        paths += [record, beside(plan, "manifest.jsonl", number), beside(plan, "source.tar", number)]
    for path in paths:
        yield _Part(f"plans/{path.name}", _size(path, study), path)
    folder = f"receipts/{sealed.plan.spec.id}"
    yield _Part(f"{folder}/{JOURNAL}", head.size, sealed.receipts / JOURNAL)
    yield _Part(f"{folder}/{EPISODES}", head.episodes_size, sealed.receipts / EPISODES)
    if head.calls_size:
        yield _Part(f"{folder}/{CALLS}", head.calls_size, sealed.receipts / CALLS)
        for path in _bodies(sealed, head.calls_size):
            yield _Part(f"{folder}/{path.relative_to(sealed.receipts).as_posix()}", _size(path, study), path)
    made = {f"{folder}/{HEAD}": encode_record(head) + b"\n", CHANGELOG: changelog_upto(sealed, head)}
    yield from (_Part(name, len(data), data) for name, data in made.items() if data)
    if sealed.seal.pilot.head is not None:
        pilot = sealed.receipts / PILOT
        kept = [pilot / name for name in (JOURNAL, EPISODES, HEAD, CALLS) if os.path.lexists(pilot / name)]
        yield from (_Part(f"{folder}/{PILOT}/{path.name}", _size(path, study), path) for path in kept)


def _bodies(sealed: SealedPlan, calls_size: int) -> list[Path]:
    """The files of the bodies that the first bytes of calls.jsonl name, and that are there."""
    named: set[str] = set()
    with open(open_safely(sealed.receipts / CALLS, inside=sealed.study), "rb") as file:
        while file.tell() < calls_size:
            for call in read_calls(file.readline(MAX_LINE + 1), where=CALLS):
                named |= {digest for digest in (call.request, call.response) if digest is not None}
    blobs = Blobs(sealed.receipts / BLOBS, inside=sealed.study)
    gone = withheld_bodies(sealed.receipts, inside=sealed.study)
    return [path for digest in sorted(named - gone) if (path := blobs.path(digest)).exists()]


def _size(path: Path, study: Path) -> int:
    descriptor = open_safely(path, inside=study)
    try:
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


@contextmanager
def opened_bundle(path: Path) -> Iterator[Path]:
    """The study that a bundle holds, unpacked in a fresh folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="sealkit-bundle-") as scratch:
        into = Path(scratch) / "study"
        into.mkdir()
        names = []
        with open(open_safely(path, inside=path.parent), "rb") as file:
            first = file.peek(BLOCK)[:BLOCK]
            if len(first) == BLOCK and first != bytes(BLOCK) and not is_archive(first):
                remedy = "name the bundle.tar of an edition, or a study's folder"
                raise MalformedError("is no bundle: found no ustar header", where=str(path), remedy=remedy)
            for name, chunks in stream_members(file, where=str(path), most=MAX_ARCHIVE):
                if _is_part(name) is None:
                    raise MalformedError(f"{name} is no part of a bundle", where=str(path))
                write_member(into, name, chunks)
                names.append(name)
        _check_whole(names, str(path))
        yield into


def _check_whole(names: list[str], where: str) -> None:
    """Raise unless these are the parts of one study: so nothing outside a bundle is ever taken for a part of it."""
    for what, is_one in (("seal", ".seal.json"), ("journal", f"/{JOURNAL}")):
        # A pilot's journal lies one folder deeper.
        found = [name for name in names if name.endswith(is_one) and name.count("/") <= 2]
        if len(found) != 1:
            raise MalformedError(
                f"found {len(found)} {what}s, due one", where=where, remedy="it is no bundle of an edition"
            )
    folders = {name.split("/")[1] for name in names if name.startswith("receipts/")}
    if len(folders) != 1:
        raise MalformedError(f"found receipts of {len(folders)} plans, due one", where=where)
