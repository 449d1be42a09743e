"""Arms A, B, C, D of plans/v1.yaml in the house, with scripted replies: what they are asked, and in what they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sealkit.agents.arms import start_player
from sealkit.agents.turns import Ask, Reply
from sealkit.run.play import answered, play
from sealkit.wire.canon import decode_record, digest_json
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Action, Episode
from sealkit.wire.errors import UsageError
from sealkit.wire.records import Json
from sealkit.wire.verdict import Accepted
from sealkit.world.beliefs import kept
from sealkit.world.loader import load_verifier
from tests.loopback.in_process import ROOT, Study, open_study

HOUSE = open_study()
WITNESS = load_verifier(ROOT / "verifiers" / "witness")


def replay(
    replies: Sequence[str | Reply], arm: str, family: str = "stale_door", study: Study = HOUSE
) -> tuple[Episode, list[Ask]]:
    """The episode with these replies, `done` when they are used up; and what was asked."""
    trusted = study.trusted({"arm": arm, "family": family, "seed": 0})
    player, _ = start_player(
        study.plan.spec.factors.arm[arm], study.world, decode_record(trusted.scenario, Scenario), ROOT
    )
    waiting: Iterator[str | Reply] = iter([*replies, *['{"action": "done"}'] * 15])
    asked: list[Ask] = []

    def answer(question: Ask) -> Reply:
        asked.append(question)
        reply = next(waiting)
        return reply if isinstance(reply, Reply) else Reply(text=reply, status="complete", call=digest_json(len(asked)))

    line = answered(
        play(study.world, player, trusted, study.plan.spec.sample.endings.meanings(), reads_truth=False), answer
    )
    assert WITNESS(trusted, line) == Accepted()
    return decode_record(line, Episode), asked


def said(action: str, argument: str = "", **more: Json) -> str:
    return json.dumps({"action": action, "argument": argument, **more})


def actions(episode: Episode) -> list[Action]:
    return [act.action for act in episode.acts[1:]]


# --- what the agent sees ---------------------------------------------------------------------------


def test_a_turn_shows_briefing_last_returns_notes_and_acts_left() -> None:
    episode, asked = replay([said("look", notes="one"), said("ask"), "?", said("look", notes="two"), said("look")], "A")
    system, user = asked[5].messages
    assert (system.role, user.role) == ("system", "user")
    returns = "\n".join(
        f"Return {act.n}:\n{''.join(segment.text for segment in act.segments).strip()}"  # type: ignore[union-attr]
        for act in episode.acts[3:6]
    )
    scenario = decode_record(HOUSE.trusted({"arm": "A", "family": "stale_door", "seed": 0}).scenario, Scenario)
    assert user.content == (
        f"## Briefing\n\n{scenario.briefing.strip()}\n\n## Last returns\n\n{returns}\n\n## Your notes\n\ntwo\n\n## Actions left\n\n10\n"
    )
    assert (
        asked[0]
        .messages[1]
        .content.endswith("## Last returns\n\n(none yet)\n\n## Your notes\n\n(none)\n\n## Actions left\n\n15\n")
    )
    assert {question.messages[0] for question in asked} == {system}


@pytest.mark.parametrize("arm", "ABCD")
def test_no_request_holds_what_is_hidden_from_the_agent(arm: str) -> None:
    for family in HOUSE.world.families:
        _, asked = replay([said("look")] * 3, arm, family)
        words = str(asked)
        hidden = ["contract", "genesis", "c0", "sA", "revalidation", "controller", "enforce", "Arm", "diagnos", family]
        assert not [word for word in hidden if word in words]


def test_all_arms_share_the_core_and_the_worlds_actions() -> None:
    systems = {arm: replay([], arm)[1][0].messages[0].content for arm in "ABCD"}
    core, how = ((ROOT / f"sealkit/agents/arms/prompts/{name}.md").read_text().strip() for name in ("core", "json"))
    world = (ROOT / "worlds/house/prompts/actions.md").read_text().strip()
    for system in systems.values():
        assert system.startswith(f"{core}\n\n{how}\n\n{world}\n\n")
    assert systems["A"] == systems["B"] != systems["C"] == systems["D"]
    assert "at most 600 characters" in systems["A"] and "at most 200 characters" in systems["C"]


def test_the_store_is_shown_with_its_fields() -> None:
    belief = {"subject": "Place the Blue Mug", "value": "The Den table.", "seen": 0}
    _, asked = replay([said("look", beliefs=[belief], plan="go"), said("look", beliefs=[{**belief, "seen": 1}])], "C")
    heading = "id.revision | subject | value | supported by | observed at | last verified at | invalidated by\n"
    assert (
        f"## Your beliefs\n\n{heading}b1.1 | place blue mug | den | briefing | 0 | 0 | -\nThe next free id is b2.\n"
        in asked[1].messages[1].content
    )
    assert f"{heading}b1.1 | place blue mug | den | briefing | 0 | 1 | -\n" in asked[2].messages[1].content
    assert "## Your plan\n\ngo\n" in asked[2].messages[1].content


def test_schemas_name_what_is_due() -> None:
    for arm, keys in (
        ("A", ["action", "argument", "notes"]),
        ("D", ["action", "argument", "beliefs", "cites", "plan"]),
    ):
        schema = replay([], arm)[1][0].schema
        assert schema is not None and schema["required"] == keys
        assert schema["properties"]["action"]["enum"] == ["look", "move", "open", "pick", "drop", "ask", "done"]  # type: ignore[index, call-overload]


# --- A and B, C and D ------------------------------------------------------------------------------

WALK = ["look", "move", "pick", "drop", "ask"]
REPLIES = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.builds(
            lambda name, word, n, cites: said(
                name, word, notes=f"n{n}", plan=f"p{n}", cites=cites,
                beliefs=[{"subject": "door den-hall", "value": word, "seen": n}],
            ),
            st.sampled_from(WALK), st.sampled_from(["porch", "open", "locked", ""]), st.integers(0, 15),
            st.lists(st.sampled_from(["b1", "b1.1", "b1.2", "b2.1", "x"]), max_size=3),
        ),
    ),
    max_size=14,
)  # fmt: skip
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(replies=REPLIES)
def test_with_the_same_replies_a_and_b_ask_in_the_same_bytes_and_act_the_same(replies: list[str]) -> None:
    (a, asked_a), (b, asked_b) = replay(replies, "A"), replay(replies, "B")
    assert asked_a == asked_b
    assert [(act.action, act.calls, act.memory, act.segments) for act in a.acts] == [
        (act.action, act.calls, act.memory, act.segments) for act in b.acts
    ]


@QUICK
@given(replies=REPLIES)
def test_with_the_same_replies_c_and_d_differ_only_by_blocks(replies: list[str]) -> None:
    c, d = replay(replies, "C")[0], replay(replies, "D")[0]
    for in_c, in_d in zip(c.acts[1:], d.acts[1:], strict=False):
        block = getattr(kept(in_d.memory), "block", None)
        assert in_c.memory == {**in_d.memory, "block": None} and in_c.calls == in_d.calls
        if block is None:
            assert in_d.action == in_c.action
        else:
            assert in_d.action.args["why"] == "blocked" and in_c.action.name == block.action
            assert in_c.action.name not in ("look", "ask")
    if all(kept(act.memory) is None or kept(act.memory).block is None for act in d.acts[1:]):  # type: ignore[union-attr]
        assert [act.segments for act in c.acts] == [act.segments for act in d.acts]


# --- blocks ----------------------------------------------------------------------------------------


def believing(value: str, seen: int = 0) -> list[Json]:
    return [{"subject": "hand", "value": "x", "seen": 0}, {"subject": f"door {DOOR}", "value": value, "seen": seen}]


SCENARIO = decode_record(HOUSE.trusted({"arm": "A", "family": "stale_door", "seed": 0}).scenario, Scenario)
ROOM = SCENARIO.genesis["agent"]["room"]  # type: ignore[index, call-overload]
DOOR = next(door for door in SCENARIO.genesis["doors"] if ROOM in door.split("-"))  # type: ignore[union-attr]
BEYOND = next(room for room in DOOR.split("-") if room != ROOM)


def test_a_world_act_on_a_contradicted_premise_is_blocked_and_uses_the_turn() -> None:
    replies = [
        said("look", beliefs=believing("locked")),
        said("move", BEYOND, cites=["b2.1"]),
        said("look", cites=["b2.1"]),
    ]
    c, d = replay(replies, "C")[0], replay(replies, "D")[0]
    assert actions(c)[1] == Action(name="move", args={"to": BEYOND})
    say = (f"Blocked: move {BEYOND} was not carried out, and the turn is used. A premise went stale: b2.1 (door {DOOR}: locked) "
           "was contradicted, return 1 says open.\n")  # fmt: skip
    assert actions(d)[1] == Action(name="noop", args={"why": "blocked", "say": say})
    assert d.acts[2].delta == () and len(d.acts) == len(c.acts)
    assert d.acts[2].memory["block"] == {
        "action": "move", "argument": BEYOND,
        "stale": [{"cite": "b2.1", "subject": f"door {DOOR}", "value": "locked", "why": "contradicted", "by": "return 1 says open", "seen": 1}],
    }  # fmt: skip
    assert actions(d)[2] == Action(name="look", args={})  # looking is never blocked


@pytest.mark.parametrize(
    ("beliefs", "cites", "blocked"),
    [
        (believing("open", 1), ["b2.1"], True),  # superseded: this reply itself made b2.2
        (believing("open", 1), ["b2.2"], False),
        (believing("open", 1), ["b2.3"], False),  # does not exist yet
        (believing("", 1), ["b2"], True),  # withdrawn in this reply
        (believing("locked", 1), ["b2.1"], True),  # "verified" by a return that says the opposite
        ([], [], False),
    ],
)
def test_updates_are_made_before_the_cites_are_checked(beliefs: list[Json], cites: list[Json], blocked: bool) -> None:
    replies = [said("look", beliefs=believing("locked")), said("move", BEYOND, beliefs=beliefs, cites=cites)]
    assert (actions(replay(replies, "D")[0])[1].name == "noop") == blocked


def test_done_on_a_stale_premise_is_blocked() -> None:
    replies = [said("look", beliefs=believing("locked")), said("done", cites=["b2.1"])]
    episode = replay(replies, "D")[0]
    assert [action.name for action in actions(episode)] == ["look", "noop", "done"]


# --- replies without an act ------------------------------------------------------------------------


@pytest.mark.parametrize("arm", "AD")
def test_a_reply_that_cannot_be_read_uses_the_turn_and_keeps_the_memory(arm: str) -> None:
    memory = {"notes": "n"} if arm == "A" else {"plan": "n"}
    episode, asked = replay([said("look", **memory), "I look around", said("look")], arm)  # type: ignore[arg-type]
    assert actions(episode)[1] == Action(
        name="noop",
        args={
            "why": "unparsable_reply",
            "say": "Your reply could not be read: it holds no JSON object. The turn is used.\n",
        },
    )
    assert {key: episode.acts[2].memory[key] for key in memory} == memory
    assert "Return 2:\nYour reply could not be read" in asked[2].messages[1].content


@pytest.mark.parametrize(
    ("status", "say"), [("refusal", "You gave no action."), ("cut_off", "Your reply was cut off before it ended.")]
)
def test_a_refusal_and_a_cut_off_reply_are_what_the_plan_says(status: str, say: str) -> None:
    reply = Reply(text=said("done"), status=status, call=digest_json("x"))  # type: ignore[arg-type]
    episode = replay([reply], "B")[0]
    assert actions(episode)[0] == Action(name="noop", args={"why": status, "say": f"{say} The turn is used.\n"})
    assert episode.acts[1].calls == (digest_json("x"),)


def test_a_world_without_a_window_or_without_words_is_named() -> None:
    from msgspec.structs import replace

    arm = HOUSE.plan.spec.factors.arm["A"]
    with pytest.raises(UsageError, match=r"\$\.world\.params: found None for observation_window"):
        start_player(arm, HOUSE.world, replace(SCENARIO, params={}), ROOT)
    with pytest.raises(UsageError, match=r"worlds/house/words\.py: the world has no words for a model"):
        start_player(arm, replace(HOUSE.world, words=None), SCENARIO, ROOT)
