"""`sealkit amend`, end to end on a scripted study: the three kinds of change of the house study, and what each side of the
first look does to claims."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sealkit.infer.claims import rule_claims
from sealkit.publish.claims.amended import amended as after_amendments
from sealkit.publish.review.analyse import analyse_study, record_analysis
from sealkit.seal.amend import amending
from sealkit.verify.study import open_study
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.events import Slot
from tests.amending import (
    CHANGELOG,
    DEAF_TRACKER,
    FIX,
    IT_TRACKS,
    OTHER_JUDGE,
    REWORDED,
    SAME_JUDGE,
    amended,
    change,
    make_study,
    run,
    run_some,
    verified,
)
from tests.seal.studies import NOW, snapshot
from tests.studies import ID, PLAN, ROOT, call, ok
from tests.verify.hands import Study

NOT_SAID = "hypotheses, metrics, analysis, sample unchanged: every section has the digest that it had before"


def made_once(factory: pytest.TempPathFactory, name: str, base: Path | None, *commands: tuple[str, ...]) -> Path:
    folder = factory.mktemp(name) / "study"
    if base is None:
        make_study(folder)
    else:
        shutil.copytree(base, folder)
    for command in commands:
        ok(call(*command, cwd=folder))
    return folder


@pytest.fixture(scope="module")
def smoked_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sealed, with a smoke run."""
    smoke = ("run", PLAN, "--smoke", "--jobs", "1")
    return made_once(tmp_path_factory, "smoked", None, ("seal", PLAN), smoke)


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory, smoked_once: Path) -> Path:
    """The same after the grid, which nobody has looked at."""
    return made_once(tmp_path_factory, "run", smoked_once, ("run", PLAN, "--jobs", "1"))


@pytest.fixture(scope="module")
def analysed_once(tmp_path_factory: pytest.TempPathFactory, run_once: Path) -> Path:
    """The same after its analysis."""
    return made_once(tmp_path_factory, "analysed", run_once, ("analyse", PLAN))


@pytest.fixture
def smoked(smoked_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(smoked_once, tmp_path / "study"))


@pytest.fixture
def grid(run_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run_once, tmp_path / "study"))


@pytest.fixture
def analysed(analysed_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(analysed_once, tmp_path / "study"))


@dataclass(frozen=True)
class Ruled:
    """What an analysis came to: the status of each claim, the verdicts, what holds claims back, the record."""

    claims: dict[str, str]
    verdicts: dict[str, str]
    exploratory: dict[str, str]
    differing: list[tuple[str, str, str]]
    earlier: list[tuple[str, str, int]]
    record: dict[str, Any]


def ruled(study: Path, *, plan: str = PLAN) -> Ruled:
    """Analyse, and record it, as the command does."""
    with open_study(study / plan, replay="limits") as opened:
        found, analysis = analyse_study(opened, step=lambda count: None)
        after = after_amendments(opened, found, analysis)
        record_analysis(opened, found, analysis, now=lambda: NOW)
        claims = rule_claims(opened.sealed.plan.spec, analysis.verdicts, after.reservations)
    return Ruled(
        claims={ruling.name: ruling.status for ruling in claims},
        verdicts={verdict.hypothesis: verdict.verdict for verdict in analysis.verdicts},
        exploratory=dict(after.reservations.exploratory),
        differing=[(str(row["source"]), str(row["hypothesis"]), str(row["other"])) for row in after.differing],
        earlier=[(str(row["hypothesis"]), str(row["verdict"]), row["amendment"]) for row in after.earlier],  # type: ignore[misc]
        record=json.loads(analysis.line),
    )


def analyse(study: Path) -> str:
    """What `sealkit analyse` prints."""
    return ok(call("analyse", PLAN, cwd=study)).out


def amendment(study: Path, number: int = 1) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((study / f"plans/part.A-000{number}.json").read_bytes())
    return record


# --- the three kinds of change of spec/house.md ------------------------------------------------------


@pytest.mark.slow
def test_a_harness_fix_after_a_smoke_run_and_before_the_grid(smoked: Path) -> None:
    change(smoked, *FIX)
    refused = call("run", PLAN, cwd=smoked)
    assert refused.code == 1 and "worlds/house/world.py was changed" in refused.err and "sealkit amend" in refused.err
    out = amended(smoked, "the world's comment misled").out
    assert "A-0001 of part, after_smoke" in out and "harness  worlds/house/world.py changed" in out
    assert NOT_SAID in out and "claims stay as they are" in out
    assert "-# --- " in out and "+# --- mended: " in out
    assert f"next: sealkit run {PLAN} --smoke" in out
    record = amendment(smoked)
    seal = json.loads((smoked / "plans/part.seal.json").read_bytes())
    assert record["plan"] == seal["plan"]  # file, canonical parse and every section, digest by digest
    assert record["manifest"] == seal["manifest"] and record["changed"]["scenarios"] == 0
    for section in ("hypotheses", "metrics", "effects", "methods", "sample", "factors"):
        assert f"{section} {seal['plan']['sections'][section][7:19]}" in (smoked / CHANGELOG).read_text()
    assert "(2 of a smoke run)" in verified(smoked).out
    run(smoked, "--smoke")  # a smoke run begins anew
    run(smoked)
    assert "(4 of a smoke run)" in verified(smoked).out
    found = ruled(smoked)
    pin = digest_bytes((smoked / "plans/part.A-0001.json").read_bytes())
    assert (found.record["pins"], found.record["by_pin"]) == ([pin], [])
    assert found.verdicts == {"oracle": "supported", "tracker": "supported"}
    assert "10 scenarios of 2 pins made again by the sealed world" in verified(smoked, "--replay").out


@pytest.mark.slow
def test_a_task_rewording_after_a_second_smoke_run_with_the_dry_run_repeated_and_identical(smoked: Path) -> None:
    dry = (smoked / PLAN).read_text(encoding="utf-8").replace(f"id: {ID}\n", "id: dry\n", 1)
    (smoked / "plans/dry.yaml").write_text(dry, encoding="utf-8")
    ok(call("seal", "plans/dry.yaml", cwd=smoked))
    run(smoked, plan="plans/dry.yaml")
    before = ruled(smoked, plan="plans/dry.yaml").record
    change(smoked, *FIX)
    amended(smoked, "the world's comment misled")
    run(smoked, "--smoke")
    change(smoked, *REWORDED)
    out = amended(smoked, "the briefing read oddly").out
    assert "A-0002 of part, after_smoke" in out and NOT_SAID in out
    assert "scenarios  5 added, removed or not as they were" in out
    # The dry run, repeated: no episode would be another one …
    change(smoked, "worlds/house/world.py", "# --- mended: ", "# --- ")  # it was sealed before the fix
    again = ok(call("amend", "plans/dry.yaml", "--impact", "--dry-run", cwd=smoked))
    assert "0 of 8 recorded episodes would be others now" in again.out
    # … and a second one, sealed on the reworded task, comes to the same numbers.
    (smoked / "plans/dry-2.yaml").write_text(dry.replace("id: dry\n", "id: dry-2\n", 1), encoding="utf-8")
    ok(call("seal", "plans/dry-2.yaml", cwd=smoked))
    run(smoked, plan="plans/dry-2.yaml")
    after = ruled(smoked, plan="plans/dry-2.yaml").record
    assert {key: value for key, value in after.items() if key not in ("plan", "pins")} == {
        key: value for key, value in before.items() if key not in ("plan", "pins")
    }
    ok(call("verify", "--no-remember", cwd=smoked))


@pytest.mark.slow
def test_extra_rows_after_the_grid(analysed: Path) -> None:
    change(
        analysed, PLAN, "reported_only: []\n",
        "reported_only:\n  - {arms: all, metrics: [success], split: [family], method: rate}\n",
    )  # fmt: skip
    out = amended(analysed, "a reader asked for rows by family").out
    assert "A-0001 of part, after_analysis" in out and "hypotheses, metrics, sample unchanged" in out
    assert re.search(r"protected  section reported_only  [0-9a-f]{12} → [0-9a-f]{12}\n", out)
    assert "no claim stands on what changed" in out
    assert "came after the recorded analysis; `sealkit analyse" in verified(analysed, "--replay").out
    after = ruled(analysed)
    assert after.claims == {"it-does": "supported", "it-tracks": "supported"}
    assert len(after.record["reported"]) > 0 and after.verdicts == {"oracle": "supported", "tracker": "supported"}
    assert "was derived again, the same bytes" in verified(analysed, "--replay").out


@pytest.fixture(scope="module")
def own_sealkit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealkit of its own, which may be changed."""
    root = tmp_path_factory.mktemp("own")
    for name in ("sealkit", "worlds", "verifiers"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def own(root: Path, study: Path, *arguments: str) -> str:
    """The output of a sealkit of its own, whose exit code is 0."""
    done = subprocess.run(
        [sys.executable, "-m", "sealkit", *arguments], cwd=study, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(root), "SEALKIT_TRACEBACK": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_analysis_code_changed_after_the_grid_rules_beside_the_code_that_was_pinned(
    own_sealkit: Path, tmp_path: Path
) -> None:
    study = make_study(tmp_path / "study")
    for command in (("seal", PLAN), ("run", PLAN, "--jobs", "1"), ("analyse", PLAN)):
        own(own_sealkit, study, *command)
    code = "sealkit/infer/verdicts.py"
    change(own_sealkit, code, "def verdicts(", "# one more row could be made here\n\n\ndef verdicts(")
    refused = subprocess.run(
        [sys.executable, "-m", "sealkit", "analyse", PLAN], cwd=study, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(own_sealkit)},
    )  # fmt: skip
    assert refused.returncode == 1
    assert "1 file of sealkit's own analysis code is not as sealed, the first: infer/verdicts.py" in refused.stderr
    out = own(own_sealkit, study, "amend", PLAN, "--reason", "a comment in the analysis")
    assert f"ruling code  {code} changed" in out and NOT_SAID in out
    said = own(own_sealkit, study, "analyse", PLAN)
    assert "since the first attempt: the same verdicts" in said and "exploratory:" not in said
    assert "was derived again, the same bytes" in own(own_sealkit, study, "verify", "--replay", "--no-remember")
    # Code that rules otherwise: the verdicts of both are told, and the claims that they part on are exploratory.
    change(own_sealkit, code, "        if holds:\n", '        if holds and question.hypothesis != "tracker":\n')
    own(own_sealkit, study, "amend", PLAN, "--reason", "the tracker is never ruled on")
    said = own(own_sealkit, study, "analyse", PLAN)
    assert said.count("tracker: not_shown, but supported by the code of pin ") == 2  # of the seal, and of the comment
    assert "exploratory: claim it-tracks: tracker is not_shown, and supported in the analysis recorded at" in said
    assert "claim it-does" not in said
    own(own_sealkit, study, "verify", "--replay", "--no-remember")


# --- on either side of the first look ----------------------------------------------------------------


@pytest.mark.slow
def test_a_hypothesis_edited_between_the_first_episode_and_the_last_leaves_its_claim(smoked: Path) -> None:
    run_some(smoked, 3)
    change(smoked, PLAN, "tracker.x == 4", "tracker.x >= 3")
    out = amended(smoked, "the tracker may fail once").out
    assert "A-0001 of part, after_first_episode" in out
    assert "hypotheses changed: claims stay confirmatory, where the hypotheses as they were asked come to the" in out
    run(smoked)
    found = ruled(smoked)
    assert found.claims == {"it-does": "supported", "it-tracks": "supported"} and not found.exploratory
    assert found.earlier == [("tracker", "supported", 1)]  # what was asked when there were outcomes stays listed
    note = "as amended before the first look, after the first confirmatory attempt (amendment 1)"
    assert f"The tracker succeeded. ({note})" in ok(call("publish", PLAN, cwd=smoked)).out
    assert f"    {note}" in ok(call("claims", PLAN, cwd=smoked)).out


@pytest.mark.slow
def test_a_hypothesis_made_easier_between_the_first_episode_and_the_last_does_not_rescue_its_claim(
    smoked: Path,
) -> None:
    change(smoked, *DEAF_TRACKER)  # before any episode: the tracker will fail under delayed updates
    amended(smoked, "it heeds no messages")
    run_some(smoked, 3)
    change(smoked, PLAN, "tracker.x == 4", "tracker.x >= 2")
    amended(smoked, "half is enough")
    run(smoked)
    found = ruled(smoked)
    assert found.verdicts["tracker"] == "supported" and found.earlier == [("tracker", "contradicted", 2)]
    assert found.exploratory == {
        "it-tracks": "tracker is supported, and contradicted as asked before amendment 2, after the first confirmatory "
        "attempt"
    }


def test_a_cap_on_exclusions_that_was_raised_after_the_first_attempt_rescues_no_claim(smoked: Path) -> None:
    run_some(smoked, 3)
    change(smoked, PLAN, "exclusion_cap_per_arm: 0", "exclusion_cap_per_arm: 0.9")
    amended(smoked, "some may be lost")
    run(smoked, "--stop", "enough")
    found = ruled(smoked)
    assert found.claims == {"it-does": "exploratory", "it-tracks": "exploratory"}
    assert re.fullmatch(
        r"more slots are without an outcome than the cap under pin \w{12} allowed, in oracle, tracker",
        found.exploratory["it-does"],
    )


def test_slots_dropped_without_an_outcome_after_the_first_attempt_count_against_the_cap(smoked: Path) -> None:
    run_some(smoked, 2)  # a block of seed 1
    change(smoked, PLAN, "seed: 0..1", "seed: [1]")
    (smoked / PLAN).write_text((smoked / PLAN).read_text().replace(" == 4", " == 2"))
    amended(smoked, "one seed will do")
    run(smoked)
    found = ruled(smoked)
    why = "of the slots before amendment 1, after the first confirmatory attempt, more have no outcome than the cap"
    assert found.claims == {"it-does": "exploratory", "it-tracks": "exploratory"}
    assert found.exploratory["it-does"] == f"{why} allowed, in oracle, tracker"


@pytest.mark.slow
def test_a_hypothesis_edited_when_every_outcome_was_there_makes_its_claim_exploratory(grid: Path) -> None:
    change(grid, PLAN, "tracker.x == 4", "tracker.x >= 3")
    out = amended(grid, "the tracker may fail once").out  # nobody had looked through sealkit
    assert "after_last_episode" in out and "claim it-tracks is exploratory: when the run had ended or every" in out
    found = ruled(grid)
    assert found.claims == {"it-does": "supported", "it-tracks": "exploratory"}
    assert found.exploratory == {
        "it-tracks": "amendment 1, when the run had ended or every slot had its outcome, changed what it stands on: "
        "hypotheses.tracker"
    }


def test_a_hypothesis_edited_after_the_look_makes_its_claim_exploratory(analysed: Path) -> None:
    change(analysed, PLAN, "tracker.x == 4", "tracker.x >= 3")
    out = amended(analysed, "the tracker may fail once").out
    assert "claim it-tracks is exploratory: after the first look, what it stands on changed: hypotheses.tracker" in out
    said = analyse(analysed)
    assert "exploratory: claim it-tracks: amendment 1, after the first look, changed what it stands on" in said
    change(analysed, PLAN, "tracker.x >= 3", "tracker.x == 4")  # put back, it stays what it became
    amended(analysed, "we put it back")
    assert ruled(analysed).claims == {"it-does": "supported", "it-tracks": "exploratory"}


def test_a_claim_dropped_after_an_episode_was_read_is_listed_before_any_analysis_too(grid: Path) -> None:
    ok(call("show", PLAN, "--debug", "arm=oracle,family=noise,seed=0", cwd=grid))
    change(grid, PLAN, IT_TRACKS, "")
    assert "claim it-tracks was dropped after the first look" in amended(grid, "nobody asks for the tracker").out
    out = ok(call("claims", PLAN, cwd=grid)).out
    assert "unmeasured: it-does" in out and "withheld: it-tracks" in out
    assert "amendment 1, after the first look, dropped or reworded it" in out


@pytest.mark.slow
def test_a_claim_and_a_hypothesis_dropped_after_an_episode_and_before_any_look_stay_listed(smoked: Path) -> None:
    run_some(smoked, 3)
    change(smoked, PLAN, IT_TRACKS, "")
    out = amended(smoked, "nobody asks for the tracker").out
    assert "claim it-tracks was dropped after the first confirmatory attempt, and stays listed" in out
    run(smoked)
    analyse(smoked)
    said = ok(call("publish", PLAN, cwd=smoked)).out
    assert "1 more, dropped or reworded after the first attempt, stay listed" in said
    assert "withheld: it-tracks" in ok(call("claims", PLAN, cwd=smoked)).out


def test_an_episode_read_is_a_look_and_a_smoke_episode_is_none(smoked: Path) -> None:
    ok(call("show", PLAN, "--debug", "arm=oracle,family=delayed_update,seed=100", cwd=smoked))
    change(smoked, *FIX)
    assert "after_smoke" in ok(call("amend", PLAN, "--dry-run", cwd=smoked)).out
    change(smoked, FIX[0], FIX[2], FIX[1])
    run(smoked)
    ok(call("show", PLAN, "--debug", "arm=oracle,family=noise,seed=0", cwd=smoked))
    change(smoked, *FIX)
    assert "after_first_look" in ok(call("amend", PLAN, "--dry-run", cwd=smoked)).out


@pytest.mark.slow
def test_a_judge_changed_after_outcomes_rules_beside_the_old_one_equal_verdicts_stay(analysed: Path) -> None:
    change(analysed, *SAME_JUDGE)
    out = amended(analysed, "the judge's words").out
    assert "ruling code  worlds/house/judge.py changed" in out
    assert "the analysis is made with the code of every pin since the first attempt" in out
    found = ruled(analysed)
    assert (found.differing, found.exploratory) == ([], {})
    assert found.claims == {"it-does": "supported", "it-tracks": "supported"}


def test_a_judge_changed_after_outcomes_rules_beside_the_old_one_other_verdicts_are_exploratory(
    analysed: Path,
) -> None:
    change(analysed, *OTHER_JUDGE)
    amended(analysed, "noise is no success")
    found = ruled(analysed)
    sealed = digest_bytes((analysed / "plans/part.seal.json").read_bytes())
    source = f"code of pin {short(sealed)}"
    assert found.differing == [(source, "oracle", "supported"), (source, "tracker", "supported")]
    assert found.exploratory["it-does"].startswith("oracle is contradicted, and supported in the analysis recorded at ")
    assert found.claims == {"it-does": "exploratory", "it-tracks": "exploratory"}
    assert "was derived again, the same bytes" in verified(analysed, "--replay").out


@pytest.mark.slow
def test_a_judge_changed_after_the_first_outcome_and_before_any_look_rules_beside_the_old_one(smoked: Path) -> None:
    run_some(smoked, 1)
    change(smoked, *OTHER_JUDGE)
    assert "with the code of every pin since the first attempt" in amended(smoked, "noise is no success").out
    run(smoked)
    found = ruled(smoked)
    assert found.verdicts == {"oracle": "contradicted", "tracker": "contradicted"}
    assert found.claims == {"it-does": "exploratory", "it-tracks": "exploratory"}


@pytest.mark.slow
def test_a_judge_put_back_after_the_look_does_not_undo_what_it_ruled(grid: Path) -> None:
    change(grid, *OTHER_JUDGE)
    amended(grid, "noise is no success")
    analyse(grid)
    change(grid, OTHER_JUDGE[0], OTHER_JUDGE[2], OTHER_JUDGE[1])
    amended(grid, "it is one")
    found = ruled(grid)
    assert found.verdicts == {"oracle": "supported", "tracker": "supported"}
    assert found.claims == {"it-does": "exploratory", "it-tracks": "exploratory"}


@pytest.mark.slow
def test_a_judge_changed_before_any_outcome_measures_every_episode(smoked: Path) -> None:
    change(smoked, *OTHER_JUDGE)
    assert "the judge of the last pin measures every episode" in amended(smoked, "noise is no success").out
    run(smoked, "--smoke")
    run(smoked)
    found = ruled(smoked)
    assert (found.differing, found.exploratory) == ([], {})
    assert found.claims == {"it-does": "contradicted", "it-tracks": "contradicted"}


# --- several pins ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_grid_over_two_pins_is_reported_for_each(smoked: Path) -> None:
    run_some(smoked, 3)
    change(smoked, *FIX)
    out = amended(smoked, "the world's comment misled").out
    assert re.search(r"smoke 0 of (\d+) since the last amendment, \1 before it", ok(call("status", cwd=smoked)).out)
    assert "after_first_episode (a confirmatory attempt had begun)" in out and "come to under each pin alone" in out
    run(smoked)
    pins = json.loads(call("verify", "--json", "--no-remember", cwd=smoked).out)["studies"][0]["pins"]
    found = ruled(smoked)
    record = found.record
    assert record["pins"] == pins and [row["pin"] for row in record["by_pin"]] == pins
    said = ok(call("analyse", PLAN, cwd=smoked)).out
    assert all(f"from the episodes under pin {short(pin)} alone: " in said for pin in pins)
    counts = [sum(row["n"] for row in rows["effects"]) for rows in record["by_pin"]]
    assert counts == [3, 5] and sum(row["n"] for row in record["effects"]) == 8
    assert found.verdicts == {"oracle": "supported", "tracker": "supported"}
    for more in ((), ("--replay",)):
        out = verified(smoked, *more).out
        assert "oracle       4         4" in out and "tracker      4         4" in out


def test_an_episode_filed_under_the_other_pin_is_refused(smoked: Path) -> None:
    run_some(smoked, 3)
    change(smoked, *FIX)
    amended(smoked, "the world's comment misled")
    run(smoked)
    hands = Study(smoked)
    entries = hands.entries()
    number = hands.numbers("episode")[-1]
    entries[number]["event"]["pin"] = entries[0]["event"]["pin"]
    hands.rewrite(entries)
    refused = call("verify", "--no-remember", cwd=smoked)
    assert refused.code == 1
    assert f"journal.jsonl entry {number}: evidence: an episode of another pin or of a pilot" in refused.err


# --- impact, superseded blocks, sensitivity ------------------------------------------------------------


def test_impact_lists_the_episodes_that_would_be_others_and_their_blocks(grid: Path) -> None:
    change(grid, *DEAF_TRACKER)
    before = snapshot(grid)
    out = ok(call("amend", PLAN, "--impact", "--dry-run", cwd=grid)).out
    assert "2 of 8 recorded episodes would be others now" in out
    for seed in (0, 1):
        assert f"arm=tracker,family=delayed_update,seed={seed}" in out
    assert "2 blocks in which they lie; --supersede has them run again, every arm of each" in out
    assert "nothing was written" in out and snapshot(grid) == before
    # Nobody looked, so it tells nothing of how the episodes went: not how long they were, nor how they ended.
    differing = json.loads(ok(call("amend", PLAN, "--impact", "--dry-run", "--json", cwd=grid)).out)["differing"]
    assert {one["why"] for one in differing} <= {"an act differs", "it has another number of acts", "it ends otherwise"}
    amended(grid, "the tracker should not heed messages", "--impact")
    assert (amendment(grid)["impact"], amendment(grid)["superseded"]) == ({"differ": 2, "episodes": 8}, [])


@pytest.mark.slow
def test_superseded_blocks_are_run_again_in_every_arm_and_the_old_episodes_enter_a_sensitivity_row(grid: Path) -> None:
    change(grid, *DEAF_TRACKER)
    out = amended(grid, "the tracker should not heed messages", "--supersede").out
    assert "2 blocks to be run again, every arm of each" in out and f"next: sealkit run {PLAN}" in out
    blocks = [{"family": "delayed_update", "seed": seed} for seed in (0, 1)]
    assert amendment(grid)["superseded"] == blocks
    refused = call("analyse", PLAN, cwd=grid)
    assert refused.code == 2 and "4 of 8 slots have their episode" in refused.err
    assert "4 of them new" in run(grid).out
    out = verified(grid).out
    assert "oracle: 2 superseded by an amendment" in out and "tracker: 2 superseded by an amendment" in out
    assert "oracle       4         4" in out
    document = json.loads(call("verify", "--json", "--no-remember", cwd=grid).out)["studies"][0]
    assert document["left_out"] == {"oracle": {"superseded": 2}, "tracker": {"superseded": 2}}
    found = ruled(grid)
    assert found.differing == [("first episodes", "tracker", "supported")]
    assert found.exploratory == {  # though no look is recorded
        "it-tracks": "tracker is contradicted, and supported with the episodes that amendment 1 superseded"
    }
    assert found.claims == {"it-does": "supported", "it-tracks": "exploratory"}
    out = verified(grid, "--replay").out
    assert "2 superseded blocks derived again from the sealed sources" in out
    assert "was derived again, the same bytes" in out


@pytest.mark.slow
def test_a_harness_changed_after_the_look_with_slots_still_to_run_makes_every_claim_exploratory(smoked: Path) -> None:
    run_some(smoked, 3)
    journal = (smoked / "receipts" / ID / "journal.jsonl").read_text().splitlines()
    played = [event for event in (json.loads(line)["event"] for line in journal) if event["kind"] == "episode"]
    slot = ",".join(f"{name}={level}" for name, level in played[-1]["slot"].items())
    ok(call("show", PLAN, "--debug", slot, cwd=smoked))
    change(smoked, *FIX)
    amended(smoked, "a comment in the world")
    run(smoked)
    why = "amendment 1, after the first look, changed what episodes run under, and more came after"
    assert ruled(smoked).exploratory == {"it-does": why, "it-tracks": why}


def test_blocks_superseded_after_the_look_make_exploratory_what_the_old_episodes_would_change(analysed: Path) -> None:
    change(analysed, *DEAF_TRACKER)
    assert (
        "a claim to which they would give another verdict is exploratory"
        in amended(analysed, "the tracker should not heed messages", "--supersede").out
    )
    run(analysed)
    found = ruled(analysed)
    [(claim, why)] = found.exploratory.items()
    assert claim == "it-tracks" and why.startswith(
        "tracker is contradicted, and supported in the analysis recorded at "
    )
    assert found.claims == {"it-does": "supported", "it-tracks": "exploratory"}


def test_blocks_that_were_chosen_by_hand_are_refused_by_a_replay(analysed: Path) -> None:
    change(analysed, *DEAF_TRACKER)
    with amending(analysed / PLAN, now=NOW) as draft:
        chosen: Slot = {"family": "delayed_update", "seed": 1}
        draft.commit(draft.amendment(reason="one block is enough", superseded=(chosen,))).close()
    run(analysed)
    verified(analysed)
    refused = call("verify", "--no-remember", "--replay", cwd=analysed)
    assert (
        refused.code == 1 and "amendment 1 supersedes 1 blocks, but those in which its code gives other" in refused.err
    )


@pytest.mark.slow
def test_episodes_that_an_earlier_amendment_changed_can_be_superseded_later(grid: Path) -> None:
    change(grid, *DEAF_TRACKER)
    amended(grid, "the tracker should not heed messages")
    amended(grid, "and its episodes should be run again", "--supersede")
    assert len(amendment(grid, 2)["superseded"]) == 2 and amendment(grid, 2)["changed"]["harness"] == []
    assert "4 of them new" in run(grid).out
    refused = call("amend", PLAN, "--reason", "and again", "--supersede", cwd=grid)
    assert refused.code == 2 and "nothing has changed since amendment 2" in refused.err
    change(grid, DEAF_TRACKER[0], DEAF_TRACKER[2], DEAF_TRACKER[1])
    amended(grid, "it should heed them after all", "--supersede")  # superseded twice
    run(grid)
    assert "oracle: 4 superseded" in verified(grid).out
    said = analyse(grid)  # the first ones come to the same, those in between do not
    assert "tracker: supported, but contradicted by the episodes of generation 2" in said
    why = "tracker is supported, and contradicted with episode 2 of every slot, or else its last"
    assert f"exploratory: claim it-tracks: {why}" in said and "claim it-does" not in said
    verified(grid, "--replay")
    ok(call("publish", PLAN, cwd=grid))
    [edition] = (grid / "publications").iterdir()
    generations = json.loads((edition / "results.json").read_bytes())["after_amendments"]["generations"]
    tracked = [[one["verdict"] for one in row["verdicts"] if one["hypothesis"] == "tracker"] for row in generations]
    assert tracked == [["supported"], ["contradicted"], ["supported"]]
    assert "Generation k has the k-th episode of every slot" in (edition / "report.html").read_text()
    for more in ((), ("--replay",)):
        ok(call("verify", edition, "--no-remember", *more, cwd=grid))


@pytest.mark.slow
def test_a_sample_that_grows_and_shrinks(grid: Path) -> None:
    change(grid, PLAN, "seed: 0..1", "seed: 0..2")
    change(grid, PLAN, "oracle.x == 4 && oracle.n == 4", "oracle.x == 6 && oracle.n == 6")
    assert "metrics, analysis unchanged" in amended(grid, "more seeds").out
    assert "4 of them new" in run(grid).out
    change(grid, PLAN, "family: [delayed_update, noise]", "family: [noise]")
    change(grid, PLAN, "family: [delayed_update], seed: [100]", "family: [noise], seed: [100]")
    change(grid, PLAN, "oracle.x == 6 && oracle.n == 6", "oracle.x == 3 && oracle.n == 3")
    change(grid, PLAN, "tracker.x == 4 && tracker.n == 4", "tracker.x == 3 && tracker.n == 3")
    amended(grid, "one family")
    out = verified(grid).out
    assert "oracle: 3 dropped by an amendment" in out and "oracle       3         3" in out
    assert [row["n"] for row in ruled(grid).record["effects"]] == [3, 3]


# --- the command ---------------------------------------------------------------------------------------


def test_without_a_reason_or_a_change_it_is_refused_and_nothing_is_written(grid: Path) -> None:
    before = snapshot(grid)
    for arguments, message in (
        ((), "--reason: there is no reason"),
        (("--reason", "why not"), "nothing has changed since the seal"),
        (("--dry-run",), "nothing has changed since the seal"),
        (("--reason", "x", "--withdraw", "all", "--impact"), "--withdraw goes with --reason alone"),
        (("--reason", "x", "--withdraw", "nothing"), "the plan has no claim 'nothing'; it has it-does, it-tracks"),
    ):
        refused = call("amend", PLAN, *arguments, cwd=grid)
        assert refused.code == 2 and message in refused.err
    assert snapshot(grid) == before


def test_a_dry_run_writes_nothing(grid: Path) -> None:
    change(grid, *OTHER_JUDGE)
    before = snapshot(grid)
    out = ok(call("amend", PLAN, "--dry-run", cwd=grid)).out
    assert "nothing was written" in out and "ruling code  worlds/house/judge.py changed" in out
    assert snapshot(grid) == before


def test_json_and_show_say_the_same(grid: Path) -> None:
    change(grid, *FIX)
    planned = json.loads(ok(call("amend", PLAN, "--reason", "a fix", "--dry-run", "--json", cwd=grid)).out)
    said = json.loads(amended(grid, "a fix", "--json").out)
    assert said["amendment"] == amendment(grid) and planned["pin"] is None
    assert {**planned["amendment"], "made_at": ""} == {**said["amendment"], "made_at": ""}
    assert said["unchanged"] == ["hypotheses", "metrics", "analysis", "sample"] and said["differing"] == []
    assert json.loads(ok(call("show", PLAN, "--amendment", "1", "--json", cwd=grid)).out) == amendment(grid)
    shown = ok(call("show", PLAN, "--amendment", "1", cwd=grid)).out
    assert said["pin"] in shown and NOT_SAID in shown and all(f"  {line}" in shown for line in said["diff"])
    assert "A-0001" in ok(call("show", PLAN, cwd=grid)).out and "A-0001" in ok(call("status", PLAN, cwd=grid)).out
    assert call("show", PLAN, "--amendment", "2", cwd=grid).code == 2


@pytest.mark.slow
def test_a_withdrawn_claim_is_withheld(analysed: Path) -> None:
    out = ok(call("amend", PLAN, "--withdraw", "it-tracks", "--reason", "it was luck", cwd=analysed)).out
    assert "withdrawn: it-tracks" in out and "Reason: it was luck" in (analysed / CHANGELOG).read_text()
    refused = call("publish", PLAN, "--dry-run", cwd=analysed)
    assert refused.code == 2 and "a withdrawal or a withheld body came after the last analysis" in refused.err
    assert "withheld: claim it-tracks: withdrawn: it was luck" in analyse(analysed)
    ok(call("amend", PLAN, "--withdraw", "all", "--reason", "all of it", cwd=analysed))
    assert ruled(analysed).claims == {"it-does": "withheld", "it-tracks": "withheld"}
    verified(analysed)


@pytest.mark.slow
def test_an_edition_after_an_amendment_is_built_twice_and_its_bundle_verifies(analysed: Path, tmp_path: Path) -> None:
    change(analysed, *SAME_JUDGE)
    amended(analysed, "the judge's words")
    ok(call("amend", PLAN, "--withdraw", "it-tracks", "--reason", "it was luck", cwd=analysed))
    ruled(analysed)
    first = ok(call("publish", PLAN, cwd=analysed))
    assert "written" in first.out
    editions = snapshot(analysed / "publications")
    ok(call("publish", PLAN, cwd=analysed))
    assert snapshot(analysed / "publications") == editions
    document = json.loads(next(data for name, data in editions.items() if name.endswith("results.json")))
    assert [row["phase"] for row in document["amendments"]] == ["after_analysis"]
    assert document["withdrawn"] == {"it-tracks": "it was luck"}
    bundle = next((analysed / "publications").glob("*/bundle.tar"))
    out = ok(call("verify", bundle, "--no-remember", "--replay", cwd=tmp_path)).out
    assert "was derived again, the same bytes" in out


def test_hands_on_amendments_are_refused_by_verify(grid: Path) -> None:
    change(grid, *FIX)
    amended(grid, "a fix")
    for name, old, new in (
        ("plans/part.A-0001.json", "a fix", "a fox"),
        (CHANGELOG, "a fix", "a fox"),
        ("plans/part.A-0001.manifest.jsonl", '"max_acts":15', '"max_acts":16'),
        ("plans/part.A-0001.source.tar", "# --- mended", "# --- minded"),
    ):
        path = grid / name
        before = path.read_bytes()
        path.write_bytes(before.replace(old.encode(), new.encode(), 1))
        refused = call("verify", "--no-remember", cwd=grid)
        assert refused.code == 1 and (name in refused.err or "part.A-0001.json" in refused.err), refused.err
        path.write_bytes(before)
    verified(grid)
