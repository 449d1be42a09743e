"""What a model may reply, and what is made of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealkit.agents.arms.reply import (
    MOST_ITEMS,
    MOST_WORDS,
    Takes,
    read_action,
    read_cites,
    read_text,
    read_updates,
)
from sealkit.wire.canon import encode_value
from sealkit.wire.episode import Action
from sealkit.wire.records import Json
from sealkit.world.beliefs import Update
from sealkit.world.replies import MOST_CHARACTERS, Unreadable, read_object

ACTIONS = {"look": None, "move": "to", "pick": "item"}


@pytest.mark.parametrize(
    "text",
    [
        '{"action": "look"}',
        ' \n{"action": "look"}\n',
        '```json\n{"action": "look"}\n```',
        'I will look around. {"action": "look"} That is all.',
        'In {this} room: {"action": "look"}',
    ],
)
def test_one_object_is_found(text: str) -> None:
    assert read_object(text) == {"action": "look"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("look", "no JSON object"),
        ('["look"]', "no JSON object"),
        ('{"action": "look"', "no JSON object"),
        ('{"action": "look"}{"action": "look"}', "more than one"),
        ('{"action": "look", "action": "done"}', "twice"),
        ('{"action": "look", "beliefs": [{"a": 1, "a": 1}]}', "twice"),
        ("{" * 100_000, "too long"),
        ("{" * 10_000, "no JSON object"),
        ('{"a":' * 5_000, "no JSON object"),
        (f'{{"a": {"9" * 5_000}}}', "no JSON object"),
        ("x" * (MOST_CHARACTERS + 1), "too long"),
    ],
)
def test_what_is_not_one_object_is_unreadable(text: str, why: str) -> None:
    found = read_object(text)
    assert isinstance(found, Unreadable) and why in found.why


@pytest.mark.parametrize(
    ("reply", "due"),
    [
        ({"action": "move", "argument": "porch"}, ("move", "porch")),
        ({"action": "move porch"}, ("move", "porch")),
        ({"action": "move porch", "argument": ""}, ("move", "porch")),
        ({"action": "move porch", "argument": "Porch"}, ("move", "porch")),
        ({"action": "pick  red mug", "argument": None}, ("pick", "red mug")),
        ({"action": " MOVE ", "argument": " the Porch "}, ("move", "the Porch")),
        ({"action": "move", "argument": ""}, ("move", "")),
        ({"action": "look", "argument": "around"}, ("look", None)),
        ({"action": "move", "argument": "x" * 500}, ("move", "x" * MOST_WORDS)),
        ({"action": "look", "thoughts": ["passed over"]}, ("look", None)),
    ],
)
def test_actions_are_read(reply: dict[str, object], due: tuple[str, str | None]) -> None:
    name, argument = due
    key = ACTIONS[name]
    assert read_action(reply, ACTIONS) == Action(name=name, args={} if key is None else {key: argument})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "reply",
    [
        {}, {"action": None}, {"action": 3}, {"action": ["move"]}, {"action": ""}, {"action": "fly"},
        {"action": "noop"}, {"action": "begin"}, {"action": "fly porch"}, {"action": "move porch", "argument": "den"},
        {"action": "move", "argument": 3}, {"action": "move", "argument": ["porch"]}, {"action": "move", "argument": "\ud800"},
        {"action": "move \udfff"},
    ],
)  # fmt: skip
def test_what_is_no_action_is_unreadable(reply: dict[str, object]) -> None:
    assert isinstance(read_action(reply, ACTIONS), Unreadable)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "due"),
    [
        ("new", "new"), (" new \n", "new"), (None, "old"), ("", ""), ("x" * 599 + "yz", "x" * 599 + "y"),
        (" " + "é" * 700, "é" * 600), ("x" * 599 + " y", "x" * 599),
    ],
)  # fmt: skip
def test_notes_are_cut_behind_their_last_character(given: str | None, due: str) -> None:
    assert read_text({"notes": given}, "notes", before="old", limit=600) == due
    assert read_text({}, "notes", before="old", limit=600) == "old"


@pytest.mark.parametrize("given", [1, ["a"], {"a": "b"}, True, "\ud83d"])
def test_notes_that_are_no_text_are_unreadable(given: object) -> None:
    assert isinstance(read_text({"notes": given}, "notes", before="", limit=9), Unreadable)  # type: ignore[dict-item]


def test_beliefs_are_read_and_bounded() -> None:
    given = [{"subject": f" door {n} ", "value": None, "seen": n, "sure": "yes"} for n in range(20)]
    found = read_updates({"beliefs": given}, last=4)  # type: ignore[dict-item]
    assert found == tuple(Update(f"door {n}", "", n if n <= 4 else 4) for n in range(MOST_ITEMS))
    assert read_updates({}, last=4) == read_updates({"beliefs": None}, last=4) == ()
    assert read_updates({"beliefs": [{"subject": "a", "value": "v" * 500, "seen": -1}]}, last=2) == (
        Update("a", "v" * MOST_WORDS, 2),
    )


@pytest.mark.parametrize(
    "given",
    ["door", {"subject": "a"}, ["door"], [{}], [{"subject": " ", "value": "x"}], [{"subject": "a", "value": 3}],
     [{"subject": "a", "value": "b", "seen": "two"}], [{"subject": "a", "value": "b", "seen": True}],
     [{"subject": "a", "value": "\ud800", "seen": 1}]],
)  # fmt: skip
def test_what_is_no_list_of_beliefs_is_unreadable(given: object) -> None:
    assert isinstance(read_updates({"beliefs": given}, last=4), Unreadable)  # type: ignore[dict-item]


def test_cites_are_read_and_bounded() -> None:
    assert read_cites({"cites": [" b1.2 ", "b9"]}) == ("b1.2", "b9")
    assert read_cites({"cites": ["b1"] * 50}) == ("b1",) * MOST_ITEMS
    assert read_cites({}) == read_cites({"cites": None}) == ()
    for bad in ("b1", [1], [["b1"]], ["\ud800"]):
        assert isinstance(read_cites({"cites": bad}), Unreadable)  # type: ignore[dict-item]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
KEYS = ("action", "argument", "notes", "plan", "beliefs", "cites")


@given(st.text() | st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JSON)).map(json.dumps))
def test_no_reply_raises(text: str) -> None:
    found = read_object(text)
    if not isinstance(found, Unreadable):
        read_action(found, ACTIONS)
        read_text(found, "notes", before="", limit=600)
        read_updates(found, last=3)
        read_cites(found)


# --- arguments by a schema ---------------------------------------------------------------------------

TOOLS: dict[str, Takes] = {"pay": {"type": "object"}, "wait": {"type": "object"}}


@pytest.mark.parametrize(
    ("reply", "due"),
    [
        ({"action": "pay", "arguments": {"sum": 3, "to": ["a", None]}}, ("pay", {"sum": 3, "to": ["a", None]})),
        ({"action": " Pay ", "arguments": {}}, ("pay", {})),
        ({"action": "wait"}, ("wait", {})),
        ({"action": "wait", "arguments": None, "argument": "a while"}, ("wait", {})),
        (
            {"action": "pay", "arguments": {"sum": "no schema is asked here"}},
            ("pay", {"sum": "no schema is asked here"}),
        ),
    ],
)
def test_an_action_with_a_schema_takes_an_object(reply: dict[str, Json], due: tuple[str, dict[str, Json]]) -> None:
    assert read_action(reply, TOOLS) == Action(name=due[0], args=due[1])


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "no object"),
        ("sum", "no object"),
        (0, "no object"),
        ({"sum": 1.5}, "a fraction"),
        ({"sum": 25.0}, "a fraction"),
        ({"sum": 2**53}, "taken down"),
        ({"to": "\ud800"}, "taken down"),
        ({"größe": 1}, "taken down"),
        ({"to": nested(60)}, "taken down"),
    ],
)
def test_arguments_that_no_record_can_hold_cannot_be_read(arguments: Json, why: str) -> None:
    found = read_action({"action": "pay", "arguments": arguments}, TOOLS)
    assert isinstance(found, Unreadable) and why in found.why


@pytest.mark.parametrize("action", ["pay 3", "steal", ""])
def test_an_action_with_a_schema_is_one_word(action: str) -> None:
    assert isinstance(read_action({"action": action, "arguments": {}}, TOOLS), Unreadable)


def test_what_can_be_read_can_be_taken_down() -> None:
    """An agent must not be able to break its own episode: what is read fits where an episode keeps it."""
    replies = {n: {"action": "pay", "arguments": {"to": nested(n)}} for n in range(64)}
    deepest = max(n for n, reply in replies.items() if isinstance(read_action(reply, TOOLS), Action))  # type: ignore[arg-type]
    assert deepest > 20
    encode_value([[[[[[[[{"args": {"to": nested(deepest)}}]]]]]]]])
