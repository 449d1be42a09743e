"""plans/v1.yaml on synthetic data: for each of its hypotheses a data set for each verdict that it can give."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from sealkit.infer.verdicts import NOT_ESTIMABLE
from sealkit.plan.questions import questions
from sealkit.plan.slots import Slot
from sealkit.wire.records import Json
from tests.infer.told import EXCLUDED, MISSING, Outcome, Teller, house, verdicts_of

V1 = house()
FAMILIES = ("stale_door", "wrong_start", "delayed_update", "noise", "unobservable", "double_fault")
CHANGE = tuple(name for name in FAMILIES if name != "noise")
READERS = {"A": ("transcript",), "B": ("transcript", "structured", "rule"), "C": ("structured", "rule"),
           "D": ("structured", "rule")}  # fmt: skip
Good = Callable[[Slot], bool]


def place(slot: Slot) -> int:
    """0 to 49 for the slots of the change families, 50 to 59 for noise."""
    family = (*CHANGE, "noise").index(str(slot["family"]))
    return 10 * family + int(slot["seed"])


def study(
    good: Mapping[str, Good], *, named: Mapping[str, Good] | None = None, lost: Mapping[str, str] | None = None
) -> Teller:
    """Every episode is good (a success, without stale actions) or not; `named` says which faults a reader names.

    `lost` gives an arm, or an arm and family, of which no episode has an outcome.
    """
    named, lost = named or {}, lost or {}

    def outcome(slot: Slot) -> Outcome:
        arm = str(slot["arm"])
        for key in (arm, f"{arm} {slot['family']}"):
            if key in lost:
                return lost[key]
        success = int(good[arm](slot))
        faults = ("f1", "f2") if slot["family"] == "double_fault" else () if slot["family"] == "noise" else ("f1",)
        read: dict[str, Json] = {
            reader: {fault: int(named.get(reader, lambda slot: True)(slot)) for fault in faults}
            for reader in READERS[arm]
        }
        return {
            "success": success, "avoidable_stale": 2 * (1 - success), "false_completion": 0, "stale": 3 * (1 - success),
            "correction_latency": 1, "named_and_timed": read, "named": read,
            "extra_faults": dict.fromkeys(READERS[arm], 0), "input_tokens": 10, "output_tokens": 1, "acts": 9,
        }  # fmt: skip

    return outcome


def first(count: int) -> Good:
    return lambda slot: place(slot) < count


def arms(a: int, c: int, d: int, *, b: int | None = None) -> dict[str, Good]:
    """The first so many slots are good in each arm; B is as A unless said otherwise."""
    return {"A": first(a), "B": first(a if b is None else b), "C": first(c), "D": first(d)}


H1 = {
    "supported": study(arms(10, 25, 40)),
    "partly": study(arms(10, 12, 40)),  # D beats C; C is ahead of A by 2 pairs alone, and the interval ends at 0
    "contradicted": study(arms(10, 30, 12)),  # C beats A, and D loses to C: the first rule that holds
    "not_shown": study(arms(10, 10, 40)),  # D beats C; C is no better than A at all
    NOT_ESTIMABLE: study(arms(10, 25, 40), lost={"C": MISSING}),
}


@pytest.mark.parametrize("metric", ["success", "avoidable_stale"])
@pytest.mark.parametrize("verdict", H1)
def test_h1_comes_to_every_verdict(verdict: str, metric: str) -> None:
    assert verdicts_of(V1, H1[verdict])[f"H1 {metric}"] == verdict


def test_the_other_half_of_partly_is_reached_too() -> None:
    assert verdicts_of(V1, study(arms(10, 30, 32)))["H1 success"] == "partly"


def test_one_interval_the_wrong_way_contradicts_whichever_it_is() -> None:
    assert verdicts_of(V1, study(arms(30, 12, 40)))["H1 success"] == "contradicted"


def half(slot: Slot) -> bool:
    return place(slot) % 2 == 0


H2 = {
    "supported": study(arms(20, 20, 20), named={"transcript": half}),
    "not_shown": study(arms(20, 20, 20)),  # the log adds nothing to what the transcript shows
    NOT_ESTIMABLE: study(arms(20, 20, 20), named={"transcript": half}, lost={"B": EXCLUDED}),
}


@pytest.mark.parametrize("verdict", H2)
def test_h2_comes_to_every_verdict(verdict: str) -> None:
    assert verdicts_of(V1, H2[verdict])["H2"] == verdict


def test_h2_is_not_shown_when_the_log_that_nobody_sees_changes_the_task() -> None:
    assert verdicts_of(V1, study(arms(10, 20, 20, b=30), named={"transcript": half}))["H2"] == "not_shown"


def in_families(*names: str) -> Good:
    return lambda slot: slot["family"] in names and int(slot["seed"]) < 8


def h3(*families: str) -> dict[str, Good]:
    """D succeeds in these families, the others nowhere."""
    return arms(0, 0, 0) | {"D": in_families(*families)}


H3 = {
    "supported": study(h3("stale_door", "delayed_update", "double_fault")),
    "not_shown": study(h3("stale_door", "delayed_update", "double_fault", "noise")),  # as large under noise
    NOT_ESTIMABLE: study(h3("stale_door"), lost={"D noise": MISSING}),
}


@pytest.mark.parametrize("metric", ["success", "avoidable_stale"])
@pytest.mark.parametrize("verdict", H3)
def test_h3_comes_to_every_verdict(verdict: str, metric: str) -> None:
    assert verdicts_of(V1, H3[verdict])[f"H3 {metric}"] == verdict


def test_these_are_all_the_verdicts_that_the_plan_can_give() -> None:
    for name, data in (("H1", H1), ("H2", H2), ("H3", H3)):
        for question in questions(V1.spec, name):
            assert {*question.verdicts, NOT_ESTIMABLE} == set(data)


def test_losing_one_arm_leaves_the_hypotheses_that_do_not_need_it() -> None:
    found = verdicts_of(V1, study(arms(10, 25, 40), named={"transcript": half}, lost={"C": MISSING}))
    assert found["H1 success"] == NOT_ESTIMABLE
    assert found["H2"] == "supported"
