"""Lets sealed judges measure admitted episodes, and keeps what the analysis, and its checks after an amendment, read
of them.

The judge of the pin in force measures every episode that counts, whatever pin it ran under: one effect rests on one
judge. More readings of the same episodes are kept where an amendment asks for them:

    first_cells   blocks were run again: each slot with its first episode, as if nothing had been superseded
    sealed_cells  this sealkit rules by other code than was sealed: the same, by the analysis that was
    far_cells     ruling code changed after the first look: the same episodes, by the judge and analysis pinned then
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from sealkit.infer.admit import Admission
from sealkit.infer.cells import Cells
from sealkit.publish.analysis_code import moved_analysis_code
from sealkit.publish.ruling_at_look import FarCells, far_cells
from sealkit.run.progress import SlotIndex
from sealkit.seal.changes import changes
from sealkit.seal.in_force import LOOKED
from sealkit.seal.pins import Pinned
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.study import Checked, Study
from sealkit.verify.under_pin import UnderPin
from sealkit.wire.chain import Failed
from sealkit.wire.records import Json, Level


def pin_at_look(sealed: SealedPlan) -> Pinned | None:
    """The pin in force when somebody first saw outcomes, if an amendment came after that."""
    for pinned, amendment in zip(sealed.pins, sealed.amendments, strict=False):
        if amendment.phase in LOOKED:
            return pinned
    return None


def ruling_changed_since_look(sealed: SealedPlan) -> Pinned | None:
    """The pin that was in force at the first look, if today's ruling code is not what was pinned then."""
    then = pin_at_look(sealed)
    return then if then is not None and changes(then.version, sealed.latest.version).ruling else None


class Told(Protocol):
    """Cells as they are told: here, or on the far side of a child process."""

    def admit(
        self, slot: Mapping[str, Level], measures: Mapping[str, Json], *, ended: str, acts: int | None, pin: int
    ) -> None:
        """An admitted episode."""

    def set_aside(self, slot: Mapping[str, Level]) -> None:
        """An episode that was not admitted."""

    def fail(self, slot: Mapping[str, Level], ending: str) -> None:
        """A slot without an episode."""


class Outcomes:
    """One reading of the episodes: the cells of a plan, told slot by slot by one judge."""

    def __init__(self, judge: UnderPin, cells: Told) -> None:
        self.judge = judge
        self._cells = cells
        self._index = SlotIndex(judge.pinned.plan.spec, "confirmatory")
        self._told = bytearray(self._index.count)

    def take(
        self, checked: Checked, admission: Admission, pin: int, measured: Mapping[str, Json] | None = None
    ) -> None:
        """An episode, unless the plan has no such slot or the slot has one already."""
        if not self._tell(checked.slot):
            return
        if admission.status != "admitted":
            self._cells.set_aside(checked.slot)
            return
        measures = self.judge.measure(checked.trusted, checked.line) if measured is None else measured
        # What an external world did is its own affair: nobody counted acts.
        acts = None if self.judge.pinned.plan.spec.judge is None else checked.counts.acts
        self._cells.admit(checked.slot, measures, ended=checked.ended, acts=acts, pin=pin)

    def fail(self, event: Failed) -> None:
        """How the last attempt ended at a slot without an episode."""
        if self._tell(event.slot):
            self._cells.fail(event.slot, event.ending)

    def _tell(self, slot: Mapping[str, Level]) -> bool:
        number = self._index.find(slot)
        if number is None or self._told[number]:
            return False
        self._told[number] = 1
        return True


class Measuring:
    """Every reading of a study's episodes that its analysis needs, made while they stream by."""

    def __init__(self, study: Study) -> None:
        sealed = study.sealed
        spec = sealed.plan.spec
        self.cells = Cells(spec)
        self.first_cells = Cells(spec) if any(pinned.blocks for pinned in sealed.pins) else None
        then = ruling_changed_since_look(sealed)
        self.far_cells: FarCells | None = None
        if then is not None and study.isolation is not None:
            self.far_cells = study.keep(far_cells(then, study.isolation))
        self.sealed_cells: FarCells | None = None
        if study.isolation is not None and moved_analysis_code(sealed):
            self.sealed_cells = study.keep(far_cells(sealed.latest, study.isolation))
        self._main = Outcomes(study.latest, self.cells)
        self._sealed = Outcomes(study.latest, self.sealed_cells) if self.sealed_cells is not None else None
        self._first = Outcomes(study.latest, self.first_cells) if self.first_cells is not None else None
        self._at_look = None
        if then is not None and self.far_cells is not None:
            self._at_look = Outcomes(study.under[then.pin], self.far_cells)
        self._pins: dict[str, int] = {}
        self._latest = sealed.latest.pin

    @property
    def pins(self) -> tuple[str, ...]:
        """What the episodes that count ran under, as the cells number them; the pin in force if there are none."""
        return tuple(self._pins) or (self._latest,)

    def take(self, checked: Checked, admission: Admission) -> None:
        """One confirmatory episode, whether it counts or is left out."""
        if checked.left_out is not None and checked.left_out.why == "dropped":
            return
        admitted = admission.status == "admitted"
        measures = self._main.judge.measure(checked.trusted, checked.line) if admitted else {}
        pin = 0
        if checked.left_out is None:
            pin = self._pins.setdefault(checked.trusted.pin, len(self._pins))
            self._main.take(checked, admission, pin, measures)
            if self._sealed is not None:
                self._sealed.take(checked, admission, pin, measures)
            if self._at_look is not None:
                self._at_look.take(checked, admission, pin)
        if self._first is not None:
            self._first.take(checked, admission, pin, measures)

    def fail(self, events: Iterable[Failed]) -> None:
        """How the last attempt ended at each slot that has no episode."""
        for event in events:
            for outcomes in (self._main, self._first, self._at_look, self._sealed):
                if outcomes is not None:
                    outcomes.fail(event)
