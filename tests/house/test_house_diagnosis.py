"""Readings of hand-made episodes: what is right, what rules find, what a model is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from sealkit.wire.chain import extend
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Action, Episode
from sealkit.wire.events import Read
from sealkit.wire.journal_head import EMPTY
from sealkit.wire.records import Json
from sealkit.world.beliefs import Block, Kept, Stale, Update
from sealkit.world.loader import load_readers
from sealkit.world.readers import MOST_SAID, said_by
from sealkit.world.sdk import Reader, Transcript, Turned, transcript
from tests.house.test_house_judge import (
    CARRIED,
    DELIVER,
    DOUBLE,
    FETCH,
    KEYS,
    NOISE,
    ROUND,
    STALE_DOOR,
    TARGET,
)

from .conftest import ROOT

if TYPE_CHECKING:
    from .conftest import House


@pytest.fixture(scope="module")
def reader(house: House) -> Reader:
    return load_readers(ROOT, "worlds/house/judge")["diagnosis"]


def say(*named: tuple[str, int | None]) -> Json:
    return [{"subject": subject, "turn": turn} for subject, turn in named]


# (scenario, walk): the faults, and for each what may be said of it: (subject, first turn, last turn).
# The accepted turns go from that after which it was so to that whose return first told.
WINDOWS = {
    # The door locks after act 4 and is read as locked in return 5.
    "door": (STALE_DOOR, FETCH + ROUND, {"lock": ("door c0-c1", 4, 5)}),
    # The target changes after act 1; the message is in return 3.
    "target": (
        TARGET,
        "pick mug; move c1; move c2; move c3; move c4; drop mug; done",
        {"target": ("target mug", 1, 3)},
    ),
    # The tags are wrong from the start; the message is in return 3.
    "keys": (KEYS, "move c5; pick red key; move c4; drop red key; done", {"swap": ("key red", 0, 3)}),
    # The false reading is in return 5, the next one, which is right, in return 6.
    "noise": (NOISE, FETCH + "look; move c0; drop mug; done", {"noise": ("door c0-c1", 5, 6)}),
    # The mug is carried off after act 5. Return 7 shows the empty table …
    "carried, seen": (CARRIED, DELIVER + "move c1; done", {"back": ("place mug", 5, 7)}),
    # … and if nobody looks, every turn up to the last is accepted.
    "carried, unseen": (CARRIED, DELIVER + "done", {"back": ("place mug", 5, 7)}),
    "both": (
        DOUBLE,
        "look; look; move sa; pick blue key; move c1; move c0",
        {"swap": ("key blue", 0, 2), "lock": ("door c0-c1", 4, 5)},
    ),
    "none": (STALE_DOOR, "move c0; done", {}),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_the_window_of_each_fault(house: House, reader: Reader, name: str) -> None:
    scenario, walk, faults = WINDOWS[name]
    episode = house.walk(scenario, walk.split("; "))
    for turn in range(10):
        said = say(*((subject, turn) for subject, _, _ in faults.values()), ("door c2-c3", turn))
        found = reader.score(scenario, episode, said)
        assert found["named"] == dict.fromkeys(faults, 1)
        assert found["named_and_timed"] == {
            fault: int(first <= turn <= last) for fault, (_, first, last) in faults.items()
        }
        assert found["extra_faults"] == 1
    nothing = reader.score(scenario, episode, [])
    assert nothing == {
        "named": dict.fromkeys(faults, 0),
        "named_and_timed": dict.fromkeys(faults, 0),
        "extra_faults": 0,
    }


def test_named_is_not_timed_without_a_turn_and_extras_count_once(house: House, reader: Reader) -> None:
    scenario, walk, _ = WINDOWS["keys"]
    episode = house.walk(scenario, walk.split("; "))
    said = say(("key blue", None), ("the weather", 1), ("The Weather", 2), ("place red key", 3))
    assert reader.score(scenario, episode, said) == {
        "named": {"swap": 1},
        "named_and_timed": {"swap": 0},
        "extra_faults": 2,
    }


def test_a_key_may_be_named_by_its_lock_or_by_itself(house: House, reader: Reader) -> None:
    scenario = house.scenario("wrong_start", 0)
    episode = house.walk(scenario, ["look"] * 4)
    for name in ("shed", "barn", "grey", "orange key", "the shed key"):
        assert reader.score(scenario, episode, say((f"key {name}", 0)))["named_and_timed"] == {"tags_swapped": 1}
    assert reader.score(scenario, episode, say(("key boat", 0)))["named"] == {"tags_swapped": 0}


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ('{"faults": [{"subject": "Door hall-den", "turn": 4}]}', [("door den-hall", 4)]),
        ('Here: ```{"faults": []}```', []),
        ('{"faults": [{"subject": "a b", "turn": 1}, {"subject": "c d", "turn": 1}, {"subject": "e f", "turn": 1}, {"subject": "g h", "turn": 1}]}',
         [("a b", 1), ("c d", 1), ("e f", 1)]),
        ('{"faults": [{"turn": 4}, 7, {"subject": 3, "turn": 1}, {"subject": "a b", "turn": "four"}, {"subject": "c d", "turn": -1}]}', []),
        ('{"faults": [{"subject": "a b", "turn": "four"}, {"subject": "c d", "turn": -1}, {"subject": "e f", "turn": true}]}',
         [("a b", None), ("c d", None), ("e f", None)]),
        ('{"faults": [{"subject": "a b", "turn": 9007199254740991}, {"subject": "c d", "turn": 9007199254740992}, {"subject": "\\ud800", "turn": 1}]}',
         [("a b", 9007199254740991), ("c d", None)]),
        ('{"faults": [{"subject": "a b", "turn": 1e999}, {"subject": "c d", "turn": NaN}]}', [("a b", None), ("c d", None)]),
        ('{"faults": "the door"}', []), ("{}", []), ("I see no fault.", []), ("{} {}", []), ("", []),
    ],
)  # fmt: skip
def test_replies_are_read(reader: Reader, text: str, due: list[tuple[str, int | None]]) -> None:
    assert reader.read(text) == say(*due) == said_by(reader, text)


class Gives:
    """A reader that makes this of any reply."""

    schema: dict[str, Json] = {}  # noqa: RUF012

    def __init__(self, value: Any) -> None:
        self.value = value

    def read(self, text: str) -> Json:
        given: Json = self.value
        return given


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [1.5, 2**53, {"turn": -(2**53)}, "\ud800", {"ü": 1}, {1: 2}, b"x", nested(63), "x" * (MOST_SAID + 1)]
)
def test_what_a_record_cannot_hold_is_unreadable_and_no_defect(value: Any) -> None:
    assert said_by(Gives(value), "a reply that came") is None  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [None, 2**53 - 1, "ü", [], nested(62)])
def test_what_it_can_hold_stands(value: Any) -> None:
    said = said_by(Gives(value), "a reply that came")  # type: ignore[arg-type]
    assert said == value
    read = Read(
        stage="confirmatory", pin="p", slot={"arm": "A"}, attempt=1, episode="e", reading="r", level="l", said=said,
        ending="said", why="", calls=None,
    )  # fmt: skip
    extend(EMPTY, read, "2026-12-01T00:00:00Z")


def ruled(house: House, reader: Reader, scenario: Scenario, episode: Episode) -> Json:
    return reader.rule(transcript(scenario, episode))


@pytest.mark.parametrize(
    ("family", "agent", "due"),
    [  # of ten seeds: faults fired, named, named and timed, extra
        ("stale_door", "tracker", (10, 10, 10, 0)),
        ("wrong_start", "tracker", (10, 10, 10, 0)),
        ("delayed_update", "tracker", (10, 10, 10, 0)),
        ("noise", "tracker", (10, 10, 10, 0)),
        ("unobservable", "tracker", (10, 0, 0, 0)),  # it never went back to look, so no record can show it
        ("unobservable", "rechecker", (10, 10, 10, 0)),
        ("double_fault", "rechecker", (20, 20, 20, 0)),
        ("stale_door", "naive", (10, 10, 10, 0)),
    ],
)
def test_rules_find_in_the_log_what_the_agent_was_shown(
    house: House, reader: Reader, family: str, agent: str, due: tuple[int, ...]
) -> None:
    found = [0, 0, 0, 0]
    for seed in range(10):
        scenario, episode = house.play(agent, family, seed)
        score = reader.score(scenario, episode, ruled(house, reader, scenario, episode))
        named, timed = score["named"], score["named_and_timed"]
        assert isinstance(named, dict) and isinstance(timed, dict)
        for place, value in enumerate((len(named), sum(named.values()), sum(timed.values()), score["extra_faults"])):  # type: ignore[arg-type]
            found[place] += value  # type: ignore[operator]
    assert tuple(found) == due


def of_store(*turns: tuple[Sequence[tuple[str, str, int]], Sequence[Stale]]) -> Transcript:
    """An episode of an arm with a store: of each turn what it believed newly, and the stale premises that held it back."""

    def turned(n: int, beliefs: Sequence[tuple[str, str, int]], stale: Sequence[Stale]) -> Turned:
        block = Block(action="move", argument="den", stale=tuple(stale)) if stale else None
        memory = Kept(beliefs=tuple(Update(*belief) for belief in beliefs), cites=(), plan="", block=block).memory()
        return Turned(n=n, action=Action(name="look", args={}), text="", memory=memory)

    begun = Turned(n=0, action=Action(name="start", args={}), text="", memory={})
    return Transcript(briefing="", turns=(begun, *(turned(n, *turn) for n, turn in enumerate(turns, 1))))


def stale(subject: str, seen: int | None, cite: str = "b1.1") -> Stale:
    return Stale(cite=cite, subject=subject, value="open", why="contradicted", by=f"return {seen}", seen=seen)


BEGUN = (("door den-hall", "open", 0), ("place mug", "den", 0), ("place pen", "den", 0), ("key red", "shed", 0))


@pytest.mark.parametrize(
    ("turns", "due"),
    [
        # C's store: the door was believed open and is not; the mug came elsewhere without passing through the hand, as
        # the pen did; a key has a new lock. A door that was never believed open tells nothing when it is.
        (
            ((BEGUN, ()), ((("place pen", "hand", 1), ("door den-attic", "locked", 1)), ()),
             ((("place pen", "hall", 2), ("key red", "barn", 2), ("place mug", "hall", 3)), ()),
             ((("door den-hall", "locked", 4), ("door den-attic", "open", 4)), ())),
            [("key red", 2), ("place mug", 3), ("door den-hall", 4)],
        ),
        # D was held back in turns 2 and 3 and never took the return into its store: the blocks alone tell of it.
        (((BEGUN, ()), ((), (stale("door den-hall", 1),)), ((), (stale("door den-hall", 2),))), [("door den-hall", 1)]),
        # Both tell, each of its own; a premise that no return contradicts is none.
        (
            ((BEGUN, ()), ((), (stale("place mug", 1, "b2.1"), stale("place pen", None, "b3.1"))),
             ((("door den-hall", "locked", 2),), ())),
            [("place mug", 1), ("door den-hall", 2)],
        ),
        (((BEGUN, ()), (BEGUN, ())), []),
    ],
)  # fmt: skip
def test_rules_read_the_store_and_what_was_held_back(
    reader: Reader, turns: Any, due: list[tuple[str, int | None]]
) -> None:
    assert reader.rule(of_store(*turns)) == say(*due)


def test_a_model_is_shown_the_store_and_what_was_held_back(reader: Reader) -> None:
    shown = of_store((BEGUN, ()), ((), (stale("door den-hall", 1),)))
    text = reader.ask(shown, "structured")[1].content
    assert "b1.1 | door den-hall | open | briefing | 0 | 0 | -\n" in text
    held = "\n\n## Actions held back\n\nTurn 2: b1.1 (door den-hall: open) was contradicted, return 1\n"
    assert text.endswith(held) and held not in reader.ask(shown, "transcript")[1].content


def test_nothing_shown_tells_of_arm_family_or_truth(house: House, reader: Reader) -> None:
    for family in house.world.families:
        scenario, episode = house.play("tracker", family, 0)
        shown = transcript(scenario, episode)
        for level in ("transcript", "structured"):
            text = "\n".join(message.content for message in reader.ask(shown, level))
            hidden = [
                family,
                "contract",
                *(contract.id for contract in scenario.contracts),
                "c0",
                "sA",
                "tracker",
                "observer",
            ]
            assert not [word for word in hidden if word in text]


def test_levels_differ_by_the_record_alone(house: House, reader: Reader) -> None:
    scenario, episode = house.play("tracker", "stale_door", 0)
    shown = transcript(scenario, episode)
    plain, structured = reader.ask(shown, "transcript"), reader.ask(shown, "structured")
    assert plain[0] == structured[0]
    more = structured[1].content.removeprefix(plain[1].content)
    assert more.startswith("\n## Record of beliefs\n\nid.revision | subject | ") and " | locked | return " in more
    with pytest.raises(ValueError, match="rule"):
        reader.ask(shown, "rule")
