"""A question as the bytes that are sent: RFC 8785 canonical JSON, so that the same question has the same digest.

>>> from decimal import Decimal
>>> from sealkit.agents.turns import Ask, Message
>>> from sealkit.plan.actors import Model
>>> model = Model(
...     id="m", temperature=Decimal("0.70"), max_output_tokens=9, reasoning="off", price_per_million_tokens=None
... )
>>> ask = Ask(role="agent", messages=(Message(role="user", content="hi"),), schema=None)
>>> encode_request(ask, model, "openai")
b'{"max_completion_tokens":9,"messages":[{"content":"hi","role":"user"}],"model":"m","temperature":0.7}'

A schema is sent as `response_format`, strict, under the constant name `reply`; tools as functions, of which one is to
be called, and one alone. Endpoints spell some settings in their own way, so a request has a form; the plan says what is
set, the form only how it is spelt:

    vllm     vLLM, SGLang, llama.cpp's server; reasoning is turned off in the chat template
    llama    llama-cpp-python's server: the same, and a schema is spelt as a `json_object`
    ollama   Ollama: reasoning that is off is the effort `none`
    openai   hosted models that do not reason: nothing is sent for reasoning that is off
    effort   hosted models that reason: reasoning that is off is the effort `none`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from msgspec import to_builtins

from sealkit.agents.turns import Ask
from sealkit.plan.actors import Model, ModelByFactor
from sealkit.plan.schema import Spec
from sealkit.wire.canon import encode_json
from sealkit.wire.errors import HarnessError
from sealkit.wire.events import Slot
from sealkit.wire.records import Json

SCHEMA_NAME: Final = "reply"


@dataclass(frozen=True, slots=True)
class Form:
    """How an endpoint spells settings: the bound on output, reasoning that is off, and whether schemas have names."""

    bound: str
    off: tuple[str, Json] | None
    names_schemas: bool


_TEMPLATE: Final[tuple[str, Json]] = ("chat_template_kwargs", {"enable_thinking": False})
_EFFORT: Final[tuple[str, Json]] = ("reasoning_effort", "none")
FORMS: Final = {
    "vllm": Form("max_tokens", _TEMPLATE, True),
    "llama": Form("max_tokens", _TEMPLATE, False),
    "ollama": Form("max_tokens", _EFFORT, True),
    "openai": Form("max_completion_tokens", None, True),
    "effort": Form("max_completion_tokens", _EFFORT, True),
}


def encode_request(ask: Ask, model: Model, form: str) -> bytes:
    """The body of the request that asks `model`; `MalformedError` if a message is no Unicode text."""
    spelt = FORMS[form]
    body: dict[str, Json | float] = {
        "model": model.id,
        "messages": [{"role": message.role, "content": message.content} for message in ask.messages],
        "temperature": float(model.temperature),
        spelt.bound: model.max_output_tokens,
    }
    if model.reasoning != "off":
        body["reasoning_effort"] = model.reasoning
    elif spelt.off is not None:
        body[spelt.off[0]] = spelt.off[1]
    if ask.schema is not None:
        body["response_format"] = (
            {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "schema": ask.schema, "strict": True}}
            if spelt.names_schemas
            else {"type": "json_object", "schema": ask.schema}
        )
    if ask.tools:
        body["tools"] = [{"type": "function", "function": to_builtins(tool)} for tool in ask.tools]
        body["tool_choice"], body["parallel_tool_calls"] = "required", False
    return encode_json(body)  # type: ignore[arg-type]  # a float among JSON values


def model_of(spec: Spec, role: str, slot: Slot) -> Model:
    """The model that plays `role` in `slot`."""
    model = spec.models.get(role)
    if model is None:
        raise HarnessError(f"an arm asked the model {role!a}, a role that the plan does not have")
    if isinstance(model, ModelByFactor):
        return model.levels[str(slot[model.factor])]
    return model
