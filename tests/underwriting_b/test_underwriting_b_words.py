"""The words of the desk of Study B: a model can do all that a scripted policy can, and is told no more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

import pytest

from sealkit.agents.arms import start_player
from sealkit.agents.turns import Ask, Player, Reply
from sealkit.plan.actors import BeliefStoreArm, NotesArm, ToolsArm
from sealkit.run.play import answered, play
from sealkit.wire.canon import decode_record, digest_json
from sealkit.wire.episode import Episode, Fact, Text
from sealkit.wire.errors import UsageError
from sealkit.wire.records import Json
from sealkit.wire.trace import is_blocked
from sealkit.wire.verdict import Accepted
from sealkit.world.beliefs import Statement
from sealkit.world.loader import load_world, make_scenario
from sealkit.world.sdk import words_of
from tests.loopback.desk_policies import POLICIES as MODELS
from tests.loopback.in_process import request_of
from tests.underwriting_b.conftest import CONTROL, LEVELS, POLICIES, ROOT
from tests.verifiers.loading import witness

if TYPE_CHECKING:
    from .conftest import Desk

NOTES = NotesArm(role="control", scaffold="notes", model="agent", notes_chars=600)


STORE = BeliefStoreArm(
    role="treatment", scaffold="belief_store", model="agent", plan_chars=200, enforce="revalidation"
)  # fmt: skip


TOOLS = ToolsArm(role="control", scaffold="tools", model="agent")
ModelArm: TypeAlias = NotesArm | BeliefStoreArm | ToolsArm


def player(desk: Desk, family: str, arm: ModelArm) -> Player:
    return start_player(arm, desk.world, desk.scenario(family), ROOT)[0]


def spoken(desk: Desk, family: str, replies: list[str], arm: ModelArm = NOTES) -> tuple[Episode, list[Ask]]:
    """The episode of a model arm with these replies, and what it was asked."""
    trusted, asked, waiting = desk.trusted(desk.scenario(family)), list[Ask](), iter(replies)

    def answer(question: Ask) -> Reply:
        asked.append(question)
        return Reply(text=next(waiting), status="complete", call=digest_json(len(asked)))

    endings = {"unparsable_reply": "uses_turn"}
    line = answered(play(desk.world, player(desk, family, arm), trusted, endings, reads_truth=False), answer)
    assert witness(trusted, line) == Accepted()
    return decode_record(line, Episode), asked


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", ["phase-metric-inbox", "ladder-a3-pushed"])
def test_a_model_that_says_what_a_policy_does_does_it(desk: Desk, policy: str, family: str) -> None:
    scripted = decode_record(desk.play(policy, family)[1], Episode)
    moves = [act.action for act in scripted.acts[1:]]
    replies = [json.dumps({"action": move.name, "arguments": move.args, "notes": "-"}) for move in moves]
    episode, asked = spoken(desk, family, replies)
    assert [act.action for act in episode.acts[1:]] == moves
    assert episode.closing.ended == "final"
    said = asked[-1].messages[1].content
    assert all(segment.text in said for segment in episode.acts[-2].segments if isinstance(segment, Text | Fact))
    assert dict(desk.judge(desk.scenario(family), episode)) == desk.judged(policy, family)


@pytest.mark.parametrize("arm", [NOTES, TOOLS], ids=["json", "tools"])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_a_model_is_shown_is_enough_to_play_each_policy(desk: Desk, policy: str, arm: ModelArm) -> None:
    """A policy behind the eyes of a model, which sees the request and nothing else, does as the scripted one does."""
    for family in desk.world.families:
        trusted = desk.trusted(desk.scenario(family))

        def answer(question: Ask) -> Reply:
            text = MODELS[policy](request_of(question))
            return Reply(text=text, status="complete", call=digest_json(text))

        line = answered(play(desk.world, player(desk, family, arm), trusted, {}, reads_truth=False), answer)
        acts = [act.action for act in decode_record(line, Episode).acts]
        assert acts == [act.action for act in decode_record(desk.play(policy, family)[1], Episode).acts], family


def test_what_a_model_is_told_names_every_tool_and_no_family(desk: Desk) -> None:
    (first, *_), names = spoken(desk, "ladder-a3-pushed", ["?"] * 16)[1], desk.scenario(CONTROL).footprints
    system, user = (message.content for message in first.messages)
    for name in names:
        assert f"- `{name}`: " in system and name in user
    assert "- `arguments`: an object" in system and "`argument`:" not in system
    assert not [level for level in (*LEVELS, CONTROL, "candidate", "A3", "360000") if level in system + user]
    assert user == spoken(desk, "phase-intake-inbox", ["?"] * 16)[1][0].messages[1].content


def test_the_schema_of_a_reply_has_every_tools_arguments_once(desk: Desk) -> None:
    schema = spoken(desk, CONTROL, ["?"] * 16)[1][0].schema
    assert schema is not None and schema["required"] == ["action", "arguments", "notes"]
    parts: Json = schema["properties"]["arguments"]["anyOf"]  # type: ignore[index, call-overload]
    assert isinstance(parts, list)
    named = [sorted(part["properties"]) for part in parts]  # type: ignore[index, call-overload, arg-type]
    assert named == [
        [], ["message"], ["recommendation"], ["citations", "rationale", "recommendation", "root"],
        ["monthly_debt", "monthly_income"],
    ]  # fmt: skip
    assert not [part for part in parts if "title" in part or "$schema" in part]  # type: ignore[operator]


def test_a_controller_holds_back_a_submission_on_a_superseded_policy(desk: Desk) -> None:
    """The words serve an arm with a belief store: what a second reading denies is no premise any more."""
    family = "phase-evidence-pushed"
    submit = desk.submit(family, "APPROVE")
    belief: Json = [{"subject": "policy maximum", "value": "400,000 ppm", "seen": 2}]
    replies = [
        json.dumps({"action": "case.read", "arguments": {}}),
        json.dumps({"action": "policy.read", "arguments": {}}),
        json.dumps({"action": "policy.read", "beliefs": belief}),
        *[json.dumps({"action": submit.name, "arguments": submit.args, "cites": ["b1.1"]})] * 13,
    ]
    episode, asked = spoken(desk, family, replies, STORE)
    assert is_blocked(episode.acts[4].action) and "policy maximum" in str(episode.acts[4].action.args["say"])
    assert episode.closing.ended == "budget"
    assert (desk.world.folder / "prompts" / "beliefs.md").read_text("utf-8").strip() in asked[0].messages[0].content


def test_tools_are_told_in_the_endpoints_own_way(desk: Desk) -> None:
    _, (first, *_) = spoken(desk, CONTROL, ["?"] * 16, TOOLS)
    assert first.schema is None
    assert [tool.name for tool in first.tools] == [name.replace(".", "_") for name in desk.scenario(CONTROL).footprints]
    told = next(tool for tool in first.tools if tool.name == "underwriting_calculate")
    assert told.description.startswith("Calculate debt to income. The ratio of a monthly debt")
    assert set(told.parameters) == {"type", "properties", "required", "additionalProperties"}
    system = first.messages[0].content
    assert "call exactly one of your tools" in system and "JSON" not in system


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("I would read the case.", "it holds no JSON object"),
        ('{"tool": "case_read", "arguments": {}}\n{"tool": "policy_read", "arguments": {}}', "more than one"),
        ('{"tool": "case_close", "arguments": {}}', "the tool is none of"),
        ('{"tool": "case.read", "arguments": {}}', "the tool is none of"),
        ('{"tool": "case_read", "arguments": "{"}', "`arguments` is no object"),
        ('{"action": "case_read", "arguments": {}}', "the tool is no text"),
    ],
)
def test_what_calls_no_tool_uses_up_an_action(desk: Desk, reply: str, why: str) -> None:
    episode, _ = spoken(desk, CONTROL, [reply] * 16, TOOLS)
    assert {act.action.name for act in episode.acts[1:]} == {"noop"}
    assert why in str(episode.acts[1].action.args["say"])


def test_a_world_without_schemas_has_no_tools_for_a_model() -> None:
    house = load_world(ROOT, "house")
    scenario = make_scenario(house, "stale_door", 0, {"turn_budget": 15, "observation_window": 3})
    with pytest.raises(UsageError, match="gives its actions no schemas"):
        start_player(TOOLS, house, scenario, ROOT)


def test_what_a_return_states_is_what_its_facts_are(desk: Desk) -> None:
    words = desk.part("words")
    names = {
        "monthly_debt": "case debt", "monthly_income": "case income", "income_status": "case status",
        "maximum_ppm": "policy maximum",
    }  # fmt: skip
    for policy in POLICIES:
        for act in decode_record(desk.play(policy, "ladder-a1-inbox")[1], Episode).acts:
            stated = words.observe("", words_of(act.segments))
            facts = [item for item in act.segments if isinstance(item, Fact)]
            for fact in facts:
                _, source, _, version, name = fact.pointer.split("/")
                assert Statement(f"{source} version", version) in stated
                if name in names:
                    assert Statement(names[name], str(fact.value)) in stated
            if act.action.name not in ("case.read", "policy.read", "underwriting.calculate"):
                assert stated == (), "a message states nothing"


def test_only_whole_lines_state_anything(desk: Desk) -> None:
    observe = desk.part("words").observe
    assert observe("", "Debt to income: 366667 ppm.\n") == (Statement("ratio", "366667"),)
    assert observe("", "They say: Debt to income: 1 ppm.\nLargest debt to income: 1 ppm. Really.\n") == ()


@pytest.mark.parametrize(
    ("given", "due"),
    [
        (("Policy Maximum", "400,000 ppm"), ("policy maximum", "400000")),
        (("policy.maximum", "400000"), ("policy maximum", "400000")),
        (("case_reserves", "4 months"), ("case reserves", "4")),
        (("policy reserves", "1 month."), ("policy reserves", "1")),
        (("case status", "Verified."), ("case status", "verified")),
        (("the policy version", "v2"), ("policy version", "v2")),
    ],
)
def test_an_agents_own_words_are_spelled_alike(desk: Desk, given: tuple[str, str], due: tuple[str, str]) -> None:
    assert desk.part("words").spell(*given) == due
