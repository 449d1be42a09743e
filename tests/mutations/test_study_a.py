"""Study A as it is planned: its parents, what its gates stand on, its tables; a second run agrees but for costs."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sealkit.plan.load import open_plan
from tests.mutations.loading import audit, policies
from tests.mutations.test_study import STUDY, load_package_module
from tests.studies import ROOT

PLANS = {name: open_plan(ROOT / f"plans/{name}.yaml").spec for name in ("study-a", "study-a-ablations")}
ISOLATED = json.loads((ROOT / "harness/isolated.json").read_bytes())
FIRST = 59  # parents below belong to tests
EVERY = (
    "drawn_detected", "detected", "located", "abstained", "as_predicted", "unpredicted", "not_isolated", "forks",
    "baselines_conform", "errored", "false_rejection", "faithful_abstention", "view_bytes", "check_us", "detections",
    "locations", "state_detected", "named", "warranted", "untellable", "faithful_warranted",
)  # fmt: skip


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield load_package_module("study_a")


def asked(policy: str, number: int) -> dict[str, Any]:
    return {
        "slot": {"arm": policy, "family": "house", "seed": number},
        "options": {"policy": policy}, "measures": dict.fromkeys(EVERY),
    }  # fmt: skip


def seeds(plan: str) -> set[int]:
    return {int(level) for level in PLANS[plan].factors.levels()["seed"]}


def test_every_parent_was_audited_and_belongs_to_one_plan_and_to_no_test() -> None:
    assert seeds("study-a").isdisjoint(seeds("study-a-ablations"))
    every = {FIRST} | seeds("study-a") | seeds("study-a-ablations")
    assert min(every) == FIRST
    assert ISOLATED.keys() == {f"{world}/{number}" for world in ("house", "underwriting") for number in every}
    assert len({entry["parent"] for entry in ISOLATED.values()}) == len(ISOLATED)
    assert [entry["left_out"] for entry in ISOLATED.values() if entry["left_out"]] == []


def test_a_stranger_makes_every_fork_again() -> None:
    """The committed list is what the seeds give: forks made anew have the digests of those that were audited."""
    for name, number in (("house", 59), ("underwriting", 59)):
        parent = STUDY.parent_of(ROOT, name, number)
        known = ISOLATED[f"{name}/{number}"]
        rows = list(STUDY.audited(parent, audit))
        assert parent.digest == known["parent"]
        assert {mutation: digest for mutation, digest, why in rows if digest and not why} == known["isolated"]


def test_whoever_asks_is_told_what_was_changed_in_a_fork(capsys: pytest.CaptureFixture[str]) -> None:
    command = load_package_module("study_a_notes")
    assert command.main(["underwriting", str(FIRST), "X3.only"]) == 0
    (note,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (note["family"], note["variant"]) == ("X3", "only")
    assert note["fork"] == ISOLATED[f"underwriting/{FIRST}"]["isolated"]["X3.only"]
    (edit,) = note["edits"]["recorded"]
    assert edit["path"] in note["changed"] and edit["path"] not in note["unchanged"]
    assert all(digest.startswith("sha256:") for digest in note["unchanged"].values())
    with pytest.raises(SystemExit, match="has no parent house/7"):
        command.main(["house", "7"])


@pytest.mark.parametrize("plan", PLANS)
def test_an_arm_is_a_policy_that_can_be_asked(plan: str, harness: Any) -> None:
    asked_for = {str(arm.options["policy"]) for arm in PLANS[plan].factors.arm.values()}  # type: ignore[union-attr]
    assert asked_for <= policies().keys()
    assert all(harness._policy(policy) for policy in asked_for)
    assert {getattr(metric, "measure", None) or name for name, metric in PLANS[plan].metrics.items()} <= set(EVERY)


def test_a_second_run_agrees_in_all_but_the_recorded_costs(harness: Any) -> None:
    answers = []
    for step in (1, 1000):
        ticks = iter(range(0, 10**9, step))
        harness._clock = ticks.__next__
        answers.append([harness._answer(STUDY, asked(policy, 59)) for policy in ("causal_declared", "witness")])
    one, other = answers
    assert [answer["measures"].pop("check_us") for answer in one] == [1, 1]
    assert [answer["measures"].pop("check_us") for answer in other] == [1000, 1000]
    assert json.dumps(one) == json.dumps(other)
    assert one[1]["measures"]["detections"] == sum(one[1]["measures"]["detected"].values()) > 0
    assert one[1]["measures"]["forks"] == len(ISOLATED["house/59"]["isolated"])
    assert (one[1]["measures"]["not_isolated"], one[1]["measures"]["unpredicted"]) == (0, 0)


def test_a_fork_that_the_audit_left_out_is_counted_and_not_shown(harness: Any, tmp_path: Path) -> None:
    known = copy.deepcopy(ISOLATED["house/59"])
    gone, _ = known["isolated"].popitem()
    known["left_out"][gone] = "two leaves differ"
    (tmp_path / "isolated.json").write_text(json.dumps({"house/59": known}))
    harness.ISOLATED = tmp_path / "isolated.json"
    found = harness._answer(STUDY, asked("terminal", 59))["measures"]
    assert (found["not_isolated"], gone in found["detected"]) == (1, False)


def _another_file(known: Any) -> None:
    known["terminal"]["files"] = "sha256:" + "0" * 64


def _a_clause_not_kept(known: Any) -> None:
    known["terminal"]["not_kept"] = {"rejects no faithful episode": "rejected one"}


def _no_clause(known: Any) -> None:
    known["terminal"]["kept"] = {}


def _not_examined(known: Any) -> None:
    del known["terminal"]


def test_the_policies_that_rule_are_those_that_conformed(harness: Any) -> None:
    assert harness._baselines_conform(), "python harness/study_a.py --conform > harness/conforming.json"


@pytest.mark.parametrize("spoil", [_another_file, _a_clause_not_kept, _no_clause, _not_examined])
def test_a_policy_that_did_not_conform_as_it_is_now_is_told(
    spoil: Callable[[Any], None], harness: Any, tmp_path: Path
) -> None:
    known = json.loads(harness.CONFORMING.read_bytes())
    spoil(known)
    harness.CONFORMING = tmp_path / "conforming.json"
    harness.CONFORMING.write_text(json.dumps(known))
    assert not harness._baselines_conform()


# --- tables ----------------------------------------------------------------------------------------


def row(**fields: Any) -> dict[str, Any]:
    return {"split": {}, "n": 4, "x": 2, "estimate": "0.5", "lower": "0.068", "upper": "0.932"} | fields


def tally(**fields: Any) -> dict[str, Any]:
    return {"n": 4, "x": 1, "estimate": "0.25"} | fields


def results() -> dict[str, Any]:
    split = {"mutation": "M1.truth"}
    reported = [
        row(arm="witness", metric="detected", split=split), row(arm="witness", metric="false_rejection", x=0),
        row(arm="witness", metric="check_us", split={"family": "house"}, estimate="70", total=280),
        row(effect="gain", metric="detected", split=split, b=2, c=0),
        *(tally(arm="witness", metric=metric, split=where) for metric in ("abstained", "warranted")
          for where in ({}, split)),
    ]  # fmt: skip
    analysis = {"reported": reported, "effects": [], "verdicts": [], "pins": ["one"]}
    return {"edition": "study-a-0", "analysis": analysis, "claims": []}


def test_tables_take_every_number_from_the_results_and_nothing_is_0_that_was_not_measured(tmp_path: Path) -> None:
    tables = load_package_module("study_a_tables")
    text = "\n".join(tables.of_study(results()))
    assert "| M1.truth | 2/4 (7–93) |" in text
    assert "witness detects more (1) | M1.truth 2:0 of 4" in text
    assert "| F2.repeats | not measured |" in text  # it has a place in no parent
    assert "| witness | not measured | 1/4 | 1/4 |" in text and "| M1.truth | 1/4, 1 |" in text
    page, file = tmp_path / "page.md", tmp_path / "results.json"
    file.write_text(json.dumps(results()))
    page.write_text("before\n<!-- tables -->\nold\n<!-- end of tables -->\nafter\n")
    assert tables.main([str(file), "--into", str(page)]) == 0
    assert "M1.truth" in page.read_text() and "old" not in page.read_text()
    assert page.read_text().startswith("before\n") and page.read_text().endswith("\nafter\n")


def test_two_results_are_the_same_if_only_costs_and_pins_differ() -> None:
    same = load_package_module("study_a_same")
    one, other = results()["analysis"], results()["analysis"]
    other["reported"][2]["estimate"], other["pins"] = "90", ["other"]
    assert list(same.differences(one, other)) == []
    other["reported"][0]["x"] = 3
    assert list(same.differences(one, other)) == ["reported differs"]
