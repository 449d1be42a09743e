"""The dry run through the engine: every prediction supported, with the counts that the plan states."""

from __future__ import annotations

from typing import Any

import pytest

from sealkit.plan.load import open_plan
from sealkit.plan.slots import Slot, slots
from sealkit.run.play import play_scripted
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.episode import Episode, Trusted
from sealkit.world.loader import load_judge, load_world, make_scenario
from sealkit.world.witness import open_scenario
from tests.infer.told import ROOT, Outcome, analysed

PLAN = open_plan(ROOT / "plans/dry-run.yaml")
DIGEST = "sha256:" + "0" * 64


@pytest.fixture(scope="module")
def record() -> Any:
    world = load_world(ROOT, "house")
    judge, _ = load_judge(ROOT, "worlds/house/judge")
    params = PLAN.spec.world.params  # type: ignore[union-attr]
    lines: dict[tuple[str, int], bytes] = {}

    def outcome(slot: Slot) -> Outcome:
        family, seed = str(slot["family"]), int(slot["seed"])
        line = lines.setdefault((family, seed), encode_record(make_scenario(world, family, seed, params)))
        scenario = open_scenario(line)
        trusted = Trusted(pin=DIGEST, judge=DIGEST, slot=slot, scenario=line)
        episode = decode_record(play_scripted(world, str(slot["arm"]), trusted), Episode)
        return judge(scenario, episode)

    measured = {str(slot): outcome(slot) for slot in slots(PLAN.spec, "confirmatory")}
    return analysed(PLAN, lambda slot: measured[str(slot)]).record


def test_every_prediction_is_supported_and_hangs_on_nothing(record: Any) -> None:
    assert [(row["hypothesis"], row["verdict"]) for row in record["verdicts"]] == [
        (name, "supported") for name in ("oracle", "naive", "tracker", "rechecker", "random")
    ]
    assert {(row["if_worst"], row["if_best"], row["robustness"]) for row in record["verdicts"]} == {
        ("supported", "supported", None)
    }


def test_the_numbers_are_those_of_the_plan(record: Any) -> None:
    numbers = {row["effect"]: (row.get("x"), row.get("total"), row["n"]) for row in record["effects"]}
    assert numbers == {
        "oracle": (60, None, 60), "oracle_stale": (None, 0, 60), "naive_unheard": (0, None, 40),
        "naive_observed": (20, None, 20), "tracker_unobservable": (10, None, 10), "tracker_noise": (10, None, 10),
        "rechecker": (60, None, 60), "random": (0, None, 60),
    }  # fmt: skip
    wilson = {row["effect"]: (row["lower"], row["upper"]) for row in record["effects"] if "lower" in row}
    assert wilson["oracle"] == ("0.939828147858", "1.000000000000")  # 60 of 60: 60/(60 + z^2)
    assert wilson["random"] == ("0.000000000000", "0.060171852142")


def test_the_report_has_a_row_for_every_arm_and_family(record: Any) -> None:
    assert len(record["reported"]) == 5 * 6 * 5
    assert all("not_estimable" not in row for row in record["reported"])
    nothing_lost = {"drawn_again": {}, "null": [], "null_over_cap": [], "over_cap": []}
    assert record["exclusions"] == {"cap": "0", "imbalance": [], **nothing_lost}
