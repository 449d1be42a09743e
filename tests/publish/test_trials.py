"""Floors and ceilings seen in pilot and smoke episodes, which are never analysed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sealkit.infer.headroom import headroom, without_end
from sealkit.plan.describe import describe
from sealkit.wire.episode import Trusted
from sealkit.wire.records import Json
from sealkit.wire.verdict import Accepted, Reason, Rejected, Verdict
from tests.infer.told import PAIRED, small
from tests.studies import ID, PLAN, SMALL, call, make_study, ok, plan_text

METRICS = {
    "success": "{kind: binary, better: higher, primary: true}",
    "slips": "{kind: count, better: lower, primary: true}",
    "grade": "{kind: score, better: higher, range: [0, 1], step: 0.25, primary: true}",
    "aside": "{kind: binary, better: higher}",
}
SPEC = small({"e": PAIRED % "boot"}, metrics=METRICS).spec


def seen(*episodes: Mapping[str, Json], arm: str = "plus") -> list[str]:
    every: dict[str, Json] = {"success": 1, "slips": 1, "grade": "0.5", "aside": 1}
    return [str(end) for end in headroom(SPEC, [(arm, {**every, **episode}) for episode in episodes])]


def test_every_value_at_an_end_is_a_floor_or_a_ceiling() -> None:
    assert seen({}, {}, {}, {}, {}) == ["arm plus: success is 1 in 5 of 5, at its ceiling"]
    assert seen(*[{"success": 0}] * 4) == ["arm plus: success is 0 in 4 of 4, at its floor"]
    assert seen({"success": 0}, {}, {}, {}) == []
    ends: dict[str, Json] = {"success": 0, "slips": 0, "grade": "1.00"}
    assert seen(ends, ends, ends, arm="minus") == [
        "arm minus: success is 0 in 3 of 3, at its floor",
        "arm minus: slips is 0 in 3 of 3, at its ceiling",
        "arm minus: grade is 1 in 3 of 3, at its ceiling",
    ]


def test_a_count_has_no_floor_and_a_constant_in_between_is_no_end() -> None:
    between: dict[str, Json] = {"success": None, "slips": 99, "grade": "0.75"}
    assert seen(between, between, between, between) == []


def test_fewer_than_three_episodes_say_nothing() -> None:
    assert seen({}, {}) == []
    assert seen({}, {}, {"success": None}) == []  # null is no value


def test_arms_are_told_apart() -> None:
    every: dict[str, Json] = {"success": 1, "slips": 1, "grade": "0.5"}
    found = headroom(SPEC, [("plus", every)] * 3 + [("minus", {**every, "success": 0})] * 3)
    assert [(end.arm, end.end) for end in found] == [("plus", "ceiling"), ("minus", "floor")]


def test_check_says_how_often_null_counts_as_a_number() -> None:
    latency = {"m": "{kind: duration, better: lower, censored: {kind: counts_as, value: 15}}"}
    plan = small({"e": PAIRED % "boot"}, metrics=latency)
    assert list(without_end(plan.spec, [("plus", {"m": None}), ("plus", {"m": 3}), ("minus", {"m": 4})])) == [
        "arm plus: m is null in 1 of 2, and counts as 15"
    ]
    (warning,) = [one for one in describe(plan).warnings if "counts as" in one]
    assert warning.startswith("metrics.m: null, and a slot whose ending means failure, counts as 15 and is no loss")


# --- in a study ----------------------------------------------------------------------------------


def study(folder: Path) -> Path:
    """A small study with a pilot and a smoke run of five episodes an arm."""
    make_study(folder, SMALL)
    text = plan_text(SMALL).replace("seed: [100]}", "seed: [100, 101, 102, 103, 104]}")
    text = text.replace("  pilot: null\n", "  pilot: {arm: all, family: [delayed_update], seed: [200, 201, 202]}\n")
    assert "pilot: {" in text and "104" in text
    (folder / PLAN).write_text(text, encoding="utf-8")
    return folder


def told(folder: Path) -> Any:
    return json.loads(ok(call("check", PLAN, "--json", cwd=folder)).out)["headroom"]


@pytest.fixture(scope="module")
def trial_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study after its pilot, seal and smoke run."""
    folder = study(tmp_path_factory.mktemp("trial") / "study")
    assert told(folder) == []
    ok(call("pilot", PLAN, "--jobs", "1", cwd=folder))
    ok(call("seal", PLAN, cwd=folder))
    ok(call("run", PLAN, "--smoke", "--jobs", "1", cwd=folder))
    return folder


def test_check_warns_of_ceilings_in_the_pilot_and_in_the_smoke_run(trial_study: Path) -> None:
    before = (trial_study / "receipts" / ID / "journal.jsonl").read_bytes()
    said = ok(call("check", PLAN, cwd=trial_study)).out
    assert "headroom in the pilot run (6 episodes)" in said
    assert "arm oracle: success is 1 in 3 of 3, at its ceiling in the pilot run" in said
    assert "arm oracle: success is 1 in 5 of 5, at its ceiling in the smoke run" in said
    assert (trial_study / "receipts" / ID / "journal.jsonl").read_bytes() == before  # no look: nothing is confirmatory
    stages = {trial["stage"]: trial for trial in told(trial_study)}
    assert stages["smoke"]["episodes"] == 10 and stages["smoke"]["left_out"] == 0


def test_episodes_that_do_not_hold_are_left_out_and_counted(trial_study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def doubting(trusted: Trusted, line: bytes) -> Verdict:
        why = Reason(origin="boundary", where="acts", found="1", due="2")
        return Rejected(reasons=(why,)) if trusted.slot["arm"] == "oracle" else Accepted()

    monkeypatch.setattr("sealkit.publish.review.trials.Reviewer.own", lambda self, name: (doubting, ""))
    found = {trial["stage"]: trial for trial in told(trial_study)}
    assert (found["smoke"]["episodes"], found["smoke"]["left_out"]) == (5, 5)
    assert all(end["arm"] == "tracker" for end in found["smoke"]["at_end"])


def test_a_broken_pilot_journal_is_no_ground_to_refuse_a_plan(trial_study: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(trial_study, tmp_path / "study"))
    (folder / "receipts" / ID / "pilot" / "HEAD").unlink()
    assert [trial["stage"] for trial in told(folder)] == ["smoke"]


def test_a_judge_that_fails_on_a_pilot_episode_is_named(tmp_path: Path, trial_study: Path) -> None:
    folder = Path(shutil.copytree(trial_study, tmp_path / "study"))
    judge = folder / "worlds" / "house" / "judge.py"
    judge.write_text(judge.read_text() + "\n\ndef judge(scenario, episode):\n    raise ValueError('no \\x1b[31m')\n")
    found = call("check", PLAN, cwd=folder)
    assert found.code == 3 and "the judge fails on an episode of the pilot run: ValueError" in found.err
    assert "\x1b" not in found.err


def test_check_loads_every_verifier(tmp_path: Path) -> None:
    folder = study(tmp_path / "study")
    shown = (folder / PLAN).read_text().replace("verifiers: [witness, replay]", "verifiers: [witness, replay, mine]")
    (folder / PLAN).write_text(shown)
    found = call("check", PLAN, cwd=folder)
    assert found.code == 2 and "the study has no verifier mine; it has replay, witness" in found.err
