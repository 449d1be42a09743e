"""The order in which slots are run: drawn from the plan alone, whole blocks at a time."""

from __future__ import annotations

from itertools import groupby

from sealkit.plan.load import open_plan_bytes
from sealkit.plan.schema import Spec
from sealkit.plan.slots import slots
from sealkit.run.order import drawn_slots
from tests.studies import MIDDLE, plan_text


def spec_of(id: str = "part") -> Spec:
    return open_plan_bytes(plan_text(MIDDLE, id=id).encode(), "plans/part.yaml").spec


def test_every_slot_is_run_once() -> None:
    spec = spec_of()
    drawn = [tuple(slot.items()) for slot in drawn_slots(spec, "confirmatory")]
    assert len(drawn) == MIDDLE.slots == len(set(drawn))
    assert sorted(drawn) == sorted(tuple(slot.items()) for slot in slots(spec, "confirmatory"))


def test_the_slots_of_a_block_are_run_one_after_another() -> None:
    blocks = [
        (key, [slot["arm"] for slot in block])
        for key, block in groupby(drawn_slots(spec_of(), "confirmatory"), key=lambda one: (one["family"], one["seed"]))
    ]
    assert len(blocks) == 30 == len({key for key, _ in blocks})
    assert all(sorted(map(str, arms)) == sorted(MIDDLE.arms) for _, arms in blocks)


def test_blocks_and_the_arms_inside_them_are_drawn() -> None:
    drawn = list(drawn_slots(spec_of(), "confirmatory"))
    keys = [key for key, _ in groupby((slot["family"], slot["seed"]) for slot in drawn)]
    assert keys != sorted(keys, key=lambda key: (MIDDLE.families.index(str(key[0])), key[1]))
    firsts = {drawn[start]["arm"] for start in range(0, len(drawn), len(MIDDLE.arms))}
    assert firsts == set(MIDDLE.arms), "every arm comes first in some block"


def test_the_order_hangs_on_the_plan_and_the_stage_and_nothing_else() -> None:
    spec = spec_of()
    once, again = (list(drawn_slots(spec, "confirmatory")) for _ in range(2))
    assert once == again
    assert once != list(drawn_slots(spec_of("another"), "confirmatory"))
    assert [slot["family"] for slot in drawn_slots(spec, "smoke")] == [MIDDLE.families[0]] * 5
    assert list(drawn_slots(spec, "pilot")) == []
