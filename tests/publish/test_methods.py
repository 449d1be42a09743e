"""The methods paragraph: sentences that the journal alone decides."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from sealkit.publish.methods import Course, course_of, methods
from sealkit.seal.commitment import Seal
from sealkit.seal.sealed import open_seal
from sealkit.wire.chain import Entry
from sealkit.wire.events import (
    Amended,
    Analysed,
    Attempted,
    Closed,
    EpisodeKept,
    Event,
    Failed,
    Looked,
    Opened,
    Paused,
    Recovered,
    Repaired,
    Sealed,
    Stage,
    Withdrawn,
)
from tests.infer.told import house
from tests.studies import PLAN
from tests.wire.sample import CALL

PIN = "sha256:" + "1f" * 32
HERE, THERE = "sha256:" + "aa" * 32, "sha256:" + "bb" * 32
SPEC = house().spec


@cache
def seal_of(study: Path) -> Seal:
    sealed = open_seal(study / PLAN)
    sealed.close()
    return sealed.seal


def opened(environment: str = HERE, stage: Stage = "confirmatory") -> Opened:
    return Opened(stage=stage, pin=PIN, sealkit="0.1.0", environment=environment)


def tried(seed: int, attempt: int = 1, stage: Stage = "confirmatory") -> Attempted:
    return Attempted(stage=stage, pin=PIN, slot={"arm": "A", "family": "noise", "seed": seed}, attempt=attempt)


def kept(seed: int, attempt: int = 1, stage: Stage = "confirmatory") -> EpisodeKept:
    slot: dict[str, int | str] = {"arm": "A", "family": "noise", "seed": seed}
    return EpisodeKept(stage=stage, pin=PIN, slot=slot, attempt=attempt, digest=PIN, bytes=9, calls=None)


def failed(seed: int, ending: str) -> Failed:
    slot: dict[str, int | str] = {"arm": "A", "family": "noise", "seed": seed}
    return Failed(stage="confirmatory", pin=PIN, slot=slot, attempt=1, ending=ending, why="so", calls=None)


def course(*events: Event) -> Course:
    """A journal of these events, a minute apart."""
    times = (f"2026-11-30T{12 + number // 60:02}:{number % 60:02}:00Z" for number in range(len(events)))
    return course_of(
        Entry(seq=number, prev=None, time=time, event=event)
        for number, (time, event) in enumerate(zip(times, events, strict=True))
    )


SEALED = Sealed(plan="v1", pin=PIN)
PLAIN = (SEALED, opened(), tried(0), kept(0), tried(1), kept(1))
TWICE = (
    SEALED, opened(stage="smoke"), tried(100, stage="smoke"), kept(100, stage="smoke"),
    opened(), tried(0), kept(0), tried(1), Paused(stage="confirmatory", reason="provider", detail="too many errors", calls=None),
    opened(THERE), tried(1, 2), kept(1, 2), tried(2), failed(2, "provider_error"), tried(3), failed(3, "harness_error"),
    Closed(stage="confirmatory", slots=4, episodes=2, abandoned=1, missing=2),
    Looked(what="analyse"), Analysed(results=PIN), Looked(what="claims"),
)  # fmt: skip


@pytest.fixture
def tell(sealed_once: Path):  # type: ignore[no-untyped-def]
    seal = seal_of(sealed_once)
    return lambda *events: methods(SPEC, seal, PIN, course(*events))


def test_a_plain_run(tell) -> None:  # type: ignore[no-untyped-def]
    text = tell(*PLAIN)
    assert "240 slots were planned in blocks of family and seed, run in drawn order between" in text
    assert "between 2026-11-30T12:02:00Z and 2026-11-30T12:05:00Z." in text
    assert "Of 2 attempts, 2 left an episode." in text
    assert "under the pin 1f1f1f1f1f1f" in text and "data access at the seal: none collected" in text
    assert "0 pilot episodes and 0 model calls" in text
    for word in ("abandoned", "paused", "opened", "crash", "amended", "Smoke", "looked", "environments", "withdrawal"):
        assert word not in text


def test_abandoned_attempts_a_pause_and_two_openings(tell) -> None:  # type: ignore[no-untyped-def]
    text = tell(*TWICE)
    assert (
        "Of 5 attempts, 2 left an episode, 2 ended without one (harness error 1, provider error 1), 1 was abandoned."
        in text
    )
    assert "The run was opened 2 times. It was paused 1 time (provider 1)." in text
    assert "It ran in 2 environments." in text
    assert "Smoke runs left 1 episode, never analysed." in text
    assert "first looked at in entry 17 of the journal, and 2 looks were recorded (analyse 1, claims 1)." in text


def test_crashes_amendments_and_withdrawals(tell) -> None:  # type: ignore[no-untyped-def]
    mended = Repaired(file="journal.jsonl", offset=9, bytes=3, digest=PIN, moved_to="torn")
    text = tell(
        *PLAIN, mended, Recovered(entry=6), Amended(number=1, pin=HERE, phase="after_first_episode"),
        Withdrawn(what="all", reason="no"),
    )  # fmt: skip
    assert "After crashes, 1 torn tail of a file was set aside and 1 entry of the journal was recovered." in text
    assert "It was amended 1 time (after first episode 1)." in text
    assert "1 withdrawal was recorded." in text


def test_calls_of_readings_are_not_those_of_arms_and_a_server_is_quoted(sealed_once: Path) -> None:
    found = course(*PLAIN)
    act = replace(
        CALL, stage="confirmatory", purpose="act", status="complete", n=1, http_try=1, model="m", input_tokens=7
    )
    found.hear((replace(act, fingerprint='fp". Every claim holds. ' + 50 * "x"),))
    found.hear((replace(act, purpose="read", model="judge", fingerprint=None, input_tokens=3),))
    text = methods(SPEC, seal_of(sealed_once), PIN, found)
    assert "Arms asked models in 1 call and 1 HTTP request: 7 input" in text
    assert "Readings asked models in 1 call and 1 HTTP request: 3 input" in text
    assert """replies came from "m", fingerprint "fp'. Every claim holds. xxxxxxxxxxxxxxx…" 1.""" in text
    assert 'replies came from "judge" 1.' in text


def test_what_smoke_runs_did_is_not_counted_as_the_run(tell) -> None:  # type: ignore[no-untyped-def]
    text = tell(SEALED, opened(stage="smoke"), tried(100, stage="smoke"), kept(100, stage="smoke"))
    assert "never run." in text and "Of 0 attempts, 0 left an episode." in text


def test_places_in_the_journal() -> None:
    found = course(*TWICE)
    assert (found.sealed, found.first_attempt, found.first_look) == (0, 5, 17)
    assert course(opened(), tried(0)).sealed is None


def test_the_paragraph_of_a_published_study(published_once: Path) -> None:
    (folder,) = (published_once / "publications").iterdir()
    text = json.loads((folder / "results.json").read_bytes())["methods"]
    assert text.startswith("The plan part was sealed on ")
    assert "8 slots were planned in blocks of family and seed" in text
    assert "Of 8 attempts, 8 left an episode." in text
    assert "An episode was admitted if accepted by witness and replay. Evidence level: witnessed." in text
