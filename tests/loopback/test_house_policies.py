"""The policies on all 240 slots of plans/v1.yaml, in process: what each makes of the house, and of the hypotheses."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from sealkit.agents.turns import Ask
from sealkit.plan.slots import Slot
from sealkit.wire.canon import decode_record
from sealkit.wire.episode import Episode
from sealkit.wire.records import Json
from sealkit.wire.verdict import Accepted
from sealkit.world.loader import load_verifier
from tests.infer.told import verdicts_of
from tests.loopback.house_policies import POLICIES
from tests.loopback.in_process import ROOT, Study, open_study

WITNESS = load_verifier(ROOT / "verifiers" / "witness")


@pytest.fixture(scope="module")
def study() -> Study:
    return open_study()


@cache
def outcomes(study: Study, policy: str) -> dict[tuple[object, ...], dict[str, Json]]:
    """The measures of every slot; every episode is one that the witness accepts."""
    found = {}
    for slot in study.slots():
        line = study.play(slot, POLICIES[policy])
        assert WITNESS(study.trusted(slot), line) == Accepted()
        found[tuple(slot.values())] = study.measure(slot, line, POLICIES[policy])
    assert len(found) == 240
    return found


def by_arm(study: Study, policy: str, measure: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    for key, measures in outcomes(study, policy).items():
        total[str(key[0])] += measures[measure]  # type: ignore[assignment, operator]
    return dict(total)


# Over all 60 slots of an arm. With notes these are the sums of the scripted agents (tests/house): graded those of
# `naive`, flat and reversed those of `tracker`, careful those of `rechecker`.
SUCCESS = {
    "graded": {"A": 20, "B": 20, "C": 40, "D": 50},
    "flat": {"A": 50, "B": 50, "C": 50, "D": 50},
    "reversed": {"A": 50, "B": 50, "C": 20, "D": 20},
    "careful": {"A": 60, "B": 60, "C": 60, "D": 60},
}
AVOIDABLE = {
    "graded": {"A": 66, "B": 66, "C": 35, "D": 0},
    "flat": {"A": 0, "B": 0, "C": 0, "D": 0},
    "reversed": {"A": 0, "B": 0, "C": 66, "D": 66},
    "careful": {"A": 0, "B": 0, "C": 0, "D": 0},
}
H1 = {"graded": "supported", "flat": "not_shown", "reversed": "contradicted", "careful": "not_shown"}


@pytest.mark.parametrize("policy", POLICIES)
def test_the_arms_come_out_as_the_policy_was_built(study: Study, policy: str) -> None:
    assert by_arm(study, policy, "success") == SUCCESS[policy]
    assert by_arm(study, policy, "avoidable_stale") == AVOIDABLE[policy]


@pytest.mark.parametrize("policy", POLICIES)
def test_h1_is_ruled_as_the_policy_was_built(study: Study, policy: str) -> None:
    got = outcomes(study, policy)
    verdicts = verdicts_of(study.plan, lambda slot: got[tuple(slot.values())])
    assert {name: verdicts[name] for name in ("H1 success", "H1 avoidable_stale")} == {
        "H1 success": H1[policy],
        "H1 avoidable_stale": H1[policy],
    }


def test_an_episode_is_the_same_twice_and_asks_the_same(study: Study) -> None:
    slot: Slot = {"arm": "D", "family": "delayed_update", "seed": 3}
    first, second = list[Ask](), list[Ask]()
    assert study.play(slot, POLICIES["graded"], first) == study.play(slot, POLICIES["graded"], second)
    assert first == second and len(first) > 5


def test_ds_gain_comes_from_blocks_alone(study: Study) -> None:
    blocks: Counter[str] = Counter()
    for slot in study.slots():
        if slot["arm"] in ("C", "D"):
            episode = decode_record(study.play(slot, POLICIES["graded"]), Episode)
            held_back = sum(act.action.args.get("why") == "blocked" for act in episode.acts)
            blocks[str(slot["family"]), slot["arm"]] += held_back  # type: ignore[index]
            if slot["arm"] == "D" and not held_back:
                twin = decode_record(study.play({**slot, "arm": "C"}, POLICIES["graded"]), Episode)
                assert [act.action for act in twin.acts] == [act.action for act in episode.acts]
    # One where the door locked, the target changed, or the reading was false; none where only keys were wrong.
    families = ("stale_door", "delayed_update", "noise", "double_fault")
    assert {key: n for key, n in blocks.items() if n} == {(family, "D"): 10 for family in families}
