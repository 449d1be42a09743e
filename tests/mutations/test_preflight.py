"""The engineering preflight of `spec/universe.md`, fork by fork: an upper bound on what a detector could know."""

from __future__ import annotations

from pathlib import Path

import pytest

from sealkit.wire.canon import encode_value
from tests.mutations.loading import audit, parent, part, policies
from tests.mutations.test_study import load_package_module
from tests.studies import ROOT

# spec/universe.md, "Engineering preflight": forks, then T, L+T, M+T, P+T, W.
TABLE = {
    "M1": (4, 0, 0, 0, 4, 4),
    "M2": (5, 0, 5, 0, 0, 5),
    "M3": (5, 0, 5, 0, 0, 5),
    "M4": (1, 0, 1, 1, 1, 1),
    "M5": (1, 0, 1, 1, 1, 1),
    "M6": (1, 0, 0, 0, 0, 1),
    "M7": (4, 0, 0, 0, 4, 4),
    "M8": (5, 0, 0, 5, 5, 5),
}


@pytest.mark.parametrize("steps", [False, True])
def test_the_table_of_the_preflight(steps: bool) -> None:
    preflight = part("preflight")
    parents = [parent("underwriting", edition, "interrupt_safe", steps=steps) for edition in preflight.EDITIONS]
    forks = preflight.preflight_forks(parents)
    views = {name: policy.view for name, policy in policies().items()}
    table = preflight.visible(forks, views)
    assert {family: tuple(row.values()) for family, row in table.items()} == TABLE
    assert tuple(map(sum, zip(*TABLE.values(), strict=True))) == (26, 0, 12, 7, 15, 26)
    assert len(forks) == 26
    for fork in forks:
        given = fork.parent.trusted.scenario
        assert audit(fork.parent.line, given, fork.line, fork.trusted.scenario, fork.note()) == ()
    for each in parents:  # faithful parents changed: 0
        assert encode_value(each.document) == each.line
        assert {
            name
            for name in preflight.VIEWS.values()
            if views[name](encode_value(each.document)) != views[name](each.line)
        } == set()


def test_who_reads_the_table_reads_what_it_is(tmp_path: Path) -> None:
    """The command's own words, and the page that has them: the label stands above the counts."""
    command = load_package_module("preflight")
    text = command.table()
    assert text.startswith(f"Forks in which the edit is visible: **{part('preflight').LABEL}**")
    assert "an upper bound on what a detector could know, not a detection rate" in text
    for family, row in TABLE.items():
        assert f"| {family} | {' | '.join(map(str, row))} |" in text
    assert text.endswith("| all | 26 | 0 | 12 | 7 | 15 | 26 |")
    assert text in (ROOT / "docs/study-a.md").read_text(encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- preflight -->\nold\n<!-- end of preflight -->\nb\n")
    command.main(["--into", str(page)])
    assert text in page.read_text() and "old" not in page.read_text() and page.read_text().endswith("-->\nb\n")
