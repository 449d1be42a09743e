"""Brings a journal and its episodes back to a whole state after a crash, and says so in the journal.

An append writes [episode line →] journal line → HEAD, each on disk before the next. So a process or a machine
that dies leaves one of these, and nothing else:

    state                                              what is done
    1  all of it, or nothing of it                     nothing
    2  a part of an episode line, or a whole one       moved to torn/; the slot runs again; `repaired`
    3  a part of a journal line                        moved to torn/; `repaired` (and state 2 with it, for an episode)
    4  a whole journal line, HEAD one behind           HEAD is brought up to it; `recovered`
    5  the same with the first line, no HEAD           the same
    6  a part of the first line, no HEAD               moved to torn/; `sealkit seal` writes the first entry
    7  a file in torn/ that no entry mentions          `repaired` (the repair itself was cut off)

Anything else was done by hand and is refused: HEAD behind by more than one entry or ahead, no HEAD behind more
than one entry, bytes behind the journal that are more than one line, more than one episode without an entry.

Torn bytes are never deleted, and nothing that HEAD counts is touched.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from sealkit.files import Folder, read_file_safely
from sealkit.seal.appendlog import AppendLog, open_log
from sealkit.seal.history import TAMPERED, history_locked
from sealkit.seal.journal import EPISODES, HEAD, JOURNAL, Journal, LockedJournal, read_head
from sealkit.wire.canon import MAX_LINE
from sealkit.wire.chain import EMPTY, JournalHead, Opened, Recovered, Repaired, Sealed, follow
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError, UntrustedError

TORN = "torn"
_is_torn = re.compile(r"(journal|episodes)\.jsonl\.(0|[1-9][0-9]{0,15})\.[0-9a-f]{12}\Z").match


def recover(folder: Path, *, inside: Path, now: datetime) -> tuple[Repaired | Recovered, ...]:
    """The journal and episodes in `folder` are whole after this; what was done, and journaled.

    Where it raises, no file was changed but by a repair that it has already finished and said so.
    """
    journal = Journal(folder, inside=inside)
    with journal.locked() as log:
        before = log.head()
        head = _mend_journal(log, before)
        if not head.count:
            return ()
        done: list[Repaired | Recovered] = []
        if before is None or head.count > before.count:
            done.append(Recovered(entry=head.count - 1))
            head = journal.append_locked(log, head, done[0], now)
        _mend_episodes(log.folder, head)
        for repaired in _unrecorded(log, inside):
            done.append(repaired)
            head = journal.append_locked(log, head, repaired, now)
        return tuple(done)


def begin_or_recover(folder: Path, first: Sealed | Opened, *, inside: Path, now: datetime) -> Journal:
    """The journal in `folder`, whole: recovered if there is one, begun with `first` if no entry was ever written."""
    if os.path.lexists(folder / JOURNAL):
        recover(folder, inside=inside, now=now)
    if read_head(folder, inside=inside) is None:
        return Journal.start(folder, first, inside=inside, now=now)
    return Journal.open(folder, inside=inside)


def _mend_journal(log: LockedJournal, before: JournalHead | None) -> JournalHead:
    """The head of the journal after its tail, if it has one, was counted or moved aside."""
    head = before or EMPTY
    size = log.size()
    if size < head.size or (head.count and digest_bytes(log.last_line(head.size)) != head.digest):
        raise UntrustedError("does not fit the entry that HEAD names", where=str(log.path), remedy=TAMPERED)
    tail = log.read(head.size, MAX_LINE + 2)
    if not tail:
        if head.count and log.read(head.size - 1, 1) != b"\n":
            raise UntrustedError(f"no newline before byte {head.size}", where=str(log.path), remedy=TAMPERED)
        return head
    if b"\n" in tail[:-1] or size > head.size + len(tail):
        what = f"more than one entry behind the {head.count} that HEAD counts" if before else "there is no HEAD"
        raise UntrustedError(what, where=str(log.folder.path / HEAD), remedy=TAMPERED)
    if tail.endswith(b"\n"):
        try:
            _, after = follow(head, tail[:-1], file=str(log.path))
        except (MalformedError, UntrustedError):
            pass  # a machine that lost power can leave a line with holes: it was never counted, so it is torn
        else:
            log.set_head(after)
            return after
    _move_aside(log, log.folder, head.size, tail)
    return head


def _mend_episodes(folder: Folder, head: JournalHead) -> None:
    due = head.episodes_size
    try:
        log = open_log(folder, EPISODES, writes=True)
    except FileNotFoundError as error:
        if not due:
            return
        raise UntrustedError("there are no episodes", where=str(folder.path / EPISODES), remedy=TAMPERED) from error
    with log:
        size = log.size()
        if size < due:
            raise UntrustedError(f"found {size} bytes, due {due}", where=str(log.path), remedy=TAMPERED)
        tail = log.read(due, MAX_LINE + 2)
        if b"\n" in tail[:-1] or size > due + len(tail):
            what = f"more than one episode from byte {due} on that no entry of the journal knows"
            raise UntrustedError(what, where=str(log.path), remedy=TAMPERED)
        if tail:
            _move_aside(log, folder, due, tail)


def _move_aside(log: AppendLog, folder: Folder, offset: int, tail: bytes) -> None:
    """`tail` is in torn/, under a name that says whence, and no longer in `log`."""
    with suppress(FileExistsError):
        os.mkdir(TORN, dir_fd=folder.descriptor)
        os.fsync(folder.descriptor)
    name = f"{log.path.name}.{offset}.{digest_bytes(tail)[7:19]}"
    with folder.below(TORN) as torn:
        kept = torn.read(name, limit=MAX_LINE + 2)
        if kept is None:
            torn.create(name, (tail,))
        elif kept != tail:  # the same bytes are there if a repair was cut off before the next line
            raise UntrustedError("holds other bytes than its name says", where=str(torn.path / name), remedy=TAMPERED)
    log.cut(offset)


def _unrecorded(log: LockedJournal, inside: Path) -> tuple[Repaired, ...]:
    """What lies in torn/ and no `repaired` entry mentions, in the order of its names."""
    folder = log.folder.path
    try:
        with log.folder.below(TORN) as torn:
            names = sorted(name for name in os.listdir(torn.descriptor) if _is_torn(name))
    except FileNotFoundError:
        return ()
    if not names:
        return ()
    entries = history_locked(log, inside=inside, first=None).entries()
    known = {entry.event.moved_to for entry in entries if isinstance(entry.event, Repaired)}
    found = []
    for name in names:
        if f"{TORN}/{name}" in known:
            continue
        tail = read_file_safely(folder / TORN / name, inside=inside, limit=MAX_LINE + 2)
        file, offset, _ = name.rsplit(".", 2)
        found.append(
            Repaired(
                file=file, offset=int(offset), bytes=len(tail), digest=digest_bytes(tail), moved_to=f"{TORN}/{name}"
            )
        )
    return tuple(found)
