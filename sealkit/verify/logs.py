"""Holds recorded episodes against the journal: where they say they come from, and when a log of them was begun.

An episode from a log needs the entry `imported` of that log before it, for its arm and with the same time; in a plan
whose command runs the slots there is none such, and in one without a command no other. An entry says rightly on which
side of the seal its log falls; one before it stands only where the plan says that data had been collected.
"""

from __future__ import annotations

from typing import TypeAlias

from sealkit.plan.actors import ExternalWorld
from sealkit.seal.history import spell_slot
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.chain import Entry, is_time
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Imported, Slot
from sealkit.wire.recorded import FromCommand, FromLog

Source: TypeAlias = FromCommand | FromLog | None


class Logs:
    """The logs that the journal has imported so far."""

    def __init__(self, sealed: SealedPlan) -> None:
        self._seal = sealed.seal
        world = sealed.plan.spec.world
        self._runs = not isinstance(world, ExternalWorld) or world.run is not None
        self._known: dict[tuple[str, str], Imported] = {}

    def follow(self, entry: Entry) -> None:
        """Take one more entry into account; `UntrustedError` if it imports what this seal cannot take."""
        event = entry.event
        if not isinstance(event, Imported):
            return
        where = f"journal.jsonl entry {entry.seq}"
        if self._runs or not is_time(event.created):
            raise UntrustedError("evidence: a log is imported into a plan that runs its slots", where=where)
        before = event.created < self._seal.sealed_at
        if event.before_seal != before:
            side = "before" if before else "after"
            what = f"says of a log of {event.created} that it is not {side} the seal of {self._seal.sealed_at}"
            raise UntrustedError(what, where=where, remedy="it was edited")
        if before and self._seal.data_access == "none_collected":
            what = f"a log of {event.created}, before the seal, in a plan that says no data was collected"
            raise UntrustedError(what, where=where)
        self._known[event.log, event.arm] = event

    def check(self, slot: Slot, source: Source, where: str) -> None:
        """Raise `UntrustedError` unless an episode may come from there."""
        if isinstance(source, FromLog):
            event = self._known.get((source.log, str(slot["arm"])))
            if event is None or event.created != source.created:
                what = f"the episode of {spell_slot(slot)} comes from a log that no entry imports for this arm"
                raise UntrustedError(f"evidence: {what}", where=where, remedy="no import writes this")
        elif isinstance(source, FromCommand) and not self._runs:
            what = f"the episode of {spell_slot(slot)} comes from a command, and the plan names none"
            raise UntrustedError(f"evidence: {what}", where=where, remedy="no import writes this")
