"""The dry run of `spec/house.md`: what five scripted agents must do on 6 families × seeds 0–9, and beyond."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import House

FAMILIES = ("stale_door", "wrong_start", "delayed_update", "noise", "unobservable", "double_fault")
SUMMED = ("success", "false_completion", "stale", "avoidable_stale", "noise_flip")

# agent: for each of FAMILIES, the sums of SUMMED over seeds 0–9.
EXPECTED = {
    "oracle": ["10 0 0 0 0"] * 6,
    "naive": ["10 0 10 10 0", "0 10 34 14 0", "0 10 38 15 0", "10 0 0 0 0", "0 10 10 0 0", "0 10 37 27 0"],
    "tracker": ["10 0 0 0 0", "10 0 20 0 0", "10 0 23 0 0", "10 0 18 0 10", "0 10 10 0 0", "10 0 10 0 0"],
    "rechecker": ["10 0 0 0 0", "10 0 20 0 0", "10 0 23 0 0", "10 0 0 0 0", "10 0 0 0 0", "10 0 10 0 0"],
}


def summed(house: House, agent: str, family: str, seeds: range) -> tuple[int, ...]:
    total: Counter[str] = Counter()
    for seed in seeds:
        total.update({name: value for name, value in house.judge(*house.play(agent, family, seed)).items() if value})
    return tuple(total[name] for name in SUMMED)


@pytest.mark.parametrize("agent", EXPECTED)
def test_the_dry_run_gives_exactly_these_counts(house: House, agent: str) -> None:
    assert house.world.families == FAMILIES
    found = [summed(house, agent, family, range(10)) for family in FAMILIES]
    assert [" ".join(str(count) for count in counts) for counts in found] == EXPECTED[agent]


def test_the_random_agent_succeeds_nowhere_and_is_the_same_twice(house: House) -> None:
    for family in FAMILIES:
        assert summed(house, "random", family, range(20))[0] == 0
    assert house.play("random", "noise", 4) == house.play("random", "noise", 4)
    endings = {house.play("random", family, seed)[1].closing.ended for family in FAMILIES for seed in range(10)}
    assert endings == {"final", "budget"}


@pytest.mark.parametrize("family", FAMILIES)
def test_fifteen_acts_suffice_for_oracle_and_rechecker(house: House, family: str) -> None:
    assert summed(house, "oracle", family, range(10, 100)) == (90, 0, 0, 0, 0)
    assert summed(house, "rechecker", family, range(10, 100))[:2] == (90, 0)


def test_beyond_the_sealed_seeds_the_tracker_flips_on_every_noise_and_misses_every_return(house: House) -> None:
    assert summed(house, "tracker", "noise", range(10, 60))[4] == 50
    assert summed(house, "tracker", "unobservable", range(10, 60))[:2] == (0, 50)


def test_only_the_oracle_reads_the_truth(house: House) -> None:
    assert {name for name, agent in house.world.agents.items() if agent.reads_truth} == {"oracle"}


def test_every_episode_has_each_measure_and_acts_within_the_budget(house: House) -> None:
    for agent in house.world.agents:
        scenario, episode = house.play(agent, "double_fault", 0)
        measures = house.judge(scenario, episode)
        assert tuple(measures) == house.measures
        assert measures["acts"] == episode.closing.counts.acts <= scenario.max_acts == 15
