"""Holds one call against the plan's model and against its two bodies.

The request is encoded again from what it holds and must be the same bytes, so its settings are the plan's. The response
is read again, as it was when it came, and must say what its line says of it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import cost_microusd
from sealkit.agents.models.errors import WithheldError
from sealkit.agents.models.reply import read_reply
from sealkit.agents.models.request import FORMS, encode_request
from sealkit.agents.turns import Ask, Message, Tool
from sealkit.plan.actors import Model
from sealkit.wire.calls import CALL_STATUSES, Call
from sealkit.wire.errors import SealkitError, UntrustedError
from sealkit.wire.records import Json

# What a status is read from: the body alone. The others come from HTTP or from the connection.
_READ_FROM_BODY: Final = frozenset({"complete", "refusal", "cut_off", "model_drift", "empty_reply", "lone_surrogates"})


class BodyError(UntrustedError):
    """A body that a call names is gone without an entry, or is another one: files were touched, whoever did it."""


class _Named(msgspec.Struct):
    schema: dict[str, Json]


class _Format(msgspec.Struct):
    """How a request spells its schema: named, as most endpoints take it, or bare."""

    json_schema: _Named | None = None
    schema: dict[str, Json] | None = None


class _Tool(msgspec.Struct):
    function: Tool


class _Request(msgspec.Struct):
    """What a request asks; its settings are compared by encoding it again."""

    messages: tuple[Message, ...]
    tools: tuple[_Tool, ...] = ()
    response_format: _Format | None = None


def check_line(call: Call, model: Model, where: str) -> None:
    """Raise `UntrustedError` unless the line says what the plan's model and prices give."""
    if CALL_STATUSES[call.status] == "answer" and call.model != model.id:
        raise UntrustedError(f"evidence: answered by {call.model!a}, due {model.id!a}", where=where)
    if call.input_tokens is None or call.output_tokens is None:
        return
    charged = call.input_tokens + call.output_tokens
    cost = cost_microusd(model.price_per_million_tokens, call.input_tokens, call.output_tokens)
    if (call.charged_tokens, call.cost_microusd) != (charged, cost):
        found = f"{call.charged_tokens} tokens and {call.cost_microusd} micro-USD"
        raise UntrustedError(f"evidence: charged {found}, due {charged} and {cost}", where=where)


def check_bodies(call: Call, model: Model, bodies: Blobs, where: str) -> None:
    """Raise `UntrustedError` unless both bodies are there and hold what the line says; one that was withheld holds."""
    request = _body(bodies, call.request, f"{where}: request")
    if request is not None and not _is_as_planned(request, model):
        what = "evidence: the request is not one of this plan's model, temperature, bound and reasoning"
        raise UntrustedError(what, where=where)
    if call.response is None:
        return
    response = _body(bodies, call.response, f"{where}: response")
    if response is None or call.status not in _READ_FROM_BODY:
        return
    read = read_reply(response, model)
    found = (read.status, read.model, read.fingerprint, read.input_tokens, read.output_tokens)
    due = (call.status, call.model, call.fingerprint, call.input_tokens, call.output_tokens)
    if found != due:
        what = f"evidence: its body reads {found[0]} by {found[1]!a} with {found[3]} and {found[4]} tokens"
        raise UntrustedError(f"{what}, the line says {due[0]} by {due[1]!a} with {due[3]} and {due[4]}", where=where)


def _body(bodies: Blobs, digest: str, where: str) -> bytes | None:
    """The body; None if it was withheld."""
    try:
        return bodies.get(digest)
    except WithheldError:
        return None
    except SealkitError as error:
        raise BodyError(f"evidence: {error}", where=where) from error


def _is_as_planned(body: bytes, model: Model) -> bool:
    try:
        asked = msgspec.json.decode(body, type=_Request)
        form = asked.response_format
        schema = None if form is None else form.schema if form.json_schema is None else form.json_schema.schema
        ask = Ask(role="", messages=asked.messages, schema=schema, tools=tuple(tool.function for tool in asked.tools))
        return any(encode_request(ask, model, name) == body for name in FORMS)
    except (msgspec.MsgspecError, SealkitError, RecursionError, UnicodeError):
        return False
