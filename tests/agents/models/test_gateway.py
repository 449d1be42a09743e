"""What may leave the process, and what may not: the endpoint's own log is the proof."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.agents.models.budget import Budget, Limits, Spent, cost_microusd, spent_on
from sealkit.agents.models.errors import PauseError, ProviderError
from sealkit.agents.models.exchange import wait_s
from sealkit.agents.models.gateway import Gateway, budget_of
from sealkit.agents.turns import Reply
from sealkit.plan.actors import MOST_PRICE, MOST_TOKENS, Price
from sealkit.plan.load import open_plan
from sealkit.seal.sealed import open_seal
from sealkit.wire.errors import HarnessError, OutOfOrderError, UntrustedError
from tests.agents.models.bench import HELLO, PLAN, QUICK, SLOT, Bench, policy, read_calls, run, say
from tests.loopback import Loopback, faults

NONE: dict[str, Any] = {"endpoints": {}, "blobs": None}


def limited(calls: int = 6000, tokens: int | None = None, cost: int | None = None) -> Budget:
    return Budget(Limits(calls=calls, tokens=tokens, cost_microusd=cost), Spent())


# --- under a seal --------------------------------------------------------------------------------


def test_without_a_seal_there_is_no_gateway(bench: Bench) -> None:
    plan = bench.sealed.plan
    with pytest.raises(TypeError, match="for_sealed or for_pilot"):
        Gateway(plan.spec, frozenset(), ("smoke",), allowed=object(), guard=None, budget=limited(), **NONE)
    with pytest.raises(OutOfOrderError, match="under a sealed plan only"):
        Gateway.for_sealed(plan, budget=limited(), **NONE)  # type: ignore[arg-type]


def test_after_drift_there_is_no_gateway(v1: Path) -> None:
    sealed = open_seal(v1 / PLAN)
    file = v1 / "worlds" / "house" / "world.py"
    file.write_text(file.read_text() + "# changed\n")
    with pytest.raises(UntrustedError, match=r"worlds/house/world\.py was changed"):
        Gateway.for_sealed(sealed, budget=limited(), **NONE)
    sealed.close()


def test_a_pilot_comes_before_the_seal(v1: Path) -> None:
    path = v1 / PLAN
    with pytest.raises(OutOfOrderError, match="a pilot comes before"):
        Gateway.for_pilot(open_plan(path), path, budget=limited(), **NONE)


@pytest.mark.parametrize("stage", ["smoke", "confirmatory"])
def test_a_pilot_s_gateway_is_for_the_pilot_only(v1: Path, stage: Any) -> None:
    path = v1 / PLAN
    path.with_suffix(".seal.json").unlink()
    plan = open_plan(path)
    gateway = Gateway.for_pilot(plan, path, budget=limited(), **NONE)
    gateway.line(stage="pilot", pin=plan.digest, slot=SLOT, attempt=1, purpose="act")
    with pytest.raises(OutOfOrderError, match="due pilot"):
        gateway.line(stage=stage, pin=plan.digest, slot=SLOT, attempt=1, purpose="act")


def test_a_sealed_gateway_is_for_the_pin_in_force(bench: Bench) -> None:
    gateway = Gateway.for_sealed(bench.sealed, budget=limited(), **NONE)
    for stage, pin in (("pilot", bench.sealed.pin), ("smoke", "sha256:" + "0" * 64)):
        with pytest.raises(OutOfOrderError, match="due smoke or confirmatory"):
            gateway.line(stage=stage, pin=pin, slot=SLOT, attempt=1, purpose="act")  # type: ignore[arg-type]


# --- within the budget ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (limited(calls=0), "0 calls are used"),
        (limited(tokens=800), "tokens, and 800 of 800 are left"),  # 700 of output, and the request
        (limited(cost=400), "micro-USD, and 400 of 400 are left"),
    ],
)
def test_over_budget_nothing_leaves(bench: Bench, budget: Budget, why: str) -> None:
    with Loopback(policy) as server:
        error, calls = bench.ask(server, budget=budget)
    assert isinstance(error, PauseError)
    assert error.reason == "budget" and why in error.why
    assert (server.requests, calls, server.connections) == ((), (), 0)
    assert not (bench.folder / "blobs").exists()


def test_many_at_once_do_not_share_one_call(bench: Bench) -> None:
    async def go() -> list[Any]:
        async with bench.gateway(server, budget=limited(calls=10)) as gateway:
            lines = [bench.line(gateway) for _ in range(64)]
            return await asyncio.gather(*(line.answer(HELLO) for line in lines), return_exceptions=True)

    with Loopback(policy) as server:
        outcomes = run(go())
    assert Counter(type(outcome) for outcome in outcomes) == {Reply: 10, PauseError: 54}
    assert len(server.requests) == 10


def test_every_request_counts(bench: Bench) -> None:
    budget = limited(calls=2)
    with Loopback(policy, dict.fromkeys((1, 2), faults.rate_limited())) as server:
        error, calls = bench.ask(server, budget=budget)
    assert isinstance(error, PauseError)
    assert [call.status for call in calls] == ["rate_limited"] * 2
    assert len(server.requests) == 2
    assert budget.spent == Spent(calls=2, tokens=0, cost_microusd=0)


def test_what_may_have_been_paid_for_is_charged_in_full(bench: Bench) -> None:
    budget = limited()
    with Loopback(policy, {1: faults.drip}) as server:
        _, (call,) = bench.ask(server, budget=budget, patience=QUICK)
        most = len(server.requests[0].body) + 700
    assert (call.input_tokens, call.charged_tokens) == (None, most)
    assert budget.spent.tokens == most


def test_a_reply_that_does_not_say_its_usage_is_charged_in_full(bench: Bench) -> None:
    with Loopback(policy, {1: faults.no_usage}) as server:
        reply, (call,) = bench.ask(server)
        assert call.charged_tokens == len(server.requests[0].body) + 700
    assert isinstance(reply, Reply) and call.output_tokens is None


@pytest.mark.parametrize("stated", [MOST_TOKENS + 1, 2**53 - 1, 2**70])
def test_usage_beyond_any_model_is_no_reply_and_has_its_line(bench: Bench, stated: int) -> None:
    with Loopback(policy, {1: faults.usage(prompt_tokens=stated)}) as server:
        error, (call,) = bench.ask(server)
        assert call.charged_tokens == len(server.requests[0].body) + 700
    assert isinstance(error, ProviderError) and error.word == call.status == "malformed_reply"
    assert call.response is not None and call.input_tokens is None


def test_no_cost_of_a_request_is_beyond_a_record() -> None:
    dearest = Price(input_microusd=MOST_PRICE, output_microusd=MOST_PRICE)
    cost = cost_microusd(dearest, MOST_TOKENS, MOST_TOKENS)
    assert cost is not None and 100 * cost <= 2**53 - 1


def test_a_run_that_goes_on_knows_what_it_used(bench: Bench) -> None:
    budget = limited()
    with Loopback(policy, {2: faults.drip, 4: faults.http_error(500), 6: faults.garbage}) as server:
        lines = [call for _ in range(4) for call in bench.ask(server, budget=budget, patience=QUICK)[1]]
    assert spent_on(lines) == budget.spent
    assert budget_of(bench.sealed.plan.spec, budget.spent).spent == budget.spent


# --- as planned ----------------------------------------------------------------------------------


def test_what_is_sent_is_what_the_plan_says(bench: Bench) -> None:
    with Loopback(policy) as server:
        bench.ask(server, say("hello"), say("why?", role="diagnoser"))
    agent, diagnoser = (received.json for received in server.requests)
    assert agent == {
        "model": "Qwen/Qwen2.5-7B-Instruct",
        "messages": [{"role": "user", "content": "hello"}],
        "temperature": 0.7,
        "max_tokens": 700,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert (diagnoser["temperature"], diagnoser["max_tokens"]) == (0, 400)
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_the_same_question_has_the_same_digest(bench: Bench) -> None:
    with Loopback(policy) as server:
        _, (first, second) = bench.ask(server, HELLO, HELLO)
    assert first.request == second.request and (first.n, second.n) == (1, 2)


def test_another_fingerprint_is_noted_and_stops_nothing(bench: Bench) -> None:
    with Loopback(policy, {2: faults.fingerprint("fp_other")}) as server:
        reply, calls = bench.ask(server, HELLO, HELLO)
    assert isinstance(reply, Reply)
    assert [call.fingerprint for call in calls] == ["fp_loopback", "fp_other"]


def test_after_a_drift_nothing_more_leaves(bench: Bench) -> None:
    async def go() -> None:
        async with bench.gateway(server) as gateway:
            with pytest.raises(PauseError, match="model_drift"):
                await bench.line(gateway).answer(HELLO)
            with pytest.raises(PauseError, match="model_drift"):
                await bench.line(gateway, attempt=2).answer(HELLO)

    with Loopback(policy, {1: faults.wrong_model("swapped")}) as server:
        run(go())
    assert len(server.requests) == 1


def test_nor_of_what_was_waiting_when_it_came(bench: Bench) -> None:
    async def go() -> list[Any]:
        async with bench.gateway(server, width=1) as gateway:
            return await asyncio.gather(*(bench.line(gateway).answer(HELLO) for _ in range(5)), return_exceptions=True)

    with Loopback(policy, {1: faults.wrong_model("swapped")}) as server:
        outcomes = run(go())
    assert [type(outcome) for outcome in outcomes] == [PauseError] * 5
    assert len(server.requests) == 1


def test_a_role_that_the_plan_does_not_have(bench: Bench) -> None:
    with Loopback(policy) as server:
        error, calls = bench.ask(server, say("hello", role="oracle"))
    assert isinstance(error, HarnessError) and "a role that the plan does not have" in str(error)
    assert (server.requests, calls) == ((), ())


# --- waiting -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("told", "wait"), [("7", 7.0), ("Mon, 30 Nov 2026 12:00:30 GMT", 30.0), ("soon", 0.5)])
def test_the_endpoint_says_how_long_to_wait(bench: Bench, told: str, wait: float) -> None:
    with Loopback(policy, {1: faults.rate_limited(told)}) as server:
        reply, (_, call) = bench.ask(server)
    assert isinstance(reply, Reply)
    assert bench.fake.waits == [wait] and call.waited_ms == wait * 1000


UNREADABLE = (
    "Mon, 30 Nov 2026 12:00:30 -99999999999999999999999", "Mon, 30 Nov 99999999999999999999 12:00:30 GMT", "-1", "1e9",
    "Sat, 01 Jan 0001 00:00:00 +2359", "Fri, 31 Dec 9999 23:59:59 -2359", "\u0661", ", ,", "",
)  # fmt: skip


@settings(deadline=None)
@given(st.text() | st.from_regex(r"(Mon, )?\d{0,4} (Nov|Dec) \d{1,20} \d{1,4}:[\d:.]{1,9} [-+]?[\dGMT]{1,30}"))
def test_whatever_a_header_tells_is_waited_for_or_not(told: str) -> None:
    for text in (told, *UNREADABLE):
        wait = wait_s(1, text, now=datetime(2026, 11, 30, 12, tzinfo=UTC), draw=0.0)
        assert wait is None or 0.5 <= wait <= 600


def test_nobody_waits_for_a_day(bench: Bench) -> None:
    with Loopback(policy, {1: faults.rate_limited("86400")}) as server:
        error, _ = bench.ask(server)
    assert isinstance(error, ProviderError) and error.word == "rate_limited"
    assert (bench.fake.waits, len(server.requests)) == ([], 1)


# --- bodies --------------------------------------------------------------------------------------


def test_a_request_is_kept_before_it_is_sent(bench: Bench) -> None:
    kept: list[list[bytes]] = []

    def look(request: Any) -> str:
        kept.append([bench.blobs.get(f"sha256:{path.stem}") for path in bench.folder.glob("blobs/*/*.gz")])
        return "seen"

    with Loopback(look) as server:
        bench.ask(server)
    assert kept == [[server.requests[0].body]]


def test_a_request_that_the_run_gives_up_is_on_record(bench: Bench) -> None:
    async def go() -> Any:
        async with bench.gateway(server, budget=budget) as gateway:
            line = bench.line(gateway)
            task = asyncio.create_task(line.answer(HELLO))
            await asyncio.to_thread(arrived.acquire)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return read_calls(line)

    arrived, budget = threading.Semaphore(0), limited()
    with Loopback(policy, {1: faults.hang}, log=lambda received: arrived.release()) as server:
        (call,) = run(go())
    assert (call.status, call.response) == ("abandoned", None)
    assert budget.spent == Spent(calls=1, tokens=call.charged_tokens, cost_microusd=call.cost_microusd or 0)
    assert call.charged_tokens > 700


# --- at size -------------------------------------------------------------------------------------


def test_sixty_four_in_flight_each_get_their_own_reply(bench: Bench) -> None:
    async def go() -> list[Any]:
        async with bench.gateway(server) as gateway:
            lines = [bench.line(gateway) for _ in range(64)]
            return await asyncio.gather(*(line.answer(say(str(n))) for n, line in enumerate(lines)))

    with Loopback(policy) as server:
        replies = run(go())
    assert [reply.text for reply in replies] == [f"you said: {n}" for n in range(64)]
    assert server.connections <= 64


MIXED = {
    "complete": None,
    "cut_off": faults.cut_off,
    "refusal": faults.refusal,
    "rate_limited": faults.rate_limited(),
    "server_error": faults.http_error(500),
    "connection_lost": faults.reset,
    "client_error": faults.http_error(400),
    "malformed_reply": faults.garbage,
    "lone_surrogates": faults.lone_surrogates,
    "empty_reply": faults.no_choices,
    "holds_key": faults.echoes_key("AKIA" + "ABCD" * 4),
}


def test_five_hundred_faults_reconcile(bench: Bench) -> None:
    """As many lines as the endpoint had requests, each with the status of the fault that was made."""
    draws, made = random.Random(4), Counter[str]()

    def script(number: int, request: Any) -> Any:
        word = draws.choice(list(MIXED))
        made[word] += 1
        return MIXED[word]

    async def go() -> list[Any]:
        async with bench.gateway(server, budget=budget) as gateway:
            lines = [bench.line(gateway, attempt=n) for n in range(1, 301)]
            await asyncio.gather(*(line.answer(HELLO) for line in lines), return_exceptions=True)
            return [call for line in lines for call in read_calls(line)]

    budget = limited()
    with Loopback(policy, script) as server:
        calls = run(go())
    assert Counter(call.status for call in calls) == made
    assert len(calls) == len(server.requests) == budget.spent.calls > 400
    assert spent_on(calls) == budget.spent
