"""Everything that an endpoint may do, each with its own status, over HTTP."""

from __future__ import annotations

import socket

import pytest

from sealkit.agents.models.budget import Spent, spent_on
from sealkit.agents.models.errors import PauseError, ProviderError
from sealkit.agents.models.exchange import Patience
from sealkit.agents.models.gateway import budget_of
from sealkit.agents.turns import Reply
from sealkit.wire.calls import CALL_STATUSES
from tests.agents.models.bench import KEY, PATIENT, QUICK, Bench, policy
from tests.loopback import Fault, Loopback, faults

SLOW = (faults.drip, faults.stall_midway, faults.hang)


def patience(fault: Fault) -> Patience:
    return QUICK if fault in SLOW else PATIENT


def every(fault: Fault) -> dict[int, Fault]:
    return dict.fromkeys(range(1, 20), fault)


REPLIES = {
    "cut_off": (faults.cut_off, "you said: hello"),
    "refusal": (faults.refusal, "I cannot help with that."),
}
FAILS: list[tuple[str, Fault, bool]] = [  # status, fault, whether the body is kept
    ("never_ended", faults.drip, False),
    ("never_ended", faults.stall_midway, False),
    ("too_large", faults.huge, False),
    ("redirected", faults.redirect("http://127.0.0.1:9/"), True),
    ("client_error", faults.http_error(400, "unknown model"), True),
    ("malformed_reply", faults.garbage, True),
    ("malformed_reply", faults.cut_in_two, True),
    ("malformed_reply", faults.gzipped, False),
    ("malformed_reply", faults.http_error(204), True),
    ("lone_surrogates", faults.lone_surrogates, True),
    ("empty_reply", faults.no_choices, True),
    ("empty_reply", faults.no_content, True),
    ("holds_key", faults.echoes_key(KEY), False),
    ("holds_key", faults.echoes_key("ghp_" + "a1B2" * 9), False),
    ("holds_key", faults.escapes_key(KEY), False),
]
AGAIN: list[tuple[str, Fault]] = [
    ("rate_limited", faults.rate_limited()),
    ("server_error", faults.http_error(500)),
    ("server_error", faults.http_error(503)),
    ("server_error", faults.http_error(408)),
    ("connection_lost", faults.reset),
    ("connection_lost", faults.reset_midway),
    ("timeout", faults.hang),
]
PAUSES: list[tuple[str, str, Fault]] = [
    ("unauthorised", "authentication", faults.unauthorised),
    ("unauthorised", "authentication", faults.http_error(403)),
    ("no_endpoint", "no_endpoint", faults.http_error(404)),
    ("no_endpoint", "no_endpoint", faults.http_error(405)),
    ("model_drift", "model_drift", faults.wrong_model("other/model")),
    ("model_drift", "model_drift", faults.usage(completion_tokens=701)),
    ("model_drift", "model_drift", faults.settings(temperature=1.0)),
    ("model_drift", "model_drift", faults.settings(max_tokens=4096)),
    ("model_drift", "model_drift", faults.usage(completion_tokens_details={"reasoning_tokens": 5})),
    ("model_drift", "model_drift", faults.message(reasoning_content="let me think")),
]


def test_a_reply(bench: Bench) -> None:
    with Loopback(policy) as server:
        reply, (call,) = bench.ask(server)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.status, reply.call) == ("you said: hello", "complete", call.response)
    assert (call.n, call.http_try, call.status, call.model) == (1, 1, "complete", "Qwen/Qwen2.5-7B-Instruct")
    assert (call.input_tokens, call.output_tokens, call.charged_tokens) == (1, 4, 5)
    assert call.cost_microusd == 3  # 1 × 0.15 + 4 × 0.6 = 2.55, rounded up
    assert call.fingerprint == "fp_loopback"
    assert bench.blobs.get(call.request) == server.requests[0].body


@pytest.mark.parametrize("status", REPLIES)
def test_a_reply_without_an_end_or_without_consent_is_still_a_reply(bench: Bench, status: str) -> None:
    fault, text = REPLIES[status]
    with Loopback(policy, every(fault)) as server:
        reply, (call,) = bench.ask(server)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.status, call.status) == (text, status, status)


def test_filtered_content_is_a_refusal(bench: Bench) -> None:
    with Loopback(policy, every(faults.filtered)) as server:
        reply, _ = bench.ask(server)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.status) == ("", "refusal")


@pytest.mark.parametrize(("status", "fault", "kept"), FAILS)
def test_what_is_no_reply_is_not_asked_for_again(bench: Bench, status: str, fault: Fault, kept: bool) -> None:
    with Loopback(policy, every(fault)) as server:
        error, (call,) = bench.ask(server, patience=patience(fault))
    assert isinstance(error, ProviderError)
    assert (error.word, call.status, len(server.requests)) == (status, status, 1)
    assert (call.response is not None) is kept
    assert call.why


@pytest.mark.parametrize(("status", "fault"), AGAIN)
def test_where_no_reply_came_it_is_asked_again(bench: Bench, status: str, fault: Fault) -> None:
    with Loopback(policy, {1: fault, 2: fault}) as server:
        reply, calls = bench.ask(server, patience=patience(fault))
    assert isinstance(reply, Reply)
    assert [(call.n, call.http_try, call.status) for call in calls] == [
        (1, 1, status), (1, 2, status), (1, 3, "complete"),
    ]  # fmt: skip
    assert len({call.request for call in calls}) == 1
    assert bench.fake.waits == [0.5, 1.0]
    assert [call.waited_ms for call in calls] == [0, 500, 1000]


@pytest.mark.parametrize(("status", "fault"), AGAIN)
def test_not_for_ever(bench: Bench, status: str, fault: Fault) -> None:
    with Loopback(policy, every(fault)) as server:
        error, calls = bench.ask(server, patience=patience(fault))
    assert isinstance(error, ProviderError)
    assert error.word == status
    assert [call.http_try for call in calls] == [1, 2, 3] and len(server.requests) == 3


def test_nobody_there(bench: Bench) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, never listening
        told: list[str] = []
        budget = budget_of(bench.sealed.plan.spec, Spent())
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        error, calls = bench.ask(url, warn=told.append, budget=budget)
    assert isinstance(error, PauseError) and error.reason == "no_endpoint" and url in error.why
    assert len(told) == 1 and told[0].startswith("waiting for the model of role agent: no_connection: "), told
    assert [call.status for call in calls] == ["no_connection"] * 3
    assert {call.charged_tokens for call in calls} == {0}
    assert budget.spent == spent_on(calls) == Spent(calls=3, unmet=3), "counted, and told apart"


@pytest.mark.parametrize(("status", "reason", "fault"), PAUSES)
def test_what_pauses_the_run(bench: Bench, status: str, reason: str, fault: Fault) -> None:
    with Loopback(policy, every(fault)) as server:
        error, (call,) = bench.ask(server)
    assert isinstance(error, PauseError)
    assert (error.reason, call.status) == (reason, status)
    assert (call.response is None) is (status == "unauthorised")


def test_every_status_is_shown_here_or_beside() -> None:
    shown = {"complete", *REPLIES, *(row[0] for row in (*FAILS, *AGAIN, *PAUSES))}
    assert shown | {"no_connection", "abandoned"} == set(CALL_STATUSES)
