"""The whole preregistered analysis as one pure step: what became of every slot and what was measured in, a record out.

    results = analyse(plan, pins, flow, cells)      # the same bytes whoever runs it, in whatever order cells were told

`results` is canonical JSON: the journal's `analysed` entry holds its digest, so a stranger who re-derives it
from the folder knows whether these are the numbers that were recorded. Its members:

    pins            what the episodes ran under
    flow            per arm: slots, attempts, episodes, how they ended, how they were ruled on, how many have an outcome
    exclusions      the cap, the arms over it, and whether compared arms lost episodes alike
    effects         every effect on every metric that a rule, a correction or a test reads
    reported        what the plan reports beside, read by no rule
    verdicts        each with its rule, what it would be in the worst and the best case, and how robust it is
    by_pin          with several pins: effects and verdicts from the episodes of each alone; else empty
    overhead        per arm: acts, and usage where it was measured
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sealkit.infer.cells import Cells
from sealkit.infer.effects import Effects, Pair, effects_under, misses
from sealkit.infer.flow import Flow, exclusions_record, flow_record, overhead_record, tries_again
from sealkit.infer.lost import Lost, arms_under, lost_in_rules, lost_under
from sealkit.infer.reported import reported
from sealkit.infer.robustness import Robustness, VerdictRobustness, of_verdict, robustness
from sealkit.infer.rows import Row, bounds_row, effect_row, robustness_row
from sealkit.infer.verdicts import Verdict, verdicts
from sealkit.plan.load import Plan
from sealkit.plan.questions import questions
from sealkit.plan.schema import Spec
from sealkit.plan.uses import uses_of
from sealkit.wire.canon import encode_value
from sealkit.wire.records import Json

RESULTS = "sealkit/results/v2"


@dataclass(frozen=True, slots=True)
class Analysis:
    """Every number and ruling of the analysis, and the record that holds them."""

    flow: Flow
    effects: Effects
    verdicts: tuple[Verdict, ...]
    record: Mapping[str, Json]
    line: bytes


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Effects and verdicts with every missing outcome against, and for, the predicted direction."""

    worst: Effects
    best: Effects


def analyse(plan: Plan, pins: Sequence[str], flow: Flow, cells: Cells) -> Analysis:
    """Estimate every effect that the plan reads, and rule. `cells` number the pins as `pins` lists them."""
    spec = plan.spec
    effects = effects_under(cells, pairs_read(spec), spec.sample.missing)
    bounds = _Bounds(*(effects_under(cells, effects, rule, known=effects) for rule in ("worst", "best")))
    ruling = {
        pair for name in spec.hypotheses for question in questions(spec, name) for pair in question.metrics.items()
    }
    others = {pair: robustness(spec, pair, found) if pair in ruling else None for pair, found in effects.items()}
    ruled = ruled_on(spec, effects)
    rows: list[Json] = [_effect(spec, pair, effects, bounds, others[pair]) for pair in sorted(effects)]
    pins_listed: list[Json] = list(pins)
    record: dict[str, Json] = {
        "type": RESULTS,
        "plan": spec.id,
        "pins": pins_listed,
        "flow": flow_record(flow, cells),
        "exclusions": exclusions_record(spec, flow, cells),
        "effects": rows,
        "reported": list(reported(cells, effects)),
        "verdicts": _verdicts(cells, ruled, effects, bounds, others),
        "by_pin": _by_pin(cells, pins),
        "overhead": overhead_record(cells),
    }
    return Analysis(flow=flow, effects=effects, verdicts=ruled, record=record, line=encode_value(record))


def pairs_read(spec: Spec) -> tuple[Pair, ...]:
    """Every (effect, metric) that something in the plan reads, each once."""
    return tuple(dict.fromkeys((use.effect, use.metric) for use in uses_of(spec)))


def ruled_on(spec: Spec, effects: Effects) -> tuple[Verdict, ...]:
    """The verdicts that these effects come to."""
    return verdicts(spec, {pair: found.estimate for pair, found in effects.items()})


def _effect(spec: Spec, pair: Pair, effects: Effects, bounds: _Bounds, other: Robustness | None) -> Json:
    name, metric = pair
    row: Row = {"effect": name, "metric": metric}
    row |= effect_row(spec, spec.effects[name], metric, effects[pair])
    under = (bounds.worst[pair], bounds.best[pair]) if misses(effects[pair]) else (None, None)
    return row | bounds_row(*under) | robustness_row(effects[pair], other)


def _verdicts(
    cells: Cells,
    ruled: Sequence[Verdict],
    effects: Effects,
    bounds: _Bounds,
    others: Mapping[Pair, Robustness | None],
) -> list[Json]:
    spec, lost, again = cells.spec, lost_in_rules(cells), tries_again(cells)
    worst, best = ruled_on(spec, bounds.worst), ruled_on(spec, bounds.best)
    asked = [question for name in spec.hypotheses for question in questions(spec, name)]
    return [
        _verdict(spec, verdict, if_worst.verdict, if_best.verdict, of_verdict(question, verdict, effects, others))
        | chosen_row(spec, verdict, lost, again)
        for question, verdict, if_worst, if_best in zip(asked, ruled, worst, best, strict=True)
    ]


def _verdict(spec: Spec, verdict: Verdict, if_worst: str, if_best: str, robust: VerdictRobustness | None) -> Row:
    hypothesis = spec.hypotheses[verdict.hypothesis]
    return {
        "hypothesis": verdict.hypothesis, "metric": verdict.metric, "says": hypothesis.says,
        "descriptive": hypothesis.descriptive, "verdict": verdict.verdict, "rule": verdict.rule, "why": verdict.why,
        "if_worst": if_worst, "if_best": if_best, "robustness": None if robust is None else _robust(robust),
    }  # fmt: skip


def chosen_row(spec: Spec, verdict: Verdict, lost: Sequence[Lost], again: Mapping[str, int]) -> Row:
    """What it rests on that may have been chosen after treatment: tries drawn again by arm, and lost values."""
    arms = arms_under(spec, verdict.hypothesis, verdict.metric)
    drawn: Row = {arm: again.get(arm, 0) for arm in arms} if any(arm in again for arm in arms) else {}
    null: list[Json] = [str(one) for one in lost_under(spec, verdict.hypothesis, verdict.metric, lost)]
    return {"drawn_again": drawn, "null": null}


def _robust(robust: VerdictRobustness) -> Row:
    return {
        "seeds_tried": robust.seeds_tried, "seeds_same": robust.seeds_same,
        "seed_decides": robust.seeds_same < robust.seeds_tried if robust.seeds_tried else None,
        "seeds_untried": robust.seeds_untried,
        "exact_law": robust.exact_law, "tango": robust.tango,
    }  # fmt: skip


def _by_pin(cells: Cells, pins: Sequence[str]) -> list[Json]:
    """With several pins, what the slots of each come to alone, by the plan's own rule for what is missing.

    A sensitivity, not a ruling. A pair whose sides ran under two pins counts under neither.
    """
    return [_under(cells.under(number), pin) for number, pin in enumerate(pins)] if len(pins) > 1 else []


def _under(cells: Cells, pin: str) -> Row:
    spec = cells.spec
    effects = effects_under(cells, pairs_read(spec), spec.sample.missing)
    rows: list[Json] = []
    for name, metric in sorted(effects):
        row: Row = {"effect": name, "metric": metric}
        rows.append(row | effect_row(spec, spec.effects[name], metric, effects[name, metric]))
    says: list[Json] = [
        {"hypothesis": verdict.hypothesis, "metric": verdict.metric, "verdict": verdict.verdict, "why": verdict.why}
        for verdict in ruled_on(spec, effects)
    ]
    return {"pin": pin, "effects": rows, "verdicts": says}
