"""The contract of a world: deterministic, pure, closed against odd actions, and honest in its own episodes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sealkit.verify.conformance.finding import Broken, Finding, examine_all, spell_verdict
from sealkit.verify.conformance.trial import (
    SEEDS,
    fingerprint,
    trial_episode,
    trial_params,
    trial_scenario,
    trial_slot,
    trial_slots,
)
from sealkit.wire.canon import decode_record, encode_value
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Action, Episode, Move, Trusted
from sealkit.wire.patch import covers, diff
from sealkit.wire.records import Json
from sealkit.wire.verdict import Accepted
from sealkit.world.loader import (
    LoadedWorld,
    load_judge,
    load_probes,
    load_verifier,
    load_world,
    make_scenario,
    read_text,
)
from sealkit.world.reference import reference_root
from sealkit.world.witness import rerun

ODD_VALUES: tuple[Json, ...] = (None, True, -1, 2**53 - 1, "", "no such thing", "\u202e\x00", [], {}, [{"a": None}])
STEPS = 25
SCENARIOS = "scenarios keep the format, one a (family, seed)"


def examine_world(root: Path, name: str) -> tuple[Finding, ...]:
    """One finding for each clause that the world in `root/worlds/name` must keep."""
    return examine_all(_clauses(root, name), foundations=("loads", SCENARIOS))


def _clauses(root: Path, name: str) -> Iterator[tuple[str, Callable[[], str]]]:
    loaded: list[LoadedWorld] = []

    def loads() -> str:
        loaded.append(load_world(root, name))
        if not loaded[0].families or not loaded[0].agents:
            raise Broken("no families or no scripted agents: nothing to try the world with; write agents.py")
        return f"{len(loaded[0].families)} families, {len(loaded[0].agents)} scripted agents"

    yield "loads", loads
    world = loaded[0]
    yield "has a SPEC.md that names every family", lambda: _spec(root, world)
    yield SCENARIOS, lambda: _scenarios(world)
    yield "the same in another process under another PYTHONHASHSEED", lambda: _same_elsewhere(root, name)
    yield "takes any action without raising, inside its footprint", lambda: _odd_actions(world)
    yield "never changes the state it is given", lambda: _never_mutates(world)
    yield "comes back to a snapshot whole", lambda: _comes_back(world)
    yield "witness accepts every trial episode", lambda: _witnessed(root, world)
    yield "gives the same bytes for the same actions", lambda: _replays(world)
    yield "the judge is pure and gives its declared measures", lambda: _judge(root, world)
    if (world.folder / "probes.py").is_file():
        yield "keeps its own probes", lambda: _probed(world)


def _spec(root: Path, world: LoadedWorld) -> str:
    spec = root / "worlds" / world.name / "SPEC.md"
    text = spec.read_text(encoding="utf-8") if spec.is_file() else ""
    missing = [family for family in world.families if family not in text]
    if missing:
        raise Broken(f"worlds/{world.name}/SPEC.md does not name {', '.join(missing)}; describe each family there")
    return f"{len(text.splitlines())} lines"


def _scenarios(world: LoadedWorld) -> str:
    count = 0
    for family in world.families:
        lines = {trial_scenario(world, family, seed) for seed in SEEDS}
        if any(trial_scenario(world, family, seed) not in lines for seed in SEEDS):
            raise Broken(f"family {family}: asked twice, the same seed gave two scenarios")
        count += len(lines)
    return f"{count} scenarios over seeds {SEEDS[0]} to {SEEDS[-1]}"


def _same_elsewhere(root: Path, name: str) -> str:
    here = fingerprint(root, name)
    package = Path(__file__).parents[3]
    for seed in ("1", "2"):
        path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
        there = subprocess.run(
            [sys.executable, "-m", "sealkit.verify.conformance.trial", str(root), name],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if there.stdout.strip() != here:
            words = (there.stderr.strip().splitlines() or ["other bytes"])[-1]
            raise Broken(f"PYTHONHASHSEED={seed}: {words}; look for sets, hash(), random, time and object ids")
    return "two more processes, identical bytes"


def _odd_actions(world: LoadedWorld) -> str:
    tried = 0
    slots = [trusted for trusted in trial_slots(world) if trusted.slot["seed"] == 0]
    for family in world.families:
        scenario = make_scenario(world, family, 0, trial_params(world))
        names = [*scenario.footprints, "no such action"]
        keys = sorted(_argument_names(world, [slot for slot in slots if slot.slot["family"] == family]) | {"x"})
        for name in names:
            for value in ODD_VALUES:
                filled: dict[str, Json] = {key: value for key in keys}
                for args in ({}, filled):
                    _inside_footprint(world, scenario, Action(name=name, args=args))
                    tried += 1
    return f"{tried} odd actions"


def _argument_names(world: LoadedWorld, slots: Sequence[Trusted]) -> set[str]:
    """Argument names that the scripted agents use in these slots, found by watching them."""
    episodes = [decode_record(trial_episode(world, trusted), Episode) for trusted in slots]
    return {key for episode in episodes for act in episode.acts[1:] for key in act.action.args}


def _inside_footprint(world: LoadedWorld, scenario: Scenario, action: Action) -> None:
    session = world.session(scenario)
    before = session.material()
    session.act(action)
    allowed = scenario.footprints.get(action.name, ())
    for op in diff(before, session.material()):
        if not any(covers(pattern, op.path) for pattern in allowed):
            raise Broken(f"{action.name} {action.args!r:.80} changed {op.path}, outside its footprint")


def _never_mutates(world: LoadedWorld) -> str:
    acts = 0
    for trusted in trial_slots(world):
        session = world.session(decode_record(trusted.scenario, Scenario))
        for act in decode_record(trial_episode(world, trusted), Episode).acts[1:STEPS]:
            before = session.material()
            kept = encode_value(before)
            session.act(act.action)
            if encode_value(before) != kept:
                raise Broken(f"{act.action.name} changed the state that it was given; return a new one")
            acts += 1
    return f"{acts} acts"


def _comes_back(world: LoadedWorld) -> str:
    tried = 0
    for trusted in trial_slots(world):
        session = world.session(decode_record(trusted.scenario, Scenario))
        actions = [act.action for act in decode_record(trial_episode(world, trusted), Episode).acts[1:STEPS]]
        half = len(actions) // 2
        for action in actions[:half]:
            session.act(action)
        kept, before = session.snapshot(), encode_value(session.material())
        first = [_told(session.act(action)) for action in actions[half:]]
        after = encode_value(session.material())
        session.restore(kept)
        if encode_value(session.material()) != before:
            raise Broken("after a restore the material state is another than at the snapshot")
        if [_told(session.act(action)) for action in actions[half:]] != first or encode_value(
            session.material()
        ) != after:
            raise Broken("the same actions after a restore went another way: something lives outside the snapshot")
        tried += 1
    return f"{tried} episodes, each restored half way"


def _told(told: object) -> str:
    return repr(told)


def _witnessed(root: Path, world: LoadedWorld) -> str:
    folder = root / "verifiers" / "witness"
    if not folder.is_dir():
        folder = reference_root() / "verifiers" / "witness"
    check = load_verifier(folder)
    count = 0
    for trusted in trial_slots(world):
        verdict = check(trusted, trial_episode(world, trusted))
        if not isinstance(verdict, Accepted):
            raise Broken(f"slot {trusted.slot}: {spell_verdict(verdict)}")
        count += 1
    return f"{count} episodes"


def _replays(world: LoadedWorld) -> str:
    count = 0
    for trusted in trial_slots(world):
        line = trial_episode(world, trusted)
        episode = decode_record(line, Episode)
        session = world.session(decode_record(trusted.scenario, Scenario))
        moves = [Move(action=act.action, calls=act.calls, memory=act.memory) for act in episode.acts[1:]]
        if rerun(session, trusted, moves, ended=episode.closing.ended, why=episode.closing.why) != line:
            raise Broken(f"slot {trusted.slot}: run again with the same actions it left other bytes")
        count += 1
    return f"{count} episodes"


def _judge(root: Path, world: LoadedWorld) -> str:
    judge, measures = load_judge(root, f"worlds/{world.name}/judge")
    for trusted in trial_slots(world):
        scenario = decode_record(trusted.scenario, Scenario)
        episode = decode_record(trial_episode(world, trusted), Episode)
        given = dict(judge(scenario, episode))
        if sorted(given) != sorted(measures):
            raise Broken(f"slot {trusted.slot}: gave {sorted(given)}, declares {sorted(measures)}")
        encode_value(given)
        if dict(judge(scenario, episode)) != given:
            raise Broken(f"slot {trusted.slot}: judged twice, it gave two answers")
    return ", ".join(measures)


def _probed(world: LoadedWorld) -> str:
    def build(family: str, seed: int, agent: str) -> tuple[Scenario, Episode]:
        line = trial_scenario(world, family, seed)
        episode = trial_episode(world, trial_slot(line, family, seed, agent))
        return decode_record(line, Scenario), decode_record(episode, Episode)

    probed = list(load_probes(world)(build, lambda file: read_text(world.folder, file)))
    failed = [f"{item.name}: {item.fault}" for item in probed if item.fault]
    if failed or not probed:
        raise Broken(f"{len(failed)} of {len(probed)} probes failed: " + "; ".join(failed[:5]))
    groups = Counter(item.group for item in probed)
    return ", ".join(f"{group} {count} of {count}" for group, count in groups.items())
