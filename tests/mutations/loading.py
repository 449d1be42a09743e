"""Mutations and parents for tests, loaded by path as a study would."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

from sealkit.run.play import play_scripted
from sealkit.verify.conformance.trial import TRIAL_JUDGE, TRIAL_PIN, trial_scenario
from sealkit.wire.canon import decode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Trusted
from sealkit.world.loader import LoadedWorld, Policy, load_package, load_policies, load_world
from tests.studies import ROOT

_package = load_package(ROOT / "mutations", "tests_mutations")


def part(name: str) -> Any:
    """A module of `mutations`."""
    return import_module(f"{_package.__name__}.{name}")


Parent = part("parent").Parent
InapplicableError = part("parent").InapplicableError
FAMILIES = part("catalogue").FAMILIES
make_fork = part("fork").make_fork
audit = part("isolation.audit").audit


@lru_cache
def world(name: str) -> LoadedWorld:
    return load_world(ROOT / "tests" / "toy" if name == "toy" else ROOT, name)


@lru_cache
def policies() -> dict[str, Policy]:
    """Every policy by name."""
    folders = ("terminal", "event_log", "milestones", "telemetry", "causal", "witness")
    return {name: each for folder in folders for name, each in load_policies(ROOT / "verifiers" / folder).items()}


def session(of: str, trusted: Trusted) -> Callable[[], Any]:
    """Makes a fresh simulator for a slot."""
    return lambda: world(of).session(decode_record(trusted.scenario, Scenario))


@lru_cache
def parent(of: str, family: str, agent: str, seed: int = 0, *, steps: bool = True) -> Any:
    """A faithful episode of a world's scripted agent; with `steps`, its executor keeps its own."""
    slot: dict[str, int | str] = {"arm": agent, "family": family, "seed": seed}
    trusted = Trusted(pin=TRIAL_PIN, judge=TRIAL_JUDGE, slot=slot, scenario=trial_scenario(world(of), family, seed))
    line = play_scripted(world(of), agent, trusted)
    if steps:
        parents = part("parents")
        closing = Parent(trusted=trusted, line=line).document["closing"]
        line = parents.instrumented(
            session(of, trusted)(), trusted, parents.moves_of(line), ended=closing["ended"], why=closing["why"]
        )
    return Parent(trusted=trusted, line=line)


SOME = (
    ("underwriting", "chain-control", "interrupt_safe"),
    ("underwriting", "retraction-across-restore", "stale_context"),
    ("underwriting", "authority-conflict", "message_credulous"),
    ("house", "wrong_start", "tracker"),
    ("house", "stale_door", "rechecker"),
    ("toy", "storm", "tour"),
    ("toy", "storm", "restless", 2),  # an effect that is computed, and so is another one when applied twice
)


@lru_cache
def forks() -> tuple[Any, ...]:
    """Every fork of a few parents of every kind."""
    some = [parent(*each) for each in SOME]
    return tuple(fork for each in some for fork in part("fork").forks_of(each) if not isinstance(fork, tuple))
