"""What stands in for an outcome that is not there: by the plan's rule, and for the bounds under every verdict.

The plan's `sample.missing` says which rule holds:

    complete_pairs   nothing stands in: the cell, and with it the pair, is left out
    failure          a missing slot counts as a failure; an episode that was excluded never counts against the agent
    worst_case       whatever is not there is as bad for the predicted direction as it can be: worst on the plus side,
                     best on the minus side

Beside the ruling stand both bounds: `worst` and `best` fill every slot without an outcome, also those of excluded
episodes, against and for the predicted direction. A failed slot (no episode, and the plan says that its ending means
failure) is a failure throughout, also under `complete_pairs`: to leave it out would compare only those that survived.
Where a metric has no worst value (a count has no end unless the plan states `most`), nothing can stand in, and
`Unbounded` says so. Only a duration whose plan leaves out what did not end has no value by the plan's own word, but
where the worst or the best case is asked for.

A measure that is null is a missing outcome (docs/decisions/0018): what would leave it out was there after treatment.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from sealkit.infer.cells import FAILED, MISSING, SET_ASIDE
from sealkit.infer.measures import Plain, scale_of_values
from sealkit.plan.analysis import Binary, CountsAs, Duration, LeftOut, Score

Rule: TypeAlias = Literal["complete_pairs", "failure", "worst_case", "worst", "best"]
Standin: TypeAlias = Literal["nothing", "failure", "against", "for"]

STANDINS: Final[dict[Rule, dict[int, Standin]]] = {
    "complete_pairs": {MISSING: "nothing", SET_ASIDE: "nothing", FAILED: "failure"},
    "failure": {MISSING: "failure", SET_ASIDE: "nothing", FAILED: "failure"},
    "worst_case": {MISSING: "against", SET_ASIDE: "against", FAILED: "failure"},
    "worst": {MISSING: "against", SET_ASIDE: "against", FAILED: "failure"},
    "best": {MISSING: "for", SET_ASIDE: "for", FAILED: "failure"},
}


@dataclass(frozen=True, slots=True)
class Unbounded:
    """The metric has no value that is as bad, or as good, as can be."""


def standin_of(metric: Plain, rule: Rule, state: int) -> Standin:
    """What stands in for a slot in this state. What a plan leaves out is a missing outcome to a worst or best case."""
    if state == FAILED and is_left_out(metric) and STANDINS[rule][MISSING] in ("against", "for"):
        return STANDINS[rule][MISSING]
    return STANDINS[rule][state]


def is_left_out(metric: Plain) -> bool:
    """Whether the plan says that what did not end has no value."""
    return isinstance(metric, Duration) and isinstance(metric.censored, LeftOut)


def value_of(metric: Plain, standin: Standin, *, plus: bool) -> int | Unbounded | None:
    """The kept number that stands in on the plus or the minus side; null where nothing does."""
    if standin == "nothing":
        return None
    if standin == "failure":
        if isinstance(metric, Duration):  # a failed episode did not end, and that is what `censored` is about
            return metric.censored.value if isinstance(metric.censored, CountsAs) else None
        return _end(metric, good=False)
    return _end(metric, good=(standin == "for") == plus)


def _end(metric: Plain, *, good: bool) -> int | Unbounded:
    """The best or the worst value that the metric has."""
    high = good == (metric.better == "higher")
    if isinstance(metric, Binary):
        return int(high)
    if isinstance(metric, Score):
        return int(Fraction(metric.range[int(high)]) / scale_of_values(metric))
    if not high:
        return 0
    return metric.most if metric.most is not None else Unbounded()
