"""`plans/underwriting-panel.yaml`: it predicts the panel exactly, and a study that runs it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from sealkit.plan.describe import describe
from sealkit.plan.load import open_plan
from tests.studies import ROOT, call, ok, read
from tests.underwriting.conftest import PANEL, POLICIES

PLAN = "plans/underwriting-panel.yaml"


def test_it_is_the_panel_and_one_outcome_supports_each_prediction() -> None:
    plan = open_plan(ROOT / PLAN)
    report = describe(plan)
    assert (plan.spec.factors.family, tuple(plan.spec.factors.arm)) == (PANEL, POLICIES)
    assert [(stage.stage, stage.slots) for stage in report.stages] == [("smoke", 3), ("confirmatory", 15)]
    assert report.later == report.warnings == ()
    for table in report.truth:
        assert [row.cases for row in table.rows if row.verdict == "supported"] == [1], table.hypothesis
    claimed = {(need.hypothesis, need.metric) for need in plan.spec.claims["panel-is-reproduced"].needs}
    assert claimed == {(table.hypothesis, table.metric) for table in report.truth}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study as `sealkit init` makes it, in which the panel has been sealed and run."""
    folder = tmp_path_factory.mktemp("panel") / "study"
    ok(call("init", folder, cwd=folder.parent))
    ok(call("seal", PLAN, cwd=folder))
    ok(call("run", PLAN, "--jobs", "1", cwd=folder))
    return folder


def assert_all_admitted(verified: str) -> None:
    for arm in POLICIES:
        (row,) = [line.split() for line in verified.splitlines() if line.split()[:1] == [arm]]
        assert row == [arm, "5", "5", "0", "0", "0", "0", "none"]
    assert "12 receipts and 3 restore receipts in 15 episodes (0 of a smoke run), 80 acts, 12 notices" in verified


def test_sealed_run_and_analysed_it_is_reproduced(study: Path) -> None:
    assert_all_admitted(ok(call("verify", PLAN, cwd=study)).out)
    results = read(ok(call("analyse", PLAN, "--json", cwd=study)).out)  # runs the sealed source again
    assert [verdict["verdict"] for verdict in results["verdicts"]] == ["supported"] * 20
    passed = [item for item in results["effects"] if item["metric"] == "passed"]
    rates = {item["effect"]: (item["lower"], item["upper"]) for item in passed}
    assert {name: f"{100 * float(low):.1f}-{100 * float(high):.1f}" for name, (low, high) in rates.items()} == {
        "safe": "56.6-100.0", "stale": "11.8-76.9", "credulous": "3.6-62.4",
    }  # fmt: skip


@pytest.mark.slow
def test_run_again_it_is_the_same(study: Path) -> None:
    verified = ok(call("verify", PLAN, "--replay", cwd=study)).out
    assert_all_admitted(verified)
    assert "the sealed source was run again" in verified
