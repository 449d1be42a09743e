"""What the house's texts state, read off the text alone, compared with the facts behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sealkit.wire.episode import Fact, Notice
from sealkit.world.beliefs import Statement
from sealkit.world.sdk import words_of

if TYPE_CHECKING:
    from .conftest import House

FAMILIES = ("stale_door", "wrong_start", "delayed_update", "noise", "unobservable", "double_fault")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("agent", ["tracker", "random"])
def test_statements_are_the_facts_behind_the_text(house: House, family: str, agent: str) -> None:
    words = house.part("words")
    for seed in range(5):
        scenario, episode = house.play(agent, family, seed)
        for act in episode.acts:
            said = set(words.observe(scenario.briefing, words_of(act.segments)))
            facts = {fact.pointer: str(fact.value) for fact in act.segments if isinstance(fact, Fact)}
            doors = {
                Statement(f"door {pointer.split('/')[2]}", value)
                for pointer, value in facts.items()
                if pointer.startswith("/doors")
            }
            assert {one for one in said if one.subject.startswith("door")} == doors
            room, hand = facts.get("/agent/room"), facts.get("/agent/hand")
            here = facts.get(f"/tables/{room}", "nothing")
            places = {label: room for label in here.split(", ") if label != "nothing"} | (
                {hand: "hand"} if hand not in (None, "nothing") else {}
            )
            assert {(one.subject, one.value) for one in said if one.subject.startswith("place") and one.holds} == {
                (f"place {label}", place) for label, place in places.items()
            }
            for one in said:
                assert one.holds or (
                    one.value in (room, "hand") and places.get(one.subject.removeprefix("place ")) is None
                )
            told = {one.value for one in said if one.subject.startswith("target")}
            assert {value for pointer, value in facts.items() if pointer.startswith("/task")} <= told
            news = [segment for segment in act.segments if isinstance(segment, Notice)]
            assert bool(news) <= any(one.subject.startswith(("target", "key")) for one in said)


def test_a_message_states_what_each_key_is_for(house: House) -> None:
    words = house.part("words")
    briefing = house.scenario("wrong_start", 0).briefing
    text = "Your reply could not be read.\nMessage from the steward: Two tags were swapped: the shed key is the orange key, and the barn key is the grey key.\n"
    assert words.observe(briefing, text) == (Statement("key shed", "orange key"), Statement("key barn", "grey key"))
    assert words.observe(briefing, "Its tag says: shed.\n") == ()


@pytest.mark.parametrize(
    "text",
    ["Blocked: move den was not carried out. b1.1 (door den-hall: open) was contradicted, return 2 says locked.\n",
     "You try the door to the The door between the den and the hall is open.. It does not open.\n", ""],
)  # fmt: skip
def test_words_that_come_back_state_nothing(house: House, text: str) -> None:
    assert house.part("words").observe(house.scenario("wrong_start", 0).briefing, text) == ()


@pytest.mark.parametrize(
    ("given", "due"),
    [
        (("door hall-den", "Open."), ("door den-hall", "open")),
        (("Door between the hall and the den", "locked"), ("door den-hall", "locked")),
        (("the door den – hall", "open"), ("door den-hall", "open")),
        (("place the Red Mug", "in the den"), ("place red mug", "den")),
        (("place red mug", "my hand"), ("place red mug", "hand")),
        (("key shed key", "the red key"), ("key shed", "red key")),
        (("target red mug", "Den"), ("target red mug", "den")),
        (("weather", "fine"), ("weather", "fine")),
        (("door", ""), ("door", "")),
    ],
)
def test_an_agents_own_words_are_spelled_alike(house: House, given: tuple[str, str], due: tuple[str, str]) -> None:
    assert house.part("words").spell(*given) == due


def test_the_briefing_states_doors_places_keys_and_targets(house: House) -> None:
    scenario = house.scenario("wrong_start", 0)
    said = {one.subject: one.value for one in house.part("words").brief(scenario.briefing)}
    genesis = scenario.genesis
    doors = {f"door {name}": value for name, value in genesis["doors"].items() if value == "open"}  # type: ignore[union-attr]
    assert {subject: value for subject, value in said.items() if subject.startswith("door")} == doors
    assert {f"key {item['tag']}": item["label"] for item in genesis["items"].values()}.items() <= said.items()  # type: ignore[union-attr, index, call-overload]
    assert len(said) == len(doors) + 2 + 2 + 1
