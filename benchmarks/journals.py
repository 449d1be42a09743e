"""Journals for measuring, of any length, written in one go; no study needed."""

from __future__ import annotations

from pathlib import Path

from sealkit.seal.journal import EPISODES, JOURNAL, Journal, write_head
from sealkit.wire.chain import extend
from sealkit.wire.digest import digest_bytes
from sealkit.wire.events import Attempted, EpisodeKept, Event, Sealed
from sealkit.wire.journal_head import EMPTY, JournalHead

TIME = "2026-11-30T12:00:00Z"
PIN = digest_bytes(b"pin")


def event(number: int) -> Event:
    """What a run writes: an attempt, then its episode, slot after slot."""
    if number == 0:
        return Sealed(plan="house-dry-run", pin=PIN)
    slot: dict[str, int | str] = {"arm": "oracle", "family": "stale_door", "seed": number // 2}
    if number % 2:
        return Attempted(stage="confirmatory", pin=PIN, slot=slot, attempt=1)
    digest = digest_bytes(str(number).encode())
    return EpisodeKept(stage="confirmatory", pin=PIN, slot=slot, attempt=1, digest=digest, bytes=12_000, calls=None)


def chained(count: int) -> tuple[tuple[bytes, ...], JournalHead]:
    """`count` lines, each following from the one before, and the head after them."""
    lines: list[bytes] = []
    head = EMPTY
    for number in range(count):
        line, head = extend(head, event(number), TIME)
        lines.append(line)
    return tuple(lines), head


def start(folder: Path, count: int) -> Journal:
    """An open journal of `count` entries in `folder`; its episodes file is sparse."""
    folder.mkdir()
    lines, head = chained(count)
    (folder / JOURNAL).write_bytes(b"".join(line + b"\n" for line in lines))
    with (folder / EPISODES).open("wb") as file:
        file.truncate(head.episodes_size)
    write_head(folder, head)
    return Journal.open(folder, inside=folder)
