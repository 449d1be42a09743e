"""The two files, case and policy: what each version holds, which is current, and what is right to recommend.

A component of the material state is `{"current": "v1", "versions": {"v1": {…}}}`. A version never changes once it is
there: the one event that changes anything adds the next version and makes it current. So what a read showed of a
version stays true of that version. The same form as in world `underwriting`, which this one may not import.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

from sealkit.wire.records import Json
from sealkit.wire.trace import component_digests, root_digest
from sealkit.world.sdk import Op, State, add, replace

Figures: TypeAlias = dict[str, int | str]

CASE, POLICY = "case", "policy"
SOURCES = (CASE, POLICY)
VERIFIED = "verified"
APPROVE, CONDITIONAL, DENY, ESCALATE = "APPROVE", "CONDITIONAL", "DENY", "ESCALATE"
RECOMMENDATIONS = (APPROVE, CONDITIONAL, DENY, ESCALATE)
MILLION = 1_000_000


def file_of(figures: Figures) -> dict[str, Json]:
    """A file with one version, which is current."""
    return {"current": "v1", "versions": {"v1": dict(figures)}}


def supersede(source: str, figures: Figures) -> tuple[Op, ...]:
    """What an event does to a file: version v2 with these figures is there, and current."""
    return add(f"/{source}/versions/v2", dict(figures)), replace(f"/{source}/current", "v2")


def version_of(state: State, source: str) -> str:
    """The current version of a file."""
    return cast(Mapping[str, str], state[source])["current"]


def figures_of(state: State, source: str) -> Figures:
    """The figures of the current version of a file."""
    file = cast(Mapping[str, Mapping[str, Figures]], state[source])
    return file["versions"][version_of(state, source)]


def root_of(state: State) -> str:
    """The material root, by sealkit's own rule."""
    return root_digest(component_digests(state))


def ratio_ppm(debt: int, income: int) -> int:
    """Debt to income in parts per million, the nearest whole one; a half goes up.

    >>> ratio_ppm(3300, 9000)
    366667
    """
    return (2 * MILLION * debt + income) // (2 * income)


def recommend(case: Figures, policy: Figures) -> str:
    """What is right for these figures: the first rule that applies. Ratios are compared exactly, not as rounded."""
    debt, income, reserves = int(case["monthly_debt"]), int(case["monthly_income"]), int(case["reserves_months"])
    if case["income_status"] != VERIFIED:
        return ESCALATE
    if debt * MILLION > int(policy["maximum_ppm"]) * income:
        return DENY
    if reserves < int(policy["minimum_reserves_months"]):
        return CONDITIONAL
    return APPROVE


def oracle(state: State) -> str:
    """What is right to recommend in this state."""
    return recommend(figures_of(state, CASE), figures_of(state, POLICY))
