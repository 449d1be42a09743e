"""Terminal: how it ended, what was submitted, and the root of the last state. See SPEC.md."""

from __future__ import annotations

from sealkit.wire.canon import decode_record, digest_json, encode_record
from sealkit.wire.digest import digest_bytes, is_digest
from sealkit.wire.episode import Action, Episode, Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Record
from sealkit.wire.verdict import Accepted, Origin, Reason, Rejected, Verdict


class Seen(Record, frozen=True, tag_field="type", tag="sealkit/view-terminal/v1"):
    """All that this policy sees. `identity` is the digest of pin, slot and scenario, so that no slot can be read."""

    identity: str
    root: str
    submission: Action
    ended: str


def view(episode: bytes) -> bytes:
    """What this policy sees of an episode; `MalformedError` if that is none."""
    record = decode_record(episode, Episode, where="episode")
    if not record.acts:
        raise MalformedError("an episode without acts", where="episode")
    identity = digest_json({"pin": record.pin, "scenario": record.scenario, "slot": dict(record.slot)})
    closing = record.closing
    seen = Seen(identity=identity, root=closing.root, submission=record.acts[-1].action, ended=closing.ended)
    return encode_record(seen)


def rule(trusted: Trusted, seen: bytes) -> Verdict:
    """The verdict on what is seen, and on nothing else."""
    what = decode_record(seen, Seen, where="view")
    scenario = digest_bytes(trusted.scenario)
    identity = digest_json({"pin": trusted.pin, "scenario": scenario, "slot": dict(trusted.slot)})
    if what.identity != identity:
        return _rejected("evidence", "identity", what.identity, identity)
    if not is_digest(what.root):
        return _rejected("environment", "root", what.root, "the digest of the last state")
    return Accepted()


def check(trusted: Trusted, episode: bytes) -> Verdict:
    """`rule` over `view`; bytes that are no episode are rejected."""
    try:
        seen = view(episode)
    except MalformedError as error:
        return _rejected("evidence", "episode", str(error), "one canonical line of sealkit/episode/v1")
    return rule(trusted, seen)


def _rejected(origin: Origin, where: str, found: str, due: str) -> Rejected:
    return Rejected(reasons=(Reason(origin=origin, where=where, found=found[:160], due=due),))
