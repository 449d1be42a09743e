"""What a program of somebody's own is asked, and what is kept of its answer: evidence level `recorded`.

    assignment   one slot as the program is given it: what the plan says of it, and nothing that happened
    recorded     what the program, or a log of it, said of that slot; sealkit saw none of it happen

An assignment follows from the plan alone, so that a verifier needs no manifest to know what was asked:

>>> asked = Assignment(plan="ab", slot={"arm": "terse"}, options={}, models={}, measures={}, endings={"final": "judged"})
>>> line = encode_record(asked)
>>> line[:47]
b'{"endings":{"final":"judged"},"measures":{},"mo'

A recorded episode has no acts, no roots and no receipts, and cannot be run again. What can be checked of it is that it
is whole (`closing.record`, as in an episode), that it answers this assignment under this pin, and that it says what the
plan asked for (`answer_faults`). Whether it is true, nobody can see from it.

Refused, besides what every record refuses: measures that the plan does not declare, or of another kind; a usage that the
models' settings rule out; another model than the plan's; an ending that the plan does not name.
"""  # noqa: E501 - a line of an example is as long as it is

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from sealkit.wire.canon import encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted
from sealkit.wire.records import Count, Json, Level, Record

MEASURED: Final = ("judged", "failure")  # what an ending means, if an outcome is taken from what was measured
WITHOUT_EPISODE: Final = ("provider_error", "harness_error")  # endings of an attempt that leaves no episode
_BLANK: Final = "sha256:" + "-" * 64  # in the place of the digest while it is not known
_is_decimal = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?").fullmatch

# --- what is asked -------------------------------------------------------------------------------


class BinaryForm(Record, frozen=True, tag_field="kind", tag="binary"):
    """0, 1, or null where it does not apply; with a `unit`, a mapping from each unit to that."""

    unit: str | None


class CountForm(Record, frozen=True, tag_field="kind", tag="count"):
    """A whole number from 0 on, or null."""

    unit: str | None


class ScoreForm(Record, frozen=True, tag_field="kind", tag="score"):
    """A number from `low` to `high` in steps of `step`, as an integer or a decimal string, or null."""

    unit: str | None
    low: str
    high: str
    step: str


Form: TypeAlias = BinaryForm | CountForm | ScoreForm


class AssignedModel(Record, frozen=True):
    """A model as the plan has it. `temperature` is a decimal."""

    id: str
    temperature: str
    max_output_tokens: Count
    reasoning: str


class Assignment(Record, frozen=True, tag_field="type", tag="sealkit/assignment/v1"):
    """One slot: the arm's `options`, the model of each role that it uses, and the forms that each measure must have.

    `endings` has every word by which it may end, and what the plan takes that for: `judged`, `failure` or `missing`.
    """

    plan: str
    slot: dict[str, Level]
    options: dict[str, Json]
    models: dict[str, AssignedModel]
    measures: dict[str, tuple[Form, ...]]
    endings: dict[str, str]


# --- what is answered ----------------------------------------------------------------------------


class Usage(Record, frozen=True):
    """Calls of models, and their tokens; null where nobody counted."""

    calls: Count
    input_tokens: Count | None
    output_tokens: Count | None


class Answer(Record, frozen=True):
    """What a program says of its slot. `models` has the id that each role's model gave of itself.

    `ended` is a word of the assignment, `why` a sentence or empty. `transcript` is the program's own.
    """

    transcript: tuple[dict[str, Json], ...]
    measures: dict[str, Json]
    usage: Usage
    models: dict[str, str]
    ended: str
    why: str


# --- what is kept --------------------------------------------------------------------------------


class FromCommand(Record, frozen=True, tag_field="source", tag="command"):
    """The plan's command said it; `answer` is the digest of the bytes that it wrote."""

    answer: str


class FromLog(Record, frozen=True, tag_field="source", tag="log"):
    """It stands in a file that was there before: its format, the digest of its bytes, when it says it was begun.

    `sample` and `epoch` say where in it.
    """

    format: Literal["inspect"]
    log: str
    created: str
    sample: str
    epoch: Count


class RecordedClosing(Record, frozen=True):
    """How it ended; `record` is the digest of the record's bytes without this field."""

    ended: str
    why: str
    record: str


class Recorded(Record, frozen=True, tag_field="type", tag="sealkit/recorded/v1"):
    """What was said of one slot. `assignment` is the digest of the line that it answers."""

    pin: str
    slot: dict[str, Level]
    assignment: str
    source: FromCommand | FromLog
    transcript: tuple[dict[str, Json], ...]
    measures: dict[str, Json]
    usage: Usage
    models: dict[str, str]
    closing: RecordedClosing


def record_answer(trusted: Trusted, answer: Answer, source: FromCommand | FromLog) -> bytes:
    """The canonical line of a recorded episode; `trusted.scenario` is the assignment that was answered."""
    recorded = Recorded(
        pin=trusted.pin,
        slot=trusted.slot,
        assignment=digest_bytes(trusted.scenario),
        source=source,
        transcript=answer.transcript,
        measures=answer.measures,
        usage=answer.usage,
        models=answer.models,
        closing=RecordedClosing(ended=answer.ended, why=answer.why, record=_BLANK),
    )

    blank = encode_record(recorded)
    before, _, after = blank.partition(_member(_BLANK))
    return before + _member(recorded_digest(blank, _BLANK)) + after


def recorded_digest(line: bytes, claimed: str) -> str:
    """The digest of a recorded episode's line without the one member `"record":"…",` that claims `claimed`.

    The first place counts: of what may hold such a member, transcript and measures, all stands behind the closing.
    """
    before, _, after = line.partition(_member(claimed) + b",")
    return digest_bytes(before + after)


def _member(digest: str) -> bytes:
    return b'"record":"%s"' % digest.encode()


def measured(recorded: Recorded) -> dict[str, Json]:
    """What the analysis takes of a recorded episode: its measures, and its usage as if sealkit had summed it."""
    usage = recorded.usage
    tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    return {**recorded.measures, "calls": usage.calls, **tokens}


# --- what contradicts ----------------------------------------------------------------------------

Fault: TypeAlias = tuple[str, str, str]  # where, found, due


def answer_faults(asked: Assignment, answer: Answer | Recorded) -> Iterator[Fault]:
    """Everything in an answer that the plan rules out."""
    ended = answer.ended if isinstance(answer, Answer) else answer.closing.ended
    meaning = asked.endings.get(ended)
    if meaning is None:
        yield "ended", _spelled(ended), f"one of {', '.join(sorted(asked.endings))}"
    yield from _measures(asked, answer.measures, due=meaning in MEASURED)
    yield from _models(asked, answer.models, answer.usage.calls)
    yield from _usage(asked, answer.usage)
    if meaning == "judged" and not answer.transcript:
        yield "transcript", "nothing", "what was said and done, at least one entry"


def _measures(asked: Assignment, given: Mapping[str, Json], *, due: bool) -> Iterator[Fault]:
    for name in sorted(given.keys() - asked.measures.keys()):
        yield f"measures.{name}", "a measure", "none of that name: the plan declares no such measure"
    for name, forms in sorted(asked.measures.items()):
        if name in given:
            for form in forms:
                yield from _form_faults(form, given[name], f"measures.{name}")
        elif due:
            yield f"measures.{name}", "nothing", "a value: the plan declares it"


def _form_faults(form: Form, value: Json, where: str) -> Iterator[Fault]:
    if form.unit is None or value is None:
        yield from _value_faults(form, value, where)
    elif not isinstance(value, dict):
        yield where, _spelled(value), f"a mapping with a value for each {form.unit}"
    else:
        for unit, each in sorted(value.items()):
            yield from _value_faults(form, each, f"{where}.{unit}")


def _value_faults(form: Form, value: Json, where: str) -> Iterator[Fault]:
    if value is None:
        return
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, str) and _is_decimal(value))):
        yield where, _spelled(value), "an integer, a decimal string or null"
        return
    exact = Fraction(value)
    if isinstance(form, BinaryForm):
        if exact not in (0, 1):
            yield where, str(value), "0 or 1"
    elif isinstance(form, CountForm):
        if exact < 0 or exact.denominator != 1 or exact >= 2**53:
            yield where, str(value), "a whole number from 0 on"
    else:
        low, high, step = (Fraction(text) for text in (form.low, form.high, form.step))
        if not low <= exact <= high or ((exact - low) / step).denominator != 1:
            yield where, str(value), f"{form.low} to {form.high} in steps of {form.step}"


def _models(asked: Assignment, given: Mapping[str, str], calls: int) -> Iterator[Fault]:
    """Every role that was called says which model it was; without a call there is none to say it."""
    for role in sorted(given.keys() - asked.models.keys()):
        yield f"models.{role}", "a model", "none: the arm uses no such role"
    for role, model in sorted(asked.models.items()):
        if role not in given:
            if calls:
                yield f"models.{role}", "nothing", f"the model {model.id}"
        elif given[role] != model.id:
            yield f"models.{role}", _spelled(given[role]), f"the model {model.id}"


def _usage(asked: Assignment, usage: Usage) -> Iterator[Fault]:
    if usage.calls and not asked.models:
        yield "usage.calls", str(usage.calls), "0: the arm uses no model"
    if not usage.calls and (usage.input_tokens or usage.output_tokens):
        yield "usage.calls", "0", "at least 1: tokens were used"
    most = usage.calls * max((model.max_output_tokens for model in asked.models.values()), default=0)
    if usage.calls and usage.output_tokens is not None and usage.output_tokens > most:
        yield "usage.output_tokens", str(usage.output_tokens), f"at most {most}, from {usage.calls} calls"


def _spelled(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
