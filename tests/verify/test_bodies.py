"""A request is encoded again from what it holds: whatever else stands in it is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from sealkit.agents.models.request import FORMS, encode_request
from sealkit.agents.turns import Ask, Message, Tool
from sealkit.plan.actors import Model
from sealkit.verify.bodies import _is_as_planned
from sealkit.wire.canon import encode_json

MODEL = Model(id="m", temperature=Decimal("0.7"), max_output_tokens=9, reasoning="off", price_per_million_tokens=None)
TOOL = Tool(name="go", description="Go.", parameters={"type": "object", "properties": {"to": {"type": "string"}}})
ASK = Ask(role="agent", messages=(Message(role="user", content="hi"),), schema=None, tools=(TOOL,))


@pytest.mark.parametrize("form", FORMS)
def test_a_request_with_tools_is_the_plans(form: str) -> None:
    assert _is_as_planned(encode_request(ASK, MODEL, form), MODEL)


@pytest.mark.parametrize(
    "edit",
    [
        lambda body: body.update(tool_choice="auto"),
        lambda body: body.update(parallel_tool_calls=True),
        lambda body: body.pop("tool_choice"),
        lambda body: body["tools"][0].update(type="custom"),
        lambda body: body["tools"][0]["function"].update(strict=True),
        lambda body: body.update(tools=[]),
        lambda body: body.update(functions=[]),
    ],
)
def test_other_settings_of_tools_are_found(edit: Callable[[Any], object]) -> None:
    body = json.loads(encode_request(ASK, MODEL, "vllm"))
    edit(body)
    assert not _is_as_planned(encode_json(body), MODEL)
