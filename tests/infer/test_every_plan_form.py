"""Whatever a plan may say of its analysis, the engine does it, or `run` refuses the plan beforehand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from sealkit.infer import robustness
from sealkit.infer.estimate import Estimated
from sealkit.infer.robustness import SEEDS
from sealkit.plan.describe import parts_of_later_engines
from sealkit.plan.fields import fields_of
from sealkit.plan.load import open_plan
from sealkit.plan.slots import Slot
from tests.infer.told import PAIRED, Outcome, analysed, small

EVERYTHING = Path(__file__).parents[1] / "plan" / "everything.yaml"


def outcome(slot: Slot) -> Outcome:
    drawn = random.Random(str(sorted(slot.items())))
    if drawn.random() < 0.01:
        return "missing"
    reads = ["expert"] + (["rule"] if slot["arm"] in ("log", "own") else [])
    return {
        "success": int(drawn.random() < (0.7 if slot["arm"] == "own" else 0.5)),
        "quality": f"0.{2 * drawn.randrange(5)}",
        "latency": drawn.choice([None, 3, 7]),
        "input_tokens": drawn.randrange(1000),
        "acts": drawn.randrange(1, 16),
        "named": {read: {fault: drawn.randrange(2) for fault in ("a", "b")[: drawn.randrange(3)]} for read in reads},
    }


@pytest.fixture(scope="module")
def record() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(robustness, "SEEDS", 2)
        return analysed(open_plan(EVERYTHING), outcome).record


def test_everything_is_estimated_or_says_why(record: Any) -> None:
    spec = open_plan(EVERYTHING).spec
    reasons = {row["not_estimable"] for row in record["effects"] if "not_estimable" in row}
    # The plan's rule is the worst case, and a count has no worst value.
    assert all("has no worst value" in reason for reason in reasons), reasons
    for row in record["effects"]:
        if "not_estimable" not in row:
            assert set(fields_of(spec, row["effect"], row["metric"])) <= set(row)
    assert {row["form"] for row in record["effects"]} == {"single", "paired", "difference"}
    assert len(record["verdicts"]) == 4
    assert SEEDS == 60


def test_every_entry_is_reported(record: Any) -> None:
    spec = open_plan(EVERYTHING).spec
    assert {row["entry"] for row in record["reported"]} == set(range(len(spec.reported_only)))


def test_fields_are_exactly_those_that_a_rule_may_read() -> None:
    from tests.infer.told import found_in, pairs_of

    for method in ("boot", "law", "tango", "newcombe", "exact"):
        plan = small({"e": PAIRED % method}, seeds=6)
        found = found_in(plan, pairs_of(6, 3, 1)).estimate
        assert isinstance(found, Estimated)
        assert tuple(found.fields) == fields_of(plan.spec, "e", "success")


def test_no_way_to_analyse_is_left_that_run_would_refuse() -> None:
    plan = open_plan(EVERYTHING)
    later = [text for text in parts_of_later_engines(plan) if "$.effects" in text or "$.metrics" in text]
    assert later == []
    assert parts_of_later_engines(small({"e": PAIRED % "boot"})) == ()
