"""Where a stage stands after an amendment: what is kept, what is run again, what is given up for good."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sealkit.run.progress import Standing, begin_sealed
from sealkit.seal.amend import amending
from sealkit.seal.pins import Pinned
from sealkit.seal.seal import make_seal
from sealkit.seal.sealed import open_seal
from sealkit.wire.chain import Entry
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Amended, Attempted, Closed, EpisodeKept, Event, Failed, Phase, Slot, Stage
from tests.seal.studies import NOW, edit, make_study, plan_of

BLOCKS: tuple[Slot, ...] = ({"family": "windy", "seed": 7}, {"family": "calm", "seed": 3})


@pytest.fixture(scope="module")
def pins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pinned, ...]:
    """Pin 1 mends the world, pin 2 supersedes two blocks, pin 3 has seed 5 instead of seed 3."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        study = make_study(tmp_path_factory.mktemp("study"))
        make_seal(plan_of(study), now=NOW).close()
        amend(study, lambda: edit(study / "worlds/pond/world.py", "Hop.", "Hup."))
        amend(study, lambda: edit(study / "worlds/pond/world.py", "Hup.", "Hip."), BLOCKS)
        amend(study, lambda: edit(plan_of(study), "seed: [7, 0, 3]", "seed: [7, 0, 5]"))
        return open_seal(plan_of(study)).pins


def amend(study: Path, change: Callable[[], None], superseded: tuple[Slot, ...] = ()) -> None:
    change()
    with amending(plan_of(study), now=NOW) as draft:
        draft.commit(draft.amendment(reason="a test", superseded=superseded)).close()


class Journal:
    """Entries of one stage, followed as they are told."""

    def __init__(self, pins: tuple[Pinned, ...], stage: Stage = "confirmatory") -> None:
        self.pins, self.stage = pins, stage
        self.state: Standing = begin_sealed(pins, stage)
        self.pin = pins[0].pin
        self.seq = 0

    def tell(self, event: Event) -> None:
        self.seq += 1
        self.state.follow(Entry(seq=self.seq, prev=None, time="2026-11-30T12:00:00Z", event=event))

    def slot(self, arm: str, family: str, seed: int) -> Slot:
        return {"arm": arm, "family": family, "seed": seed}

    def attempt(self, slot: Slot) -> int:
        number = self.state.tried[self.state.index(slot)] + 1
        self.tell(Attempted(stage=self.stage, pin=self.pin, slot=slot, attempt=number))
        return number

    def keep(self, *slot: str | int) -> None:
        where = self.slot(*slot)  # type: ignore[arg-type]
        number = self.attempt(where)
        digest = digest_bytes(b"")
        self.tell(
            EpisodeKept(stage=self.stage, pin=self.pin, slot=where, attempt=number, digest=digest, bytes=1, calls=None)
        )

    def fail(self, *slot: str | int) -> None:
        where = self.slot(*slot)  # type: ignore[arg-type]
        number = self.attempt(where)
        self.tell(
            Failed(
                stage=self.stage, pin=self.pin, slot=where, attempt=number, ending="harness_error", why="", calls=None
            )
        )

    def amended(self, number: int, phase: Phase = "after_first_episode") -> None:
        self.pin = self.pins[number].pin
        self.tell(Amended(number=number, pin=self.pin, phase=phase))

    def close(self) -> None:
        state = self.state
        self.tell(
            Closed(
                stage=self.stage,
                slots=state.index.count,
                episodes=state.episodes,
                abandoned=sum(state.abandoned.values()),
                missing=state.index.count - state.episodes,
            )
        )


SLOTS = [(arm, family, seed) for arm in ("frog", "toad") for family in ("windy", "calm") for seed in (7, 0, 3)]


def whole(pins: tuple[Pinned, ...], *, failing: tuple[str, str, int] | None = None) -> Journal:
    journal = Journal(pins)
    for slot in SLOTS:
        if slot == failing:
            journal.fail(*slot)
            journal.fail(*slot)
        else:
            journal.keep(*slot)
    journal.close()
    return journal


def test_a_harness_fix_keeps_every_episode_and_a_closed_run_closed(pins: tuple[Pinned, ...]) -> None:
    journal = whole(pins)
    journal.amended(1)
    assert (journal.state.episodes, journal.state.closed) == (12, True)
    with pytest.raises(UntrustedError, match=r"after the run was closed|has an episode already"):
        journal.keep(*SLOTS[0])


def test_a_superseded_block_is_run_again_in_every_arm(pins: tuple[Pinned, ...]) -> None:
    journal = whole(pins)
    journal.amended(1)
    journal.amended(2)
    state = journal.state
    assert (state.episodes, state.closed) == (8, False)
    for arm in ("frog", "toad"):
        for block in BLOCKS:
            number = state.index({"arm": arm} | block)
            assert not state.kept[number] and state.tried[number] == 1
            journal.keep(arm, *block.values())
            assert state.tried[number] == 2  # attempts go on counting
    journal.close()
    assert (journal.state.episodes, journal.state.closed) == (12, True)


def test_another_sample_drops_slots_and_gains_slots(pins: tuple[Pinned, ...]) -> None:
    journal = whole(pins)
    for number in (1, 2, 3):
        journal.amended(number)
    state = journal.state
    assert (state.episodes, state.closed, state.index.count) == (
        6,
        False,
        12,
    )  # 12 - 4 superseded - 4 of seed 3, 2 both
    with pytest.raises(UntrustedError, match=r"the plan has no slot .*'seed': 3"):
        journal.keep("frog", "calm", 3)
    journal.keep("frog", "calm", 5)
    assert journal.state.episodes == 7


@pytest.mark.parametrize("phase", ["after_last_episode", "after_first_look", "after_analysis"])
def test_a_slot_that_was_given_up_is_tried_again_unless_somebody_looked(pins: tuple[Pinned, ...], phase: Phase) -> None:
    given_up = SLOTS[5]
    journal = whole(pins, failing=given_up)
    assert (journal.state.episodes, journal.state.closed) == (11, True)
    journal.amended(1, phase)
    looked = phase != "after_last_episode"
    number = journal.state.index(journal.slot(*given_up))
    assert journal.state.closed is looked
    assert journal.state.failed[number] == (2 if looked else 0)
    assert journal.state.tried[number] == 2
    if not looked:
        journal.keep(*given_up)
        journal.close()
        assert (journal.state.episodes, journal.state.closed) == (12, True)


@pytest.mark.parametrize("phase", ["after_first_look", "after_analysis", "after_last_episode"])
def test_slots_that_a_stop_left_are_never_played(pins: tuple[Pinned, ...], phase: Phase) -> None:
    journal = Journal(pins)
    for slot in SLOTS[:5]:
        journal.keep(*slot)
    journal.close()  # `run --stop`
    journal.amended(1, phase)
    state = journal.state
    assert (state.episodes, state.closed, state.untried()) == (5, True, 0)
    journal.amended(2, phase)  # supersedes blocks, which are run again whole
    assert not state.closed and state.untried() == 4
    journal.keep(*SLOTS[0])
    with pytest.raises(UntrustedError, match="was left when the run was closed"):
        journal.keep("toad", "windy", 0)


def test_a_smoke_run_begins_anew(pins: tuple[Pinned, ...]) -> None:
    journal = Journal(pins, "smoke")
    for arm in ("frog", "toad"):
        journal.keep(arm, "calm", 1)
    journal.close()
    journal.amended(1)
    assert (journal.state.episodes, journal.state.closed) == (0, False)
    journal.keep("frog", "calm", 1)
    assert journal.state.tried[journal.state.index(journal.slot("frog", "calm", 1))] == 1


def test_what_was_under_way_stays_abandoned(pins: tuple[Pinned, ...]) -> None:
    journal = Journal(pins)
    journal.attempt(journal.slot("frog", "calm", 0))
    journal.amended(1)
    digest = digest_bytes(b"")
    slot = journal.slot("frog", "calm", 0)
    with pytest.raises(UntrustedError, match="which is not under way"):
        journal.tell(
            EpisodeKept(stage="confirmatory", pin=journal.pin, slot=slot, attempt=1, digest=digest, bytes=1, calls=None)
        )
    journal.keep("frog", "calm", 0)
    assert journal.state.abandoned == {"frog": 1}


def test_an_amendment_that_is_not_there_is_refused(pins: tuple[Pinned, ...]) -> None:
    journal = Journal(pins[:2])
    with pytest.raises(UntrustedError, match="there is no amendment 2"):
        journal.tell(Amended(number=2, pin=pins[2].pin, phase="after_first_episode"))
