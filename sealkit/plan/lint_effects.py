"""Cross-checks of what is measured and compared: metrics, effects, multiplicity, what is reported beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sealkit.plan.analysis import (
    Binary,
    Contrast,
    Counted,
    Difference,
    Duration,
    Effect,
    Gatekeeping,
    Member,
    Metric,
    NoCorrection,
    PassAtK,
    PlusMinus,
    Ratio,
    Reported,
    ReportedArms,
    Single,
)
from sealkit.plan.lint_run import listed, twice
from sealkit.plan.parts import nearest
from sealkit.plan.problems import KeyPath, Problem
from sealkit.plan.schema import Spec
from sealkit.wire.records import Level

MOST_REPORTED = 10_000


def effect_problems(spec: Spec) -> Iterator[Problem]:
    """What metrics, effects and reports name that is not there."""
    for name, metric in spec.metrics.items():
        yield from _metric(spec, ("metrics", name), metric)
    for name, effect in spec.effects.items():
        yield from _effect(spec, ("effects", name), effect)
    yield from _multiplicity(spec)
    yield from _reported(spec)


def not_there(path: KeyPath, what: str, name: str, known: Mapping[str, object]) -> Iterator[Problem]:
    """A problem unless `name` is one of `known`."""
    if name not in known:
        near = nearest(name, list(known))
        remedy = f"did you mean {near}?" if near else f"declare the {what}"
        yield Problem(path, f"no {what} is called {name}; there are {listed(known)}", remedy)


# --- metrics


def _metric(spec: Spec, path: KeyPath, metric: Metric) -> Iterator[Problem]:
    if isinstance(metric, Ratio):
        yield from _ratio(spec, path, metric)
        return
    if metric.read_by is not None:
        yield from not_there((*path, "read_by"), "reading", metric.read_by, spec.readings)
        yield from _one_reading(spec, path, metric.measure or str(path[-1]), metric.read_by)
    if metric.unit is not None and (metric.unit in spec.factors.levels() or metric.unit in spec.readings):
        yield Problem((*path, "unit"), f"{metric.unit} is a factor", "name what is counted inside an episode")
    yield from _repetitions(spec, path, metric)


def _one_reading(spec: Spec, path: KeyPath, measure: str, reading: str) -> Iterator[Problem]:
    """A measure has one value a level, so two readings cannot both give it."""
    for name, other in spec.metrics.items():
        if isinstance(other, Ratio) or (other.measure or name) != measure or other.read_by == reading:
            continue
        what = f"{measure} is read by {reading} here, and {name} takes it from {other.read_by or 'the judge'}"
        yield Problem((*path, "read_by"), what, "let one reading give it, with the levels of both")
        return


def _ratio(spec: Spec, path: KeyPath, metric: Ratio) -> Iterator[Problem]:
    for key, name in (("of", metric.of), ("over", metric.over)):
        yield from not_there((*path, key), "metric", name, spec.metrics)
        part = spec.metrics.get(name)
        if part is not None and not isinstance(part, Binary | Counted | Duration):
            yield Problem((*path, key), f"{name} is no count", "take the ratio of binary, count or duration metrics")
    if metric.of == metric.over:
        yield Problem((*path, "over"), "a ratio of a metric to itself", "name two metrics")


def _repetitions(spec: Spec, path: KeyPath, metric: Metric) -> Iterator[Problem]:
    how = getattr(metric, "repetitions", None)
    repeated = spec.sample.repetitions
    here: KeyPath = (*path, "repetitions")
    if repeated == 1 and how is not None:
        yield Problem(here, "nothing is repeated in this plan", "drop it, or raise sample.repetitions")
    elif repeated > 1 and how is None:
        what = f"each cell is run {repeated} times, and nothing says how they become one value"
        yield Problem(here, what, "write repetitions: {kind: mean}")
    elif how is not None and how.kind != "mean" and not isinstance(metric, Binary):
        yield Problem(here, f"{how.kind} is for binary metrics", "write {kind: mean}")
    elif isinstance(how, PassAtK) and how.k > repeated:
        yield Problem((*here, "k"), f"pass at {how.k} of {repeated} repetitions", "lower k")


# --- effects


def _effect(spec: Spec, path: KeyPath, effect: Effect) -> Iterator[Problem]:
    yield from not_there((*path, "method"), "method", effect.method, spec.methods)
    if effect.metric is not None:
        yield from not_there((*path, "metric"), "metric", effect.metric, spec.metrics)
    if isinstance(effect, Difference):
        yield from _difference(spec, path, effect)
        return
    yield from not_there((*path, "population"), "population", effect.population, spec.populations)
    match effect:
        case Contrast():
            yield from _contrast(spec, path, effect)
        case PlusMinus():
            yield from _plus_minus(spec, path, effect)
        case Single():
            yield from _fixed(spec, (*path, "of"), effect.of)
    if effect.strata is not None:
        yield from _strata(spec, path, effect)


def _contrast(spec: Spec, path: KeyPath, effect: Contrast) -> Iterator[Problem]:
    plus, minus = effect.contrast.split(" - ")
    for arm in (plus, minus):
        yield from not_there((*path, "contrast"), "arm", arm, spec.factors.arm)
    if plus == minus:
        yield Problem((*path, "contrast"), f"{plus} is compared with itself", "name two arms")


def _plus_minus(spec: Spec, path: KeyPath, effect: PlusMinus) -> Iterator[Problem]:
    yield from _fixed(spec, (*path, "plus"), effect.plus)
    yield from _fixed(spec, (*path, "minus"), effect.minus)
    if set(effect.plus) != set(effect.minus):
        what = f"plus fixes {listed(effect.plus)}, minus fixes {listed(effect.minus)}"
        yield Problem((*path, "minus"), what, "fix the same factors on both sides")
    elif effect.plus == effect.minus:
        yield Problem((*path, "minus"), "both sides are the same", "let them differ")
    population = spec.populations.get(effect.population, {})
    for side, fixed in (("plus", effect.plus), ("minus", effect.minus)):
        for name, level in fixed.items():
            picked = population.get(name, "all")
            if not isinstance(picked, str) and level not in picked:
                what = f"the population {effect.population} leaves out {name} {level}, so this side has no cell"
                yield Problem((*path, side, name), what, "name a population that holds it")


def _fixed(spec: Spec, path: KeyPath, fixed: Mapping[str, Level]) -> Iterator[Problem]:
    factors: dict[str, tuple[Level, ...]] = dict(spec.factors.levels())
    factors |= {name: tuple(reading.levels) for name, reading in spec.readings.items()}
    if "arm" not in fixed:
        yield Problem((*path, "arm"), "it does not say which arm", "add arm: NAME")
    for name, level in fixed.items():
        if name not in factors:
            what = f"{name} is no factor and no reading; there are {listed(factors)}"
            yield Problem((*path, name), what, "drop it", at_key=True)
        elif level not in factors[name]:
            what = f"{level} is no level of {name}; there are {listed(factors[name])}"
            yield Problem((*path, name), what, "name one of these")
        elif name in spec.readings:
            readers = spec.readings[name].levels[str(level)]
            if not isinstance(readers.arms, str) and fixed.get("arm") not in readers.arms:
                what = f"the reading {level} is taken in the arms {listed(readers.arms)}, not in {fixed.get('arm')}"
                yield Problem((*path, name), what, "compare what is read")


def _strata(spec: Spec, path: KeyPath, effect: Contrast | PlusMinus | Single) -> Iterator[Problem]:
    strata = effect.strata
    assert strata is not None
    known = spec.factors.levels().get(strata.by, ())
    population = spec.populations.get(effect.population, {})
    picked = population.get(strata.by, "all")
    wanted = set(known if isinstance(picked, str) else picked)
    inside = [str(level) for level in known if level in wanted]
    if not known or strata.by == "arm":
        yield Problem((*path, "strata", "by"), f"{strata.by} is no factor of the scenario", "name one")
    elif set(inside) != set(strata.weights):
        what = f"weights for {listed(strata.weights)}, and the population holds {listed(inside)}"
        yield Problem((*path, "strata", "weights"), what, "give each level of the population one weight")
    elif sum(strata.weights.values()) != 1:
        what = f"the weights add up to {sum(strata.weights.values())}"
        yield Problem((*path, "strata", "weights"), what, "let them add up to 1")


def _difference(spec: Spec, path: KeyPath, effect: Difference) -> Iterator[Problem]:
    here: KeyPath = (*path, "difference")
    plus, minus = effect.difference.split(" - ")
    for name in (plus, minus):
        yield from not_there(here, "effect", name, spec.effects)
        if isinstance(spec.effects.get(name), Difference | Single):
            yield Problem(here, f"{name} is no comparison of pairs", "take the difference of two comparisons")
        own = spec.effects[name].metric if name in spec.effects else None
        if own is not None and own != effect.metric:
            yield Problem((*path, "metric"), f"{name} is on the metric {own}", f"write metric: {own}")
    if plus == minus:
        yield Problem(here, f"{plus} minus itself", "name two effects")


# --- multiplicity and reports


def _multiplicity(spec: Spec) -> Iterator[Problem]:
    rule = spec.multiplicity
    if isinstance(rule, NoCorrection):
        return
    members: list[tuple[KeyPath, Member]]
    if isinstance(rule, Gatekeeping):
        families = enumerate(rule.families)
        members = [(("families", i, j), member) for i, family in families for j, member in enumerate(family)]
    else:
        members = [(("members", i), member) for i, member in enumerate(rule.members)]
    known: set[tuple[str, str]] = set()
    for tail, member in members:
        path: KeyPath = ("multiplicity", *tail)
        yield from not_there((*path, "effect"), "effect", member.effect, spec.effects)
        yield from not_there((*path, "metric"), "metric", member.metric, spec.metrics)
        if (member.effect, member.metric) in known:
            yield Problem(path, f"{member.effect} on {member.metric} stands twice", "keep one")
        known.add((member.effect, member.metric))


def _size(entry: Reported) -> int:
    return len(entry.metrics) * (1 if isinstance(entry, ReportedArms) else len(entry.effects))


def _reported(spec: Spec) -> Iterator[Problem]:
    factors = {**spec.factors.levels(), **spec.readings}
    units = {name: getattr(metric, "unit", None) for name, metric in spec.metrics.items()}
    if sum(_size(entry) for entry in spec.reported_only) > MOST_REPORTED:
        yield Problem(("reported_only",), f"more than {MOST_REPORTED} comparisons", "report fewer")
    for index, entry in enumerate(spec.reported_only):
        path: KeyPath = ("reported_only", index)
        for place, metric in enumerate(entry.metrics):
            yield from not_there((*path, "metrics", place), "metric", metric, spec.metrics)
        if isinstance(entry, ReportedArms):
            yield from not_there((*path, "method"), "method", entry.method, spec.methods)
            if not isinstance(entry.arms, str):
                yield from twice((*path, "arms"), entry.arms)
                for arm in entry.arms:
                    yield from not_there((*path, "arms"), "arm", str(arm), spec.factors.arm)
        else:
            for place, name in enumerate(entry.effects):
                yield from not_there((*path, "effects", place), "effect", name, spec.effects)
        for place, name in enumerate(getattr(entry, "split", None) or ()):
            if name == "arm":
                yield Problem((*path, "split", place), "arms are apart already", "split by other factors")
            else:
                known = {**factors, **{unit: unit for metric in entry.metrics if (unit := units.get(metric))}}
                yield from not_there((*path, "split", place), "factor, reading or unit", name, known)
