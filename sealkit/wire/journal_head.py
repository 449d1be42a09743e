"""The head of a journal: how far it goes, kept in the file HEAD and quoted elsewhere as `N:sha256:…`.

After N entries the last has this digest. The sizes are those of journal.jsonl, episodes.jsonl and calls.jsonl so far.
"""

from __future__ import annotations

import re

from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Count, Record


class JournalHead(Record, frozen=True, tag_field="type", tag="sealkit/journal-head/v1"):
    """A journal up to its entry number `count - 1`: that line's digest, and how many bytes the three files have."""

    count: Count
    digest: str | None
    size: Count
    episodes_size: Count
    calls_size: Count

    def __str__(self) -> str:
        return f"{self.count}:{self.digest}"


EMPTY = JournalHead(count=0, digest=None, size=0, episodes_size=0, calls_size=0)

_quoted = re.compile(r"(0|[1-9][0-9]{0,15}):(sha256:[0-9a-f]{64})\Z").match


def parse_head(text: str, *, where: str) -> tuple[int, str]:
    """Count and digest of a head quoted as `N:sha256:…`; `MalformedError` naming `where` if it is not."""
    match = _quoted(text)
    if match is None or match[1] == "0":
        raise MalformedError(
            f"found {text[:90]!r}, due N:sha256:… with N the number of entries, at least 1", where=where
        )
    return int(match[1]), match[2]
