"""The CPU that one model call costs, recorded: in process against inspect-ai, over HTTP against a bare httpx loop."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import json
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.clock import ROOT, cpu_s, medians, python, sealkit, spend
from benchmarks.row import Row
from benchmarks.sizes import Sizes
from benchmarks.studies import make_study
from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Spent
from sealkit.agents.models.endpoint import Endpoint, read_endpoints
from sealkit.agents.models.exchange import Came, Transport
from sealkit.agents.models.gateway import Gateway, budget_of
from sealkit.agents.turns import Ask, Message
from sealkit.seal.sealed import SealedPlan, open_seal

PLAN = "plans/v1.yaml"
WIDTH = 64
# About what an arm sends, and what a model answers.
PROMPT = "The door between the hall and the cellar was seen open. " * 60
REPLY = json.dumps({"action": "move", "args": {"to": "cellar"}, "notes": "the door was open when last seen " * 10})


def measure(sizes: Sizes) -> tuple[Row, ...]:
    """Every body kept, every call on record, on sealkit's side; the other side is as its makers ship it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        study = make_study(folder / "study")
        (study / PLAN).write_bytes((ROOT / PLAN).read_bytes())
        spend(sealkit("seal", PLAN), cwd=study)
        sealed = open_seal(study / PLAN)
        try:
            with _serving() as url:
                rows = (_in_process(sizes, sealed, folder), _over_http(sizes, sealed, folder, url))
        finally:
            sealed.close()
    return rows


def _in_process(sizes: Sizes, sealed: SealedPlan, folder: Path) -> Row:
    episodes, calls = sizes.calls
    runs = count()

    def ours() -> float:
        place = folder / f"mock-{next(runs)}"
        return cpu_s(lambda: asyncio.run(_calls(sizes, sealed, place, "http://127.0.0.1:9/v1", _Mock(sealed))))

    size = f"{episodes} × {calls} calls"
    if importlib.util.find_spec("inspect_ai") is None:
        each, _ = medians(ours, ours, repeats=sizes.turns)
        how = f"{size}; inspect-ai is not here to compare with"
        return Row("CPU of a model call, mock", each * 1000 / (episodes * calls), "ms", None, how)
    mine, theirs = medians(ours, lambda: _inspect_s(sizes, folder / f"logs-{next(runs)}"), repeats=sizes.turns)
    mine_ms, theirs_ms = (side * 1000 / (episodes * calls) for side in (mine, theirs))
    how = f"{size}: {mine_ms:.2f} ms, inspect-ai with its mock {theirs_ms:.2f} ms"
    return Row("CPU of a model call, mock", mine / theirs, "×", 0.1, how)


def _over_http(sizes: Sizes, sealed: SealedPlan, folder: Path, url: str) -> Row:
    episodes, calls = sizes.calls
    runs = count()

    def ours() -> float:
        place = folder / f"http-{next(runs)}"
        return cpu_s(lambda: asyncio.run(_calls(sizes, sealed, place, url, None)))

    mine, bare = medians(ours, lambda: cpu_s(lambda: asyncio.run(_bare(sizes, url))), repeats=sizes.turns)
    mine_ms, bare_ms = (side * 1000 / (episodes * calls) for side in (mine, bare))
    how = f"{episodes} × {calls} calls, {WIDTH} in flight: {mine_ms:.2f} ms, a bare httpx loop {bare_ms:.2f} ms"
    return Row("CPU of a model call, HTTP", mine / bare, "×", 2.0, how)


# --- sealkit -------------------------------------------------------------------------------------


class _Mock:
    """Answers at once, with the same body."""

    def __init__(self, sealed: SealedPlan) -> None:
        model: Any = sealed.plan.spec.models["agent"]
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}
        usage = {"prompt_tokens": 800, "completion_tokens": 100}
        self._came = Came(200, None, json.dumps({"model": model.id, "choices": [choice], "usage": usage}).encode())

    async def post(self, endpoint: Endpoint, body: bytes) -> Came:
        return self._came

    async def close(self) -> None:
        pass


async def _calls(sizes: Sizes, sealed: SealedPlan, place: Path, url: str, transport: Transport | None) -> None:
    place.mkdir()
    spec = sealed.plan.spec
    gateway = Gateway.for_sealed(
        sealed, endpoints=read_endpoints((url,), roles=spec.models, environ={}), budget=budget_of(spec, Spent()),
        blobs=Blobs(place / "blobs", inside=place), transport=transport, width=WIDTH,
    )  # fmt: skip

    async def episode(number: int) -> None:
        slot: dict[str, int | str] = {"arm": "A", "family": "noise", "seed": number}
        line = gateway.line(stage="confirmatory", pin=sealed.latest.pin, slot=slot, attempt=1, purpose="act")
        for turn in range(sizes.calls[1]):
            messages = tuple(Message(role=role, content=text) for role, text in _said(number, turn))
            await line.answer(Ask(role="agent", messages=messages, schema=None))

    async with gateway:
        await _in_flight(sizes, episode)


def _said(number: int, turn: int) -> tuple[tuple[Any, str], ...]:
    return ("system", PROMPT), ("user", f"episode {number}, turn {turn}")


async def _in_flight(sizes: Sizes, episode: Callable[[int], Awaitable[None]]) -> None:
    """Every episode, so many at a time."""
    seats = asyncio.Semaphore(WIDTH)

    async def seated(number: int) -> None:
        async with seats:
            await episode(number)

    await asyncio.gather(*map(seated, range(sizes.calls[0])))


# --- the others ----------------------------------------------------------------------------------


async def _bare(sizes: Sizes, url: str) -> None:
    import httpx

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=WIDTH), trust_env=False) as client:

        async def episode(number: int) -> None:
            for turn in range(sizes.calls[1]):
                messages = [{"role": role, "content": text} for role, text in _said(number, turn)]
                body = {"model": "m", "temperature": 0.7, "max_tokens": 700, "messages": messages}
                reply = await client.post(f"{url}/chat/completions", json=body)
                _ = reply.json()["choices"][0]["message"]["content"]

        await _in_flight(sizes, episode)


def _inspect_s(sizes: Sizes, logs: Path) -> float:
    """CPU seconds of the same calls as an Inspect task with its mock model, which logs every call as well."""
    inspect, dataset, model, solver = (
        importlib.import_module(f"inspect_ai{name}") for name in ("", ".dataset", ".model", ".solver")
    )

    def answer(*_: Any) -> Any:  # with its usage: without one, the mock would count tokens, and download how
        output = model.ModelOutput.from_content("mockllm/model", REPLY)
        output.usage = model.ModelUsage(input_tokens=800, output_tokens=100, total_tokens=900)
        return output

    @solver.solver  # type: ignore[untyped-decorator]
    def turns() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            for turn in range(sizes.calls[1]):
                (_, system), (_, user) = _said(int(state.sample_id), turn)
                said = [model.ChatMessageSystem(content=system), model.ChatMessageUser(content=user)]
                await model.get_model().generate(said)
            return state

        return solve

    samples = [dataset.Sample(input="go", id=number + 1) for number in range(sizes.calls[0])]
    task = inspect.Task(dataset=samples, solver=turns())
    mock = model.get_model("mockllm/model", custom_outputs=answer)
    before = time.process_time()
    (log,) = inspect.eval(task, model=mock, display="none", log_dir=str(logs), max_samples=WIDTH, max_connections=WIDTH)
    spent = time.process_time() - before
    if log.status != "success":
        raise RuntimeError(f"inspect-ai: {log.error}")
    return spent


def policy(request: Any) -> str:
    """What the server in the other process answers."""
    return REPLY


@contextlib.contextmanager
def _serving() -> Iterator[str]:
    """The address of a loopback server in a process of its own."""
    child = subprocess.Popen(
        python("-m", "tests.loopback", "benchmarks.calls:policy"), cwd=ROOT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdin is not None and child.stdout is not None
    try:
        yield child.stdout.readline().strip()
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()
