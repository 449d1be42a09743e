"""Holds the calls of a study against its plan, its journal, its episodes and the bodies beside them.

    checks = CallChecks(sealed)
    called = checks.take(entry, history.calls, under_way)     # for each entry, in order

Nothing of it needs the study's code. Of each request: it belongs to the attempt that its entry tells of, it asked a
role of that arm, under the plan's settings, within the plan's budget; its bodies are there, or were withheld, and read
as the line says. What is wrong with the calls of an episode is a reason against that episode; with those of an attempt
that left none, it raises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.request import model_of
from sealkit.plan.actors import ExternalWorld, roles_of
from sealkit.plan.readings import readings_asked
from sealkit.run.reads import HEARD
from sealkit.seal.history import spell_slot
from sealkit.seal.journal import BLOBS, CALLS, JOURNAL
from sealkit.seal.pins import Pinned
from sealkit.seal.sealed import SealedPlan
from sealkit.seal.withheld import withheld_bodies
from sealkit.verify.bodies import BodyError, check_bodies, check_line
from sealkit.verify.spending import Spending
from sealkit.verify.tally import CallTally
from sealkit.wire.attempts import Calls, Tried, answered, by_try, check_order, read_calls, tried_by
from sealkit.wire.calls import Purpose
from sealkit.wire.chain import Entry
from sealkit.wire.digest import short
from sealkit.wire.errors import MalformedError, UntrustedError
from sealkit.wire.events import EpisodeKept, Failed, Opened, Paused, Read, Withheld
from sealkit.wire.verdict import Reason, Rejected

# How many attempts at the slot (under ""), or readings of it by the model of a role, began with this number and have
# not ended.
UnderWay: TypeAlias = Callable[[Tried, Purpose], Counter[str]]
Acts: TypeAlias = tuple[tuple[str, ...], ...]  # of each act, the replies that it names


@dataclass(frozen=True, slots=True)
class Called:
    """The calls of one episode, and the ruling against it if something is wrong with them."""

    calls: Calls
    against: Rejected | None


@dataclass(slots=True)
class CallChecks:
    """Follows calls.jsonl beside the journal; `confirmatory` counts the calls of each arm, episode or none.

    What readings used is no arm's: it is counted apart.
    """

    sealed: SealedPlan
    spending: Spending = field(init=False)
    confirmatory: dict[str, CallTally] = field(default_factory=dict)
    readings: CallTally = field(default_factory=CallTally)  # of the confirmatory run, whatever arm was read
    withheld: int = 0  # bodies that entries say were taken out
    lost: list[str] = field(default_factory=list)  # where a body is gone or another, of calls of episodes
    named: set[str] = field(default_factory=set)  # the digests of all bodies that calls have
    taken_out: frozenset[str] = field(init=False)
    bodies: Blobs = field(init=False)
    _cut_off: set[bytes] = field(default_factory=set)
    _cut_off_readings: Counter[tuple[str, bytes, str]] = field(default_factory=Counter)
    _pinned: Pinned = field(init=False)

    def __post_init__(self) -> None:
        folder = self.sealed.receipts
        self.taken_out = withheld_bodies(folder, inside=self.sealed.study)
        self.bodies = Blobs(folder / BLOBS, inside=self.sealed.study, withheld=self.taken_out)
        self.spending = Spending(self.bodies, self.taken_out)
        self._pinned = self.sealed.pins[0]

    def take(self, entry: Entry, block: bytes, acts: Acts, under_way: UnderWay) -> Called | None:
        """Check what one entry says of calls; what an episode's entry says is given back.

        `acts` are the calls that each act of the entry's episode names, `under_way` counts the tries that have begun
        and not ended. Raises `UntrustedError` for calls that belong to no episode.
        """
        event = entry.event
        if isinstance(event, Withheld):
            self.withheld += 1
            if event.digest not in self.named:
                what = f"evidence: the body {short(event.digest)} is withheld, which no call before has"
                raise UntrustedError(what, where=f"{self.sealed.receipts / JOURNAL} entry {entry.seq}")
        if isinstance(event, Opened) and entry.shard is None:
            self.spending.open()
        if not isinstance(event, (EpisodeKept, Failed, Read, Paused)):
            return None
        where = f"{self.sealed.receipts / CALLS} (entry {entry.seq})"
        calls = read_calls(block, where=where)
        if isinstance(event, Paused):
            self._take_cut_off(calls, entry, event, under_way, where)
            return None
        self._pinned = self.sealed.under(event.pin)
        self._count(calls, entry, where)
        tried = Tried(pin=event.pin, stage=event.stage, slot=event.slot, attempt=event.attempt)
        if isinstance(event, Read):
            self._hold_reading(event, tried, calls, where)
            return None
        if isinstance(event, Failed):
            self._hold(tried, calls, where)
            self._hold_failure(event, calls, where)
            return None
        return Called(calls, self._against(tried, calls, acts, where))

    def _take_cut_off(self, calls: Calls, entry: Entry, event: Paused, under_way: UnderWay, where: str) -> None:
        for tried, group in by_try(calls):
            self._pinned = self.sealed.under(tried.pin)
            self._count(group, entry, where)
            if group[0].purpose == "read" and tried.stage == event.stage:
                self._hold_cut_off_reading(tried, group, under_way, where)
                continue
            if tried.stage != event.stage or not under_way(tried, "act") or _key(tried) in self._cut_off:
                raise UntrustedError(f"evidence: calls of {_spell(tried)}, which is not under way", where=where)
            self._hold(tried, group, where)
            self._cut_off.add(_key(tried))

    def _count(self, calls: Calls, entry: Entry, where: str) -> None:
        for call in calls:
            self.named |= {call.request, call.response or call.request}
        for tried, group in by_try(calls):
            if tried.stage == "confirmatory" and group[0].purpose == "read":
                self.readings.add(group)
            elif tried.stage == "confirmatory":
                self.confirmatory.setdefault(str(tried.slot.get("arm")), CallTally()).add(group)
        self.spending.take(calls, self._pinned.plan.spec, where, of_shard=entry.shard is not None)

    def _against(self, tried: Tried, calls: Calls, acts: Acts, where: str) -> Rejected | None:
        """The ruling against an episode whose calls do not hold; the first fault, because others may follow from it."""
        try:
            self._hold(tried, calls, where)
        except (UntrustedError, MalformedError) as error:
            if isinstance(error, BodyError):
                self.lost.append(f"{error.where}: {error.what.removeprefix('evidence: ')}")
            found, due = error.what.removeprefix("evidence: "), "calls as the plan and the journal have them"
            return _evidence(error.where, found, due)
        strange = _not_a_reply(acts, calls)
        if strange is None:
            return None
        n, digest = strange
        return _evidence(f"acts[{n}].calls", digest[:80], "the reply of a call of this attempt, in the calls' order")

    def _hold(self, tried: Tried, calls: Calls, where: str) -> None:
        if _key(tried) in self._cut_off and calls:
            raise UntrustedError(f"evidence: calls of {_spell(tried)}, which a pause had cut off", where=where)
        arm = self._pinned.plan.spec.factors.arm.get(str(tried.slot.get("arm")))
        self._hold_each(tried, calls, "act", roles_of(arm) if arm is not None else (), where)

    def _hold_failure(self, event: Failed, calls: Calls, where: str) -> None:
        """An attempt that failed for want of a reply has none to its last call: a reply that came is never redrawn."""
        spec = self._pinned.plan.spec
        arm = spec.factors.arm.get(str(event.slot.get("arm")))
        # What an external program asks, it asks by itself: sealkit has none of its calls.
        asked = arm is not None and roles_of(arm) and spec.models and not isinstance(spec.world, ExternalWorld)
        if asked and event.ending == "provider_error" and (not calls or answered(calls[-1:])):
            last = f"its last call is {calls[-1].status}" if calls else "it made no call"
            what = f"evidence: {spell_slot(event.slot)} failed by provider_error, and {last}"
            raise UntrustedError(what, where=where, remedy="no run writes this")

    def _hold_reading(self, event: Read, tried: Tried, calls: Calls, where: str) -> None:
        """One question to the model of the level; whether it was the judge's, only its code can tell."""
        arm = str(event.slot.get("arm"))
        taken = readings_asked(self._pinned.plan.spec, arm)
        roles = tuple(one.role for one in taken if one.role and one.key == (event.reading, event.level))
        self._hold_each(tried, calls, "read", roles, where)
        unlike = event.ending != "harness_error" and bool(answered(calls)) != (event.ending in HEARD)
        if unlike or len({call.n for call in calls}) > 1:
            what = f"a reading that ended by {event.ending} has {len(calls)} requests, {len(answered(calls))} answered"
            raise UntrustedError(f"evidence: {what}", where=where, remedy="no run writes this")

    def _hold_cut_off_reading(self, tried: Tried, calls: Calls, under_way: UnderWay, where: str) -> None:
        there = under_way(tried, "read")
        self._hold_each(tried, calls, "read", tuple(there), where)
        cut_off = tried.pin, _key(tried), calls[0].role
        self._cut_off_readings[cut_off] += 1
        if self._cut_off_readings[cut_off] > there[calls[0].role]:
            raise UntrustedError(f"evidence: calls of {_spell(tried)}, a reading that is not under way", where=where)

    def _hold_each(self, tried: Tried, calls: Calls, purpose: Purpose, roles: tuple[str, ...], where: str) -> None:
        check_order(calls, where=where)
        spec = self._pinned.plan.spec
        for call in calls:
            at = f"{where}: call {call.n} of {_spell(tried)}"
            if tried_by(call) != tried or call.purpose != purpose:
                raise UntrustedError(f"evidence: found a call of {_spell(tried_by(call))}, {call.purpose}", where=at)
            if call.role not in roles:
                due = f"one of {', '.join(roles)}" if roles else "none"
                raise UntrustedError(f"evidence: it asks the role {call.role!a}, due {due}", where=at)
            model = model_of(spec, call.role, call.slot)
            check_line(call, model, at)
            check_bodies(call, model, self.bodies, at)


def _not_a_reply(acts: Acts, calls: Calls) -> tuple[int, str] | None:
    """The first act that names a reply that was not given, or not in this order; its number, and what it names."""
    replies = iter([call.response for call in answered(calls)])
    for n, named in enumerate(acts):
        for digest in named:
            if digest not in replies:  # goes on behind the last one that was found
                return n, digest
    return None


def _evidence(where: str, found: str, due: str) -> Rejected:
    return Rejected(reasons=(Reason(origin="evidence", where=where, found=found, due=due),))


def _key(tried: Tried) -> bytes:
    return f"{tried.stage} {spell_slot(tried.slot)} {tried.attempt}".encode()


def _spell(tried: Tried) -> str:
    return f"try {tried.attempt} at {spell_slot(tried.slot)}"
