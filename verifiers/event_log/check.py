"""Event log: ids and messages of an ordinary log, and the ending. See SPEC.md."""

from __future__ import annotations

from sealkit.wire.canon import decode_record, digest_json, encode_record
from sealkit.wire.digest import digest_bytes, is_digest
from sealkit.wire.episode import Action, Episode, Notice, Receipt, Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Record
from sealkit.wire.verdict import ORIGINS, Accepted, Origin, Reason, Rejected, Verdict


class Message(Record, frozen=True):
    """One message that was delivered, and the event that it names."""

    event: str
    channel: str
    sender: str
    rung: str
    text: str


class Seen(Record, frozen=True, tag_field="type", tag="sealkit/view-event-log/v1"):
    """All that this policy sees. The log has events and messages in their order, without act numbers."""

    identity: str
    events: tuple[str, ...]
    messages: tuple[Message, ...]
    root: str
    submission: Action
    ended: str


def view(episode: bytes) -> bytes:
    """What this policy sees of an episode; `MalformedError` if that is none."""
    record = decode_record(episode, Episode, where="episode")
    if not record.acts:
        raise MalformedError("an episode without acts", where="episode")
    notices = [segment for act in record.acts for segment in act.segments if isinstance(segment, Notice)]
    seen = Seen(
        identity=digest_json({"pin": record.pin, "scenario": record.scenario, "slot": dict(record.slot)}),
        events=tuple(
            f"contract:{item.contract.id}" if isinstance(item, Receipt) else f"restore:{item.id}"
            for item in record.receipts
        ),
        messages=tuple(
            Message(event=f"contract:{item.contract}", channel=item.channel, sender=item.sender, rung=item.rung,
                    text=item.text)
            for item in notices
        ),
        root=record.closing.root,
        submission=record.acts[-1].action,
        ended=record.closing.ended,
    )  # fmt: skip
    return encode_record(seen)


def rule(trusted: Trusted, seen: bytes) -> Verdict:
    """The verdict on what is seen, and on nothing else."""
    what = decode_record(seen, Seen, where="view")
    scenario = digest_bytes(trusted.scenario)
    identity = digest_json({"pin": trusted.pin, "scenario": scenario, "slot": dict(trusted.slot)})
    if what.identity != identity:
        return _rejected([("evidence", "identity", what.identity, identity)])
    faults: list[tuple[Origin, str, str, str]] = []
    if not is_digest(what.root):
        faults.append(("environment", "root", what.root, "the digest of the last state"))
    for i, event in enumerate(what.events):
        if event in what.events[:i]:
            between = what.events[what.events.index(event) : i]
            restored = any(other.startswith("restore:") for other in between)
            faults.append(("lineage" if restored else "environment", f"events[{i}]", f"{event} again", "each id once"))
    told: set[str] = set()
    for i, message in enumerate(what.messages):
        if message.event not in what.events:
            faults.append(("disclosure", f"messages[{i}]", message.event, "an event of this log"))
        if message.event in told:
            faults.append(("disclosure", f"messages[{i}]", f"{message.event} told again", "one message of an event"))
        told.add(message.event)
    return _rejected(faults) if faults else Accepted()


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
