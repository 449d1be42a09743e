"""Floors and ceilings in episodes that are never analysed: where a metric has nowhere to go, a study shows nothing.

    for each in headroom(spec, [("oracle", measures), …]):
        each.arm, each.metric, each.end, each.n

An arm is at the ceiling of a metric if every value is as good as the metric allows, at its floor if every one is as
bad. A count or a duration has no worst value. Fewer than three values say nothing.

>>> str(AtEnd("oracle", "success", "ceiling", "1", 5))
'arm oracle: success is 1 in 5 of 5, at its ceiling'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sealkit.infer.columns import NULL
from sealkit.infer.measures import Plain, plain_metrics, read_measures, scale_of_values
from sealkit.plan.analysis import CountsAs, Duration
from sealkit.plan.fields import ends_of
from sealkit.plan.schema import Spec
from sealkit.wire.records import Json

LEAST: Final = 3


@dataclass(frozen=True, slots=True)
class AtEnd:
    """An arm whose every value of a metric is the best, or the worst, that the metric has."""

    arm: str
    metric: str
    end: Literal["floor", "ceiling"]
    value: str
    n: int

    def __str__(self) -> str:
        return f"arm {self.arm}: {self.metric} is {self.value} in {self.n} of {self.n}, at its {self.end}"


def headroom(spec: Spec, measured: Iterable[tuple[str, Mapping[str, Json]]]) -> tuple[AtEnd, ...]:
    """Every arm at an end of a primary metric, in the plan's order; `measured` has an item an episode."""
    metrics = {name: metric for name, metric in plain_metrics(spec).items() if metric.primary}
    found: dict[tuple[str, str], list[int]] = {}
    for arm, measures in measured:
        for name, metric in metrics.items():
            if (metric.measure or name) in measures:  # what calls used is no measure of the judge
                read = read_measures(spec, name, metric, measures, arm=arm, where=f"measures of arm {arm}:")
                found.setdefault((arm, name), []).extend(value for _, _, value in read if value not in (NULL, None))
    return tuple(
        end
        for arm in spec.factors.arm
        for name, metric in metrics.items()
        for end in _at_end(arm, name, metric, found.get((arm, name), []))
    )


def without_end(spec: Spec, measured: Sequence[tuple[str, Mapping[str, Json]]]) -> Iterator[str]:
    """Of each arm and each duration whose plan says what null counts as: in how many episodes it is null."""
    for name, metric in plain_metrics(spec).items():
        if not isinstance(metric, Duration) or not isinstance(metric.censored, CountsAs):
            continue
        for arm in spec.factors.arm:
            given = [one.get(metric.measure or name) for its, one in measured if its == arm]
            if nulls := sum(map(_has_null, given)):
                yield f"arm {arm}: {name} is null in {nulls} of {len(given)}, and counts as {metric.censored.value}"


def _has_null(value: Json) -> bool:
    return any(map(_has_null, value.values())) if isinstance(value, dict) else value is None


def _at_end(arm: str, name: str, metric: Plain, values: list[int]) -> Iterator[AtEnd]:
    if len(values) < LEAST or len(set(values)) > 1:
        return
    scale = scale_of_values(metric)
    lowest, highest = ends_of(metric)
    low, high = int(lowest / scale), None if highest is None else int(highest / scale)
    best, worst = (high, low) if metric.better == "higher" else (low, high)
    for end, value in (("ceiling", best), ("floor", worst)):
        if values[0] == value:
            shown = f"{float(value * scale):g}"
            yield AtEnd(arm, name, "ceiling" if end == "ceiling" else "floor", shown, len(values))
