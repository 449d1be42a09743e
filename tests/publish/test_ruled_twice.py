"""A sealed sealkit that is not the reader's: what both come to is held against each other, and what is not is told.

The cheap tests give the reader's side answers of their own. The slow ones seal a sealkit that lies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sealkit.infer.admit import Admission, ArmTally
from sealkit.infer.analysis import analyse
from sealkit.infer.flow import ArmFlow
from sealkit.plan.load import open_plan_bytes
from sealkit.publish.review.own_ruling import OwnRuling
from sealkit.publish.review.recorded_analyses import RecordedAnalysis
from sealkit.publish.review.study import Review
from sealkit.publish.ruled_twice import Ruled, ruled_twice, verdicts_of
from sealkit.seal.closure import Drift
from sealkit.verify.study import Checked, Study
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Counts, Trusted
from sealkit.wire.errors import HarnessError
from sealkit.wire.journal_head import EMPTY
from sealkit.wire.verdict import Accepted, Errored, Reason, Rejected, Verdict
from tests.amending import amended, change
from tests.publish.test_amended_edition import newest, results
from tests.studies import PLAN, ROOT, SMALL, call, make_study, ok, plan_text, read

ADMITTED, NO_COUNTS = Admission("admitted", None, ""), Counts(acts=1, occurrences=0, restores=0, notices=0)
DONE: dict[str, Any] = {"success": 1, "safe_success": 1, "acts": 1}
FAILED = DONE | {"success": 0}
BAD = Rejected(reasons=(Reason("environment", "acts[1]", "3", "2"),))
Answer = Callable[[], object]


def ruling(
    *, measure: Answer = lambda: DONE, verdict: Verdict | None = None, looked: bool = True, unable: str = ""
) -> Ruled:
    """What is told of two arms with four slots each, which the sealed sealkit says all succeeded."""
    plan = open_plan_bytes(plan_text(SMALL).encode(), PLAN)
    flow = {arm: ArmFlow(4, 4, 0, 0, {"final": 4}, ArmTally(admitted=4)) for arm in SMALL.arms}
    pinned = SimpleNamespace(plan=plan, pin="p")
    twin = SimpleNamespace(
        pinned=pinned, measure=lambda *_: measure(), check=lambda *_: {"replay": verdict or Accepted()}
    )
    study = cast(
        Study,
        SimpleNamespace(
            sealed=SimpleNamespace(plan=plan, latest=pinned, study=Path("nowhere")), latest=twin, unable=unable,
            own_under=lambda pin: twin, calls=SimpleNamespace(bodies={}), check_own_scenarios=lambda: None,
        ),
    )  # fmt: skip
    own, sealed = OwnRuling(study), OwnRuling(study)
    for family in SMALL.families:
        for seed in range(SMALL.seeds):
            for arm in SMALL.arms:
                slot: dict[str, str | int] = {"arm": arm, "family": family, "seed": seed}
                checked = Checked(
                    1, "confirmatory", slot, 0, None, Trusted("p", "j", slot, b""), b"", NO_COUNTS, "final",
                    {"replay": Accepted()}, (), {},
                )  # fmt: skip
                own.take(checked, ADMITTED, DONE, 0)
                sealed._outcomes.take(checked, DONE, 0)
    said = analyse(plan, ("p",), flow, sealed.cells)
    recorded = RecordedAnalysis("2026-01-01T00:00:00Z", EMPTY, digest_bytes(said.line), verdicts_of(said))
    found = SimpleNamespace(
        own=own, analysed=recorded.results if looked else None, changed_since=False, pins=("p",), flow=flow,
        measuring=SimpleNamespace(sealed_cells=None), recorded_analyses=(recorded,),
    )  # fmt: skip
    return ruled_twice(study, cast(Review, found), None)


def test_a_version_that_rules_alike_is_told_in_one_line() -> None:
    found = ruling()
    (line,) = found.lines
    assert (found.faults, found.unable) == (0, "")
    assert line.startswith(
        "this sealkit is not the sealed one, and came to the same by its own code: 8 episodes checked"
    )


def test_a_judge_that_the_sealed_sealkit_wraps_is_told_by_measures_and_verdicts() -> None:
    found = ruling(measure=lambda: FAILED)
    assert found.faults == 2 + 8 and not found.unable
    assert found.lines[0] == (
        "this sealkit rules otherwise than the sealed one: 2 of 2 verdicts: oracle: sealed: supported; this sealkit: "
        "contradicted; tracker: sealed: supported; this sealkit: contradicted"
    )
    assert "8 of 8 measured episodes" in found.lines[1] and "success: sealed: 1; this sealkit: 0" in found.lines[1]
    assert found.lines[1].endswith("; and 5 more")


def test_before_anybody_looked_no_outcome_is_named() -> None:
    found = ruling(measure=lambda: FAILED, looked=False)
    assert found.lines == ("this sealkit rules otherwise than the sealed one: 8 of 8 measured episodes",)


def test_an_episode_that_only_the_sealed_sealkit_replays_is_told() -> None:
    found = ruling(verdict=BAD)
    assert any("8 of 8 admissions" in line and "this sealkit: excluded (environment)" in line for line in found.lines)


def gone() -> object:
    raise HarnessError("the sealed source failed: ImportError: cannot import name 'special'")


@pytest.mark.parametrize(
    "broken", [{"measure": gone}, {"verdict": Errored("no module named special")}, {"unable": "it needs special"}]
)
def test_what_only_the_sealed_sealkit_can_run_is_no_agreement(broken: dict[str, Any]) -> None:
    """A study can be made so on purpose: it is never told as if this sealkit had ruled."""
    found = ruling(**broken)
    (line,) = found.lines
    assert not found.faults and "special" in found.unable
    assert line.startswith("not ruled again: this sealkit could not rule on it: ")
    assert line.endswith("; what stands here is by the sealed code alone")


@pytest.mark.parametrize(("faults", "unable", "code"), [(2, "", 1), (0, "it needs special", 3), (0, "", 0)])
def test_the_exit_code_says_whether_it_was_ruled_again(
    faults: int, unable: str, code: int, published: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Ruled(("told first",), faults, unable)
    monkeypatch.setattr("sealkit.cli.verify.ruled_twice", lambda *_: told)
    outcome = call("verify", "--json", cwd=published)
    document = read(outcome.out)
    (study,) = document["studies"]
    assert outcome.code == code and document["holds"] is (code == 0) and study["notes"][0] == "told first"
    assert study["this_sealkit"]["could_not_rule"] == (unable or None)


def test_without_a_replay_a_ruling_of_another_sealkit_is_told_as_not_made_again(
    published: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = (Drift("sealkit/infer/verdicts.py", "changed", "sha256:1", "sha256:2"),)
    monkeypatch.setattr("sealkit.cli.verify.sealkit_drift", lambda closure: moved)
    said = ok(call("verify", cwd=published)).out
    assert "as recorded, by another sealkit than this one: nothing of them was derived or ruled on again" in said


# --- sealkits that lie, and worlds that do -----------------------------------------------------------

LYING_LOADER = """

_load_judge = load_judge


def load_judge(*arguments, **more):  # type: ignore[no-untyped-def]
    judge, measures = _load_judge(*arguments, **more)
    return (lambda scenario, episode: {**judge(scenario, episode), "success": 0}), measures
"""
REBINDS = """

import sys  # noqa: E402

for _module in list(sys.modules.values()):
    if _child := vars(_module).get("Child"):
        _plain = _child._judge
        _child._judge = lambda self, raw: {"measures": {**_plain(self, raw)["measures"], "success": 0}}
"""


@pytest.mark.slow
def test_a_lying_sealkit_that_was_sealed_does_not_verify(tmp_path: Path, state: Path) -> None:
    shutil.copytree(ROOT / "sealkit", tmp_path / "lies" / "sealkit", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "verifiers", tmp_path / "lies" / "verifiers")  # by these a checkout is known as one
    with (tmp_path / "lies" / "sealkit" / "world" / "loader.py").open("a", encoding="utf-8") as loader:
        loader.write(LYING_LOADER)
    study = make_study(tmp_path / "study", SMALL)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "lies")}
    for command in ("seal", "run", "analyse", "publish"):
        words = [sys.executable, "-m", "sealkit", command, PLAN]
        subprocess.run(words, cwd=study, env=environment, check=True, capture_output=True)
    for given in (study, newest(study)):
        outcome = call("verify", given, "--replay=unsafe", "--no-remember", cwd=tmp_path)
        assert outcome.code == 1
        assert "oracle: sealed: contradicted; this sealkit: supported" in outcome.out
        assert "8 of 8 measured episodes" in outcome.out


@pytest.mark.slow
def test_a_sealkit_that_differs_and_does_not_lie_verifies(
    published: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sealkit.verify.study._is_other", lambda pinned: True)
    said = ok(call("verify", "--replay=unsafe", cwd=published)).out
    assert "came to the same by its own code: 8 episodes checked and 8 measured, results" in said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["world", "agents"])
def test_a_world_that_rebinds_the_judge_after_the_look_turns_no_verdict(name: str, study: Path, state: Path) -> None:
    with (study / "worlds" / "house" / f"{name}.py").open("a", encoding="utf-8") as file:
        file.write(REBINDS)
    amended(study, "a comment")
    ok(call("analyse", PLAN, cwd=study))
    ok(call("publish", PLAN, cwd=study))
    document = results(newest(study))
    assert [row["verdict"] for row in document["analysis"]["verdicts"]] == ["supported", "supported"]
    assert {row["verdict"] for row in document["after_amendments"]["other_code"]} == {"supported"}
    assert "earlier_analyses" not in document


@pytest.mark.slow
def test_an_analysis_that_came_out_otherwise_stays_listed(study: Path, state: Path) -> None:
    change(
        study, "worlds/house/judge.py", '"success": int(done and satisfied)', '"success": 0 * int(done and satisfied)'
    )
    amended(study, "a stricter judge")
    said = ok(call("analyse", PLAN, cwd=study)).out
    assert "with oracle supported, which is contradicted now" in said
    ok(call("publish", PLAN, cwd=study))
    rows = results(newest(study))["earlier_analyses"]
    assert [(row["hypothesis"], row["verdict"], row["now"]) for row in rows] == [
        ("oracle", "supported", "contradicted"), ("tracker", "supported", "contradicted"),
    ]  # fmt: skip
    for report in ("report.html", "report.md"):
        assert "recorded before this one" in (newest(study) / report).read_text(encoding="utf-8")
    for given in (newest(study), study):
        for more in ((), ("--replay=unsafe",)):
            ok(call("verify", given, "--no-remember", *more, cwd=study))
