"""The judge's readers that a plan names, and the questions and measures that come of them.

A reader is the study's own code: whatever it raises is `HarnessError`, never the agent's failure. It is shown briefing
and acts alone; only `score` is handed what was true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from sealkit.plan.load import Plan
from sealkit.wire.canon import MAX_LINE, encode_value
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Episode
from sealkit.wire.errors import HarnessError, MalformedError, SealkitError, UsageError
from sealkit.wire.records import Json
from sealkit.world.loader import load_readers
from sealkit.world.sdk import Message, Reader, transcript

T = TypeVar("T")
MOST_SAID: Final = MAX_LINE // 2  # bytes of a line, of which an entry needs some for itself


def open_readers(root: Path, plan: Plan) -> Mapping[str, Reader]:
    """The readers that the plan's readings are `of`; `UsageError` if the judge has no such one."""
    spec = plan.spec
    if not spec.readings or spec.judge is None:
        return {}
    readers = load_readers(root, spec.judge)
    for name, reading in spec.readings.items():
        if reading.of not in readers:
            has = ", ".join(sorted(readers)) or "none"
            what = f"the judge has no reader {reading.of}; it has {has}"
            raise UsageError(what, where=plan.where("readings", name, "of"), remedy="name one of its READINGS")
    return readers


def messages_of(reader: Reader, scenario: Scenario, episode: Episode, level: str) -> tuple[Message, ...]:
    """What a model is asked at this level."""
    return _guarded(lambda: tuple(reader.ask(transcript(scenario, episode), level)))


def said_by(reader: Reader, text: str) -> Json:
    """What the text of a reply says; null if nothing can be read in it, or nothing that the journal could hold.

    The reply came, and counts: another one is not to be drawn for what the reader made of this one.
    """
    said = _guarded(lambda: reader.read(text))
    try:
        line = _guarded(lambda: encode_value([[said]]))  # as deep as it stands in an entry
    except MalformedError:
        return None
    return said if len(line) <= MOST_SAID else None


def ruled_by(reader: Reader, scenario: Scenario, episode: Episode) -> Json:
    """What the reader's rules say, without a model."""
    return _guarded(lambda: _json(reader.rule(transcript(scenario, episode))))


def scored_by(reader: Reader, scenario: Scenario, episode: Episode, said: Json) -> Mapping[str, Json]:
    """The measures of what was said."""
    return _guarded(lambda: dict(reader.score(scenario, episode, said)))


def _json(value: Json) -> Json:
    encode_value(value)
    return value


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except SealkitError:
        raise
    except Exception as error:  # the study's own code may raise anything
        raise HarnessError(f"the judge's reader raised {type(error).__name__}: {str(error)[:400]}") from error
