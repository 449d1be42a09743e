"""One file that holds all that a stranger needs to check an edition: `sealkit verify bundle.tar`.

The same ustar form as a source archive, the same bytes on every machine, and one study alone:

    CHANGELOG_AFTER_SEAL.md                         if there is one, as of the edition
    plans/NAME.yaml  NAME.seal.json  NAME.manifest.jsonl  NAME.source.tar     and those of each amendment
    receipts/ID/HEAD  calls.jsonl  episodes.jsonl  journal.jsonl     up to the entry that the edition was made at
    receipts/ID/pilot/HEAD  calls.jsonl  episodes.jsonl  journal.jsonl     whole, where the seal counts a pilot

Whoever opens one trusts nothing in it. Refused, besides what `seal.archive` refuses: any other name, a second study, a
missing part.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sealkit.files import open_safely, read_file_safely, read_if_there
from sealkit.seal.archive import BLOCK, MAX_ARCHIVE, header, is_archive, read_members, write_member
from sealkit.seal.changelog import CHANGELOG, changelog_upto
from sealkit.seal.journal import CALLS, EPISODES, HEAD, JOURNAL
from sealkit.seal.piloted import PILOT
from sealkit.seal.places import amendment_file, beside
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.canon import encode_record
from sealkit.wire.chain import JournalHead
from sealkit.wire.errors import MalformedError, UsageError

_KEPT = f"(?:{re.escape(JOURNAL)}|{re.escape(EPISODES)}|{re.escape(CALLS)}|{re.escape(HEAD)})"
_is_part = re.compile(
    rf"plans/[A-Za-z0-9._-]+|receipts/[A-Za-z0-9_-]+/(?:{PILOT}/)?{_KEPT}"
    rf"|{re.escape(CHANGELOG)}"
).fullmatch


def make_bundle(sealed: SealedPlan, head: JournalHead) -> bytes:
    """The bundle of a study as of `head`, a head that its journal had; `UsageError` beyond 256 MiB."""
    members = sorted(_members(sealed, head))
    size = sum(len(data) + BLOCK for _, data in members)
    if size > MAX_ARCHIVE:
        raise UsageError(f"a bundle of {size} bytes, due at most {MAX_ARCHIVE}", remedy="share the study's folder")
    blocks = [header(name, len(data)) + data + bytes(-len(data) % BLOCK) for name, data in members]
    return b"".join(blocks) + bytes(2 * BLOCK)


def _members(sealed: SealedPlan, head: JournalHead) -> Iterator[tuple[str, bytes]]:
    study, plan = sealed.study, sealed.path
    paths = [plan]
    for number in range(len(sealed.pins)):
        record = amendment_file(plan, number) if number else beside(plan, "seal.json")
        paths += [record, beside(plan, "manifest.jsonl", number), beside(plan, "source.tar", number)]
    for path in paths:
        yield f"plans/{path.name}", read_file_safely(path, inside=study, limit=MAX_ARCHIVE)
    folder = f"receipts/{sealed.plan.spec.id}"
    yield f"{folder}/{JOURNAL}", _prefix(sealed.receipts / JOURNAL, study, head.size)
    yield f"{folder}/{EPISODES}", _prefix(sealed.receipts / EPISODES, study, head.episodes_size)
    if head.calls_size:
        yield f"{folder}/{CALLS}", _prefix(sealed.receipts / CALLS, study, head.calls_size)
    yield f"{folder}/{HEAD}", encode_record(head) + b"\n"
    if sealed.seal.pilot.head is not None:
        for name in (JOURNAL, EPISODES, HEAD, CALLS):
            data = read_if_there(sealed.receipts / PILOT / name, inside=study, limit=MAX_ARCHIVE)
            if data is not None:
                yield f"{folder}/{PILOT}/{name}", data
    changelog = changelog_upto(sealed, head)
    if changelog:
        yield CHANGELOG, changelog


def _prefix(path: Path, study: Path, size: int) -> bytes:
    with open(open_safely(path, inside=study), "rb") as file:
        return file.read(size)


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
            for name, data in read_members(file, where=str(path), most=MAX_ARCHIVE):
                if _is_part(name) is None:
                    raise MalformedError(f"{name} is no part of a bundle", where=str(path))
                write_member(into, name, data)
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
