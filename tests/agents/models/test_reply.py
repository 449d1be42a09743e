"""What bytes say: each body with the word that it is due, and no body that is more than sealkit can read."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealkit.agents.models.reply import Read, read_reply
from sealkit.plan.actors import Model
from sealkit.wire.calls import CALL_STATUSES


def model(reasoning: Literal["off", "low", "medium", "high"] = "off", bound: int = 9) -> Model:
    return Model(
        id="m", temperature=Decimal("0.70"), max_output_tokens=bound, reasoning=reasoning, price_per_million_tokens=None
    )


def body(**over: Any) -> bytes:
    """A completion, with some of its members replaced; `message` and `finish_reason` are those of its choice."""
    message = over.pop("message", {"role": "assistant", "content": "north"})
    choice = {"index": 0, "message": message, "finish_reason": over.pop("finish_reason", "stop")}
    whole = {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 4, "completion_tokens": 2}}
    return json.dumps(whole | over).encode()


def read(**over: Any) -> Read:
    return read_reply(body(**over), model())


def test_a_whole_reply() -> None:
    found = read(system_fingerprint="fp", extra={"unknown": [1, 2]})
    assert found == Read(
        status="complete", text="north", why="", model="m", fingerprint="fp", input_tokens=4, output_tokens=2
    )


@pytest.mark.parametrize(
    ("over", "status", "text"),
    [
        ({"message": {"content": ""}}, "complete", ""),
        ({"message": {"content": "\U0001f600 \u00e9 \u0000"}}, "complete", "\U0001f600 \u00e9 \u0000"),
        ({"finish_reason": "eos_token"}, "complete", "north"),
        ({"finish_reason": "length"}, "cut_off", "north"),
        ({"finish_reason": "length", "message": {"content": None}}, "cut_off", ""),
        ({"finish_reason": "content_filter"}, "refusal", "north"),
        ({"message": {"content": "partly", "refusal": "no"}}, "refusal", "no"),
        ({"usage": {"prompt_tokens": 4, "completion_tokens": 9}}, "complete", "north"),
        ({"usage": None}, "complete", "north"),
        ({"temperature": 0.7, "max_tokens": 9, "max_completion_tokens": 9}, "complete", "north"),
        ({"message": {"content": "north", "reasoning_content": "", "reasoning": None}}, "complete", "north"),
    ],
)
def test_replies(over: Any, status: str, text: str) -> None:
    found = read(**over)
    assert (found.status, found.text, found.why) == (status, text, "")


@pytest.mark.parametrize(
    ("over", "status", "why"),
    [
        ({"choices": []}, "empty_reply", "no choice"),
        ({"choices": None}, "malformed_reply", "no chat completion"),
        ({"choices": [{}, {}]}, "malformed_reply", "no chat completion"),
        ({"message": {"content": None}}, "empty_reply", "no text"),
        ({"message": {"content": [{"type": "text", "text": "north"}]}}, "malformed_reply", "no chat completion"),
        ({"finish_reason": None}, "malformed_reply", "ended for the reason"),
        ({"finish_reason": "abort"}, "malformed_reply", "'abort'"),
        ({"finish_reason": "tool_calls", "message": {"content": None}}, "empty_reply", "no text"),
        ({"usage": {"completion_tokens": -1}}, "malformed_reply", "no chat completion"),
        ({"usage": {"completion_tokens": 2**53}}, "malformed_reply", "no chat completion"),
        ({"model": "n"}, "model_drift", "by 'n', and the plan says 'm'"),
        ({"model": None}, "model_drift", "does not say which model"),
        ({"model": "n", "choices": []}, "model_drift", "by 'n'"),
        ({"usage": {"completion_tokens": 10}}, "model_drift", "10 output tokens, and the plan allows 9"),
        ({"temperature": 1}, "model_drift", "temperature 1.0, and the plan says 0.70"),
        ({"max_completion_tokens": 10}, "model_drift", "bound to 10"),
        ({"message": {"content": "north", "reasoning": "hm"}}, "model_drift", "holds reasoning"),
        ({"usage": {"completion_tokens_details": {"reasoning_tokens": 1}}}, "model_drift", "1 tokens on reasoning"),
    ],
)  # fmt: skip
def test_what_is_no_reply(over: Any, status: str, why: str) -> None:
    found = read(**over)
    assert (found.status, found.text) == (status, "")
    assert why in found.why


@pytest.mark.parametrize(
    ("said", "status"), [("fp_1", "complete"), ("fp_2", "model_drift"), (None, "model_drift")]
)  # fmt: skip
def test_a_fingerprint_that_the_plan_names_is_asserted(said: str | None, status: str) -> None:
    pinned = msgspec.structs.replace(model(), fingerprint="fp_1")
    found = read_reply(body(system_fingerprint=said), pinned)
    assert (found.status, found.fingerprint) == (status, said)
    assert status == "complete" or "and the plan says 'fp_1'" in found.why


def test_two_choices_are_one_too_many() -> None:
    choice = json.loads(body())["choices"][0]
    assert read(choices=[choice, choice]).why == "it has 2 choices, due one"


def test_reasoning_that_is_on_is_no_drift() -> None:
    raw = body(message={"content": "north", "reasoning": "hm"})
    assert read_reply(raw, model("low")).status == "complete"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"", "malformed_reply"),
        (b"null", "malformed_reply"),
        (b"[" * 100_000, "malformed_reply"),
        (b'{"error":{"message":"overloaded"}}', "empty_reply"),
        (b'{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"\xff"}}]}', "malformed_reply"),
        (rb'{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"\ud83d"}}]}', "lone_surrogates"),
        (rb'{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"\ude00 x"}}]}', "lone_surrogates"),
        (rb'{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"\ud83d\ude00"}}]}', "complete"),
        (b'{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"\xed\xa0\xbd"}}]}', "lone_surrogates"),
    ],
)
def test_odd_bytes(raw: bytes, status: str) -> None:
    assert read_reply(raw, model()).status == status


_texts = st.text(alphabet=st.characters(), max_size=20)
_bodies = st.one_of(
    st.binary(max_size=200),
    st.builds(
        lambda content, reason, usage: body(message={"content": content}, finish_reason=reason, usage=usage),
        st.one_of(st.none(), _texts, st.integers()), st.one_of(st.none(), _texts, st.just("stop")),
        st.one_of(st.none(), st.dictionaries(st.sampled_from(["prompt_tokens", "completion_tokens"]), st.integers())),
    ),
    st.builds(lambda raw, at: raw[:at], st.just(body()), st.integers(0, 200)),
)  # fmt: skip


@given(_bodies)
def test_no_body_is_beyond_words(raw: bytes) -> None:
    found = read_reply(raw, model())
    assert found.status in CALL_STATUSES
    msgspec.json.encode((found.text, found.why, found.model, found.fingerprint))  # no lone surrogate is let through
    assert bool(found.why) is (CALL_STATUSES[found.status] != "answer")


# --- calls of tools ----------------------------------------------------------------------------------


def called(*arguments: str | None, name: str = "go", **over: Any) -> Read:
    calls = [{"id": "1", "type": "function", "function": {"name": name, "arguments": item}} for item in arguments]
    return read(message={"content": None, "tool_calls": calls}, **({"finish_reason": "tool_calls"} | over))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"to": "porch", "n": 3}', '{"tool": "go", "arguments": {"to": "porch", "n": 3}}'),
        ("", '{"tool": "go", "arguments": {}}'),
        (None, '{"tool": "go", "arguments": {}}'),
        ("north", '{"tool": "go", "arguments": "north"}'),
        ("[1]", '{"tool": "go", "arguments": "[1]"}'),
        ('{"to": 1', '{"tool": "go", "arguments": "{\\"to\\": 1"}'),
        (
            '{"to": {"x": 1}',
            '{"tool": "go", "arguments": "{\\"to\\": {\\"x\\": 1}"}',
        ),  # what is inside is not what was meant
        ('{"x": 1} and so on', '{"tool": "go", "arguments": "{\\"x\\": 1} and so on"}'),
        ('{"to": 1, "to": 2}', '{"tool": "go", "arguments": "{\\"to\\": 1, \\"to\\": 2}"}'),
        ('{"to": "\\ud800"}', '{"tool": "go", "arguments": {"to": "\\ud800"}}'),
    ],
)
def test_a_call_of_a_tool_is_the_text_of_an_object(arguments: str | None, text: str) -> None:
    found = called(arguments)
    assert (found.status, found.text) == ("complete", text)


def test_several_calls_are_several_objects_and_text_beside_a_call_is_dropped() -> None:
    assert called("{}", "{}").text == '{"tool": "go", "arguments": {}}\n{"tool": "go", "arguments": {}}'
    function = {"name": "go", "arguments": "{}"}
    beside = read(message={"content": "I go.", "tool_calls": [{"function": function}]})
    assert (beside.status, beside.text) == ("complete", '{"tool": "go", "arguments": {}}')


def test_a_call_that_was_cut_off_is_no_call() -> None:
    assert called('{"to', finish_reason="length").status == "cut_off"
    assert called("{}", finish_reason="content_filter").status == "refusal"
    assert read(finish_reason="tool_calls").status == "malformed_reply", "it names a call and has none"
    assert read(message={"content": None, "tool_calls": []}).status == "empty_reply"


@pytest.mark.parametrize("depth", [10, 900, 5_000, 100_000])
def test_deep_arguments_are_bounded(depth: int) -> None:
    assert called('{"a":' * depth + "1" + "}" * depth).status in ("complete", "malformed_reply")
