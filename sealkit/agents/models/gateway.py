"""The only way from a plan to a model: nothing leaves this process but under a seal, within the budget, as planned.

    async with Gateway.for_sealed(sealed, endpoints=endpoints, budget=budget, blobs=blobs) as gateway:
        line = gateway.line(stage="confirmatory", pin=pin, slot=slot, attempt=1, purpose="act")
        reply = await line.answer(ask)
        line.calls                       # one canonical line for every HTTP request so far

A gateway is made from a `SealedPlan` whose files are still as they were sealed, or for the pilot of a plan that is
not sealed. The body of a request, and that of its answer, are in the blob store before `line.calls` names them. A
body that holds a key, or what looks like one, is neither sent nor kept. After a drift of the model or of a sealed file,
a refused key, or if no endpoint was met, each further call raises the same `PauseError` without leaving the process.

Sealed files are looked at again (`seal.guard`) before the first call of an attempt, whose player and prompts were just
loaded; before every call of an arm of the study's own and of a reader, whose code may read files at any time; before
every other call that comes 50 ms after the last look.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Budget, Limits, Need, Spent, cost_microusd
from sealkit.agents.models.endpoint import Endpoint
from sealkit.agents.models.errors import NO_ENDPOINT, PauseError, ProviderError
from sealkit.agents.models.exchange import PATIENCE, Came, Lost, Patience, Transport, http_status_word, wait_s
from sealkit.agents.models.reply import Read, no_reply, read_reply
from sealkit.agents.models.request import encode_request, model_of
from sealkit.agents.models.secrets import Watch
from sealkit.agents.turns import Ask, Reply
from sealkit.plan.actors import CommandArm, Model, OwnArm
from sealkit.plan.load import Plan
from sealkit.plan.schema import Spec
from sealkit.seal.closure import DriftError
from sealkit.seal.guard import DRIFT, Guard, open_guard
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.calls import CALL_STATUSES, Call, Purpose
from sealkit.wire.canon import encode_record
from sealkit.wire.errors import HarnessError, OutOfOrderError
from sealkit.wire.events import Slot, Stage

WIDTH: Final = 64
LOOK_S: Final = 0.05
_ALLOWED = object()
# No reply was made, so none was paid for.
_FREE: Final = frozenset({"rate_limited", "no_connection", "redirected", "client_error", "unauthorised", "no_endpoint"})


@dataclass(frozen=True, slots=True)
class Clock:
    """What a gateway takes from its surroundings: time, waiting, and a draw from 0..1 for the wait."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = random.random


class Gateway:
    """Calls the models of one plan; made by `for_sealed` or `for_pilot`, and used as an async context."""

    def __init__(
        self, spec: Spec, pins: frozenset[str], stages: tuple[Stage, ...], *, allowed: object, guard: Guard,
        endpoints: Mapping[str, Endpoint], budget: Budget, blobs: Blobs, patience: Patience = PATIENCE,
        clock: Clock | None = None, transport: Transport | None = None, width: int = WIDTH,
        warn: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        if allowed is not _ALLOWED:
            raise TypeError("a Gateway is made by for_sealed or for_pilot")
        self.spec = spec
        self.pins = pins
        self.stages = stages
        self.guard = guard
        self.endpoints = endpoints
        self.budget = budget
        self.blobs = blobs
        self.patience = patience
        self.clock = clock or Clock()
        self.watch = Watch(at.key.secret() for at in endpoints.values() if at.key is not None)
        self.paused: PauseError | None = None
        # Whoever waits for a seat is not under way yet: neither its deadline nor its latency has begun.
        self.seats = asyncio.Semaphore(width)
        self._warn = warn
        self._transport = transport
        self._width = width

    @classmethod
    def for_sealed(
        cls, sealed: SealedPlan, *, endpoints: Mapping[str, Endpoint], budget: Budget, blobs: Blobs,
        patience: Patience = PATIENCE, clock: Clock | None = None, transport: Transport | None = None,
        width: int = WIDTH, warn: Callable[[str], None] | None = None, guard: Guard | None = None,
    ) -> Gateway:  # fmt: skip
        """A gateway for the smoke and confirmatory runs; `DriftError` if a sealed file has changed.

        `guard` is that under which code was loaded; without one, files are checked now.
        """
        if not isinstance(sealed, SealedPlan):  # the type says so already, to whoever checks types
            raise OutOfOrderError("a model is called under a sealed plan only", remedy="sealkit seal PLAN")
        return cls(
            sealed.plan.spec, frozenset({sealed.latest.pin}), ("smoke", "confirmatory"), allowed=_ALLOWED,
            guard=guard or open_guard(sealed), endpoints=endpoints, budget=budget, blobs=blobs, patience=patience,
            clock=clock, transport=transport, width=width, warn=warn,
        )  # fmt: skip

    @classmethod
    def for_pilot(
        cls, plan: Plan, path: Path, *, endpoints: Mapping[str, Endpoint], budget: Budget, blobs: Blobs,
        patience: Patience = PATIENCE, clock: Clock | None = None, transport: Transport | None = None,
        width: int = WIDTH, warn: Callable[[str], None] | None = None,
    ) -> Gateway:  # fmt: skip
        """A gateway for the pilot of the plan in the file at `path`; `OutOfOrderError` if that plan is sealed."""
        if path.with_suffix(".seal.json").exists():
            raise OutOfOrderError("the plan is sealed; a pilot comes before", where=str(path))
        return cls(
            plan.spec, frozenset({plan.digest}), ("pilot",), allowed=_ALLOWED, guard=Guard(None), endpoints=endpoints,
            budget=budget, blobs=blobs, patience=patience, clock=clock, transport=transport, width=width, warn=warn,
        )  # fmt: skip

    async def __aenter__(self) -> Gateway:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._transport is not None:
            await self._transport.close()

    def line(
        self, *, stage: Stage, pin: str, slot: Slot, attempt: int, purpose: Purpose, budget: Budget | None = None
    ) -> Line:
        """The calls of one attempt at one slot; within `budget`, where the attempt has one of its own."""
        if stage not in self.stages or pin not in self.pins:
            due = " or ".join(self.stages)
            raise OutOfOrderError(f"a call of the {stage} stage, due {due} under the pin in force")
        return Line(self, stage, pin, slot, attempt, purpose, budget or self.budget)

    @property
    def transport(self) -> Transport:
        """What carries requests; opened when the first call is made."""
        if self._transport is None:
            # Imported here, because a run without models does without an HTTP client.
            from sealkit.agents.models.transport import HttpTransport

            self._transport = HttpTransport(self.patience, self._width)
        return self._transport

    def waits(self, call: Call, wait: float) -> None:
        """Say once that an endpoint is asked again and again: else a dead one is minutes of silence."""
        warn, self._warn = self._warn, None
        if warn is not None:
            warn(
                f"waiting for the model of role {call.role}: {call.status}: {call.why}; asked again in {wait:.0f} s, "
                f"up to {self.patience.tries} times a call"
            )

    def look(self, *, since: float) -> None:
        """No sealed file was touched until `since` or later; else `PauseError`, which stops the run as `pause` does."""
        try:
            self.guard.look(since=since)
        except DriftError as error:
            self.paused = self.paused or PauseError(DRIFT, error.what, remedy=error.remedy)
            raise self.paused from error

    def pause(self, call: Call) -> PauseError:
        """The error that stops the run, for this call and every one after it."""
        if call.status == "unauthorised":
            remedy = "set the key of this endpoint in the environment, and run again"
            self.paused = self.paused or PauseError("authentication", call.why, remedy=remedy)
        elif call.status in ("no_endpoint", "no_connection"):
            at = self.endpoints[call.role].url
            why = call.why if call.status == "no_endpoint" else f"nobody answers at {at}: {call.why}"
            remedy = "start the server, or give --endpoint its base address (most end in /v1); then run again"
            self.paused = self.paused or PauseError(NO_ENDPOINT, why, remedy=remedy)
        else:
            remedy = "serve the planned model as planned, and run again; docs/models.md names the other ways on"
            self.paused = self.paused or PauseError("model_drift", call.why, remedy=remedy)
        return self.paused


def budget_of(spec: Spec, spent: Spent) -> Budget:
    """The plan's budget, of which so much is used already."""
    return Budget(limits_of(spec), spent)


def limits_of(spec: Spec) -> Limits:
    """The bounds of the plan's budget."""
    bounds = spec.sample.budget
    return Limits(calls=bounds.calls, tokens=bounds.tokens, cost_microusd=bounds.cost_microusd)


@dataclass(frozen=True, slots=True)
class _Question:
    """One call, ready to be sent as often as it takes."""

    n: int
    role: str
    model: Model
    endpoint: Endpoint
    body: bytes
    need: Need


class Line:
    """The calls of one attempt, one after the other."""

    def __init__(
        self, gateway: Gateway, stage: Stage, pin: str, slot: Slot, attempt: int, purpose: Purpose, budget: Budget
    ) -> None:
        self._gateway, self._budget = gateway, budget
        self._stage, self._pin, self._slot, self._attempt, self._purpose = stage, pin, slot, attempt, purpose
        arm = gateway.spec.factors.arm[str(slot["arm"])]
        self._reads_files = purpose == "read" or isinstance(arm, CommandArm | OwnArm)
        self._n = 0
        self._lines: list[bytes] = []

    @property
    def calls(self) -> tuple[bytes, ...]:
        """The canonical line, without its newline, of every HTTP request of the attempt that is over."""
        return tuple(self._lines)

    async def answer(self, ask: Ask) -> Reply:
        """The model's reply. `ProviderError` if none came, `PauseError` if the run cannot go on."""
        gateway = self._gateway
        question = self._question(ask)
        waited_ms, met = 0, set[str]()
        for http_try in range(1, gateway.patience.tries + 1):
            async with gateway.seats:
                await self._look()
                if gateway.paused is not None:
                    raise gateway.paused
                call, read, retry_after = await self._try(question, http_try, waited_ms)
            then = CALL_STATUSES[call.status]
            met.add(call.status)
            if then == "answer":
                assert call.response is not None
                return Reply(text=read.text, status=call.status, call=call.response)  # type: ignore[arg-type]
            if then == "pause":
                raise gateway.pause(call)
            wait = wait_s(
                http_try, retry_after, now=gateway.clock.now(), draw=gateway.clock.draw(),
                most=gateway.patience.most_wait_s,
            )  # fmt: skip
            if then == "fail" or wait is None or http_try == gateway.patience.tries:
                break
            gateway.waits(call, wait)
            began = gateway.clock.monotonic_s()
            await gateway.clock.sleep(wait)
            waited_ms = _ms(gateway.clock.monotonic_s() - began)
        if met == {"no_connection"}:  # an endpoint that is down says nothing of the slot
            raise gateway.pause(call)
        raise ProviderError(call.status, call.why)  # type: ignore[arg-type]

    async def _look(self) -> None:
        """What the question was made of is as sealed; see the top of this module."""
        now = time.monotonic()
        if self._n > 1 and not self._reads_files:
            self._gateway.look(since=now - LOOK_S)
            return
        await asyncio.sleep(0)  # whoever else has a question by now shares this look
        self._gateway.look(since=now)

    def _question(self, ask: Ask) -> _Question:
        gateway = self._gateway
        model = model_of(gateway.spec, ask.role, self._slot)
        endpoint = gateway.endpoints[ask.role]
        body = encode_request(ask, model, endpoint.form)
        if gateway.watch.found_in(body):
            what = "a message to a model holds what looks like a key; it was not sent"
            raise HarnessError(what, where=f"role {ask.role}", remedy="take it out of the prompt or the world")
        tokens = len(body) + model.max_output_tokens
        cost = cost_microusd(model.price_per_million_tokens, len(body), model.max_output_tokens)
        self._n += 1
        return _Question(
            n=self._n, role=ask.role, model=model, endpoint=endpoint, body=body,
            need=Need(tokens=tokens, cost_microusd=cost),
        )  # fmt: skip

    async def _try(self, question: _Question, http_try: int, waited_ms: int) -> tuple[Call, Read, str | None]:
        """One HTTP request: reserved, its bodies kept, its budget settled, its line written, in this order."""
        gateway, response, retry_after = self._gateway, None, None
        self._budget.reserve(question.need)
        try:
            request = gateway.blobs.put(question.body)
        except BaseException:
            self._budget.release(question.need)
            raise
        read = no_reply("abandoned", "the run stopped while the request was under way")
        began = gateway.clock.monotonic_s()
        ended = None
        try:
            came = await gateway.transport.post(question.endpoint, question.body)
            ended = gateway.clock.monotonic_s()
            read, response = self._judge(came, question)
            retry_after = came.retry_after if isinstance(came, Came) else None
        finally:  # also when this task is cancelled: the request was made, and counts
            latency_s = (ended if ended is not None else gateway.clock.monotonic_s()) - began
            call = self._record(
                question, http_try, read, (request, response), latency_ms=_ms(latency_s), waited_ms=waited_ms
            )
        return call, read, retry_after

    def _judge(self, came: Came | Lost, question: _Question) -> tuple[Read, str | None]:
        """What came, and the digest of its body if that is kept."""
        gateway = self._gateway
        if isinstance(came, Lost):
            why = "the message may quote a key" if gateway.watch.found_in(came.why.encode()) else came.why
            return no_reply(came.word, why), None
        word = http_status_word(came.status)
        if word == "unauthorised":  # such a body often quotes the key, in part or with stars
            return no_reply(word, f"HTTP {came.status} from {question.endpoint.url}"), None
        if gateway.watch.found_in(came.body):
            return no_reply("holds_key", "the body holds what looks like a key; it is not kept"), None
        if word is None:
            read = read_reply(came.body, question.model)
        else:
            at = f" from {question.endpoint.completions}" if word == "no_endpoint" else ""
            read = no_reply(word, f"HTTP {came.status}{at}: {came.body[:200].decode(errors='replace')!a}")
        return read, gateway.blobs.put(came.body)

    def _record(
        self, question: _Question, http_try: int, read: Read, bodies: tuple[str, str | None], *, latency_ms: int,
        waited_ms: int,
    ) -> Call:  # fmt: skip
        tokens, cost = _charge(question, read)
        self._budget.settle(question.need, tokens=tokens, cost_microusd=cost, unmet=read.status == "no_connection")
        call = Call(
            pin=self._pin, stage=self._stage, slot=self._slot, attempt=self._attempt, n=question.n,
            purpose=self._purpose, role=question.role, http_try=http_try, request=bodies[0], response=bodies[1],
            status=read.status, model=read.model, fingerprint=read.fingerprint, input_tokens=read.input_tokens,
            output_tokens=read.output_tokens, charged_tokens=tokens, cost_microusd=cost, latency_ms=latency_ms,
            waited_ms=waited_ms, why=read.why,
        )  # fmt: skip
        self._lines.append(encode_record(call))
        return call


def _charge(question: _Question, read: Read) -> tuple[int, int | None]:
    """Tokens and cost: what the reply says, else the most it can have been, else nothing if none was made."""
    price = question.model.price_per_million_tokens
    if read.input_tokens is not None and read.output_tokens is not None:
        return read.input_tokens + read.output_tokens, cost_microusd(price, read.input_tokens, read.output_tokens)
    if read.status in _FREE:
        return 0, cost_microusd(price, 0, 0)
    return question.need.tokens, question.need.cost_microusd


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))


__all__ = ["Clock", "Gateway", "Line", "budget_of"]
