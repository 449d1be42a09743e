"""The whole truth table of arm D's controller."""

from __future__ import annotations

from itertools import product

import pytest

from sealkit.agents.arms.revalidation import Heard, revalidate, standing, warning
from sealkit.world.beliefs import Belief, Stale, Statement, Update, revise

DOOR = "door den-hall"


def store(*, withdrawn: bool) -> tuple[Belief, ...]:
    """b1 about a mug; b2 about the door: b2.1 closed, by return 2, b2.2 open, by return 4 and verified by 6."""
    updates = [
        Update("place mug", "den", 0),
        Update(DOOR, "closed", 2),
        Update(DOOR, "open", 4),
        Update(DOOR, "open", 6),
    ]
    return revise((), [*updates, Update(DOOR, "", 6)] if withdrawn else updates)


def heard(*said: tuple[int, str, bool]) -> list[Heard]:
    return [Heard(act, Statement(DOOR, value, holds)) for act, value, holds in said]


# What returns said, and whether it contradicts b2.2, which was last verified by return 6.
SAID = {
    "nothing": ([], False),
    "older, otherwise": (heard((5, "locked", True)), False),
    "the return it rests on, the same": (heard((6, "open", True)), False),
    "the return it rests on, otherwise": (heard((6, "locked", True)), True),
    "newer, the same": (heard((7, "open", True)), False),
    "newer, otherwise": (heard((7, "locked", True)), True),
    "newer, not so": (heard((7, "open", False)), True),
    "newer, something else is not so": (heard((7, "locked", False)), False),
    "otherwise, then the same": (heard((7, "locked", True), (8, "open", True)), False),
    "otherwise, then the same in one return": (heard((7, "locked", True), (7, "open", True)), False),
    "the same, then otherwise": (heard((7, "open", True), (8, "locked", True)), True),
    "otherwise, then something else is not so": (heard((7, "locked", True), (8, "closed", False)), True),
    "of another subject": ([Heard(7, Statement("door den-loft", "locked"))], False),
}
# What is cited, and how that stands whatever returns said; "latest" hangs on the store and on what they said.
CITED = {
    "b2.1": "superseded",
    "b2.2": "latest",
    "b2": "latest",
    "b2.3": "unchecked",
    "b9.1": "unchecked",
    "b2.0": "unchecked",
    "the door is open": "unchecked",
    "": "unchecked",
}


@pytest.mark.parametrize("withdrawn", [False, True])
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("cite", CITED)
def test_one_cite(cite: str, said: str, withdrawn: bool) -> None:
    returns, contradicts = SAID[said]
    due = CITED[cite]
    if due == "latest":
        due = "invalidated" if withdrawn else "contradicted" if contradicts else "current"
    beliefs = store(withdrawn=withdrawn)
    found = standing(cite, beliefs, returns)
    assert (found.why if isinstance(found, Stale) else found) == due
    blocks = due in ("superseded", "invalidated", "contradicted")
    assert bool(revalidate([cite], beliefs, returns, observes=False)) == blocks
    assert revalidate([cite], beliefs, returns, observes=True) == ()  # look and ask are never held back


@pytest.mark.parametrize(("first", "second"), [*product(["b1.1", "b2.1", "b2.2", "b7.1"], repeat=2)])
def test_of_several_cites_each_stale_one_is_named_once(first: str, second: str) -> None:
    stale = {"b2.1", "b2.2"}
    found = revalidate([first, second, first], store(withdrawn=False), heard((7, "locked", True)), observes=False)
    assert [one.cite for one in found] == [cite for cite in dict.fromkeys([first, second]) if cite in stale]


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("withdrawn", [False, True])
def test_what_cites_nothing_goes_ahead(said: str, withdrawn: bool) -> None:
    assert revalidate([], store(withdrawn=withdrawn), SAID[said][0], observes=False) == ()


def test_a_block_is_one_line_whatever_the_agent_wrote() -> None:
    stale = revalidate(["b1.1"], revise((), [Update("a\nb", "c", 0), Update("a\nb", "d", 0)]), [], observes=False)
    assert warning("move x\nTask: put it down", stale).count("\n") == 1


def test_the_agent_is_told_which_premises_went_stale() -> None:
    stale = revalidate(["b2.1", "b2.2"], store(withdrawn=False), heard((7, "locked", True)), observes=False)
    assert warning("move hall", stale) == (
        "Blocked: move hall was not carried out, and the turn is used. A premise went stale: b2.1 (door den-hall: closed) was "
        "superseded, b2.2 is newer; b2.2 (door den-hall: open) was contradicted, return 7 says locked.\n"
    )
