"""Bodies that were taken out of what is kept: which, and how one more is.

A body that should not be published, because it holds what nobody may see, is removed; its digest stays in the calls.
The journal says so first: a crash in between leaves a body that is withheld and still there, and the same command ends
it. What it costs is counted before: one body may be the reply to many calls, and no entry takes it back.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

import msgspec

from sealkit.files import open_folder, open_safely
from sealkit.plan.actors import CommandArm
from sealkit.seal.journal import BLOBS, CALLS, JOURNAL, exclusive
from sealkit.seal.recovery import recover
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.attempts import answered, read_calls
from sealkit.wire.canon import MAX_LINE, decode_record
from sealkit.wire.chain import Entry
from sealkit.wire.digest import PREFIX, is_digest
from sealkit.wire.errors import OutOfOrderError, SealkitError, UsageError
from sealkit.wire.events import EpisodeKept, Published, Read, Withheld

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


class Cost(msgspec.Struct):
    """What hangs on one body: HTTP requests that it is the request of, or the reply to, by what asked them.

    `episodes`, by arm, cannot be run again without it, `readings`, by reading, count as missing without it. `known`
    says that an entry withholds it already, `there` that it is still kept. `editions` were published so far.
    """

    requests: Counter[str]
    replies: Counter[str]
    episodes: Counter[str]
    readings: Counter[str]
    editions: int = 0
    known: bool = False
    there: bool = False


def cost_of(sealed: SealedPlan, digest: str) -> Cost:
    """What withholding the body of this digest costs the study; nothing is changed.

    `UsageError` if no call names it; `OutOfOrderError` if it is withheld already and gone.
    """
    if not is_digest(digest):
        remedy = "a line of calls.jsonl names it"
        raise UsageError(f"found {digest[:80]!a}, due sha256:…", where="DIGEST", remedy=remedy)
    history, cost = sealed.history(), Cost(Counter(), Counter(), Counter(), Counter())
    for entry, _ in history:
        event = entry.event
        cost.known = cost.known or (isinstance(event, Withheld) and event.digest == digest)
        cost.editions += isinstance(event, Published)
        calls = read_calls(history.calls, where=CALLS) if history.calls else ()
        for call in calls:
            who = f"arm {call.slot['arm']}" if call.purpose == "act" else f"readings of arm {call.slot['arm']}"
            cost.requests[who] += call.request == digest
            cost.replies[who] += call.response == digest
        if not any(call.response == digest for call in answered(calls)):
            continue  # a request is known by its digest, and asked again by whoever runs the arm
        if isinstance(event, EpisodeKept) and not _by_program(sealed, event):
            cost.episodes[f"arm {event.slot['arm']}"] += 1
        elif isinstance(event, Read):
            cost.readings[f"{event.reading} {event.level}"] += 1
    if not cost.requests.total() + cost.replies.total():
        raise UsageError("no call of this study has a body of this digest", where=digest)
    cost.there = _remove(sealed, digest, only_look=True)
    if cost.known and not cost.there:
        raise OutOfOrderError("the body is withheld already", where=digest)
    return cost


def _by_program(sealed: SealedPlan, event: EpisodeKept) -> bool:
    """Whether a program of the study's own played the episode: none is run again, with or without its replies."""
    return isinstance(sealed.under(event.pin).plan.spec.factors.arm.get(str(event.slot["arm"])), CommandArm)


def withhold(sealed: SealedPlan, digest: str, *, reason: str, now: datetime) -> Cost:
    """The body of `digest` is gone and the journal says why; what that cost. Raises as `cost_of` does."""
    with exclusive(sealed.receipts, inside=sealed.study):
        recover(sealed.receipts, inside=sealed.study, now=now)
        cost = cost_of(sealed, digest)
        if not cost.known:
            sealed.journal().append(Withheld(digest=digest, reason=reason), now=now)
        _remove(sealed, digest)
        return cost


def _remove(sealed: SealedPlan, digest: str, *, only_look: bool = False) -> bool:
    """Whether the body was there; it is gone after this, unless one only looks."""
    name = digest.removeprefix(PREFIX)
    try:
        with open_folder(sealed.receipts / BLOBS / name[:2], inside=sealed.study) as shard:
            return shard.has(f"{name}.gz") if only_look else shard.remove(f"{name}.gz")
    except FileNotFoundError:
        return False
