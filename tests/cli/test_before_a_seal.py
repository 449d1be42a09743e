"""What fails in every slot, or can never be had, is refused by `check` and `seal` alike, before anything is sealed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sealkit.plan.load import check_sealable, open_plan_bytes
from sealkit.wire.errors import UsageError
from tests.studies import PLAN, ROOT, SMALL, call, make_study, ok, plan_text

DRY_RUN = (ROOT / "plans" / "dry-run.yaml").read_text(encoding="utf-8")
OWN = "tracker: {role: control, arm: arms/mine, models: [], options: {}}"
PROGRAM = "tracker: {role: control, run: [./mine.sh], models: [], trees: [mine.sh]}"
SYSTEM = "tracker: {role: control, run: [no-such-program], models: [], trees: []}"


def planned(folder: Path, old: str, new: str) -> Path:
    study = make_study(folder / "study", SMALL)
    text = plan_text(SMALL)
    assert old in text
    (study / PLAN).write_text(text.replace(old, new), encoding="utf-8")
    return study


def refused(study: Path, says: str, code: int) -> None:
    for command in ("check", "seal"):
        outcome = call(command, PLAN, cwd=study)
        assert (outcome.code, says in outcome.err) == (code, True), outcome.said
    assert not (study / "plans" / "part.seal.json").exists()


@pytest.mark.parametrize(
    ("source", "says"),
    [("def make(:", "arms/mine/__init__.py: loading it raised SyntaxError"), ("", "the package has no function make")],
)
def test_an_arm_that_does_not_load_is_not_sealed(source: str, says: str, tmp_path: Path) -> None:
    study = planned(tmp_path, "tracker: {role: control, scripted: tracker}", OWN)
    (study / "arms" / "mine").mkdir(parents=True)
    (study / "arms" / "mine" / "__init__.py").write_text(source, encoding="utf-8")
    refused(study, says, 3)


def test_an_amendment_of_code_that_does_not_load_is_refused(sealed: Path) -> None:
    (sealed / "worlds" / "house" / "judge.py").write_text("def judge(:", encoding="utf-8")
    outcome = call("amend", PLAN, "--reason", "a better judge", cwd=sealed)
    assert outcome.code == 3 and "house/judge.py: loading it raised SyntaxError" in outcome.err
    assert not (sealed / "plans" / "part.A-0001.json").exists()


def test_an_arm_that_is_a_program_is_there_and_may_be_run(tmp_path: Path) -> None:
    study = planned(tmp_path, "tracker: {role: control, scripted: tracker}", PROGRAM)
    refused(study, "$.factors.arm.tracker.trees[0]: there is no such file", 2)
    (study / "mine.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    refused(study, "$.factors.arm.tracker.run: the program ./mine.sh may not be run", 2)
    (study / "mine.sh").chmod(0o755)
    ok(call("check", PLAN, cwd=study))


def test_a_program_of_the_system_that_is_not_here_is_named(tmp_path: Path) -> None:
    study = planned(tmp_path, "tracker: {role: control, scripted: tracker}", SYSTEM)
    out = ok(call("check", PLAN, cwd=study)).out
    assert re.search(r"part.yaml:\d+:\d+ \$.factors.arm.tracker.run: this machine has no program no-such-program", out)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("house/judge", "house/judg", r"\$.judge: the study has no judge .*judg; .* did you mean worlds/house/judge\?"),
        ("name: house", "name: haus", r"\$.world.name: the study has no world haus; it has house, .*mean house\?"),
        ("witness, replay]", "witness, repla]", r"\$.verifiers\[1\]: the study has no verifier repla; .*mean replay\?"),
        ("scripted: tracker}", "scriptd: tracker}", r"\$.factors.arm.tracker: .*has scriptd: did you mean scripted\?"),
        ("scripted: tracker}", "scripted: tracker, rol: 1}", r"arm.tracker.rol: no key rol .*did you mean role\?"),
        ("kind: fixed", "kid: fixed", r"sample.stopping: the key kind is missing; it has kid: did you mean kind\?"),
    ],
)  # fmt: skip
def test_a_word_that_is_misspelled_is_shown_in_the_plan(old: str, new: str, says: str, tmp_path: Path) -> None:
    outcome = call("check", PLAN, cwd=planned(tmp_path, old, new))
    assert outcome.code == 2
    assert re.match(rf"sealkit: plans/part.yaml:\d+:\d+ {says}" if says[0] == "\\" else f".*{says}", outcome.err)


def test_a_command_that_is_misspelled_is_asked_after(tmp_path: Path) -> None:
    outcome = call("chek", cwd=tmp_path)
    assert outcome.code == 2 and "No such command 'chek'. Did you mean check?" in outcome.err


def test_a_copy_of_a_plan_needs_an_id_of_its_own(sealed: Path) -> None:
    copied = (sealed / PLAN).read_text(encoding="utf-8")
    for name in ("copy", "draft"):
        (sealed / "plans" / f"{name}.yaml").write_text(copied, encoding="utf-8")
    for command in ("check", "seal"):
        outcome = call(command, "plans/copy.yaml", cwd=sealed)
        assert outcome.code == 2
        assert re.match(r"sealkit: plans/copy.yaml:\d+:5 \$.id: part.yaml is sealed under the id part; ", outcome.err)
    (sealed / "plans" / "copy.yaml").write_text(copied.replace("id: part", "id: mine"), encoding="utf-8")
    assert "has the id" not in ok(call("check", "plans/copy.yaml", cwd=sealed)).out
    assert "plans/draft.yaml has the id part too: one alone can be sealed" in ok(call("check", PLAN, cwd=sealed)).out
    standing = ok(call("status", cwd=sealed)).out
    assert f"part ({PLAN}): sealed\n" in standing and "part (plans/draft.yaml): not sealed\n" in standing


# --- verdicts that no sample within the cap gives ----------------------------------------------------


def sealable(text: str) -> str:
    """Why the dry run in these words is refused; empty if it is not."""
    plan = open_plan_bytes(text.encode(), "plans/dry-run.yaml")
    try:
        check_sealable(plan)
    except UsageError as error:
        return str(error)
    return ""


MORE = DRY_RUN.replace("seed: 0..9 ", "seed: 0..99 ").replace("seed: 0..9\n", "seed: 0..99\n").replace("[100]", "[900]")


def test_a_verdict_that_only_lost_slots_give_is_refused_with_the_figures(tmp_path: Path) -> None:
    assert not sealable(DRY_RUN)
    said = sealable(MORE)
    place = r"plans/dry-run.yaml:\d+:\d+ \$.hypotheses.rechecker.verdict.supported: "
    assert re.search(place + ".*exclusion_cap_per_arm: 0 .*rechecker.n is 600 here, and the rule wants .*n == 60", said)
    study = make_study(tmp_path / "study", SMALL)
    (study / PLAN).write_text(MORE, encoding="utf-8")
    refused(study, "oracle.n is 600 here", 2)


def test_a_cap_that_lets_so_many_go_lets_the_verdict_be() -> None:
    assert not sealable(MORE.replace("exclusion_cap_per_arm: 0", "exclusion_cap_per_arm: 0.98"))


def test_what_a_plan_says_of_a_short_sample_is_no_verdict_out_of_reach() -> None:
    rule = '      contradicted: "rechecker.x < rechecker.n"\n      otherwise: not_shown'
    assert rule in DRY_RUN
    short = '      not_shown: "rechecker.n < 60"\n      otherwise: contradicted'
    assert not sealable(DRY_RUN.replace(rule, short))
