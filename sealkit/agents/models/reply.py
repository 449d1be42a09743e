"""The bytes of a reply, read and held against the plan; or the word for what they are instead.

>>> from decimal import Decimal
>>> model = Model(
...     id="m", temperature=Decimal(0), max_output_tokens=9, reasoning="off", price_per_million_tokens=None
... )
>>> body = b'{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"north"}}]}'
>>> read_reply(body, model)
Read(status='complete', text='north', why='', model='m', fingerprint=None, input_tokens=None, output_tokens=None)
>>> called = body.replace(b'"content":"north"', b'"tool_calls":[{"function":{"name":"go","arguments":"{}"}}]')
>>> read_reply(called, model).text
'{"tool": "go", "arguments": {}}'
>>> read_reply(body.replace(b'"m"', b'"n"'), model).why
"the reply is by 'n', and the plan says 'm'"

Always asserted: the model's id, one choice, a known reason for the end. Asserted where the reply says it: that usage
keeps within the bound on output tokens, that nothing was spent on reasoning that is off, that echoed settings are
the plan's. A call of a tool is read as the text of a JSON object, several as one a line; arguments that are no one
JSON object stand there as the text that they are. What a reply does not say is not known, and `docs/models.md` says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from sealkit.plan.actors import MOST_TOKENS, Model
from sealkit.wire.calls import CALL_STATUSES, Answered, Status, Unanswered

Tokens = Annotated[int, Meta(ge=0, le=MOST_TOKENS)]  # no reply has more: what states more is malformed
MAX_NAME: Final = 200
# Words for "the model was done"; anything else that is not below is no reply to build on.
_DONE: Final = frozenset({"stop", "eos_token", "stop_sequence", "end_turn"})
_CALLED: Final = _DONE | {"tool_calls", "tool_use"}
_ENDS: Final[dict[str, Answered]] = {"length": "cut_off", "content_filter": "refusal"}


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: Tokens | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    completion_tokens_details: _OutputDetails | None = None


class _Function(msgspec.Struct):
    name: str = ""
    arguments: str | None = None


class _ToolCall(msgspec.Struct):
    function: _Function


class _Message(msgspec.Struct):
    content: str | None = None
    tool_calls: tuple[_ToolCall, ...] | None = None
    refusal: str | None = None
    reasoning: Any = None
    reasoning_content: Any = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: tuple[_Choice, ...] = ()
    model: str | None = None
    system_fingerprint: str | None = None
    usage: _Usage | None = None
    # Some endpoints echo what was asked of them.
    temperature: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None


_decoder: Final = msgspec.json.Decoder(_Completion)


@dataclass(frozen=True, slots=True)
class Read:
    """What a body is: `text` if it is a reply, `why` if it is none; and what it says of its model and its tokens."""

    status: Status
    text: str
    why: str
    model: str | None = None
    fingerprint: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def no_reply(status: Unanswered, why: str) -> Read:
    """That no reply came, and why."""
    return Read(status=status, text="", why=why)


def read_reply(body: bytes, model: Model) -> Read:
    """What `body` says, asserted against `model`."""
    try:
        reply = _decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if _has_lone_surrogates(body):
            return no_reply("lone_surrogates", "its text is no Unicode: it holds half of a surrogate pair")
        return no_reply("malformed_reply", f"no chat completion: {str(error)[:200]}")
    usage = reply.usage or _Usage()
    said = Read(
        status="malformed_reply", text="", why="",
        model=reply.model[:MAX_NAME] if reply.model is not None else None,
        fingerprint=reply.system_fingerprint[:MAX_NAME] if reply.system_fingerprint is not None else None,
        input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens,
    )  # fmt: skip
    drift = next(_drift(reply, usage, model), None)
    if drift is not None:
        return replace(said, status="model_drift", why=drift)
    status, content = _content(reply)
    if CALL_STATUSES[status] == "answer":
        return replace(said, status=status, text=content)
    return replace(said, status=status, why=content)


def _drift(reply: _Completion, usage: _Usage, model: Model) -> Iterator[str]:
    """Every way in which the reply is not what the plan asked for."""
    if reply.model is not None and reply.model != model.id:
        yield f"the reply is by {reply.model[:MAX_NAME]!a}, and the plan says {model.id!a}"
    if reply.model is None and reply.choices:
        yield f"the reply does not say which model it is by, and the plan says {model.id!a}"
    if model.fingerprint is not None and reply.system_fingerprint != model.fingerprint and reply.choices:
        found = "none" if reply.system_fingerprint is None else f"{reply.system_fingerprint[:MAX_NAME]!a}"
        yield f"the reply has the fingerprint {found}, and the plan says {model.fingerprint!a}"
    if usage.completion_tokens is not None and usage.completion_tokens > model.max_output_tokens:
        yield f"the reply has {usage.completion_tokens} output tokens, and the plan allows {model.max_output_tokens}"
    if reply.temperature is not None and reply.temperature != float(model.temperature):
        yield f"the reply was drawn at temperature {reply.temperature}, and the plan says {model.temperature}"
    for bound in (reply.max_tokens, reply.max_completion_tokens):
        if bound is not None and bound != model.max_output_tokens:
            yield f"the reply was bound to {bound} output tokens, and the plan says {model.max_output_tokens}"
    if model.reasoning == "off":
        details = usage.completion_tokens_details or _OutputDetails()
        if details.reasoning_tokens:
            yield f"the model spent {details.reasoning_tokens} tokens on reasoning, which the plan turns off"
        if any(choice.message.reasoning or choice.message.reasoning_content for choice in reply.choices):
            yield "the reply holds reasoning, which the plan turns off"


def _content(reply: _Completion) -> tuple[Status, str]:
    """Status and text of the reply's one choice, or status and what is wrong with it."""
    if not reply.choices:
        return "empty_reply", "it has no choice"
    if len(reply.choices) > 1:
        return "malformed_reply", f"it has {len(reply.choices)} choices, due one"
    message, reason = reply.choices[0].message, reply.choices[0].finish_reason
    if message.refusal:
        return "refusal", message.refusal
    status = _ENDS.get(reason or "")
    if status is not None:  # cut off or filtered, also before the first word
        return status, message.content or ""
    if message.content is None and not message.tool_calls:
        return "empty_reply", "its choice has no text"
    if reason not in (_CALLED if message.tool_calls else _DONE):
        return "malformed_reply", f"it ended for the reason {str(reason)[:80]!a}"
    if message.tool_calls:
        return "complete", "\n".join(_called(call.function) for call in message.tool_calls)
    return "complete", message.content or ""


def _called(function: _Function) -> str:
    """A call of a tool as the text of a JSON object."""
    written = function.arguments or "{}"
    try:
        given = json.loads(written, object_pairs_hook=_once)
        return json.dumps({"tool": function.name, "arguments": given if isinstance(given, dict) else written})
    except (ValueError, RecursionError):  # no JSON, a key twice, an integer without end, too deep
        return json.dumps({"tool": function.name, "arguments": written})


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys all differ; `ValueError` otherwise."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _has_lone_surrogates(body: bytes) -> bool:
    """Whether `body` would be JSON but for text that is no Unicode."""
    try:
        json.dumps(json.loads(body.decode("utf-8", "surrogatepass")), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False
