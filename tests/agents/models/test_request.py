"""The bytes that are sent, what they may cost, and how long anybody waits."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from sealkit.agents.models.budget import Budget, Limits, Need, Spent, cost_microusd
from sealkit.agents.models.errors import PauseError
from sealkit.agents.models.exchange import http_status_word, wait_s
from sealkit.agents.models.request import FORMS, encode_request, model_of
from sealkit.agents.turns import Ask, Message, Tool
from sealkit.plan.actors import Model, ModelByFactor, Price
from sealkit.wire.errors import MalformedError
from tests.agents.models.bench import SLOT, Bench

SCHEMA = {"type": "object", "properties": {"action": {"type": "string"}}, "required": ["action"]}


def model(**over: object) -> Model:
    fields = {"id": "m", "temperature": Decimal("0.7"), "max_output_tokens": 9, "reasoning": "off"}
    return Model(**(fields | {"price_per_million_tokens": None} | over))  # type: ignore[arg-type]


def ask(text: str = "hi", schema: object = None) -> Ask:
    return Ask(role="agent", messages=(Message(role="user", content=text),), schema=schema)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", FORMS)
@given(text=st.text(), temperature=st.decimals(0, 2, places=2))
def test_a_request_is_canonical(form: str, text: str, temperature: Decimal) -> None:
    raw = encode_request(ask(text, SCHEMA), model(temperature=temperature), form)
    assert raw == rfc8785.dumps(json.loads(raw))
    assert json.loads(raw)["messages"] == [{"role": "user", "content": text}]
    assert json.loads(raw)["temperature"] == float(temperature)


@pytest.mark.parametrize(
    ("form", "settings"),
    [
        ("vllm", {"max_tokens": 9, "chat_template_kwargs": {"enable_thinking": False}}),
        ("llama", {"max_tokens": 9, "chat_template_kwargs": {"enable_thinking": False}}),
        ("ollama", {"max_tokens": 9, "reasoning_effort": "none"}),
        ("openai", {"max_completion_tokens": 9}),
        ("effort", {"max_completion_tokens": 9, "reasoning_effort": "none"}),
    ],
)
def test_each_form_spells_the_settings(form: str, settings: dict[str, object]) -> None:
    found = json.loads(encode_request(ask(), model(), form))
    assert {key: found[key] for key in found.keys() - {"model", "messages", "temperature"}} == settings
    assert json.loads(encode_request(ask(), model(reasoning="high"), form))["reasoning_effort"] == "high"


def test_a_schema_is_held_to() -> None:
    strict = {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}
    assert json.loads(encode_request(ask(schema=SCHEMA), model(), "vllm"))["response_format"] == strict
    plain = {"type": "json_object", "schema": SCHEMA}
    assert json.loads(encode_request(ask(schema=SCHEMA), model(), "llama"))["response_format"] == plain


def test_half_a_pair_is_not_sent() -> None:
    with pytest.raises(MalformedError):
        encode_request(ask("\ud83d"), model(), "vllm")


def test_a_role_may_be_another_model_at_each_level(bench: Bench) -> None:
    by_arm = ModelByFactor(factor="arm", levels={"A": model(id="one"), "B": model(id="two")})
    spec = msgspec.structs.replace(bench.sealed.plan.spec, models={"agent": by_arm})
    assert [model_of(spec, "agent", SLOT | {"arm": arm}).id for arm in "AB"] == ["one", "two"]


# --- budget --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "cost"), [((0, 0), 0), ((1, 0), 1), ((10, 10), 8), ((10**6, 10**6), 750_000)])
def test_cost_is_rounded_up(tokens: tuple[int, int], cost: int) -> None:
    assert cost_microusd(Price(input_microusd=150_000, output_microusd=600_000), *tokens) == cost


_requests = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 100), st.booleans()), max_size=40)


@given(_requests, st.integers(0, 20), st.integers(0, 300))
def test_no_order_of_requests_goes_beyond_it(requests: list[tuple[int, int, bool]], calls: int, tokens: int) -> None:
    """Each needs so much, uses a share of it, and is over at once or at the end."""
    budget, under_way = Budget(Limits(calls=calls, tokens=tokens, cost_microusd=None), Spent()), []
    for most, percent, at_once in requests:
        need = Need(tokens=most, cost_microusd=None)
        try:
            budget.reserve(need)
        except PauseError:
            continue
        if at_once:
            budget.settle(need, tokens=most * percent // 100, cost_microusd=None)
        else:
            under_way.append(need)
    for need in under_way:
        budget.settle(need, tokens=need.tokens, cost_microusd=None)
    assert budget.spent.calls <= calls and budget.spent.tokens <= tokens


def test_what_did_not_leave_is_given_back() -> None:
    budget, need = Budget(Limits(calls=1, tokens=10, cost_microusd=10), Spent()), Need(tokens=10, cost_microusd=10)
    budget.reserve(need)
    budget.release(need)
    budget.reserve(need)
    assert budget.spent == Spent()


# --- waiting -------------------------------------------------------------------------------------

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@given(st.integers(1, 50), st.floats(0, 1))
def test_a_wait_is_bounded_and_drawn_from_half_of_it(tries: int, draw: float) -> None:
    full = min(2.0 ** (tries - 1), 60.0)
    wait = wait_s(tries, None, now=NOON, draw=draw)
    assert wait is not None and full / 2 <= wait <= full


@pytest.mark.parametrize(
    ("told", "wait"),
    [
        ("0", 0.5), ("2", 2.0), (" 3 ", 3.0), ("-5", 0.5), ("1e3", 0.5), ("", 0.5), ("\u0663", 0.5), ("9" * 12, 0.5),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.5), ("Mon, 30 Nov 2026 13:00:10 +0100", 10.0),
        ("Mon, 30 Nov 2026 12:00:20", 20.0), ("Mon, 99 Nov 2026 12:00:20 GMT", 0.5), ("601", None),
    ],
)  # fmt: skip
def test_what_the_endpoint_asks_for(told: str, wait: float | None) -> None:
    assert wait_s(1, told, now=NOON, draw=0.0) == wait


@given(st.one_of(st.text(), st.text(alphabet="MonNov GMT0123456789:,+-")))
def test_whatever_it_asks_for_the_wait_is_bounded(told: str) -> None:
    wait = wait_s(1, told, now=NOON, draw=0.0)
    assert wait is None or 0.5 <= wait <= 600


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (200, None), (201, "malformed_reply"), (204, "malformed_reply"), (301, "redirected"), (308, "redirected"),
        (400, "client_error"), (401, "unauthorised"), (402, "client_error"), (403, "unauthorised"),
        (404, "no_endpoint"), (405, "no_endpoint"), (408, "server_error"), (422, "client_error"), (429, "rate_limited"),
        (500, "server_error"), (504, "server_error"), (529, "server_error"),
    ],
)  # fmt: skip
def test_http_statuses(status: int, word: str | None) -> None:
    assert http_status_word(status) == word


def test_tools_are_functions_of_which_one_is_to_be_called() -> None:
    tool = Tool(name="go", description="Go somewhere.", parameters={"type": "object"})
    for form in FORMS:
        asked = json.loads(encode_request(msgspec.structs.replace(ask(), tools=(tool,)), model(), form))
        function = {"name": "go", "description": "Go somewhere.", "parameters": {"type": "object"}}
        assert asked["tools"] == [{"type": "function", "function": function}]
        assert (asked["tool_choice"], asked["parallel_tool_calls"]) == ("required", False)
        assert "tools" not in json.loads(encode_request(ask(), model(), form))
