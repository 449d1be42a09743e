"""What both projections share: identity, and the verdict that faults make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sealkit.wire.canon import digest_json
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted
from sealkit.wire.verdict import ORIGINS, Accepted, Origin, Reason, Rejected, Verdict

Fault: TypeAlias = tuple[Origin, str, str, str]  # origin, where, found, due
MOST = 16


def identity_of(trusted: Trusted) -> str:
    """The digest that binds pin, slot and scenario."""
    scenario = digest_bytes(trusted.scenario)
    return digest_json({"pin": trusted.pin, "scenario": scenario, "slot": dict(trusted.slot)})


def verdict_of(faults: Sequence[Fault]) -> Verdict:
    """Accepted, or Rejected with the first faulty origin first."""
    reasons = [Reason(origin=o, where=at, found=found[:160], due=due[:160]) for o, at, found, due in faults[:MOST]]
    if not reasons:
        return Accepted()
    return Rejected(reasons=tuple(sorted(reasons, key=lambda reason: ORIGINS.index(reason.origin))))
