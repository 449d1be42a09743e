"""Sealed files are looked at again before a call: each time, or at most every 50 ms, by what may have read them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from sealkit.agents.models import gateway as module
from sealkit.agents.models.errors import PauseError
from sealkit.seal.closure import DriftError
from sealkit.seal.guard import Guard, open_guard
from sealkit.seal.sealed import open_seal
from tests.agents.models.bench import HELLO, PLAN, SLOT, Bench, policy, run
from tests.loopback import Loopback


@pytest.mark.parametrize("purpose", ["act", "read"])
def test_the_first_call_of_an_attempt_and_of_a_reading_does_not_leave(v1: Path, tmp_path: Path, purpose: Any) -> None:
    sealed = open_seal(v1 / PLAN)

    async def go(server: Loopback) -> None:
        async with Bench(sealed, tmp_path).gateway(server) as gateway:
            os.utime(v1 / "worlds/house/judge.py")
            line = gateway.line(stage="confirmatory", pin=sealed.pin, slot=SLOT, attempt=1, purpose=purpose)
            with pytest.raises(PauseError, match=r"drift: worlds/house/judge\.py was written to .* as sealed again"):
                await line.answer(HELLO)
            assert gateway.paused is not None and line.calls == ()

    with Loopback(policy) as server:
        run(go(server))
        assert not server.requests
    sealed.close()


def test_a_later_call_is_looked_at_when_the_last_look_is_old(
    v1: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = open_seal(v1 / PLAN)

    async def go(server: Loopback) -> None:
        bench = Bench(sealed, tmp_path)
        async with bench.gateway(server) as gateway:
            line = bench.line(gateway)
            monkeypatch.setattr(module, "LOOK_S", 3600.0)
            await line.answer(HELLO)
            os.utime(v1 / "worlds/house/judge.py")
            await line.answer(HELLO)
            monkeypatch.setattr(module, "LOOK_S", 0.0)
            with pytest.raises(PauseError, match="drift"):
                await line.answer(HELLO)

    with Loopback(policy) as server:
        run(go(server))
        assert len(server.requests) == 2
    sealed.close()


def test_a_look_is_shared_and_what_it_found_stays(v1: Path) -> None:
    sealed = open_seal(v1 / PLAN)
    guard = open_guard(sealed)
    os.utime(v1 / "worlds/house/judge.py")
    guard.look(since=0.0)  # one was made since
    for _ in range(2):
        with pytest.raises(DriftError):
            guard.look(since=time.monotonic())
    with pytest.raises(DriftError):
        guard.look(since=0.0)
    Guard(None).look(since=time.monotonic())  # a pilot has no seal
    sealed.close()
