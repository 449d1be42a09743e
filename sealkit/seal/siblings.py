"""The other plans that a folder holds sealed when one more is sealed: which, how far they ran, what paused them.

A question that is asked again under a new plan, since the first run was stopped, is two studies. The later seal names
the earlier one, and quotes the head of its journal, so neither can be left out of the folder unnoticed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sealkit.files import open_safely, read_if_there
from sealkit.plan.load import Plan
from sealkit.plan.yaml import MAX_BYTES
from sealkit.seal.commitment import Sibling
from sealkit.seal.journal import JOURNAL, read_head
from sealkit.seal.pins import read_seal
from sealkit.wire.canon import decode_record
from sealkit.wire.chain import Entry
from sealkit.wire.errors import UsageError
from sealkit.wire.events import Paused
from sealkit.wire.journal_head import JournalHead

SEAL: Final = ".seal.json"
_id_line = re.compile(rb"^id:[ \t]*[\"']?([A-Za-z0-9._-]+)", re.MULTILINE)
_LONGEST_PAUSE: Final = 1 << 16  # bytes of a line


def sealed_beside(plan_path: Path) -> Iterator[Path]:
    """Every other sealed plan of the folder."""
    for path in sorted(plan_path.parent.glob(f"*{SEAL}")):
        other = path.with_name(path.name.removesuffix(SEAL) + ".yaml")
        if other.name != plan_path.name:
            yield other


def siblings_of(plan_path: Path, study: Path) -> tuple[Sibling, ...]:
    """What a seal says of them, in the order of their files."""
    return tuple(_sibling(other, study) for other in sealed_beside(plan_path))


def check_id_is_own(plan_path: Path, plan: Plan, study: Path) -> None:
    """Raise `UsageError` if another plan of the folder is sealed under this plan's id."""
    for other in sealed_beside(plan_path):
        if read_seal(other, study)[0].plan.id == plan.spec.id:
            what = f"{other.name} is sealed under the id {plan.spec.id}"
            raise UsageError(what, where=plan.where("id"), remedy="give this plan an id of its own")


def of_the_same_id(plan_path: Path, plan: Plan) -> Iterator[Path]:
    """The other plans of the folder that have this plan's id: only one of them can be sealed."""
    for other in sorted(plan_path.parent.glob("*.yaml")):
        if other.name != plan_path.name and other.is_file():
            data = read_if_there(other, inside=plan_path.parent, limit=MAX_BYTES) or b""
            written = _id_line.search(data)
            if written is not None and written[1].decode(errors="replace") == plan.spec.id:
                yield other


def _sibling(plan_path: Path, study: Path) -> Sibling:
    seal, pin = read_seal(plan_path, study)
    receipts = study / "receipts" / seal.plan.id
    head = read_head(receipts, inside=study)
    paused = None if head is None else _pause_at(receipts, head, study)
    return Sibling(plan=seal.plan.id, pin=pin, head=None if head is None else str(head), paused=paused)


def _pause_at(receipts: Path, head: JournalHead, study: Path) -> str | None:
    """Why the run is paused with which the journal ends; None if it ends in something else."""
    path = receipts / JOURNAL
    descriptor = open_safely(path, inside=study)
    try:
        start = max(0, head.size - _LONGEST_PAUSE)
        data = os.pread(descriptor, head.size - start, start)
    finally:
        os.close(descriptor)
    _, _, line = data.removesuffix(b"\n").rpartition(b"\n")
    if b'"paused"' not in line:
        return None
    event = decode_record(line, Entry, where=f"{path} entry {head.count - 1}").event
    return event.reason if isinstance(event, Paused) and event.stage == "confirmatory" else None
