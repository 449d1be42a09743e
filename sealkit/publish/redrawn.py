"""Slots that were drawn again: failed tries before an episode, which the study's own code could have brought about.

    redrawn = Redrawn(sealed)
    redrawn.see(entry, calls)            # every entry of the journal, with the lines of calls.jsonl that it tells of
    redrawn.tell(measuring)              # the cells know it: it meets the exclusion cap

A program that fails once it knows what a try came to draws until it pleases: best of so many. So each such try counts,
whatever it said of itself, also where a pause forgave it or an amendment came between. Two ways to lose a try do not:
a call that got no reply, recorded as such by the gateway, and a runner that was stopped, which leaves no failure.
"""

from __future__ import annotations

from typing import Final

from sealkit.infer.cells import Cells
from sealkit.plan.actors import ExternalWorld
from sealkit.plan.schema import Spec
from sealkit.publish.measuring import Measuring
from sealkit.publish.other_code import FarCells
from sealkit.run.progress import SlotIndex
from sealkit.seal.history import spell_slot
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.chain import Entry, Failed, Slot

OUTSIDE: Final = "provider_error"


class Redrawn:
    """The failed tries of each slot that count, as the journal tells of them."""

    def __init__(self, sealed: SealedPlan) -> None:
        self._sealed = sealed
        self._tries: dict[str, tuple[Slot, int]] = {}

    def see(self, entry: Entry, calls: bytes) -> None:
        """Take one entry into account."""
        event = entry.event
        if isinstance(event, Failed) and event.stage == "confirmatory" and not self._from_outside(event, calls):
            key = spell_slot(event.slot)
            self._tries[key] = event.slot, self._tries.get(key, (event.slot, 0))[1] + 1

    def _from_outside(self, event: Failed, calls: bytes) -> bool:
        """Whether the gateway recorded the call for want of whose reply it failed; whoever asks by himself has none."""
        world = self._sealed.under(event.pin).plan.spec.world
        return event.ending == OUTSIDE and bool(calls) and not isinstance(world, ExternalWorld)

    def tell(self, measuring: Measuring) -> None:
        """All cells know the tries of their slots."""
        asked = [asking.cells for asking in measuring.earlier]
        for cells in (measuring.cells, measuring.first_cells, *asked):
            if cells is not None:
                self._tell(cells.spec, cells)
        if measuring.sealed_cells is not None:
            self._tell(measuring.cells.spec, measuring.sealed_cells)

    def _tell(self, spec: Spec, cells: Cells | FarCells) -> None:
        index = SlotIndex(spec, "confirmatory")
        for slot, tries in self._tries.values():
            if index.find(slot) is not None:
                cells.draw_again(slot, tries)
