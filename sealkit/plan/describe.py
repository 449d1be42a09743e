"""What `sealkit check` prints: the plan in numbers, and what its rules can reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sealkit.plan.analysis import CountsAs, Difference, Duration, LeftOut
from sealkit.plan.fields import RESAMPLING, form_of
from sealkit.plan.load import Plan
from sealkit.plan.measures import judge_measures
from sealkit.plan.questions import questions
from sealkit.plan.rights import lacking
from sealkit.plan.ruling import GATES_BY_HYPOTHESIS, OTHERWISE, needs_of
from sealkit.plan.sample import WITHOUT_EPISODE, InterimLooks
from sealkit.plan.schema import Spec
from sealkit.plan.slots import STAGES, Basis, Stage, basis, slot_count
from sealkit.plan.truth import TooMany, TruthTable, truth_table
from sealkit.plan.uses import uses_of

# Of fewer units the percentiles of a bootstrap are too narrow; of two alike the interval is a single point.
FEW_UNITS = 20


@dataclass(frozen=True, slots=True)
class StageCount:
    """The slots of one stage, in all and in each arm that it runs."""

    stage: Stage
    slots: int
    arms: int


@dataclass(frozen=True, slots=True)
class EffectCount:
    """An effect on a metric, and what it rests on if nothing is excluded or missing."""

    effect: str
    metric: str
    form: str
    basis: Basis
    read_by_rules: bool


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan in numbers."""

    stages: tuple[StageCount, ...]
    effects: tuple[EffectCount, ...]
    truth: tuple[TruthTable, ...]
    measures: tuple[str, ...]
    later: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def describe(plan: Plan) -> PlanReport:
    """Slots per stage, cells or pairs per effect, truth tables, the judge's measures, parts that cannot run yet."""
    spec = plan.spec
    return PlanReport(
        stages=tuple(_stage(spec, stage) for stage in STAGES if slot_count(spec, stage)),
        effects=_effects(spec),
        truth=tuple(table for name in spec.hypotheses for table in _tables(spec, name)),
        measures=judge_measures(spec),
        later=parts_of_later_engines(plan),
        warnings=(
            *thin_bootstraps(spec),
            *_unfilled_units(spec),
            *_survivors(spec),
            *_censored(spec),
            *_closed_gates(spec),
            *_odd_supports(spec),
        ),
    )


def _unfilled_units(spec: Spec) -> Iterator[str]:
    """A sentence for each metric with units, where the plan counts a slot without an episode as one that failed."""
    sample = spec.sample
    keys = [f"endings.{name}" for name in WITHOUT_EPISODE if getattr(sample.endings, name) == "failure"]
    keys += ["missing"] if sample.missing != "complete_pairs" else []
    for name, metric in spec.metrics.items():
        unit = getattr(metric, "unit", None)
        if keys and unit is not None:
            yield (
                f"sample.{keys[0]} cannot hold for {name}: its units ({unit}) are shown by episodes alone, so a slot "
                "without one is left out of it"
            )


def _survivors(spec: Spec) -> Iterator[str]:
    """A sentence for each duration that a rule reads and whose plan leaves out what did not end."""
    cap = spec.sample.exclusion_cap_per_arm
    for name in dict.fromkeys(use.metric for use in uses_of(spec) if use.ruling):
        metric = spec.metrics[name]
        if isinstance(metric, Duration) and isinstance(metric.censored, LeftOut):
            yield (
                f"metrics.{name}: a rule reads it, and what did not end has no value; where that is more than {cap} of "
                "the slots that an effect rests on in an arm, claims on it are withheld"
            )


def _censored(spec: Spec) -> Iterator[str]:
    """A sentence for each duration that has a value also where it did not end."""
    for name, metric in spec.metrics.items():
        if isinstance(metric, Duration) and isinstance(metric.censored, CountsAs):
            yield (
                f"metrics.{name}: null, and a slot whose ending means failure, counts as {metric.censored.value} and "
                f"is no loss; that could be each of {slot_count(spec, 'confirmatory')} slots"
            )


def _closed_gates(spec: Spec) -> tuple[str, ...]:
    """What keeps a gate of this plan closed whatever is run: rights that are lacking, or no rule for the gate."""
    wanting = [("rights_documented", one) for one in (lacking(spec) if "rights_documented" in spec.gates else ())]
    wanting += [
        (gate, f"no hypothesis {gate} says how it is decided")
        for gate in spec.gates
        if gate in GATES_BY_HYPOTHESIS and gate not in spec.hypotheses
    ]
    return tuple(f"nothing will be published, gate {gate} is closed: {why}" for gate, why in wanting)


def _odd_supports(spec: Spec) -> Iterator[str]:
    """A sentence for each "supported" that a reader could take for more than it is."""
    for name, hypothesis in spec.hypotheses.items():
        if hypothesis.verdict[OTHERWISE] == "supported":
            yield f"hypotheses.{name} is supported where none of its rules holds, whatever the effect is"
    for name, claim in spec.claims.items():
        for need in needs_of(claim):
            others = [verdict for verdict in need.verdict if verdict != "supported"]
            if others:
                yield (
                    f"claims.{name} is called supported where {need.hypothesis} is {' or '.join(others)}: "
                    "its text must say what that shows"
                )


def thin_bootstraps(spec: Spec) -> tuple[str, ...]:
    """A sentence for each effect that a rule reads by a percentile bootstrap of few pairs or cells."""
    found: dict[str, None] = {}
    for effect in _effects(spec):
        planned = spec.effects[effect.effect]
        if not effect.read_by_rules or spec.methods[planned.method].kind not in RESAMPLING:
            continue
        parts = planned.difference.split(" - ") if isinstance(planned, Difference) else (effect.effect,)
        rests = min((basis(spec, part, effect.metric) for part in parts), key=lambda one: one.count)
        if rests.count < FEW_UNITS:
            what = f"{rests.count} {rests.kind}" + (f", each with its {rests.unit}s" if rests.unit else "")
            says = f"under {FEW_UNITS} its interval is often too narrow, and has no width where all values are alike"
            found[f"{effect.effect}: a rule reads a percentile bootstrap that rests on {what}; {says}"] = None
    return tuple(found)


def parts_of_later_engines(plan: Plan) -> tuple[str, ...]:
    """What this sealkit can check and seal, but not run yet: `WHERE: WHAT` for each; `run` refuses on any."""
    spec = plan.spec
    found = []
    if isinstance(spec.sample.stopping, InterimLooks):
        found.append(f"{plan.where('sample', 'stopping')}: interim looks")
    return tuple(found)


def _stage(spec: Spec, stage: Stage) -> StageCount:
    selection = {"smoke": spec.sample.smoke, "pilot": spec.sample.pilot, "confirmatory": None}[stage]
    picked = selection.get("arm", "all") if selection is not None else "all"
    return StageCount(stage, slot_count(spec, stage), len(spec.factors.arm) if isinstance(picked, str) else len(picked))


def _effects(spec: Spec) -> tuple[EffectCount, ...]:
    ruled: dict[tuple[str, str], bool] = {}
    for use in uses_of(spec):
        ruled[use.effect, use.metric] = ruled.get((use.effect, use.metric), False) or use.ruling
    return tuple(
        EffectCount(effect, metric, form_of(spec.effects[effect]), basis(spec, effect, metric), by_rules)
        for (effect, metric), by_rules in ruled.items()
    )


def _tables(spec: Spec, name: str) -> list[TruthTable]:
    tables = [truth_table(spec, question) for question in questions(spec, name)]
    return [table for table in tables if not isinstance(table, TooMany)]  # a plan with such a hypothesis does not open
