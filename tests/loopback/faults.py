"""What an endpoint answers, and everything that it may answer instead.

A fault is a function of the request's JSON and of the reply that would have been right.
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Json: TypeAlias = Any
Manner: TypeAlias = Literal["whole", "hang", "drip", "reset", "reset_midway", "stall_midway"]


@dataclass(frozen=True)
class Answer:
    """An HTTP answer and the manner in which it comes."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    manner: Manner = "whole"


Fault: TypeAlias = Callable[[Json, Json], Answer]


def completion(request: Json, text: str) -> Json:
    """A chat completion as it should be; a function of the request and the text alone.

    Where tools were offered, a text such as `{"tool": "go", "arguments": {}}` is a call of one.
    """
    spelt = json.dumps(request, sort_keys=True).encode()
    bound = request.get("max_tokens", request.get("max_completion_tokens", 10**9))
    prompt = sum(len(message["content"].encode()) for message in request["messages"]) // 4
    written = min(bound, len(text.encode()) // 4 + 1)
    return {
        "id": "chatcmpl-" + hashlib.sha256(spelt).hexdigest()[:12],
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "system_fingerprint": "fp_loopback",
        "choices": [{"index": 0, **_choice(request, text)}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written},
    }


def _choice(request: Json, text: str) -> Json:
    if "tools" in request and text.startswith('{"tool": '):
        called = json.loads(text)
        function = {"name": called["tool"], "arguments": json.dumps(called["arguments"])}
        calls = [{"id": "call_1", "type": "function", "function": function}]
        return {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": calls}}
    return {"finish_reason": "stop", "message": {"role": "assistant", "content": text, "refusal": None}}


def whole(reply: Json) -> Answer:
    return Answer(body=json.dumps(reply).encode())


def _edited(edit: Callable[[Json], None]) -> Fault:
    def fault(request: Json, reply: Json) -> Answer:
        changed = copy.deepcopy(reply)
        edit(changed)
        return whole(changed)

    return fault


def _plain(answer: Answer) -> Fault:
    return lambda request, reply: answer


# --- HTTP statuses -------------------------------------------------------------------------------


def http_error(status: int, message: str = "no", **headers: str) -> Fault:
    body = json.dumps({"error": {"message": message, "type": "loopback"}}).encode()
    return _plain(Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()}))


def rate_limited(retry_after: str | None = None) -> Fault:
    return http_error(429, "slow down", **({"retry_after": retry_after} if retry_after is not None else {}))


def redirect(to: str) -> Fault:
    return _plain(Answer(307, b"", {"location": to}))


def unauthorised(request: Json, reply: Json) -> Answer:
    return http_error(401, "Incorrect API key provided: sk-ab***yz")(request, reply)


# --- connections ---------------------------------------------------------------------------------


def hang(request: Json, reply: Json) -> Answer:
    return Answer(manner="hang")


def drip(request: Json, reply: Json) -> Answer:
    """A body that goes on for ever, a byte at a time."""
    return Answer(manner="drip")


def reset(request: Json, reply: Json) -> Answer:
    return Answer(manner="reset")


def reset_midway(request: Json, reply: Json) -> Answer:
    return Answer(body=json.dumps(reply).encode(), manner="reset_midway")


def stall_midway(request: Json, reply: Json) -> Answer:
    return Answer(body=json.dumps(reply).encode(), manner="stall_midway")


# --- bodies --------------------------------------------------------------------------------------


def garbage(request: Json, reply: Json) -> Answer:
    return Answer(body=b"<html>upstream says hello</html>")


def cut_in_two(request: Json, reply: Json) -> Answer:
    body = json.dumps(reply).encode()
    return Answer(body=body[: len(body) // 2])


def huge(request: Json, reply: Json, size: int = 10 * 1024 * 1024) -> Answer:
    changed = copy.deepcopy(reply)
    changed["choices"][0]["message"]["content"] = "a" * size
    return whole(changed)


def lone_surrogates(request: Json, reply: Json) -> Answer:
    return Answer(body=json.dumps(reply).replace('"content": "', '"content": "\\ud83d ').encode())


def gzipped(request: Json, reply: Json) -> Answer:
    return Answer(body=gzip.compress(json.dumps(reply).encode()), headers={"content-encoding": "gzip"})


def echoes_key(key: str) -> Fault:
    def edit(reply: Json) -> None:
        reply["choices"][0]["message"]["content"] = f"you sent me {key}"

    return _edited(edit)


def escapes_key(key: str) -> Fault:
    """The key in the body, every letter of it spelt as an escape."""
    spelt = "".join(f"\\u{ord(letter):04x}" for letter in key)
    return lambda request, reply: Answer(
        body=json.dumps(reply).replace('"content": "', f'"content": "{spelt}').encode()
    )


# --- replies -------------------------------------------------------------------------------------


@_edited
def cut_off(reply: Json) -> None:
    reply["choices"][0]["finish_reason"] = "length"


@_edited
def refusal(reply: Json) -> None:
    reply["choices"][0]["message"].update(content=None, refusal="I cannot help with that.")


@_edited
def filtered(reply: Json) -> None:
    reply["choices"][0]["finish_reason"] = "content_filter"
    reply["choices"][0]["message"]["content"] = None


@_edited
def no_choices(reply: Json) -> None:
    reply["choices"] = []


@_edited
def no_content(reply: Json) -> None:
    reply["choices"][0]["message"]["content"] = None


@_edited
def no_usage(reply: Json) -> None:
    del reply["usage"]


def wrong_model(id: str) -> Fault:
    return _edited(lambda reply: reply.update(model=id))


def fingerprint(text: str) -> Fault:
    return _edited(lambda reply: reply.update(system_fingerprint=text))


def settings(**echoed: Json) -> Fault:
    """A reply that says by itself under which settings it was drawn."""
    return _edited(lambda reply: reply.update(echoed))


def usage(**counts: Json) -> Fault:
    return _edited(lambda reply: reply["usage"].update(counts))


def message(**members: Json) -> Fault:
    return _edited(lambda reply: reply["choices"][0]["message"].update(members))
