"""Rules on every slot of a plan: admitted, excluded with its origin, errored, or missing.

The denominator comes from the slots, never from the files: a slot without an episode is missing, and counted.

>>> from sealkit.wire.verdict import Accepted, Reason, Rejected
>>> bad = Rejected(reasons=(Reason(origin="boundary", where="acts[3]", found="3", due="2"),))
>>> admit({"witness": Accepted(), "replay": bad}).origin
'boundary'
>>> admit({"witness": Accepted(), "replay": Accepted()}).status
'admitted'
>>> admit({}).status, admit(None).status
('errored', 'missing')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sealkit.wire.records import Level
from sealkit.wire.verdict import ORIGINS, Abstained, Errored, Origin, Rejected, Verdict

Status: TypeAlias = Literal["admitted", "excluded", "errored", "missing"]


@dataclass(frozen=True, slots=True)
class Admission:
    """The ruling on one slot; `origin` only where it is excluded, `why` in words unless it is admitted."""

    status: Status
    origin: Origin | None
    why: str


def admit(verdicts: Mapping[str, Verdict] | None) -> Admission:
    """The ruling on a slot from the verdict of each of the plan's verifiers; None where it has no episode.

    Every verifier must accept. One that rejects excludes, whatever the others say; else one that failed or
    abstained leaves the slot errored: nothing is admitted that was not checked.
    """
    if verdicts is None:
        return Admission("missing", None, "no episode")
    rejected = {name: verdict for name, verdict in verdicts.items() if isinstance(verdict, Rejected)}
    if rejected:
        name, first = min(rejected.items(), key=lambda item: ORIGINS.index(item[1].origin))
        reason = next(reason for reason in first.reasons if reason.origin == first.origin)
        return Admission("excluded", first.origin, f"{name}: {reason}")
    for name, verdict in verdicts.items():
        if isinstance(verdict, Errored):
            return Admission("errored", None, f"{name} failed: {verdict.message}")
        if isinstance(verdict, Abstained):
            return Admission("errored", None, f"{name} abstained: {verdict.missing}")
    return Admission("admitted", None, "") if verdicts else Admission("errored", None, "no verifier ruled")


@dataclass(slots=True)
class ArmTally:
    """How the slots of one arm were ruled."""

    admitted: int = 0
    excluded: dict[Origin, int] = field(default_factory=dict)
    errored: int = 0
    missing: int = 0

    @property
    def slots(self) -> int:
        """All of them: admitted, excluded, errored, missing."""
        return self.admitted + sum(self.excluded.values()) + self.errored + self.missing

    def count(self, admission: Admission, times: int = 1) -> None:
        """Count one more slot, or `times` slots ruled alike."""
        if admission.status == "excluded" and admission.origin is not None:
            self.excluded[admission.origin] = self.excluded.get(admission.origin, 0) + times
        elif admission.status == "admitted":
            self.admitted += times
        elif admission.status == "errored":
            self.errored += times
        else:
            self.missing += times


def tally(rulings: Iterable[tuple[Mapping[str, Level], Admission]]) -> dict[str, ArmTally]:
    """The counts of each arm over (slot, ruling)."""
    arms: dict[str, ArmTally] = {}
    for slot, admission in rulings:
        arms.setdefault(str(slot["arm"]), ArmTally()).count(admission)
    return arms
