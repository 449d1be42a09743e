"""Arms that ask models on a Dask cluster of real processes, against a real server on loopback."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Limits, Spent
from sealkit.run.calling import Models
from sealkit.run.cluster import Asks, _outcome
from sealkit.run.outcome import CutOff, Kept, Outcome
from sealkit.run.purse import Purse
from sealkit.wire.attempts import Tried, read_calls, tried_by
from sealkit.wire.digest import digest_bytes
from tests.loopback import Fault, Loopback, faults
from tests.modelled import PLAN, calls, episodes, events, make_study, plan_text, policy, receipts
from tests.run.clusters import Found, cluster, needs_dask
from tests.run.killing import Moment, send_at, start
from tests.studies import call, ok

KEY = "sk-cluster-0123456789abcdefghij"


def copied(study: Path, tmp_path: Path, name: str = "study") -> Path:
    return Path(shutil.copytree(study, tmp_path / name))


def arguments(found: Found, server: Loopback, *more: str) -> tuple[str, ...]:
    return ("run", PLAN, "--endpoint", server.url, "--executor", "dask", "--scheduler", found.address, *more)


def run(study: Path, found: Found, server: Loopback, *more: str, code: int = 0) -> str:
    """A run on the cluster in a process of its own, which ends with this code; what it said."""
    with start(study, *arguments(found, server, *more)) as child:
        out, said = child.communicate(timeout=120)
    assert child.returncode == code, said.decode()
    return (out + said).decode()


def await_episodes(study: Path, more: int, *, gone: Callable[[], bool]) -> None:
    """Wait until so many more episodes are recorded, or the run has ended."""
    path = receipts(study) / "episodes.jsonl"

    def count() -> int:
        return path.read_bytes().count(b"\n") if path.exists() else 0

    due = count() + more
    while count() < due and not gone():
        time.sleep(0.002)


def verified(study: Path) -> Any:
    """The one study in what `verify` says, which holds, also when its episodes are played again from the replies."""
    ok(call("verify", "--no-remember", cwd=study))
    found = ok(call("verify", "--no-remember", "--json", "--replay=unsafe", cwd=study)).out
    return json.loads(found)["studies"][0]


def reconciled(study: Path, server: Loopback, *, lost: bool = False) -> None:
    """Each line is of a request that the server had, and unless some are lost, each request has its line."""
    told = [event["calls"] for event in events(study) if event.get("calls")]
    assert sum(one["count"] for one in told) == len(calls(study))
    assert sum(one["bytes"] for one in told) == (receipts(study) / "calls.jsonl").stat().st_size
    seen = Counter(digest_bytes(one.body) for one in server.requests)
    recorded = Counter(one["request"] for one in calls(study))
    assert recorded <= seen if lost else recorded == seen


# --- the budget ----------------------------------------------------------------------------------


def calls_bound(calls: int) -> Limits:
    return Limits(calls=calls, tokens=None, cost_microusd=None)


def test_shares_never_add_up_to_more_than_is_left() -> None:
    drawn = random.Random(6)
    for _ in range(200):
        limits = Limits(calls=drawn.randrange(200), tokens=drawn.randrange(9999), cost_microusd=None)
        purse, out = Purse(limits, Spent(drawn.randrange(20), 7, 5), slots=drawn.randrange(9)), list[Limits]()
        before = purse.spent
        for _ in range(40):
            if out and drawn.random() < 0.5:
                share = out.pop(drawn.randrange(len(out)))
                used = Spent(drawn.randint(0, share.calls), drawn.randint(0, share.tokens or 0), 3)
                purse.settle(share, used, kept=drawn.random() < 0.5)
            else:
                out.append(purse.hand_out(room=drawn.randrange(5)))
            assert sum(share.calls for share in out) <= max(0, limits.calls - purse.spent.calls)
            assert sum(share.tokens or 0 for share in out) <= max(0, (limits.tokens or 0) - purse.spent.tokens)
            assert purse.spent.calls <= max(before.calls, limits.calls)


def test_few_slots_share_all_that_is_left_however_many_could_be_played() -> None:
    purse = Purse(calls_bound(300), Spent(), slots=2)
    first, second = purse.hand_out(room=64), purse.hand_out(room=64)
    assert (first.calls, second.calls) == (150, 75)
    purse.settle(first, Spent(calls=10), kept=True)
    assert purse.hand_out(room=64).calls == 300 - 10 - 75


def test_something_is_kept_back_for_workers_that_come_and_for_what_is_begun_again() -> None:
    """Once the last place, or the last slot, had all that was left, and the next attempt had nothing."""
    purse = Purse(calls_bound(1000), Spent(), slots=30)
    assert min(purse.hand_out(room=2).calls for _ in range(12)) > 20
    purse = Purse(calls_bound(1000), Spent(), slots=2)
    lost = purse.hand_out(room=2)
    purse.hand_out(room=2)
    purse.settle(lost, Spent(), kept=False)
    assert purse.hand_out(room=1).calls > 200


@needs_dask
@pytest.mark.slow
def test_an_attempt_that_needs_more_than_its_share_pauses_the_run(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", plan_text(budget="{calls: 35, tokens: null, cost_microusd: null}"))
    ok(call("seal", PLAN, cwd=study))
    with cluster(tmp_path / "cluster", workers=1) as found, Loopback(policy) as server:
        said = run(study, found, server, "--concurrency", "4", code=3)
        # 35 calls for four slots: whichever of the four attempts comes first to the end of its share.
        assert re.search("budget: an attempt may use its share of what is left: [8654] calls are used", said), said
        assert "fewer workers or a lower --concurrency: what is left is shared anew" in said
        used = len(server.requests)
        assert 4 <= used <= 35 and not events(study, "failed")
        run(study, found, server, code=3)  # one at a time has what is left, until none is
        reconciled(study, server)
        assert used <= len(server.requests) <= 35
    assert [event["reason"] for event in events(study, "paused")] == ["budget", "budget"]
    verified(study)


# --- keys, bodies and pauses ---------------------------------------------------------------------


@needs_dask
@pytest.mark.slow
def test_workers_have_the_key_and_leave_what_a_run_without_them_leaves(
    modelled_once: Path, called_once: Path, tmp_path: Path
) -> None:
    study = copied(modelled_once, tmp_path)
    environ = {"SEALKIT_API_KEY": KEY}
    with cluster(tmp_path / "cluster", workers=2, environ=environ) as found, Loopback(policy) as server:
        report = json.loads(run(study, found, server, "--concurrency", "2", "--json"))
    assert report["episodes"] == 4 and report["used"]["calls"] == len(server.requests)
    assert {one.headers.get("authorization") for one in server.requests} == {f"Bearer {KEY}"}
    assert episodes(study) == episodes(called_once)
    for name in ("request", "response", "slot", "attempt", "n", "status", "cost_microusd"):
        assert [one[name] for one in calls(study)] == [one[name] for one in calls(called_once)]
    assert {path.name for path in (receipts(study) / "blobs").rglob("*")} == {
        path.name for path in (receipts(called_once) / "blobs").rglob("*")
    }
    reconciled(study, server)
    whole = "4 episodes run again by their sealed arms from the recorded replies, the same bytes"
    assert whole in verified(study)["notes"]
    for path in (path for root in (study, tmp_path / "cluster") for path in root.rglob("*") if path.is_file()):
        assert KEY.encode() not in path.read_bytes(), path


@needs_dask
def test_a_worker_without_the_key_pauses_the_run_and_the_parents_key_goes_nowhere(
    modelled_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEALKIT_API_KEY", KEY)
    study, none = copied(modelled_once, tmp_path), {"SEALKIT_API_KEY": ""}

    def asks_for_one(number: int, request: Any) -> Fault | None:
        return None if "authorization" in server.requests[number - 1].headers else faults.unauthorised

    with Loopback(policy, asks_for_one) as server:
        with cluster(tmp_path / "cluster", workers=1, environ=none) as found:
            said = run(study, found, server, code=3)
        assert "the run is paused, and no slot given up: authentication" in said
        assert [one["status"] for one in calls(study)] == ["unauthorised"] * len(server.requests)
        [paused] = events(study, "paused")
        assert (paused["reason"], paused["calls"]["count"]) == ("authentication", len(server.requests))
        with cluster(tmp_path / "another", workers=1) as found:
            run(study, found, server)
        reconciled(study, server)
    assert events(study, "failed") == []
    verified(study)


@needs_dask
@pytest.mark.slow
def test_a_swapped_model_stops_every_worker_and_what_was_asked_is_recorded(modelled_once: Path, tmp_path: Path) -> None:
    study, other = copied(modelled_once, tmp_path), faults.wrong_model("someone/else")

    def swapped(number: int, request: Any) -> Fault | None:
        return other if number > 20 else None

    with cluster(tmp_path / "cluster", workers=2) as found:
        with Loopback(policy, swapped) as server:
            said = run(study, found, server, "--concurrency", "2", code=3)
            assert "model_drift: the reply is by 'someone/else'" in said
            reconciled(study, server)
        [paused] = events(study, "paused")
        assert (paused["reason"], events(study, "failed")) == ("model_drift", [])
        assert "model_drift" in {one["status"] for one in calls(study)}
        kept = len(events(study, "episode"))
        with Loopback(policy) as server:  # the same workers: a pause is of one run
            assert json.loads(run(study, found, server, "--json"))["new"] == 4 - kept
    verified(study)


@needs_dask
@pytest.mark.slow
def test_ctrl_c_records_the_calls_of_what_it_cuts_off_on_workers(modelled_once: Path, tmp_path: Path) -> None:
    study = copied(modelled_once, tmp_path)

    def hangs(number: int, request: Any) -> Fault | None:
        return faults.hang if number > 8 else None

    with cluster(tmp_path / "cluster", workers=2) as found, Loopback(policy, hangs) as server:
        with start(study, *arguments(found, server, "--concurrency", "2")) as child:
            server.await_requests(12)  # no attempt is over by then, and each of the four waits
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=60)
        assert child.returncode == 130
        reconciled(study, server)
    assert [event["reason"] for event in events(study, "paused")] == ["interrupted"]
    assert Counter(one["status"] for one in calls(study))["abandoned"] == 4
    verified(study)


@needs_dask
@pytest.mark.slow
def test_a_shard_that_asks_models_has_its_bodies_in_its_own_folder(
    modelled_once: Path, called_once: Path, tmp_path: Path
) -> None:
    study = copied(modelled_once, tmp_path)
    with cluster(tmp_path / "cluster", workers=1) as found, Loopback(policy) as server:
        run(study, found, server, "--shard", "1/2")
        assert not (receipts(study) / "blobs").exists()
        run(study, found, server, "--shard", "2/2")
    ok(call("merge", PLAN, cwd=study))
    assert sorted(episodes(study).splitlines()) == sorted(episodes(called_once).splitlines())
    verified(study)


def test_calls_that_a_worker_gives_are_of_the_attempt_and_have_bodies_here(called_once: Path, tmp_path: Path) -> None:
    """Bodies that only the worker has are no evidence: the parent looks for them before it records a call."""
    first = events(called_once, "episode")[0]["calls"]["bytes"]
    block = (receipts(called_once) / "calls.jsonl").read_bytes()[:first]
    due = tried_by(read_calls(block, where="calls")[0])

    def outcome(due: Tried, folder: Path, block: bytes = block) -> Outcome:
        asks = Asks(Models({}, 1), Purse(calls_bound(9), Spent(), slots=1), Blobs(folder, inside=folder.parent))
        return _outcome(("kept", b"{}", block, "", "", ""), due, asks)

    here = receipts(called_once) / "blobs"
    assert outcome(due, here) == Kept(b"{}", block)
    for bad, says in (
        (outcome(due, tmp_path / "blobs"), "let every worker have this very folder"),
        (outcome(replace(due, attempt=2), here), "a call of another attempt"),
        (outcome(due, here, block[block.index(b"\n") + 1 :]), "found request 1 of call 2, due request 1 of call 1"),
        (outcome(due, here, b"{}\n"), "calls of a worker"),
    ):
        assert isinstance(bad, CutOff) and bad.reason == "worker_refused" and bad.calls == b""
        assert says in bad.why


# --- workers that are killed ---------------------------------------------------------------------


@needs_dask
@pytest.mark.slow
def test_ten_workers_are_killed_and_the_episodes_are_the_same_bytes(tmp_path: Path) -> None:
    """One run, which ends by itself: ten of its twelve workers are killed, each at a drawn moment."""
    study = make_study(tmp_path / "study", plan_text(families=("stale_door", "noise"), seeds=20))
    ok(call("seal", PLAN, cwd=study))
    whole = copied(study, tmp_path, "whole")
    with Loopback(policy) as server:
        ok(call("run", PLAN, "--endpoint", server.url, "--concurrency", "8", cwd=whole))
    drawn = random.Random(10)
    with cluster(tmp_path / "cluster", workers=12) as found, Loopback(policy) as server:
        with start(study, *arguments(found, server, "--concurrency", "2")) as child:

            def gone() -> bool:
                return child.poll() is not None

            for victim in drawn.sample(found.workers, 10):
                # Not by what is begun: what a kill loses is begun again at once, and so kills would follow kills.
                await_episodes(study, drawn.randrange(1, 4), gone=gone)
                send_at(study, victim.pid, Moment(0, drawn.uniform(0, 0.2)), gone=gone)
                victim.wait()
                assert not gone(), "killed while the run went on"
            _, said = child.communicate(timeout=120)
        assert child.returncode == 0, said.decode()
        reconciled(study, server, lost=True)
        asked = len(server.requests)
    assert episodes(study) == episodes(whole)
    row = verified(study)
    assert "80 episodes run again by their sealed arms from the recorded replies, the same bytes" in row["notes"]
    abandoned = sum(arm["abandoned_attempts"] for arm in row["arms"].values())
    assert abandoned == len(events(study, "attempted")) - 80 >= 5
    # What a killed worker had asked is lost with it: requests without a line, in attempts that are counted.
    assert 0 < asked - len(calls(study)) <= 16 * abandoned
