"""How much a ruling owes to choices that the plan had to make: the bootstrap's seed, and the bootstrap itself.

Nothing here changes a ruling. For an effect it gives the limits under the seeds 0 to 59, under the exact law that every
seed draws from, and, on binary pairs, by Tango's method. For a verdict it gives how many of these seeds lead to the
same one, each seed used for every seeded effect at once, and the verdict under the exact law and under Tango.

Of (b, c, n) = (9, 3, 32) with 10,000 resamples 44 of the 60 seeds put the lower limit at 0, the others at -1/32: there
the seed decides a rule that asks for `lower >= 0`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from sealkit.infer.difference import TwoEffects
from sealkit.infer.effects import Effects, Pair
from sealkit.infer.estimate import Estimate, Found
from sealkit.infer.intervals import Data, Interval, limits_by, seeded
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.verdicts import Verdict, rule
from sealkit.plan.analysis import Method, Resampled, Tally
from sealkit.plan.questions import Question
from sealkit.plan.schema import Spec

SEEDS: Final = 60
NO_SEED: Final = "no method of this verdict has a seed"
MOST_DRAWS: Final = 300_000_000  # over all seeds of an effect; a large sample is left to the exact law


@dataclass(frozen=True, slots=True)
class Robustness:
    """The limits of one effect by other ways; null where a way does not apply or has no answer.

    `seeds` is empty for a method without a seed, and for a sample too large to draw from again.
    """

    seeds: tuple[Interval, ...]
    seeded: bool
    exact_law: Interval | None
    tango: Interval | None


@dataclass(frozen=True, slots=True)
class VerdictRobustness:
    """How many of the seeds tried lead to the same verdict, and the verdict by other ways; null where there is none.

    `seeds_untried` says why no seed was tried, and is null where seeds were.
    """

    seeds_tried: int
    seeds_same: int
    seeds_untried: str | None
    exact_law: str | None
    tango: str | None


def robustness(spec: Spec, pair: Pair, found: Found) -> Robustness | None:
    """The other ways for one effect; null where there are none: a tally, a rate's own interval, nothing estimated."""
    method, data = spec.methods[spec.effects[pair[0]].method], found.data
    if data is None or isinstance(method, Tally) or isinstance(found.estimate, NotEstimable):
        return None
    if not (isinstance(method, Resampled) or isinstance(data, TwoEffects) or data.sample.minus is not None):
        return None
    return Robustness(
        seeds=_by_seeds(data, method),
        seeded=isinstance(method, Resampled),
        exact_law=_known(limits_by("exact_law", data, method.level)),
        tango=_known(limits_by("tango", data, method.level)),
    )


def _by_seeds(data: Data, method: Method) -> tuple[Interval, ...]:
    if not isinstance(method, Resampled) or SEEDS * method.resamples * data.units() > MOST_DRAWS:
        return ()
    found = [seeded(data, method, seed) for seed in range(SEEDS)]
    known = tuple(interval for interval in found if isinstance(interval, Interval))
    return known if len(known) == len(found) else ()


def _known(found: Interval | NotEstimable) -> Interval | None:
    return found if isinstance(found, Interval) else None


def of_verdict(
    question: Question, ruled: Verdict, effects: Effects, others: Mapping[Pair, Robustness | None]
) -> VerdictRobustness | None:
    """What other seeds and methods make of one question; null where none of its effects has any."""
    read = {pair: effects[pair] for pair in question.metrics.items()}
    ways = {pair: way for pair in read if (way := others[pair]) is not None}
    if not ways:
        return None
    tried = min((len(way.seeds) for way in ways.values() if way.seeded), default=0)
    same = 0
    for seed in range(tried):
        limits = {pair: way.seeds[seed] for pair, way in ways.items() if way.seeded}
        same += _verdict(question, read, limits) == ruled.verdict
    return VerdictRobustness(
        seeds_tried=tried,
        seeds_same=same,
        seeds_untried=_untried(ways) if not tried else None,
        exact_law=_by(question, read, {pair: way.exact_law for pair, way in ways.items()}),
        tango=_by(question, read, {pair: way.tango for pair, way in ways.items()}),
    )


def _untried(ways: Mapping[Pair, Robustness]) -> str:
    large = [effect for (effect, _), way in ways.items() if way.seeded and not way.seeds]
    if not large:
        return NO_SEED
    return f"{', '.join(large)} is too large to be drawn again from {SEEDS} seeds, or has no limits under some of them"


def _by(question: Question, read: Effects, limits: Mapping[Pair, Interval | None]) -> str | None:
    known = {pair: interval for pair, interval in limits.items() if interval is not None}
    return _verdict(question, read, known) if len(known) == len(limits) else None


def _verdict(question: Question, read: Effects, limits: Mapping[Pair, Interval]) -> str:
    changed: dict[Pair, Estimate] = {}
    for pair, found in read.items():
        numbers = found.estimate
        if pair in limits and not isinstance(numbers, NotEstimable):
            own = {"lower": limits[pair].lower, "upper": limits[pair].upper}
            numbers = replace(numbers, fields={**numbers.fields, **own})
        changed[pair] = numbers
    return rule(question, changed).verdict
