"""Lets sealed judges measure admitted episodes, and keeps what the analysis, and its checks after an amendment, read
of them.

The judge of the pin in force measures every episode that counts, whatever pin it ran under: one effect rests on one
judge. More readings of the same episodes are kept where an amendment asks for them:

    generations   blocks were run again: each slot with its first episode, with its second, and so on
    sealed_cells  this sealkit rules by other code than was sealed: the same, by the analysis that was
    beside        code changed when there could be outcomes, whatever it was for: the same episodes, by the judge and
                  analysis of each pin from that of the first attempt on
    earlier       what was asked when there could be outcomes and is not asked any more: by the plan that asked, also
                  with the episodes of slots that an amendment dropped
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from sealkit.infer.admit import Admission
from sealkit.infer.cells import Cells
from sealkit.publish.review.analysis_code import moved_analysis_code
from sealkit.publish.review.asked import Earlier, asked_earlier
from sealkit.publish.review.generations import Generations
from sealkit.publish.review.other_code import FarCells, far_cells
from sealkit.publish.review.outcomes import Measured, Outcomes, measured
from sealkit.seal.changes import other_code
from sealkit.seal.in_force import TRIED
from sealkit.seal.pins import Pinned
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.study import Checked, Study
from sealkit.wire.events import Failed, Phase
from sealkit.wire.records import Count


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


class Measuring:
    """Every reading of a study's episodes that its analysis needs, made while the first `until` entries stream by."""

    def __init__(self, study: Study, until: Count, second: Second | None = None) -> None:
        sealed = study.sealed
        spec = sealed.plan.spec
        self.cells = Cells(spec)
        self._second = second
        self.generations = Generations(study, until) if any(pinned.blocks for pinned in sealed.pins) else None
        self.beside = tuple(_beside(study, pinned) for pinned in pins_of_other_code(sealed))
        self.sealed_cells: FarCells | None = None
        if study.isolation is not None and moved_analysis_code(sealed):
            self.sealed_cells = study.keep(far_cells(sealed.latest, study.isolation))
        self._main = Outcomes(study.latest, self.cells, spec)
        self._sealed = Outcomes(study.latest, self.sealed_cells, spec) if self.sealed_cells is not None else None
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
        if self.generations is not None:
            self.generations.take(checked, found, pin)
        return found if isinstance(found, Admission) else admission

    def fail(self, events: Iterable[Failed]) -> None:
        """How the last attempt ended at each slot that has no episode; it counts under the pin of that attempt."""
        for event in events:
            pin = self._number(event.pin)
            for outcomes in (self._main, self.generations, self._sealed, *(one.outcomes for one in self.beside)):
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
