"""Which failed tries count against the exclusion cap, and what whoever runs a study is told of them while it runs.

    tries = FailedTries(sealed)
    tries.see(entry, calls)          # every entry of the journal, with the lines of calls.jsonl that it tells of
    str(tries)                       # empty where none counts

A slot whose outcome comes after a failed try was drawn again: its outcome may have been chosen (docs/decisions/0018).
Neither a pause nor an amendment takes such a try back, so it is said at once, and not first where a claim is withheld.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Final

from sealkit.plan.actors import ExternalWorld
from sealkit.plan.schema import Spec
from sealkit.plan.slots import SlotIndex, slot_count
from sealkit.seal.history import spell_slot
from sealkit.seal.in_force import TRIED
from sealkit.seal.journal import CALLS
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.attempts import read_calls
from sealkit.wire.chain import Entry
from sealkit.wire.events import Failed, Slot
from sealkit.wire.text import counted

OUTSIDE: Final = "provider_error"
# What an endpoint does of its own accord, before any of a reply is known.
NO_REPLY: Final = frozenset(
    ("rate_limited", "server_error", "no_connection", "no_endpoint", "connection_lost", "timeout", "redirected")
)


def may_be_chosen(calls: bytes) -> bool:
    """Whether a reply came to any of these requests, or what was asked may be why none did."""
    return any(call.status not in NO_REPLY for call in read_calls(calls, where=CALLS))


def is_drawn_again(spec: Spec, event: Failed, calls: bytes) -> bool:
    """Whether the failed try counts, once its slot has an outcome.

    It does not where the gateway recorded that none of its requests came to anything; who asks by himself has none.
    """
    recorded = event.ending == OUTSIDE and bool(calls) and not isinstance(spec.world, ExternalWorld)
    return event.stage == "confirmatory" and not (recorded and not may_be_chosen(calls))


class FailedTries:
    """The failed tries of a sealed plan's confirmatory run that count, so far."""

    __slots__ = ("_sealed", "_tries")

    def __init__(self, sealed: SealedPlan) -> None:
        self._sealed = sealed
        self._tries: dict[str, tuple[Slot, int]] = {}

    def see(self, entry: Entry, calls: bytes) -> None:
        """Take one entry into account."""
        if isinstance(entry.event, Failed):
            self.add(entry.event, calls)

    def add(self, event: Failed, calls: bytes) -> None:
        """Take one failed try into account, with the lines of its calls."""
        if is_drawn_again(self._sealed.under(event.pin).plan.spec, event, calls):
            key = spell_slot(event.slot)
            self._tries[key] = event.slot, self._tries.get(key, (event.slot, 0))[1] + 1

    def __str__(self) -> str:
        spec = self._sealed.plan.spec
        index = SlotIndex(spec, "confirmatory")
        tries, slots = Counter[str](), Counter[str]()
        for slot, count in self._tries.values():
            if index.find(slot) is not None:
                tries[str(slot["arm"])] += count
                slots[str(slot["arm"])] += 1
        if not tries:
            return ""
        most, cap = slot_count(spec, "confirmatory") // len(spec.factors.arm), _lowest_cap(self._sealed)
        each = ", ".join(_in_words(arm, tries[arm], slots[arm]) for arm in spec.factors.arm)
        over = [arm for arm in spec.factors.arm if slots[arm] > cap * most]
        beyond = f"beyond it, so that claims are withheld: {', '.join(over)}; " if over else ""
        return (
            f"failed tries that count against the exclusion cap: {each}; the cap {cap} lets {int(cap * most)} of the "
            f"{most} slots of an arm be missing or drawn again; {beyond}no amendment takes a try back, and a new plan "
            "with an id of its own begins without them"
        )


def _in_words(arm: str, tries: int, slots: int) -> str:
    where = f" at {counted(slots, 'slot')}" if tries != slots else ""
    return f"{tries}{where} in {arm}"


def _lowest_cap(sealed: SealedPlan) -> Decimal:
    """The lowest cap that was in force since the first confirmatory attempt."""
    before = [number for number, amendment in enumerate(sealed.amendments) if amendment.phase in TRIED]
    pins = sealed.pins[before[0] :] if before else (sealed.latest,)
    return min(pinned.plan.spec.sample.exclusion_cap_per_arm for pinned in pins)
