"""Which model roles sealkit itself asks in a stage, and the command that runs a plan with or without them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sealkit.files import to_type
from sealkit.plan.actors import ReferenceWorld, models_of, roles_of
from sealkit.plan.readings import reading_roles
from sealkit.plan.schema import Spec
from sealkit.plan.slots import Stage, grid


def roles_asked_for_arms(spec: Spec, stage: Stage) -> tuple[str, ...]:
    """Those that it asks for the arms of this stage; an external world asks by itself."""
    if not isinstance(spec.world, ReferenceWorld):
        return ()
    arms = (spec.factors.arm[str(name)] for name in grid(spec, stage)["arm"])
    return tuple(dict.fromkeys(role for arm in arms for role in roles_of(arm)))


def roles_asked_for_readings(spec: Spec, stage: Stage) -> tuple[str, ...]:
    """Those that it asks for readings of this stage's episodes; a pilot's are not read."""
    if stage == "pilot":
        return ()
    return reading_roles(spec, map(str, grid(spec, stage)["arm"]))


def is_priced(spec: Spec, roles: Iterable[str]) -> bool:
    """Whether every model of these roles has a price, so that what its calls cost is known."""
    return all(
        model.price_per_million_tokens is not None for role in roles for _, model in models_of(spec.models[role])
    )


def to_run(path: Path, spec: Spec, *words: str) -> str:
    """What to type to run the plan at `path`; with a place for an endpoint if the run asks models."""
    stage: Stage = "smoke" if "--smoke" in words else "confirmatory"
    asks = roles_asked_for_arms(spec, stage) or roles_asked_for_readings(spec, stage)
    return to_type("run", path, *words, *(("--endpoint", "URL") if asks else ()))


def to_run_stage(path: Path, spec: Spec, stage: Stage) -> str:
    """What to type to run this stage of the plan at `path`, or to go on with it."""
    if stage != "pilot":
        return to_run(path, spec, *(("--smoke",) if stage == "smoke" else ()))
    return to_type("pilot", path, *(("--endpoint", "URL") if roles_asked_for_arms(spec, stage) else ()))


__all__ = ["is_priced", "roles_asked_for_arms", "roles_asked_for_readings", "to_run", "to_run_stage"]
