"""Recorded: is this a whole record of this slot, and may the plan's command have said it? See SPEC.md."""

from __future__ import annotations

from sealkit.wire.canon import decode_record, decode_value
from sealkit.wire.chain import is_time
from sealkit.wire.digest import digest_bytes, is_digest
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.recorded import (
    WITHOUT_EPISODE,
    Assignment,
    FromCommand,
    FromLog,
    Recorded,
    answer_faults,
    recorded_digest,
)
from sealkit.wire.verdict import Abstained, Accepted, Origin, Reason, Rejected, Verdict

MOST_REASONS = 8


def check(trusted: Trusted, episode: bytes) -> Verdict:
    """Accepted, or Rejected with the first faulty origin first; Abstained where the world is no external one.

    Raises only if the trusted assignment is malformed.
    """
    given = decode_value(trusted.scenario, where="assignment")
    if isinstance(given, dict) and given.get("type") == "sealkit/scenario/v1":
        return Abstained(missing="a record: this is an episode of a world that sealkit runs")
    asked = decode_record(trusted.scenario, Assignment, where="assignment")
    try:
        record = decode_record(episode, Recorded, where="episode")
    except MalformedError as error:
        return _rejected("evidence", [("episode", str(error), "one canonical line of sealkit/recorded/v1")])
    identity = [
        (where, found, due)
        for where, found, due in (
            ("pin", record.pin, trusted.pin),
            ("slot", str(record.slot), str(trusted.slot)),
            ("assignment", record.assignment, digest_bytes(trusted.scenario)),
            ("closing.record", record.closing.record, recorded_digest(episode, record.closing.record)),
        )
        if found != due
    ]
    identity += _source_faults(record.source)
    if identity:
        return _rejected("evidence", identity)
    answered = list(answer_faults(asked, record))
    if record.closing.ended in WITHOUT_EPISODE:
        answered.append(("closing.ended", record.closing.ended, "no episode: such an attempt leaves none"))
    return _rejected("environment", answered) if answered else Accepted()


def _source_faults(source: FromCommand | FromLog) -> list[tuple[str, str, str]]:
    if isinstance(source, FromCommand):
        return [] if is_digest(source.answer) else [("source.answer", source.answer, "a digest")]
    faults = [] if is_digest(source.log) else [("source.log", source.log, "a digest")]
    return faults if is_time(source.created) else [*faults, ("source.created", source.created, "YYYY-MM-DDThh:mm:ssZ")]


def _rejected(origin: Origin, faults: list[tuple[str, str, str]]) -> Rejected:
    return Rejected(
        reasons=tuple(
            Reason(origin=origin, where=where, found=_cut(found), due=_cut(due))
            for where, found, due in faults[:MOST_REASONS]
        )
    )


def _cut(text: str) -> str:
    return text if len(text) <= 160 else text[:159] + "…"
