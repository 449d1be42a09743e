"""The greenhouse's judge: pure, from the episode alone."""

from __future__ import annotations

from collections.abc import Mapping

from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Episode
from sealkit.wire.records import Json

MEASURES = ("said_done", "watered")


def judge(scenario: Scenario, episode: Episode) -> Mapping[str, Json]:
    """`said_done`: 1 if the last action was `done`; `watered`: how many acts watered something."""
    watered = sum(act.action.name == "water" and bool(act.delta) for act in episode.acts)
    return {"said_done": int(episode.acts[-1].action.name == "done"), "watered": watered}
