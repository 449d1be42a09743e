"""A restore keeps history: a desk or a recorder that drops or repeats the occurrence across it is found out.

So is a desk that goes on serving an old version, but not from data alone.

Each lie is told by the part that would really tell it; all digests are then computed as in an honest episode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace as changed

from sealkit.wire.canon import digest_json
from sealkit.wire.declared import Restore
from sealkit.wire.episode import Action, AnyReceipt, Delta, Generation, Move, Trusted
from sealkit.wire.verdict import Accepted, Rejected
from sealkit.world.occurred import Restored
from sealkit.world.sdk import Session
from sealkit.world.witness import Recorder, rerun
from tests.underwriting.conftest import CALCULATE, CASE, INBOX, POLICY, submit
from tests.verifiers.loading import replay, witness

if TYPE_CHECKING:
    from .conftest import Office

FAMILY = "retraction-across-restore"
ACTS = [CASE, POLICY, CALCULATE, INBOX, CASE, INBOX, submit("ESCALATE")]


class Repeating(Recorder):
    """The restore brings the books back too: the retraction is applied a second time, an act after it."""

    def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
        delta = super()._come_back(restore, k, head)
        self.applied.clear()
        return delta

    def _occur(self, k: int, action: Action, head: str) -> list[Delta]:
        deltas = super()._occur(k, action, head)
        again = [item for item in self.scenario.contracts if k == 4]
        return [*deltas, *(self._apply(contract, {}, k, head) for contract in again)]


class Forgetting(Recorder):
    """The restore takes the receipt of the retraction along."""

    def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
        self.happened.clear()
        return super()._come_back(restore, k, head)


class TooEarly(Recorder):
    """What is restored was kept before the retraction: its effect is gone."""

    def _restore(self, k: int, head: str) -> list[Delta]:
        deltas = super()._restore(k, head)
        if k == 1:
            self.kept["early"] = self.session.snapshot()
        if k == 2:
            self.kept["kept"] = self.kept["early"]
        return deltas


class NotDone(Recorder):
    """The restore is left out."""

    def _restore(self, k: int, head: str) -> list[Delta]:
        return [] if k == 3 else super()._restore(k, head)


class NotCounted(Recorder):
    """The generation stays where it was."""

    def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
        delta = super()._come_back(restore, k, head)
        last = self.happened.pop()
        self.generation = Generation(generation=0, snapshot="kept")
        self.happened.append(Restored(id=restore.id, boundary=last.boundary, roots=last.roots, restore=self.generation))
        return delta


class Unlinked(Recorder):
    """The receipt of the restore does not link to that of the retraction."""

    def _receipts(self) -> tuple[AnyReceipt, ...]:
        first, second = super()._receipts()
        return first, changed(second, previous=digest_json("another receipt"))


def leaving(session: Session) -> Session:
    """A desk whose restore loses the case's new version, though the snapshot holds it."""
    honest, genesis = session.restore, session.snapshot()

    def restore(snapshot: bytes) -> None:
        honest(genesis)

    session.restore = restore  # type: ignore[method-assign]
    return session


def applying_twice(session: Session) -> Session:
    """A desk that on coming back adds the version again, under another number."""
    honest = session.restore

    def restore(snapshot: bytes) -> None:
        honest(snapshot.replace(b'"current": "v2"', b'"current": "v3"').replace(b'"v2": {', b'"v3": {'))

    session.restore = restore  # type: ignore[method-assign]
    return session


def test_without_a_lie_it_is_accepted(office: Office) -> None:
    assert witness(*office.walk(FAMILY, ACTS)) == Accepted()


@pytest.mark.parametrize("recorder", [Repeating, Forgetting, TooEarly, NotDone, NotCounted, Unlinked])
def test_a_recorder_that_breaks_the_lineage_is_found_out(office: Office, recorder: type[Recorder]) -> None:
    verdict = witness(*office.walk(FAMILY, ACTS, recorder=recorder))
    assert isinstance(verdict, Rejected), "witness accepts it"
    assert verdict.origin == "lineage", verdict.reasons


@pytest.mark.parametrize("lying", [leaving, applying_twice])
def test_a_desk_that_drops_or_repeats_is_found_out(office: Office, lying: Callable[[Session], Session]) -> None:
    session = lying(office.world.session(office.scenario(FAMILY)))
    verdict = witness(*office.walk(FAMILY, ACTS, session=session))
    assert isinstance(verdict, Rejected), "witness accepts it"
    assert verdict.origin == "lineage", verdict.reasons


def test_a_message_that_a_restore_loses_is_not_disclosed(office: Office) -> None:
    class Deaf(Recorder):
        def _come_back(self, restore: Restore, k: int, head: str) -> Delta:
            delta = super()._come_back(restore, k, head)
            self._waiting = lambda: []  # type: ignore[method-assign]
            return delta

    verdict = witness(*office.walk(FAMILY, ACTS, recorder=Deaf))
    assert isinstance(verdict, Rejected) and verdict.origin == "disclosure"


def test_an_old_version_that_is_served_again_is_the_share_of_replay(office: Office) -> None:
    """What it says of v1 is true, and that v1 is no longer current is not in the record of a read."""
    scenario = office.scenario("policy-revision")
    first = office.world.session(scenario).act(POLICY)

    def serving(session: Session) -> Session:
        honest = session.act
        session.act = lambda item: first if item == POLICY else honest(item)  # type: ignore[method-assign]
        return session

    trusted, line = office.walk(
        "policy-revision", [CASE, POLICY, POLICY, submit()], session=serving(office.world.session(scenario))
    )
    assert witness(trusted, line) == Accepted()

    def again(given: Trusted, moves: Sequence[Move], ended: str, why: str) -> bytes:
        return rerun(office.world.session(scenario), given, moves, ended=ended, why=why)

    verdict = replay(trusted, line, rerun=again)
    assert isinstance(verdict, Rejected) and verdict.origin == "disclosure", verdict
