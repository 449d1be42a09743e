"""Slots that had their episode, and that an amendment dropped: none of them comes back.

    dropped = Dropped(plans)          # the plan of every pin, in order
    dropped.follow(event, where)      # for every event of the journal; raises where an amendment puts a slot back
    dropped.returning(spec)           # the slots that this plan would put back, and the amendment that dropped each
    dropped.groups                    # the slots that each amendment dropped

Whoever drops what lost and puts it back draws it anew: best of so many. That the slots are those that were sealed says
nothing, since their first draws would be in no figure. `sealkit amend` refuses such a plan, and every reader such a
chain of pins, by the same rule. Another plan, under an id of its own, may draw what it likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TypeAlias

from sealkit.plan.schema import Spec
from sealkit.plan.slots import SlotIndex, slots
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Amended, EpisodeKept, Event, Slot
from sealkit.wire.records import Count, Level

_Key: TypeAlias = tuple[tuple[str, Level], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The slots with an episode that one amendment dropped; there is at least one."""

    amendment: Count
    slots: tuple[Slot, ...]


class Dropped:
    """Follows a sealed journal; one byte a slot, and the dropped slots themselves."""

    def __init__(self, plans: Sequence[Spec]) -> None:
        self.groups: tuple[Group, ...] = ()
        self._plans = plans
        self._spec = plans[0]
        self._index = SlotIndex(plans[0], "confirmatory")
        self._kept = bytearray(self._index.count)
        self._gone: dict[_Key, tuple[Slot, Count]] = {}

    def follow(self, event: Event, where: str) -> None:
        """Take one more event into account; `UntrustedError` naming `where` if it puts a slot back."""
        if type(event) is EpisodeKept and event.stage == "confirmatory":
            number = self._index.find(event.slot)
            if number is not None:
                self._kept[number] = 1
        elif type(event) is Amended and 0 < event.number < len(self._plans):
            self._amend(event.number, self._plans[event.number], where)

    def returning(self, spec: Spec) -> Iterator[tuple[Slot, Count]]:
        """The dropped slots that this plan has, in the order in which they were dropped, each with its amendment."""
        index = SlotIndex(spec, "confirmatory")
        return ((slot, number) for slot, number in self._gone.values() if index.find(slot) is not None)

    def _amend(self, number: Count, spec: Spec, where: str) -> None:
        for slot, by in self.returning(spec):
            what = f"amendment {number} puts back slot {slot!a}, which had its episode when amendment {by} dropped it"
            raise UntrustedError(what, where=where, remedy="no `sealkit amend` writes this: it would be drawn again")
        index = SlotIndex(spec, "confirmatory")
        kept, gone = bytearray(index.count), list[Slot]()
        for slot in compress(slots(self._spec, "confirmatory"), self._kept):
            place = index.find(slot)
            if place is None:
                gone.append(slot)
            else:
                kept[place] = 1
        self._spec, self._index, self._kept = spec, index, kept
        self._gone |= {_key(slot): (slot, number) for slot in gone}
        if gone:
            self.groups += (Group(number, tuple(gone)),)


def _key(slot: Mapping[str, Level]) -> _Key:
    return tuple(sorted(slot.items()))
