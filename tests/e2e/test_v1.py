"""plans/v1.yaml whole, as it is, by the commands of the README: 240 episodes and 300 readings over real connections.

Three policies, built to be told apart: one by which D > C > A, one by which all arms do the same, one by which the store
does harm. The slowest test of all; it leaves out what makes files durable, which tests/run/test_crash.py is about.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from sealkit.cli.init import make_study
from tests.loopback import Loopback
from tests.loopback.house_policies import POLICIES
from tests.studies import call, ok

PLAN = "plans/v1.yaml"
RECEIPTS = "receipts/belief-log-v1"


@pytest.mark.parametrize(
    ("policy", "verdict"),
    [
        ("graded", "supported"),
        pytest.param("flat", "not_shown", marks=pytest.mark.slow),
        pytest.param("reversed", "contradicted", marks=pytest.mark.slow),
    ],
)
def test_v1_comes_to_the_verdict_that_its_policy_was_built_for(
    policy: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    study = tmp_path / "study"
    make_study(study)
    ok(call("seal", PLAN, cwd=study))
    with Loopback(POLICIES[policy]) as server:
        ran = ok(call("run", PLAN, "--endpoint", server.url, "--concurrency", "64", "--json", cwd=study))
        asked = Counter(request.json["max_tokens"] for request in server.requests)
    left = json.loads(ran.out)
    assert (left["episodes"], left["missing"], left["readings"], left["read"]) == (240, 0, 300, 300)
    assert asked[400] == 300, "each reading is one question to the diagnoser"
    assert left["used"]["calls"] == asked.total()

    seen = json.loads(ok(call("verify", RECEIPTS, "--no-remember", "--json", cwd=study)).out)
    assert seen["holds"]
    ok(call("analyse", PLAN, cwd=study))
    ok(call("publish", PLAN, cwd=study))
    (edition,) = (study / "publications").iterdir()
    results = json.loads((edition / "results.json").read_bytes())
    flow = results["analysis"]["flow"]
    assert {name: (arm["admitted"], arm["outcomes"]) for name, arm in flow.items()} == dict.fromkeys("ABCD", (60, 60))
    h1 = {row["metric"]: row["verdict"] for row in results["analysis"]["verdicts"] if row["hypothesis"] == "H1"}
    assert h1 == {"success": verdict, "avoidable_stale": verdict}
    assert [gate["gate"] for gate in results["gates"] if not gate["open"]] == []
    made = {name: row["made"] for name, row in results["readings"]["levels"].items()}
    assert made == {"reader transcript": 120, "reader structured": 180}
    # The messages tell of swapped tags in every transcript; of what no message tells, the record of beliefs alone.
    (h2,) = [row for row in results["analysis"]["verdicts"] if row["hypothesis"] == "H2"]
    assert h2["verdict"] == "supported"
