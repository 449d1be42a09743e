"""Brings a journal, its episodes and its calls back to a whole state after a crash, and says so in the journal.

An append writes [lines of calls →] [episode line →] journal line → HEAD, each on disk before the next. So a process
or a machine that dies leaves one of these, and nothing else:

    state                                              what is done
    1  all of it, or nothing of it                     nothing
    2  a part of an episode line, or a whole one       moved to torn/; the slot runs again; `repaired`
    3  a part of a journal line                        moved to torn/; `repaired` (and state 2 with it, for an episode)
    c  lines of calls, whole or not, with any of 1–3   moved to torn/; `repaired`; their attempt left no outcome
    4  a whole journal line, HEAD one behind           HEAD is brought up to it; `recovered`
    5  the same with the first line, no HEAD           the same
    6  a part of the first line, no HEAD               moved to torn/; `sealkit seal` writes the first entry
    7  a file in torn/ that no entry mentions          `repaired` (the repair itself was cut off)

Anything else was done by hand and is refused: HEAD behind by more than one entry or ahead, no HEAD behind more
than one entry, bytes behind the journal that are more than one line, more than one episode without an entry, more calls
without one than an entry may tell of.

Torn bytes are never deleted, and nothing that HEAD counts is touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from sealkit.files import Folder, read_file_safely
from sealkit.seal.appendlog import AppendLog, open_log
from sealkit.seal.history import TAMPERED, history_locked
from sealkit.seal.journal import CALLS, EPISODES, HEAD, JOURNAL, Journal, LockedJournal, read_head
from sealkit.wire.canon import MAX_LINE
from sealkit.wire.chain import follow
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError, UntrustedError
from sealkit.wire.events import MAX_CALLS, Opened, Recovered, Repaired, Sealed, Sharded
from sealkit.wire.journal_head import EMPTY, JournalHead
from sealkit.wire.order import TORN, torn_name

_MOST_TORN = max(MAX_CALLS, MAX_LINE + 2)
_is_torn = re.compile(r"(journal|episodes|calls)\.jsonl\.(0|[1-9][0-9]{0,15})\.[0-9a-f]{12}\Z").match


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
        _mend_calls(log.folder, head)
        _mend_episodes(log.folder, head)
        for repaired in _unrecorded(log, inside):
            done.append(repaired)
            head = journal.append_locked(log, head, repaired, now)
        return tuple(done)


def begin_or_recover(folder: Path, first: Sealed | Opened | Sharded, *, inside: Path, now: datetime) -> Journal:
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
    with _log_beside(folder, EPISODES, due) as log:
        if log is None:
            return
        size = log.size()
        tail = log.read(due, MAX_LINE + 2)
        if b"\n" in tail[:-1] or size > due + len(tail):
            what = f"more than one episode from byte {due} on that no entry of the journal knows"
            raise UntrustedError(what, where=str(log.path), remedy=TAMPERED)
        if tail:
            _move_aside(log, folder, due, tail)


def _mend_calls(folder: Folder, head: JournalHead) -> None:
    due = head.calls_size
    with _log_beside(folder, CALLS, due) as log:
        if log is None:
            return
        tail = log.read(due, MAX_CALLS + 1)
        if len(tail) > MAX_CALLS:
            what = f"more than {MAX_CALLS} bytes from byte {due} on that no entry of the journal knows"
            raise UntrustedError(what, where=str(log.path), remedy=TAMPERED)
        if tail:
            _move_aside(log, folder, due, tail)


@contextmanager
def _log_beside(folder: Folder, name: str, due: int) -> Iterator[AppendLog | None]:
    """The log `name`, which holds at least the `due` bytes that HEAD counts; None if there is none and none is due."""
    try:
        log = open_log(folder, name, writes=True)
    except FileNotFoundError as error:
        if due:
            raise UntrustedError("the file is gone", where=str(folder.path / name), remedy=TAMPERED) from error
        yield None
        return
    with log:
        size = log.size()
        if size < due:
            raise UntrustedError(f"found {size} bytes, due {due}", where=str(log.path), remedy=TAMPERED)
        yield log


def _move_aside(log: AppendLog, folder: Folder, offset: int, tail: bytes) -> None:
    """`tail` is in torn/, under a name that says whence, and no longer in `log`."""
    with suppress(FileExistsError):
        os.mkdir(TORN, dir_fd=folder.descriptor)
        os.fsync(folder.descriptor)
    name = torn_name(log.path.name, offset, digest_bytes(tail)).removeprefix(f"{TORN}/")
    with folder.below(TORN) as torn:
        kept = torn.read(name, limit=_MOST_TORN)
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
    known = {entry.event.moved_to for entry in entries if isinstance(entry.event, Repaired) and entry.shard is None}
    found = []
    for name in names:
        if f"{TORN}/{name}" in known:
            continue
        tail = read_file_safely(folder / TORN / name, inside=inside, limit=_MOST_TORN)
        file, offset, _ = name.rsplit(".", 2)
        found.append(
            Repaired(
                file=file, offset=int(offset), bytes=len(tail), digest=digest_bytes(tail), moved_to=f"{TORN}/{name}"
            )
        )
    return tuple(found)
