"""The shards of a sealed plan: where their journals are, and what each is bound to.

    receipts/ID/shards/2-of-3/journal.jsonl HEAD episodes.jsonl       as in the main folder; entry 0 is `sharded`

A shard's journal is bound, by its first entry, to the plan's seal, to the pin in force, to its share and to the head
that the main journal had. Its folder may be run on another machine, on a copy of the study, and be put back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from sealkit.files import open_folder, open_safely
from sealkit.seal.history import Anchor, History, open_history
from sealkit.seal.journal import JOURNAL
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.canon import MAX_LINE
from sealkit.wire.chain import follow
from sealkit.wire.digest import short
from sealkit.wire.errors import MalformedError, OutOfOrderError, UntrustedError
from sealkit.wire.events import Sharded
from sealkit.wire.journal_head import EMPTY
from sealkit.wire.merged import Taken
from sealkit.wire.shardruns import KilledRun

SHARDS = "shards"
_is_name = re.compile(r"([1-9][0-9]{0,3})-of-([1-9][0-9]{0,3})\Z").match


def shard_folder(receipts: Path, shard: int, of: int) -> Path:
    """Where the journal and the episodes of a shard are.

    >>> shard_folder(Path("receipts/v1"), 2, 3).as_posix()
    'receipts/v1/shards/2-of-3'
    """
    return receipts / SHARDS / f"{shard}-of-{of}"


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard's folder and the entry that binds it; `find_shards` finds them."""

    folder: Path
    sharded: Sharded
    study: Path

    @property
    def name(self) -> str:
        """The shard for a message."""
        return f"shard {self.sharded.shard} of {self.sharded.of}"

    def history(self, taken: Taken | None = None) -> History:
        """The shard's journal and episodes, to be read and checked: also against what the main one noted, if given."""
        noted = {} if taken is None else taken.heads(self.sharded.shard, self.sharded.of)
        anchors = (Anchor(count, digest, "the main journal") for count, digest in noted.items())
        return open_history(self.folder, inside=self.study, first=self.sharded, anchors=anchors)

    def killed(self, taken: Taken) -> tuple[KilledRun, ...]:
        """The runs of it that were cut off without a word, after all of it was read and found in order."""
        runs = taken.runs.of(self.sharded.shard, self.sharded.of)
        for entry in self.history(taken).entries():
            runs.follow(entry.seq, entry.event)
        runs.end()
        return tuple(runs.killed)


def find_shards(sealed: SealedPlan) -> tuple[Shard, ...]:
    """The shards in the study's folder, whatever pin of this seal they are under, in the order of their numbers.

    Names that begin with a dot are passed over. `MalformedError` for another name that is no shard's, `UntrustedError`
    for a shard of another plan or seal, or in the folder of another. A shard whose first entry was never written has
    done nothing, and is left out.
    """
    place = sealed.receipts / SHARDS
    try:
        with open_folder(place, inside=sealed.study) as opened:
            names = os.listdir(opened.descriptor)
    except FileNotFoundError:
        return ()
    numbers: list[tuple[int, int]] = []
    for name in names:
        match = _is_name(name)
        if name.startswith("."):
            continue  # what a file manager or a copy under way leaves: no shard is named so
        if match is None or int(match[1]) > int(match[2]):
            what = "is not named as a shard's folder, i-of-n"
            raise MalformedError(what, where=str(place / name), remedy="move it out of shards/")
        numbers.append((int(match[2]), int(match[1])))
    found = (_open(sealed, shard, of) for of, shard in sorted(numbers))
    return tuple(shard for shard in found if shard is not None)


def _open(sealed: SealedPlan, shard: int, of: int) -> Shard | None:
    folder = shard_folder(sealed.receipts, shard, of)
    sharded = read_sharded(folder, study=sealed.study)
    if sharded is None:
        return None
    where = f"{folder / JOURNAL} entry 0"
    if (sharded.shard, sharded.of) != (shard, of):
        what = f"begins shard {sharded.shard} of {sharded.of}, due {shard} of {of}"
        raise UntrustedError(what, where=where, remedy="put each shard's folder back under its own name")
    if (sharded.plan, sharded.seal) != (sealed.plan.spec.id, sealed.pin):
        what = f"is of plan {sharded.plan} under seal {short(sharded.seal)}, due {short(sealed.pin)}"
        raise UntrustedError(what, where=where, remedy="this shard belongs to another seal")
    return Shard(folder, sharded, sealed.study)


def read_sharded(folder: Path, *, study: Path) -> Sharded | None:
    """The first entry of the shard's journal in `folder`; None if there is none, or no more than a torn one."""
    try:
        with open(open_safely(folder / JOURNAL, inside=study), "rb") as file:
            line = file.readline(MAX_LINE + 2)
    except FileNotFoundError:
        return None
    if not line.endswith(b"\n"):
        return None
    entry, _ = follow(EMPTY, line[:-1], file=str(folder / JOURNAL))
    if not isinstance(entry.event, Sharded):
        where = f"{folder / JOURNAL} entry 0"
        raise UntrustedError(f"found {entry.event.__struct_config__.tag}, due sharded", where=where)
    return entry.event


def check_still_here(sealed: SealedPlan, missing: Collection[int], of: int) -> None:
    """`UntrustedError` if any shards that began here are `missing`."""
    for shard in sorted(missing):
        raise UntrustedError(
            f"shard {shard} of {of} began here, and its journal is gone",
            where=str(shard_folder(sealed.receipts, shard, of)),
            remedy=f"put it back as it was; or `sealkit merge {sealed.path} --unfinished` records that it is lost, and "
            "claims become exploratory",
        )


def check_none_waits(sealed: SealedPlan, taken: Taken, *, before: str) -> None:
    """`OutOfOrderError` if shards under the pin in force, here or begun here, wait to be merged; `taken` is whole."""
    waiting = set(taken.waiting)
    if not taken.merged:
        here = (shard.sharded for shard in find_shards(sealed) if shard.sharded.pin == sealed.latest.pin)
        waiting |= {sharded.shard for sharded in here if not taken.lost}
    if waiting:
        raise OutOfOrderError(
            f"{len(waiting)} shards wait to be merged before {before}",
            where=str(sealed.receipts / SHARDS),
            remedy=f"`sealkit merge {sealed.path}`; --unfinished takes over those that are not closed, too",
        )
