"""docs/study-b.md: its tables are those of the committed edition, and what is unmeasured says so."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from sealkit.plan.load import open_plan
from tests.studies import ROOT

PAGE = ROOT / "docs" / "study-b.md"


def shown(name: str) -> str:
    """What stands between two comments of the page."""
    return (
        PAGE.read_text(encoding="utf-8")
        .partition(f"<!-- {name} -->\n")[2]
        .partition(f"<!-- end of {name} -->")[0]
        .strip()
    )


def printed(results: Path) -> str:
    """What the command prints of an edition."""
    found = importlib.util.spec_from_file_location("study_b_tables", ROOT / "harness" / "study_b_tables.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return "\n\n".join(module.tables(json.loads(results.read_bytes())))


def test_the_local_tables_are_those_of_the_edition_beside_them() -> None:
    (edition,) = (ROOT / "publications").glob("study-b-local-*")
    assert shown("local") == f"From `{edition.name}`.\n\n{printed(edition / 'results.json')}"


def test_each_part_has_its_tables() -> None:
    assert shown("scripted").startswith("From `study-b-scripted-") and "Verdicts: supported 32." in shown("scripted")
    assert shown("rehearsed").startswith("From `study-b-loopback-") and "| json | 3 of 62 | 63 of 63 |" in shown(
        "rehearsed"
    )


def test_every_hypothesis_and_claim_of_the_models_is_unmeasured_and_withheld() -> None:
    spec = open_plan(ROOT / "plans" / "study-b.yaml").spec
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if ": withheld" in line]
    assert [row[0] for row in rows] == list(spec.hypotheses)
    assert [row[-1] for row in rows] == [f"{name}: withheld" for name in spec.claims]
    assert all(row[1:-1] == ["unmeasured"] * 5 for row in rows)
