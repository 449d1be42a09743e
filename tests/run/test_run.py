"""What goes wrong in a study's own code while it runs: tried again, given up, paused; never the agent's failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.studies import ID, PLAN, SMALL, call, make_study, ok
from tests.verify.hands import Study

FAILING = """

class Failing:
    '''Raises where it is told to.'''

    def __init__(self, name, agent):
        self.name, self.agent = name, agent

    def act(self, view):
        from pathlib import Path
        for flag in Path({flags!r}).iterdir():
            if flag.name.startswith("once-"):
                flag.unlink(missing_ok=True)
            if flag.name.endswith(self.name) or flag.name.endswith("all"):
                raise RuntimeError("told to fail by \\x1b[31m" + flag.name)
        return self.agent.act(view)


AGENTS = {{name: Scripted(make=lambda draws, name=name, made=made: Failing(name, made.make(draws)),
                          reads_truth=made.reads_truth) for name, made in AGENTS.items()}}
"""


@pytest.fixture
def unsealed(tmp_path: Path) -> tuple[Path, Path]:
    """A study in which agents raise as the names of files in a folder say, and that folder."""
    flags = tmp_path / "flags"
    flags.mkdir()
    study = make_study(tmp_path / "study", SMALL)
    agents = study / "worlds" / "house" / "agents.py"
    agents.write_text(agents.read_text(encoding="utf-8") + FAILING.format(flags=str(flags)), encoding="utf-8")
    return study, flags


@pytest.fixture
def failing(unsealed: tuple[Path, Path]) -> tuple[Path, Path]:
    """The same, sealed."""
    ok(call("seal", PLAN, cwd=unsealed[0]))
    return unsealed


def report(study: Path, jobs: str = "1") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ok(call("run", PLAN, "--jobs", jobs, "--json", cwd=study)).out)
    return found


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_failure_is_journaled_and_the_slot_tried_again(jobs: str, failing: tuple[Path, Path]) -> None:
    study, flags = failing
    (flags / "once-all").touch()
    found = report(study, jobs)
    assert "against the exclusion cap: 1 in " in found.pop("failed_tries")
    assert found == {"slots": 8, "episodes": 8, "new": 8, "abandoned_attempts": 0, "missing": 0}
    [failed] = [entry["event"] for entry in Study(study).entries() if entry["event"]["kind"] == "failed"]
    assert failed["ending"] == "harness_error"
    why = "the world or its agent raised RuntimeError: told to fail by \\x1b[31monce-all (worlds/house/agents.py, line "
    assert failed["why"].startswith(why)
    kept = [entry["event"] for entry in Study(study).entries() if entry["event"]["kind"] == "episode"]
    assert [event["attempt"] for event in kept if event["slot"] == failed["slot"]] == [2]
    ok(call("verify", "--no-remember", cwd=study))


def test_a_slot_that_fails_as_often_as_the_plan_allows_is_given_up_and_counted(unsealed: tuple[Path, Path]) -> None:
    study, flags = unsealed
    plan = study / PLAN
    plan.write_text(plan.read_text().replace("{max: 2, retry_on: [harness_error]}", "{max: 1, retry_on: []}"))
    ok(call("seal", PLAN, cwd=study))
    (flags / "tracker").touch()
    last = "arm=tracker,family=noise,seed=1: harness_error: the world or its agent raised RuntimeError: told to fail by \\x1b[31mtracker (worlds/house/agents.py, line "
    due = {"slots": 8, "episodes": 4, "new": 4, "abandoned_attempts": 0, "missing": 4,
           "failing": {"tracker": {"failed": 4}}}  # fmt: skip
    ran = call("run", PLAN, "--jobs", "1", "--json", cwd=study)
    found = json.loads(ran.out)
    assert found.pop("failed_tries").startswith("failed tries that count against the exclusion cap: 0 in oracle, 4 in")
    assert found["failing"]["tracker"].pop("last").startswith(last)
    assert (ran.code, found) == (3, due), "an arm that only fails is no success"
    (flags / "tracker").unlink()
    again = call("run", PLAN, "--jobs", "1", cwd=study)
    assert (again.code, "4 of 8 slots have their episode, 0 of them new" in again.out) == (3, True), "it is closed"
    assert "\x1b" not in again.out
    [one] = json.loads(ok(call("verify", "--no-remember", "--json", cwd=study)).out)["studies"]
    assert (one["arms"]["tracker"]["missing"], one["arms"]["tracker"]["slots"]) == (4, 4)
    out = ok(call("analyse", PLAN, cwd=study)).out
    assert "not_estimable" in out, "no tracker has an outcome"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_five_errors_in_a_row_pause_the_run_and_give_up_no_slot(jobs: str, failing: tuple[Path, Path]) -> None:
    study, flags = failing
    (flags / "all").touch()
    paused = call("run", PLAN, "--jobs", jobs, cwd=study)
    assert paused.code == 3
    assert "5 errors in a row, the last: the world or its agent raised RuntimeError" in paused.err
    assert "the run is paused and no slot given up; mend it and run again" in paused.err
    assert "\x1b" not in paused.err
    events = [entry["event"] for entry in Study(study).entries()]
    assert events[-1]["kind"] == "paused" and events[-1]["reason"] == "errors_in_a_row"
    assert sum(event["kind"] == "failed" for event in events) == 5
    ok(call("verify", "--no-remember", cwd=study))
    (flags / "all").unlink()
    assert report(study)["missing"] == 0 and report(study)["episodes"] == 8
    ok(call("verify", "--no-remember", cwd=study))
    assert ID in ok(call("analyse", PLAN, cwd=study)).out
