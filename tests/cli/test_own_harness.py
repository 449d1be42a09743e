"""The example of one's own harness, as docs/your-own-harness.md walks through it, and what happens when it lies or breaks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from sealkit.cli.init import make_own_harness
from sealkit.infer.stats.paired import PairedCounts, tango
from sealkit.wire.canon import decode_value, encode_value
from sealkit.wire.digest import digest_bytes
from tests.studies import ROOT, Outcome, call, ok

PLAN = "plans/ab-prompts.yaml"
RECEIPTS = "receipts/ab-prompts"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = tmp_path_factory.mktemp("own") / "study"
    ok(call("init", study, "--own-harness", cwd=study.parent))
    ok(call("check", PLAN, cwd=study))
    ok(call("seal", PLAN, cwd=study))
    ok(call("run", PLAN, "--smoke", "--jobs", "1", cwd=study))
    ok(call("run", PLAN, "--jobs", "2", cwd=study))
    return study


@pytest.fixture
def study(run_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run_once, tmp_path / "study"))


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    make_own_harness(tmp_path / "study")
    return tmp_path / "study"


def test_from_the_script_to_the_edition(study: Path) -> None:
    assert "recorded, not replayable: there are no receipts" in ok(call("verify", "receipts", cwd=study)).out
    analysed = ok(call("analyse", PLAN, cwd=study)).out
    assert "supported" in analysed and "recorded, not replayable" in analysed
    replayed = ok(call("verify", "receipts", "--replay=unsafe", cwd=study)).out
    assert "no episode was run again: they are recorded, not replayable" in replayed
    assert "was derived again, the same bytes" in replayed
    assert f"next: sealkit verify {RECEIPTS} --replay && sealkit publish {PLAN}\n" in analysed
    for said in (replayed, ok(call("verify", cwd=study)).out):
        assert said.endswith(f"  next, if the study is yours: sealkit publish {PLAN}\n\n1 study holds\n")
    assert ok(call("status", cwd=study)).out.endswith(f"  next: sealkit publish {PLAN}\n")
    assert "the evidence of every claim is recorded, not replayable" in ok(call("claims", PLAN, cwd=study)).out
    assert f"next: sealkit publish {PLAN}\n" in ok(call("publish", PLAN, "--dry-run", cwd=study)).out
    published = ok(call("publish", PLAN, cwd=study)).out
    assert "no episode run again: they are recorded, not replayable" in published and "CLOSED" not in published
    (edition,) = (study / "publications").iterdir()
    standing = ok(call("status", cwd=study)).out
    assert f"ab-prompts ({PLAN}): published" in standing and f"in publications/{edition.name}" in standing
    for said in (published, standing, ok(call("verify", "--no-remember", cwd=study)).out):
        assert f"next: sealkit verify publications/{edition.name} --replay\n" in said
    for name in ("report.md", "report.html"):
        report = (edition / name).read_text()
        assert "recorded, not replayable" in report and "its evidence is recorded, not replayable" in report
        assert "the word of the program that wrote its record" in report
    released = ok(call("verify", edition, "--replay=unsafe", cwd=study)).out
    assert "was built again from its bundle, the same bytes" in released


def test_what_the_guide_and_the_plan_say_of_the_example_is_what_it_does(fresh: Path) -> None:
    guide = (ROOT / "docs/your-own-harness.md").read_text()
    assignment, record = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    wrote = subprocess.run(
        [sys.executable, "harness/ask.py"], input=assignment, capture_output=True, text=True, cwd=fresh
    )
    assert json.loads(wrote.stdout) == json.loads(record)
    plan = (fresh / PLAN).read_text()
    assert f"the plan, {len(plan.splitlines())} lines" in guide
    command, chance = "gain=b:0.2,c:0", 0.97
    assert f"a chance of {chance} (sealkit power {PLAN} --assume {command})" in " ".join(plan.split())
    (asked,) = json.loads(ok(call("power", PLAN, "--assume", command, "--json", cwd=fresh)).out)["questions"]
    assert round(float(asked["chances"][0]["chance"]), 2) == chance and asked["chances"][0]["verdict"] == "supported"
    tables = {b: tango(PairedCounts(40, b, 0), level=Decimal("0.95")).lower for b in (3, 4)}
    assert tables[3] < 0 < tables[4]


def test_an_episode_is_shown_without_its_measures(study: Path) -> None:
    shown = ok(call("show", PLAN, "--debug", "arm=terse,family=sums,seed=3", cwd=study)).out
    assert "recorded, not replayable" in shown and "You are a calculator" in shown
    assert "correct" not in shown


@pytest.mark.parametrize("path", ["harness/prompts/terse.txt", "harness/questions.jsonl", "harness/ask.py"])
def test_a_harness_that_drifts_is_not_run(path: str, fresh: Path) -> None:
    ok(call("seal", PLAN, cwd=fresh))
    with (fresh / path).open("a") as file:
        file.write("\n")
    ran = call("run", PLAN, "--jobs", "1", cwd=fresh)
    assert ran.code == 1 and f"{path} was changed" in ran.err
    assert b"attempted" not in (fresh / RECEIPTS / "journal.jsonl").read_bytes()


def rewritten(study: Path, change: Callable[[dict[str, object]], None]) -> Outcome:
    """What verify says after the first confirmatory episode was changed, and its journal written anew around it."""
    folder = study / RECEIPTS
    lines = (folder / "episodes.jsonl").read_bytes().splitlines()
    old = lines[2]
    value = decode_value(old)
    assert isinstance(value, dict)
    change(value)  # type: ignore[arg-type]
    closing = value["closing"]
    assert isinstance(closing, dict)
    without = encode_value({**value, "closing": {name: part for name, part in closing.items() if name != "record"}})
    closing["record"] = digest_bytes(without)
    lines[2] = encode_value(value)
    (folder / "episodes.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    entries, prev, size = [], None, 0
    for raw in (folder / "journal.jsonl").read_bytes().splitlines():
        entry = json.loads(raw)
        if entry["event"].get("digest") == digest_bytes(old):
            entry["event"] |= {"digest": digest_bytes(lines[2]), "bytes": len(lines[2])}
        entry["prev"] = prev
        entries.append(encode_value(entry))
        prev, size = digest_bytes(entries[-1]), size + len(entries[-1]) + 1
    (folder / "journal.jsonl").write_bytes(b"".join(line + b"\n" for line in entries))
    head = json.loads((folder / "HEAD").read_bytes())
    head |= {"digest": prev, "size": size, "episodes_size": sum(len(line) + 1 for line in lines)}
    (folder / "HEAD").write_bytes(encode_value(head) + b"\n")
    return call("verify", "receipts", "--no-remember", cwd=study)


def other_pin(value: dict[str, object]) -> None:
    value["pin"] = digest_bytes(b"another")


def other_slot(value: dict[str, object]) -> None:
    value["slot"]["seed"] = 99  # type: ignore[index]


def unfit_measure(value: dict[str, object]) -> None:
    value["measures"] = {"correct": 2}


def other_model(value: dict[str, object]) -> None:
    value["models"] = {"solver": "toy-adder-2"}


def too_many_tokens(value: dict[str, object]) -> None:
    value["usage"]["output_tokens"] = 4000  # type: ignore[index]


def ended_by_the_provider(value: dict[str, object]) -> None:
    value["closing"]["ended"] = "provider_error"  # type: ignore[index]


def receipts(value: dict[str, object]) -> None:
    value["receipts"] = []


@pytest.mark.parametrize(
    ("change", "origin", "says"),
    [
        (other_pin, "evidence", "evidence at pin"),
        (other_slot, "evidence", "evidence at slot"),
        (receipts, "evidence", "unknown field `receipts`"),
        (unfit_measure, "environment", "measures.correct: found 2, due 0 or 1"),
        (other_model, "environment", "models.solver: found 'toy-adder-2'"),
        (too_many_tokens, "environment", "usage.output_tokens: found 4000, due at most 40"),
        (ended_by_the_provider, "environment", "closing.ended: found provider_error"),
    ],
)
def test_a_record_that_the_plan_rules_out_is_excluded_by_its_origin(
    change: Callable[[dict[str, object]], None], origin: str, says: str, study: Path
) -> None:
    said = rewritten(study, change)
    assert said.code == 1 and f"{origin} 1" in said.out and says in said.out


def test_a_measure_that_is_rewritten_with_everything_around_it_is_not_seen(study: Path) -> None:
    """The declared miss of this level: nothing of a record can be run again."""
    folder = study / RECEIPTS
    first = json.loads((folder / "episodes.jsonl").read_bytes().splitlines()[2])

    def flip(value: dict[str, object]) -> None:
        value["measures"] = {"correct": 1 - first["measures"]["correct"]}

    assert rewritten(study, flip).code == 0


def test_a_script_that_breaks_is_paused_and_never_scored(fresh: Path) -> None:
    edit(
        fresh / "harness/ask.py",
        "slot = json.load(sys.stdin)",
        'slot = json.load(sys.stdin)\n    raise SystemExit("out of luck")',
    )
    ok(call("seal", PLAN, cwd=fresh))
    ran = call("run", PLAN, "--jobs", "1", cwd=fresh)
    assert ran.code == 3 and "5 errors in a row" in ran.err and "its last words: out of luck" in ran.err
    counting = (
        "count against the exclusion cap: 3 in terse, 2 in stepwise; the cap 0.05 lets 2 of the 40 slots of an arm "
    )
    for said in (ran.err, ok(call("status", cwd=fresh)).out):
        assert counting in said and "; beyond it, so that claims are withheld: terse; no amendment takes" in said
    journal = (fresh / RECEIPTS / "journal.jsonl").read_bytes()
    assert journal.count(b'"ending":"harness_error"') == 5 and b'"kind":"episode"' not in journal


def test_a_pilot_and_a_smoke_run_try_again_what_has_no_episode(fresh: Path) -> None:
    """Nothing is concluded from them, so a mend is followed by the same command; each try stays on record."""
    edit(fresh / PLAN, "pilot: null", "pilot: {arm: all, family: all, seed: [40]}")
    edit(fresh / PLAN, "smoke: {arm: all, family: all, seed: [40]}", "smoke: null")
    ask = fresh / "harness/ask.py"
    works = ask.read_text()
    edit(ask, "slot = json.load(sys.stdin)", 'slot = json.load(sys.stdin)\n    raise SystemExit("out of luck")')
    for tries in (1, 2):
        failed = call("pilot", PLAN, "--jobs", "1", cwd=fresh)
        assert failed.code == 3 and f"next: mend what failed, then sealkit pilot {PLAN}\n" in failed.out
        standing = ok(call("status", cwd=fresh)).out
        assert f"failed tries of the pilot run: stepwise {tries}, terse {tries}; the last: " in standing
        assert "0 pilot episodes\n" in standing and f"next: mend what failed, then sealkit pilot {PLAN}\n" in standing
    ask.write_text(works)
    assert "2 of 2 slots have their episode, 2 of them new" in ok(call("pilot", PLAN, "--jobs", "1", cwd=fresh)).out
    assert f"next: sealkit seal {PLAN}\n" in ok(call("status", cwd=fresh)).out
    edit(fresh / PLAN, "    terse: {", "    short: {")
    edit(fresh / PLAN, "stepwise - terse", "stepwise - short")
    assert "2 of 2 slots have their episode, 1 of them new" in ok(call("pilot", PLAN, "--jobs", "1", cwd=fresh)).out
    journal = (fresh / RECEIPTS / "pilot" / "journal.jsonl").read_bytes()
    assert (journal.count(b'"kind":"attempted"'), journal.count(b'"kind":"closed"')) == (7, 4), (
        "and the seal has its head"
    )


@pytest.mark.slow
def test_a_slot_whose_attempt_breaks_is_missing(fresh: Path) -> None:
    edit(
        fresh / "harness/ask.py", 'slot = json.load(sys.stdin)',
        'slot = json.load(sys.stdin)\n    if slot["slot"]["seed"] == 7 and slot["slot"]["arm"] == "terse":\n        raise SystemExit(1)',
    )  # fmt: skip
    ok(call("seal", PLAN, cwd=fresh))
    assert "1 slot missing" in ok(call("run", PLAN, "--jobs", "1", cwd=fresh)).out
    results = json.loads(ok(call("analyse", PLAN, "--json", cwd=fresh)).out)
    terse = results["flow"]["terse"]
    assert (terse["slots"], terse["episodes"], terse["missing"], terse["outcomes"]) == (40, 39, 1, 39)
    assert any("arm terse: 1 slot failed and 39 have their episode; the last failure: arm=terse," in fact
               for fact in json.loads(ok(call("status", "--json", cwd=fresh)).out)[0]["facts"])  # fmt: skip


def test_a_provider_error_that_the_script_reports_is_no_forgery(fresh: Path) -> None:
    answer = {
        "transcript": [], "measures": {"correct": None}, "usage": {"calls": 1, "input_tokens": 9, "output_tokens": 0},
        "models": {"solver": "toy-adder-1"}, "ended": "provider_error", "why": "503",
    }  # fmt: skip
    edit(
        fresh / "harness/ask.py", 'slot = json.load(sys.stdin)',
        'slot = json.load(sys.stdin)\n    if slot["slot"]["seed"] == 7 and slot["slot"]["arm"] == "terse":\n'
        f"        print({json.dumps(json.dumps(answer))})\n        raise SystemExit(0)",
    )  # fmt: skip
    edit(fresh / PLAN, "seed: 0..39", "seed: 6..9")
    ok(call("seal", PLAN, cwd=fresh))
    assert "1 slot missing" in ok(call("run", PLAN, "--jobs", "1", cwd=fresh)).out
    [found] = json.loads(ok(call("verify", "--no-remember", "--json", cwd=fresh)).out)["studies"]
    assert found["arms"]["terse"]["admitted"] == 3
    results = json.loads(ok(call("analyse", PLAN, "--json", cwd=fresh)).out)
    assert results["flow"]["terse"]["missing"] == 1


def test_an_arm_that_only_fails_is_told_by_its_reason_and_no_success(fresh: Path) -> None:
    edit(
        fresh / "harness/ask.py", 'slot = json.load(sys.stdin)',
        'slot = json.load(sys.stdin)\n    if slot["slot"]["arm"] == "terse":\n        raise SystemExit("no such prompt")',
    )  # fmt: skip
    ok(call("seal", PLAN, cwd=fresh))
    says = "arm terse: {} failed and none has an episode; the last failure: arm=terse,family=sums,seed=40: "
    smoke = call("run", PLAN, "--smoke", "--jobs", "1", cwd=fresh)
    assert smoke.code == 3 and says.format("1 slot") in smoke.out and "its last words: no such prompt" in smoke.out
    assert f"if a sealed file changes: sealkit amend {PLAN}" in smoke.out
    ran = call("run", PLAN, "--jobs", "1", cwd=fresh)
    assert (
        ran.code == 3
        and "5 errors in a row, the last: python3: ended with status 1; its last words: no such" in ran.err
    )
    journal = (fresh / RECEIPTS / "journal.jsonl").read_bytes()
    standing = ok(call("status", cwd=fresh)).out
    assert ": paused\n" in standing and "no slot given up: errors_in_a_row: " in standing
    assert "next: mend what failed, then sealkit run" in standing
    assert re.search(
        r"failed tries: .*terse [56].*; the last: arm=terse,family=sums,seed=\d+: harness_error: ", standing
    )
    assert journal.count(b'"kind":"failed"') == 6 and b'"reason":"errors_in_a_row"' in journal, (
        "one of them in the smoke run"
    )
    found = json.loads(ok(call("verify", "--no-remember", "--json", cwd=fresh)).out)["studies"][0]["arms"]
    assert found["stepwise"]["admitted"] > 0, "arms that work do not hide one that has never worked"
    assert says.format(5) not in ok(call("status", cwd=fresh)).out, "and no slot was given up"
    shown = call("show", PLAN, "--debug", "arm=terse,family=sums,seed=3", cwd=fresh)
    assert shown.code == 2 and "no episode of slot arm=terse,family=sums,seed=3" in shown.err
