"""Editions of studies that were amended or withdrawn: told, built again from their bundle, and never in the old one's place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.studies import PLAN, call, ok


def newest(study: Path) -> Path:
    return max((study / "publications").iterdir(), key=lambda folder: (len(folder.name), folder.name))


def results(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_bytes())


@pytest.fixture
def withdrawn(published: Path) -> Path:
    ok(call("amend", PLAN, "--withdraw", "it-does", "--reason", "the world does not stand for it", cwd=published))
    return published


def test_a_withdrawal_needs_a_new_analysis_and_gives_another_edition(
    withdrawn: Path, edition: Path, state: Path
) -> None:
    before = {path.name: path.read_bytes() for path in edition.iterdir()}
    found = call("publish", PLAN, cwd=withdrawn)
    assert found.code == 2 and "came after the last analysis" in found.err
    ok(call("analyse", PLAN, cwd=withdrawn))
    ok(call("publish", PLAN, cwd=withdrawn))
    folder = newest(withdrawn)
    assert folder.name == f"{edition.name}-2"
    assert {path.name: path.read_bytes() for path in edition.iterdir()} == before
    document = results(folder)
    assert document["claims"][0]["status"] == "withheld"
    assert document["withdrawn"] == {"it-does": "the world does not stand for it"}
    assert "Withdrawn, claim it-does: the world does not stand for it" in (folder / "report.html").read_text()
    assert document["methods"].endswith("1 withdrawal was recorded.")
    ok(call("verify", "receipts", cwd=withdrawn))


def test_both_editions_are_built_again_from_their_own_bundles(
    withdrawn: Path, edition: Path, tmp_path: Path, state: Path
) -> None:
    ok(call("analyse", PLAN, cwd=withdrawn))
    ok(call("publish", PLAN, cwd=withdrawn))
    for folder in (edition, newest(withdrawn)):
        alone = Path(shutil.copytree(folder, tmp_path / "stranger" / folder.name))
        assert "was built again from its bundle" in ok(call("verify", alone, "--replay=unsafe", cwd=tmp_path)).out


def test_an_amendment_after_the_look_is_told_and_verified(study: Path, tmp_path: Path, state: Path) -> None:
    plan = study / PLAN
    plan.write_text(plan.read_text().replace("says: the oracle succeeds 4 of 4", "says: the oracle never fails"))
    ok(call("amend", PLAN, "--reason", "the sentence was too bare", cwd=study))
    ok(call("analyse", PLAN, cwd=study))
    said = ok(call("publish", PLAN, cwd=study)).out
    assert "0 of 1 claims stand on what was pinned before the first look, 1 are exploratory" in said
    document = results(newest(study))
    assert [claim["status"] for claim in document["claims"]] == ["exploratory"]
    assert "hypotheses.oracle" in document["claims"][0]["why"]
    page = (newest(study) / "report.html").read_text()
    assert "Claims: exploratory" in page and "Claims: validated" not in page
    ok(call("verify", newest(study), "--replay=unsafe", cwd=tmp_path))


def test_a_claim_that_an_amendment_moved_and_nobody_marked_closes_its_gate(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = study / PLAN
    plan.write_text(plan.read_text().replace("says: the oracle succeeds 4 of 4", "says: the oracle never fails"))
    ok(call("amend", PLAN, "--reason", "the sentence was too bare", cwd=study))
    ok(call("analyse", PLAN, cwd=study))
    monkeypatch.setattr("sealkit.publish.amended._exploratory", lambda *arguments: {})
    found = call("publish", PLAN, cwd=study)
    assert found.code == 1 and "not marked exploratory: it-does (hypotheses.oracle)" in found.out


def test_an_amendment_that_touches_no_claim_is_published_on_its_side_of_the_look(
    study: Path, tmp_path: Path, state: Path
) -> None:
    plan = study / PLAN
    plan.write_text(plan.read_text().replace("title: ", "title: Once more, ", 1))
    ok(call("amend", PLAN, "--reason", "the title was dull", cwd=study))
    ok(call("analyse", PLAN, cwd=study))
    ok(call("publish", PLAN, cwd=study))
    folder = newest(study)
    document = results(folder)
    (row,) = document["amendments"]
    assert (row["number"], row["after_look"], row["reason"]) == (1, True, "the title was dull")
    assert document["claims"][0]["status"] == "supported"
    page = (folder / "report.html").read_text()
    assert "After the first look at outcomes" in page and "the title was dull" in page
    alone = Path(shutil.copytree(folder, tmp_path / "stranger" / folder.name))
    assert "was built again from its bundle" in ok(call("verify", alone, "--replay=unsafe", cwd=tmp_path)).out
