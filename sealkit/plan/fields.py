"""Which fields a rule may read of an effect: the one table, for rules, truth tables and the analysis alike.

>>> FIELDS["single", "binary"]
('n', 'x', 'estimate', 'lower', 'upper')

An effect has a form (single, paired, difference) and a metric, read on a scale: `binary` (each unit 0 or 1), `count`
(each a whole number) or `number`. Estimates and limits of pairs and differences are oriented: above 0 is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from sealkit.plan.analysis import (
    Binary,
    Combined,
    Counted,
    Difference,
    Duration,
    Effect,
    Gatekeeping,
    Method,
    Metric,
    NoCorrection,
    Ratio,
    Score,
    Single,
    Tally,
)
from sealkit.plan.schema import Spec

Form: TypeAlias = Literal["single", "paired", "difference"]
Scale: TypeAlias = Literal["binary", "count", "number"]

FIELDS: Final[Mapping[tuple[Form, Scale], tuple[str, ...]]] = {
    ("single", "binary"): ("n", "x", "estimate", "lower", "upper"),
    ("single", "count"): ("n", "total", "estimate", "lower", "upper"),
    ("single", "number"): ("n", "estimate", "lower", "upper"),
    ("paired", "binary"): ("n", "b", "c", "estimate", "lower", "upper"),
    ("paired", "count"): ("n", "estimate", "lower", "upper"),
    ("paired", "number"): ("n", "estimate", "lower", "upper"),
    ("difference", "binary"): ("estimate", "lower", "upper"),
    ("difference", "count"): ("estimate", "lower", "upper"),
    ("difference", "number"): ("estimate", "lower", "upper"),
}
LIMITS: Final = ("lower", "upper")
MEANINGS: Final[Mapping[str, str]] = {
    "n": "units (single) or pairs that the estimate rests on",
    "x": "units with the value 1",
    "total": "sum over the units",
    "b": "pairs in which the plus side alone has the better value, so that estimate = (b - c) / n",
    "c": "pairs in which the minus side alone has the better value",
    "estimate": "the mean (single), or the oriented mean difference",
    "lower": "lower limit of the interval of the effect's method",
    "upper": "upper limit of the interval of the effect's method",
    "margin": "the margin that the effect declares",
    "p_adjusted": "the p-value of the effect on this metric, corrected over its family",
}
WHOLE: Final = frozenset(("n", "x", "total", "b", "c"))

# Which methods give an interval for which form and scale; `tally` counts any single arm.
METHODS: Final[Mapping[str, tuple[tuple[Form, ...], tuple[Scale, ...]]]] = {
    "tally": (("single",), ("binary", "count", "number")),
    "wilson": (("single",), ("binary",)),
    "clopper_pearson": (("single",), ("binary",)),
    "bootstrap_percentile": (("single",), ("binary", "count", "number")),
    "tango": (("paired",), ("binary",)),
    "newcombe_10": (("paired",), ("binary",)),
    "paired_exact": (("paired",), ("binary",)),
    "paired_bootstrap_exact": (("paired",), ("binary", "count")),
    "paired_bootstrap_percentile": (("paired", "difference"), ("binary", "count", "number")),
}
RESAMPLING: Final = frozenset(("bootstrap_percentile", "paired_bootstrap_percentile"))


def form_of(effect: Effect) -> Form:
    """Whether the effect stands alone, compares pairs, or compares two effects."""
    if isinstance(effect, Single):
        return "single"
    return "difference" if isinstance(effect, Difference) else "paired"


def scale_of(metric: Metric) -> Scale:
    """How a cell's value reads once its repetitions are combined."""
    if isinstance(metric, Binary):
        whole = metric.repetitions is None or (
            isinstance(metric.repetitions, Combined) and metric.repetitions.kind != "mean"
        )
        return "binary" if whole else "number"
    return "count" if isinstance(metric, Counted) and metric.repetitions is None else "number"


def ends_of(metric: Metric) -> tuple[Fraction, Fraction | None]:
    """The lowest and the highest value that a unit can have; null where there is no highest."""
    if isinstance(metric, Score):
        return Fraction(metric.range[0]), Fraction(metric.range[1])
    if isinstance(metric, Binary):
        return Fraction(0), Fraction(1)
    most = metric.most if isinstance(metric, Counted | Duration) else None
    return Fraction(0), None if most is None else Fraction(most)


def fields_of(spec: Spec, effect_name: str, metric_name: str) -> tuple[str, ...]:
    """The fields that a rule may read of this effect on this metric. Both names must be declared."""
    effect = spec.effects[effect_name]
    method: Method | None = spec.methods.get(effect.method)
    names = FIELDS[form_of(effect), scale_of(spec.metrics[metric_name])]
    if isinstance(method, Tally):
        names = tuple(name for name in names if name not in LIMITS)
    if effect.margin is not None:
        names += ("margin",)
    if (effect_name, metric_name) in corrected(spec):
        names += ("p_adjusted",)
    return names


def readings_of(spec: Spec, metric_name: str) -> tuple[str, ...]:
    """The readings that a metric depends on: its own, or those of both parts of a ratio."""
    metric = spec.metrics[metric_name]
    parts = (spec.metrics[metric.of], spec.metrics[metric.over]) if isinstance(metric, Ratio) else (metric,)
    found = [part.read_by for part in parts if not isinstance(part, Ratio) and part.read_by is not None]
    return tuple(dict.fromkeys(found))


def corrected(spec: Spec) -> tuple[tuple[str, str], ...]:
    """The (effect, metric) pairs whose p-values the plan's `multiplicity` corrects, in its order."""
    rule = spec.multiplicity
    if isinstance(rule, NoCorrection):
        return ()
    families = rule.families if isinstance(rule, Gatekeeping) else (rule.members,)
    return tuple((member.effect, member.metric) for family in families for member in family)
