"""The words of an author, and the draws."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sealkit.world
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.declared import (
    ActSight,
    Contract,
    CountSight,
    Distort,
    Inbox,
    Never,
    StateSight,
    Tell,
    ThisReturn,
    WhenShown,
)
from sealkit.world import sdk
from sealkit.world.draws import Draws

NEEDED = (
    "Outline", "Reading", "Session", "Agent", "Scripted", "View", "Judge", "Measures", "State", "Told", "Draws", "Action",
    "Segment", "Text", "Fact", "Notice", "Episode", "Scenario", "ThisReturn", "ActsLater", "Inbox", "WhenShown", "Snapshot",
    "Restore", "text", "reading", "inbox", "action", "add", "replace", "remove", "after_act", "on", "after", "of_act",
    "count", "never", "notice", "seen", "false_reading", "authority", "contract",
)  # fmt: skip
OWNER = sdk.authority("owner", rung="A4", scope="house", binding=True)


def test_a_plain_pointer_in_sees_is_a_place_in_the_state() -> None:
    made = sdk.contract(
        "c", when=sdk.on("a == b"), tell=sdk.never(), authority=OWNER, then=[sdk.remove("/x/y")],
        sees={"a": "/x/y", "b": sdk.of_act("/args/item"), "c": sdk.count("/x/y", "open")},
    )  # fmt: skip
    assert made.sees == {
        "a": StateSight(pointer="/x/y"), "b": ActSight(pointer="/args/item"),
        "c": CountSight(pointer="/x/y", equals="open"),
    }  # fmt: skip
    assert made.times == 1 and decode_record(encode_record(made), Contract) == made


def test_ways_of_telling() -> None:
    assert sdk.never() == Tell(channel="none", sender="none", template=None, due=Never(), distort=None)
    due = ThisReturn()
    assert sdk.notice("Hi {a}", channel="radio", sender="s", due=due).due == due
    shown = sdk.seen("/x/y", "reading == 'shut'")
    assert shown.due == WhenShown(pointer="/x/y", rule="reading == 'shut'") and shown.template is None
    false = sdk.false_reading("/x/y", "shut")
    assert false.distort == Distort(pointer="/x/y", reading="shut")
    assert false.due == WhenShown(pointer="/x/y", rule="true")
    assert sdk.notice("x", channel="c", sender="s", due=Inbox()).due == Inbox()


def test_small_words() -> None:
    assert sdk.text("a").text == "a"
    assert sdk.reading("/a", "A {value}") == sdk.Reading("/a", "A {value}")
    assert sdk.action("go", to="c1").args == {"to": "c1"}
    assert (sdk.after_act(3).act, sdk.after("c", 2).acts, sdk.on("true").rule) == (3, 2, "true")
    assert [type(op).__name__ for op in (sdk.add("/a", 1), sdk.replace("/a", 1), sdk.remove("/a"))] == [
        "Add", "Replace", "Remove",
    ]  # fmt: skip


def test_everything_an_author_needs_comes_from_one_place() -> None:
    for name in NEEDED:
        assert hasattr(sealkit.world, name), name


# --- draws ---------------------------------------------------------------------------------------


def test_draws_are_those_of_every_machine() -> None:
    """Worked out with sha256sum: the first eight bytes of SHA-256 of the key, a zero byte and the counter."""
    blocks = [hashlib.sha256(b'["house","noise",3]\x00' + n.to_bytes(8, "big")).digest()[:8] for n in range(5)]
    draws = Draws("house", "noise", 3)
    assert [draws.below(6) for _ in range(5)] == [int.from_bytes(block, "big") % 6 for block in blocks]


@given(st.integers(1, 2**53), st.integers(0, 10**6))
def test_a_draw_is_below_its_bound(bound: int, seed: int) -> None:
    assert 0 <= Draws("t", seed).below(bound) < bound


@given(st.lists(st.integers(), max_size=20), st.integers(0, 1000))
def test_shuffling_keeps_every_item(items: list[int], seed: int) -> None:
    drawn = Draws("t", seed).shuffled(items)
    assert Counter(drawn) == Counter(items)
    assert Draws("t", seed).sample(items, 3) == drawn[:3]


@pytest.mark.parametrize("bound", [0, -1, 2**53 + 1])
def test_a_bound_that_cannot_be_met_is_refused(bound: int) -> None:
    with pytest.raises(ValueError, match=r"is not in 1 … 2\^53"):
        Draws("t").below(bound)


def test_a_stream_of_its_own_depends_on_its_label_alone() -> None:
    draws = Draws("house", 1)
    before = draws.split("names").below(1000)
    for _ in range(7):
        draws.below(10)
    assert draws.split("names").below(1000) == before
    assert Draws("house", 1).split("names").below(1000) == before
    streams = [Draws("a"), Draws("a").split("b"), Draws("ab"), Draws("a", 0), Draws("a", "0"), Draws('a"')]
    assert len({stream.below(2**53) for stream in streams}) == len(streams)


def test_draws_are_even() -> None:
    counts = Counter(Draws("even", n).below(6) for n in range(6000))
    assert all(850 < counts[face] < 1150 for face in range(6))
    orders = Counter(Draws("order", n).shuffled("abc") for n in range(6000))
    assert len(orders) == 6 and all(850 < count < 1150 for count in orders.values())
    assert {Draws("between", n).between(3, 5) for n in range(50)} == {3, 4, 5}
