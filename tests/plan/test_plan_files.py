"""The plans of this repository, and what is said of them."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from sealkit.plan.describe import PlanReport, describe, parts_of_later_engines
from sealkit.plan.load import Plan, open_plan, open_plan_bytes
from sealkit.plan.measures import judge_measures
from sealkit.plan.slots import Basis
from sealkit.wire.errors import MalformedError, UsageError
from tests.plan.trees import FILES, ROOT


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    return {name: open_plan(path) for name, path in FILES.items()}


@pytest.fixture(scope="module")
def reports(plans: dict[str, Plan]) -> dict[str, PlanReport]:
    return {name: describe(plan) for name, plan in plans.items()}


def rows(report: PlanReport, hypothesis: str, metric: str | None = None) -> dict[str, int]:
    (table,) = [t for t in report.truth if t.hypothesis == hypothesis and t.metric == metric]
    assert sum(row.cases for row in table.rows) == table.cases
    return {row.verdict: row.cases for row in table.rows}


def test_v1_is_the_house_study(plans: dict[str, Plan], reports: dict[str, PlanReport]) -> None:
    report = reports["v1"]
    assert [(s.stage, s.slots, s.arms) for s in report.stages] == [("smoke", 4, 4), ("confirmatory", 240, 4)]
    bases = {(e.effect, e.metric): e.basis for e in report.effects}
    assert bases["dc", "success"] == bases["ca", "avoidable_stale"] == Basis("pairs", 50, None)
    assert bases["gains", "success"] == Basis("pairs", 30, None)
    assert bases["noise", "success"] == Basis("pairs", 10, None)
    assert bases["diag", "named_and_timed"] == Basis("pairs", 50, "fault")
    assert {e.effect for e in report.effects if not e.read_by_rules} >= {"da_all", "ca_all"}
    assert [name for name, metric in plans["v1"].spec.metrics.items() if metric.primary] == [
        "success",
        "avoidable_stale",
    ]


def test_the_truth_tables_of_v1_by_hand(reports: dict[str, PlanReport]) -> None:
    # Each of D-C and C-A has ten places of lower ≤ estimate ≤ upper against 0: one wholly above, one wholly below.
    # Contradicted: 10 × 10 - 9 × 9. Partly: one wholly above (1) with the other's estimate above 0, lower at most 0
    # and upper above 0 (2 places), both ways round.
    expected = {"contradicted": 19, "supported": 1, "partly": 4, "not_shown": 76}
    assert rows(reports["v1"], "H1", "success") == rows(reports["v1"], "H1", "avoidable_stale") == expected
    assert rows(reports["v1"], "H2") == {"supported": 4, "not_shown": 14}
    # gains.lower ≤ gains.estimate, noise.estimate and 0: 44 weak orderings, 8 of which have 0 < lower and noise below.
    assert rows(reports["v1"], "H3", "success") == {"supported": 8, "not_shown": 36}


def test_the_dry_run_is_three_hundred_slots_with_exact_predictions(reports: dict[str, PlanReport]) -> None:
    report = reports["dry-run"]
    assert [(s.stage, s.slots) for s in report.stages] == [("smoke", 5), ("confirmatory", 300)]
    bases = {e.effect: e.basis.count for e in report.effects}
    assert bases["oracle"] == bases["rechecker"] == bases["random"] == 60
    assert (bases["naive_unheard"], bases["naive_observed"], bases["tracker_noise"]) == (40, 20, 10)
    assert all(rows(report, name)["supported"] == 1 for name in ("oracle", "naive", "tracker", "rechecker", "random"))
    assert report.later == ()


def test_the_judge_of_the_house_gives_every_measure_of_both_plans(plans: dict[str, Plan]) -> None:
    text = (ROOT / "worlds" / "house" / "judge.py").read_text()
    line = next(line for line in text.splitlines() if line.startswith("MEASURES ="))
    for name in ("v1", "dry-run"):
        assert all(f'"{measure}"' in line for measure in judge_measures(plans[name].spec))


def test_parts_that_cannot_run_yet_are_named_with_their_place(plans: dict[str, Plan]) -> None:
    assert parts_of_later_engines(plans["dry-run"]) == ()
    found = " ".join(parts_of_later_engines(plans["everything"]))
    assert "$.sample.stopping: interim looks" in found
    assert "$.factors.arm.base" not in found
    assert parts_of_later_engines(plans["external"]) == ()


def test_an_ab_test_of_ones_own_script_takes_at_most_forty_lines() -> None:
    lines = FILES["external"].read_text().splitlines()
    assert len([line for line in lines if not line.startswith("#")]) <= 40


def test_where_points_into_the_file(plans: dict[str, Plan]) -> None:
    plan = plans["v1"]
    place, path = plan.where("factors", "seed").split(" ")
    _, line, column = place.rsplit(":", 2)
    assert path == "$.factors.seed"
    assert plan.data.decode().splitlines()[int(line) - 1][int(column) - 1 :].startswith("0..9")


def test_a_plan_is_a_value(plans: dict[str, Plan]) -> None:
    plan = plans["v1"]
    assert pickle.loads(pickle.dumps(plan)) == plan
    with pytest.raises(AttributeError):
        plan.spec.sample.repetitions = 2  # type: ignore[misc]
    assert isinstance(plan.spec.factors.family, tuple)


def test_files_that_are_no_plan(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file; name a plan"):
        open_plan(tmp_path / "none.yaml")
    with pytest.raises(MalformedError, match="found a folder, due a regular file"):
        open_plan(tmp_path)
    link = tmp_path / "link.yaml"
    link.symlink_to(FILES["v1"])
    with pytest.raises(MalformedError, match="found a link"):
        open_plan(link)
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(MalformedError, match="more than 1048576 bytes"):
        open_plan(large)


def test_a_bootstrap_of_few_pairs_that_a_rule_reads_is_warned_of(reports: dict[str, PlanReport]) -> None:
    (warning,) = reports["v1"].warnings  # dc and ca rest on 50 pairs, gains on 30
    assert warning.startswith("noise: a rule reads a percentile bootstrap that rests on 10 pairs; under 20 ")
    assert reports["dry-run"].warnings == ()  # rates of single arms, by Wilson


def test_metrics_with_units_in_which_a_slot_without_an_episode_cannot_fail_are_warned_of() -> None:
    text = FILES["v1"].read_bytes().replace(b"provider_error: missing", b"provider_error: failure")
    told = [warning for warning in describe(open_plan_bytes(text, "v1.yaml")).warnings if "cannot hold" in warning]
    assert [warning.split(":")[0] for warning in told] == [
        f"sample.endings.provider_error cannot hold for {name}" for name in ("named_and_timed", "named")
    ]
