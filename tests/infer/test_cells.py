"""What is known of a slot: an outcome, none, set aside, failed; told in any order, and once."""

from __future__ import annotations

import pytest

from sealkit.infer.cells import ELSEWHERE, FAILED, KNOWN, MISSING, SET_ASIDE, Cells
from sealkit.wire.errors import MalformedError
from tests.infer.told import PAIRED, small

SLOT = {"arm": "minus", "family": "x", "seed": 1}


def cells_of(**endings: str) -> Cells:
    return Cells(small({"e": PAIRED % "boot"}, seeds=2, endings=endings).spec)


def state(cells: Cells) -> int:
    return cells.states[cells.grid.number(SLOT)]


def test_a_slot_that_nothing_is_told_of_is_missing() -> None:
    assert state(cells_of()) == MISSING


@pytest.mark.parametrize(
    ("ended", "meaning", "found"),
    [
        ("final", None, KNOWN), ("budget", "failure", KNOWN), ("budget", "missing", MISSING),
        ("agent_stopped", "failure", KNOWN), ("agent_stopped", "missing", MISSING), ("refusal", "uses_turn", KNOWN),
    ],
)  # fmt: skip
def test_an_episode_counts_as_its_ending_means(ended: str, meaning: str | None, found: int) -> None:
    ending = "budget_exhausted" if ended == "budget" else ended
    cells = cells_of(**({ending: meaning} if meaning else {}))
    cells.admit(SLOT, {"success": 1}, ended=ended, acts=3, pin=0)
    assert state(cells) == found


def test_an_ending_that_the_plan_does_not_name_is_refused() -> None:
    with pytest.raises(MalformedError, match="'got_bored', to which the plan gives no meaning"):
        cells_of().admit(SLOT, {"success": 1}, ended="got_bored", acts=3, pin=0)


@pytest.mark.parametrize(("meaning", "found"), [("missing", MISSING), ("failure", FAILED)])
def test_a_slot_without_an_episode_counts_as_its_last_ending_means(meaning: str, found: int) -> None:
    cells = cells_of(provider_error=meaning)
    cells.fail(SLOT, "provider_error", pin=0)
    assert state(cells) == found


def test_an_episode_that_was_not_admitted_is_set_aside() -> None:
    cells = cells_of()
    cells.set_aside(SLOT, pin=0)
    assert state(cells) == SET_ASIDE


def test_a_slot_has_one_outcome() -> None:
    cells = cells_of()
    cells.set_aside(SLOT, pin=0)
    with pytest.raises(MalformedError, match="'seed': 1} has two outcomes"):
        cells.admit(SLOT, {"success": 1}, ended="final", acts=3, pin=0)


@pytest.mark.parametrize("slot", [{"arm": "minus", "family": "x", "seed": 7}, {"arm": "minus"}, {**SLOT, "more": 1}])
def test_a_slot_that_the_plan_does_not_have_is_refused(slot: dict[str, int | str]) -> None:
    with pytest.raises(MalformedError, match="the plan has no slot"):
        cells_of().set_aside(slot, pin=0)


def test_under_a_pin_only_its_own_slots_count() -> None:
    cells = cells_of()
    other = {**SLOT, "arm": "plus"}
    cells.admit(SLOT, {"success": 1}, ended="final", acts=3, pin=0)
    cells.admit(other, {"success": 0}, ended="final", acts=3, pin=1)
    assert [cells.under(pin).states[cells.grid.number(SLOT)] for pin in (0, 1)] == [KNOWN, ELSEWHERE]
    assert [cells.under(pin).states[cells.grid.number(other)] for pin in (0, 1)] == [ELSEWHERE, KNOWN]
    assert state(cells) == KNOWN


@pytest.mark.parametrize("pin", [0, 1])
def test_a_failed_slot_counts_under_the_pin_of_its_last_attempt_and_no_other(pin: int) -> None:
    cells = cells_of(provider_error="failure")
    cells.fail(SLOT, "provider_error", pin=pin)
    assert state(cells.under(pin)) == FAILED
    assert state(cells.under(1 - pin)) == ELSEWHERE


def test_what_is_refused_leaves_the_slot_as_it_was() -> None:
    cells = cells_of()
    with pytest.raises(MalformedError, match="due 0 or 1"):
        cells.admit(SLOT, {"success": 2}, ended="final", acts=3, pin=1)
    cells.set_aside(SLOT, pin=0)
    assert state(cells) == SET_ASIDE and not any(name for name, column in cells.overhead() if (column > 0).any())
