"""Episodes from recorded replies: the same bytes without a network, and every difference named at its call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.errors import WithheldError
from sealkit.agents.models.recorded import Recorded
from sealkit.agents.models.request import FORMS
from sealkit.agents.turns import Action, Ask, Message, Move, Reply, Turn
from sealkit.run.play import answered, play
from sealkit.wire.calls import Call
from sealkit.wire.errors import UntrustedError
from sealkit.world.loader import load_world
from sealkit.world.sdk import View
from tests.agents.models.bench import HELLO, SLOT, Bench, policy, read_calls, run, say
from tests.loopback import Loopback, faults

ASKS = (HELLO, say("and now?"), say("still there?"))


@pytest.fixture
def calls(bench: Bench) -> tuple[Call, ...]:
    """Three calls; the second needed three requests, and its reply was cut off."""
    with Loopback(policy, {2: faults.http_error(500), 3: faults.rate_limited(), 4: faults.cut_off}) as server:
        return bench.ask(server, *ASKS)[1]


def recorded(bench: Bench, calls: tuple[Call, ...]) -> Recorded:
    return Recorded(bench.sealed.plan.spec, bench.blobs.get, calls)


def test_the_replies_are_those_that_came(bench: Bench, calls: tuple[Call, ...]) -> None:
    replies = recorded(bench, calls)
    found = [replies.answer(ask) for ask in ASKS]
    replies.finish()
    assert [reply.text for reply in found] == [f"you said: {ask.messages[0].content}" for ask in ASKS]
    assert [reply.status for reply in found] == ["complete", "cut_off", "complete"]
    assert [reply.call for reply in found] == [calls[n].response for n in (0, 3, 4)]


def changed(n: int, **fields: Any) -> Callable[[tuple[Call, ...]], tuple[Call, ...]]:
    return lambda calls: (*calls[:n], replace(calls[n], **fields), *calls[n + 1 :])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda calls: calls[:0], "call 1: no reply is recorded"),
        (lambda calls: calls[1:], "call 1: found request 1 of call 2, due request 1 of call 1"),
        (lambda calls: calls[:3], "call 2: no reply is recorded"),
        (lambda calls: (*calls[:2], *calls[3:]), "call 2: found request 3 of call 2, due request 2 of call 2"),
        (lambda calls: (*calls, calls[-1]), "call 4: 1 recorded requests that the episode does not make"),
        (changed(3, status="complete"), "call 2: recorded as complete, and its body reads cut_off"),
        (changed(0, request="sha256:" + "0" * 64), "call 1: found the request 000000000000 to agent"),
        (changed(0, role="diagnoser"), "call 1: found the request"),
        (changed(0, status="model_drift"), "call 1: no reply is recorded"),
        (changed(0, response="sha256:" + "0" * 64), "there is no such body"),
    ],
)
def test_each_difference_is_named_at_its_call(
    bench: Bench, calls: tuple[Call, ...], change: Callable[[tuple[Call, ...]], tuple[Call, ...]], says: str
) -> None:
    with pytest.raises(UntrustedError, match=says):
        replies = recorded(bench, change(calls))
        for ask in ASKS:
            replies.answer(ask)
        replies.finish()


def test_another_prompt_is_another_request(bench: Bench, calls: tuple[Call, ...]) -> None:
    replies = recorded(bench, calls)
    replies.answer(HELLO)
    with pytest.raises(UntrustedError, match=r"call 2: .* prompt, arm, model or settings differ"):
        replies.answer(say("and now!"))


def test_another_reply_in_its_place_is_found(bench: Bench, calls: tuple[Call, ...]) -> None:
    """The body of the third reply, under the name of the first."""
    bench.blobs.path(str(calls[0].response)).write_bytes(bench.blobs.path(str(calls[4].response)).read_bytes())
    with pytest.raises(UntrustedError, match="holds the body"):
        recorded(bench, calls).answer(HELLO)


def test_a_withheld_reply_is_said_to_be(bench: Bench, calls: tuple[Call, ...]) -> None:
    blobs = Blobs(bench.folder / "blobs", inside=bench.folder, withheld={str(calls[0].response)})
    with pytest.raises(WithheldError):
        Recorded(bench.sealed.plan.spec, blobs.get, calls).answer(HELLO)


class Walker:
    """Goes where the model says, and remembers what it said."""

    def turn(self, view: View) -> Turn:
        shown = "".join(segment.text for segment in view.last if hasattr(segment, "text"))
        reply = yield Ask(
            role="agent", messages=(Message(role="user", content=f"{view.briefing}\n{shown}"),), schema=None
        )
        return Move(action=Action(name="look", args={}), calls=(reply.call,), memory={"said": reply.text})


@pytest.mark.parametrize("form", FORMS)
def test_an_episode_again_is_the_same_bytes(bench: Bench, form: str) -> None:
    """In the house, over HTTP with faults, then from its bodies alone."""
    world = load_world(bench.sealed.study, "house")
    trusted = bench.sealed.trusted(SLOT)

    async def go() -> tuple[bytes, tuple[Call, ...]]:
        async with bench.gateway(f"{server.url}#{form}") as gateway:
            line = bench.line(gateway)
            playing = play(world, Walker(), trusted, {}, reads_truth=False)
            reply: Reply | None = None
            try:
                while True:
                    reply = await line.answer(playing.send(reply))  # type: ignore[arg-type]
            except StopIteration as done:
                return done.value, read_calls(line)

    with Loopback(policy, {3: faults.rate_limited(), 7: faults.reset}) as server:
        episode, calls = run(go())
    replies = Recorded(bench.sealed.plan.spec, bench.blobs.get, calls)
    again = answered(play(world, Walker(), trusted, {}, reads_truth=False), replies.answer)
    replies.finish()
    assert again == episode
    assert len(calls) == 17 and len({call.n for call in calls}) == 15
    digests = [call.response for call in calls if call.status == "complete"]
    assert all(str(digest).encode() in episode for digest in digests)
