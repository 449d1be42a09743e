"""Every row of the second table of lies: hands on the folder, and what plain `sealkit verify` says to them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studies import ID, PLAN, call, ok
from tests.verify import attacks_in_archive, attacks_on_episodes, attacks_on_files, attacks_on_journal, attacks_on_seal
from tests.verify.attacks_on_journal import older_copy, rewritten
from tests.verify.hands import ATTACKS, Study
from tests.verify.limited import Limited, limited

ROWS = {
    attacks_on_seal.PLAN_ROW, attacks_on_seal.SEALED_ROW, attacks_on_journal.LINES_ROW, attacks_on_journal.TAIL_ROW,
    attacks_on_journal.OLDER_ROW, attacks_on_journal.REWRITTEN_ROW, attacks_on_episodes.ROW, attacks_on_files.ROW, attacks_in_archive.ROW,
}  # fmt: skip
NOTHING = "history anchored by: nothing outside this folder"


@pytest.fixture(scope="module")
def limits() -> Iterator[Limited]:
    with limited() as limits:
        yield limits


def test_every_row_is_attacked() -> None:
    assert {attack.row for attack in ATTACKS.values()} == ROWS


@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_is_refused_and_its_place_named(name: str, study: Path, limits: Limited) -> None:
    attack = ATTACKS[name]
    more = attack.does(Study(study)) or ()
    # Strange files are read with little time and memory; the rest in this process.
    run = limits.call if attack.row == attacks_on_files.ROW else call
    outcome = run("verify", "--no-remember", cwd=study)
    assert outcome.code == 1, outcome.said
    for words in (*attack.says, *more):
        assert words in outcome.said
    assert all(c.isprintable() or c == "\n" for c in outcome.said)
    assert "Traceback" not in outcome.said and "defect" not in outcome.said


def test_without_an_attack_it_holds(study: Path, limits: Limited) -> None:
    for outcome in (call("verify", "--no-remember", cwd=study), limits.call("verify", "--no-remember", cwd=study)):
        assert outcome.code == 0 and NOTHING in outcome.out


# --- held only from outside ------------------------------------------------------------------------


def test_an_older_copy_of_everything_is_accepted_where_nothing_outside_holds_it(study: Path) -> None:
    older_copy(Study(study))
    assert NOTHING in ok(call("verify", "--no-remember", cwd=study)).out


def test_an_older_copy_is_refused_where_this_machine_remembers_a_later_head(study: Path, state: Path) -> None:
    ok(call("verify", cwd=study))
    count = len(Study(study).lines())
    assert "history anchored by: this machine" in ok(call("verify", cwd=study)).out
    older_copy(Study(study))
    refused = call("verify", cwd=study)
    assert refused.code == 1
    assert f"quotes {count} entries, but the journal holds" in refused.err and "this machine" in refused.err


def test_an_older_copy_is_refused_where_the_caller_expects_a_later_head(study: Path) -> None:
    before = older_copy(Study(study))
    refused = call("verify", "--no-remember", "--expect", before, cwd=study)
    assert refused.code == 1 and "--expect quotes" in refused.err and "an older copy was put back" in refused.err


def test_the_head_that_is_expected_anchors_the_history(study: Path) -> None:
    head = Study(study).head_of(5)
    out = ok(call("verify", "--no-remember", "--expect", head, cwd=study)).out
    assert f"history anchored by: --expect (5 of {len(Study(study).lines())} entries)" in out


def test_a_rewritten_journal_is_accepted_where_nothing_outside_holds_it(study: Path) -> None:
    rewritten(Study(study))
    assert NOTHING in ok(call("verify", "--no-remember", cwd=study)).out


def test_a_rewritten_journal_is_refused_where_this_machine_remembers_it(study: Path, state: Path) -> None:
    ok(call("verify", cwd=study))
    rewritten(Study(study))
    refused = call("verify", cwd=study)
    assert refused.code == 1 and "the journal was written anew" in refused.err


def test_a_study_made_anew_is_accepted_and_the_other_seal_told(study: Path, state: Path) -> None:
    ok(call("verify", cwd=study))
    hands = Study(study)
    head = hands.head_of(5)
    hands.edit(hands.plan, "oracle.x == 4", "oracle.x >= 1")
    for path in (hands.seal, hands.manifest, hands.archive):
        path.unlink()
    shutil.rmtree(hands.receipts)
    ok(call("seal", PLAN, cwd=study))
    ok(call("run", PLAN, "--jobs", "1", cwd=study))
    assert NOTHING in ok(call("verify", "--no-remember", cwd=study)).out
    told = ok(call("verify", cwd=study)).out
    assert "this machine has seen another seal of a plan called part" in told
    assert call("verify", "--no-remember", "--expect", head, cwd=study).code == 1
    hands.changelog.write_text(f"head {ID} {head}\n", encoding="utf-8")
    assert call("verify", "--no-remember", cwd=study).code == 1


# --- accepted, and told ------------------------------------------------------------------------------


def test_a_clock_that_goes_back_is_told_and_accepted(study: Path) -> None:
    hands = Study(study)
    entries = hands.entries()
    entries[7]["time"] = "2020-01-01T00:00:00Z"
    hands.rewrite(entries)
    out = ok(call("verify", "--no-remember", cwd=study)).out
    assert "the clock went back before entry 7: order comes from the chain" in out


def test_an_edited_working_tree_is_told_by_verify_and_refused_by_run(sealed: Path) -> None:
    ok(call("run", PLAN, "--smoke", "--jobs", "1", cwd=sealed))
    world = sealed / "worlds" / "house" / "world.py"
    world.write_text(world.read_text(encoding="utf-8") + "\n# a better world\n", encoding="utf-8")
    out = ok(call("verify", "--no-remember", cwd=sealed)).out
    assert "the working tree has moved on since the seal; the sealed bytes were checked, not these. 1 file to " in out
    assert "compare with part.source.tar, the first: worlds/house/world.py was changed" in out
    refused = call("run", PLAN, cwd=sealed)
    assert refused.code == 1 and "worlds/house/world.py was changed" in refused.err


@pytest.mark.parametrize("strange", ["link", "pipe", "gone"])
def test_a_strange_working_tree_is_told(strange: str, study: Path, limits: Limited) -> None:
    path = study / "worlds" / "house" / "judge.py"
    path.unlink()
    if strange == "link":
        path.symlink_to("/etc/passwd")
    elif strange == "pipe":
        os.mkfifo(path)
    out = ok(limits.call("verify", "--no-remember", cwd=study)).out
    assert "the working tree has moved on" in out and "worlds/house/judge.py" in out
