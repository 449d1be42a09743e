"""CHANGELOG_AFTER_SEAL.md: what changed after the seal, for people, in lockstep with the journal.

One block for each amendment and each withdrawal of any plan of the study. A block runs from its heading, a line that
begins with `## PLAN-ID `, to the next such line or the end, and is a function of the amendment's record and the
journal alone: `sealkit verify` derives each again and compares bytes. So nothing but blocks stands below the first
heading. What is above it is the authors' own, and never read but for heads that it quotes (`seal.heads`).

    ## v1 A-0001, 2026-11-30T12:00:00Z

    Reason: the parser dropped the last line of a reply.

    - phase: after_smoke
    - changed, harness: worlds/house/world.py changed
    …
    - `head v1 12:sha256:…`

The head is that of the journal after the entry, so a block also holds the history before it in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from sealkit.files import read_if_there, replace_file
from sealkit.seal.changes import changed_sections, unchanged_words
from sealkit.seal.commitment import Amendment, FileChange, amendment_name, check_reason
from sealkit.seal.history import History, spell_slot
from sealkit.seal.pins import Pinned, read_seal
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.chain import Entry
from sealkit.wire.digest import short
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Amended, Withdrawn
from sealkit.wire.journal_head import JournalHead

CHANGELOG: Final = "CHANGELOG_AFTER_SEAL.md"
ALL: Final = "all"
PREFACE: Final = """\
# Changes after the seal

Each block below is written by `sealkit amend`, and `sealkit verify` derives it again from the amendment and the
journal. Words of your own have their place above the first block.

"""
_MAX_CHANGELOG: Final = 16 * 1024 * 1024
_heading = re.compile(rb"^## ", re.MULTILINE)
_MOST_NAMED: Final = 20


def read_changelog(study: Path) -> bytes:
    """The changelog of a study as it stands; empty if there is none."""
    return read_if_there(study / CHANGELOG, inside=study, limit=_MAX_CHANGELOG) or b""


# --- deriving ------------------------------------------------------------------------------------


def blocks_due(sealed: SealedPlan, history: History) -> tuple[bytes, ...]:
    """The blocks of every amendment and withdrawal in the journal, which is read and checked to its end."""
    return tuple(
        block_of(sealed, entry, history.head)
        for entry in history.entries()
        if isinstance(entry.event, (Amended, Withdrawn))
    )


def changelog_upto(sealed: SealedPlan, head: JournalHead) -> bytes:
    """The changelog of this plan alone as of `head`, a head that its journal had; empty if there was no block yet."""
    history, blocks = sealed.history(), list[bytes]()
    for entry in history.entries():
        if isinstance(entry.event, (Amended, Withdrawn)) and history.head.count <= head.count:
            blocks.append(block_of(sealed, entry, history.head))
    return b"".join([PREFACE.encode(), *blocks]) if blocks else b""


def block_of(sealed: SealedPlan, entry: Entry, head: JournalHead) -> bytes:
    """The block of one `amended` or `withdrawn` entry; `head` is that of the journal after it."""
    event, plan = entry.event, sealed.plan.spec.id
    if isinstance(event, Amended):
        lines = list(_of_amendment(sealed.pins[event.number - 1], sealed.pins[event.number]))
        title = f"{amendment_name(event.number)}, {sealed.amendments[event.number - 1].made_at}"
    elif isinstance(event, Withdrawn):
        check_reason(event.reason, where=f"{sealed.receipts / 'journal.jsonl'} entry {entry.seq}")
        what = "all claims" if event.what == ALL else f"claim {event.what}"
        title, lines = f"withdrawal, {entry.time}", [f"Reason: {event.reason}", "", f"- withdrawn: {what}"]
    else:
        raise TypeError("an entry that has no block")
    return "\n".join([f"## {plan} {title}", "", *lines, f"- `head {plan} {head}`", "", ""]).encode()


def _of_amendment(before: Pinned, after: Pinned) -> Iterator[str]:
    amendment = after.commitment
    assert isinstance(amendment, Amendment)
    changed = amendment.changed
    yield f"Reason: {amendment.reason}"
    yield ""
    yield f"- phase: {amendment.phase}"
    for kind, names in (("protected sections", changed.protected), ("described sections", changed.described)):
        if names:
            yield f"- changed, {kind}: {', '.join(names)}"
    if changed.layout:
        yield "- changed: comments or layout of the plan, and no section"
    for kind, files in (("ruling code", changed.ruling), ("harness", changed.harness)):
        if files:
            yield f"- changed, {kind}: {_files(files)}"
    if changed.scenarios:
        yield f"- scenarios added, removed or not as they were: {changed.scenarios}"
    asked = ", ".join(unchanged_words(before.commitment.plan, amendment.plan)) or "none of hypotheses, metrics, …"
    yield f"- unchanged by digest: {asked}"
    moved = changed_sections(before.commitment.plan.sections, amendment.plan.sections)
    same = [f"{name} {short(digest)}" for name, digest in sorted(amendment.plan.sections.items()) if name not in moved]
    yield f"- sections with the same digest as before: {', '.join(same) or 'none'}"
    impact = amendment.impact
    if impact is not None:
        yield f"- recorded slots run again by the amended code: {impact.episodes}, of them other: {impact.differ}"
    if amendment.superseded:
        blocks = _listed([spell_slot(block) for block in amendment.superseded])
        yield f"- superseded blocks, to be run again in every arm: {blocks}"
    yield from (f"- claims: {effect}" for effect in amendment.effect)
    yield f"- pin: `{after.pin}`"


def _files(files: Sequence[FileChange]) -> str:
    return _listed([str(file) for file in files])


def _listed(words: Sequence[str]) -> str:
    more = f"; and {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else ""
    return "; ".join(words[:_MOST_NAMED]) + more


# --- holding the file against it -----------------------------------------------------------------


def check_changelog(sealed: SealedPlan, due: Sequence[bytes]) -> None:
    """Raise `UntrustedError` naming the file unless its blocks of this plan are these, and every other is of a sealed
    plan.
    """
    found = _blocks(read_changelog(sealed.study))
    mine = [block for plan, block in found if plan == sealed.plan.spec.id]
    for number, (block, one) in enumerate(zip(mine, due, strict=False), start=1):
        if block != one:
            raise _unlike(sealed, f"block {number} of plan {sealed.plan.spec.id}, {_title(one)}, was edited or moved")
    if len(mine) > len(due):
        raise _unlike(sealed, f"{_title(mine[len(due)])} is no block of the journal of plan {sealed.plan.spec.id}")
    if len(mine) < len(due):
        raise _unlike(sealed, f"the block {_title(due[len(mine)])} is missing")
    others = {plan for plan, _ in found} - {sealed.plan.spec.id}
    if others - _sealed_plans(sealed.study):
        unknown = sorted(others - _sealed_plans(sealed.study))[0]
        raise _unlike(sealed, f"a block of {unknown!a}, of which no seal is here")


def complete_changelog(sealed: SealedPlan, due: Sequence[bytes]) -> int:
    """The changelog has these blocks of this plan, on disk, after this; how many it lacked.

    `UntrustedError` if those that it has are not the first of these: nothing is written over what somebody edited.
    """
    path, text = sealed.study / CHANGELOG, read_changelog(sealed.study)
    mine = [block for plan, block in _blocks(text) if plan == sealed.plan.spec.id]
    check_changelog(sealed, due[: len(mine)])
    missing = due[len(mine) :]
    if not missing:
        return 0
    text = text or PREFACE.encode()
    gap = b"" if text.endswith(b"\n\n") else b"\n" if text.endswith(b"\n") else b"\n\n"
    if gap and _blocks(text):
        raise _unlike(sealed, "its last block was edited")
    replace_file(path, b"".join([text, gap, *missing]))
    return len(missing)


def _blocks(text: bytes) -> list[tuple[str, bytes]]:
    """(plan id, block) for every block, in order."""
    starts = [match.start() for match in _heading.finditer(text)]
    found = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    return [(block[3:].split(b"\n", 1)[0].partition(b" ")[0].decode(errors="replace"), block) for block in found]


def _title(block: bytes) -> str:
    return ascii(block.partition(b"\n")[0][3:120].decode(errors="replace"))


def _sealed_plans(study: Path) -> set[str]:
    found = set()
    for path in sorted((study / "plans").glob("*.seal.json")):
        plan_path = path.with_name(path.name.removesuffix(".seal.json") + ".yaml")
        found.add(read_seal(plan_path, study)[0].plan.id)
    return found


def _unlike(sealed: SealedPlan, what: str) -> UntrustedError:
    remedy = "put it back as `sealkit amend` wrote it; `sealkit amend` completes what a crash left out"
    return UntrustedError(what, where=str(sealed.study / CHANGELOG), remedy=remedy)
