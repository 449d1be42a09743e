"""Bodies that were taken out of what is kept: which, and how one more is.

A body that should not be published, because it holds what nobody may see, is removed; its digest stays in the calls.
The journal says so first: a crash in between leaves a body that is withheld and still there, and the same command ends
it.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from sealkit.files import open_folder, open_safely
from sealkit.seal.journal import BLOBS, CALLS, JOURNAL, exclusive
from sealkit.seal.recovery import recover
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.calls import Call
from sealkit.wire.canon import MAX_LINE, decode_record
from sealkit.wire.chain import Entry
from sealkit.wire.digest import PREFIX, is_digest
from sealkit.wire.errors import OutOfOrderError, SealkitError, UsageError
from sealkit.wire.events import Withheld

_MARK = b'"kind":"withheld"'


def withheld_bodies(folder: Path, *, inside: Path) -> frozenset[str]:
    """The digests that entries of the journal in `folder` withhold; that the entries hold is for `seal.history`."""
    found: set[str] = set()
    if not (folder / CALLS).exists():
        return frozenset()
    try:
        with open(open_safely(folder / JOURNAL, inside=inside), "rb") as journal:
            while line := journal.readline(MAX_LINE + 2):
                if _MARK in line and isinstance(event := _event(line), Withheld):
                    found.add(event.digest)
    except FileNotFoundError:
        pass
    return frozenset(found)


def _event(line: bytes) -> object:
    try:
        return decode_record(line.removesuffix(b"\n"), Entry).event
    except SealkitError:
        return None  # whoever reads the journal says what is wrong with it


def withhold(sealed: SealedPlan, digest: str, *, reason: str, now: datetime) -> bool:
    """The body of `digest` is gone and the journal says why; whether there was one left to remove.

    `UsageError` if no call names it; `OutOfOrderError` if it is withheld already and gone.
    """
    if not is_digest(digest):
        remedy = "a line of calls.jsonl names it"
        raise UsageError(f"found {digest[:80]!a}, due sha256:…", where="DIGEST", remedy=remedy)
    with exclusive(sealed.receipts, inside=sealed.study):
        recover(sealed.receipts, inside=sealed.study, now=now)
        history = sealed.history()
        named = known = False
        for entry, _ in history:
            named = named or any(digest in _bodies(line) for line in history.calls.splitlines())
            known = known or (isinstance(entry.event, Withheld) and entry.event.digest == digest)
        if not named:
            raise UsageError("no call of this study has a body of this digest", where=digest)
        there = _remove(sealed, digest, only_look=True)
        if known and not there:
            raise OutOfOrderError("the body is withheld already", where=digest)
        if not known:
            sealed.journal().append(Withheld(digest=digest, reason=reason), now=now)
        return _remove(sealed, digest)


def _bodies(line: bytes) -> tuple[str, ...]:
    call = decode_record(line, Call)
    return (call.request, call.response or "")


def _remove(sealed: SealedPlan, digest: str, *, only_look: bool = False) -> bool:
    """Whether the body was there; it is gone after this, unless one only looks."""
    name = digest.removeprefix(PREFIX)
    try:
        with open_folder(sealed.receipts / BLOBS / name[:2], inside=sealed.study) as shard:
            return shard.has(f"{name}.gz") if only_look else shard.remove(f"{name}.gz")
    except FileNotFoundError:
        return False
