"""Cross-checks of what is run: world, arms, models, factors, sample, populations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping

from sealkit.plan.actors import (
    BeliefStoreArm,
    Model,
    ModelByFactor,
    NotesArm,
    ToolsArm,
    roles_of,
)
from sealkit.plan.base import Selection
from sealkit.plan.lint_world import world_problems
from sealkit.plan.problems import KeyPath, Problem
from sealkit.plan.sample import InterimLooks
from sealkit.plan.schema import Spec
from sealkit.plan.slots import REPETITION, STAGES, slot_count
from sealkit.wire.records import Level

_is_word = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}").fullmatch
MOST_SLOTS = 10_000_000
_RESERVED_FACTORS = (REPETITION, "metric", "unit", "all")


def run_problems(spec: Spec) -> Iterator[Problem]:
    """What is wrong with the run that `spec` plans."""
    yield from world_problems(spec)
    yield from _factors(spec)
    yield from _models(spec)
    yield from _readings(spec)
    yield from _stages(spec)
    yield from _blocks(spec)
    yield from _budget(spec)
    yield from _populations(spec)


def listed(names: Iterable[Level]) -> str:
    """`names` for a message, at most eight."""
    shown = [str(name) for name in names]
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "") if shown else "none"


def _factors(spec: Spec) -> Iterator[Problem]:
    for name, levels in spec.factors.levels().items():
        path: KeyPath = ("factors", name)
        if not _is_word(name) or name in _RESERVED_FACTORS:
            yield Problem(path, f"a factor cannot be called {name}", "use a word that records can hold", at_key=True)
        if name in spec.readings:
            yield Problem(path, f"{name} is a reading and a factor", "rename one", at_key=True)
        yield from twice(path, levels)
    for stage in STAGES:
        if (count := slot_count(spec, stage)) > MOST_SLOTS:
            place: KeyPath = ("factors",) if stage == "confirmatory" else ("sample", stage)
            yield Problem(place, f"{count} slots, due at most {MOST_SLOTS}", "plan fewer levels or repetitions")
    if "all" in spec.factors.arm:
        yield Problem(("factors", "arm", "all"), "an arm cannot be called all", "rename it", at_key=True)


def twice(path: KeyPath, levels: Iterable[Level]) -> Iterator[Problem]:
    """A problem for each level that reads like one before it; `1` and "1" do."""
    seen: set[str] = set()
    for level in levels:
        if str(level) in seen:
            yield Problem(path, f"{level} stands twice", "keep one")
        seen.add(str(level))


def _models(spec: Spec) -> Iterator[Problem]:
    used = {role for arm in spec.factors.arm.values() for role in roles_of(arm)}
    used |= {level.model for reading in spec.readings.values() for level in reading.levels.values() if level.model}
    for name, arm in spec.factors.arm.items():
        for role in roles_of(arm):
            if role not in spec.models:
                key = "model" if isinstance(arm, NotesArm | BeliefStoreArm | ToolsArm) else "models"
                what = f"no model plays the role {role}; there are {listed(spec.models)}"
                yield Problem(("factors", "arm", name, key), what, "declare it under models")
    for role, model in spec.models.items():
        if role not in used:
            yield Problem(("models", role), f"no arm and no reading uses the model {role}", "drop it", at_key=True)
        if isinstance(model, ModelByFactor):
            yield from _model_factor(spec, role, model)


def _model_factor(spec: Spec, role: str, model: ModelByFactor) -> Iterator[Problem]:
    levels = spec.factors.levels().get(model.factor, ())
    if not levels or model.factor in ("arm", "family", "seed"):
        what = f"{model.factor} is no further factor of the plan"
        yield Problem(("models", role, "factor"), what, f"declare factors.{model.factor} with one level a model")
    elif set(levels) != set(model.levels):
        what = f"models for {listed(model.levels)}, and the factor {model.factor} has the levels {listed(levels)}"
        yield Problem(("models", role, "levels"), what, "give each level one model")


def _readings(spec: Spec) -> Iterator[Problem]:
    for name, reading in spec.readings.items():
        for level, reader in reading.levels.items():
            path: KeyPath = ("readings", name, "levels", level)
            if reader.model is not None and reader.model not in spec.models:
                what = f"no model plays the role {reader.model}; there are {listed(spec.models)}"
                yield Problem((*path, "model"), what, "declare it under models")
            if not isinstance(reader.arms, str):
                yield from _known_levels((*path, "arms"), "arm", reader.arms, tuple(spec.factors.arm))


def _known_levels(path: KeyPath, factor: str, picked: tuple[Level, ...], known: tuple[Level, ...]) -> Iterator[Problem]:
    yield from twice(path, picked)
    there = set(known)
    for level in picked:
        if level not in there:
            yield Problem(path, f"{level} is no level of {factor}; there are {listed(known)}", "name one of these")


def _stages(spec: Spec) -> Iterator[Problem]:
    factors = spec.factors.levels()
    confirmatory = set(factors["seed"])
    before: dict[Level, str] = {}
    for stage, selection in (("smoke", spec.sample.smoke), ("pilot", spec.sample.pilot)):
        if selection is None:
            continue
        path: KeyPath = ("sample", stage)
        for name in factors:
            if name not in selection:
                yield Problem((*path, name), f"the {stage} run does not say which {name}", "name levels, or all")
        for name, picked in selection.items():
            if name not in factors:
                what = f"{name} is no factor; there are {listed(factors)}"
                yield Problem((*path, name), what, "drop it", at_key=True)
            elif name != "seed" and not isinstance(picked, str):
                yield from _known_levels((*path, name), name, picked, factors[name])
        yield from _stage_seeds((*path, "seed"), stage, selection, confirmatory, before)


def _stage_seeds(
    path: KeyPath, stage: str, selection: Selection, confirmatory: set[Level], before: dict[Level, str]
) -> Iterator[Problem]:
    seeds = selection.get("seed", ())
    if isinstance(seeds, str):
        yield Problem(path, f"all seeds are confirmatory; the {stage} run needs its own", "name others, such as [100]")
        return
    yield from twice(path, seeds)
    for seed in seeds:
        if not isinstance(seed, int) or seed < 0:
            yield Problem(path, f"the seed {seed} is no whole number from 0 on", "write seeds as [100]")
        elif seed in confirmatory:
            what = f"{seed} is both a {stage} and a confirmatory seed"
            yield Problem(path, what, f"give the {stage} run another")
        elif before.get(seed, stage) != stage:
            yield Problem(path, f"{seed} is both a {before[seed]} and a {stage} seed", f"give the {stage} run another")
        before[seed] = stage


def _blocks(spec: Spec) -> Iterator[Problem]:
    path: KeyPath = ("sample", "block_by")
    factors = spec.factors.levels()
    for name in spec.sample.block_by:
        if name == "arm":
            yield Problem(path, "blocks by arm would keep the arms apart", "a block holds all arms: leave arm out")
        elif after_treatment(spec, name):
            yield Problem(path, f"{name} is decided after treatment", "block by factors of the scenario")
        elif name not in factors:
            yield Problem(path, f"{name} is no factor; there are {listed(factors)}", "block by factors")
    stopping = spec.sample.stopping
    if isinstance(stopping, InterimLooks) and all(name in factors and name != "arm" for name in spec.sample.block_by):
        total = math.prod(len(factors[name]) for name in spec.sample.block_by)
        looks = stopping.after_blocks
        if list(looks) != sorted(set(looks)) or looks[-1] >= total:
            what = f"looks after {listed(looks)} of {total} blocks"
            yield Problem(("sample", "stopping", "after_blocks"), what, "let them rise, the last before the end")


def after_treatment(spec: Spec, name: str) -> bool:
    """Whether `name` is a measure or a reading: known only once an arm has acted."""
    measures = {measure for metric in spec.metrics.values() if (measure := getattr(metric, "measure", None))}
    return name in spec.metrics or name in measures or name in spec.readings


def _budget(spec: Spec) -> Iterator[Problem]:
    if spec.sample.budget.cost_microusd is None:
        return
    for role, model in spec.models.items():
        each = {"": model} if isinstance(model, Model) else model.levels
        for level, settings in each.items():
            if settings.price_per_million_tokens is None:
                path: KeyPath = ("models", role) if not level else ("models", role, "levels", level)
                what = "the budget bounds the cost, and this model has no price"
                yield Problem((*path, "price_per_million_tokens"), what, "write its price, or cost_microusd: null")


def _populations(spec: Spec) -> Iterator[Problem]:
    factors = spec.factors.levels()
    for name, selection in spec.populations.items():
        for factor, picked in selection.items():
            path: KeyPath = ("populations", name, factor)
            if factor == "arm":
                what = "a population chosen by arm is chosen by treatment"
                yield Problem(path, what, "choose by scenario; effects name the arms", at_key=True)
            elif after_treatment(spec, factor):
                what = f"{factor} is decided after treatment"
                yield Problem(path, what, "choose by what the sealed scenario fixes", at_key=True)
            elif factor not in factors:
                yield Problem(path, f"{factor} is no factor; there are {listed(factors)}", "name a factor", at_key=True)
            elif not isinstance(picked, str):
                yield from _known_levels(path, factor, picked, factors[factor])


def unused(section: str, names: Mapping[str, object], used: Iterable[str], what: str) -> Iterator[Problem]:
    """A problem for each of `names` that nothing uses."""
    known = set(used)
    for name in names:
        if name not in known:
            yield Problem((section, name), f"nothing uses the {what} {name}", "drop it, or use it", at_key=True)
