"""Every effect that a plan reads, estimated under one rule for what is missing, p-values corrected.

    ruled = effects_under(cells, pairs, plan.spec.sample.missing)
    worst = effects_under(cells, pairs, "worst", known=ruled)

Corrections look at a whole family at once. A member that has no p-value keeps its place in the family as if its p were
1: dropping it would loosen the correction for the others because of what the data were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TypeAlias

from sealkit.infer.cells import Cells
from sealkit.infer.estimate import Estimated, Found, estimate
from sealkit.infer.intervals import tested
from sealkit.infer.shapes import Rows
from sealkit.infer.standins import Rule
from sealkit.infer.stats.multiplicity import benjamini_hochberg, gatekeep, holm
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.analysis import Gatekeeping, NoCorrection, OneFamily
from sealkit.plan.fields import corrected
from sealkit.plan.schema import Spec

Pair: TypeAlias = tuple[str, str]  # effect, metric
Effects: TypeAlias = Mapping[Pair, Found]
NO_P = Decimal(1)


def effects_under(
    cells: Cells, pairs: Iterable[Pair], rule: Rule, *, known: Effects | None = None
) -> dict[Pair, Found]:
    """Every pair estimated under `rule`; those of `known` that miss nothing are the same under any rule."""
    found = {
        pair: known[pair] if known is not None and not misses(known[pair]) else estimate(cells, *pair, rule=rule)
        for pair in pairs
    }
    return corrected_over(cells.spec, found)


def misses(found: Found) -> bool:
    """Whether outcomes that it rests on are not there, so that other stand-ins would change it."""
    return found.data is None or any(
        basis.absent or basis.filled or basis.null or basis.unpaired for basis in found.basis
    )


def corrected_over(spec: Spec, found: Mapping[Pair, Found]) -> dict[Pair, Found]:
    """The same effects, with `p_adjusted` where the plan corrects and there is a p-value."""
    rule, members = spec.multiplicity, corrected(spec)
    if isinstance(rule, NoCorrection) or any(pair not in found for pair in members):
        return dict(found)
    p_values = {pair: _p_value(found[pair], rule) for pair in members}
    adjusted = _adjusted(rule, {pair: NO_P if isinstance(p, str) else p for pair, p in p_values.items()})
    return {pair: _with_p(each, p_values.get(pair), adjusted.get(pair)) for pair, each in found.items()}


def _p_value(found: Found, rule: OneFamily | Gatekeeping) -> Decimal | str:
    """The member's p-value, or why there is none."""
    if not isinstance(found.data, Rows):
        return found.estimate.reason if isinstance(found.estimate, NotEstimable) else "no pairs"
    result = tested(found.data, rule.test)
    return result.reason if isinstance(result, NotEstimable) else result.p


def _adjusted(rule: OneFamily | Gatekeeping, p_values: Mapping[Pair, Decimal]) -> dict[Pair, Decimal]:
    if isinstance(rule, OneFamily):
        adjust = holm if rule.kind == "holm" else benjamini_hochberg
        return dict(zip(p_values, adjust(tuple(p_values.values())), strict=True))
    families = [[(member.effect, member.metric) for member in family] for family in rule.families]
    passed = gatekeep([[p_values[pair] for pair in family] for family in families])
    return {
        pair: p
        for family, adjusted in zip(families, passed, strict=True)
        for pair, p in zip(family, adjusted, strict=True)
    }


def _with_p(found: Found, p: Decimal | str | None, adjusted: Decimal | None) -> Found:
    numbers = found.estimate
    if p is None or adjusted is None or isinstance(numbers, NotEstimable):
        return found
    if isinstance(p, str):
        return replace(found, estimate=replace(numbers, notes=(*numbers.notes, f"no p-value: {p}")))
    return replace(
        found,
        estimate=Estimated({**numbers.fields, "p_adjusted": adjusted}, {**numbers.beside, "p": p}, numbers.notes),
    )
