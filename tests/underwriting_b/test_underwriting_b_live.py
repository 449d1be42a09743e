"""`plans/study-b.yaml`: its grid. `test_underwriting_b_whole.py` runs all of it with policies behind the eyes of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sealkit.plan.describe import describe
from sealkit.plan.load import open_plan
from tests.studies import ROOT
from tests.underwriting_b.conftest import FIXTURES

if TYPE_CHECKING:
    from .conftest import Desk

PLAN = "plans/study-b.yaml"


def test_the_grid_holds_the_minimum_and_both_axes(desk: Desk) -> None:
    """Two model families, five editions, three seeds, two scaffolds: `spec/universe.md`, Study B."""
    plan = open_plan(ROOT / PLAN)
    factors, report = plan.spec.factors, describe(plan)
    assert factors.family == desk.world.families
    assert factors.seed == FIXTURES[:3]
    assert (tuple(factors.arm), factors.further) == (("json", "tools"), {"identity": ("qwen", "mistral")})
    assert [(stage.stage, stage.slots) for stage in report.stages] == [("smoke", 4), ("confirmatory", 252)]
    assert report.later == report.warnings == ()
    assert set(desk.measures) >= {"reread", "latency_to_reread", "stale_citation", "unauthorized_reliance"}
