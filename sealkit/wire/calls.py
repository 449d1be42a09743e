"""The record of one HTTP request to a model: one line of `calls.jsonl`.

A player asks; its question is one call, number `n` of its attempt. A call is one HTTP request, or several where the
endpoint gave nothing to judge and the gateway asked again: each of them is a line, with the same `n` and `request`
and the next `http_try`. Only the last line of a call may have an answer.

`request` and `response` are plain SHA-256 of the bytes that were sent and that came, and the names of the blobs
that hold them: `zcat blobs/ab/ab….gz | sha256sum`. `response` is null if no whole body came, or if it is not kept.

    status           what it means                                                       asked again
    complete         a reply that the model finished                                      answer
    refusal          the model, or a filter, refused                                      answer
    cut_off          the reply ended at the bound on output tokens                        answer
    rate_limited     HTTP 429                                                             yes
    server_error     HTTP 5xx or 408                                                      yes
    no_connection    nobody answered at the endpoint, or not as who it is (TLS)           yes
    connection_lost  the connection broke before the reply was whole                      yes
    timeout          no answer began in time                                              yes
    never_ended      an answer began and did not end in time                              no
    too_large        the body went beyond its bound; the rest was not read                no
    redirected       HTTP 3xx: followed, it could carry the key to somebody else          no
    client_error     another HTTP status: the endpoint does not take the request          no
    malformed_reply  no JSON, or no chat completion                                       no
    lone_surrogates  text that is no Unicode, which no record can hold                    no
    empty_reply      no choice, or a choice without text                                  no
    holds_key        the body holds what looks like a key; it is not kept                 no
    model_drift      another model, or settings that the plan does not have               pauses the run
    unauthorised     HTTP 401 or 403; the body is not kept, it may quote the key          pauses the run
    no_endpoint      HTTP 404 or 405: no chat completions are served at this address      pauses the run
    abandoned        the run stopped while the request was under way                      no

It is asked again only where no reply came: a reply that came is a sample of the model, and is never drawn twice.

>>> CALL_STATUSES["rate_limited"]
'again'
>>> [word for word, then in CALL_STATUSES.items() if then == "pause"]
['model_drift', 'unauthorised', 'no_endpoint']
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from sealkit.wire.events import Slot, Stage
from sealkit.wire.records import Count, Record

Purpose: TypeAlias = Literal["act", "read"]
Answered: TypeAlias = Literal["complete", "refusal", "cut_off"]
Unanswered: TypeAlias = Literal[
    "rate_limited", "server_error", "no_connection", "connection_lost", "timeout", "never_ended", "too_large",
    "redirected", "client_error", "malformed_reply", "lone_surrogates", "empty_reply", "holds_key", "model_drift",
    "unauthorised", "no_endpoint", "abandoned",
]  # fmt: skip
Status: TypeAlias = Literal[Answered, Unanswered]
Then: TypeAlias = Literal["answer", "again", "fail", "pause"]

# What follows from each status.
CALL_STATUSES: Final[dict[Status, Then]] = {
    "complete": "answer",
    "refusal": "answer",
    "cut_off": "answer",
    "rate_limited": "again",
    "server_error": "again",
    "no_connection": "again",
    "connection_lost": "again",
    "timeout": "again",
    "never_ended": "fail",
    "too_large": "fail",
    "redirected": "fail",
    "client_error": "fail",
    "malformed_reply": "fail",
    "lone_surrogates": "fail",
    "empty_reply": "fail",
    "holds_key": "fail",
    "model_drift": "pause",
    "unauthorised": "pause",
    "no_endpoint": "pause",
    "abandoned": "fail",
}


class Call(Record, frozen=True, tag_field="type", tag="sealkit/call/v1"):
    """One HTTP request to a model and what came of it.

    `attempt` is that of the slot, `n` the number of the call in it, `http_try` the number of the request of that
    call, all from 1. `model`, `fingerprint` and the tokens are what the reply says of itself, null where it does not
    say or none came. `charged_tokens` is what the budget was charged: the reply's own usage; where a reply may have
    been made and did not say, the most that it can have been; 0 where none was made. `cost_microusd` is that by the
    plan's prices, null without one. `latency_ms` is the time of this request, `waited_ms` the wait before it.
    """

    pin: str
    stage: Stage
    slot: Slot
    attempt: Count
    n: Count
    purpose: Purpose
    role: str
    http_try: Count
    request: str
    response: str | None
    status: Status
    model: str | None
    fingerprint: str | None
    input_tokens: Count | None
    output_tokens: Count | None
    charged_tokens: Count
    cost_microusd: Count | None
    latency_ms: Count
    waited_ms: Count
    why: str
