"""Pilot and smoke episodes, which are never analysed: those whose evidence holds, measured by today's judge.

They may be looked at before the confirmatory run: they are on seeds of their own. A pilot's episodes are checked
against the scenarios that today's world makes, a smoke run's against the sealed ones; those that do not hold are only
counted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from sealkit.infer.admit import admit
from sealkit.plan.actors import ReferenceWorld
from sealkit.plan.load import Plan
from sealkit.seal.history import open_history
from sealkit.seal.journal import JOURNAL
from sealkit.seal.sealed import beside, open_seal, receipts_folder, study_of
from sealkit.verify.under_pin import REPLAY, Reviewer
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Episode, Trusted
from sealkit.wire.errors import HarnessError, SealkitError
from sealkit.wire.events import EpisodeKept
from sealkit.wire.records import Json
from sealkit.wire.verdict import Errored, Verdict
from sealkit.world.loader import load_world, make_scenario

Stage: TypeAlias = Literal["pilot", "smoke"]
Measure: TypeAlias = Callable[[Scenario, Episode], Mapping[str, Json]]
Kept: TypeAlias = tuple[Trusted, bytes]


class _Closing(msgspec.Struct):
    judge: str


class _Peek(msgspec.Struct):
    closing: _Closing


_peek = msgspec.json.Decoder(_Peek).decode


@dataclass(frozen=True, slots=True)
class Trial:
    """What a pilot or a smoke run left: (arm, measures) of every episode that holds, and how many do not."""

    stage: Stage
    measured: tuple[tuple[str, Mapping[str, Json]], ...]
    left_out: int


def trials(plan_path: Path, plan: Plan, judge: Measure) -> tuple[Trial, ...]:
    """The pilot of a plan and its smoke run, as far as their journals hold; `HarnessError` if the judge fails."""
    kept: dict[Stage, list[Kept]] = {"pilot": [], "smoke": []}
    with contextlib.suppress(SealkitError, OSError):  # a journal that does not hold is for `verify` to name
        kept["pilot"] = list(_pilot(plan_path, plan))
    with contextlib.suppress(SealkitError, OSError):
        kept["smoke"] = list(_smoke(plan_path))
    return tuple(_trial(stage, plan, episodes, judge) for stage, episodes in kept.items() if episodes)


def _pilot(plan_path: Path, plan: Plan) -> Iterator[Kept]:
    study = study_of(plan_path)
    folder, world = receipts_folder(study, plan) / "pilot", plan.spec.world
    if not (folder / JOURNAL).exists() or not isinstance(world, ReferenceWorld):
        return
    loaded = load_world(study, world.name)
    for entry, line in open_history(folder, inside=study, first=None):
        if isinstance(entry.event, EpisodeKept) and line is not None:
            slot = entry.event.slot
            scenario = encode_record(make_scenario(loaded, str(slot["family"]), int(slot["seed"]), world.params))
            # A pilot is under no seal: its judge is whichever it was, and measures nothing here.
            yield Trusted(pin=entry.event.pin, judge=_peek(line).closing.judge, slot=slot, scenario=scenario), line


def _smoke(plan_path: Path) -> Iterator[Kept]:
    if not beside(plan_path, "seal.json").exists():
        return
    with contextlib.closing(open_seal(plan_path)) as sealed:
        for entry, line in sealed.history():
            if isinstance(entry.event, EpisodeKept) and entry.event.stage == "smoke" and line is not None:
                yield sealed.under(entry.event.pin).trusted(entry.event.slot), line


def _trial(stage: Stage, plan: Plan, episodes: list[Kept], judge: Measure) -> Trial:
    reviewer = Reviewer()
    checks = [own[0] for name in plan.spec.verifiers if name != REPLAY and (own := reviewer.own(name)) is not None]
    holding = [
        (trusted, line)
        for trusted, line in episodes
        if admit({str(number): _verdict(check, trusted, line) for number, check in enumerate(checks)}).status
        == "admitted"
    ]
    measured = tuple((str(trusted.slot["arm"]), _measures(judge, trusted, line, stage)) for trusted, line in holding)
    return Trial(stage, measured, len(episodes) - len(holding))


def _verdict(check: Callable[..., Verdict], trusted: Trusted, line: bytes) -> Verdict:
    try:
        return check(trusted, line)
    except Exception as error:  # the verifier's boundary
        return Errored(message=f"{type(error).__name__}: {error}")


def _measures(judge: Measure, trusted: Trusted, line: bytes, stage: str) -> Mapping[str, Json]:
    try:
        return dict(judge(decode_record(trusted.scenario, Scenario), decode_record(line, Episode)))
    except Exception as error:  # the study's own code may raise anything
        what = f"the judge fails on an episode of the {stage} run: {type(error).__name__}: {str(error)[:200]!a}"
        raise HarnessError(what, where=str(dict(trusted.slot)), remedy="mend it before it is sealed") from error
