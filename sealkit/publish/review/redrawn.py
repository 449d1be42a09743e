"""Slots that were drawn again: failed tries before an episode, or a reading, that the study's own code may have made.

    redrawn = Redrawn(sealed)
    redrawn.see(entry, calls)            # every entry of the journal, with the lines of calls.jsonl that it tells of
    redrawn.tell(measuring)              # the cells know it: it meets the exclusion cap

A program that fails once it knows what a try came to draws until it pleases: best of so many. So each such try counts,
whatever it said of itself, also where a pause forgave it or an amendment came between: at a slot, and at a reading
whose reply the judge did not take. One way to lose a try does not count: the gateway recorded its requests, and all of
them came to nothing by the endpoint's own doing, before any reply. What was asked has no part in that, as it has in a
question that is too long, and nothing was known. A runner that was stopped leaves no failure: see `cut_off`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

from sealkit.infer.cells import Cells
from sealkit.plan.readings import ReadingKey
from sealkit.plan.schema import Spec
from sealkit.plan.slots import SlotIndex
from sealkit.publish.review.measuring import Measuring
from sealkit.publish.review.other_code import FarCells
from sealkit.run.drawn_again import is_drawn_again, may_be_chosen
from sealkit.run.reads import HEARD
from sealkit.seal.history import spell_slot
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.chain import Entry
from sealkit.wire.events import Failed, Read, Slot

_OneReading: TypeAlias = tuple[str, ReadingKey]  # of the episode with this digest


class Redrawn:
    """The failed tries of each slot that count, as the journal tells of them."""

    def __init__(self, sealed: SealedPlan) -> None:
        self._sealed = sealed
        self._tries: dict[str, tuple[Slot, int]] = {}
        self._pending: Counter[_OneReading] = Counter()  # of readings that no reply was taken for yet
        self._readings: Counter[str] = Counter()

    def see(self, entry: Entry, calls: bytes) -> None:
        """Take one entry into account."""
        event = entry.event
        if isinstance(event, Failed):
            if is_drawn_again(self._sealed.under(event.pin).plan.spec, event, calls):
                self._count(event.slot, 1)
        elif isinstance(event, Read) and event.stage == "confirmatory":
            self._see_reading(event, calls)

    def _see_reading(self, event: Read, calls: bytes) -> None:
        """One that is never made is missing; one that is made after a reply that was not taken was drawn again."""
        one = event.episode, (event.reading, event.level)
        if event.ending not in HEARD:
            self._pending[one] += bool(calls) and may_be_chosen(calls)
        elif tries := self._pending.pop(one, 0):
            self._count(event.slot, tries)
            self._readings[" ".join(one[1])] += tries

    def _count(self, slot: Slot, tries: int) -> None:
        key = spell_slot(slot)
        self._tries[key] = slot, self._tries.get(key, (slot, 0))[1] + tries

    def beside(self, readings: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
        """The counts of readings, by reading and level, with the tries of each that count, where there are any."""
        return {
            name: dict(counts) | ({"drawn_again": self._readings[name]} if self._readings[name] else {})
            for name, counts in readings.items()
        }

    def tell(self, measuring: Measuring) -> None:
        """All cells know the tries of their slots."""
        asked = [asking.cells for asking in measuring.earlier]
        again = measuring.generations.cells if measuring.generations is not None else ()
        for cells in (measuring.cells, *again, *asked):
            self._tell(cells.spec, cells)
        if measuring.sealed_cells is not None:
            self._tell(measuring.cells.spec, measuring.sealed_cells)

    def _tell(self, spec: Spec, cells: Cells | FarCells) -> None:
        index = SlotIndex(spec, "confirmatory")
        for slot, tries in self._tries.values():
            if index.find(slot) is not None:
                cells.draw_again(slot, tries)
