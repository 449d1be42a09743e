"""Heads of journals that stand outside the folder they belong to, and so hold its history in place.

A journal is consistent with itself however often it is written anew. Only a head that was noted elsewhere shows
an older copy or another past: after N entries, the last had this digest. Three such places are read here:

    what this machine saw before    `KnownHeads`, as `known_hosts` does for machines: by plan id and by seal, the
                                    furthest head, and those at which editions end
    the command line                `--expect 'PLAN-ID N:sha256:…'`
    CHANGELOG_AFTER_SEAL.md         lines `head PLAN-ID N:sha256:…`

>>> digest = "sha256:" + "0" * 64
>>> [anchor.count for anchor in quoted_heads(f"On Monday:\\n\\n- `head v1 12:{digest}`\\n", plan="v1", source="CHANGELOG")]
[12]

Each gives an `Anchor`, and `seal.history` refuses a journal that does not meet it.
"""  # noqa: E501 - a line of such a file is as long as it is

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from sealkit.files import read_if_there, replace_file
from sealkit.seal.history import Anchor
from sealkit.seal.journal import utc
from sealkit.seal.waiting import take_lock
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.chain import is_time
from sealkit.wire.digest import parse_digest, short
from sealkit.wire.errors import HarnessError, MalformedError, UntrustedError, UsageError
from sealkit.wire.journal_head import JournalHead, parse_head
from sealkit.wire.records import Count, Record

_MAX_KNOWN = 16 * 1024 * 1024
_quote = re.compile(r"\s*(?:[-*] +)?`?head +(\S+) +([^`\s]+)`?\s*\Z").match


class KnownHead(Record, frozen=True, tag_field="type", tag="sealkit/known-head/v1"):
    """A head of one seal's journal that this machine has seen, and when: the furthest, or one where an edition ends."""

    plan: str
    pin: str
    count: Count
    digest: str
    seen: str

    def anchor(self) -> Anchor:
        """What a journal of this seal must meet."""
        return Anchor(self.count, self.digest, f"this machine, which saw it on {self.seen[:10]},", True)


class KnownHeads(msgspec.Struct, frozen=True):
    """The heads that this machine remembers, in the file `path`: one canonical `KnownHead` a line."""

    path: Path

    def recall(self, pin: str) -> KnownHead | None:
        """The furthest head seen of the seal `pin`; None if it was never seen."""
        return max((known for known in self._read() if known.pin == pin), key=lambda one: one.count, default=None)

    def recall_at(self, pin: str, count: int) -> KnownHead | None:
        """The head after `count` entries of the seal `pin`; None if it is not remembered."""
        return next((known for known in self._read() if (known.pin, known.count) == (pin, count)), None)

    def other_seals(self, plan: str, pin: str) -> tuple[KnownHead, ...]:
        """What was seen of plans of the same id under other seals than `pin`: a second seal, or a namesake."""
        others = sorted((one for one in self._read() if one.plan == plan and one.pin != pin), key=lambda one: one.count)
        return tuple({one.pin: one for one in others}.values())

    def remember(
        self, *, plan: str, pin: str, head: JournalHead, now: datetime, editions: Sequence[JournalHead] = ()
    ) -> None:
        """`head`, of a journal that was checked, is remembered if it is the furthest; those of `editions` are too.

        `UntrustedError` if another digest is remembered at the same place.
        """
        with self._locked():
            before = {(one.pin, one.count): one for one in self._read()}
            known, was = dict(before), _furthest(before, pin)
            for one in (*editions, head):
                if one.digest is None:
                    continue
                new = KnownHead(plan=plan, pin=pin, count=one.count, digest=one.digest, seen=utc(now))
                old = known.setdefault((pin, one.count), new)
                if old.digest != one.digest:
                    what = f"remembers {short(old.digest)} after {one.count} entries, not {short(one.digest)}"
                    raise UntrustedError(what, where=str(self.path), remedy="the journal was written anew")
            if was < _furthest(known, pin) and was not in {one.count for one in editions}:
                known.pop((pin, was), None)
            if known != before:
                replace_file(self.path, b"".join(sorted(encode_record(one) + b"\n" for one in known.values())))

    def _read(self) -> Iterator[KnownHead]:
        """Every head; `HarnessError` naming the line that is none: it is this machine's file, and no evidence."""
        try:
            raw = read_if_there(self.path, inside=self.path.parent, limit=_MAX_KNOWN) or b""
            lines = raw.split(b"\n")
            for number, line in enumerate(lines[:-1], start=1):
                yield _known(line, where=f"{self.path}:{number}")
            if lines[-1]:
                raise MalformedError("no newline at its end", where=f"{self.path}:{len(lines)}")
        except MalformedError as error:
            raise HarnessError(
                error.what,
                where=error.where,
                remedy=f"move {self.path} aside; this machine then begins to remember anew",
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            take_lock(descriptor, self.path, shared=False)
            yield
        finally:
            os.close(descriptor)


def _furthest(known: Iterable[tuple[str, Count]], pin: str) -> Count:
    return max((count for seal, count in known if seal == pin), default=0)


def _known(line: bytes, *, where: str) -> KnownHead:
    known = decode_record(line, KnownHead, where=where)
    parse_digest(known.digest, where=where)
    if not is_time(known.seen):
        raise MalformedError(f"found {known.seen!a}, due a time", where=where)
    return known


def known_heads(environ: Mapping[str, str]) -> KnownHeads:
    """This user's: `$XDG_STATE_HOME/sealkit/known_heads`, else `~/.local/state/sealkit/known_heads`."""
    state = environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if os.path.isabs(state) else Path(environ.get("HOME", "~")).expanduser() / ".local" / "state"
    return KnownHeads(folder / "sealkit" / "known_heads")


@dataclass(frozen=True, slots=True)
class Expected:
    """A head that a journal must meet: of the plan of that id, or of every plan that is looked at."""

    plan: str | None
    anchor: Anchor


def parse_expect(text: str) -> Expected:
    """What `--expect 'PLAN-ID N:sha256:…'` asks for, or `N:sha256:…` alone; `UsageError` if it is not written so.

    >>> parse_expect(f"head v1 12:sha256:{'0' * 64}").plan, parse_expect(f"12:sha256:{'0' * 64}").plan
    ('v1', None)
    """
    words = text.removeprefix("head ").split()
    plan, head = (words[0], words[1]) if len(words) == 2 else (None, text)
    try:
        count, digest = parse_head(head, where="--expect")
    except MalformedError as error:
        remedy = "copy a head as `sealkit status` prints it, in quotes: --expect 'PLAN-ID N:sha256:…'"
        raise UsageError(error.what, where=error.where, remedy=remedy) from error
    return Expected(plan, Anchor(count, digest, "--expect", True))


def quoted_heads(text: str, *, plan: str, source: str) -> tuple[Anchor, ...]:
    """The heads that lines `head PLAN-ID N:sha256:…` of `text` quote for `plan`; `source` names the text.

    `MalformedError` naming the line if it quotes a head for this plan in another form.
    """
    anchors = []
    for number, line in enumerate(text.split("\n"), start=1):
        match = _quote(line)
        if match is not None and match[1] == plan:
            where = f"{source}:{number}"
            count, digest = parse_head(match[2], where=where)
            anchors.append(Anchor(count, digest, where))
    return tuple(anchors)
