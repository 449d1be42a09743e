"""Every command: its help, its JSON, its exit codes."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

import sealkit
from sealkit.cli import COMMANDS
from sealkit.files import to_type
from sealkit.seal.journal import exclusive
from tests.studies import ID, PLAN, ROOT, SMALL, call, make_study, ok, plan_text, read

DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_names_the_command(name: str, tmp_path: Path) -> None:
    out = ok(call(name, "--help", cwd=tmp_path)).out
    assert re.search(r"Examples?:\n +sealkit " + name, out)
    assert all(len(line) <= 110 for line in out.splitlines())


def test_help_lists_every_command_in_the_order_of_a_study(tmp_path: Path) -> None:
    out = ok(call("--help", cwd=tmp_path)).out
    places = [out.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)


def test_every_command_has_a_file_and_every_file_is_one() -> None:
    files = {path.stem for path in (ROOT / "sealkit" / "cli").glob("*.py")} - {"__init__", "clock", "out", "verified"}
    assert files == {"import_log" if name == "import" else name for name in COMMANDS}


def test_the_version(tmp_path: Path) -> None:
    assert ok(call("--version", cwd=tmp_path)).out == f"sealkit {sealkit.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["chek"], ["run", "--jobs", "0"], ["verify", "--replay=maybe"], ["init"], ["--no"]]
)
def test_what_click_refuses_is_usage(arguments: list[str], tmp_path: Path) -> None:
    outcome = call(*arguments, cwd=tmp_path)
    assert outcome.code == 2 and "Error:" in outcome.err


# --- init, check, schema ---------------------------------------------------------------------------


def test_init_makes_a_study_that_checks(tmp_path: Path) -> None:
    out = ok(call("init", "mine", cwd=tmp_path)).out
    assert out == (
        "made mine with three worlds, two verifiers and five plans\nnext: cd mine && sealkit check plans/dry-run.yaml\n"
    )
    for plan in ("dry-run", "study-b-scripted", "study-b", "underwriting-panel", "v1"):
        ok(call("check", f"plans/{plan}.yaml", cwd=tmp_path / "mine"))


def test_init_takes_an_empty_folder_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ok(call("init", "empty", cwd=tmp_path))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "file").touch()
    for name in ("full", "file"):
        refused = call("init", name, cwd=tmp_path)
        assert refused.code == 2 and refused.err == f"sealkit: {name}: there is something already; name a new folder\n"
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


def test_check_prints_slots_effects_and_truth_tables(sealed: Path) -> None:
    out = ok(call("check", PLAN, cwd=sealed)).out
    assert re.search(r"confirmatory +8 +2\n", out)
    assert re.search(r"oracle +success +single +4 cells +rules\n", out)
    for verdict in ("supported", "contradicted", "not_shown"):
        assert re.search(rf"  {verdict} +\d+ +oracle\.", out)
    assert f"next: sealkit seal {PLAN}" in out


def test_check_as_json_holds_the_same(sealed: Path) -> None:
    document = read(ok(call("check", PLAN, "--json", cwd=sealed)).out)
    assert document["plan"] == ID and DIGEST.match(document["digest"])
    assert document["stages"] == [
        {"stage": "smoke", "slots": 2, "arms": 2}, {"stage": "confirmatory", "slots": 8, "arms": 2},
    ]  # fmt: skip
    assert {(one["effect"], one["count"]) for one in document["effects"]} == {("oracle", 4), ("tracker", 4)}
    verdicts = {name for table in document["truth_tables"] for name in table["verdicts"]}
    assert verdicts == {"supported", "contradicted", "not_shown"}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("family: [delayed_update, noise]", "family: [delayed_update, fog]", "the world has no family 'fog'"),
        ("scripted: tracker", "scripted: hunter", "the world has no scripted agent 'hunter'; it has "),
        ("kind: binary, better", "kind: binary, measure: luck, better", "the judge gives no luck; it gives "),
        ("turn_budget: 15", "turns: 15", "the plan's world.params do not fit"),
        ("name: house", "name: castle", "$.world.name: the study has no world castle; it has house, underwriting, underwriting_b; name one"),
    ],
)  # fmt: skip
def test_check_holds_the_plan_against_the_world(old: str, new: str, says: str, tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", SMALL)
    text = plan_text(SMALL)
    assert old in text
    (study / PLAN).write_text(text.replace(old, new), encoding="utf-8")
    refused = call("check", PLAN, cwd=study)
    assert refused.code == 2 and says in refused.err


def test_check_names_file_line_and_column(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", SMALL)
    (study / PLAN).write_text(plan_text(SMALL).replace("seed: 0..1", "seed: [0, 0]"), encoding="utf-8")
    refused = call("check", PLAN, cwd=study)
    assert refused.code == 2 and re.match(r"sealkit: plans/part.yaml:\d+:\d+ \$\.factors\.seed", refused.err)


def test_schema_prints_every_kind(tmp_path: Path) -> None:
    kinds = ok(call("schema", cwd=tmp_path)).out.split()
    assert {"plan", "episode", "entry", "scenario", "receipt"} <= set(kinds)
    for kind in kinds:
        assert isinstance(read(ok(call("schema", kind, cwd=tmp_path)).out), dict)
    refused = call("schema", "poem", cwd=tmp_path)
    assert refused.code == 2 and "there is no kind 'poem'" in refused.err


# --- seal ----------------------------------------------------------------------------------------


def test_seal_says_the_pin_and_a_second_one_is_refused(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", SMALL)
    out = ok(call("seal", PLAN, cwd=study)).out
    pin = re.search(r"quote where others can see it: (sha256:[0-9a-f]{64})\n", out)
    assert pin and f"next: sealkit run {PLAN}" in out
    first = {path.name: path.read_bytes() for path in (study / "plans").iterdir()}
    refused = call("seal", PLAN, cwd=study)
    assert refused.code == 2 and "plans/part.seal.json: the plan is sealed already" in refused.err
    assert {path.name: path.read_bytes() for path in (study / "plans").iterdir()} == first


def test_seal_as_json(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", SMALL)
    document = read(ok(call("seal", PLAN, "--json", cwd=study)).out)
    assert document["plan"] == ID and document["scenarios"] == 5
    assert set(document["trees"]) == {"sealkit", "verifiers/replay", "verifiers/witness", "worlds/house"}
    assert all(DIGEST.match(document[name]) for name in ("pin", "manifest", "source"))
    shown = read(ok(call("show", PLAN, "--json", cwd=study)).out)
    assert shown["manifest"] == {"root": document["manifest"], "count": 5}


# --- run -----------------------------------------------------------------------------------------


def test_run_says_what_it_left_and_again_that_nothing_is_new(sealed: Path) -> None:
    first = read(ok(call("run", PLAN, "--jobs", "1", "--json", cwd=sealed)).out)
    assert first == {"slots": 8, "episodes": 8, "new": 8, "abandoned_attempts": 0, "missing": 0}
    again = ok(call("run", PLAN, "--jobs", "1", cwd=sealed)).out
    assert again == (
        "8 of 8 slots have their episode, 0 of them new; 0 attempts abandoned, 0 slots missing\n"
        f"next: sealkit verify {PLAN} && sealkit analyse {PLAN}\n"
    )


def test_run_and_its_smoke_with_workers(sealed: Path) -> None:
    smoke = read(ok(call("run", PLAN, "--smoke", "--jobs", "2", "--json", cwd=sealed)).out)
    assert (smoke["slots"], smoke["episodes"]) == (2, 2)
    assert ok(call("run", PLAN, "--smoke", "--jobs", "2", cwd=sealed)).out.endswith(f"\nnext: sealkit run {PLAN}\n")
    whole = read(ok(call("run", PLAN, "--jobs", "2", "--json", cwd=sealed)).out)
    assert (whole["slots"], whole["episodes"]) == (8, 8)
    [verified] = read(ok(call("verify", "--no-remember", "--json", cwd=sealed)).out)["studies"]
    assert sum(arm["admitted"] for arm in verified["arms"].values()) == 8, "smoke episodes are in no count"


def test_run_without_a_seal_is_refused(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", SMALL)
    refused = call("run", PLAN, cwd=study)
    assert refused.code == 2
    assert refused.err == f"sealkit: {PLAN}: the plan is not sealed; sealkit seal {PLAN}\n"
    assert not (study / "receipts").exists()


def test_run_with_a_broken_seal_is_refused(sealed: Path) -> None:
    plan = sealed / PLAN
    plan.write_text(plan.read_text(encoding="utf-8").replace("oracle.x == 4", "oracle.x >= 1"), encoding="utf-8")
    refused = call("run", PLAN, cwd=sealed)
    assert refused.code == 1 and f"{PLAN}: has changed since its seal: section hypotheses differs" in refused.err


def test_receipts_that_are_gone_are_named_and_no_fault_of_the_machine(sealed: Path) -> None:
    shutil.rmtree(sealed / "receipts")
    for command in (("run", PLAN), ("amend", PLAN, "--reason", "x")):
        refused = call(*command, cwd=sealed)
        assert refused.code == 1 and f"receipts/{ID}/journal.jsonl: there is no journal" in refused.err, refused.said
    standing = call("status", cwd=sealed)
    assert standing.code == 1 and f"next: sealkit verify {PLAN}" in standing.out
    assert call("verify", PLAN, cwd=sealed).code == 1


@pytest.mark.parametrize(
    ("called", "found", "due"),
    [
        ("sealkit", None, "sealkit seal p.yaml"),
        (".venv/bin/sealkit", None, ".venv/bin/sealkit seal p.yaml"),
        (".venv/bin/sealkit", "/bin/sealkit", "sealkit seal p.yaml"),
        ("lib/sealkit/__main__.py", None, f"{shlex.quote(sys.executable)} -m sealkit seal p.yaml"),
        ("bin/pytest", None, "sealkit seal p.yaml"),
    ],
)
def test_what_to_type_next_can_be_typed(
    called: str, found: str | None, due: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: found)
    monkeypatch.setattr(sys, "argv", [called])
    assert to_type("seal", Path("p.yaml")) == due


def test_run_on_drift_is_refused_and_the_files_named(sealed: Path) -> None:
    world = sealed / "worlds" / "house"
    (world / "extra.py").write_text("x = 1\n", encoding="utf-8")
    (world / "SPEC.md").unlink()
    with (world / "judge.py").open("a", encoding="utf-8") as file:
        file.write("\n")
    refused = call("run", PLAN, cwd=sealed)
    assert refused.code == 1 and "3 files are not as sealed; put back" in refused.err
    for words in (
        "worlds/house/extra.py was added",
        "worlds/house/SPEC.md was removed",
        "worlds/house/judge.py was changed",
    ):
        assert words in refused.err
    assert len((sealed / "receipts" / ID / "journal.jsonl").read_bytes().splitlines()) == 1


def test_a_second_run_at_the_same_time_is_refused(sealed: Path) -> None:
    with exclusive(sealed / "receipts" / ID, inside=sealed):
        refused = call("run", PLAN, "--jobs", "1", cwd=sealed)
    assert refused.code == 2 and "another sealkit is at work here" in refused.err


def test_a_plan_that_cannot_run_yet_is_refused_at_run_not_at_seal(tmp_path: Path) -> None:
    ok(call("init", "study", cwd=tmp_path))
    study = tmp_path / "study"
    plan = study / "plans" / "v1.yaml"
    looks = "{kind: interim_looks, after_blocks: [30], spending: pocock, alpha: 0.05, stop_for: [futility]}"
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text.replace("stopping: {kind: fixed}", f"stopping: {looks}"), encoding="utf-8")
    ok(call("seal", "plans/v1.yaml", cwd=study))
    refused = call("run", "plans/v1.yaml", cwd=study)
    assert refused.code == 2
    assert "this sealkit can seal, but not yet run:" in refused.err and "plans/v1.yaml:" in refused.err
    assert "the plan can be sealed" in ok(call("check", "plans/v1.yaml", cwd=study)).out


def test_the_one_plan_of_a_study_need_not_be_named(sealed: Path) -> None:
    assert read(ok(call("check", "--json", cwd=sealed)).out)["plan"] == ID
    (sealed / "plans" / "other.yaml").write_text(plan_text(SMALL, id="other"), encoding="utf-8")
    refused = call("check", cwd=sealed)
    assert refused.code == 2 and "which plan? there are 2 plans in plans/" in refused.err


# --- pilot ---------------------------------------------------------------------------------------


@pytest.fixture
def piloted(tmp_path: Path) -> Path:
    study = make_study(tmp_path / "study", SMALL)
    text = plan_text(SMALL).replace("pilot: null", "pilot: {arm: all, family: [noise], seed: [200, 201]}")
    (study / PLAN).write_text(text, encoding="utf-8")
    report = read(ok(call("pilot", PLAN, "--jobs", "1", "--json", cwd=study)).out)
    assert report == {"slots": 4, "episodes": 4, "new": 4, "abandoned_attempts": 0, "missing": 0}
    return study


def test_a_pilot_is_counted_by_the_seal_and_never_analysed(piloted: Path) -> None:
    assert "4 pilot episodes" in ok(call("status", cwd=piloted)).out
    ok(call("seal", PLAN, cwd=piloted))
    seal = read(ok(call("show", PLAN, "--json", cwd=piloted)).out)
    assert seal["pilot"]["episodes"] == 4 and re.match(r"\d+:sha256:", seal["pilot"]["head"])
    ok(call("run", PLAN, "--jobs", "1", cwd=piloted))
    [verified] = read(ok(call("verify", "--no-remember", "--json", cwd=piloted)).out)["studies"]
    assert sum(arm["slots"] for arm in verified["arms"].values()) == 8


def test_no_pilot_after_the_seal(piloted: Path) -> None:
    ok(call("seal", PLAN, cwd=piloted))
    refused = call("pilot", PLAN, cwd=piloted)
    assert refused.code == 2 and "the plan is sealed; a pilot comes before" in refused.err


def test_no_pilot_where_the_plan_has_none(sealed: Path) -> None:
    refused = call("pilot", PLAN, cwd=sealed)
    assert refused.code == 2 and "the plan has no pilot stage; declare sample.pilot" in refused.err
