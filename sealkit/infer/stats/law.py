"""The exact law of the percentile bootstrap: what every seed draws from, and its interval, without a seed.

A resample of n pairs is n independent draws from the differences, so its sum has the n-fold convolution of their
distribution: the ideal bootstrap of Efron and Tibshirani (1993). With weighted strata it is the law of a weighted sum
of such sums; with clusters, the joint law of the two sums whose ratio is the effect. `lattice` says how they are
computed, and that no float decides a limit.

The interval is what the seeded one tends to as resamples grow: its lower limit is the smallest effect such that a
resample has that effect or less with a chance of at least (1 - level)/2, its upper limit the mirror image.

>>> from sealkit.infer.stats.design import pairs
>>> interval = law_interval(pairs([1] * 9 + [-1] * 3 + [0] * 20), level=Decimal("0.95"))
>>> f"{interval.estimate:.5f}, {interval.lower:.5f} to {interval.upper:.5f}"
'0.18750, 0.00000 to 0.37500'
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction

from sealkit.infer.stats.decimals import tail_of
from sealkit.infer.stats.design import Design
from sealkit.infer.stats.lattice import Law, sum_of, sum_of_draws
from sealkit.infer.stats.results import Estimate, NotEstimable
from sealkit.infer.stats.units import PAIRS


def law_interval(design: Design | NotEstimable, *, level: Decimal) -> Estimate | NotEstimable:
    """The effect with the interval of the exact bootstrap law."""
    tail = tail_of(level)
    if isinstance(design, NotEstimable):
        return design
    observed = design.observed()
    if isinstance(observed, NotEstimable):
        return observed
    law = law_of(design)
    if isinstance(law, NotEstimable):
        return law
    lower, upper = law.quantile(tail), law.mirrored().quantile(tail)
    if isinstance(lower, NotEstimable):
        return lower
    if isinstance(upper, NotEstimable):
        return upper
    return design.estimate(observed, lower, -upper, method=f"{design.name}_bootstrap_exact_law", level=level)


def law_of(design: Design) -> Law | NotEstimable:
    """The law of the effect in a resample; of a difference of two ratios sealkit has none."""
    if design.kind is not PAIRS:
        return NotEstimable("no exact law is known here for a difference of two ratios")
    if all(len({size for _, size in each.units}) == 1 for each in design.strata):
        return _law_of_weighted_sum(design)
    return _law_of_ratio(design)


def _law_of_weighted_sum(design: Design) -> Law | NotEstimable:
    """Sizes are fixed in every stratum, so the effect is the sum over strata of factor * sum of totals."""
    effect = design.effect_of(design.strata)
    sizes = [sum(size for _, size in each.units) for each in design.strata]
    whole: Law | None = None
    for i, stratum in enumerate(design.strata):
        law = sum_of_draws(Counter(total for total, _ in stratum.units), len(stratum.units))
        if isinstance(law, NotEstimable):
            return law
        # The effect of a total of 1 in this stratum and 0 elsewhere; its denominator is the same in each.
        factor, bottom = effect([(int(j == i), size) for j, size in enumerate(sizes)])
        scaled = Law([x * factor for x in law.support], law.weights, law.total, Fraction(1, bottom))
        summed = scaled if whole is None else sum_of(whole, scaled)
        if isinstance(summed, NotEstimable):
            return summed
        whole = summed
    assert whole is not None  # a design has strata
    return whole


def _law_of_ratio(design: Design) -> Law | NotEstimable:
    """Sizes vary: the joint law of (sum of totals, sum of sizes), each pair packed into one whole number."""
    (stratum,) = design.strata
    base = max(size for _, size in stratum.units) * len(stratum.units) + 1  # above every sum of sizes
    joint = sum_of_draws(Counter(total * base + size for total, size in stratum.units), len(stratum.units))
    if isinstance(joint, NotEstimable):
        return joint
    effect = design.effect_of(design.strata)
    weights: Counter[Fraction] = Counter()
    for packed, weight in zip(joint.support, joint.weights, strict=True):
        if weight:
            top, bottom = effect([divmod(int(packed), base)])
            if bottom == 0:
                return NotEstimable("the denominators of a resample can sum to 0")
            weights[Fraction(top, bottom)] += weight
    support = sorted(weights)
    return Law(support, tuple(weights[value] for value in support), joint.total)
