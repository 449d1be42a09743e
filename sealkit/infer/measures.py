"""What a judge may give for a metric, and the whole number that is kept of it.

A measure is an integer, a decimal string for a score, or null where there is none: a missing outcome. For a metric
with a `unit` it is a mapping from each unit that the episode showed to such a value, and for a metric that is `read_by`
a reading, a mapping from each level of the reading to all that:

    success          1
    quality          "0.6"
    named_and_timed  {"structured": {"door_locks": 1, "tags_swapped": 0}, "transcript": {"door_locks": 0, …}}

Whatever a metric of its kind cannot be is `MalformedError`: a broken judge is no result. So is a level of the reading
that the plan takes in the episode's arm and that is not there. A reading
that failed, or was never taken, has the word `missing` at its level: no outcome, to which the plan's rule for missing
ones applies. A kept number k stands for k × `scale_of_values(metric)`, exactly; there is no float, so no NaN.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from sealkit.infer.columns import NULL
from sealkit.plan.analysis import Binary, Counted, CountsAs, Duration, Ratio, Score
from sealkit.plan.readings import LOST, is_taken
from sealkit.plan.schema import Spec
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Json

Plain: TypeAlias = Binary | Counted | Score | Duration  # every metric that an episode has a value of
MOST: Final = 2**53  # kept numbers stay below
_is_decimal = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?").fullmatch


def scale_of_values(metric: Plain) -> Fraction:
    """The step between kept numbers: 1, or for a score the largest number of which its ends are multiples."""
    if not isinstance(metric, Score):
        return Fraction(1)
    return Fraction(1, math.lcm(*(Fraction(part).denominator for part in (*metric.range, metric.step))))


def plain_metrics(spec: Spec) -> dict[str, Plain]:
    """The metrics of which an episode has a value: all but ratios."""
    return {name: metric for name, metric in spec.metrics.items() if not isinstance(metric, Ratio)}


def parts_of(spec: Spec, metric_name: str) -> tuple[str, ...]:
    """The metrics whose values this one is computed from: itself, or both parts of a ratio."""
    metric = spec.metrics[metric_name]
    return (metric.of, metric.over) if isinstance(metric, Ratio) else (metric_name,)


def read_measures(
    spec: Spec, metric_name: str, metric: Plain, measures: Mapping[str, Json], *, arm: str, where: str
) -> Iterator[tuple[str | None, str | None, int | None]]:
    """(reading level, unit, kept number) for each value that `measures` holds of this metric; `NULL` for null.

    The number is null, and there is no unit, where a reading failed: nothing is known at that level. `arm` is that of
    the episode: every level of a reading that is taken in it is due.
    """
    name = metric.measure or metric_name
    if name not in measures:
        given = ", ".join(sorted(measures)) or "nothing"
        raise MalformedError(f"found no measure {name}, only {given}", where=where, remedy="let the judge give it")
    value = measures[name]
    if metric.read_by is None:
        yield from _units(metric, None, value, f"{where} {name}")
        return
    levels = spec.readings[metric.read_by].levels
    reads = _mapping(value, f"level of {metric.read_by}", f"{where} {name}")
    for level, reader in levels.items():
        if level not in reads and is_taken(reader, arm):
            raise MalformedError(
                f"found no {level}, a {metric.read_by} that the plan takes in arm {arm}",
                where=f"{where} {name}",
                remedy="let the judge give it",
            )
    for level, read in reads.items():
        if level not in levels:
            raise MalformedError(f"found the reading {level}, due one of {', '.join(levels)}", where=f"{where} {name}")
        if read == LOST:
            yield level, None, None
        else:
            yield from _units(metric, level, read, f"{where} {name} {level}")


def _units(metric: Plain, level: str | None, value: Json, where: str) -> Iterator[tuple[str | None, str | None, int]]:
    if metric.unit is None:
        yield level, None, _kept(metric, value, where)
        return
    if value is None:  # an episode that showed none
        return
    for unit, each in _mapping(value, metric.unit, where).items():
        yield level, unit, _kept(metric, each, f"{where} {unit}")


def _mapping(value: Json, what: str, where: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        raise MalformedError(f"found {value!r}, due a mapping with a value for each {what}", where=where)
    return value


def _kept(metric: Plain, value: Json, where: str) -> int:
    if value is None:
        return metric.censored.value if isinstance(metric, Duration) and isinstance(metric.censored, CountsAs) else NULL
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, str) and _is_decimal(value))):
        raise MalformedError(f"found {value!r}, due an integer, a decimal string or null", where=where)
    exact = Fraction(value)
    _check(metric, exact, where)
    kept = exact / scale_of_values(metric)
    if kept.denominator != 1 or abs(kept) >= MOST:
        raise MalformedError(f"found {value}, which has more than 2^53 steps", where=where)
    return int(kept)


def _check(metric: Plain, value: Fraction, where: str) -> None:
    most = metric.end if isinstance(metric, Duration) else metric.most if isinstance(metric, Counted) else None
    if isinstance(metric, Binary):
        if value not in (0, 1):
            raise MalformedError(f"found {value}, due 0 or 1", where=where)
    elif isinstance(metric, Score):
        low, high = (Fraction(end) for end in metric.range)
        if not low <= value <= high or ((value - low) / Fraction(metric.step)).denominator != 1:
            raise MalformedError(f"found {value}, due {low} to {high} in steps of {metric.step}", where=where)
    elif value < 0 or value.denominator != 1:
        raise MalformedError(f"found {value}, due a whole number from 0 on", where=where)
    elif most is not None and value > most:
        raise MalformedError(f"found {value}, and the plan says that it has at most {most}", where=where)
