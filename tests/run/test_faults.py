"""One study, more than 500 faults of every kind: each is found under its own status, and none is the agent's failure."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sealkit.agents.models.endpoint import read_endpoints
from sealkit.agents.models.exchange import Patience
from sealkit.cli.out import Progress
from sealkit.run.bench import open_bench
from sealkit.run.calling import Models
from sealkit.run.run import RunReport, run_stage
from sealkit.wire.calls import CALL_STATUSES
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import HarnessError
from tests.loopback import Fault, Loopback, faults
from tests.modelled import PLAN, calls, episodes, events, make_study, plan_text, policy, receipts
from tests.seal.journals import NOW
from tests.studies import call, ok

# Seconds that only what is slow on purpose waits for; a reply that is not has them too.
PATIENCE = Patience(connect_s=20, read_s=3, total_s=6, tries=8)

# Status, fault, and how often it is drawn. What fails an attempt is rare: five such attempts in a row pause a run.
DRAWN: list[tuple[str, Fault, int]] = [
    ("rate_limited", faults.rate_limited("0"), 300),
    ("server_error", faults.http_error(500), 150),
    ("server_error", faults.http_error(503), 100),
    ("connection_lost", faults.reset, 150),
    ("connection_lost", faults.reset_midway, 80),
    ("timeout", faults.hang, 5),
    ("cut_off", faults.cut_off, 45),
    ("refusal", faults.refusal, 30),
    ("refusal", faults.filtered, 15),
    ("malformed_reply", faults.garbage, 2),
    ("malformed_reply", faults.cut_in_two, 1),
    ("malformed_reply", faults.gzipped, 1),
    ("empty_reply", faults.no_choices, 2),
    ("empty_reply", faults.no_content, 1),
    ("lone_surrogates", faults.lone_surrogates, 2),
    ("too_large", faults.huge, 2),
    ("never_ended", faults.drip, 1),
    ("never_ended", faults.stall_midway, 1),
    ("client_error", faults.http_error(400), 2),
    ("redirected", faults.redirect("http://127.0.0.1:9/"), 1),
    ("holds_key", faults.echoes_key("AKIA" + "ABCD" * 4), 1),
]
PAUSES = {
    300: ("model_drift", faults.wrong_model("someone/else")), 450: ("no_endpoint", faults.http_error(404)),
    600: ("unauthorised", faults.unauthorised),
}  # fmt: skip
ANSWERED = {status for status, then in CALL_STATUSES.items() if then == "answer"}


class Script:
    """Draws what becomes of each request, and counts what was made. Each of `DRAWN` comes once, whatever is drawn."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self._draws = random.Random(500)
        self._first = list(DRAWN)
        self._draws.shuffle(self._first)

    def __call__(self, number: int, request: Any) -> Fault | None:
        if number in PAUSES:
            status, fault = PAUSES[number]
        elif number % 40 == 0 and self._first:
            status, fault, _ = self._first.pop()
        elif self._draws.random() < 0.5:
            [(status, fault, _)] = self._draws.choices(DRAWN, [weight for _, _, weight in DRAWN])
        else:
            return None
        self.made[status] += 1
        return fault


def run(study: Path, server: Loopback) -> tuple[RunReport, int]:
    """Run until nothing is left, again after each pause; the last report, and how often it paused."""
    bench = open_bench(study / PLAN, "confirmatory")
    models = Models(read_endpoints((server.url,), roles=bench.roles, environ={}), 32, PATIENCE)
    for paused in range(10):
        try:
            return run_stage(bench, jobs=1, now=lambda: NOW, watch=Progress("slots", 0), models=models), paused
        except HarnessError as error:
            assert "the run is paused and no slot" in str(error) or "the run is paused, and no slot" in str(error)
    raise AssertionError("paused again and again")


def named(one: dict[str, Any]) -> tuple[str, int]:
    return json.dumps(one["slot"], sort_keys=True), one["attempt"]


def by_attempt(study: Path) -> dict[tuple[str, int], bytes]:
    """The lines of episodes by slot and attempt."""
    return dict(zip(map(named, events(study, "episode")), episodes(study).splitlines(), strict=True))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A sealed study of 40 slots that nobody has run, and a copy after a run without a fault."""
    folder = tmp_path_factory.mktemp("faults")
    study = make_study(folder / "study", plan_text(arms="ABCD", families=("stale_door", "noise"), seeds=5))
    ok(call("seal", PLAN, cwd=study))
    clean = Path(shutil.copytree(study, folder / "clean"))
    with Loopback(policy) as server:
        run(clean, server)
    return study, clean


@pytest.mark.slow
def test_500_faults_in_one_study(whole: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    study, clean = whole
    monkeypatch.setattr("sealkit.agents.models.exchange._FIRST_S", 0.01)  # the waits themselves are tested elsewhere
    script = Script()
    with Loopback(policy, script) as server:
        report, paused = run(study, server)
    made, lines = script.made, calls(study)

    # Every fault that was made has its own status, and nothing else has.
    found = Counter(one["status"] for one in lines)
    assert made.total() >= 500 and not script._first
    assert set(made) == set(CALL_STATUSES) - {"complete", "abandoned", "no_connection"}
    assert found == made + Counter(complete=len(server.requests) - made.total())

    # The server's log, calls.jsonl, the journal, what the run says and what `verify` counts: to the last one.
    assert Counter(one["request"] for one in lines) == Counter(digest_bytes(one.body) for one in server.requests)
    told = [event["calls"] for event in events(study) if event.get("calls")]
    assert sum(one["count"] for one in told) == len(lines) == len(server.requests)
    assert sum(one["bytes"] for one in told) == (receipts(study) / "calls.jsonl").stat().st_size
    assert report.spent is not None and report.spent.calls == len(lines)
    assert report.spent.tokens == sum(one["charged_tokens"] for one in lines)
    said = ok(call("verify", "--no-remember", "--replay=unsafe", "--json", cwd=study)).out
    [row] = json.loads(said)["studies"]
    assert sum((Counter(arm["statuses"]) for arm in row["calls"].values()), Counter()) == found
    assert sum(arm["requests"] for arm in row["calls"].values()) == len(lines)

    # None is scored. A pause gives up no slot, a failed attempt leaves no episode, and a slot without one is missing.
    reasons = Counter(event["reason"] for event in events(study, "paused"))
    assert reasons.total() == paused
    assert {reasons[why] for why in ("model_drift", "authentication", "no_endpoint")} == {1}
    failed = events(study, "failed")
    assert {event["ending"] for event in failed} == {"provider_error"}
    assert report.episodes == len(events(study, "episode")) == report.slots - report.missing == 40 - report.missing
    for arm in row["arms"].values():
        assert (arm["admitted"] + arm["missing"], arm["excluded"], arm["errored"]) == (arm["slots"], {}, 0)
    kept = by_attempt(study)
    by_try: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for one in lines:
        by_try.setdefault(named(one), []).append(one)
    without = {slot: line for (slot, _), line in by_attempt(clean).items()}
    alike = 0
    for attempt, line in kept.items():
        answers = Counter(one["status"] for one in by_try[attempt] if one["status"] in ANSWERED)
        assert {CALL_STATUSES[one["status"]] for one in by_try[attempt]} <= {"answer", "again"}
        acts = json.loads(line)["acts"][1:]
        noops = Counter(act["action"]["args"]["why"] for act in acts if act["action"]["name"] == "noop")
        assert (noops["cut_off"], noops["refusal"]) == (answers["cut_off"], answers["refusal"])
        if set(answers) == {"complete"}:  # whatever else befell it, it is the episode of a run without a fault
            assert line == without[attempt[0]]
            alike += any(one["status"] != "complete" for one in by_try[attempt])
    assert alike > 3
