"""Milestones: checkpoints of actions and events, each with its act, and the ending. See SPEC.md."""

from __future__ import annotations

from sealkit.wire.canon import decode_record, digest_json, encode_record
from sealkit.wire.digest import digest_bytes, is_digest
from sealkit.wire.episode import Action, Episode, Receipt, Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Count, Record
from sealkit.wire.trace import BEGIN
from sealkit.wire.verdict import ORIGINS, Accepted, Origin, Reason, Rejected, Verdict


class ActionMilestone(Record, frozen=True):
    """The agent's action at act `n` was carried out."""

    n: Count
    action: Action


class EventMilestone(Record, frozen=True):
    """`event` was reached after act `n`."""

    n: Count
    event: str


class Seen(Record, frozen=True, tag_field="type", tag="sealkit/view-milestones/v1"):
    """All that this policy sees: what was reached when, and the ending."""

    identity: str
    actions: tuple[ActionMilestone, ...]
    events: tuple[EventMilestone, ...]
    root: str
    submission: Action
    ended: str


def view(episode: bytes) -> bytes:
    """What this policy sees of an episode; `MalformedError` if that is none."""
    record = decode_record(episode, Episode, where="episode")
    if not record.acts:
        raise MalformedError("an episode without acts", where="episode")
    seen = Seen(
        identity=digest_json({"pin": record.pin, "scenario": record.scenario, "slot": dict(record.slot)}),
        actions=tuple(ActionMilestone(n=act.n, action=act.action) for act in record.acts),
        events=tuple(
            EventMilestone(
                n=item.boundary.applied,
                event=f"contract:{item.contract.id}" if isinstance(item, Receipt) else f"restore:{item.id}",
            )
            for item in record.receipts
        ),
        root=record.closing.root,
        submission=record.acts[-1].action,
        ended=record.closing.ended,
    )
    return encode_record(seen)


def rule(trusted: Trusted, seen: bytes) -> Verdict:
    """The verdict on what is seen, and on nothing else."""
    what = decode_record(seen, Seen, where="view")
    scenario = digest_bytes(trusted.scenario)
    identity = digest_json({"pin": trusted.pin, "scenario": scenario, "slot": dict(trusted.slot)})
    if what.identity != identity:
        return _rejected([("evidence", "identity", what.identity, identity)])
    faults = _of_actions(what) + _of_events(what)
    if not is_digest(what.root):
        faults.append(("environment", "root", what.root, "the digest of the last state"))
    return _rejected(faults) if faults else Accepted()


def _of_actions(what: Seen) -> list[tuple[Origin, str, str, str]]:
    faults: list[tuple[Origin, str, str, str]] = []
    for i, milestone in enumerate(what.actions):
        if milestone.n != i:
            faults.append(("evidence", f"actions[{i}]", f"act {milestone.n}", f"act {i}"))
    if what.actions[0].action != BEGIN or any(item.action == BEGIN for item in what.actions[1:]):
        faults.append(("evidence", "actions", "no beginning, or more than one", "begin, once, before the first action"))
    return faults


def _of_events(what: Seen) -> list[tuple[Origin, str, str, str]]:
    faults: list[tuple[Origin, str, str, str]] = []
    last = len(what.actions) - 1
    for i, milestone in enumerate(what.events):
        before = what.events[:i]
        if milestone.n > last:
            faults.append(("boundary", f"events[{i}]", f"after act {milestone.n}", f"after act {last} or sooner"))
        if before and milestone.n < before[-1].n:
            faults.append(("lineage", f"events[{i}]", f"after act {milestone.n}", f"not before act {before[-1].n}"))
        same = [j for j, other in enumerate(before) if other.event == milestone.event]
        if same:
            restored = any(other.event.startswith("restore:") for other in before[same[0] :])
            origin: Origin = "lineage" if restored else "environment"
            faults.append((origin, f"events[{i}]", f"{milestone.event} again", "each id once"))
    return faults


def check(trusted: Trusted, episode: bytes) -> Verdict:
    """`rule` over `view`; bytes that are no episode are rejected."""
    try:
        seen = view(episode)
    except MalformedError as error:
        return _rejected([("evidence", "episode", str(error), "one canonical line of sealkit/episode/v1")])
    return rule(trusted, seen)


def _rejected(faults: list[tuple[Origin, str, str, str]]) -> Rejected:
    reasons = [Reason(origin=origin, where=at, found=found[:160], due=due) for origin, at, found, due in faults[:8]]
    return Rejected(reasons=tuple(sorted(reasons, key=lambda reason: ORIGINS.index(reason.origin))))
