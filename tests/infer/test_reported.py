"""What no rule reads: tests, effects by split, arms by split and reading."""

from __future__ import annotations

from typing import Any

import pytest

from sealkit.plan.slots import Slot
from sealkit.wire.errors import UsageError
from tests.infer.told import MISSING, PAIRED, Outcome, Teller, analysed, pairs_of, small


def rows(plan: Any, outcome: Teller) -> list[dict[str, Any]]:
    record: Any = analysed(plan, outcome).record
    return list(record["reported"])


def by_family(slot: Slot) -> Outcome:
    """In family x every seed favours plus, in z none does, in w the plus arm has no outcome."""
    if slot["family"] == "w" and slot["arm"] == "plus":
        return MISSING
    return {"success": int(slot["arm"] == "plus" and slot["family"] == "x")}


def test_an_effect_is_given_again_in_each_level_of_its_population() -> None:
    plan = small(
        {"e": PAIRED % "tango"},
        families="[x, outside, z, w]",
        seeds=4,
        populations="{all: {family: [x, z, w]}}",
        reported="[{effects: [e], metrics: [success], split: [family]}]",
    )
    found = rows(plan, by_family)
    assert [(row["entry"], row["effect"], row["split"]) for row in found] == [
        (0, "e", {"family": name}) for name in ("x", "z", "w")
    ]
    assert [row.get("estimate") for row in found] == ["1.000000000000", "0.000000000000", None]
    assert found[2]["not_estimable"] == "0 of 4 pairs have a value"
    assert "robustness" not in found[0] and "bounds" not in found[0]


def test_a_stratified_effect_split_by_its_strata_is_plain_in_each() -> None:
    effect = PAIRED[:-1] % "boot" + ", strata: {by: family, weights: {x: 0.9, z: 0.1}}}"
    plan = small(
        {"e": effect},
        families="[x, z]",
        seeds=4,
        reported="[{effects: [e], metrics: [success], split: [family]}]",
    )
    found = rows(plan, lambda slot: {"success": int(slot["arm"] == "plus" and slot["family"] == "x")})
    assert [row["estimate"] for row in found] == ["1.000000000000", "0.000000000000"]


def test_arms_alone_and_by_split() -> None:
    plan = small(
        {"e": PAIRED % "tango"},
        families="[x, z]",
        seeds=4,
        reported="[{arms: all, metrics: [success], split: null, method: wilson},"
        " {arms: [plus], metrics: [success], split: [family], method: wilson}]",
    )
    found = rows(plan, lambda slot: {"success": int(slot["arm"] == "plus" and slot["family"] == "x")})
    assert [(row["arm"], row["split"], row["x"], row["n"]) for row in found] == [
        ("plus", {}, 4, 8), ("minus", {}, 0, 8), ("plus", {"family": "x"}, 4, 4), ("plus", {"family": "z"}, 0, 4),
    ]  # fmt: skip
    assert {row["form"] for row in found} == {"single"} and {row["kind"] for row in found} == {"wilson"}


def test_an_arm_is_given_in_the_readings_that_are_taken_in_it() -> None:
    readings = "{reader: {of: diagnosis, levels: {log: {model: null, arms: [plus]}, text: {model: null, arms: all}}}}"
    effect = (
        "{plus: {arm: plus, reader: log}, minus: {arm: plus, reader: text}, join: [family, seed, fault], "
        "cluster: [family, seed], population: all, method: boot}"
    )
    plan = small(
        {"e": effect},
        metrics={"success": "{kind: binary, better: higher, unit: fault, read_by: reader}"},
        readings=readings,
        seeds=3,
        reported="[{arms: all, metrics: [success], split: [reader], method: wilson}]",
    )

    def outcome(slot: Slot) -> Outcome:
        good = int(slot["seed"] == 0)
        text = {"text": {"a": good, "b": 0}}
        return {"success": text | ({"log": {"a": 1, "b": good}} if slot["arm"] == "plus" else {})}

    found = rows(plan, outcome)
    assert [(row["arm"], row["split"], row["x"], row["n"]) for row in found] == [
        ("plus", {"reader": "log"}, 4, 6), ("plus", {"reader": "text"}, 1, 6), ("minus", {"reader": "text"}, 1, 6),
    ]  # fmt: skip
    assert "not independent" in found[0]["notes"][0]


def test_a_test_that_has_no_pairs_says_so() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=4, reported="[{test: mcnemar_exact, effects: [e], metrics: [success]}]")
    (row,) = rows(plan, lambda slot: MISSING)
    assert "n" not in row and row["not_estimable"]


def test_without_discordant_pairs_p_is_1_and_it_is_noted() -> None:
    plan = small({"e": PAIRED % "tango"}, seeds=4, reported="[{test: mcnemar_exact, effects: [e], metrics: [success]}]")
    (row,) = rows(plan, pairs_of(4, 0, 0, 1))
    assert (row["p"], row["notes"]) == ("1.000000000000", ["0 of 4 discordant"])


def test_a_difference_is_split_in_both_its_parts() -> None:
    text = "{contrast: %s, join: [family, seed], population: all, method: boot}"
    plan = small(
        {"one": text % "a - c", "other": text % "b - c", "e": "{difference: one - other, method: boot}"},
        arms=("a", "b", "c"),
        families="[x, z]",
        seeds=4,
        reported="[{effects: [e], metrics: [success], split: [family]}]",
    )

    def outcome(slot: Slot) -> Outcome:
        return {"success": int(slot["arm"] == ("a" if slot["family"] == "x" else "b") and slot["seed"] != 0)}

    found = rows(plan, outcome)
    assert [row["estimate"] for row in found] == ["0.750000000000", "-0.750000000000"]
    assert [part["n"] for part in found[0]["basis"]] == [4, 4]


def test_a_split_by_what_an_effect_fixes_splits_nothing() -> None:
    effect = (
        "{plus: {arm: plus, family: x}, minus: {arm: plus, family: z}, join: [seed], population: all, method: tango}"
    )
    plan = small(
        {"e": effect},
        families="[x, z]",
        seeds=4,
        reported="[{effects: [e], metrics: [success], split: [family]}]",
    )
    (row,) = rows(plan, lambda slot: {"success": int(slot["family"] == "x")})
    assert (row["split"], row["estimate"]) == ({}, "1.000000000000")


def test_a_test_of_a_ratio_of_sums_is_refused_before_the_seal() -> None:
    metrics = {
        "success": "{kind: ratio, of: tokens, over: acts, better: lower}",
        "tokens": "{kind: count, better: lower}", "acts": "{kind: count, better: lower}",
    }  # fmt: skip
    with pytest.raises(UsageError, match="sign_flip needs a difference in every pair, and success is a ratio of sums"):
        small(
            {"e": PAIRED[:-1] % "boot" + ", metric: success}"},
            metrics=metrics,
            reported="[{test: sign_flip, effects: [e], metrics: [success]}]",
            hypotheses={"h": ("", "e.lower > 0")},
        )


FAULTS = {"success": "{kind: binary, better: higher, unit: fault}", "other": "{kind: binary, better: higher}"}
JOINED = (
    "{contrast: plus - minus, join: [family, seed, fault], cluster: [family, seed], metric: success, population: all,"
    " method: boot}"
)


def by_fault(slot: Slot) -> Outcome:
    """Fault a is found by plus in every seed, b by nobody, c stands in two seeds and both find it."""
    faults = {"b": 0, "a": int(slot["arm"] == "plus")}
    return {"success": {"c": 1, **faults} if slot["seed"] in (0, 1) else faults, "other": 1}


def test_arms_and_effects_are_given_for_each_unit_that_any_episode_showed() -> None:
    plan = small(
        {"e": JOINED},
        metrics=FAULTS,
        seeds=4,
        reported="[{arms: all, metrics: [success, other], split: [fault], method: wilson},"
        " {effects: [e], metrics: [success], split: [fault]}]",
    )
    found = rows(plan, by_fault)
    assert [(row["arm"], row["metric"], row["split"], row["x"], row["n"]) for row in found if "arm" in row] == [
        ("plus", "success", {"fault": "a"}, 4, 4), ("plus", "success", {"fault": "b"}, 0, 4),
        ("plus", "success", {"fault": "c"}, 2, 2), ("minus", "success", {"fault": "a"}, 0, 4),
        ("minus", "success", {"fault": "b"}, 0, 4), ("minus", "success", {"fault": "c"}, 2, 2),
        ("plus", "other", {}, 4, 4), ("minus", "other", {}, 4, 4),
    ]  # fmt: skip
    # One unit an episode is left, so nothing is said of units that hang together.
    assert not any("independent" in note for row in found for note in row.get("notes", ()))
    effects = [row for row in found if "effect" in row]
    assert [(row["split"]["fault"], row["n"], row["b"], row["c"], row["estimate"]) for row in effects] == [
        ("a", 4, 4, 0, "1.000000000000"), ("b", 4, 0, 0, "0.000000000000"), ("c", 2, 0, 0, "0.000000000000"),
    ]  # fmt: skip


def test_a_split_by_a_unit_that_no_metric_of_the_entry_has_is_refused() -> None:
    with pytest.raises(UsageError, match="no factor, reading or unit is called fault"):
        rows(
            small(
                {"e": JOINED},
                metrics=FAULTS,
                reported="[{arms: all, metrics: [other], split: [fault], method: wilson}]",
            ),
            by_fault,
        )
