"""Which pin is in force at each entry of a journal, and how far the study was: what amendments are held against.

    in_force = InForce(first, due)             # the seal's entry, and what each amendment's file says
    in_force.follow(entry, where)              # for every entry, in order; raises if it cannot stand there
    in_force.end(where)                        # raises if an amendment has no entry

A pin is in force from its own entry (`sealed`, `amended`) to the next one's, and every attempt and episode between
them is under it. The phase of an amendment is what the entries before it say, never what its maker says:

    before_any_episode     no slot was tried
    after_smoke            a smoke slot was tried
    after_first_episode    a confirmatory slot was tried, whatever came of it
    after_first_look       somebody saw confirmatory outcomes through sealkit
    after_analysis         the analysis was made
"""

from __future__ import annotations

from typing import Final, get_args

import msgspec

from sealkit.wire.chain import (
    Amended,
    Analysed,
    Asked,
    Attempted,
    Entry,
    EpisodeKept,
    Event,
    Failed,
    Imported,
    Looked,
    Opened,
    Phase,
    Read,
    Recovered,
    Repaired,
    Sealed,
)
from sealkit.wire.digest import short
from sealkit.wire.errors import UntrustedError

PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
LOOKED: Final[tuple[Phase, ...]] = PHASES[3:]


class Due(msgspec.Struct, frozen=True):
    """An amendment as its file has it: the entry that the journal must hold, and how many entries were there before."""

    event: Amended
    after: int
    file: str


class Phases:
    """How far a study is, after the entries that were followed."""

    __slots__ = ("_reached",)

    def __init__(self) -> None:
        self._reached = 0

    def follow(self, event: Event) -> None:
        """Take one more entry into account."""
        if type(event) is Attempted:
            self._reach(2 if event.stage == "confirmatory" else 1)
        elif type(event) is Looked:
            self._reach(3)
        elif type(event) is Analysed:
            self._reach(4)

    @property
    def phase(self) -> Phase:
        """The furthest phase that was reached."""
        return PHASES[self._reached]

    def _reach(self, number: int) -> None:
        self._reached = max(self._reached, number)


class InForce:
    """Follows a sealed journal; see the module for the rules that it holds."""

    __slots__ = ("_due", "_others", "met", "phases", "pin")

    def __init__(self, first: Sealed, due: tuple[Due, ...]) -> None:
        self.pin = first.pin
        self.phases = Phases()
        self.met = 0  # how many amendments have had their entry
        self._due = due
        self._others = 0  # up to where the journal holds entries that are no mending after a crash

    def follow(self, entry: Entry, where: str) -> None:
        """Take one more entry into account; `UntrustedError` naming `where` if it cannot stand here."""
        event = entry.event
        if isinstance(event, (Opened, Imported, Attempted, EpisodeKept, Failed, Asked, Read)):
            if event.pin != self.pin or event.stage == "pilot":
                what = {EpisodeKept: "an episode", Asked: "a reading", Read: "a reading"}.get(type(event), "an attempt")
                raise UntrustedError(f"evidence: {what} of another pin or of a pilot", where=where)
        elif isinstance(event, Amended):
            self._amend(entry.seq, event, where)
        if not isinstance(event, (Recovered, Repaired)):
            self._others = entry.seq + 1
        self.phases.follow(event)

    def _amend(self, seq: int, event: Amended, where: str) -> None:
        if self.met == len(self._due):
            what = f"amendment {event.number} has an entry, but no file beside the plan"
            raise UntrustedError(what, where=where, remedy="put its file back")
        due = self._due[self.met]
        if event.number != due.event.number or event.pin != due.event.pin:
            what = f"found amendment {event.number} of pin {short(event.pin)}, but {due.file} is {short(due.event.pin)}"
            raise UntrustedError(what, where=where, remedy="one of them was edited")
        if not self._others <= due.after <= seq:
            what = f"{due.file} was made after {due.after} entries, but its entry comes after {self._others} others"
            raise UntrustedError(what, where=where, remedy="one of them was edited")
        for said, source in ((event.phase, "the entry"), (due.event.phase, due.file)):
            if said != self.phases.phase:
                what = f"{source} says {said}, but the entries before it say {self.phases.phase}"
                raise UntrustedError(what, where=where, remedy="one of them was edited")
        self.met += 1
        self.pin = event.pin

    def end(self, *, where: str, lacking: int = 0) -> None:
        """Raise unless every amendment, but for the last `lacking` of them, has had its entry."""
        if self.met < len(self._due) - lacking:
            due = self._due[self.met]
            raise UntrustedError(
                f"amendment {due.event.number} ({due.file}) has no entry in the journal",
                where=where,
                remedy="where a crash cut it off, `sealkit amend PLAN` completes it",
            )
