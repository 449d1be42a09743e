"""Collects what contradicts, and makes the verdict of it."""

from __future__ import annotations

from collections import Counter

from sealkit.wire.verdict import ORIGINS, Accepted, Origin, Reason, Rejected, Verdict

MAX_REASONS = 8  # of one origin; an episode made to be hostile must not make a verdict longer than itself
MAX_WORDS = 160


class Faults:
    """The contradictions found in one episode."""

    def __init__(self) -> None:
        self._reasons: list[Reason] = []
        self._counts: Counter[Origin] = Counter()

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def add(self, origin: Origin, where: str, found: object, due: object) -> None:
        """One more contradiction; beyond `MAX_REASONS` of an origin they are left out."""
        self._counts[origin] += 1
        if self._counts[origin] <= MAX_REASONS:
            self._reasons.append(Reason(origin=origin, where=where, found=_words(found), due=_words(due)))

    def verdict(self) -> Verdict:
        """`Accepted` if nothing contradicts; else every reason, sorted by the fixed order of origins."""
        if not self._reasons:
            return Accepted()
        return Rejected(reasons=tuple(sorted(self._reasons, key=lambda reason: ORIGINS.index(reason.origin))))


def _words(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= MAX_WORDS else text[: MAX_WORDS - 1] + "…"
