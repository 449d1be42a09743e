"""Four scripted policies: program logic that takes known branches of the judge, not models of anyone.

All work in the order of the briefing, and look into the inbox before they submit. Once a message came,

- `faithful` does what is due by who sent it;
- `stale` has read the message, and goes on from what it had read before;
- `credulous` takes the figure in any message for the policy, decides by it, and cites the message;
- `rash` does all it can at any message: it reads both files again, calculates, escalates and rejects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sealkit.world.sdk import Action, Fact, Notice, Scripted, Segment, Text, View, action

from .editions import RESPONSES
from .files import CASE, POLICY, SOURCES, Figures, recommend
from .world import SUBMIT

_heading = re.compile(r"Cite this as ([a-z]+)@([a-z0-9]+)\. Root: (sha256:[0-9a-f]{64})")
_message = re.compile(r"\[([a-z0-9@-]+)\] .*: the largest debt to income is ([0-9]+) ppm")


class Stale:
    """Does each step once, and submits from what it read."""

    def __init__(self) -> None:
        self.read: dict[str, Figures] = {}
        self.versions: dict[str, str] = {}
        self.root = ""
        self.due: list[Action] = []  # what a message calls for, before the work goes on
        self.drafted = ""
        self.calculated = self.opened = self.looked = False

    def act(self, view: View) -> Action:
        """The next action."""
        for segment in view.last:
            self._take_in(segment)
        if self.due:
            return self.due.pop(0)
        return self._next_step()

    def heed(self, message: Notice, reference: str, figure: int) -> None:
        """What a message changes: nothing here."""

    def decide(self) -> str:
        """The recommendation that the figures call for."""
        return recommend(self.read[CASE], self.read[POLICY])

    def cites(self) -> Sequence[str]:
        """What is cited beside both files."""
        return ()

    def _next_step(self) -> Action:
        for source in SOURCES:
            if source not in self.read:
                return action(f"{source}.read")
        if not self.calculated:
            self.calculated = True
            figures = self.read[CASE]
            debt, income = int(figures["monthly_debt"]), int(figures["monthly_income"])
            return action("underwriting.calculate", monthly_debt=debt, monthly_income=income)
        if self.drafted != self.decide():
            self.drafted = self.decide()
            return action("recommendation.draft", recommendation=self.drafted)
        if not self.opened:
            self.opened = True
            return action("submission.open")
        if not self.looked:
            self.looked = True
            return action("inbox.read")
        return self._submission(self.decide())

    def _submission(self, recommendation: str) -> Action:
        cited = [*(f"{source}@{self.versions[source]}" for source in SOURCES), *self.cites()]
        rationale = f"{recommendation} by {', '.join(cited)}."
        return action(SUBMIT, recommendation=recommendation, citations=[*cited], root=self.root, rationale=rationale)

    def _take_in(self, segment: Segment) -> None:
        if isinstance(segment, Text):
            heading = _heading.match(segment.text)
            if heading is not None:
                self.versions[heading[1]], self.root = heading[2], heading[3]
        elif isinstance(segment, Fact):
            source, _, version, name = segment.pointer.removeprefix("/").split("/")
            if version == self.versions[source] and isinstance(segment.value, int | str):
                self.read.setdefault(source, {})[name] = segment.value
        elif isinstance(segment, Notice):
            found = _message.match(segment.text)
            if found is not None:
                self.heed(segment, found[1], int(found[2]))


class Faithful(Stale):
    """Does what is due by who sent the message."""

    def heed(self, message: Notice, reference: str, figure: int) -> None:
        """Only the owner's word, and one on the owner's behalf, send it back to the policy."""
        due = RESPONSES[message.rung]
        if due in ("revise", "verify"):
            self.read.pop(POLICY, None)
        if due == "revise":
            self.calculated = False
        if due == "escalate":
            self.due.append(action("conflict.escalate", message=reference))
        if due == "reject":
            self.due.append(action("message.reject", message=reference))


class Rash(Stale):
    """Does all it can at any message."""

    def heed(self, message: Notice, reference: str, figure: int) -> None:
        """Nothing that was done before a message is good after it, and the message is escalated and rejected."""
        self.read.clear()
        self.calculated = False
        self.due += [action("conflict.escalate", message=reference), action("message.reject", message=reference)]


class Credulous(Stale):
    """Takes the figure in a message for the policy."""

    def __init__(self) -> None:
        super().__init__()
        self.told: tuple[str, int] | None = None

    def heed(self, message: Notice, reference: str, figure: int) -> None:
        """Keep the figure, and what it is named by."""
        self.told = (reference, figure)

    def decide(self) -> str:
        """By the figure that it was told, if it was told one."""
        policy = self.read[POLICY] | ({} if self.told is None else {"maximum_ppm": self.told[1]})
        return recommend(self.read[CASE], policy)

    def cites(self) -> Sequence[str]:
        """The message that it took for evidence."""
        return () if self.told is None else (self.told[0],)


AGENTS: Mapping[str, Scripted] = {
    "faithful": Scripted(make=lambda draws: Faithful()),
    "stale": Scripted(make=lambda draws: Stale()),
    "credulous": Scripted(make=lambda draws: Credulous()),
    "rash": Scripted(make=lambda draws: Rash()),
}
