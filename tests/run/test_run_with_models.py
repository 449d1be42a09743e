"""Runs whose arms ask models, against a real server on loopback: what is called, recorded, paused and gone on with."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import threading
from collections import Counter
from concurrent.futures import Future
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Budget, Limits, Spent
from sealkit.agents.models.endpoint import read_endpoints
from sealkit.agents.models.exchange import Patience
from sealkit.cli.out import Progress
from sealkit.run.bench import open_bench
from sealkit.run.calling import Models, calling
from sealkit.run.loop import Watcher
from sealkit.run.outcome import CutOff
from sealkit.run.run import RunReport, run_stage
from sealkit.seal.journal import BLOBS
from sealkit.wire.errors import HarnessError
from tests.loopback import Loopback, faults
from tests.loopback.faults import Fault
from tests.modelled import PLAN, calls, episodes, events, make_study, plan_text, policy, receipts
from tests.run.killing import moments, nursery, stopped_fork
from tests.seal.journals import NOW
from tests.slow import first_of
from tests.studies import Outcome, call, ok

IMPATIENT = Patience(connect_s=2, read_s=1, total_s=2, tries=2, most_wait_s=0.2)


def copied(study: Path, tmp_path: Path, name: str = "study") -> Path:
    return Path(shutil.copytree(study, tmp_path / name))


def run(study: Path, server: Loopback, *more: str) -> Outcome:
    return call("run", PLAN, "--endpoint", server.url, *more, cwd=study)


def verified(study: Path, *more: str) -> Any:
    """The one study in what `verify` says, which holds."""
    return json.loads(ok(call("verify", "--no-remember", "--json", *more, cwd=study)).out)["studies"][0]


def run_here(study: Path, server: Loopback, concurrency: int = 4, watch: Watcher | None = None) -> RunReport:
    """A run that waits for nothing long."""
    bench = open_bench(study / PLAN, "confirmatory")
    endpoints = read_endpoints((server.url,), roles=bench.roles, environ={})
    models = Models(endpoints, concurrency, IMPATIENT)
    return run_stage(bench, jobs=1, now=lambda: NOW, watch=watch or Progress("slots", 0), models=models)


# --- what is recorded ----------------------------------------------------------------------------


def test_a_run_records_every_request_and_verifies(called_once: Path) -> None:
    found = calls(called_once)
    told = [event["calls"] for event in events(called_once, "episode")]
    assert sum(one["count"] for one in told) == len(found) > 40
    assert {one["status"] for one in found} == {"complete"}
    assert {one["pin"] for one in found} == {events(called_once, "sealed")[0]["pin"]}
    acts = [act["calls"] for line in episodes(called_once).splitlines() for act in json.loads(line)["acts"][1:]]
    assert [digest for act in acts for digest in act] == [one["response"] for one in found]
    study = verified(called_once, "--replay=unsafe")
    assert {arm: row["admitted"] for arm, row in study["arms"].items()} == {"A": 2, "D": 2}
    assert {arm: row["calls"] for arm, row in study["calls"].items()} == Counter(one["slot"]["arm"] for one in found)
    assert "4 episodes run again by their sealed arms from the recorded replies, the same bytes" in study["notes"]


def test_usage_is_measured_from_the_calls(called_once: Path) -> None:
    analysis = json.loads(ok(call("analyse", PLAN, "--json", cwd=called_once)).out)
    for arm in "AD":
        mine = [one for one in calls(called_once) if one["slot"]["arm"] == arm]
        found = analysis["overhead"][arm]
        assert found["calls"]["total"] == len(mine)
        assert found["input_tokens"]["total"] == sum(one["input_tokens"] for one in mine)
        assert found["output_tokens"]["total"] == sum(one["output_tokens"] for one in mine)


def test_sixty_four_attempts_at_once_leave_the_episodes_that_one_leaves(modelled_once: Path, tmp_path: Path) -> None:
    one, many = copied(modelled_once, tmp_path, "one"), copied(modelled_once, tmp_path, "many")
    with Loopback(policy) as server:
        ok(run(one, server))
        ok(run(many, server, "--concurrency", "64"))
    assert episodes(one) == episodes(many) != b""
    assert [event["slot"] for event in events(one, "episode")] == [event["slot"] for event in events(many, "episode")]


def test_what_to_type_next_names_the_endpoint_and_a_cost_without_a_price_is_unknown(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", re.sub(r"(price_per_million_tokens): \{.*\}", r"\1: null", plan_text()))
    seal = ok(call("seal", PLAN, cwd=study)).out
    assert seal.endswith(f"next: sealkit run {PLAN} --endpoint URL\n")
    assert f"next: sealkit run {PLAN} --endpoint URL\n" in ok(call("status", cwd=study)).out
    with Loopback(policy) as server:
        smoke = ok(run(study, server, "--smoke")).out
    assert smoke.endswith(f"next: sealkit run {PLAN} --endpoint {server.url}\n")
    assert "tokens, cost unknown: the plan gives a model no price\n" in smoke and "micro-USD" not in smoke


def test_a_cost_by_the_plan_s_prices_is_told_and_one_without_is_unknown(called_once: Path) -> None:
    out = ok(call("verify", "--no-remember", cwd=called_once)).out
    assert re.search(r"calls of arm A: .* output tokens, [1-9]\d* micro-USD\n", out) and "cost unknown" not in out


# --- refused before anything leaves --------------------------------------------------------------


def test_nothing_leaves_before_the_seal_after_drift_or_without_an_endpoint(modelled_once: Path, tmp_path: Path) -> None:
    with Loopback(policy) as server:
        unsealed = make_study(tmp_path / "unsealed")
        assert run(unsealed, server).code == 2
        drifted = copied(modelled_once, tmp_path)
        prompt = drifted / "worlds" / "house" / "prompts" / "actions.md"
        before = prompt.read_text(encoding="utf-8")
        prompt.write_text(before + "Be quick.\n", encoding="utf-8")
        found = run(drifted, server)
        assert (found.code, "worlds/house/prompts/actions.md" in found.err) == (1, True)
        prompt.write_text(before, encoding="utf-8")
        found = call("run", PLAN, cwd=drifted)
        assert found.code == 2
        assert "no endpoint serves the model role agent; --endpoint agent=URL" in found.err
        found = call("run", PLAN, "--endpoint", f"judge={server.url}", cwd=drifted)
        assert (found.code, "no model role 'judge'; one of: agent" in found.err) == (2, True)
        assert server.requests == ()
    assert calls(drifted) == [] and not events(drifted, "opened")


def test_a_scripted_plan_takes_no_endpoint(sealed: Path) -> None:
    found = call("run", PLAN, "--endpoint", "http://127.0.0.1:9/v1", cwd=sealed)
    assert (found.code, "no arm and no reading of the confirmatory stage asks" in found.err) == (2, True)


def test_a_call_over_the_budget_never_leaves_and_the_budget_outlasts_the_process(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", plan_text(budget="{calls: 20, tokens: null, cost_microusd: null}"))
    ok(call("seal", PLAN, cwd=study))
    with Loopback(policy) as server:
        for _ in range(3):
            found = run(study, server)
            assert found.code == 3
            assert "the run is paused, and no slot given up: budget: 20 calls are used" in found.err
            assert len(server.requests) == len(calls(study)) == 20
    assert [event["reason"] for event in events(study, "paused")] == ["budget"] * 3
    assert events(study, "failed") == []
    assert verified(study)["calls"].keys() <= {"A", "D"}
    standing = ok(call("status", cwd=study)).out
    assert ": paused\n" in standing and ", and no slot given up: budget: 20 calls are used" in standing
    assert "next: raise sample.budget in the plan, and sealkit amend" in standing


# --- pauses --------------------------------------------------------------------------------------


def test_a_refused_key_pauses_and_is_told_how_to_go_on(modelled_once: Path, tmp_path: Path) -> None:
    study = copied(modelled_once, tmp_path)
    with Loopback(policy, lambda number, request: faults.unauthorised) as server:
        found = run(study, server, "--concurrency", "3")
    assert found.code == 3 and "authentication" in found.err and "set the key of this endpoint" in found.err
    [paused] = events(study, "paused")
    assert (paused["reason"], paused["calls"]["count"]) == ("authentication", len(calls(study)))
    assert {one["status"] for one in calls(study)} == {"unauthorised"}
    assert events(study, "failed") == []
    with Loopback(policy) as server:
        assert "4 of 4 slots" in ok(run(study, server)).out
    assert verified(study)["arms"]["A"] | {"slots": 0} == {
        "slots": 0, "admitted": 2, "excluded": {}, "errored": 0, "missing": 0, "abandoned_attempts": verified(study)[
            "arms"]["A"]["abandoned_attempts"],
    }  # fmt: skip


@pytest.mark.parametrize("listens", first_of([True, False]))
def test_where_nothing_is_served_the_run_pauses_at_once_and_nothing_is_drawn_again(
    listens: bool, modelled_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong base path, and a server that is down."""
    monkeypatch.setattr("sealkit.agents.models.exchange._FIRST_S", 0.01)
    study = copied(modelled_once, tmp_path)
    with Loopback(policy) as server:
        wrong = server.url.replace("/v1", "/v2") if listens else "http://127.0.0.1:9/v1"
        found = call("run", PLAN, "--endpoint", wrong, cwd=study)
        assert found.code == 3 and f"no slot given up: no_endpoint: {'HTTP 404' if listens else 'nobody'}" in found.err
        assert wrong in found.err and f"then run again: sealkit run {PLAN} --endpoint URL" in found.err
        assert {one["status"] for one in calls(study)} == {"no_endpoint" if listens else "no_connection"}
        standing = ok(call("status", cwd=study)).out
        assert f"next: start the server, or mend the address (most end in /v1), then sealkit run {PLAN}" in standing
        assert events(study, "failed") == []
        if not listens:  # the slow one goes on to the end
            assert "4 of 4 slots" in ok(run(study, server)).out
            report = json.loads(ok(call("analyse", PLAN, "--json", cwd=study)).out)
            assert report["exclusions"]["drawn_again"] == {}


@pytest.mark.parametrize("concurrency", ["1", "4"])
def test_a_model_that_is_swapped_pauses_the_run_and_no_slot_is_lost(
    concurrency: str, modelled_once: Path, tmp_path: Path
) -> None:
    study = copied(modelled_once, tmp_path)
    other = faults.wrong_model("someone/else")
    with Loopback(policy, lambda number, request: other if number > 30 else None) as server:
        found = run(study, server, "--concurrency", concurrency)
    assert found.code == 3 and "model_drift: the reply is by 'someone/else'" in found.err
    assert [event["reason"] for event in events(study, "paused")] == ["model_drift"]
    assert events(study, "failed") == []
    assert len(calls(study)) == len(server.requests), "what was cut off is recorded too"
    kept = len(events(study, "episode"))
    verified(study)
    with Loopback(policy) as server:
        assert json.loads(ok(run(study, server, "--json")).out)["new"] == 4 - kept
    verified(study, "--replay=unsafe")


def test_errors_in_a_row_pause_and_give_up_no_slot(modelled_once: Path, tmp_path: Path) -> None:
    study = copied(modelled_once, tmp_path)
    with (
        Loopback(policy, lambda number, request: faults.garbage) as server,
        pytest.raises(HarnessError, match="5 errors in a row, the last: malformed_reply"),
    ):
        run_here(study, server, concurrency=1)
    assert [event["reason"] for event in events(study, "paused")] == ["errors_in_a_row"]
    assert [event["ending"] for event in events(study, "failed")] == ["provider_error"] * 5
    with Loopback(policy) as server:
        assert run_here(study, server).missing == 0
    verified(study)


# --- faults --------------------------------------------------------------------------------------

FAULTS: dict[str, Fault] = {
    "rate_limited": faults.rate_limited("0"),
    "server_error": faults.http_error(500),
    "connection_lost": faults.reset,
    "cut_off": faults.cut_off,
    "refusal": faults.refusal,
    "malformed_reply": faults.garbage,
    "empty_reply": faults.no_choices,
    "client_error": faults.http_error(400),
    "lone_surrogates": faults.lone_surrogates,
}


APART = 17  # requests from fault to fault: so many that five attempts in a row do not fail, which pauses a run


def test_every_fault_has_its_status_none_is_scored_and_counts_reconcile(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", plan_text(arms="ABCD", families=("stale_door", "noise"), seeds=4))
    ok(call("seal", PLAN, cwd=study))
    made: Counter[str] = Counter()
    names = list(FAULTS)

    def script(number: int, request: Any) -> Fault | None:
        if number % APART:
            return None
        name = names[number // APART % len(names)]
        made[name] += 1
        return FAULTS[name]

    with Loopback(policy, script) as server:
        report = run_here(study, server, concurrency=8)
    found = Counter(one["status"] for one in calls(study))
    assert found.pop("complete") == len(server.requests) - made.total()
    assert found == made and len(made) == len(FAULTS)
    assert all(event["ending"] == "provider_error" for event in events(study, "failed"))
    assert report.episodes + report.missing == report.slots == 32
    study_row = verified(study, "--replay=unsafe")
    assert sum(row["calls"] for row in study_row["calls"].values()) == len({
        (json.dumps(one["slot"], sort_keys=True), one["attempt"], one["n"]) for one in calls(study)
    })  # fmt: skip
    assert sum(row["requests"] for row in study_row["calls"].values()) == len(server.requests)


# --- stopped and killed --------------------------------------------------------------------------


def test_ctrl_c_and_sigterm_keep_the_calls_of_what_they_cut_off(modelled_once: Path, tmp_path: Path) -> None:
    study = copied(modelled_once, tmp_path)
    with Loopback(policy) as server, nursery() as nurse:
        args = ("run", PLAN, "--endpoint", server.url, "--concurrency", "3")
        stops = zip(moments(1), (signal.SIGINT, signal.SIGTERM) * 2, strict=False)
        codes = [stopped_fork(study, moment, nurse, *args, by=by) for moment, by in stops]
        assert 130 in codes, "at least one was stopped in the midst"
        ok(run(study, server))
        seen = len(server.requests)
    paused = events(study, "paused")
    assert {event["reason"] for event in paused} == {"interrupted"}
    # A request whose answer was never awaited may have been cut off before it reached the server.
    assert len(calls(study)) >= seen
    assert all(one["status"] in ("complete", "abandoned") for one in calls(study))
    verified(study, "--replay=unsafe")


def test_a_scheduler_that_stops_the_run_takes_no_failure_back(modelled_once: Path, tmp_path: Path) -> None:
    study = copied(modelled_once, tmp_path)

    def script(number: int, request: Any) -> Fault | None:
        if number == 3:  # one attempt waits, the next one has broken, and a third has begun
            os.kill(os.getpid(), signal.SIGTERM)  # heard as Ctrl-C is
        return faults.http_error(400) if number == 2 else faults.hang

    with Loopback(policy, script) as server, pytest.raises(KeyboardInterrupt):
        run_here(study, server, concurrency=2)
    kinds = [event["kind"] for event in events(study, "attempted", "failed", "paused", "episode")]
    assert kinds == ["attempted", "attempted", "attempted", "paused", "failed"]
    verified(study)
    with Loopback(policy) as server:
        ok(run(study, server))
    assert sum(arm["abandoned_attempts"] for arm in verified(study)["arms"].values()) == 2


def test_an_attempt_that_is_cut_off_before_it_begins_ends_at_once(modelled_once: Path, tmp_path: Path) -> None:
    bench = open_bench(copied(modelled_once, tmp_path) / PLAN, "confirmatory")
    endpoints = read_endpoints(("http://127.0.0.1:9/v1",), roles=bench.roles, environ={})
    blobs = Blobs(bench.folder / BLOBS, inside=bench.study)
    nothing = Budget(Limits(calls=9, tokens=None, cost_microusd=None), Spent())
    with calling(bench, Models(endpoints, 1, IMPATIENT), nothing, blobs) as executor:
        busy = threading.Event()
        executor._loop.call_soon_threadsafe(busy.wait)
        pending = executor.submit(next(bench.drawn()), 1)
        executor.halt(at_once=True)
        busy.set()
        assert isinstance(pending, Future) and isinstance(pending.result(timeout=10), CutOff)


def test_what_nobody_foresaw_loses_no_call_of_what_was_under_way(
    modelled_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = copied(modelled_once, tmp_path)

    def defect(*_: object, **__: object) -> float:
        raise ZeroDivisionError("nobody foresaw it")

    monkeypatch.setattr("sealkit.agents.models.gateway.wait_s", defect)
    with Loopback(policy, {5: faults.rate_limited("0")}) as server:
        with pytest.raises(ZeroDivisionError):
            run_here(study, server)
        assert len(calls(study)) == len(server.requests) >= 5
    (paused,) = events(study, "paused")
    assert (paused["reason"], paused["detail"]) == ("broke_off", "ZeroDivisionError: nobody foresaw it")
    assert Counter(one["status"] for one in calls(study))["rate_limited"] == 1
    verified(study)


def test_nor_does_an_error_of_the_one_that_records(modelled_once: Path, tmp_path: Path) -> None:
    class Torn(Progress):
        def step(self, count: int = 1) -> None:
            raise BrokenPipeError("nobody looks")

    study = copied(modelled_once, tmp_path)
    with Loopback(policy) as server, pytest.raises(BrokenPipeError):
        run_here(study, server, watch=Torn("slots", 0))
    assert len(calls(study)) >= len(server.requests)  # one may have been cut off before it reached the server
    assert [event["reason"] for event in events(study, "paused")] == ["broke_off"]


def test_bodies_that_cannot_be_flushed_are_flushed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: str) -> None:
        raise OSError(24, "too many open files", path)

    blobs = Blobs(tmp_path / BLOBS, inside=tmp_path)
    blobs.put(b"body")
    monkeypatch.setattr("sealkit.agents.models.blobs._sync", full)
    for _ in range(2):
        with pytest.raises(OSError, match="too many"):
            blobs.flush()


def killed_again_and_again(study: Path, seed: int, kills: int) -> int:
    """Kill so many runs, then let one end; how many were killed in the midst."""
    hits = 0
    with Loopback(policy) as server, nursery() as nurse:
        args = ("run", PLAN, "--endpoint", server.url, "--concurrency", "4")
        for moment in islice(moments(seed), kills):
            hits += stopped_fork(study, moment, nurse, *args, by=signal.SIGKILL) == -signal.SIGKILL
        ok(run(study, server))
    return hits


@pytest.mark.parametrize(("seed", "kills"), first_of([(seed, 10) for seed in range(5)]))
def test_kill_9_loses_nothing_recorded_and_the_episodes_are_the_same_bytes(
    seed: int, kills: int, killed_study: tuple[Path, bytes], tmp_path: Path
) -> None:
    sealed, due = killed_study
    study = copied(sealed, tmp_path)
    assert killed_again_and_again(study, seed, kills) > kills // 2
    assert episodes(study) == due
    row = verified(study)
    assert sum(arm["abandoned_attempts"] for arm in row["arms"].values()) > 0
    told = [event["calls"]["bytes"] for event in events(study) if event.get("calls")]
    assert sum(told) == (receipts(study) / "calls.jsonl").stat().st_size


@pytest.fixture(scope="module")
def killed_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A sealed study of 24 slots that ask a model, and its episodes after a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("killed")
    study = make_study(folder / "study", plan_text(families=("stale_door", "noise"), seeds=6))
    ok(call("seal", PLAN, cwd=study))
    whole = copied(study, folder, "whole")
    with Loopback(policy) as server:
        ok(run(whole, server, "--concurrency", "8"))
    return study, episodes(whole)


def test_progress_shows_slots_calls_tokens_cost_rate_and_time_left() -> None:
    progress = Progress("confirmatory slots", 240)
    progress.begin(40)
    started = progress._started
    progress.step(10)
    progress.use(Spent(calls=1234, tokens=5_678_901, cost_microusd=1_230_000))
    assert progress.words(started + 20.0) == (
        "confirmatory slots: 50/240  1,234 calls  5,678,901 tokens  1.23 USD  30.0/min  380 s left"
    )
