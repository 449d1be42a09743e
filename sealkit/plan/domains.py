"""Which values a field of an effect can have at all, from the metric and the planned sample."""

from __future__ import annotations

from fractions import Fraction

from sealkit.plan.analysis import Binary, Difference, Metric, Ratio, Score, Single
from sealkit.plan.fields import form_of, scale_of
from sealkit.plan.orderings import Domain
from sealkit.plan.schema import Spec
from sealkit.plan.slots import basis, slot_count

ZERO, ONE = Fraction(0), Fraction(1)


def margin_of(spec: Spec, name: str) -> Fraction:
    """The declared margin that `EFFECT.margin` reads; the effect must have one."""
    margin = spec.effects[name.partition(".")[0]].margin
    assert margin is not None, name
    return Fraction(margin.value)


def domain_of(spec: Spec, name: str, metric_name: str, *, reach: Fraction, within_cap: bool = False) -> Domain:
    """The domain of `EFFECT.FIELD` on this metric; where it has no end, it ends at `reach`.

    `within_cap`: if no arm loses more of its slots than the plan's exclusion cap.
    """
    effect_name, _, field = name.partition(".")
    metric = spec.metrics[metric_name]
    if field == "p_adjusted":
        return Domain(ZERO, ONE)
    if field in ("n", "x", "b", "c", "total"):
        based = basis(spec, effect_name, metric_name)
        most = reach if based.unit is not None else Fraction(based.count)
        if field == "total":
            return Domain(ZERO, max(reach, Fraction(based.count)), whole=True)
        # With no unit at all an effect is not estimable, and no rule is read.
        least = fewest(spec, effect_name, metric_name) if within_cap else 1
        return Domain(Fraction(least) if field == "n" else ZERO, _whole(most), whole=True)
    low, high = _range(metric, reach)
    width = high - low
    match form_of(spec.effects[effect_name]):
        case "single":
            return Domain(low, high)
        case "paired":
            return Domain(-width, width)
        case "difference":
            return Domain(-2 * width, 2 * width)


def fewest(spec: Spec, effect_name: str, metric_name: str) -> int:
    """The least `n` of an effect if no arm loses more of its slots than the exclusion cap; 1 where no plan can say.

    Every slot that the cap allows an arm to lose may be one that the effect rests on. Units are shown by episodes
    alone, and a reading that failed is no slot that is lost.
    """
    metric, effect = spec.metrics[metric_name], spec.effects[effect_name]
    plain = [spec.metrics[part] for part in (metric.of, metric.over)] if isinstance(metric, Ratio) else [metric]
    if any(getattr(one, "unit", None) is not None or getattr(one, "read_by", None) is not None for one in plain):
        return 1
    parts = effect.difference.split(" - ") if isinstance(effect, Difference) else [effect_name]
    sides_ = sum(1 if isinstance(spec.effects[part], Single) else 2 for part in parts)
    in_arm = slot_count(spec, "confirmatory") // len(spec.factors.arm)
    lost = sides_ * int(Fraction(spec.sample.exclusion_cap_per_arm) * in_arm)
    return max(1, basis(spec, effect_name, metric_name).count - lost)


def _range(metric: Metric, reach: Fraction) -> tuple[Fraction, Fraction]:
    """Lowest and highest mean of the metric."""
    if isinstance(metric, Binary) or scale_of(metric) == "binary":
        return ZERO, ONE
    if isinstance(metric, Score):
        return Fraction(metric.range[0]), Fraction(metric.range[1])
    return ZERO, reach


def _whole(value: Fraction) -> Fraction:
    return Fraction(int(value))
