"""A model that is swapped at episode 100 of 240, and each documented way on (docs/models.md): all end in an edition.

The plans have v1's arms, families and seeds; each agent says done at once, so that an episode is one call.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import Loopback, faults
from tests.loopback.house_policies import sections
from tests.modelled import PLAN, calls, events, make_study, plan_text
from tests.studies import call, ok

MODEL, OTHER = "Qwen/Qwen2.5-7B-Instruct", "someone/else"
FAMILIES = ("stale_door", "wrong_start", "delayed_update", "noise", "unobservable", "double_fault")


def hasty(request: Any) -> str:
    """Done, at once; in the form of the arm that asks."""
    with_store = "Your beliefs" in sections(request)
    memory = {"beliefs": [], "cites": [], "plan": ""} if with_store else {"notes": ""}
    return json.dumps({"action": "done", "argument": "", **memory})


@pytest.fixture(scope="module")
def swapped_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 240 slots whose model was swapped when 100 had their episode."""
    text = plan_text(arms="ABCD", families=FAMILIES, seeds=10)
    study = make_study(tmp_path_factory.mktemp("swapped") / "study", text)
    ok(call("seal", PLAN, cwd=study))
    other = faults.wrong_model(OTHER)
    with Loopback(hasty, lambda number, request: other if number > 100 else None) as server:
        found = call("run", PLAN, "--endpoint", server.url, cwd=study)
    assert found.code == 3 and "docs/models.md names the other ways on" in found.err
    return study


@pytest.fixture
def swapped(swapped_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(swapped_once, tmp_path / "study"))


def published(study: Path, plan: str) -> Any:
    """The results of the edition that analysis and publication leave; verification holds before and after."""
    ok(call("analyse", plan, cwd=study))
    found = call("publish", plan, cwd=study)
    assert found.code == 0, found.said
    ok(call("verify", "receipts", "--no-remember", cwd=study))
    (edition,) = (study / "publications").iterdir()
    return json.loads((edition / "results.json").read_text(encoding="utf-8"))


def test_it_is_paused_before_any_analysis_and_names_both_models(swapped: Path) -> None:
    [paused] = events(swapped, "paused")
    assert paused["reason"] == "model_drift"
    assert paused["detail"] == f"the reply is by '{OTHER}', and the plan says '{MODEL}'"
    assert len(events(swapped, "episode")) == 100 and len(calls(swapped)) == 101
    assert call("analyse", PLAN, cwd=swapped).code == 2, "nobody looks early"


def test_stopping_at_a_block_leaves_the_rest_missing_and_says_so(swapped: Path) -> None:
    kept = events(swapped, "episode")
    out = ok(call("run", PLAN, "--stop", "the model was withdrawn", cwd=swapped)).out
    assert "100 of 240 slots have their episode" in out and "140 slots missing" in out
    assert [event["reason"] for event in events(swapped, "paused")] == ["model_drift", "stopped"]
    results = published(swapped, PLAN)
    [effect] = results["analysis"]["effects"]
    blocks = Counter((event["slot"]["family"], event["slot"]["seed"]) for event in kept)
    assert set(blocks.values()) == {4}, "all arms of a block are run one after the other"
    [basis] = effect["basis"]
    assert (basis["planned"], basis["n"], basis["absent"] + basis["unpaired"]) == (60, 25, 35)
    assert "240 slots were planned" in results["methods"]
    assert "It was paused 2 times (model drift 1, stopped 1)." in results["methods"]
    assert f'By their own word the replies came from "{MODEL}", fingerprint "fp_loopback" ' in results["methods"]
    found = call("run", PLAN, "--stop", "again", cwd=swapped)
    assert (found.code, "has come to its end already" in found.err) == (2, True)
    assert call("run", PLAN, "--endpoint", "http://127.0.0.1:9/v1", cwd=swapped).code == 0, "nothing is left to run"


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_a_new_plan_runs_whole_beside_the_old_one(seeds: int, swapped: Path) -> None:
    text = plan_text(arms="ABCD", families=FAMILIES, seeds=seeds)
    text = text.replace(MODEL, OTHER).replace("id: part", "id: second", 1)
    (swapped / "plans" / "second.yaml").write_text(text, encoding="utf-8")
    ok(call("seal", "plans/second.yaml", cwd=swapped))
    with Loopback(hasty) as server:
        ok(call("run", "plans/second.yaml", "--endpoint", server.url, "--concurrency", "4", cwd=swapped))
        assert {request.json["model"] for request in server.requests} == {OTHER}
    results = published(swapped, "plans/second.yaml")
    held = "its folder held other sealed plans: part, "
    assert held in results["methods"] and "whose run stood paused (model drift)" in results["methods"]
    assert "It was paused" not in results["methods"] and f'came from "{OTHER}", fingerprint' in results["methods"]
    assert [event["reason"] for event in events(swapped, "paused")] == ["model_drift"], "the old study stays as it was"


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_the_epoch_of_the_model_as_a_factor_asserts_each_slots_own_model(seeds: int, swapped: Path) -> None:
    more = "  epoch: [first, second]\n"
    text = plan_text(arms="ABCD", families=FAMILIES, seeds=seeds, more=more).replace("id: part", "id: second", 1)
    text = text.replace("block_by: [family, seed]", "block_by: [family, seed, epoch]")
    agent = re.search(r"^  agent:\n((?:    .*\n)+)", text, re.MULTILINE)
    assert agent is not None
    settings = "".join(f"    {line}\n" for line in agent[1].splitlines())
    levels = f"      first:\n{settings}      second:\n{settings.replace(MODEL, OTHER)}"
    text = text.replace(agent[0], f"  agent:\n    factor: epoch\n    levels:\n{levels}")
    text = text.replace("join: [family, seed]", "join: [family, seed, epoch]")
    text = text.replace("smoke: {arm: all,", "smoke: {arm: all, epoch: [first],")
    second = "plans/second.yaml"
    (swapped / second).write_text(text, encoding="utf-8")
    ok(call("seal", second, cwd=swapped))
    with Loopback(hasty) as server:
        ok(call("run", second, "--endpoint", server.url, "--concurrency", "8", cwd=swapped))
    lines = (swapped / "receipts" / "second" / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    served = Counter((one["slot"]["epoch"], one["model"]) for one in map(json.loads, lines))
    assert served == {("first", MODEL): 24 * seeds, ("second", OTHER): 24 * seeds}
    results = published(swapped, second)
    chosen = f'The model agent is chosen by the factor epoch: first "{MODEL}", second "{OTHER}".'
    assert chosen in results["methods"]
    assert f'"{MODEL}", fingerprint "fp_loopback" ' in results["methods"]
    assert f'"{OTHER}", fingerprint "fp_loopback" ' in results["methods"]


def test_the_document_names_every_reason_for_a_pause_and_every_way_on() -> None:
    from tests.modelled import ROOT

    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    for word in ("model_drift", "authentication", "no_endpoint", "budget", "errors_in_a_row", "interrupted"):
        assert f"| `{word}` |" in text
    for way in ("**Stop at a block.**", "**A new plan.**", "**The model's epoch as a factor.**"):
        assert way in text
