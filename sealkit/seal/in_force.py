"""Which pin is in force at each entry of a journal, and how far the study was: what amendments are held against.

    in_force = InForce(first, due, slots)      # the seal's entry, what each amendment's file says, its plan's slots
    in_force.follow(entry, where)              # for every entry, in order; raises if it cannot stand there
    in_force.end(where)                        # raises if an amendment has no entry

A pin is in force from its own entry (`sealed`, `amended`) to the next one's, and every attempt and episode between
them is under it. The phase of an amendment is what the entries before it say, never what its maker says:

    before_any_episode     no slot was tried
    after_smoke            a smoke slot was tried
    after_first_episode    a confirmatory slot was tried, whatever came of it; or a run of a shard began
    after_last_episode     the confirmatory run had ended once, or kept as many episodes as its plan has slots, at an
                           episode or where an amendment leaves the plan no more than that
    after_first_look       somebody saw confirmatory outcomes through sealkit
    after_analysis         the analysis was made

Receipts are files. From the first attempt on there may be outcomes that somebody has read; whoever holds all of them
may know what every rule comes to, as one who looked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

import msgspec

from sealkit.wire.chain import Entry
from sealkit.wire.digest import short
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import (
    Amended,
    Analysed,
    Asked,
    Attempted,
    Closed,
    EpisodeKept,
    Event,
    Failed,
    Imported,
    Looked,
    Merged,
    Opened,
    Phase,
    Read,
    Recovered,
    Repaired,
    Sealed,
    ShardHead,
)
from sealkit.wire.records import Count

PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
TRIED: Final[tuple[Phase, ...]] = PHASES[2:]  # there may be outcomes
COMPLETE: Final[tuple[Phase, ...]] = PHASES[3:]  # every outcome may be known
LOOKED: Final[tuple[Phase, ...]] = PHASES[4:]  # somebody looked, through sealkit
_LOOK: Final = "after the first look"
WHEN: Final[Mapping[Phase, str]] = {
    "before_any_episode": "before the first confirmatory attempt",
    "after_smoke": "before the first confirmatory attempt",
    "after_first_episode": "after the first confirmatory attempt",
    "after_last_episode": "when the run had ended or every slot had its outcome",
    "after_first_look": _LOOK,
    "after_analysis": _LOOK,
}


_SAYS: Final[Mapping[Phase, str]] = {
    "before_any_episode": "nothing had been tried",
    "after_smoke": "a smoke attempt had begun",
    "after_first_episode": "a confirmatory attempt had begun",
    "after_last_episode": "the run had ended, or every slot had its episode",
    "after_first_look": "somebody had seen outcomes through sealkit",
    "after_analysis": "the analysis had been made",
}


def phase_in_words(phase: Phase) -> str:
    """The phase by its name, and what that means.

    >>> phase_in_words("after_first_episode")
    'after_first_episode (a confirmatory attempt had begun)'
    """
    return f"{phase} ({_SAYS[phase]})"


class Due(msgspec.Struct, frozen=True):
    """An amendment as its file has it: the entry that the journal must hold, and how many entries were there before.

    `slots` is how many confirmatory slots its plan has.
    """

    event: Amended
    after: int
    file: str
    slots: Count


class Phases:
    """How far a study is, after the entries that were followed; `slots`: how many its plan in force has, if known."""

    __slots__ = ("_kept", "_reached", "slots")

    def __init__(self, slots: Count | None) -> None:
        self.slots = slots
        self._kept = self._reached = 0

    def follow(self, event: Event) -> None:
        """Take one more entry into account."""
        if type(event) is Attempted:
            self._reach("after_first_episode" if event.stage == "confirmatory" else "after_smoke")
        elif type(event) is EpisodeKept and event.stage == "confirmatory":
            self._kept += 1  # those that an amendment superseded or dropped were known too
            self._count()
        elif type(event) is Closed and event.stage == "confirmatory":
            self._reach("after_last_episode")
        elif type(event) in (ShardHead, Merged):  # what came of it may have been removed
            self._reach("after_first_episode")
        elif type(event) is Looked:
            self._reach("after_first_look")
        elif type(event) is Analysed:
            self._reach("after_analysis")

    def amend(self, slots: Count) -> None:
        """From here on the plan in force has so many slots."""
        self.slots = slots
        self._count()

    @property
    def phase(self) -> Phase:
        """The furthest phase that was reached."""
        return PHASES[self._reached]

    def _count(self) -> None:
        if self.slots is not None and 0 < self.slots <= self._kept:
            self._reach("after_last_episode")

    def _reach(self, phase: Phase) -> None:
        self._reached = max(self._reached, PHASES.index(phase))


class InForce:
    """Follows a sealed journal; see the module for the rules that it holds."""

    __slots__ = ("_due", "_others", "met", "phases", "pin")

    def __init__(self, first: Sealed, due: tuple[Due, ...], slots: Count | None) -> None:
        self.pin = first.pin
        self.phases = Phases(slots)
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
        self.phases.amend(due.slots)

    def end(self, *, where: str, lacking: int = 0) -> None:
        """Raise unless every amendment, but for the last `lacking` of them, has had its entry."""
        if self.met < len(self._due) - lacking:
            due = self._due[self.met]
            raise UntrustedError(
                f"amendment {due.event.number} ({due.file}) has no entry in the journal",
                where=where,
                remedy="where a crash cut it off, `sealkit amend PLAN` completes it",
            )
