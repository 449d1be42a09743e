"""Hands on the folder: the second table of lies, attack by attack, and what an attacker knows to do.

An attack is a function that changes a copied study. It is registered with its row of the table and the words
that the refusal must hold: which entry, slot, path or section.

    @attack("plan edited", says=["plans/part.yaml", "section hypotheses"])
    def prediction_softened(study: Study) -> None: ...

`Study` knows the files and can make a journal coherent again, with an implementation of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.reseal import Document, digest_line, seal_record, spell
from tests.studies import ID

Entry: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Study:
    """A study folder in an attacker's hands."""

    folder: Path

    @property
    def plan(self) -> Path:
        return self.folder / "plans" / "part.yaml"

    @property
    def seal(self) -> Path:
        return self.folder / "plans" / "part.seal.json"

    @property
    def manifest(self) -> Path:
        return self.folder / "plans" / "part.manifest.jsonl"

    @property
    def archive(self) -> Path:
        return self.folder / "plans" / "part.source.tar"

    @property
    def receipts(self) -> Path:
        return self.folder / "receipts" / ID

    @property
    def journal(self) -> Path:
        return self.receipts / "journal.jsonl"

    @property
    def head(self) -> Path:
        return self.receipts / "HEAD"

    @property
    def episodes(self) -> Path:
        return self.receipts / "episodes.jsonl"

    @property
    def calls(self) -> Path:
        return self.receipts / "calls.jsonl"

    def swap_calls(self, number: int, edit: Callable[[list[Document]], object]) -> str:
        """Edit the calls of episode `number` and make journal and HEAD fit; its slot in words."""
        entries, whole, blocks = self.entries(), self.calls.read_bytes(), []
        for entry in entries:
            told = entry["event"].get("calls")
            if told is not None:
                blocks.append((entry["event"], whole[: told["bytes"]]))
                whole = whole[told["bytes"] :]
        event, block = [(event, block) for event, block in blocks if event["kind"] == "episode"][number]
        documents = [json.loads(line) for line in block.splitlines()]
        edit(documents)
        edited = b"".join(spell(document) + b"\n" for document in documents)
        event["calls"] = (
            {"count": len(documents), "bytes": len(edited), "digest": digest_line(edited)} if edited else None
        )
        self.calls.write_bytes(b"".join(edited if one is event else other for one, other in blocks))
        self.rewrite(entries)
        return spell_slot(event["slot"])

    @property
    def changelog(self) -> Path:
        return self.folder / "CHANGELOG_AFTER_SEAL.md"

    def lines(self) -> list[bytes]:
        """The journal's lines."""
        return self.journal.read_bytes().splitlines()

    def entries(self) -> list[Entry]:
        return [json.loads(line) for line in self.lines()]

    def numbers(self, kind: str) -> list[int]:
        """The numbers of the entries of this kind."""
        return [entry["seq"] for entry in self.entries() if entry["event"]["kind"] == kind]

    def head_of(self, count: int) -> str:
        """The head after so many entries, as it is quoted."""
        return f"{count}:{digest_line(self.lines()[count - 1])}"

    def edit(self, path: Path, old: str | bytes, new: str | bytes, *, times: int = 1) -> None:
        """Replace the first `old` in a file, which must be there."""
        before = old.encode() if isinstance(old, str) else old
        data = path.read_bytes()
        assert before in data
        path.write_bytes(data.replace(before, new.encode() if isinstance(new, str) else new, times))

    def put_lines(self, lines: Sequence[bytes]) -> None:
        """The journal's lines, as they are given."""
        self.journal.write_bytes(b"".join(line + b"\n" for line in lines))

    def rewrite(self, entries: Sequence[Entry], episodes: Sequence[bytes] | None = None) -> None:
        """A journal of these events, numbered and chained anew, with the HEAD that fits; and these episodes."""
        if episodes is not None:
            self.episodes.write_bytes(b"".join(line + b"\n" for line in episodes))
        previous, lines = None, []
        for number, entry in enumerate(entries):
            lines.append(spell({**entry, "seq": number, "prev": previous}))
            previous = digest_line(lines[-1])
        self.put_lines(lines)
        self.head.write_bytes(
            spell({
                "type": "sealkit/journal-head/v1", "count": len(lines), "digest": previous,
                "size": self.journal.stat().st_size, "episodes_size": self.episodes.stat().st_size,
                "calls_size": self.calls.stat().st_size if self.calls.exists() else 0,
            }) + b"\n"
        )  # fmt: skip

    def episode_lines(self) -> list[bytes]:
        return self.episodes.read_bytes().splitlines()

    def swap_episode(self, number: int, edit: Callable[[Document], object]) -> str:
        """Edit episode `number` and make its own record digest, the journal and HEAD fit; its slot in words."""
        lines, entries = self.episode_lines(), self.entries()
        document = json.loads(lines[number])
        edit(document)
        lines[number] = seal_record(document)
        kept = [entry for entry in entries if entry["event"]["kind"] == "episode"][number]["event"]
        kept |= {"digest": digest_line(lines[number]), "bytes": len(lines[number])}
        self.rewrite(entries, lines)
        return spell_slot(kept["slot"])


def spell_slot(slot: dict[str, Any]) -> str:
    """A slot as messages spell it."""
    return ",".join(f"{name}={level}" for name, level in sorted(slot.items()))


Says: TypeAlias = Sequence[str]


@dataclass(frozen=True)
class Attack:
    """One attack; `does` may return more words that must be said, known only once it is done."""

    name: str
    row: str
    says: Says
    does: Callable[[Study], Says | None]


ATTACKS: dict[str, Attack] = {}


def attack(row: str, *, says: Says) -> Callable[[Callable[[Study], Says | None]], Callable[[Study], Says | None]]:
    """Registers an attack that must be refused with exit 1 and these words."""

    def register(does: Callable[[Study], Says | None]) -> Callable[[Study], Says | None]:
        name = does.__name__
        assert name not in ATTACKS
        ATTACKS[name] = Attack(name, row, says, does)
        return does

    return register
