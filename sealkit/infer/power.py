"""The chance of each verdict of a plan, if what is supposed of its effects were true and no outcome missing.

    for each in power(spec, assumptions(spec, statements), simulations=2000, seed=1, step=…):
        each.hypothesis, each.way, each.chances

The plan's own rules, methods and corrections rule on outcomes that are enumerated where they can be, else drawn:

    exact       effects that share no outcome, each yes or no in cells of its own, and few enough: every possible count
                weighted by its binomial or trinomial chance; a seeded bootstrap with the plan's own seed
    simulated   everything else, from a stated seed; chances come with 95 % intervals (Wilson) of the Monte Carlo error
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Final, Literal

import numpy as np

from sealkit.infer.assumed import Assumption, Pair, PairRates, Rate, needed
from sealkit.infer.columns import Numbers
from sealkit.infer.difference import TwoEffects
from sealkit.infer.drawing import Drawing, Planned, drawings, planned
from sealkit.infer.effects import corrected_over
from sealkit.infer.estimate import Estimate, Found, measured
from sealkit.infer.intervals import Data
from sealkit.infer.shapes import Rows
from sealkit.infer.stats.decimals import exact_decimal
from sealkit.infer.stats.paired import PairedCounts
from sealkit.infer.stats.power import verdict_chances
from sealkit.infer.stats.proportion import wilson
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.verdicts import NOT_ESTIMABLE, rule
from sealkit.plan.analysis import Difference, Method, Resampled
from sealkit.plan.questions import Question, questions
from sealkit.plan.schema import Spec

# Up to how many rows every count is enumerated: beyond, its estimates would take minutes.
MOST_ROWS: Final[Mapping[str, int]] = {
    "tally": 400, "wilson": 400, "clopper_pearson": 400, "bootstrap_percentile": 400, "tango": 120,
    "paired_bootstrap_exact": 80, "paired_bootstrap_percentile": 50, "paired_exact": 25,
}  # fmt: skip
MOST_RESAMPLES: Final = 10_000
MOST_STATES: Final = 150_000  # of all effects of a question together
DRAWN_AT_ONCE: Final = 2_000_000
LEVEL: Final = Decimal("0.95")


@dataclass(frozen=True, slots=True)
class Chance:
    """How often a verdict comes out; with the limits of its Monte Carlo error if it was simulated."""

    verdict: str
    chance: Decimal
    lower: Decimal | None
    upper: Decimal | None


@dataclass(frozen=True, slots=True)
class Power:
    """The chances of one question's verdicts, or what would have to be supposed first (`lacking`)."""

    hypothesis: str
    metric: str | None
    way: Literal["exact", "simulated", "not supposed"]
    simulations: int
    chances: tuple[Chance, ...]
    lacking: tuple[Pair, ...]


def power(
    spec: Spec, assumed: Mapping[Pair, Assumption], *, simulations: int, seed: int, step: Callable[[int], None]
) -> Iterator[Power]:
    """The power of every question of the plan, in its order; `step` is told of simulations as they are done."""
    for name in spec.hypotheses:
        for question in questions(spec, name):
            pairs = needed(spec, question)
            lacking = tuple(pair for pair in pairs if pair not in assumed)
            if lacking:
                yield Power(name, question.metric, "not supposed", 0, (), lacking)
                continue
            parts = [planned(spec, pair, assumed[pair].units) for pair in pairs]
            drawn = drawings(spec, parts, assumed)
            laws = _laws(spec, question, parts, drawn, assumed)
            if laws is not None:
                yield Power(name, question.metric, "exact", 0, _exact(question, laws), ())
            else:
                counts = _simulated(spec, question, drawn, simulations, seed, step)
                yield Power(name, question.metric, "simulated", simulations, _shares(question, counts, simulations), ())


# --- exactly -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Law:
    """Every estimate that an effect can come to, with its chance."""

    pair: Pair
    states: tuple[tuple[Fraction, Estimate], ...]


def _laws(
    spec: Spec,
    question: Question,
    parts: Sequence[Planned],
    drawn: Sequence[Drawing],
    assumed: Mapping[Pair, Assumption],
) -> list[_Law] | None:
    """The law of every effect that the question reads; None if they hang together or are too many."""
    own = {part.pair for part in parts} == set(question.metrics.items())
    if not own or any(each.hangs_together for each in drawn):
        return None
    if any(name.endswith(".p_adjusted") for name in question.fields):
        return None
    if not all(_is_small(spec, part, assumed[part.pair]) for part in parts):
        return None
    if math.prod(_states(part) for part in parts) > MOST_STATES:
        return None
    return [_law(spec, part, assumed[part.pair]) for part in parts]


def _is_small(spec: Spec, part: Planned, supposed: Assumption) -> bool:
    """Whether the effect is a function of few counts."""
    method: Method = spec.methods[spec.effects[part.pair[0]].method]
    if not isinstance(supposed, (PairRates, Rate)) or not part.rows.is_plain or supposed.units > 1:
        return False
    if isinstance(method, Resampled) and method.resamples > MOST_RESAMPLES:
        return False
    return part.rows.n <= MOST_ROWS.get(method.kind, 0)


def _states(part: Planned) -> int:
    n = part.rows.n
    return n + 1 if part.minus is None else (n + 1) * (n + 2) // 2


def _law(spec: Spec, part: Planned, supposed: Assumption) -> _Law:
    n, states = part.rows.n, list[tuple[Fraction, Estimate]]()
    if isinstance(supposed, Rate):
        x = Fraction(supposed.x)
        for yes in range(n + 1):
            chance = math.comb(n, yes) * x**yes * (1 - x) ** (n - yes)
            if chance:
                states.append((chance, _estimate(spec, part, _first(n, yes), None)))
        return _Law(part.pair, tuple(states))
    assert isinstance(supposed, PairRates)
    known: dict[str, PairedCounts] = {}

    def name(counts: PairedCounts) -> str:
        known[f"{counts.b}-{counts.c}"] = counts
        return f"{counts.b}-{counts.c}"

    for each in verdict_chances(n, supposed.b, supposed.c, name):
        counts = known[each.verdict]
        b, c = _first(n, counts.b), _first(n, counts.c)[::-1].copy()
        plus, minus = (c, b) if part.rows.lower_is_better else (b, c)
        states.append((each.chance, _estimate(spec, part, plus, minus)))
    return _Law(part.pair, tuple(states))


def _first(n: int, ones: int) -> Numbers:
    found = np.zeros(n, dtype=np.int64)
    found[:ones] = 1
    return found


def _estimate(spec: Spec, part: Planned, plus: Numbers, minus: Numbers | None) -> Estimate:
    return measured(spec, spec.effects[part.pair[0]], part.pair[1], part.holding(plus, minus))


def _exact(question: Question, laws: Sequence[_Law]) -> tuple[Chance, ...]:
    weights: dict[str, Fraction] = {}
    for states in product(*(law.states for law in laws)):
        verdict = rule(question, {law.pair: state[1] for law, state in zip(laws, states, strict=True)}).verdict
        weights[verdict] = weights.get(verdict, Fraction(0)) + math.prod(state[0] for state in states)
    return tuple(
        Chance(verdict, exact_decimal(weights.get(verdict, Fraction(0))), None, None)
        for verdict in _verdicts(question, weights)
    )


# --- by simulation -------------------------------------------------------------------------------


def _simulated(
    spec: Spec, question: Question, drawn: Sequence[Drawing], simulations: int, seed: int, step: Callable[[int], None]
) -> Counter[str]:
    rng = np.random.Generator(np.random.PCG64(seed))
    most = max(1, DRAWN_AT_ONCE // max(1, sum(each.count for each in drawn)))
    known: dict[tuple[object, ...], Found] = {}
    found: Counter[str] = Counter()
    while (left := simulations - found.total()) > 0:
        times = min(left, most)
        values = {pair: both for each in drawn for pair, both in each.draw(rng, times).items()}
        parts = {part.pair: part for each in drawn for part in each.parts}
        for number in range(times):
            rows = {
                pair: part.holding(
                    np.ascontiguousarray(values[pair][0][:, number]),
                    None if (minus := values[pair][1]) is None else np.ascontiguousarray(minus[:, number]),
                )
                for pair, part in parts.items()
            }
            found[_ruled(spec, question, rows, known)] += 1
            step(1)
    return found


def _ruled(spec: Spec, question: Question, rows: Mapping[Pair, Rows], known: dict[tuple[object, ...], Found]) -> str:
    """The verdict on one drawn study."""
    pairs = dict.fromkeys((*question.metrics.items(), *rows))
    found = {pair: _found(spec, pair, _data(spec, pair, rows), known) for pair in pairs}
    effects = corrected_over(spec, found)
    return rule(question, {pair: each.estimate for pair, each in effects.items()}).verdict


def _data(spec: Spec, pair: Pair, rows: Mapping[Pair, Rows]) -> Data:
    effect = spec.effects[pair[0]]
    if not isinstance(effect, Difference):
        return rows[pair]
    plus, minus = effect.difference.split(" - ")
    return TwoEffects(rows[plus, pair[1]], rows[minus, pair[1]], (plus, minus))


def _found(spec: Spec, pair: Pair, data: Data, known: dict[tuple[object, ...], Found]) -> Found:
    """The effect on these rows; the same counts are estimated once."""
    key = (pair, *_counts(data))
    if len(key) > 1 and key in known:
        return known[key]
    found = Found(data, measured(spec, spec.effects[pair[0]], pair[1], data))
    if len(key) > 1:
        known[key] = found
    return found


def _counts(data: Data) -> tuple[int, ...]:
    """What an estimate of these rows depends on, where a few counts are all; else nothing."""
    if not isinstance(data, Rows) or not data.binary or not data.is_plain:
        return ()
    if data.sample.minus is None:
        return (int(data.sample.plus[0].sum()),)
    counts, both = data.counts()
    return counts.b, counts.c, both


def _shares(question: Question, counts: Counter[str], simulations: int) -> tuple[Chance, ...]:
    found = []
    for verdict in _verdicts(question, counts):
        share = wilson(counts[verdict], simulations, level=LEVEL)
        assert not isinstance(share, NotEstimable)
        found.append(Chance(verdict, share.estimate, share.lower, share.upper))
    return tuple(found)


def _verdicts(question: Question, found: Mapping[str, object]) -> list[str]:
    """Every verdict that the rules can give, and `not_estimable` where it came out."""
    names = list(dict.fromkeys(question.verdicts))
    return [*names, NOT_ESTIMABLE] if NOT_ESTIMABLE in found else names
