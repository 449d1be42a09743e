"""From a run to a ruling on the command line: verify, analyse, status, demo."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.studies import ID, PLAN, SMALL, call, make_study, ok, read
from tests.verify.hands import Study

# --- verify, analyse ---------------------------------------------------------------------------------


def test_verify_as_json_holds_what_the_text_says(study: Path) -> None:
    out = ok(call("verify", "--no-remember", cwd=study)).out
    document = read(ok(call("verify", "--no-remember", "--json", cwd=study)).out)
    assert document["holds"] is True
    [one] = document["studies"]
    assert f"head {ID} {one['head']}\n" in out
    for name, arm in one["arms"].items():
        row = re.search(rf"^  {name} +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +none$", out, re.MULTILINE)
        assert row and [int(number) for number in row.groups()] == [
            arm["slots"], arm["admitted"], 0, arm["errored"], arm["missing"], arm["abandoned_attempts"],
        ]  # fmt: skip
    assert f"{one['receipts']} receipts and {one['restore_receipts']} restore receipts in 8 episodes" in out
    assert f"{one['acts']} acts, {one['notices']} notices" in out
    assert one["unchecked"] == ["replay"] and "verifier replay is not checked" in out
    assert one["isolation"] is None and one["anchors"] == []


@pytest.mark.parametrize("folder", ["receipts", f"receipts/{ID}", ".", "receipts/", f"receipts/{ID}/"])
def test_verify_takes_receipts_one_of_them_or_the_study(folder: str, study: Path) -> None:
    assert ok(call("verify", folder, "--no-remember", cwd=study)).out.count("history anchored by") == 1


def test_verify_with_replay_derives_everything_again(study: Path) -> None:
    document = read(ok(call("verify", "--replay=unsafe", "--no-remember", "--json", cwd=study)).out)
    [one] = document["studies"]
    assert one["isolation"] in ("kernel", "limits") and one["unchecked"] == []
    notes = "\n".join(one["notes"])
    assert "5 scenarios (1 of them for the smoke run alone) made again by the sealed world, the same bytes" in notes
    assert "was derived again, the same bytes" in notes


def test_verify_with_replay_runs_the_sealed_code_though_the_tree_has_moved_on(study: Path) -> None:
    (study / "worlds" / "house" / "world.py").write_text("raise SystemExit('gone')\n", encoding="utf-8")
    out = ok(call("verify", "--replay=unsafe", "--no-remember", cwd=study)).out
    assert "derived again, the same bytes" in out and "the working tree has moved on since the seal" in out


def test_replay_catches_an_analysis_that_was_recorded_otherwise(study: Path) -> None:
    hands = Study(study)
    entries = hands.entries()
    [analysed] = hands.numbers("analysed")
    entries[analysed]["event"]["results"] = "sha256:" + "0" * 64
    hands.rewrite(entries)
    assert call("verify", "--no-remember", cwd=study).code == 0
    refused = call("verify", "--replay=unsafe", "--no-remember", cwd=study)
    assert (
        refused.code == 1
        and "the analysis derived again is" in refused.err
        and "000000000000 was recorded" in refused.err
    )


def test_verify_of_nothing_is_refused(tmp_path: Path) -> None:
    refused = call("verify", cwd=tmp_path)
    assert refused.code == 2 and "there is no study here" in refused.err


@pytest.mark.parametrize("expect", ["", "5", "5:", "0:sha256:" + "0" * 64, "x:sha256:" + "0" * 64, "5:md5:00"])
def test_a_head_that_is_none_is_refused(expect: str, study: Path) -> None:
    refused = call("verify", "--expect", expect, cwd=study)
    assert refused.code in (1, 2) and "N:sha256:" in refused.err


def test_a_head_is_taken_as_it_is_printed_and_asked_of_its_plan_alone(study: Path) -> None:
    out = ok(call("verify", "--no-remember", cwd=study)).out
    printed = re.search(r"  head (part \d+:sha256:[0-9a-f]{64})\n", out)
    assert printed
    for spelled in (printed[1], f"head {printed[1]}"):
        assert "anchored by: --expect" in ok(call("verify", "--no-remember", "--expect", spelled, cwd=study)).out
    another = printed[1].replace("part", "party")
    for words in ([], ["--json"]):
        refused = call("verify", "--no-remember", "--expect", another, *words, cwd=study)
        assert refused.code == 2 and "--expect: no plan party was checked; there is part" in refused.err


def test_the_last_line_says_how_many_studies_hold_and_one_fault_hides_no_other(study: Path) -> None:
    second = (study / PLAN).read_text(encoding="utf-8").replace("id: part\n", "id: zwo\n")
    (study / "plans" / "zwo.yaml").write_text(second, encoding="utf-8")
    ok(call("seal", "plans/zwo.yaml", cwd=study))
    out = ok(call("verify", "receipts", "--no-remember", cwd=study)).out
    assert out.endswith("\n2 studies hold\n")
    assert f"next, if the study is yours: sealkit publish {PLAN}\n" in out
    assert "the run is not over: the 8 missing are slots that have no episode yet" in out
    assert "next, if the study is yours: sealkit run plans/zwo.yaml\n" in out
    with (study / PLAN).open("a", encoding="utf-8") as plan:
        plan.write("# edited\n")
    refused = call("verify", "receipts", "--no-remember", cwd=study)
    assert refused.code == 1 and refused.err.startswith("sealkit: ") and refused.err.count("\n") == 1
    assert "head zwo" in refused.out and refused.out.endswith(f"\n1 of 2 studies holds; {PLAN} does not\n")


def test_what_was_never_sealed_is_a_mistake_in_the_command(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", SMALL)
    (study / "receipts").mkdir(exist_ok=True)
    refused = call("verify", "receipts", cwd=study)
    assert refused.code == 2 and "there is no sealed study here" in refused.err
    (study / "receipts" / "part").mkdir()
    (study / "receipts" / "part" / "journal.jsonl").write_text("x", encoding="utf-8")
    assert call("verify", "receipts", cwd=study).code == 1
    (study / PLAN).write_text((study / PLAN).read_text(encoding="utf-8").replace("seed:", "sed:"), encoding="utf-8")
    assert states(study, code=2)["state"] == "the plan is off"


def test_analyse_before_the_run_is_over_is_refused(sealed: Path) -> None:
    refused = call("analyse", PLAN, cwd=sealed)
    assert refused.code == 2
    assert "0 of 8 slots have their episode: outcomes are not looked at before the run is over" in refused.err
    assert b"looked" not in (sealed / "receipts" / ID / "journal.jsonl").read_bytes()


def test_analyse_rules_and_again_only_looks(sealed: Path) -> None:
    ok(call("run", PLAN, "--jobs", "1", cwd=sealed))
    out = ok(call("analyse", PLAN, cwd=sealed)).out
    assert "\n  hypothesis  verdict    says\n" in out  # no column of metrics where no question has one
    assert re.search(r"oracle +supported +the oracle succeeds 4 of 4", out)
    assert re.search(r"oracle +success +4 +4 +1\.0000 +0\.5101 to 1\.0000", out)
    assert "not proved:\n  That no unrecorded call" in out and "recorded in the journal\n" in out
    kinds = [
        json.loads(line)["event"]["kind"]
        for line in (sealed / "receipts" / ID / "journal.jsonl").read_bytes().splitlines()
    ]
    assert kinds[-4:] == ["verified", "admitted", "looked", "analysed"]
    again = ok(call("analyse", PLAN, cwd=sealed)).out
    assert "as recorded in the journal before" in again
    document = read(ok(call("analyse", PLAN, "--json", cwd=sealed)).out)
    assert {one["hypothesis"]: one["verdict"] for one in document["verdicts"]} == {
        "oracle": "supported", "tracker": "supported",
    }  # fmt: skip


def test_the_analysis_is_the_same_bytes_from_another_run(study: Path, sealed_once: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(sealed_once, tmp_path / "other"))
    ok(call("run", PLAN, "--jobs", "2", cwd=other))
    one, two = (ok(call("analyse", PLAN, "--json", cwd=folder)).out for folder in (study, other))
    assert one == two


# --- status ----------------------------------------------------------------------------------------


def states(study: Path, *, code: int = 0) -> dict[str, Any]:
    printed, said = call("status", cwd=study), call("status", "--json", cwd=study)
    assert printed.code == said.code == code
    [one], text = read(said.out), printed.out
    shown = one["file"] if one["plan"] == one["file"] else f"{one['plan']} ({one['file']})"
    assert f"{shown}: {one['state']}\n" in text and f"  next: {one['next']}\n" in text
    assert all(f"  {fact}\n" in text for fact in one["facts"])
    document: dict[str, Any] = one
    return document


def test_status_says_where_a_study_stands_and_what_comes_next(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", SMALL)
    assert (states(study)["state"], states(study)["next"]) == ("not sealed", f"sealkit seal {PLAN}")
    ok(call("seal", PLAN, cwd=study))
    assert (states(study)["state"], states(study)["next"]) == ("sealed", f"sealkit run {PLAN}")
    ok(call("run", PLAN, "--jobs", "1", cwd=study))
    assert (states(study)["state"], states(study)["next"]) == ("run", f"sealkit analyse {PLAN}")
    ok(call("analyse", PLAN, cwd=study))
    assert states(study)["state"] == "analysed"
    (study / "worlds" / "house" / "notes.md").write_text("x", encoding="utf-8")
    assert any("the working tree has drifted from the seal: worlds/house/notes.md was added" in fact
               for fact in states(study)["facts"])  # fmt: skip
    (study / PLAN).write_text("no: plan\n", encoding="utf-8")
    assert states(study, code=2)["state"] == "does not hold"


def test_status_shows_no_outcome(study: Path) -> None:
    out = ok(call("status", cwd=study)).out
    assert not re.search(r"supported|contradicted|success", out)


def test_status_without_plans(tmp_path: Path) -> None:
    refused = call("status", cwd=tmp_path)
    assert refused.code == 2 and "no plan in plans/; sealkit init mystudy" in refused.err
    refused = call("status", "plans/none.yaml", cwd=tmp_path)
    assert refused.code == 2 and "plans/none.yaml: there is no such plan" in refused.err


# --- demo ----------------------------------------------------------------------------------------


def test_what_the_demo_leaves_verifies(dry_run_once: Path, tmp_path: Path) -> None:
    study = Path(shutil.copytree(dry_run_once, tmp_path / "study"))
    [one] = read(ok(call("verify", "--no-remember", "--json", cwd=study)).out)["studies"]
    assert {name: arm["admitted"] for name, arm in one["arms"].items()} == dict.fromkeys(
        ("oracle", "naive", "tracker", "rechecker", "random"), 60
    )
    document = read(ok(call("analyse", "plans/dry-run.yaml", "--json", cwd=study)).out)
    assert {one["verdict"] for one in document["verdicts"]} == {"supported"}
    numbers = {one["effect"]: (one.get("x", one.get("total")), one["n"]) for one in document["effects"]}
    assert numbers["oracle"] == numbers["rechecker"] == (60, 60)
    assert numbers["oracle_stale"] == (0, 60) and numbers["naive_unheard"] == (0, 40)
    assert numbers["tracker_unobservable"] == (10, 10) and numbers["random"] == (0, 60)


def test_the_demo_does_not_write_over_a_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    refused = call("demo", "--into", "mine", cwd=tmp_path)
    assert refused.code == 2 and "there is something already" in refused.err
