"""What a plan names in its study is there and loads: world, judge, readers, verifiers, agents, arms and programs.

    named = check_named(study, plan)        # before a seal: what fails here would fail in every slot
    named.world, named.judge

A name that stands for nothing is `UsageError` at its place in the plan, with those that are there. Code that is there
and does not load is `HarnessError` at the code.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sealkit.plan.actors import CommandArm, ExternalWorld, OwnArm, ScriptedArm, inside_study
from sealkit.plan.load import Plan
from sealkit.plan.parts import nearest
from sealkit.plan.problems import KeyPath
from sealkit.wire.errors import HarnessError, UsageError
from sealkit.world.loader import LoadedWorld, load_package, load_world, make_scenario
from sealkit.world.readers import open_readers
from sealkit.world.ruling import check_verifiers, open_judge
from sealkit.world.sdk import Judge

_PACKAGE = "__init__.py"


class Named(NamedTuple):
    """What was loaded of a plan; an external world has neither."""

    world: LoadedWorld | None
    judge: Judge | None


def check_named(study: Path, plan: Plan) -> Named:
    """Everything that the plan names, once it is known to be there and to load."""
    spec = plan.spec
    for place, name in enumerate(spec.verifiers):
        _there(study, plan, ("verifiers", place), "verifier", name, _packages(study, "verifiers"))
    check_verifiers(study, plan)
    _check_arms(study, plan)
    if isinstance(spec.world, ExternalWorld):
        _check_trees(study, plan, ("world", "trees"), spec.world.trees)
        if spec.world.run is not None:
            _check_program(study, plan, ("world", "run"), spec.world.run[0])
        return Named(None, None)
    _there(study, plan, ("world", "name"), "world", spec.world.name, _packages(study, "worlds"))
    if spec.judge is not None and not (study / f"{spec.judge}.py").is_file():
        _there(study, plan, ("judge",), "judge", spec.judge, _judges(study))
    open_readers(study, plan)  # before the world: each load is a fresh one
    world = load_world(study, spec.world.name)
    _check_agents(world, plan)
    return Named(world, open_judge(study, plan, beside=world))


def check_scenarios(world: LoadedWorld, plan: Plan) -> None:
    """The world takes the plan's families and parameters, as far as the first seed tells."""
    params = getattr(plan.spec.world, "params", {})
    for family in plan.spec.factors.family:
        make_scenario(world, str(family), int(plan.spec.factors.seed[0]), params, where=plan.where)


def programs_elsewhere(plan: Plan) -> Iterator[str]:
    """A sentence for each program that the plan expects of the system, and this one does not have."""
    found: list[tuple[KeyPath, str]] = []
    for name, arm in plan.spec.factors.arm.items():
        if isinstance(arm, CommandArm):
            found.append((("factors", "arm", name, "run"), arm.run[0]))
    world = plan.spec.world
    if isinstance(world, ExternalWorld) and world.run is not None:
        found.append((("world", "run"), world.run[0]))
    for path, command in found:
        if inside_study(command) is None and shutil.which(command) is None:
            yield f"{plan.where(*path)}: this machine has no program {command}; the plan runs only where there is one"


# --- what is there


def _there(study: Path, plan: Plan, path: KeyPath, kind: str, name: str, known: Sequence[str]) -> None:
    if name in known:
        return
    has = ", ".join(known) or "none"
    near = nearest(name, list(known), 0.6)
    remedy = f"did you mean {near}?" if near else "name one of these" if known else "put it there"
    raise UsageError(f"the study has no {kind} {name}; it has {has}", where=plan.where(*path), remedy=remedy)


def _packages(study: Path, folder: str) -> list[str]:
    return sorted(entry.parent.name for entry in (study / folder).glob(f"*/{_PACKAGE}"))


def _judges(study: Path) -> list[str]:
    found = (study / "worlds").glob("*/judge.py")
    return sorted(path.relative_to(study).with_suffix("").as_posix() for path in found)


def _check_trees(study: Path, plan: Plan, path: KeyPath, trees: Sequence[str]) -> None:
    for place, tree in enumerate(trees):
        if not (study / tree).exists():
            raise UsageError("there is no such file or folder", where=plan.where(*path, place))


# --- what loads, and starts


def _check_agents(world: LoadedWorld, plan: Plan) -> None:
    for name, arm in plan.spec.factors.arm.items():
        if isinstance(arm, ScriptedArm) and arm.scripted not in world.agents:
            known = ", ".join(sorted(world.agents))
            what = f"the world has no scripted agent {arm.scripted!r}; it has {known}"
            raise UsageError(what, where=plan.where("factors", "arm", name))


def _check_arms(study: Path, plan: Plan) -> None:
    for name, arm in plan.spec.factors.arm.items():
        if isinstance(arm, OwnArm):
            known = [f"arms/{one}" for one in _packages(study, "arms")]
            _there(study, plan, ("factors", "arm", name, "arm"), "arm", arm.arm, known)
            package = load_package(study / arm.arm, "sealkit_study." + arm.arm.replace("/", "."))
            if not callable(getattr(package, "make", None)):
                raise HarnessError("the package has no function make", where=f"{arm.arm}/{_PACKAGE}")
        elif isinstance(arm, CommandArm):
            _check_trees(study, plan, ("factors", "arm", name, "trees"), arm.trees)
            _check_program(study, plan, ("factors", "arm", name, "run"), arm.run[0])


def _check_program(study: Path, plan: Plan, path: KeyPath, command: str) -> None:
    """A program in the study is a file that may be run; the system's are looked for where the plan is run."""
    inside = inside_study(command)
    if inside is None:
        return
    if not (study / inside).is_file():
        raise UsageError(f"there is no such program as {command} in the study", where=plan.where(*path))
    if not os.access(study / inside, os.X_OK):
        what = f"the program {command} may not be run: it is not executable"
        raise UsageError(what, where=plan.where(*path), remedy=f"chmod +x {inside}")


__all__ = ["Named", "check_named", "check_scenarios", "programs_elsewhere"]
