"""A player that asks models takes turns in a world: replies go in, and a fault uses the turn or ends the episode."""

from __future__ import annotations

from pathlib import Path

import pytest

from sealkit.agents.turns import Ask, Fault, Message, Move, Reply, Turn
from sealkit.run.play import answered, nobody, play
from sealkit.wire.canon import decode_record, digest_json, encode_record
from sealkit.wire.episode import Action, Episode, Text, Trusted
from sealkit.wire.errors import HarnessError
from sealkit.wire.trace import blocked, noop
from sealkit.wire.verdict import Accepted
from sealkit.world.loader import LoadedWorld, load_verifier, make_scenario
from sealkit.world.sdk import View
from tests.world.makeshift import lamp

CALL = digest_json("a body")
USES_TURN = {"unparsable_reply": "uses_turn", "refusal": "failure"}


def slot_in(world: LoadedWorld) -> Trusted:
    scenario = encode_record(make_scenario(world, "calm", 0, {}))
    slot = {"arm": "obedient", "family": "calm", "seed": 0}
    return Trusted(pin=digest_json("pin"), judge=digest_json("judge"), slot=slot, scenario=scenario)


class Obedient:
    """Does what the reply says in one word; whatever else it says is a fault."""

    def turn(self, view: View) -> Turn:
        asked = Ask(role="agent", messages=(Message(role="user", content=view.briefing),), schema=None)
        reply = yield asked
        if reply.status != "complete":
            return Fault(why=reply.status, say="the model refused", calls=(reply.call,), memory={})
        if not reply.text.isalpha():
            return Fault(why="unparsable_reply", say="Say one word.", calls=(reply.call,), memory={"said": reply.text})
        return Move(action=Action(name=reply.text, args={}), calls=(reply.call,), memory={"said": reply.text})


def played(tmp_path: Path, *replies: Reply) -> Episode:
    world = lamp(tmp_path)
    trusted = slot_in(world)
    given = iter(replies)
    line = answered(play(world, Obedient(), trusted, USES_TURN, reads_truth=False), lambda asked: next(given))
    witness = load_verifier(Path(__file__).parents[2] / "verifiers" / "witness")
    assert witness(trusted, line) == Accepted()
    return decode_record(line, Episode)


def said(text: str) -> Reply:
    return Reply(text=text, status="complete", call=CALL)


def test_calls_and_memory_stand_in_the_act(tmp_path: Path) -> None:
    episode = played(tmp_path, said("light"), said("done"))
    assert [(act.action.name, act.calls, act.memory) for act in episode.acts] == [
        ("begin", (), {}),
        ("light", (CALL,), {"said": "light"}),
        ("done", (CALL,), {"said": "done"}),
    ]
    assert episode.closing.ended == "final"


def test_a_fault_that_uses_the_turn_leaves_the_world_alone_and_tells_the_agent(tmp_path: Path) -> None:
    episode = played(tmp_path, said("{}"), said("done"))
    idle = episode.acts[1]
    assert idle.action == Action(name="noop", args={"say": "Say one word.", "why": "unparsable_reply"})
    assert (idle.delta, idle.segments) == ((), (Text(text="Say one word."),))
    assert (idle.calls, idle.memory) == ((CALL,), {"said": "{}"})


def test_a_fault_that_uses_no_turn_ends_the_episode_by_its_word(tmp_path: Path) -> None:
    episode = played(tmp_path, said("light"), Reply(text="", status="refusal", call=CALL))
    assert (episode.closing.ended, episode.closing.why) == ("refusal", "the model refused")
    assert episode.closing.counts.acts == 1


class Held:
    """Uses its turns by these actions, and knows whether it was closed."""

    def __init__(self, *actions: Action) -> None:
        self.waiting = list(actions)
        self.closed = 0

    def turn(self, view: View) -> Turn:
        yield from ()
        return Move(action=self.waiting.pop(0), calls=(), memory={})

    def close(self) -> None:
        self.closed += 1


def test_a_player_may_use_its_turn_because_it_was_blocked(tmp_path: Path) -> None:
    world, player = lamp(tmp_path), Held(blocked("The premise went stale."), Action(name="done", args={}))
    line = answered(play(world, player, slot_in(world), USES_TURN, reads_truth=False), nobody)
    held = decode_record(line, Episode).acts[1]
    assert held.action == Action(name="noop", args={"say": "The premise went stale.", "why": "blocked"})
    assert (held.delta, held.segments) == ((), (Text(text="The premise went stale."),))
    assert player.closed == 1


@pytest.mark.parametrize(
    "action",
    [noop("refusal", "x"), Action(name="noop", args={"why": "blocked"}), Action(name="noop", args={"why": "blocked", "say": 3}),
     Action(name="noop", args={"why": "blocked", "say": "x", "more": 1}), Action(name="begin", args={"why": "blocked", "say": "x"})],
)  # fmt: skip
def test_no_other_noop_is_a_players_to_make(tmp_path: Path, action: Action) -> None:
    world, player = lamp(tmp_path), Held(action)
    with pytest.raises(HarnessError, match="sealkit's own"):
        answered(play(world, player, slot_in(world), USES_TURN, reads_truth=False), nobody)
    assert player.closed == 1


@pytest.mark.parametrize("word", ["noop", "begin"])
def test_no_agent_says_sealkits_own_words(tmp_path: Path, word: str) -> None:
    with pytest.raises(HarnessError, match="sealkit's own"):
        played(tmp_path, said(word))


def test_a_scripted_agent_that_asks_is_refused(tmp_path: Path) -> None:
    world = lamp(tmp_path)
    with pytest.raises(HarnessError, match="asked the model 'agent'"):
        answered(play(world, Obedient(), slot_in(world), {}, reads_truth=False), nobody)


class Odd:
    """Ends in a way that no plan knows, or leaves the process."""

    def __init__(self, ends: str) -> None:
        self.ends = ends

    def turn(self, view: View) -> Turn:
        yield from ()
        if self.ends == "exit":
            raise SystemExit(0)
        return Fault(why=self.ends, say="", calls=(), memory={})


@pytest.mark.parametrize(
    ("ends", "says"), [("tired", "ended by 'tired', to which the plan gives no meaning"), ("exit", "raised SystemExit")]
)
def test_an_end_that_no_plan_knows_is_the_harness_error_of_its_arm(tmp_path: Path, ends: str, says: str) -> None:
    world = lamp(tmp_path)
    with pytest.raises(HarnessError, match=says):
        answered(play(world, Odd(ends), slot_in(world), USES_TURN, reads_truth=False), nobody)
