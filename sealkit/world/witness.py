"""Runs a world and writes down what happened: deltas, contracts, roots, returns, receipts, one episode line.

    recorder = Recorder(session, trusted)
    opening = recorder.begin()                      # act 0: contracts due before the agent's first act
    act = recorder.act(move)                        # one act: effect, contracts, restores, return
    line = recorder.close("final", why="")          # the canonical episode, every receipt digest computed

One act, in this order: the action's own delta and the trace head; contracts due on the state after it, in
manifest order; snapshots and restores; the root; the return, read off the state now, with the notices that
are due in it. Nothing here judges whether the world did right: that is for verifiers, who get bytes alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from sealkit.wire.canon import decode_record, digest_record
from sealkit.wire.contract import Sighting, Values, discloses, effect, falls_on, fill, is_due, see, spell
from sealkit.wire.declared import ActsLater, Contract, Restore, Scenario, ThisReturn, WhenShown
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import (
    Act,
    Action,
    AnyReceipt,
    Boundary,
    Closing,
    Counts,
    Delta,
    Episode,
    Fact,
    Generation,
    InboxOpened,
    Move,
    Notice,
    Roots,
    Segment,
    Text,
    Trusted,
)
from sealkit.wire.errors import HarnessError, MalformedError, OutOfOrderError
from sealkit.wire.patch import diff, resolve
from sealkit.wire.records import Patch, Scalar
from sealkit.wire.trace import (
    BEGIN,
    NOOP,
    bare,
    close_record,
    component_digest,
    component_digests,
    head_digest,
    judged_digest,
    root_digest,
    start_digest,
)
from sealkit.world.occurred import Occurrence, Restored, receipt_of
from sealkit.world.sdk import Reading, Session, State, Told

_BEGIN = bare(BEGIN)


@lru_cache(maxsize=64)
def open_scenario(line: bytes) -> Scenario:
    """The scenario that a manifest line spells; the same line gives the same object."""
    return decode_record(line, Scenario, where="scenario")


class Recorder:
    """One episode being run. `trusted` says under which pin, slot, judge and scenario."""

    def __init__(self, session: Session, trusted: Trusted) -> None:
        self.session = session
        self.trusted = trusted
        self.scenario = open_scenario(trusted.scenario)
        self.state: State = session.material()
        self.digests = component_digests(self.state)
        self.genesis = self.root = root_digest(self.digests)
        self.start = start_digest(trusted, self.genesis)
        self.acts: list[Act] = []
        self.happened: list[Occurrence | Restored] = []
        self.applied: dict[str, int] = {}
        self.kept: dict[str, bytes] = {}
        self.generation = Generation(generation=0, snapshot=None)
        self.readings: Counter[tuple[str, type, Scalar]] = Counter()
        self.closed = False

    # --- one act -------------------------------------------------------------------------------

    def begin(self) -> Act:
        """Act 0: what is due before the agent's first act."""
        if self.acts:
            raise OutOfOrderError("the episode has begun", remedy="call act")
        return self._record(_BEGIN, (), (), self.start)

    def act(self, move: Move) -> Act:
        """Carry out one action of the agent. A `noop` never reaches the world, but time goes on."""
        self._check_open("no act before begin")
        prev = digest_record(self.acts[-1])
        if move.action.name == NOOP:
            return self._record(move, (), (Text(text=str(move.action.args.get("say", ""))),), prev)
        told = self.session.act(move.action)
        return self._record(move, self._moved_by_act(), told, prev)

    def _record(self, move: Move, delta: Patch, told: Sequence[Told], prev: str) -> Act:
        k, action = len(self.acts), move.action
        head = head_digest(k, action, delta, prev)
        deltas = [*self._occur(k, action, head), *self._restore(k, head)]
        segments = self._return(k, told)
        act = Act(
            n=k, action=action, delta=delta, head=head, deltas=tuple(deltas), root=self.root,
            segments=segments, calls=move.calls, memory=move.memory, prev=prev,
        )  # fmt: skip
        self.acts.append(act)
        return act

    def _moved_by_act(self) -> Patch:
        before = self.state
        self._take_state()
        return diff(before, self.state)

    def _take_state(self) -> tuple[str, ...]:
        """Read the material state again; the names of the components that moved."""
        before, self.state = self.state, self.session.material()
        if before.keys() != self.state.keys():
            raise HarnessError("the world added or dropped a component", remedy="declare all components in genesis")
        moved = []
        for name in sorted(before):
            if before[name] is self.state[name]:
                continue
            digest = component_digest(name, self.state[name])  # compared by digest: Python takes true for 1
            if digest != self.digests[name]:
                self.digests[name] = digest
                moved.append(name)
        if moved:
            self.root = root_digest(self.digests)
        return tuple(moved)

    # --- contracts and restores ----------------------------------------------------------------

    def _occur(self, k: int, action: Action, head: str) -> list[Delta]:
        at = Sighting(state=self.state, action=action, shown=self.readings)
        waiting = [contract for contract in self.scenario.contracts if contract.id not in self.applied]
        seen = [(contract, see(contract, at)) for contract in waiting]
        due = [(contract, values) for contract, values in seen if is_due(contract, k, values, self.applied)]
        return [self._apply(contract, values, k, head) for contract, values in due]

    def _apply(self, contract: Contract, values: Values, k: int, head: str) -> Delta:
        root, before = self.root, self.state
        self.session.occur(contract, effect(contract, values))
        moved = self._take_state()
        self.applied[contract.id] = k
        self.happened.append(
            Occurrence(
                contract=contract,
                boundary=Boundary(due=k, applied=k, head=head),
                roots=Roots(before=root, after=self.root, moved=moved),
                restore=self.generation,
                values=values,
            )
        )
        return Delta(cause=f"contract:{contract.id}", ops=diff(before, self.state))

    def _restore(self, k: int, head: str) -> list[Delta]:
        for snapshot in self.scenario.snapshots:
            if falls_on(when_of=snapshot, k=k, applied=self.applied):
                self.kept[snapshot.id] = self.session.snapshot()
        due = [restore for restore in self.scenario.restores if falls_on(when_of=restore, k=k, applied=self.applied)]
        return [self._come_back(restore, k, head) for restore in due]

    def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
        if restore.snapshot not in self.kept:
            raise HarnessError(f"restore {restore.id!r} is due before snapshot {restore.snapshot!r} was taken")
        root, before = self.root, self.state
        self.session.restore(self.kept[restore.snapshot])
        moved = self._take_state()
        self.generation = Generation(generation=self.generation.generation + 1, snapshot=restore.snapshot)
        roots = Roots(before=root, after=self.root, moved=moved)
        boundary = Boundary(due=k, applied=k, head=head)
        self.happened.append(Restored(id=restore.id, boundary=boundary, roots=roots, restore=self.generation))
        return Delta(cause=f"restore:{restore.id}", ops=diff(before, self.state))

    # --- the return ----------------------------------------------------------------------------

    def _return(self, k: int, told: Sequence[Told]) -> tuple[Segment, ...]:
        segments: list[Segment] = []
        disclosed: list[Occurrence] = []
        for item in told:
            if isinstance(item, Reading):
                segments.append(self._read(k, item, disclosed))
                continue
            segments.append(item)
            if isinstance(item, InboxOpened):
                segments.extend(self._tell(k, occurrence) for occurrence in self._waiting() if occurrence.waits)
        for occurrence in self._waiting():
            if occurrence in disclosed or self._falls_due(k, occurrence):
                segments.append(self._tell(k, occurrence))
        for segment in segments:
            if isinstance(segment, Fact):
                self.readings[segment.pointer, type(segment.value), segment.value] += 1
        return tuple(segments)

    def _waiting(self) -> list[Occurrence]:
        return [item for item in self.happened if isinstance(item, Occurrence) and item.shown is None]

    def _falls_due(self, k: int, occurrence: Occurrence) -> bool:
        due = occurrence.contract.tell.due
        applied = occurrence.boundary.applied
        return (isinstance(due, ThisReturn) and applied == k) or (
            isinstance(due, ActsLater) and applied + due.acts == k
        )

    def _read(self, k: int, item: Reading, disclosed: list[Occurrence]) -> Fact:
        value = self._value(item.pointer)
        for occurrence in self._waiting():
            distort = occurrence.contract.tell.distort
            if distort is not None and distort.pointer == item.pointer and occurrence not in disclosed:
                value = distort.reading
                break
        words = item.template.replace("{value}", spell(value), 1)
        fact = Fact(pointer=item.pointer, value=value, text=words)
        for occurrence in self._waiting():
            tell = occurrence.contract.tell
            if (
                isinstance(tell.due, WhenShown)
                and occurrence not in disclosed
                and discloses(tell.due, fact.pointer, value)
            ):
                if tell.template is None:
                    occurrence.show(k, words)
                else:
                    disclosed.append(occurrence)
        return fact

    def _value(self, pointer: str) -> Scalar:
        try:
            value = resolve(self.state, pointer)
        except MalformedError as error:
            raise HarnessError(f"the world reads {pointer}, which is not in its state") from error
        if isinstance(value, (dict, list)):
            raise HarnessError(f"the world reads {pointer}, which is no single value", remedy="point at one value")
        return value

    def _tell(self, k: int, occurrence: Occurrence) -> Notice:
        contract = occurrence.contract
        words = fill(contract.tell.template or "", occurrence.values)
        occurrence.show(k, words)
        return Notice(
            contract=contract.id, channel=contract.tell.channel, sender=contract.tell.sender,
            rung=contract.authority.rung, text=words,
        )  # fmt: skip

    # --- closing -------------------------------------------------------------------------------

    def close(self, ended: str, *, why: str) -> bytes:
        """The episode's canonical line; `ended` is `final`, `budget` or a word of the plan's endings."""
        self._check_open("no closing before begin")
        self.closed = True
        scenario = digest_bytes(self.trusted.scenario)
        receipts = self._receipts()
        closing = Closing(
            root=self.root,
            judge=self.trusted.judge,
            judged=judged_digest(scenario, self.acts[-1], self.root),
            ended=ended,
            why=why,
            counts=self._counts(),
            record="",
        )
        return close_record(
            Episode(
                pin=self.trusted.pin,
                slot=self.trusted.slot,
                scenario=scenario,
                genesis=self.genesis,
                acts=tuple(self.acts),
                receipts=receipts,
                closing=closing,
            )
        )

    def _check_open(self, what: str) -> None:
        if not self.acts:
            raise OutOfOrderError(what, remedy="call begin first")
        if self.closed:
            raise OutOfOrderError("the episode is closed")

    def _counts(self) -> Counts:
        occurrences = sum(isinstance(item, Occurrence) for item in self.happened)
        notices = sum(isinstance(segment, Notice) for act in self.acts for segment in act.segments)
        restores = len(self.happened) - occurrences
        return Counts(acts=len(self.acts) - 1, occurrences=occurrences, restores=restores, notices=notices)

    def _receipts(self) -> tuple[AnyReceipt, ...]:
        receipts: list[AnyReceipt] = []
        previous: str | None = None
        for item in self.happened:
            receipts.append(self._receipt(item, previous))
            previous = digest_record(receipts[-1])
        return tuple(receipts)

    def _receipt(self, item: Occurrence | Restored, previous: str | None) -> AnyReceipt:
        return receipt_of(self.start, item, previous)


def rerun(session: Session, trusted: Trusted, moves: Sequence[Move], *, ended: str, why: str) -> bytes:
    """The line that the world leaves when it is given these moves (those after act 0)."""
    recorder = Recorder(session, trusted)
    recorder.begin()
    for move in moves:
        recorder.act(move)
    return recorder.close(ended, why=why)
