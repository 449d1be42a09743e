"""The engineering preflight of `spec/universe.md`, fork by fork: an upper bound on what a detector could know."""

from __future__ import annotations

import pytest

from tests.mutations.loading import audit, parent, part, policies

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
        for view in views.values():
            assert view(each.line) == view(bytes(bytearray(each.line)))


def test_it_is_labelled_as_what_it_is() -> None:
    assert "upper bound" in part("preflight").LABEL
