"""Replay: what it needs, what it hands to the rerun, and how it names the first difference."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sealkit.wire.episode import Action, Move, Trusted
from sealkit.wire.errors import HarnessError
from sealkit.wire.verdict import Abstained, Accepted, Origin, Rejected
from tests.lying_world import honest, honest_rerun, lie
from tests.reseal import Document, read, reseal
from tests.verifiers.loading import replay

Moves = tuple[Move, ...]
FAKE = "sha256:" + "0" * 64


def test_without_a_world_it_abstains() -> None:
    trusted, line = honest()
    assert replay(trusted, line, rerun=None) == Abstained(missing="the sealed world: give --replay")


def test_the_rerun_is_given_actions_calls_and_the_ending() -> None:
    given = []

    def rerun(trusted: Trusted, moves: Moves, ended: str, why: str) -> bytes:
        given.append((trusted, moves, ended, why))
        return honest_rerun(trusted, moves, ended, why)

    trusted, _ = honest()
    move = Move(action=Action(name="look", args={"at": "sky"}), calls=(FAKE,), memory={"notes": "it is grey"})
    line = honest_rerun(trusted, (move,), "stopped", "no reply")
    assert replay(trusted, line, rerun=rerun) == Accepted()
    assert given == [(trusted, (move,), "stopped", "no reply")]


def test_a_world_that_cannot_be_run_says_nothing_of_the_episode() -> None:
    def broken(trusted: Trusted, moves: Moves, ended: str, why: str) -> bytes:
        raise HarnessError("the sealed source does not start")

    trusted, line = honest()
    with pytest.raises(HarnessError):
        replay(trusted, line, rerun=broken)


def test_a_world_that_takes_no_other_actions_leaves_the_environment_at_fault() -> None:
    """Whether a resume went wrong is asked by running other actions; a world may refuse them."""
    trusted, line = lie("act_doubled_after_a_resume")
    asked = []

    def stubborn(trusted: Trusted, moves: Moves, ended: str, why: str) -> bytes:
        asked.append(moves)
        if len(asked) > 1:
            raise HarnessError("not the actions of this run")
        return honest_rerun(trusted, moves, ended, why)

    verdict = replay(trusted, line, rerun=stubborn)
    assert isinstance(verdict, Rejected)
    assert verdict.origin == "environment"
    assert len(asked) > 1


def test_a_world_that_stops_sooner_is_named() -> None:
    def hasty(trusted: Trusted, moves: Moves, ended: str, why: str) -> bytes:
        return honest_rerun(trusted, moves[:-1], ended, why)

    trusted, line = honest("calm")
    verdict = replay(trusted, line, rerun=hasty)
    assert isinstance(verdict, Rejected)
    assert verdict.origin == "lineage"


DIFFERENCES: dict[str, tuple[Origin, str, Callable[[Document], object]]] = {
    "pin": ("evidence", "pin", lambda d: d.update(pin=FAKE)),
    "genesis": ("lineage", "genesis", lambda d: d.update(genesis=FAKE)),
    "act 0": ("evidence", "acts", lambda d: d["acts"].clear()),
    "an action that had no effect": (
        "disclosure", "acts[4].segments", lambda d: d["acts"][4]["action"]["args"].update(at="moon")),
    "a delta": ("environment", "acts[3].delta", lambda d: d["acts"][3]["delta"].pop()),
    "a delta's type": ("environment", "acts[3].delta", lambda d: d["acts"][3]["delta"][0].update(value=True)),
    "a contract's effect": (
        "environment", "acts[2].deltas, contract:rain", lambda d: d["acts"][2]["deltas"][0]["ops"].clear()),
    "a contract's order": ("boundary", "acts[4].deltas", lambda d: d["acts"][4]["deltas"].reverse()),
    "a contract twice": (
        "environment", "acts[2].deltas", lambda d: d["acts"][2]["deltas"].append(d["acts"][2]["deltas"][0])),
    "a contract left out behind a restore": (
        "lineage", "acts[11].deltas, contract:dusk", lambda d: d["acts"][11]["deltas"].clear()),
    "a restore's effect": (
        "lineage", "acts[8].deltas, restore:back", lambda d: d["acts"][8]["deltas"][0]["ops"].pop()),
    "a restore left out": (
        "lineage", "acts[8].deltas, restore:back", lambda d: d["acts"][8]["deltas"].clear()),
    "a root": ("environment", "acts[2].root", lambda d: d["acts"][2].update(root=FAKE)),
    "a root at a restore": ("lineage", "acts[8].root", lambda d: d["acts"][8].update(root=FAKE)),
    "a segment left out": ("disclosure", "acts[2].segments", lambda d: d["acts"][2]["segments"].pop()),
    "a notice's rung": (
        "authority", "acts[2].segments[1]", lambda d: d["acts"][2]["segments"][1].update(rung="A5")),
    "an act's number": ("evidence", "acts[2].n", lambda d: d["acts"][2].update(n=9)),
    "an occurrence's number": (
        "lineage", "receipts[1].contract.occurrence", lambda d: d["receipts"][1]["contract"].update(occurrence=2)),
    "a projection's kind": (
        "disclosure", "receipts[1].projection", lambda d: d["receipts"][1].update(projection={"projection": "never"})),
    "a projection's sender": (
        "authority", "receipts[1].projection.sender", lambda d: d["receipts"][1]["projection"].update(sender="x")),
    "a restore receipt's roots": (
        "lineage", "receipts[9].roots", lambda d: d["receipts"][9]["roots"].update(after=FAKE)),
    "a receipt left out": ("evidence", "receipts[3]", lambda d: d["receipts"].pop(3)),
    "the last receipt left out": ("evidence", "receipts", lambda d: d["receipts"].pop()),
    "receipts in another order": ("lineage", "receipts[0]", lambda d: d["receipts"].reverse()),
    "the judge": ("judgment", "closing.judge", lambda d: d["closing"].update(judge=FAKE)),
    "the counts": ("evidence", "closing.counts", lambda d: d["closing"]["counts"].update(notices=0)),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_first_difference_is_named(name: str) -> None:
    origin, where, change = DIFFERENCES[name]
    trusted, line = honest("storm")
    document = read(line)
    change(document)
    forged = reseal(document, trusted) if document["acts"] else line.replace(b'"name":"begin"', b'"name":"wait"', 1)
    verdict = replay(trusted, forged, rerun=honest_rerun)
    assert isinstance(verdict, Rejected)
    assert verdict.origin == origin, verdict.reasons
    assert where in [reason.where for reason in verdict.reasons if reason.origin == origin], verdict.reasons


def test_a_record_digest_alone_is_evidence() -> None:
    trusted, line = honest()
    document = read(line)
    forged = line.replace(document["closing"]["record"].encode(), FAKE.encode())
    verdict = replay(trusted, forged, rerun=honest_rerun)
    assert isinstance(verdict, Rejected)
    assert [(reason.origin, reason.where) for reason in verdict.reasons] == [("evidence", "closing.record")]
