"""Cross-checks of effects where they are used: does the join leave one cell, does the method fit the metric."""

from __future__ import annotations

from collections.abc import Iterator

from sealkit.plan.analysis import (
    Contrast,
    Counted,
    Difference,
    Duration,
    NoCorrection,
    PlusMinus,
    Ratio,
    ReportedArms,
    ReportedTest,
    Single,
)
from sealkit.plan.fields import METHODS, RESAMPLING, corrected, form_of, readings_of, scale_of
from sealkit.plan.lint_run import listed, unused
from sealkit.plan.problems import KeyPath, Problem
from sealkit.plan.questions import questions
from sealkit.plan.sample import WITHOUT_EPISODE
from sealkit.plan.schema import Spec
from sealkit.plan.slots import REPETITION, basis, sides
from sealkit.plan.uses import Use, uses_of


def use_problems(spec: Spec) -> Iterator[Problem]:
    """What does not fit where it is used, and what nothing uses. Everything named must be there."""
    uses = uses_of(spec)
    for use in {(use.effect, use.metric): use for use in reversed(uses)}.values():
        yield from _use(spec, use)
    for metric in dict.fromkeys(use.metric for use in uses if use.ruling):
        yield from _stand_ins(spec, metric)
    for index, entry in enumerate(spec.reported_only):
        path: KeyPath = ("reported_only", index)
        if isinstance(entry, ReportedArms):
            yield from _arms(spec, path, entry)
        elif isinstance(entry, ReportedTest):
            for effect in entry.effects:
                for metric in entry.metrics:
                    yield from _test(spec, (*path, "test"), entry.test, effect, metric)
    if not isinstance(spec.multiplicity, NoCorrection):
        for effect, metric in corrected(spec):
            yield from _test(spec, ("multiplicity", "test"), spec.multiplicity.test, effect, metric)
    yield from _read(spec)
    yield from _unused(spec, uses)


# --- one effect on one metric


def _use(spec: Spec, use: Use) -> Iterator[Problem]:
    effect, metric = spec.effects[use.effect], spec.metrics[use.metric]
    path: KeyPath = ("effects", use.effect)
    if effect.metric is not None and effect.metric != use.metric:
        what = f"{use.effect} is on the metric {effect.metric}, and is used here on {use.metric}"
        yield Problem(use.path, what, "use it on its own metric, or declare another effect")
        return
    form, scale = form_of(effect), scale_of(metric)
    kind = spec.methods[effect.method].kind
    forms, scales = METHODS[kind]
    if form not in forms or scale not in scales:
        what = f"{kind} is for {' or '.join(forms)} effects on {' or '.join(scales)} metrics, and {use.metric} here is"
        yield Problem((*path, "method"), f"{what} a {scale} of a {form} effect", "choose another method")
    if isinstance(metric, Ratio) and kind not in RESAMPLING and kind != "tally":
        yield Problem((*path, "method"), f"{kind} gives no interval for a ratio", "choose a bootstrap")
    if basis(spec, use.effect, use.metric).count == 0:
        yield Problem(path, f"{use.effect} rests on no cells of the plan", "widen its population", at_key=True)
    if isinstance(effect, Difference):
        return
    if (effect.cluster or effect.strata) and kind not in RESAMPLING:
        yield Problem((*path, "method"), f"{kind} knows no clusters or strata", "choose a bootstrap")
    if isinstance(effect, Single):
        yield from _single(spec, path, effect, use.metric)
    else:
        yield from _paired(spec, path, effect, use.metric)
    yield from _read_by(spec, path, effect, use.metric)


def _stand_ins(spec: Spec, metric_name: str) -> Iterator[Problem]:
    """What a ruling makes of slots without an episode must be possible: a count without an end has no worst value."""
    metric = spec.metrics[metric_name]
    names = (metric.of, metric.over) if isinstance(metric, Ratio) else (metric_name,)
    failures = [f"endings.{name}" for name in WITHOUT_EPISODE if getattr(spec.sample.endings, name) == "failure"]
    failures += ["missing"] if spec.sample.missing == "failure" else []
    for name in names:
        part = spec.metrics[name]
        if not isinstance(part, Counted | Duration) or part.most is not None or part.unit is not None:
            continue
        due = [(key, "a failure") for key in failures if isinstance(part, Counted) and part.better == "lower"]
        due += [("missing", "its worst case")] if spec.sample.missing == "worst_case" else []
        if due:
            key, meaning = due[0]
            what = f"by sample.{key} a slot without an episode counts as {meaning}, and {name} has no worst value"
            remedy = "declare the largest value that it can have (most: 15), or let such a slot be missing"
            yield Problem(("metrics", name), what, remedy, at_key=True)


def _single(spec: Spec, path: KeyPath, effect: Single, metric: str) -> Iterator[Problem]:
    unit = getattr(spec.metrics[metric], "unit", None)
    free = set(spec.factors.levels()) - set(effect.of)
    yield from _cluster(path, effect.cluster, free, unit, metric)


def _paired(spec: Spec, path: KeyPath, effect: Contrast | PlusMinus, metric: str) -> Iterator[Problem]:
    unit = getattr(spec.metrics[metric], "unit", None)
    fixed = set(sides(effect)[0])
    factors = spec.factors.levels()
    here: KeyPath = (*path, "join")
    allowed = (set(factors) - fixed) | ({unit} if unit else set())
    for name in effect.join:
        if name == REPETITION:
            yield Problem(here, "repetitions are combined before pairs are joined", "drop repetition")
        elif name in fixed:
            yield Problem(here, f"the effect fixes {name} on each side", f"drop {name}")
        elif name not in allowed:
            yield Problem(here, f"{name} is no factor and no unit of {metric}", f"join on {listed(sorted(allowed))}")
    needed = {name for name in factors if name not in fixed and len(factors[name]) > 1} | ({unit} if unit else set())
    missing = needed - set(effect.join)
    if missing:
        what = f"on {metric}, several cells share a key without {listed(sorted(missing))}"
        yield Problem(here, what, "add it to the join, so that each key has one pair")
    yield from _cluster(path, effect.cluster, set(effect.join), unit, metric)
    if effect.strata is not None and effect.strata.by not in effect.join:
        yield Problem((*path, "strata", "by"), f"{effect.strata.by} is not in the join", "stratify by a part of it")


def _cluster(
    path: KeyPath, cluster: tuple[str, ...] | None, joined: set[str], unit: str | None, metric: str
) -> Iterator[Problem]:
    if unit is not None and cluster is None:
        what = f"{metric} counts several of {unit} in one episode, and they are not independent"
        yield Problem((*path, "cluster"), what, "add cluster, such as [family, seed]")
    for name in cluster or ():
        if name not in joined:
            yield Problem((*path, "cluster"), f"{name} is not in the join", "cluster by a part of it")
        elif name == unit:
            yield Problem((*path, "cluster"), f"{name} is inside the episode", "cluster by what holds it")


def _read_by(spec: Spec, path: KeyPath, effect: Contrast | PlusMinus | Single, metric: str) -> Iterator[Problem]:
    fixed = set(effect.of) if isinstance(effect, Single) else set(sides(effect)[0])
    readings = readings_of(spec, metric)
    for name in readings:
        if name not in fixed:
            yield Problem(path, f"{metric} is read once for each {name}", f"fix {name}", at_key=True)
    for name in sorted(fixed & set(spec.readings)):
        if name not in readings:
            yield Problem(path, f"{metric} does not depend on the reading {name}", f"drop {name}", at_key=True)


# --- reports and tests


def _test(spec: Spec, path: KeyPath, test: str, effect: str, metric: str) -> Iterator[Problem]:
    form, scale = form_of(spec.effects[effect]), scale_of(spec.metrics[metric])
    if form != "paired" or (test.startswith("mcnemar") and scale != "binary"):
        due = "pairs on binary metrics" if test.startswith("mcnemar") else "pairs"
        yield Problem(path, f"{test} is for {due}; {effect} on {metric} is not", "choose another test")
        return
    if isinstance(spec.metrics[metric], Ratio):
        what = f"{test} needs a difference in every pair, and {metric} is a ratio of sums"
        yield Problem(path, what, "read the limits of a bootstrap instead")
    declared = spec.effects[effect]
    if test.startswith("mcnemar") and not isinstance(declared, Difference) and (declared.cluster or declared.strata):
        has = "clusters" if declared.cluster else "strata"
        what = f"{test} takes every pair to be independent and alike, and {effect} has {has}"
        yield Problem(path, what, "write sign_flip, which turns a cluster whole and weighs strata")


def _arms(spec: Spec, path: KeyPath, entry: ReportedArms) -> Iterator[Problem]:
    kind = spec.methods[entry.method].kind
    forms, scales = METHODS[kind]
    for metric in entry.metrics:
        scale = scale_of(spec.metrics[metric])
        if "single" not in forms or scale not in scales:
            what = f"{kind} does not fit {metric}, a {scale} of one arm"
            yield Problem((*path, "method"), what, "choose another method, or another entry for it")
        for reading in readings_of(spec, metric):
            if reading not in (entry.split or ()):
                yield Problem((*path, "split"), f"{metric} is read once for each {reading}", f"split by {reading}")


# --- what nothing reads


def _read(spec: Spec) -> Iterator[Problem]:
    """Margins and corrections are declared to be read by rules."""
    fields: set[str] = set()
    adjusted: set[tuple[str, str]] = set()
    for name in spec.hypotheses:
        for question in questions(spec, name):
            fields |= set(question.fields)
            for effect, metric in question.metrics.items():
                if f"{effect}.p_adjusted" in question.fields:
                    adjusted.add((effect, metric))
    for name, effect_spec in spec.effects.items():
        if effect_spec.margin is None:
            continue
        limits = {"noninferiority": ("lower",), "equivalence": ("lower", "upper")}[effect_spec.margin.kind]
        missing = [field for field in ("margin", *limits) if f"{name}.{field}" not in fields]
        if missing:
            what = f"{effect_spec.margin.kind} is declared, and no rule reads {name}.{missing[0]}"
            remedy = f"write a rule such as {name}.lower > -{name}.margin"
            yield Problem(("effects", name, "margin"), what, remedy)
    for effect, metric in corrected(spec):
        if (effect, metric) not in adjusted:
            what = f"{effect} on {metric} is corrected, and no rule reads {effect}.p_adjusted on it"
            yield Problem(("multiplicity",), what, "let a rule read it, or leave it out of the family")


def _unused(spec: Spec, uses: tuple[Use, ...]) -> Iterator[Problem]:
    effects = {use.effect for use in uses}
    yield from unused("effects", spec.effects, effects, "effect")
    arms = [entry for entry in spec.reported_only if isinstance(entry, ReportedArms)]
    methods = [spec.effects[name].method for name in spec.effects] + [entry.method for entry in arms]
    yield from unused("methods", spec.methods, methods, "method")
    populations = [e.population for e in spec.effects.values() if not isinstance(e, Difference)]
    yield from unused("populations", spec.populations, populations, "population")
    metrics = [use.metric for use in uses] + [name for entry in arms for name in entry.metrics]
    for metric in spec.metrics.values():
        if isinstance(metric, Ratio):
            metrics += [metric.of, metric.over]
    yield from unused("metrics", spec.metrics, metrics, "metric")
    readings = [getattr(metric, "read_by", None) for metric in spec.metrics.values()]
    yield from unused("readings", spec.readings, [name for name in readings if name], "reading")
