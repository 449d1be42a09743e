"""Editions: the same bytes whenever they are built, never over another, and only through open gates."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sealkit.seal.journal import Journal
from sealkit.wire.events import Analysed
from tests.seal.journals import NOW
from tests.studies import ID, PLAN, call, ok

FILES = ("bundle.tar", "report.html", "report.md", "results.json")


def kinds(study: Path) -> list[str]:
    """The kinds of the journal's entries, in order."""
    lines = (study / "receipts" / ID / "journal.jsonl").read_bytes().splitlines()
    return [json.loads(line)["event"]["kind"] for line in lines]


def results(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_bytes())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_an_edition_built_twice_has_the_same_bytes(run_once: Path, tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        study = Path(shutil.copytree(run_once, tmp_path / name / "study"))
        ok(call("publish", PLAN, cwd=study))
        (folder,) = (study / "publications").iterdir()
        found.append((folder.name, contents(folder)))
    assert found[0] == found[1]
    assert tuple(found[0][1]) == FILES


def test_publishing_again_compares_and_leaves_what_is_there(published: Path, edition: Path) -> None:
    before = contents(edition)
    said = ok(call("publish", PLAN, cwd=published)).out
    assert "there already, the same bytes" in said
    assert contents(edition) == before
    assert kinds(published).count("published") == 1
    assert kinds(published)[-1] == "looked"  # who publishes sees the claims


@pytest.mark.parametrize("name", FILES)
def test_an_edited_file_is_named_and_never_written_over(published: Path, edition: Path, name: str) -> None:
    edited = (edition / name).read_bytes().replace(b"part", b"Part", 1)
    assert edited != (edition / name).read_bytes()
    (edition / name).write_bytes(edited)
    found = call("publish", PLAN, cwd=published)
    assert found.code == 1 and f"{name}: differs from the edition built now" in found.said
    assert (edition / name).read_bytes() == edited


def test_nothing_is_written_beside_an_edited_file(published: Path, edition: Path) -> None:
    (edition / "results.json").unlink()
    (edition / "report.md").write_text("mine")
    assert call("publish", PLAN, cwd=published).code == 1
    assert not (edition / "results.json").exists()


def test_what_a_crash_left_out_is_completed(published: Path, edition: Path, run_once: Path, tmp_path: Path) -> None:
    whole = contents(edition)
    (edition / "bundle.tar").unlink()
    ok(call("publish", PLAN, cwd=published))
    assert contents(edition) == whole
    unrecorded = Path(shutil.copytree(run_once, tmp_path / "unrecorded"))  # files written, and then a crash
    shutil.copytree(edition, unrecorded / "publications" / edition.name)
    ok(call("publish", PLAN, cwd=unrecorded))
    assert kinds(unrecorded)[-1] == "published"


def test_a_dry_run_writes_no_edition(study: Path) -> None:
    ok(call("publish", PLAN, "--dry-run", cwd=study))
    assert not (study / "publications").exists()
    assert kinds(study)[-1] == "looked"


def test_nothing_is_published_before_the_analysis(sealed: Path) -> None:
    found = call("publish", PLAN, cwd=sealed)
    assert found.code == 2 and "there is no analysis to publish" in found.said


def test_a_closed_gate_is_named_and_holds_every_claim_back(study: Path) -> None:
    journal = Journal.open(study / "receipts" / ID, inside=study)
    journal.append(Analysed(results="sha256:" + "0" * 64), now=NOW)  # other results than these files give
    found = call("publish", PLAN, cwd=study)
    assert found.code == 1 and "not published: a gate is closed" in found.out
    assert not (study / "publications").exists()
    said = json.loads(call("publish", PLAN, "--json", cwd=study).out)
    assert {gate["gate"]: gate["open"] for gate in said["gates"]}["files_verify"] is False
    assert [claim["status"] for claim in said["claims"]] == ["withheld"]
    ledger = json.loads(ok(call("claims", PLAN, "--json", cwd=study)).out)
    assert ledger["claims"][0]["why"] == "a gate is closed: files_verify"


def test_too_many_exclusions_hold_claims_back_and_the_edition_says_so(held: Path) -> None:
    (folder,) = (held / "publications").iterdir()
    document = results(folder)
    assert document["analysis"]["exclusions"]["over_cap"] == ["tracker"]
    assert document["analysis"]["flow"]["tracker"]["excluded"] == {"boundary": 4}
    (claim,) = document["claims"]
    assert (claim["status"], claim["needs"][0]["found"]) == ("withheld", "supported")
    assert claim["why"] == "more slots are without an outcome than the plan's exclusion cap allows, in tracker"
    assert all(gate["open"] for gate in document["gates"])
    page = (folder / "report.html").read_text()
    assert "Claims: withheld" in page and "Claims: validated instrument behaviour" not in page
    assert "exceeded in tracker: claims are withheld" in page


def test_an_edition_says_what_it_stands_on(edition: Path) -> None:
    document = results(edition)
    assert (document["type"], document["edition"]) == ("sealkit/edition/v2", edition.name)
    assert document["study"]["slots"] == document["study"]["admitted"] == 8
    assert [gate["open"] for gate in document["gates"]] == [True] * 5
    assert [gate["gate"] for gate in document["gates_not_asked"]] == [
        "baselines_conform", "forks_isolated", "false_rejection_acceptable"
    ]  # fmt: skip
    assert document["claims"][0]["status"] == "supported"
    assert len(document["does_not_prove"]) == 6


# --- the ledger ----------------------------------------------------------------------------------


def test_before_the_analysis_every_claim_is_unmeasured_and_nobody_looked(sealed: Path) -> None:
    before = kinds(sealed)
    said = json.loads(ok(call("claims", PLAN, "--json", cwd=sealed)).out)
    assert (said["looked"], said["claims"][0]["status"]) == (False, "unmeasured")
    assert said["claims"][0]["needs"][0]["found"] is None
    assert kinds(sealed) == before
    assert "before any analysis" in ok(call("claims", PLAN, cwd=sealed)).out


def test_after_it_the_ledger_is_a_look(study: Path) -> None:
    before = kinds(study)
    said = ok(call("claims", PLAN, cwd=study)).out
    assert "supported: it-does (instrument)" in said
    assert kinds(study) == [*before, "looked"]
    last = json.loads((study / "receipts" / ID / "journal.jsonl").read_bytes().splitlines()[-1])
    assert last["event"]["what"] == "claims"
    ok(call("publish", PLAN, cwd=study))  # a look changes no edition


def test_a_plan_that_is_not_sealed_has_a_ledger_too(sealed: Path) -> None:
    for path in (sealed / "plans").glob("part.*"):
        if path.suffix != ".yaml":
            path.unlink()
    assert "unmeasured: it-does" in ok(call("claims", PLAN, cwd=sealed)).out
