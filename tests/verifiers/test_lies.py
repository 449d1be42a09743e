"""Every row of the table of lies, told by a world that lies, is caught by the verifier named, under its origin."""

from __future__ import annotations

import pytest

from sealkit.wire.verdict import Accepted, Rejected, Verdict
from tests.lying_world import LIES, ROWS, Lie, honest, honest_rerun, lie
from tests.verifiers.loading import replay, witness

CASES = [pytest.param(each, id=f"{each.row}-{each.name}") for each in LIES.values()]


def reasons(verdict: Verdict) -> str:
    return "\n".join(map(str, verdict.reasons)) if isinstance(verdict, Rejected) else str(verdict)


def test_every_row_is_told() -> None:
    assert {each.row for each in LIES.values()} == set(ROWS)


@pytest.mark.parametrize("family", ["calm", "plain", "storm"])
def test_without_a_lie_both_accept(family: str) -> None:
    trusted, line = honest(family)
    assert witness(trusted, line) == Accepted()
    assert replay(trusted, line, rerun=honest_rerun) == Accepted()


@pytest.mark.parametrize("told", CASES)
def test_the_lie_is_caught_by_whom_it_must_and_named_right(told: Lie) -> None:
    trusted, line = lie(told.name)
    seen, replayed = witness(trusted, line), replay(trusted, line, rerun=honest_rerun)
    if told.catcher == "nobody":
        assert (seen, replayed) == (Accepted(), Accepted()), "a miss that the table declares was caught"
    elif told.catcher == "replay":
        assert seen == Accepted(), reasons(seen)
        assert isinstance(replayed, Rejected)
        assert replayed.origin == told.origin, reasons(replayed)
    else:
        assert isinstance(seen, Rejected), "witness accepts it"
        assert seen.origin == told.origin, reasons(seen)


# Whether an episode ended where it should is not the world's to say: a rerun ends where it is told to.
ABOUT_ITS_END = {"record_cut_at_the_end", "record_cut_and_called_budget", "record_goes_on_after_its_end",
                 "record_beyond_the_budget"}  # fmt: skip


@pytest.mark.parametrize("name", [each.name for each in LIES.values() if each.catcher == "witness"])
def test_replay_too_rejects_what_witness_catches_but_for_the_end(name: str) -> None:
    trusted, line = lie(name)
    assert isinstance(replay(trusted, line, rerun=honest_rerun), Accepted if name in ABOUT_ITS_END else Rejected)


def test_a_lie_is_told_the_same_way_twice() -> None:
    assert lie("effect_an_act_late") == lie("effect_an_act_late")
