"""What was read of each episode, and whether the sealed judge reads the recorded replies so.

Plain verification holds what an entry says of its calls. Where the study's code runs, its judge asks again: the request
that was recorded must be the question, and the reply must say what the entry says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.errors import WithheldError
from sealkit.plan.readings import LOST, ReadingKey, Taken, readings_asked, readings_taken
from sealkit.plan.schema import Spec
from sealkit.run.reads import HEARD
from sealkit.seal.history import History, spell_slot
from sealkit.seal.journal import CALLS
from sealkit.verify.sandbox import BrokenOffError, Sandbox
from sealkit.wire.attempts import Calls, answered, read_calls
from sealkit.wire.canon import encode_value
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import HarnessError, MalformedError, UntrustedError
from sealkit.wire.events import Heard, Read, Withheld
from sealkit.wire.records import Json


@dataclass(frozen=True, slots=True)
class Reply:
    """How the last try at a reading ended, and what was said, as canonical JSON; `null` if nothing was.

    `withheld`: the body of its reply was taken out, so nobody can read again what the entry says of it.
    """

    said: bytes
    ending: Heard | Literal["withheld"]


_WITHHELD: Final = Reply(b"null", "withheld")
Replies: TypeAlias = Mapping[ReadingKey, Reply]  # of one episode
NONE: Replies = {}


def replies_of(history: History, *, until: int) -> dict[str, dict[ReadingKey, Reply]]:
    """The replies of every episode, by its digest, that the first `until` entries tell of."""
    found: dict[str, dict[ReadingKey, Reply]] = {}
    bodies: dict[str, list[tuple[str, ReadingKey]]] = {}  # which readings rest on the body of a reply
    withheld: set[str] = set()
    for entry in history.entries():
        event = entry.event
        if entry.seq >= until:
            break
        if isinstance(event, Read):
            reply = Reply(encode_value(event.said), event.ending)
            key = event.reading, event.level
            found.setdefault(event.episode, {})[key] = reply
            for call in answered(read_calls(history.calls, where=CALLS)):
                bodies.setdefault(call.response or "", []).append((event.episode, key))
        elif isinstance(event, Withheld):
            withheld.add(event.digest)
    for digest in withheld:
        for episode, key in bodies.get(digest, ()):
            found[episode][key] = _WITHHELD
    return found


def taken_of(spec: Spec, event: Read) -> Taken | None:
    """The reading that an entry tells of; None if the plan asks no model for it."""
    asked = readings_asked(spec, str(event.slot.get("arm")))
    return next((one for one in asked if one.key == (event.reading, event.level)), None)


@dataclass(slots=True)
class ReadingReruns:
    """How many readings were asked and read again, and how many could not be, because a body is withheld."""

    same: int = 0
    withheld: int = 0

    def check(
        self, sandbox: Sandbox, plan: bytes, event: Read, taken: Taken, trusted: Trusted, line: bytes, calls: Calls,
        bodies: Blobs,
    ) -> None:  # fmt: skip
        """Raise `UntrustedError` unless the sealed judge asks this and reads this in the reply."""
        where = f"{taken.reading} {taken.level} of {spell_slot(event.slot)}"
        try:
            replies = [bodies.get(call.response or "") for call in answered(calls)]
        except WithheldError:
            self.withheld += 1
            return
        reads = event.ending in HEARD
        try:
            found = sandbox.read_again(trusted, line, plan, taken, [call.request for call in calls], replies)
        except BrokenOffError:
            raise
        except HarnessError as error:
            if event.ending == "harness_error":
                return  # the judge's reader broke then, and breaks again
            raise UntrustedError(f"evidence: the sealed judge cannot read it: {error}", where=where) from error
        if isinstance(found, str):
            raise UntrustedError(f"evidence: {found}", where=where, remedy="judge, plan or request were changed")
        if replies and not reads:
            what = f"evidence: recorded as {event.ending}, and the sealed judge reads its reply"
            raise UntrustedError(what, where=where, remedy="a reply that came is never drawn again")
        if reads and encode_value(found["said"]) != encode_value(event.said):
            made = encode_value(found["said"]).decode()[:200]
            what = f"the entry says {encode_value(event.said).decode()[:200]}, and the sealed judge reads {made}"
            raise UntrustedError(f"evidence: {what}", where=where)
        self.same += 1


def read_measures_of(
    sandbox: Sandbox, spec: Spec, trusted: Trusted, line: bytes, replies: Replies
) -> dict[str, dict[str, Json]]:
    """The measures that depend on readings, by level: scored by the sealed judge from what was said, or by its rules.

    A reading that failed, that a closed run never took, or whose reply is withheld, is `missing` at its level.
    """
    arm = str(trusted.slot["arm"])
    asked: list[tuple[Taken, Json]] = []
    found: dict[ReadingKey, Mapping[str, Json] | None] = {}
    for taken in readings_taken(spec, arm):
        reply = replies.get(taken.key)
        if taken.role is None:
            asked.append((taken, {"reader": taken.reader}))
        elif reply is not None and reply.ending == "said":
            asked.append((taken, {"reader": taken.reader, "said": reply.said.decode()}))
        else:
            found[taken.key] = None
    scores = sandbox.score(trusted.scenario, line, [request for _, request in asked]) if asked else ()
    found |= {taken.key: score for (taken, _), score in zip(asked, scores, strict=True)}
    return _by_level(spec, found)


def _by_level(spec: Spec, found: Mapping[ReadingKey, Mapping[str, Json] | None]) -> dict[str, dict[str, Json]]:
    measures: dict[str, dict[str, Json]] = {}
    for metric_name, metric in spec.metrics.items():
        reading = getattr(metric, "read_by", None)
        if reading is None:
            continue
        name = getattr(metric, "measure", None) or metric_name
        levels = measures.setdefault(name, {})
        for (of, level), score in found.items():
            if of != reading:
                continue
            if score is not None and (name not in score or score[name] == LOST):
                given = ", ".join(sorted(score)) or "nothing"
                raise MalformedError(f"the reader gives no {name} at {level}, only {given}", where=reading)
            levels[level] = LOST if score is None else score[name]
    return measures
