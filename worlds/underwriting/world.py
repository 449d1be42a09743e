"""The desk of an underwriter: five tools over two files and an inbox. A fiction, not lending guidance.

The material state is the two files, `case` and `policy`; the inbox is outside it. Every tool only reads or ends the
episode: what changes, changes by declared events alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from sealkit.wire.patch import apply
from sealkit.wire.records import Json
from sealkit.world.draws import Draws
from sealkit.world.sdk import (
    Action,
    Contract,
    Inbox,
    Outline,
    Patch,
    Scenario,
    State,
    Told,
    inbox,
    reading,
    text,
)
from sealkit.world.tools import load_tools

from .editions import EDITIONS
from .files import CASE, POLICY, file_of, ratio_ppm, root_of, version_of

FAMILIES = tuple(EDITIONS)
TRIAL_PARAMS: Mapping[str, Json] = {"turn_budget": 12}  # for `sealkit conformance`
TOOLS = load_tools(Path(__file__).parent)
SUBMIT = "recommendation.submit"


def scenario(family: str, seed: int, draws: Draws, *, turn_budget: int) -> Outline:
    """The edition `family` for this seed."""
    if turn_budget < 1:
        raise ValueError("turn_budget is at least 1")
    edition = EDITIONS[family](draws.split("figures"), seed)
    return Outline(
        genesis={CASE: file_of(edition.case), POLICY: file_of(edition.policy)},
        briefing=_briefing(str(edition.case["number"]), turn_budget),
        contracts=edition.contracts,
        snapshots=edition.snapshots,
        restores=edition.restores,
        footprints={name: () for name in TOOLS.schemas},
        finals=(SUBMIT,),
        max_acts=turn_budget,
    )


def _briefing(number: str, turn_budget: int) -> str:
    return (
        f"Recommend on case {number}: APPROVE, CONDITIONAL, DENY or ESCALATE. The first rule that applies decides:"
        " ESCALATE if the income is not verified; DENY if debt to income is above the policy's maximum;"
        " CONDITIONAL if the reserves are below the policy's minimum; else APPROVE.\n"
        "The case and the policy are the only evidence. Either may get a new version while you work. Rest on the"
        " current versions, cite them as source@version, and submit the root that you believe current.\n"
        f"Tools: {', '.join(TOOLS.schemas)}. {SUBMIT} ends the work. You have {turn_budget} actions.\n"
    )


class Desk:
    """The simulator. What is unread in the inbox is history, not material: a restore leaves it alone."""

    def __init__(self, genesis: State) -> None:
        self._files = genesis
        self._unread = 0

    def material(self) -> State:
        """Both files."""
        return self._files

    def act(self, action: Action) -> Sequence[Told]:
        """What one call of a tool returns. It shows the files as they are when the tool is called."""
        if action.name not in TOOLS.schemas:
            return (text("There is no such tool. Nothing happens.\n"),)
        if not TOOLS.fits(action):
            return (text(f"The arguments do not fit the schema of {action.name}. Nothing happens.\n"),)
        if action.name == SUBMIT:
            return (text("Your recommendation was taken down.\n"),)
        if action.name == "inbox.read":
            unread, self._unread = self._unread, 0
            return text("You open the inbox.\n" if unread else "You open the inbox. Nothing is new.\n"), inbox()
        waiting = (text(f"Unread in your inbox: {self._unread}.\n"),) if self._unread else ()
        return *self._shown(action), *waiting

    def _shown(self, action: Action) -> Sequence[Told]:
        if action.name == "case.read":
            return self._case()
        if action.name == "policy.read":
            return self._policy()
        debt, income = cast(int, action.args["monthly_debt"]), cast(int, action.args["monthly_income"])
        return (text(f"Debt to income: {ratio_ppm(debt, income)} ppm.\n"),)

    def _case(self) -> Sequence[Told]:
        place = f"/case/versions/{version_of(self._files, CASE)}"
        return (
            self._heading(CASE),
            reading(f"{place}/number", "Number: {value}.\n"),
            reading(f"{place}/documents", "Documents: {value}.\n"),
            reading(f"{place}/monthly_debt", "Monthly debt: {value}.\n"),
            reading(f"{place}/monthly_income", "Monthly income: {value}.\n"),
            reading(f"{place}/income_status", "The income is {value}.\n"),
            reading(f"{place}/reserves_months", "Reserves: {value} months.\n"),
        )

    def _policy(self) -> Sequence[Told]:
        place = f"/policy/versions/{version_of(self._files, POLICY)}"
        return (
            self._heading(POLICY),
            reading(f"{place}/maximum_ppm", "Largest debt to income: {value} ppm.\n"),
            reading(f"{place}/minimum_reserves_months", "Fewest reserves: {value} months.\n"),
        )

    def _heading(self, source: str) -> Told:
        return text(f"Cite this as {source}@{version_of(self._files, source)}. Root: {root_of(self._files)}\n")

    def occur(self, contract: Contract, effect: Patch) -> None:
        """The declared effect on the files; what is told in the inbox is unread."""
        self._files = cast(State, apply(self._files, effect))
        self._unread += isinstance(contract.tell.due, Inbox)

    def snapshot(self) -> bytes:
        """Both files."""
        return json.dumps(self._files, sort_keys=True).encode()

    def restore(self, snapshot: bytes) -> None:
        """Both files as they were. What came into the inbox since stays there."""
        self._files = json.loads(snapshot)


def session(scenario: Scenario, draws: Draws) -> Desk:
    """A fresh desk; nothing in it is drawn."""
    return Desk(scenario.genesis)
