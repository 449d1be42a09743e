"""Which pin is in force at each entry, and the phase that the entries before an amendment say."""

from __future__ import annotations

import msgspec
import pytest

from sealkit.seal.in_force import PHASES, Due, InForce, Phases
from sealkit.wire.chain import Entry
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import (
    Admitted,
    Amended,
    Analysed,
    Attempted,
    Closed,
    EpisodeKept,
    Event,
    Failed,
    Looked,
    Opened,
    Phase,
    Recovered,
    Repaired,
    Sealed,
    Stage,
    Verified,
    Withdrawn,
)

PINS = tuple(digest_bytes(b"pin %d" % number) for number in range(4))
SEALED = Sealed(plan="v1", pin=PINS[0])
SLOT: dict[str, int | str] = {"arm": "A", "family": "f", "seed": 0}


def opened(pin: int = 0, stage: Stage = "confirmatory") -> Opened:
    return Opened(stage=stage, pin=PINS[pin], sealkit="0.1.0", environment=PINS[0])


def tried(pin: int = 0, stage: Stage = "confirmatory") -> Attempted:
    return Attempted(stage=stage, pin=PINS[pin], slot=SLOT, attempt=1)


def kept(pin: int = 0, stage: Stage = "confirmatory") -> EpisodeKept:
    return EpisodeKept(stage=stage, pin=PINS[pin], slot=SLOT, attempt=1, digest=PINS[0], bytes=1, calls=None)


def failed(pin: int = 0) -> Failed:
    return Failed(stage="confirmatory", pin=PINS[pin], slot=SLOT, attempt=1, ending="harness_error", why="", calls=None)


def amended(number: int, phase: Phase) -> Amended:
    return Amended(number=number, pin=PINS[number], phase=phase)


LOOK = Looked(what="analyse")
ANALYSED = Analysed(results=PINS[0])
MENDS = (Recovered(entry=0), Repaired(file="journal.jsonl", offset=0, bytes=1, digest=PINS[0], moved_to="torn/x"))


def followed(events: list[Event], due: tuple[Due, ...] = ()) -> InForce:
    in_force = InForce(SEALED, due, 2)
    for seq, event in enumerate([SEALED, *events]):
        in_force.follow(Entry(seq=seq, prev=None, time="2026-11-30T12:00:00Z", event=event), f"entry {seq}")
    return in_force


def due(number: int, phase: Phase, after: int) -> Due:
    return Due(event=amended(number, phase), after=after, file=f"v1.A-000{number}.json", slots=2)


@pytest.mark.parametrize(
    ("events", "phase"),
    [
        ([], "before_any_episode"),
        ([opened()], "before_any_episode"),
        ([tried(stage="smoke")], "after_smoke"),
        ([tried(stage="smoke"), kept(stage="smoke")], "after_smoke"),
        ([tried(stage="smoke"), tried()], "after_first_episode"),
        ([tried(), failed()], "after_first_episode"),
        (
            [tried(), kept(), Closed(stage="confirmatory", slots=1, episodes=1, abandoned=0, missing=0)],
            "after_last_episode",
        ),
        (
            [tried(), kept(), Verified(verifiers={}, accepted=1, rejected={}, abstained=0, errored=0)],
            "after_first_episode",
        ),
        ([tried(), kept(), Admitted(arms={})], "after_first_episode"),
        ([tried(), kept(), tried(), kept()], "after_last_episode"),  # killed before it was closed
        ([tried(), kept(), LOOK], "after_first_look"),
        ([LOOK], "after_first_look"),
        ([tried(), kept(), LOOK, ANALYSED], "after_analysis"),
        ([tried(), kept(), LOOK, ANALYSED, tried(stage="smoke"), LOOK], "after_analysis"),
        ([tried(), Withdrawn(what="all", reason="x")], "after_first_episode"),
    ],
)
def test_the_phase_is_the_furthest_that_was_reached(events: list[Event], phase: Phase) -> None:
    phases = Phases(2)
    for event in events:
        phases.follow(event)
    assert phases.phase == phase
    in_force = followed([*events, amended(1, phase)], (due(1, phase, len(events) + 1),))
    assert (in_force.pin, in_force.met) == (PINS[1], 1)
    for other in PHASES:
        if other != phase:  # neither the entry nor the file may say another
            for entry, file in ((other, phase), (phase, other), (other, other)):
                with pytest.raises(UntrustedError, match=f"says {other}, but the entries before it say {phase}"):
                    followed([*events, amended(1, entry)], (due(1, file, len(events) + 1),))


def test_a_plan_that_is_left_no_more_slots_than_were_kept_is_complete() -> None:
    """Whoever drops what was not played yet knows all that is left."""
    few = msgspec.structs.replace(due(1, "after_first_episode", 3), slots=1)
    said: list[Event] = [tried(), kept(), amended(1, "after_first_episode")]
    assert followed(said, (few,)).phases.phase == "after_last_episode"
    again = due(2, "after_first_episode", 4)
    with pytest.raises(UntrustedError, match="says after_first_episode, but the entries before it say after_last_ep"):
        followed([*said, amended(2, "after_first_episode")], (few, again))


def test_everything_runs_under_the_pin_in_force() -> None:
    two = (due(1, "after_first_episode", 3), due(2, "after_first_episode", 6))
    good: list[Event] = [
        opened(), tried(), amended(1, "after_first_episode"), tried(1), kept(1), amended(2, "after_first_episode"), opened(2),
    ]  # fmt: skip
    with pytest.raises(UntrustedError, match="after 3 entries, but its entry comes after"):
        followed([opened(), tried(), kept(), amended(1, "after_first_episode")], two)
    followed(good, two).end(where="journal")


@pytest.mark.parametrize(
    "event", [opened(0), tried(0), kept(0), failed(0), opened(2), tried(2), kept(2), tried(0, "smoke")]
)
def test_what_runs_under_another_pin_is_refused(event: Event) -> None:
    with pytest.raises(UntrustedError, match=r"entry 3: evidence: an (episode|attempt) of another pin or of a pilot"):
        followed([tried(), amended(1, "after_first_episode"), event], (due(1, "after_first_episode", 2),))


@pytest.mark.parametrize("event", [tried(0, "pilot"), kept(0, "pilot"), opened(0, "pilot")])
def test_a_pilot_is_none_of_a_sealed_journal(event: Event) -> None:
    with pytest.raises(UntrustedError, match="of another pin or of a pilot"):
        followed([event])


def test_an_entry_without_its_file_is_refused() -> None:
    with pytest.raises(UntrustedError, match="entry 1: amendment 1 has an entry, but no file beside the plan"):
        followed([amended(1, "before_any_episode")])


def test_a_file_without_its_entry_is_refused_at_the_end() -> None:
    both = (due(1, "before_any_episode", 1), due(2, "before_any_episode", 2))
    in_force = followed([amended(1, "before_any_episode")], both)
    with pytest.raises(UntrustedError, match=r"amendment 2 \(v1\.A-0002\.json\) has no entry .*`sealkit amend PLAN`"):
        in_force.end(where="journal")
    in_force.end(where="journal", lacking=1)
    with pytest.raises(UntrustedError, match="amendment 1"):
        followed([], both).end(where="journal", lacking=1)


@pytest.mark.parametrize(
    "event", [amended(2, "before_any_episode"), Amended(number=1, pin=PINS[3], phase="before_any_episode")]
)
def test_an_entry_of_another_amendment_is_refused(event: Event) -> None:
    with pytest.raises(UntrustedError, match=r"found amendment \d of pin [0-9a-f]{12}, but v1\.A-0001\.json is"):
        followed([event], (due(1, "before_any_episode", 1),))


def test_between_an_amendment_and_its_entry_there_is_nothing_but_mending() -> None:
    followed([*MENDS, amended(1, "before_any_episode")], (due(1, "before_any_episode", 1),))
    for event in (opened(), LOOK, Withdrawn(what="all", reason="x")):
        with pytest.raises(UntrustedError, match="was made after 1 entries, but its entry comes after 2 others"):
            followed([event, amended(1, "before_any_episode")], (due(1, "before_any_episode", 1),))
    with pytest.raises(UntrustedError, match="was made after 9 entries"):
        followed([amended(1, "before_any_episode")], (due(1, "before_any_episode", 9),))
