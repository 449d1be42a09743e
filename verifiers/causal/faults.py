"""Collects what contradicts and what cannot be told, and makes the verdict of it."""

from __future__ import annotations

from sealkit.wire.verdict import ORIGINS, Abstained, Accepted, Origin, Reason, Rejected, Verdict

MOST = 16


class Faults:
    """The contradictions found in one trace, and what would be needed to tell the rest."""

    def __init__(self) -> None:
        self._reasons: list[Reason] = []
        self._missing = ""

    def add(self, origin: Origin, where: str, found: object, due: object) -> None:
        """One more contradiction."""
        if len(self._reasons) < MOST:
            self._reasons.append(Reason(origin=origin, where=where, found=str(found)[:160], due=str(due)[:160]))

    def doubt(self, missing: str) -> None:
        """Something looks odd and may be right; `missing` would tell."""
        self._missing = self._missing or missing

    def verdict(self) -> Verdict:
        """Rejected if anything contradicts, else abstained if anything cannot be told, else accepted."""
        if self._reasons:
            return Rejected(reasons=tuple(sorted(self._reasons, key=lambda reason: ORIGINS.index(reason.origin))))
        return Abstained(missing=self._missing) if self._missing else Accepted()
