"""A judge that fails on an episode errors that slot and no other; a verifier cannot reach into the rerun."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.slow import first_of
from tests.studies import ID, PLAN, SMALL, call, make_study, ok, plan_text

SLOT = "arm=tracker,family=noise,seed=1"
RAISES = """

_judge = judge


def judge(scenario, episode):
    if (episode.slot["arm"], episode.slot["family"], episode.slot["seed"]) == ("tracker", "noise", 1):
        %s
    return _judge(scenario, episode)
"""


def study_with(folder: Path, body: str) -> Path:
    """A small study, run, whose judge does this on one episode."""
    make_study(folder, SMALL)
    judge = folder / "worlds" / "house" / "judge.py"
    judge.write_text(judge.read_text() + RAISES % body)
    for command in (("seal", PLAN), ("run", PLAN, "--jobs", "1")):
        ok(call(*command, cwd=folder))
    return folder


def entries(folder: Path) -> list[Any]:
    return [
        json.loads(line)["event"] for line in (folder / "receipts" / ID / "journal.jsonl").read_bytes().splitlines()
    ]


@pytest.mark.parametrize(
    ("body", "says"),
    first_of([
        ("raise ValueError('no \\x1b[31m words')", "the judge failed: the sealed source failed: 'ValueError: no"),
        ("return _judge(scenario, episode) | {'success': 2}", "the judge failed: measures of slot"),
        ("return _judge(scenario, episode) | {'success': float('nan')}", "the judge failed: the sealed source failed"),
        ("return {}", "found no measure success"),
    ]),
)  # fmt: skip
def test_a_slot_that_the_judge_fails_on_is_errored_named_and_counted_and_the_rest_goes_on(
    body: str, says: str, tmp_path: Path
) -> None:
    folder = study_with(tmp_path / "study", body)
    shown = ok(call("analyse", PLAN, cwd=folder)).out
    (line,) = [line for line in shown.splitlines() if ": errored: " in line]
    assert line.strip().startswith(SLOT)
    assert says in line and "\x1b" not in shown
    record = json.loads(ok(call("analyse", PLAN, "--json", cwd=folder)).out)
    tracker, oracle = record["flow"]["tracker"], record["flow"]["oracle"]
    assert (tracker["admitted"], tracker["errored"], tracker["slots"]) == (3, 1, 4)
    assert (oracle["admitted"], oracle["errored"]) == (4, 0)
    (row,) = [row for row in record["effects"] if row["effect"] == "tracker"]
    # Never a failure of the agent: the slot is absent from the three that there are.
    assert (row["n"], row["basis"][0]["absent"]) == (3, 1)
    (admitted,) = [event for event in entries(folder) if event["kind"] == "admitted"]
    assert admitted["arms"]["tracker"]["errored"] == 1
    # A reader without the study's code cannot see it, and takes it as recorded; one who replays derives it again.
    plain = ok(call("verify", "--no-remember", cwd=folder)).out
    assert "arm tracker: 1 of the episodes admitted here are recorded as errored, the judge failed on them" in plain
    replayed = ok(call("verify", "--replay=unsafe", "--no-remember", cwd=folder)).out
    assert "was derived again" in replayed


def test_what_the_journal_errors_beyond_the_judge_is_still_found_by_a_plain_verify(tmp_path: Path) -> None:
    from sealkit.publish.review.study import _but_for_the_judge
    from sealkit.wire.events import ArmCounts

    found = ArmCounts(admitted=4, excluded={"boundary": 1}, errored=1, missing=0)
    agrees = [
        ArmCounts(admitted=4, excluded={"boundary": 1}, errored=1, missing=0),
        ArmCounts(admitted=3, excluded={"boundary": 1}, errored=2, missing=0),
    ]
    differs = [
        ArmCounts(admitted=5, excluded={"boundary": 1}, errored=0, missing=0),
        ArmCounts(admitted=3, excluded={"boundary": 2}, errored=1, missing=0),
        ArmCounts(admitted=3, excluded={"boundary": 1}, errored=1, missing=1),
        ArmCounts(admitted=4, excluded={"boundary": 1}, errored=2, missing=0),
    ]
    assert all(_but_for_the_judge(one, found) for one in agrees)
    assert not any(_but_for_the_judge(one, found) for one in differs)


def test_a_judge_that_ends_its_process_rules_on_nothing_and_the_slot_is_named(tmp_path: Path) -> None:
    folder = study_with(tmp_path / "study", "import os; os._exit(7)")
    refused = call("analyse", PLAN, cwd=folder)
    assert refused.code == 3 and "the judge broke off" in refused.err and SLOT in refused.err
    assert not any(event["kind"] in ("looked", "analysed") for event in entries(folder))


# --- one verifier, one child

TAMPERING = """from sealkit.verify import child
from sealkit.wire.verdict import Accepted


def check(trusted, episode):
    child.Child.run_again = lambda self, *given: b"{}"
    child.Child._judge = lambda self, raw: {"measures": {"success": 0}}
    return Accepted()
"""


def test_a_verifier_of_the_studys_own_reaches_neither_the_rerun_nor_the_judge(tmp_path: Path) -> None:
    """In one child with the world, the second episode's rerun would be the verifier's, and every success 0."""
    folder = make_study(tmp_path / "study", SMALL)
    text = plan_text(SMALL).replace("verifiers: [witness, replay]", "verifiers: [mine, witness, replay]")
    (folder / PLAN).write_text(text, encoding="utf-8")
    shutil.copytree(folder / "verifiers" / "witness", folder / "verifiers" / "mine")
    for path in (folder / "verifiers" / "mine").glob("*.py"):
        path.unlink()
    (folder / "verifiers" / "mine" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "verifiers" / "mine" / "check.py").write_text(TAMPERING, encoding="utf-8")
    for command in (("seal", PLAN), ("run", PLAN, "--jobs", "1")):
        ok(call(*command, cwd=folder))
    record = json.loads(ok(call("analyse", PLAN, "--json", cwd=folder)).out)
    assert {arm: flow["admitted"] for arm, flow in record["flow"].items()} == {"oracle": 4, "tracker": 4}
    (row,) = [row for row in record["effects"] if row["effect"] == "tracker"]
    assert (row["x"], row["n"]) == (4, 4)  # as the same study without such a verifier
