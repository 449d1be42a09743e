"""Rules on every claim of a plan from the verdicts that it needs; a sentence without its evidence is never supported.

    supported       every need has a verdict that the plan accepts for it
    contradicted    a need came out the other way
    partly          a need came out partly, none the other way
    not_shown       anything else that was measured
    not_estimable   a need could not be estimated
    unmeasured      a need has no verdict yet
    exploratory     an amendment touched it, or what it stands on, when there were outcomes (docs/decisions/0008)
    withheld        too many exclusions in an arm, a closed gate, a withdrawal, or an amendment that dropped the claim
                    when there could be outcomes: what was asked then stays listed (`publish.asked`)

The first of these that applies, from the bottom up, is the status: what is withheld is not also called supported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sealkit.infer.verdicts import NOT_ESTIMABLE, Verdict
from sealkit.plan.ruling import Claim, Need, needs_of
from sealkit.plan.schema import Spec

Status: TypeAlias = Literal[
    "supported", "partly", "not_shown", "contradicted", "not_estimable", "unmeasured", "exploratory", "withheld"
]


@dataclass(frozen=True, slots=True)
class Met:
    """One need of a claim, and the verdict that was found; None where nothing was measured."""

    need: Need
    found: str | None

    @property
    def met(self) -> bool:
        """Whether the verdict found is one that the plan accepts."""
        return self.found in self.need.verdict


@dataclass(frozen=True, slots=True)
class ClaimRuling:
    """A claim, its status, the needs behind it, and why that is not what they alone would give, or what to note."""

    name: str
    claim: Claim
    status: Status
    needs: tuple[Met, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Reservations:
    """What holds claims back whatever the numbers say: reasons by claim name, `*` for all of them.

    `notes` are of claims that stay: what is said of them all the same.
    """

    withheld: Mapping[str, str]
    exploratory: Mapping[str, str]
    notes: Mapping[str, str] = field(default_factory=dict)


NO_RESERVATIONS = Reservations(withheld={}, exploratory={})


def rule_claims(spec: Spec, verdicts: Sequence[Verdict], reservations: Reservations) -> tuple[ClaimRuling, ...]:
    """The ledger: every claim of the plan, in its order."""
    found = {(verdict.hypothesis, verdict.metric): verdict.verdict for verdict in verdicts}
    return tuple(_rule(name, claim, found, reservations) for name, claim in spec.claims.items())


def hold_back(name: str, claim: Claim, found: Mapping[tuple[str, str | None], str], why: str) -> ClaimRuling:
    """A claim that is withheld whatever its needs came to, which are still listed with the verdicts `found`."""
    return _rule(name, claim, found, Reservations(withheld={name: why}, exploratory={}))


def _rule(
    name: str, claim: Claim, found: Mapping[tuple[str, str | None], str], reservations: Reservations
) -> ClaimRuling:
    needs = tuple(Met(need, found.get((need.hypothesis, need.metric))) for need in needs_of(claim))
    for status, reasons in (("withheld", reservations.withheld), ("exploratory", reservations.exploratory)):
        why = reasons.get(name, reasons.get("*"))
        if why is not None:
            return ClaimRuling(name, claim, "withheld" if status == "withheld" else "exploratory", needs, why)
    return ClaimRuling(name, claim, _status(needs), needs, reservations.notes.get(name, ""))


def _status(needs: Sequence[Met]) -> Status:
    if any(need.found is None for need in needs):
        return "unmeasured"
    if any(need.found == NOT_ESTIMABLE for need in needs):
        return "not_estimable"
    if all(need.met for need in needs):
        return "supported"
    short = [need.found for need in needs if not need.met]
    if "contradicted" in short:
        return "contradicted"
    return "partly" if "partly" in short else "not_shown"
