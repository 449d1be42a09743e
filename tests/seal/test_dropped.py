"""A slot that had its episode when an amendment dropped it does not come back: it would be drawn again."""

from __future__ import annotations

import pytest

from sealkit.plan.load import open_plan_bytes
from sealkit.plan.schema import Spec
from sealkit.plan.slots import Stage
from sealkit.seal.dropped import Dropped
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Amended, EpisodeKept, Slot
from tests.studies import SMALL, plan_text

PIN = digest_bytes(b"pin")


def plan(seeds: str, arm: str = "tracker") -> Spec:
    text = plan_text(SMALL).replace("seed: 0..1", f"seed: {seeds}").replace("    tracker: {role", f"    {arm}: {{role")
    text = text.replace("{arm: tracker}", f"{{arm: {arm}}}").replace(".x == 4", ".x > 1")
    for name in ("oracle", "tracker"):
        text = text.replace(f" && {name}.n == 4", "").replace(f"{name}.x < {name}.n", f"{name}.x < 1")
    return open_plan_bytes(text.encode(), "plans/part.yaml").spec


BOTH, FEW, MORE, RENAMED = plan("0..1"), plan("[0]"), plan("0..2"), plan("0..1", "follower")


def kept(seed: int, arm: str = "tracker", *, smoke: bool = False) -> EpisodeKept:
    slot: Slot = {"arm": arm, "family": "noise", "seed": seed}
    stage: Stage = "smoke" if smoke else "confirmatory"
    return EpisodeKept(stage=stage, slot=slot, attempt=1, pin=PIN, bytes=1, digest=PIN, calls=None)


def followed(*plans: Spec, episodes: tuple[EpisodeKept, ...]) -> Dropped:
    dropped = Dropped(plans)
    for event in episodes:
        dropped.follow(event, "entry")
    for number in range(1, len(plans)):
        dropped.follow(Amended(number=number, pin=PIN, phase="after_first_episode"), f"entry of {number}")
    return dropped


def test_dropped_slots_with_an_episode_are_those_that_cannot_return() -> None:
    dropped = followed(BOTH, FEW, episodes=(kept(0), kept(1), kept(1, smoke=True)))
    assert [(group.amendment, group.slots) for group in dropped.groups] == [(1, (kept(1).slot,))]
    assert list(dropped.returning(BOTH)) == list(dropped.returning(MORE)) == [(kept(1).slot, 1)]
    assert not list(dropped.returning(FEW)) and not list(dropped.returning(plan("[0, 5]")))


@pytest.mark.parametrize(
    ("plans", "episodes"),
    [
        ((BOTH, FEW, BOTH), (kept(1),)),
        ((BOTH, FEW, FEW, MORE), (kept(1),)),  # however many amendments lie between
        ((BOTH, RENAMED, BOTH), (kept(0),)),  # nor behind an arm of another name
    ],
)
def test_a_chain_of_pins_that_puts_one_back_is_refused(
    plans: tuple[Spec, ...], episodes: tuple[EpisodeKept, ...]
) -> None:
    with pytest.raises(UntrustedError, match=r"puts back slot .*, which had its episode when amendment 1 dropped it"):
        followed(*plans, episodes=episodes)


def test_slots_without_an_episode_come_and_go() -> None:
    assert followed(BOTH, FEW, BOTH, episodes=(kept(0), kept(1, smoke=True))).groups == ()
