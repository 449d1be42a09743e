"""Which effect is read on which metric, and by whom."""

from __future__ import annotations

import msgspec

from sealkit.plan.analysis import Difference, ReportedArms
from sealkit.plan.fields import corrected
from sealkit.plan.problems import KeyPath
from sealkit.plan.questions import questions
from sealkit.plan.schema import Spec


class Use(msgspec.Struct, frozen=True):
    """`effect` is read on `metric` by what stands at `path`."""

    effect: str
    metric: str
    path: KeyPath
    ruling: bool


def uses_of(spec: Spec) -> tuple[Use, ...]:
    """Every use of an effect by a rule, a correction, a report, or a difference that is itself used."""
    found: list[Use] = []
    for name in spec.hypotheses:
        for question in questions(spec, name):
            found += [Use(effect, metric, ("hypotheses", name), True) for effect, metric in question.metrics.items()]
    found += [Use(effect, metric, ("multiplicity",), True) for effect, metric in corrected(spec)]
    for index, entry in enumerate(spec.reported_only):
        if not isinstance(entry, ReportedArms):
            path: KeyPath = ("reported_only", index)
            found += [Use(effect, metric, path, False) for effect in entry.effects for metric in entry.metrics]
    for use in list(found):
        effect = spec.effects[use.effect]
        if isinstance(effect, Difference):
            found += [
                Use(part, use.metric, ("effects", use.effect), use.ruling) for part in effect.difference.split(" - ")
            ]
    return tuple(dict.fromkeys(found))
