"""Which statistic a method of the plan names, applied to the rows of an effect."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from sealkit.infer.difference import TwoEffects
from sealkit.infer.shapes import Rows, total_of
from sealkit.infer.stats.bootstrap import percentile_bootstrap
from sealkit.infer.stats.exact_paired import exact_difference
from sealkit.infer.stats.law import law_interval
from sealkit.infer.stats.paired import equivalence, mcnemar_exact, mcnemar_mid_p, newcombe_10, noninferiority, tango
from sealkit.infer.stats.proportion import clopper_pearson, wilson
from sealkit.infer.stats.results import Estimate, MarginTested, NotEstimable, Rate, Tested
from sealkit.infer.stats.signflip import sign_flip
from sealkit.plan.analysis import Closed, Margin, Method, Resampled, Test
from sealkit.wire.errors import HarnessError

Data: TypeAlias = Rows | TwoEffects


@dataclass(frozen=True, slots=True)
class Interval:
    """Two limits and what the statistic noted."""

    lower: Decimal
    upper: Decimal
    notes: tuple[str, ...]


def interval_of(data: Data, method: Closed | Resampled) -> Interval | NotEstimable:
    """The interval of the effect on these rows."""
    if isinstance(method, Resampled):
        return seeded(data, method, method.seed)
    if isinstance(data, TwoEffects):
        raise HarnessError(f"{method.kind} gives no interval for a difference of effects", where="methods")
    if method.kind in ("wilson", "clopper_pearson"):
        interval = wilson if method.kind == "wilson" else clopper_pearson
        return _limits(interval(total_of(data.sample.plus[0]), data.sample.n, level=method.level))
    if method.kind == "paired_bootstrap_exact":
        return _limits(law_interval(data.design(), level=method.level))
    counts, both = data.counts()
    if method.kind == "tango":
        return _limits(tango(counts, level=method.level))
    if method.kind == "newcombe_10":
        return _limits(newcombe_10(counts, both=both, level=method.level))
    return _limits(exact_difference(counts, level=method.level))


def seeded(data: Data, method: Resampled, seed: int) -> Interval | NotEstimable:
    """The percentile interval of the method, drawn from this seed."""
    return _limits(percentile_bootstrap(data.design(), level=method.level, resamples=method.resamples, seed=seed))


def limits_by(way: Literal["exact_law", "tango"], data: Data, level: Decimal) -> Interval | NotEstimable:
    """The interval by another way than the plan's: the exact bootstrap law, or Tango's on binary pairs."""
    if way == "exact_law":
        return _limits(law_interval(data.design(), level=level))
    if not isinstance(data, Rows) or not (data.binary and data.is_plain and data.sample.minus is not None):
        return NotEstimable("Tango's interval is for binary pairs without clusters and strata")
    return _limits(tango(data.counts()[0], level=level))


def _limits(found: Estimate | Rate | NotEstimable) -> Interval | NotEstimable:
    if isinstance(found, NotEstimable):
        return found
    return Interval(found.lower, found.upper, found.notes if isinstance(found, Estimate) else ())


def tested(data: Rows, test: Test) -> Tested | NotEstimable:
    """The p-value of a test of the plan; McNemar's knows neither clusters nor strata."""
    if data.is_ratio:
        return NotEstimable("a ratio of sums has no difference in a single pair")
    if test == "sign_flip":
        return sign_flip(data.flips())
    if not data.is_plain:
        return NotEstimable(f"{test} knows no clusters and no strata")
    counts, _ = data.counts()
    return mcnemar_exact(counts) if test == "mcnemar_exact" else mcnemar_mid_p(counts)


def margin_tested(data: Data, margin: Margin, method: Method) -> MarginTested | NotEstimable | None:
    """Tango's score test against the margin, one-sided at (1 - level)/2; null where it does not apply."""
    if not (isinstance(data, Rows) and data.binary and data.is_plain and data.sample.minus is not None):
        return None
    if not isinstance(method, Closed | Resampled) or margin.value >= 1:
        return None
    counts, _ = data.counts()
    test = noninferiority if margin.kind == "noninferiority" else equivalence
    return test(counts, margin=margin.value, alpha=(1 - method.level) / 2)
