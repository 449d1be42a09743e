"""What a judge may give, and what is refused: a broken judge is no result."""

from __future__ import annotations

import pytest

from sealkit.infer.cells import Cells
from sealkit.infer.columns import NULL
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Json
from tests.infer.told import PAIRED, house, small

KINDS = {
    "binary": "{kind: binary, better: higher}",
    "count": "{kind: count, better: higher}",
    "score": "{kind: score, better: higher, range: [-0.4, 1], step: 0.2}",
    "duration": "{kind: duration, better: higher, censored: {kind: left_out}}",
    "capped": "{kind: duration, better: lower, censored: {kind: counts_as, value: 15}}",
}
SLOT = {"arm": "plus", "family": "x", "seed": 0}


def kept(kind: str, value: Json) -> int:
    plan = small({"e": PAIRED % "boot"}, metrics={"m": KINDS[kind]}, seeds=2)
    cells = Cells(plan.spec)
    cells.admit(SLOT, {"m": value}, ended="final", acts=1, pin=0)
    return int(cells.column("m", None).all()[cells.grid.number(SLOT)])


@pytest.mark.parametrize(
    ("kind", "value", "number"),
    [
        ("binary", 0, 0), ("binary", 1, 1), ("binary", "1", 1), ("binary", "1.000", 1), ("binary", None, NULL),
        ("count", 0, 0), ("count", 2**53 - 1, 2**53 - 1), ("count", "7", 7),
        ("score", "-0.4", -2), ("score", "0.60", 3), ("score", 1, 5), ("score", 0, 0),
        ("duration", 3, 3), ("duration", None, NULL), ("capped", None, 15), ("capped", 15, 15),
    ],
)  # fmt: skip
def test_kept(kind: str, value: Json, number: int) -> None:
    assert kept(kind, value) == number


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("binary", 2, "due 0 or 1"), ("binary", -1, "due 0 or 1"), ("binary", "0.5", "due 0 or 1"),
        ("binary", True, "found True"), ("binary", "NaN", "found 'NaN'"), ("binary", "nan", "found 'nan'"),
        ("count", float("nan"), "found nan"), ("count", float("inf"), "found inf"), ("count", 1.0, "found 1.0"),
        ("count", "Infinity", "found 'Infinity'"), ("count", "1/3", "found '1/3'"), ("count", "1e3", "found '1e3'"),
        ("count", " 1", "found ' 1'"), ("count", "\u0661", "found '\u0661'"), ("count", "", "found ''"),
        ("count", -1, "from 0 on"), ("count", "0.5", "from 0 on"), ("count", 2**53, "2^53"), ("count", [1], "found"),
        ("count", {"a": 1}, "found"), ("duration", -1, "from 0 on"), ("capped", 16, "at most 15"), ("score", "0.5", "in steps of"),
        ("score", "1.2", "in steps of"), ("score", "-0.6", "in steps of"),
    ],
)  # fmt: skip
def test_refused_with_the_slot_and_the_measure_named(kind: str, value: Json, found: str) -> None:
    with pytest.raises(MalformedError) as caught:
        kept(kind, value)
    assert found in str(caught.value)
    assert "'seed': 0" in str(caught.value) and ": m" in caught.value.where


def test_a_measure_that_the_judge_does_not_give_is_named_beside_those_that_it_gives() -> None:
    plan = small({"e": PAIRED % "boot"}, seeds=2)
    with pytest.raises(MalformedError, match="found no measure success, only acts, stale"):
        Cells(plan.spec).admit(SLOT, {"stale": 1, "acts": 2}, ended="final", acts=1, pin=0)


GIVEN: dict[str, Json] = {
    "success": 1, "avoidable_stale": 0, "false_completion": 0, "stale": 0, "correction_latency": None,
    "named_and_timed": {"structured": {"f1": 1}, "rule": None, "transcript": None},
    "named": {"structured": None, "rule": None, "transcript": None},
    "extra_faults": {"rule": 2, "structured": None, "transcript": 0}, "input_tokens": 1, "output_tokens": 1, "acts": 3,
}  # fmt: skip
NONE: dict[str, Json] = {"transcript": None, "structured": None, "rule": None}
B0 = {"arm": "B", "family": "noise", "seed": 0}


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("named_and_timed", 1, "a value for each level of reader"),
        (
            "named_and_timed",
            NONE | {"expert": {"f1": 1}},
            "found the reading expert, due one of transcript, structured, rule",
        ),
        ("named_and_timed", NONE | {"rule": 1}, "a value for each fault"),
        ("named_and_timed", NONE | {"rule": {"f1": 2}}, "due 0 or 1"),
        ("extra_faults", NONE | {"rule": {"f1": 2}}, "due an integer"),
    ],
)
def test_readings_and_units_have_their_shape(name: str, value: Json, found: str) -> None:
    with pytest.raises(MalformedError, match=found):
        Cells(house().spec).admit(B0, GIVEN | {name: value}, ended="final", acts=1, pin=0)


def test_no_unit_at_all_is_no_row() -> None:
    cells = Cells(house().spec)
    cells.admit(B0, GIVEN | {"named": NONE | {"structured": {}}}, ended="final", acts=1, pin=0)
    assert not len(cells.ragged("named", "rule").slot) and not len(cells.ragged("named", "structured").slot)
    assert cells.ragged("named_and_timed", "structured").value.all().tolist() == [1]


@pytest.mark.parametrize(
    ("arm", "level", "due"),
    [
        ("B", "structured", True),
        ("B", "transcript", True),
        ("C", "rule", True),
        ("C", "transcript", False),
        ("A", "rule", False),
    ],
)
def test_a_reading_that_the_plan_takes_in_the_arm_is_due_from_the_judge(arm: str, level: str, due: bool) -> None:
    """v1 takes transcript in A and B, structured and rule in B, C and D; "does not apply" is null, never silence."""
    cells, slot = Cells(house().spec), {**B0, "arm": arm}
    given = {name: value for name, value in NONE.items() if name != level}
    if due:
        with pytest.raises(
            MalformedError, match=f"found no {level}, a reader that the plan takes in arm {arm}"
        ) as caught:
            cells.admit(slot, GIVEN | {"named": given}, ended="final", acts=1, pin=0)
        assert "'seed': 0" in caught.value.where and "named" in caught.value.where
    else:
        cells.admit(slot, GIVEN | {"named": given}, ended="final", acts=1, pin=0)


def test_a_count_above_the_largest_that_the_plan_declares_is_refused() -> None:
    plan = small({"e": PAIRED % "boot"}, metrics={"success": "{kind: count, better: lower, most: 15}"}, seeds=2)
    Cells(plan.spec).admit(SLOT, {"success": 15}, ended="final", acts=1, pin=0)
    with pytest.raises(MalformedError, match="found 16, and the plan says that it has at most 15"):
        Cells(plan.spec).admit(SLOT, {"success": 16}, ended="final", acts=1, pin=0)
