"""What the sealed judge gives each episode, told to the cells of one plan: one reading of the episodes.

outcomes = Outcomes(judge, cells, spec)
outcomes.take(checked, measured(judge, checked, admission), pin)    # an episode; the first of its slot counts
outcomes.fail(event, pin)                                           # a slot without one
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

from sealkit.infer.admit import Admission
from sealkit.plan.actors import ReferenceWorld
from sealkit.plan.schema import Spec
from sealkit.plan.slots import SlotIndex
from sealkit.seal.history import spell_slot
from sealkit.verify.sandbox import BrokenOffError
from sealkit.verify.study import Checked
from sealkit.verify.tally import usage_of
from sealkit.verify.under_pin import UnderPin
from sealkit.wire.errors import HarnessError, MalformedError, SealkitError
from sealkit.wire.events import Failed
from sealkit.wire.records import Json, Level

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
