"""Trial episodes of a world: every family, a few seeds, every scripted agent, under a pin of no study."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from sealkit.run.play import play_scripted
from sealkit.wire.canon import encode_record
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Trusted
from sealkit.wire.recorded import (
    Answer,
    AssignedModel,
    Assignment,
    BinaryForm,
    FromCommand,
    Usage,
    record_answer,
)
from sealkit.wire.records import Json, Level
from sealkit.world.loader import LoadedWorld, load_world, make_scenario

TRIAL_PIN = digest_bytes(b"sealkit conformance: no study")
TRIAL_JUDGE = digest_bytes(b"sealkit conformance: no judge")
SEEDS = (0, 1, 2)


def trial_params(world: LoadedWorld) -> Mapping[str, Json]:
    """The parameters under which a world is tried: its `TRIAL_PARAMS`, or none."""
    return world.trial_params


def trial_scenario(world: LoadedWorld, family: str, seed: int) -> bytes:
    """The scenario line of one trial."""
    return encode_record(make_scenario(world, family, seed, trial_params(world)))


def trial_slots(world: LoadedWorld) -> Iterator[Trusted]:
    """One `Trusted` for each family, seed and scripted agent."""
    for family in world.families:
        for seed in SEEDS:
            scenario = trial_scenario(world, family, seed)
            for agent in world.agents:
                yield trial_slot(scenario, family, seed, agent)


def trial_slot(scenario: bytes, family: str, seed: int, agent: str) -> Trusted:
    """The slot of one agent in one scenario."""
    slot: dict[str, int | str] = {"arm": agent, "family": family, "seed": seed}
    return Trusted(pin=TRIAL_PIN, judge=TRIAL_JUDGE, slot=slot, scenario=scenario)


def trial_episode(world: LoadedWorld, trusted: Trusted) -> bytes:
    """The episode of one trial."""
    return play_scripted(world, str(trusted.slot["arm"]), trusted)


def trial_records() -> tuple[tuple[Trusted, bytes], ...]:
    """Records that answer what they were asked, of six slots in two arms."""
    return tuple(_trial_record(arm, seed) for arm in ("a", "b") for seed in range(3))


def _trial_record(arm: str, seed: int) -> tuple[Trusted, bytes]:
    slot: dict[str, Level] = {"arm": arm, "family": "trial", "seed": seed}
    asked = Assignment(
        plan="trial",
        slot=slot,
        options={"prompt": arm},
        models={"solver": AssignedModel(id="model-1", temperature="0", max_output_tokens=9, reasoning="off")},
        measures={"solved": (BinaryForm(unit=None),)},
        endings={"final": "judged", "refusal": "failure"},
    )
    answer = Answer(
        transcript=({"role": "user", "content": "?"},),
        measures={"solved": seed % 2},
        usage=Usage(calls=1, input_tokens=0, output_tokens=9),
        models={"solver": "model-1"},
        ended="final" if seed else "refusal",
        why="",
    )
    trusted = Trusted(pin=TRIAL_PIN, judge="", slot=slot, scenario=encode_record(asked))
    return trusted, record_answer(trusted, answer, FromCommand(answer=digest_bytes(b"answer")))


def fingerprint(root: Path, name: str) -> str:
    """One digest over every trial scenario and episode: equal in every process, or the world is not deterministic."""
    world = load_world(root, name)
    lines = [digest_bytes(trusted.scenario + trial_episode(world, trusted)) for trusted in trial_slots(world)]
    lines += [digest_bytes(trial_scenario(world, family, seed)) for family in world.families for seed in SEEDS]
    return digest_bytes(msgspec.json.encode(lines))


if __name__ == "__main__":
    print(fingerprint(Path(sys.argv[1]), sys.argv[2]))
