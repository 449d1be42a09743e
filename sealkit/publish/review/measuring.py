"""Lets sealed judges measure admitted episodes, and keeps what the analysis, and its checks after an amendment, read
of them.

The judge of the pin in force measures every episode that counts, whatever pin it ran under: one effect rests on one
judge. More readings of the same episodes are kept where an amendment asks for them:

    first_cells   blocks were run again: each slot with its first episode, as if nothing had been superseded
    sealed_cells  this sealkit rules by other code than was sealed: the same, by the analysis that was
    beside        code changed when there could be outcomes, whatever it was for: the same episodes, by the judge and
                  analysis of each pin from that of the first attempt on
    earlier       what was asked when there could be outcomes and is not asked any more: by the plan that asked, also
                  with the episodes of slots that an amendment dropped
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from sealkit.infer.admit import Admission
from sealkit.infer.cells import Cells
from sealkit.plan.actors import ReferenceWorld
from sealkit.plan.schema import Spec
from sealkit.publish.review.analysis_code import moved_analysis_code
from sealkit.publish.review.asked import Earlier, asked_earlier
from sealkit.publish.review.other_code import FarCells, far_cells
from sealkit.run.progress import SlotIndex
from sealkit.seal.changes import other_code
from sealkit.seal.history import spell_slot
from sealkit.seal.in_force import TRIED
from sealkit.seal.pins import Pinned
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.sandbox import BrokenOffError
from sealkit.verify.study import Checked, Study
from sealkit.verify.tally import usage_of
from sealkit.verify.under_pin import UnderPin
from sealkit.wire.errors import HarnessError, MalformedError, SealkitError
from sealkit.wire.events import Failed, Phase
from sealkit.wire.records import Json, Level


def pins_since(sealed: SealedPlan, phases: Collection[Phase]) -> tuple[Pinned, ...]:
    """The pins that an amendment of one of these phases, or a later one, followed: the first was in force by then."""
    for pinned, amendment in zip(sealed.pins, sealed.amendments, strict=False):
        if amendment.phase in phases:
            return sealed.pins[pinned.number : -1]
    return ()


def pins_of_other_code(sealed: SealedPlan) -> tuple[Pinned, ...]:
    """The pins since the first confirmatory attempt whose code is not today's, one for each such code."""
    found: list[Pinned] = []
    for pinned in pins_since(sealed, TRIED):
        if all(other_code(pinned.closure, other.closure) for other in (sealed.latest, *found)):
            found.append(pinned)
    return tuple(found)


Measured: TypeAlias = Mapping[str, Json] | Admission  # what the judge gave, or that the slot is not admitted


class Told(Protocol):
    """Cells as they are told: here, or on the far side of a child process."""

    def admit(
        self, slot: Mapping[str, Level], measures: Mapping[str, Json], *, ended: str, acts: int | None, pin: int
    ) -> None:
        """An admitted episode."""

    def set_aside(self, slot: Mapping[str, Level], *, pin: int) -> None:
        """An episode that was not admitted, or that could not be measured."""

    def fail(self, slot: Mapping[str, Level], ending: str, *, pin: int) -> None:
        """A slot without an episode."""


class Second(Protocol):
    """Whoever rules on the same episodes beside the sealed code."""

    def take(self, checked: Checked, admission: Admission, found: Measured, pin: int) -> None:
        """An episode that counts, as the sealed code admitted and measured it."""

    def fail(self, event: Failed, pin: int) -> None:
        """A slot without an episode."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The episodes that count, by the code of an earlier pin."""

    pinned: Pinned
    cells: FarCells
    outcomes: Outcomes


@dataclass(frozen=True, slots=True)
class Asking:
    """What was asked earlier, with the cells of its plan: told by today's judge, and, where code has changed since,
    `far` ones, told by that plan's own, whose verdicts count.
    """

    earlier: Earlier
    cells: Cells
    outcomes: Outcomes
    far: FarCells | None
    far_outcomes: Outcomes | None


def measured(judge: UnderPin, checked: Checked, admission: Admission) -> Measured:
    """What the judge gives an admitted episode. One that it fails on is errored: that is never the agent's failure.

    A child that is gone is no judge's answer: `BrokenOffError`, naming the slot.
    """
    if admission.status != "admitted":
        return admission
    try:
        measures = judge.measure(checked.trusted, checked.line, checked.replies)
    except BrokenOffError as error:
        raise BrokenOffError(f"the judge broke off: {error.what}", where=spell_slot(checked.slot)) from error
    except (HarnessError, MalformedError) as error:
        return unmeasured(error)
    spec = judge.pinned.plan.spec
    if not spec.models or not isinstance(spec.world, ReferenceWorld):
        return measures
    return {**measures, **usage_of(checked.calls)}  # no judge sees what an episode used


def unmeasured(error: SealkitError) -> Admission:
    """The ruling on a slot whose admitted episode has no measures that the plan's metrics can have."""
    return Admission("errored", None, f"the judge failed: {error}")


class Outcomes:
    """One reading of the episodes: the cells of a plan, told slot by slot by one judge."""

    def __init__(self, judge: UnderPin, cells: Told, spec: Spec) -> None:
        self.judge = judge
        self._cells = cells
        self._index = SlotIndex(spec, "confirmatory")
        self._told = bytearray(self._index.count)

    def take(self, checked: Checked, found: Measured, pin: int) -> Measured:
        """An episode, unless the plan has no such slot or the slot has one already; what became of its measures."""
        if not self._tell(checked.slot):
            return found
        if not isinstance(found, Admission):
            # What an external world did is its own affair: nobody counted acts.
            acts = None if self.judge.pinned.plan.spec.judge is None else checked.counts.acts
            try:
                self._cells.admit(checked.slot, found, ended=checked.ended, acts=acts, pin=pin)
                return found
            except BrokenOffError:
                raise
            except (MalformedError, HarnessError) as error:  # here, or told by the far side
                found = unmeasured(error)
        self._cells.set_aside(checked.slot, pin=pin)
        return found

    def fail(self, event: Failed, pin: int) -> None:
        """How the last attempt ended at a slot without an episode, and the pin that it ran under."""
        if self._tell(event.slot):
            self._cells.fail(event.slot, event.ending, pin=pin)

    def _tell(self, slot: Mapping[str, Level]) -> bool:
        number = self._index.find(slot)
        if number is None or self._told[number]:
            return False
        self._told[number] = 1
        return True


class Measuring:
    """Every reading of a study's episodes that its analysis needs, made while they stream by."""

    def __init__(self, study: Study, second: Second | None = None) -> None:
        sealed = study.sealed
        spec = sealed.plan.spec
        self.cells = Cells(spec)
        self._second = second
        self.first_cells = Cells(spec) if any(pinned.blocks for pinned in sealed.pins) else None
        self.beside = tuple(_beside(study, pinned) for pinned in pins_of_other_code(sealed))
        self.sealed_cells: FarCells | None = None
        if study.isolation is not None and moved_analysis_code(sealed):
            self.sealed_cells = study.keep(far_cells(sealed.latest, study.isolation))
        self._main = Outcomes(study.latest, self.cells, spec)
        self._sealed = Outcomes(study.latest, self.sealed_cells, spec) if self.sealed_cells is not None else None
        self._first = Outcomes(study.latest, self.first_cells, spec) if self.first_cells is not None else None
        self.earlier = tuple(_asking(study, one) for one in asked_earlier(sealed.pins))
        self._pins: dict[str, int] = {}
        self._latest = sealed.latest.pin

    @property
    def pins(self) -> tuple[str, ...]:
        """What the slots that count ran under, as the cells number them; the pin in force if there are none."""
        return tuple(self._pins) or (self._latest,)

    def take(self, checked: Checked, admission: Admission) -> Admission:
        """The ruling on one confirmatory episode, which counts or is left out, once the judge has seen it."""
        dropped = checked.left_out is not None and checked.left_out.why == "dropped"
        if dropped and not self.earlier:
            return admission
        found = measured(self._main.judge, checked, admission)
        if dropped or checked.left_out is None:
            for asking in self.earlier:
                asking.outcomes.take(checked, found, 0)
                if (far := asking.far_outcomes) is not None:
                    far.take(checked, measured(far.judge, checked, admission), 0)
        if dropped:
            return admission
        pin = 0
        if checked.left_out is None:
            pin = self._number(checked.trusted.pin)
            found = self._main.take(checked, found, pin)
            if self._second is not None:
                self._second.take(checked, admission, found, pin)
            if self._sealed is not None:
                self._sealed.take(checked, found, pin)
            for one in self.beside:
                one.outcomes.take(checked, measured(one.outcomes.judge, checked, admission), pin)
        if self._first is not None:
            self._first.take(checked, found, pin)
        return found if isinstance(found, Admission) else admission

    def fail(self, events: Iterable[Failed]) -> None:
        """How the last attempt ended at each slot that has no episode; it counts under the pin of that attempt."""
        for event in events:
            pin = self._number(event.pin)
            for outcomes in (self._main, self._first, self._sealed, *(one.outcomes for one in self.beside)):
                if outcomes is not None:
                    outcomes.fail(event, pin)
            if self._second is not None:
                self._second.fail(event, pin)
            for asking in self.earlier:
                asking.outcomes.fail(event, 0)
                if asking.far_outcomes is not None:
                    asking.far_outcomes.fail(event, 0)

    def _number(self, pin: str) -> int:
        return self._pins.setdefault(pin, len(self._pins))


def _beside(study: Study, pinned: Pinned) -> Beside:
    assert study.isolation is not None, "whoever measures has the sealed source loaded"
    far = study.keep(far_cells(pinned, study.isolation))
    return Beside(pinned, far, Outcomes(study.under[pinned.pin], far, pinned.plan.spec))


def _asking(study: Study, one: Earlier) -> Asking:
    """Cells of the plan that asked."""
    spec, under = one.pinned.plan.spec, study.under[one.pinned.pin]
    cells = Cells(spec)
    outcomes = Outcomes(study.latest, cells, spec)
    if study.isolation is None or not other_code(one.pinned.closure, study.sealed.latest.closure):
        return Asking(one, cells, outcomes, None, None)
    far = study.keep(far_cells(one.pinned, study.isolation))
    return Asking(one, cells, outcomes, far, Outcomes(under, far, spec))
