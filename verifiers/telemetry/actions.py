"""Canonical actions: which action each act was, by its identity, and whether the trace is linked. No state at all."""

from __future__ import annotations

from sealkit.wire.canon import decode_record, digest_json, digest_record, encode_record
from sealkit.wire.episode import Episode, Receipt, Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Count, Record
from sealkit.wire.trace import head_digest
from sealkit.wire.verdict import Origin, Verdict

from .faults import Fault, identity_of, verdict_of


class ActionSeen(Record, frozen=True):
    """One act: the digest of its number, name and arguments; whether its head and its link hold."""

    n: Count
    key: str
    linked: bool


class EventSeen(Record, frozen=True):
    """One event, and the act after which it was applied."""

    event: str
    act: Count


class Seen(Record, frozen=True, tag_field="type", tag="sealkit/view-canonical-action/v1"):
    """All that this policy sees."""

    identity: str
    actions: tuple[ActionSeen, ...]
    events: tuple[EventSeen, ...]
    ended: str


def view(episode: bytes) -> bytes:
    """What this policy sees of an episode; `MalformedError` if that is none."""
    record = decode_record(episode, Episode, where="episode")
    if not record.acts:
        raise MalformedError("an episode without acts", where="episode")
    actions, before = [], record.acts[0].prev
    for act in record.acts:
        linked = act.prev == before and act.head == head_digest(act.n, act.action, act.delta, act.prev)
        key = digest_json({"act": act.n, "args": act.action.args, "name": act.action.name})
        actions.append(ActionSeen(n=act.n, key=key, linked=linked))
        before = digest_record(act)
    events = tuple(
        EventSeen(
            event=f"contract:{item.contract.id}" if isinstance(item, Receipt) else f"restore:{item.id}",
            act=item.boundary.applied,
        )
        for item in record.receipts
    )
    identity = digest_json({"pin": record.pin, "scenario": record.scenario, "slot": dict(record.slot)})
    return encode_record(Seen(identity=identity, actions=tuple(actions), events=events, ended=record.closing.ended))


def rule(trusted: Trusted, seen: bytes) -> Verdict:
    """The verdict on what is seen, and on nothing else."""
    what = decode_record(seen, Seen, where="view")
    identity = identity_of(trusted)
    if what.identity != identity:
        return verdict_of([("evidence", "identity", what.identity, identity)])
    faults: list[Fault] = []
    for i, item in enumerate(what.actions):
        if item.n != i or not item.linked:
            faults.append(("evidence", f"actions[{i}]", f"act {item.n}, linked: {item.linked}", f"act {i}, linked"))
    if len({item.key for item in what.actions}) != len(what.actions):
        faults.append(("lineage", "actions", "one identity twice", "each act once"))
    known: list[str] = []
    for i, event in enumerate(what.events):
        if event.act >= len(what.actions):
            faults.append(("boundary", f"events[{i}]", str(event.act), f"act {len(what.actions) - 1} or sooner"))
        if event.event in known:
            between = known[known.index(event.event) :]
            origin: Origin = "lineage" if any(name.startswith("restore:") for name in between) else "environment"
            faults.append((origin, f"events[{i}]", f"{event.event} again", "each event once"))
        known.append(event.event)
    return verdict_of(faults)
