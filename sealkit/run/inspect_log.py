"""What an Inspect AI log says of its samples, as answers to a plan's assignments. `.eval` (zip) and `.json` are read.

    sample id   → the level of `family` that is spelled so
    epoch N     → repetition N - 1 where the plan repeats its cells, else the seed N
    scores      → the measure that is called as the scorer; a scorer that gives several values: SCORER_KEY for each
                  C is 1, I and N are 0, P is 0.5, as Inspect reads them; a truth value is 1 or 0
    model_usage → usage; calls are the sample's model events
    limit       → the ending `budget`; else the last stop reason: max_tokens `cut_off`, content_filter `refusal`
    error       → no episode: the attempt failed, `harness_error`
    error_retries → a failed attempt each, before that one: the sample was drawn again
    history     → refused: somebody edited the score; so is a sample that is invalidated

Of a log only this is read; keys that are not known here are passed over, for every version has others. A number with a
point is kept as the text that it has in the log. What a scorer means is the log's word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

import msgspec

from sealkit.files import read_if_there
from sealkit.run.inspect_zip import MAX_LOG, members
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError, UntrustedError, UsageError
from sealkit.wire.recorded import Answer, Usage
from sealkit.wire.records import Json
from sealkit.wire.text import shortened

T = TypeVar("T")
Object: TypeAlias = dict[str, Json]
_SCORES = {"C": 1, "I": 0, "N": 0, "P": "0.5"}
_ENDED = {"max_tokens": "cut_off", "model_length": "cut_off", "content_filter": "refusal"}


class _Config(msgspec.Struct):
    temperature: Json = None
    max_tokens: Json = None


class _Role(msgspec.Struct):
    model: str
    config: _Config | None = None


class _How(msgspec.Struct):
    retry_on_error: Json = None


class _Eval(msgspec.Struct):
    created: str
    task: str
    model: str
    task_args: Object = {}
    model_roles: dict[str, _Role] | None = None
    model_generate_config: _Config = msgspec.field(default_factory=_Config)
    config: _How = msgspec.field(default_factory=_How)


class _Plan(msgspec.Struct):
    config: _Config = msgspec.field(default_factory=_Config)


class _Results(msgspec.Struct):
    total_samples: int | None = None
    completed_samples: int | None = None


class _Header(msgspec.Struct):
    version: int
    status: str
    eval: _Eval
    plan: _Plan = msgspec.field(default_factory=_Plan)
    invalidated: bool = False
    results: _Results | None = None


class _Score(msgspec.Struct):
    value: Json
    history: tuple[Json, ...] | None = None


class _Tokens(msgspec.Struct):
    input_tokens: int
    output_tokens: int


class _Choice(msgspec.Struct):
    stop_reason: str = "unknown"


class _Output(msgspec.Struct):
    choices: tuple[_Choice, ...] = ()


class _Error(msgspec.Struct):
    message: str


class _Limit(msgspec.Struct):
    type: str


class _Event(msgspec.Struct):
    event: str


class _Sample(msgspec.Struct):
    id: int | str
    epoch: int
    messages: tuple[Object, ...]
    scores: dict[str, _Score] | None = None
    output: _Output = msgspec.field(default_factory=_Output)
    model_usage: dict[str, _Tokens] = {}
    error: _Error | None = None
    error_retries: tuple[_Error, ...] | None = None
    invalidation: Json = None
    limit: _Limit | None = None
    events: tuple[_Event, ...] = ()
    attachments: dict[str, str] = {}
    turn_count: int | None = None


class Sample(msgspec.Struct, frozen=True):
    """One sample in one epoch: what it answers, or why it came to nothing. `used` are the models that were called.

    `retried` are the errors after which it was drawn again.
    """

    id: str
    epoch: int
    answer: Answer
    error: str | None
    retried: tuple[str, ...]
    used: tuple[str, ...]
    scores: Object


class Log(msgspec.Struct, frozen=True):
    """A log: the digest and size of its bytes, when it says it was begun (UTC), what it evaluated.

    `settings` are those of its model, `role_settings` those that its roles have of their own. `total` and `completed`
    are the samples that it says it has, and has without an error; None where it does not say.
    """

    digest: str
    size: int
    created: str
    task: str
    task_args: Object
    model: str
    roles: dict[str, str]
    settings: Object
    role_settings: dict[str, Object]
    total: int | None
    completed: int | None
    samples: tuple[Sample, ...]


def read_log(path: Path) -> Log:
    """The log at `path`, whole and finished; `MalformedError` or `UsageError` naming what is not."""
    data = read_if_there(path, inside=path.parent, limit=MAX_LOG)
    where = str(path)
    if data is None:
        raise UsageError("there is no such log", where=where)
    if path.suffix == ".json":
        whole = _object(_parsed(data, where), where)
        header = _converted(whole, _Header, where)
        listed = whole.get("samples") or []
        if not isinstance(listed, list):
            raise MalformedError(f"found samples that are {type(listed).__name__}, due a list", where=where)
        raw = [(f"{where}: sample {n}", _object(one, where)) for n, one in enumerate(listed)]
    else:
        header, raw = _unzipped(data, where)
    if header.version != 2 or header.status != "success" or header.invalidated:
        state = "invalidated" if header.invalidated else f"version {header.version} with status {header.status[:40]!a}"
        raise UsageError(f"found a log that is {state}, due version 2 with status success", where=where)
    config, before = header.eval.model_generate_config, header.plan.config
    settings = _settings(
        config.temperature if config.temperature is not None else before.temperature,
        config.max_tokens if config.max_tokens is not None else before.max_tokens,
    )
    roles, results = header.eval.model_roles or {}, header.results or _Results()
    retries = bool(header.eval.config.retry_on_error)
    return Log(
        digest=digest_bytes(data), size=len(data), created=_utc(header.eval.created, where), task=header.eval.task,
        task_args=header.eval.task_args, model=header.eval.model,
        roles={role: one.model for role, one in roles.items()}, settings=settings,
        role_settings={role: _role_settings(one.config) for role, one in roles.items()},
        total=results.total_samples, completed=results.completed_samples,
        samples=tuple(_sample(_converted(one, _Sample, place), retries, place) for place, one in raw),
    )  # fmt: skip


def _role_settings(config: _Config | None) -> Object:
    return _settings(None, None) if config is None else _settings(config.temperature, config.max_tokens)


def _settings(temperature: Json, max_tokens: Json) -> Object:
    return {"temperature": temperature, "max_output_tokens": max_tokens}


def _unzipped(data: bytes, where: str) -> tuple[_Header, list[tuple[str, Object]]]:
    header: _Header | None = None
    raw = []
    for name, content in members(data, _is_read, where=where):
        place = f"{where}: {name[:100]!a}"
        value = _object(_parsed(content, place), place)
        if name == "header.json":
            header = _converted(value, _Header, place)
        else:
            raw.append((place, {key: value[key] for key in _Sample.__struct_fields__ if key in value}))
    if header is None:
        raise UsageError("has no header.json: its evaluation was not finished", where=where)
    return header, raw


def _is_read(name: str) -> bool:
    return name == "header.json" or (name.startswith("samples/") and name.endswith(".json"))


def _sample(sample: _Sample, retries: bool, where: str) -> Sample:
    """The sample as a study takes it; `retries` if the log says that samples were drawn again after errors."""
    if sample.epoch < 1:
        raise MalformedError(f"found epoch {sample.epoch}, due 1 or more", where=where)
    _check_unedited(sample, where)
    if retries and sample.error_retries is None:
        what = "may have been drawn again, as the log has retry_on_error, and does not say how often"
        raise UntrustedError(
            what, where=where, remedy="evaluate without it, or with an Inspect that writes error_retries"
        )
    tokens = sample.model_usage.values()
    calls = sum(event.event == "model" for event in sample.events) or sample.turn_count
    if calls is None:
        calls = sum(message.get("role") == "assistant" for message in sample.messages)
    usage = Usage(
        calls=calls,
        input_tokens=sum(each.input_tokens for each in tokens) if tokens else None,
        output_tokens=sum(each.output_tokens for each in tokens) if tokens else None,
    )
    last = sample.output.choices[-1].stop_reason if sample.output.choices else ""
    ended = "budget" if sample.limit is not None else _ENDED.get(last, "final")
    why = f"limit: {shortened(sample.limit.type, 40)}" if sample.limit is not None else ""
    transcript = tuple(cast(Object, _attached(message, sample.attachments)) for message in sample.messages)
    answer = Answer(transcript=transcript, measures={}, usage=usage, models={}, ended=ended, why=why)
    return Sample(
        id=str(sample.id), epoch=sample.epoch, answer=answer,
        error=None if sample.error is None else shortened(sample.error.message, 300),
        retried=tuple(shortened(one.message, 300) for one in sample.error_retries or ()),
        used=tuple(sorted(sample.model_usage)), scores=dict(_scores(sample)),
    )  # fmt: skip


def _check_unedited(sample: _Sample, where: str) -> None:
    edited = [name for name, score in (sample.scores or {}).items() if score.history]
    if edited:
        what = f"sample {str(sample.id)[:80]!a}, epoch {sample.epoch}: its score {edited[0][:80]!a} was edited by hand"
        remedy = "import the log as its scorers left it; or mend the scorer, and score all samples again"
        raise UntrustedError(what, where=where, remedy=remedy)
    if sample.invalidation is not None:
        what = f"sample {str(sample.id)[:80]!a}, epoch {sample.epoch}, is invalidated"
        raise UntrustedError(what, where=where, remedy="import the log as the evaluation left it, or evaluate again")


def _scores(sample: _Sample) -> Iterator[tuple[str, Json]]:
    for name, score in (sample.scores or {}).items():
        if isinstance(score.value, dict):
            yield from ((f"{name}_{key}", _score(value)) for key, value in score.value.items())
        else:
            yield name, _score(score.value)


def _score(value: Json) -> Json:
    if isinstance(value, str):
        return cast(Json, _SCORES.get(value, value))
    return int(value) if isinstance(value, bool) else value


def _attached(value: Json, attachments: dict[str, str]) -> Json:
    """`value` with what it refers to in its place."""
    if isinstance(value, str):
        return (
            attachments.get(value.removeprefix("attachment://"), value) if value.startswith("attachment://") else value
        )
    if isinstance(value, dict):
        return {key: _attached(each, attachments) for key, each in value.items()}
    return [_attached(each, attachments) for each in value] if isinstance(value, list) else value


# --- bytes to values -----------------------------------------------------------------------------


def _parsed(data: bytes, where: str) -> Json:
    try:
        return cast(Json, json.loads(data, parse_float=str, parse_constant=str, object_pairs_hook=_distinct))
    except (ValueError, RecursionError) as error:
        raise MalformedError(f"is no JSON: {str(error)[:200]}", where=where) from error


def _distinct(pairs: list[tuple[str, Json]]) -> Object:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _object(value: Json, where: str) -> Object:
    if not isinstance(value, dict):
        raise MalformedError("found no JSON object", where=where)
    return value


def _converted(value: Object, kind: type[T], where: str) -> T:
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise MalformedError(f"is not as Inspect writes it: {error}", where=where) from error


def _utc(text: str, where: str) -> str:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise MalformedError(f"was created {text[:60]!a}, which is no time", where=where) from error
    if time.tzinfo is None:
        raise MalformedError(f"was created {text[:60]!a}, a time without its zone", where=where)
    try:
        return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError as error:
        raise MalformedError(f"was created {text[:60]!a}, a time beyond all years", where=where) from error
