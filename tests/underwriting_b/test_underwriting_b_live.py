"""`plans/study-b.yaml`: its grid, and a part of it run through the gateway with policies behind the eyes of models."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sealkit.plan.describe import describe
from sealkit.plan.load import open_plan
from sealkit.wire.canon import decode_record
from sealkit.wire.episode import Episode
from tests.loopback import Loopback
from tests.loopback.desk_policies import POLICIES as MODELS
from tests.studies import ROOT, call, ok
from tests.underwriting_b.conftest import CONTROL, FIXTURES

if TYPE_CHECKING:
    from .conftest import Desk

PLAN = "plans/study-b.yaml"
PART = ("phase-evidence-pushed", "phase-metric-inbox", "phase-decision-pushed", "ladder-a3-inbox", CONTROL)
_families = re.compile(r"family: \[([^\]]*)\]")
PLAYED = {"Qwen/Qwen2.5-7B-Instruct": "faithful", "mistralai/Mistral-7B-Instruct-v0.3": "credulous"}
IDENTITIES = dict(zip(("qwen", "mistral"), PLAYED.values(), strict=True))


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


def part_text() -> str:
    """The plan with five families, one seed and fewer resamples."""

    def cut(found: re.Match[str]) -> str:
        kept = [name for name in PART if name in re.split(r"[,\s]+", found[1])]
        return f"family: [{', '.join(kept)}]"

    text = _families.sub(cut, (ROOT / PLAN).read_text(encoding="utf-8"))
    return text.replace("seed: [1103, 1217, 1429]", "seed: [1103]").replace("resamples: 10000", "resamples: 200")


def model(request: Any) -> str:
    """The policy that stands behind this identity."""
    return MODELS[PLAYED[request["model"]]](request)


@pytest.mark.slow
def test_a_part_of_it_runs_in_both_scaffolds_and_is_replayed_without_a_model(desk: Desk, tmp_path: Path) -> None:
    study = tmp_path / "study"
    ok(call("init", study, cwd=tmp_path))
    (study / PLAN).write_text(part_text(), encoding="utf-8")
    ok(call("seal", PLAN, cwd=study))
    with Loopback(model) as server:
        ok(call("run", PLAN, "--endpoint", server.url, "--jobs", "1", cwd=study))
        asked = [received.json for received in server.requests]
    assert {("tools" in request, "response_format" in request) for request in asked} == {(True, False), (False, True)}
    lines = (study / "receipts" / "study-b" / "episodes.jsonl").read_bytes().splitlines()
    assert len(lines) == 5 * 2 * 2
    for line in lines:
        episode = decode_record(line, Episode)
        policy, family = IDENTITIES[str(episode.slot["identity"])], str(episode.slot["family"])
        scripted = decode_record(desk.play(policy, family)[1], Episode)
        assert [act.action for act in episode.acts] == [act.action for act in scripted.acts], episode.slot
    verified = ok(call("verify", PLAN, "--replay", cwd=study)).out
    assert "the sealed source was run again" in verified
    results = json.loads(ok(call("analyse", PLAN, "--json", cwd=study)).out)
    assert {item["hypothesis"] for item in results["verdicts"]} == {"scaffold", "timing", "delivery", "reliance"}
