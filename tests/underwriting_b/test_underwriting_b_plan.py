"""`plans/study-b-scripted.yaml`: what it predicts is what the world, the policies and the judge give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from sealkit.plan.actors import ReferenceWorld
from sealkit.plan.analysis import Binary, Counted, Single
from sealkit.plan.load import open_plan
from sealkit.plan.schema import Spec
from sealkit.wire.records import Json
from sealkit.wire.rules import compile_rule
from tests.studies import ROOT, call, ok, read
from tests.underwriting_b.conftest import DELIVERIES, FIXTURES, LEVELS, POLICIES
from tests.underwriting_b.test_underwriting_b_judge import table

if TYPE_CHECKING:
    from .conftest import Desk

PLAN = "plans/study-b-scripted.yaml"
Slot: TypeAlias = tuple[str, str, int]
_name = re.compile(r"([a-z_]+)\.(x|n|total)")


@cache
def spec() -> Spec:
    return open_plan(ROOT / PLAN).spec


def test_it_takes_every_family_and_policy_with_the_fixture_seeds(desk: Desk) -> None:
    factors = spec().factors
    assert (factors.family, factors.seed, tuple(factors.arm)) == (desk.world.families, FIXTURES, POLICIES)
    world = spec().world
    assert isinstance(world, ReferenceWorld)
    assert world.params == desk.world.trial_params, "the frozen pairs are among its scenarios"


def value(judged: Mapping[Slot, Mapping[str, Json]], effect: str, field: str, metric: str) -> int:
    """The count, the successes or the sum that a tally of this effect gives, without sealkit's inference."""
    asked = spec().effects[effect]
    assert isinstance(asked, Single)
    families = spec().populations[asked.population]["family"]
    metric = asked.metric or metric
    measured = spec().metrics[metric]
    assert isinstance(measured, Binary | Counted)
    found = [
        given[measured.measure or metric] for (arm, family, _), given in judged.items()
        if arm == asked.of["arm"] and (families == "all" or family in families)
    ]  # fmt: skip
    there = [int(str(item)) for item in found if item is not None]
    return len(there) if field == "n" else sum(there)


def test_each_prediction_holds_of_the_episodes(desk: Desk) -> None:
    judged = {
        (arm, family, seed): desk.judged(arm, family, seed)
        for arm in POLICIES for family in desk.world.families for seed in FIXTURES
    }  # fmt: skip
    for name, hypothesis in spec().hypotheses.items():
        rule = hypothesis.verdict["supported"]
        fields = sorted(set(_name.findall(rule)))
        values = {f"{effect}.{field}": value(judged, effect, field, str(hypothesis.metric)) for effect, field in fields}
        assert compile_rule(rule, tuple(values), numbers="decimal").evaluate(values) is True, (name, values)


def test_the_claim_needs_every_prediction() -> None:
    needs = spec().claims["desk-tells-apart"].needs
    assert isinstance(needs, tuple)
    assert {need.hypothesis for need in needs} == set(spec().hypotheses)


@pytest.mark.slow
def test_sealed_run_and_analysed_every_prediction_is_supported(tmp_path: Path) -> None:
    """As a stranger would, in a study as `sealkit init` makes it: sealed, run, verified, run again."""
    study = tmp_path / "study"
    ok(call("init", study, cwd=tmp_path))
    for words in (("check",), ("seal",), ("run",)):
        ok(call(*words, PLAN, cwd=study))
    verified = ok(call("verify", PLAN, "--replay", cwd=study)).out
    for arm in POLICIES:
        (row,) = [line.split() for line in verified.splitlines() if line.split()[:1] == [arm]]
        assert row == [arm, "105", "105", "0", "0", "0", "0", "none"]
    assert "400 receipts and 0 restore receipts in 420 episodes (0 of a smoke run), 3685 acts, 400 notices" in verified
    results = read(ok(call("analyse", PLAN, "--json", cwd=study)).out)
    assert results["exclusions"]["null"] == [], "no rule reads a measure where it is null"
    assert {verdict["verdict"] for verdict in results["verdicts"]} == {"supported"}
    assert len(results["verdicts"]) == len(spec().hypotheses)
    pairs = {
        row["effect"]: (row["n"], row["b"], row["c"]) for row in results["reported"] if row.get("method") == "pairs"
    }
    passing = table()
    assert pairs == {
        f"{arm}_{level.split('-')[1]}_{how}": (5, 0, 0 if passing[arm][place] else 5)
        for arm in POLICIES for how in DELIVERIES for place, level in enumerate(LEVELS)
    }  # fmt: skip
