"""A sealed plan with models, and gateways to a loopback endpoint under it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Budget, Spent
from sealkit.agents.models.endpoint import read_endpoints
from sealkit.agents.models.exchange import Patience
from sealkit.agents.models.gateway import Clock, Gateway, Line, budget_of
from sealkit.agents.turns import Ask, Message, Reply
from sealkit.cli.init import make_study
from sealkit.seal.sealed import SealedPlan, open_seal
from sealkit.wire.calls import Call
from sealkit.wire.canon import decode_record
from tests.loopback import Loopback
from tests.studies import call, ok

KEY = "sk-test-0123456789abcdefghij"
PLAN = "plans/v1.yaml"
SLOT: dict[str, int | str] = {"arm": "A", "family": "noise", "seed": 3}
PRICED = "price_per_million_tokens: {input_microusd: 150000, output_microusd: 600000}"
PATIENT = Patience(tries=3)
# For what is slow on purpose; a reply that is not still has a second.
QUICK = Patience(read_s=1.0, total_s=1.5, tries=3)


def seal_study(folder: Path) -> Path:
    """A study with plans/v1.yaml sealed, its agent priced."""
    make_study(folder)
    plan = folder / PLAN
    plan.write_text(plan.read_text().replace("price_per_million_tokens: null", PRICED, 1))
    ok(call("seal", PLAN, cwd=folder))
    return folder


@pytest.fixture(scope="session")
def v1_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_study(tmp_path_factory.mktemp("v1") / "study")


@pytest.fixture(scope="session")
def sealed_v1(v1_once: Path) -> Iterator[SealedPlan]:
    """The sealed plan; nobody writes into its study."""
    opened = open_seal(v1_once / PLAN)
    yield opened
    opened.close()


@pytest.fixture
def v1(v1_once: Path, tmp_path: Path) -> Path:
    """A copy of the sealed study."""
    return Path(shutil.copytree(v1_once, tmp_path / "v1"))


@dataclass
class Fake:
    """A clock that stands at noon, and records each wait in place of waiting."""

    waits: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def clock(self) -> Clock:
        return Clock(
            now=lambda: datetime(2026, 11, 30, 12, tzinfo=UTC), monotonic_s=lambda: self.seconds, sleep=self._sleep,
            draw=lambda: 0.0,
        )  # fmt: skip

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds


@dataclass
class Bench:
    """What a test of the gateway needs: `bench.gateway(server)`, then `run(...)`."""

    sealed: SealedPlan
    folder: Path
    fake: Fake = field(default_factory=Fake)

    @property
    def blobs(self) -> Blobs:
        return Blobs(self.folder / "blobs", inside=self.folder)

    def gateway(self, server: Loopback | str, *, budget: Budget | None = None, key: str = KEY, **more: Any) -> Gateway:
        url = server if isinstance(server, str) else server.url
        environ = {"SEALKIT_API_KEY": key} if key else {}
        return Gateway.for_sealed(
            self.sealed, endpoints=read_endpoints((url,), roles=self.sealed.plan.spec.models, environ=environ),
            budget=budget or budget_of(self.sealed.plan.spec, Spent()), blobs=self.blobs,
            **{"clock": self.fake.clock, "patience": PATIENT, **more},
        )  # fmt: skip

    def line(self, gateway: Gateway, *, attempt: int = 1) -> Line:
        return gateway.line(stage="confirmatory", pin=self.sealed.pin, slot=SLOT, attempt=attempt, purpose="act")

    def ask(self, server: Loopback | str, *asks: Ask, **more: Any) -> tuple[Reply | Exception, tuple[Call, ...]]:
        """What becomes of the last of `asks` (one that says hello, if none is given), and the lines of all."""

        async def go() -> tuple[Reply | Exception, tuple[Call, ...]]:
            async with self.gateway(server, **more) as gateway:
                line = self.line(gateway)
                try:
                    for one in asks or (HELLO,):
                        outcome: Reply | Exception = await line.answer(one)
                except Exception as error:  # whatever it is, the test says which it should have been
                    outcome = error
                return outcome, read_calls(line)

        outcome, calls = run(go())
        return outcome, calls


def read_calls(line: Line) -> tuple[Call, ...]:
    return tuple(decode_record(one, Call) for one in line.calls)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def say(text: str, role: str = "agent") -> Ask:
    return Ask(role=role, messages=(Message(role="user", content=text),), schema=None)


HELLO = say("hello")


@pytest.fixture
def bench(sealed_v1: SealedPlan, tmp_path: Path) -> Bench:
    return Bench(sealed_v1, tmp_path)


def policy(request: Any) -> str:
    """Says back what it was told last."""
    return "you said: " + str(request["messages"][-1]["content"])
