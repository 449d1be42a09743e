"""Beliefs with revisions: the store of an agent, and the log of what it was told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealkit.world.beliefs import (
    Belief,
    Block,
    Kept,
    Stale,
    Statement,
    Update,
    current,
    kept,
    log,
    plain,
    revise,
    table,
)


def rows(beliefs: tuple[Belief, ...]) -> list[tuple[str, str, str, str, int, int, str | None]]:
    return [
        (b.name, b.subject, b.value, b.supporting, b.observed_at, b.last_verified_at, b.invalidated_by) for b in beliefs
    ]


def test_a_value_again_is_verified_another_is_the_next_revision() -> None:
    beliefs = revise(
        (), [Update("d", "open", 0), Update("m", "den", 0), Update("d", "open", 3), Update("d", "open", 1)]
    )
    assert rows(beliefs) == [
        ("b1.1", "d", "open", "briefing", 0, 3, None),
        ("b2.1", "m", "den", "briefing", 0, 0, None),
    ]
    assert rows(revise(beliefs, [Update("d", "locked", 4)])) == [
        ("b1.1", "d", "open", "briefing", 0, 3, "return 4"),
        ("b2.1", "m", "den", "briefing", 0, 0, None),
        ("b1.2", "d", "locked", "return 4", 4, 4, None),
    ]


def test_a_withdrawn_belief_stays_and_is_stated_again_as_a_new_revision() -> None:
    beliefs = revise((), [Update("d", "open", 0), Update("d", "", 2), Update("d", "", 3), Update("e", "", 3)])
    assert rows(beliefs) == [("b1.1", "d", "open", "briefing", 0, 0, "return 2")]
    assert rows(revise(beliefs, [Update("d", "open", 4)]))[1] == ("b1.2", "d", "open", "return 4", 4, 4, None)


def test_the_log_takes_a_denial_of_what_is_believed_alone() -> None:
    told = [
        (0, [Statement("m", "den"), Statement("d", "open")]),
        (1, [Statement("d", "open"), Statement("m", "hall", holds=False), Statement("x", "hall", holds=False)]),
        (2, [Statement("m", "den", holds=False)]),
        (3, [Statement("m", "den", holds=False), Statement("m", "hand")]),
    ]
    assert rows(log(told)) == [
        ("b1.1", "m", "den", "briefing", 0, 0, "return 2"),
        ("b2.1", "d", "open", "briefing", 0, 1, None),
        ("b1.2", "m", "not den", "return 2", 2, 2, "return 3"),
        ("b1.3", "m", "hand", "return 3", 3, 3, None),
    ]


UPDATES = st.lists(
    st.builds(Update, st.sampled_from("abc"), st.sampled_from(["", "x", "y"]), st.integers(0, 15)), max_size=20
)


@given(UPDATES)
def test_revisions_are_counted_and_only_the_latest_may_stand(updates: list[Update]) -> None:
    beliefs = revise((), updates)
    for subject, latest in current(beliefs).items():
        line = [belief for belief in beliefs if belief.subject == subject]
        assert [belief.revision for belief in line] == list(range(1, len(line) + 1)) and len({b.id for b in line}) == 1
        assert all(belief.invalidated_by is not None for belief in line[:-1]) and line[-1] is latest
        stated = [update for update in updates if update.subject == subject]
        assert (latest.invalidated_by is None) == (stated[-1].value != "")
        assert latest.invalidated_by is not None or latest.value == stated[-1].value
        assert all(belief.observed_at <= belief.last_verified_at for belief in line)
    assert len({belief.name for belief in beliefs}) == len(beliefs)
    steps = ()
    for update in updates:
        steps = revise(steps, [update])
    assert steps == beliefs


def test_what_an_arm_kept_comes_back_from_its_memory() -> None:
    stale = Stale(cite="b1.1", subject="d", value="open", why="contradicted", by="return 3 says locked", seen=3)
    whole = Kept(beliefs=(Update("d", "open", 2),), cites=("b1.1",), plan="go", block=Block("move", "den", (stale,)))
    assert kept(whole.memory()) == whole
    assert kept({}) is None and kept({"notes": "x"}) is None and kept({**whole.memory(), "plan": 3}) is None


def test_a_table_of_none() -> None:
    assert table(()) == "(none)"


@pytest.mark.parametrize(("words", "due"), [("The  Den", "den"), ("theatre", "theatre"), (" open. ", "open"), ("", "")])
def test_plain_words(words: str, due: str) -> None:
    assert plain(words) == due
