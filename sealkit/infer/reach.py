"""Which verdicts data of the planned size can give: the plan's rules on every table of counts, nothing supposed.

The truth table of a plan orders the figures that rules read, and knows no sample size: of two pairs no interval lies
above 0, whatever they say. Where an effect rests on yes or no and on so few units that all its tables can be gone
through, it is known which verdicts can come out, and the others are named.

First a few tables of each effect are tried, the extreme ones among them. If these give every verdict, no more is asked.
Else all tables of the planned size are, and the few of every smaller size, which slots without an outcome leave.
Effects are combined freely, also where they share episodes: so a verdict that is named cannot come out, and one that is
not named may still not. Nothing is said of effects on other metrics, in strata or clusters, or of too many units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from sealkit.infer.assumed import needed
from sealkit.infer.columns import Numbers
from sealkit.infer.drawing import Planned, planned
from sealkit.infer.estimate import Estimate, measured
from sealkit.infer.power import MOST_RESAMPLES, MOST_ROWS
from sealkit.infer.sample import Sample
from sealkit.infer.verdicts import rule
from sealkit.plan.analysis import Resampled
from sealkit.plan.questions import Question, questions
from sealkit.plan.schema import Spec
from sealkit.plan.slots import basis

Table: TypeAlias = tuple[int, int, int, int]  # of n units: the plus side alone, the minus side alone, both
MOST_TABLES: Final = 1000
MOST_COMBINED: Final = 50_000
_FEW: Final = 4  # a few tables: counts of 0, a quarter, a half, three quarters or all of the units


@dataclass(frozen=True, slots=True)
class Unreached:
    """A verdict that its rules can give, and no data of the planned size."""

    hypothesis: str
    metric: str | None
    verdict: str
    rests_on: str

    def __str__(self) -> str:
        about = f" on {self.metric}" if self.metric else ""
        return f"{self.hypothesis}{about}: no data of {self.rests_on} can give {self.verdict}"


def unreached(spec: Spec) -> Iterator[Unreached]:
    """Every verdict of the plan's hypotheses that is known to be out of reach, in the plan's order."""
    for name in spec.hypotheses:
        for question in questions(spec, name):
            parts = _parts(spec, question)
            for verdict in _out_of_reach(spec, question, parts) if parts else ():
                yield Unreached(name, question.metric, verdict, _rests_on(spec, parts))


def _parts(spec: Spec, question: Question) -> tuple[Planned, ...]:
    """What the question rests on, if all of it is told by counts; else nothing."""
    pairs = needed(spec, question)
    own = set(pairs) == set(question.metrics.items())
    if not own or any(name.endswith(".p_adjusted") for name in question.fields):
        return ()
    if any(getattr(spec.metrics[metric], "unit", None) is not None for _, metric in pairs):
        return ()
    parts = tuple(planned(spec, pair, 1) for pair in pairs)
    return parts if all(part.rows.binary and part.rows.is_plain for part in parts) else ()


def _out_of_reach(spec: Spec, question: Question, parts: Sequence[Planned]) -> list[str]:
    few = [_estimates(spec, part, _few(spec, part, part.rows.n)) for part in parts]
    left = set(question.verdicts) - _reached(question, parts, few)
    if not left or not all(_is_small(spec, part) for part in parts):
        return []
    every = [_estimates(spec, part, _every(spec, part)) for part in parts]
    if math.prod(map(len, every)) > MOST_COMBINED:
        return []
    left -= _reached(question, parts, every)
    return [verdict for verdict in dict.fromkeys(question.verdicts) if verdict in left]


def _reached(question: Question, parts: Sequence[Planned], found: Sequence[Sequence[Estimate]]) -> set[str]:
    return {
        rule(question, {part.pair: one for part, one in zip(parts, each, strict=True)}).verdict
        for each in product(*found)
    }


# --- tables ---------------------------------------------------------------------------------------


def _is_small(spec: Spec, part: Planned) -> bool:
    """Whether all tables of this effect can be gone through while somebody waits."""
    method, n = spec.methods[spec.effects[part.pair[0]].method], part.rows.n
    if isinstance(method, Resampled) and method.resamples > MOST_RESAMPLES:
        return False
    sizes = 1 if part.minus is None else 3 if _needs_both(spec, part) else 2
    return n <= MOST_ROWS.get(method.kind, n) and math.comb(n + sizes, sizes) <= MOST_TABLES


def _needs_both(spec: Spec, part: Planned) -> bool:
    """Whether pairs in which both sides have the better value, or neither, make a difference to the method."""
    return spec.methods[spec.effects[part.pair[0]].method].kind == "newcombe_10"


def _few(spec: Spec, part: Planned, n: int) -> Iterator[Table]:
    return _tables(spec, part, n, sorted({n * quarter // _FEW for quarter in range(_FEW + 1)}))


def _every(spec: Spec, part: Planned) -> Iterator[Table]:
    yield from _tables(spec, part, part.rows.n, range(part.rows.n + 1))
    for fewer in range(1, part.rows.n):
        yield from _few(spec, part, fewer)


def _tables(spec: Spec, part: Planned, n: int, counts: Sequence[int]) -> Iterator[Table]:
    """Every table of `n` units whose cells are `counts`, but for the last, which has what is left."""
    if part.minus is None:
        yield from ((n, yes, 0, 0) for yes in counts)
        return
    for b, c, both in product(counts, counts, counts if _needs_both(spec, part) else (0,)):
        if b + c + both <= n:
            yield n, b, c, both


def _estimates(spec: Spec, part: Planned, tables: Iterable[Table]) -> list[Estimate]:
    return [_estimate(spec, part, table) for table in tables]


def _estimate(spec: Spec, part: Planned, table: Table) -> Estimate:
    n, b, c, both = table
    better = np.zeros((2, n), dtype=np.int64)
    better[0, : b + both] = 1
    better[1, b : b + both + c] = 1
    plus, minus = 1 - better if part.rows.lower_is_better and part.minus is not None else better
    own, effect = part.rows.sample, spec.effects[part.pair[0]]
    sides: tuple[tuple[Numbers, ...], tuple[Numbers, ...] | None] = (plus,), None if part.minus is None else (minus,)
    fewer = replace(own.basis, n=n, absent=own.basis.planned - n)
    sample = Sample(own.scales, fewer, *sides, part.row_slot[:n], own.planned)
    return measured(spec, effect, part.pair[1], replace(part.rows, sample=sample))


def _rests_on(spec: Spec, parts: Sequence[Planned]) -> str:
    """`40 pairs`; with the names of effects where there are several."""
    sizes = {part.pair[0]: basis(spec, *part.pair) for part in parts}
    if len(sizes) == 1:
        return " and ".join(f"{one.count} {one.kind}" for one in sizes.values())
    return " and ".join(f"{one.count} {one.kind} of {name}" for name, one in sizes.items())


__all__ = ["Unreached", "unreached"]
