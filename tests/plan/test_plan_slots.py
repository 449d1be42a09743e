"""Slots, blocks and what effects rest on, against direct counting."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sealkit.plan.load import open_plan
from sealkit.plan.schema import Spec
from sealkit.plan.slots import STAGES, Slot, Stage, basis, blocks, slot_count, slots
from tests.plan.trees import FILES
from tests.studies import ROOT

SPECS = {name: open_plan(path).spec for name, path in FILES.items()}


def keys(found: list[Slot]) -> list[tuple[tuple[str, object], ...]]:
    return [tuple(slot.items()) for slot in found]


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("stage", STAGES)
def test_blocks_hold_every_slot_once(name: str, stage: Stage) -> None:
    spec = SPECS[name]
    listed, blocked = list(slots(spec, stage)), list(blocks(spec, stage))
    assert len(listed) == slot_count(spec, stage)
    assert sorted(map(str, keys(listed))) == sorted(map(str, keys([slot for block in blocked for slot in block])))
    assert len(set(map(str, keys(listed)))) == len(listed)
    by = spec.sample.block_by
    for block in blocked:
        assert len({tuple(slot[factor] for factor in by) for slot in block}) == 1
        assert list(block) == [slot for slot in listed if all(slot[f] == block[0][f] for f in by)], "in plan order"


def test_slots_come_in_plan_order_with_the_last_factor_fastest() -> None:
    listed = list(slots(SPECS["v1"], "confirmatory"))
    assert listed[0] == {"arm": "A", "family": "stale_door", "seed": 0}
    assert listed[1] == {"arm": "A", "family": "stale_door", "seed": 1}
    assert listed[-1] == {"arm": "D", "family": "double_fault", "seed": 9}
    assert len(listed) == 240
    block = next(blocks(SPECS["v1"], "confirmatory"))
    assert [slot["arm"] for slot in block] == ["A", "B", "C", "D"]


def test_repetitions_are_a_factor_only_where_there_are_some() -> None:
    assert all("repetition" not in slot for slot in slots(SPECS["v1"], "confirmatory"))
    listed = list(slots(SPECS["everything"], "confirmatory"))
    assert [slot["repetition"] for slot in listed[:4]] == [0, 1, 2, 0]
    assert list(listed[0]) == ["arm", "family", "seed", "delivery", "model", "repetition"]


def test_smoke_and_pilot_runs_have_seeds_of_their_own() -> None:
    for spec in SPECS.values():
        seeds = {stage: {slot["seed"] for slot in slots(spec, stage)} for stage in STAGES}
        for one, other in pairwise((*STAGES, STAGES[0])):
            assert not seeds[one] & seeds[other]


def pairs_by_hand(spec: Spec, effect: str, plus: Slot, minus: Slot) -> int:
    """Keys of the join that stand on both sides, among the slots of the population."""
    declared = spec.effects[effect]
    join, population = declared.join, spec.populations[declared.population]  # type: ignore[union-attr]

    def side(fixed: Slot) -> set[tuple[object, ...]]:
        return {
            tuple(slot[factor] for factor in join)
            for slot in slots(spec, "confirmatory")
            if all(slot[name] == level for name, level in fixed.items())
            and all(picked == "all" or slot[name] in picked for name, picked in population.items())
        }

    return len(side(plus) & side(minus))


@pytest.mark.parametrize(
    ("name", "effect", "metric", "plus", "minus"),
    [
        ("v1", "dc", "success", {"arm": "D"}, {"arm": "C"}),
        ("v1", "gains", "success", {"arm": "D"}, {"arm": "A"}),
        ("everything", "own", "rate", {"arm": "own"}, {"arm": "base"}),
        ("everything", "strata", "rate", {"arm": "own"}, {"arm": "base"}),
        ("everything", "models", "rate", {"arm": "own", "model": "large"}, {"arm": "own", "model": "small"}),
    ],
)
def test_pairs_are_counted_as_they_will_be_joined(name: str, effect: str, metric: str, plus: Slot, minus: Slot) -> None:
    assert basis(SPECS[name], effect, metric).count == pairs_by_hand(SPECS[name], effect, plus, minus) > 0


def test_families_are_paired_within_one_arm() -> None:
    spec = open_plan(ROOT / "plans" / "study-b.yaml").spec
    sides: tuple[Slot, Slot] = ({"arm": "json", "family": "ladder-a3-inbox"}, {"arm": "json", "family": "undisturbed"})
    assert basis(spec, "json_a3_inbox", "passed").count == pairs_by_hand(spec, "json_a3_inbox", *sides) == 3 * 2


def test_single_effects_count_cells_and_differences_both_effects() -> None:
    spec = SPECS["everything"]
    assert basis(spec, "alone", "solved").count == 3 * 7 * 2
    assert basis(spec, "change", "rate").count == basis(spec, "own", "rate").count + basis(spec, "models", "rate").count
    assert basis(SPECS["dry-run"], "naive_unheard", "success").count == 40
