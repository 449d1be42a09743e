"""What the journal's tests share: a study folder with a journal, and events to put into it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from sealkit.seal.history import open_history
from sealkit.seal.journal import CALLS, EPISODES, HEAD, JOURNAL, Journal
from sealkit.wire.chain import Entry
from sealkit.wire.digest import digest_bytes
from sealkit.wire.events import Attempted, Opened, Sealed

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PIN = digest_bytes(b"a seal")
SEALED = Sealed(plan="toy", pin=PIN)
OPENED = Opened(stage="confirmatory", pin=PIN, sealkit="0.1.0", environment=digest_bytes(b"here"))


def at(second: int) -> datetime:
    return NOW + timedelta(seconds=second)


def start(study: Path) -> Journal:
    return Journal.start(study / "receipts" / "toy", SEALED, inside=study, now=NOW)


def slot(seed: int) -> dict[str, int | str]:
    return {"arm": "A", "family": "calm", "seed": seed}


def episode_line(seed: int, size: int = 40) -> bytes:
    """A line with a slot in it, as an episode has."""
    line = b'{"filler":"%s","slot":{"arm":"A","family":"calm","seed":%d}}' % (b"x" * size, seed)
    return line


def calls_of(seed: int, count: int = 2) -> bytes:
    """So many lines as calls.jsonl holds them; each has its newline."""
    return b"".join(b'{"n":%d,"seed":%d}\n' % (n, seed) for n in range(1, count + 1))


def attempt(journal: Journal, seed: int, *, size: int = 40, calls: bytes = b"") -> None:
    """One slot: its `attempted` entry, the lines of its calls, its episode and that entry."""
    journal.append(Attempted(stage="confirmatory", pin=PIN, slot=slot(seed), attempt=1), now=at(2 * seed + 1))
    journal.append_episode(
        episode_line(seed, size),
        stage="confirmatory",
        pin=PIN,
        slot=slot(seed),
        attempt=1,
        now=at(2 * seed + 2),
        calls=calls,
    )


def read(study: Path) -> list[tuple[Entry, bytes | None]]:
    return list(open_history(study / "receipts" / "toy", inside=study, first=SEALED))


def files(study: Path) -> dict[str, bytes]:
    """The four files as they stand; a file that is not there is not in it."""
    folder = study / "receipts" / "toy"
    return {name: (folder / name).read_bytes() for name in (JOURNAL, HEAD, EPISODES, CALLS) if (folder / name).exists()}


def put(study: Path, content: dict[str, bytes]) -> Path:
    """A study whose receipts are exactly these files."""
    folder = study / "receipts" / "toy"
    folder.mkdir(parents=True, exist_ok=True)
    for name in (JOURNAL, HEAD, EPISODES, CALLS):
        (folder / name).unlink(missing_ok=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return folder
