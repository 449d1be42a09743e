"""Turns estimates into the verdicts of a plan's hypotheses, by the plan's own rules and nothing else.

An effect that cannot be estimated makes its hypothesis `not_estimable` before any rule runs: with a missing
number, the order of the operands would decide. Else the first rule that holds names the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from sealkit.infer.estimate import Estimate
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.questions import Question, questions
from sealkit.plan.schema import Spec
from sealkit.wire.errors import MalformedError

NOT_ESTIMABLE = "not_estimable"
Estimates = Mapping[tuple[str, str], Estimate]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one question of a hypothesis came to, and by which rule; `why` says what was not estimable."""

    hypothesis: str
    metric: str | None
    verdict: str
    rule: str | None
    why: str


def verdicts(spec: Spec, estimates: Estimates) -> tuple[Verdict, ...]:
    """The verdict of every question of every hypothesis, in the plan's order."""
    return tuple(rule(question, estimates) for name in spec.hypotheses for question in questions(spec, name))


def rule(question: Question, estimates: Estimates) -> Verdict:
    """The verdict of one question; `estimates` holds (effect, metric) → estimate."""
    values: dict[str, Decimal | int] = {}
    for effect, metric in question.metrics.items():
        found = estimates[effect, metric]
        if isinstance(found, NotEstimable):
            return _not_estimable(question, f"{effect} on {metric}: {found.reason}")
        values |= {f"{effect}.{name}": number for name, number in found.fields.items()}
    if lacking := [name for name in question.fields if name not in values]:
        effect, _, field = lacking[0].partition(".")
        return _not_estimable(question, f"{effect} on {question.metrics[effect]} has no {field}")
    for verdict, candidate in question.rules:
        holds = candidate.evaluate({name: values[name] for name in candidate.names})
        if not isinstance(holds, bool):
            raise MalformedError(f"the rule gives {holds!r}, due true or false", where=candidate.text)
        if holds:
            return Verdict(question.hypothesis, question.metric, verdict, candidate.text, "")
    return Verdict(question.hypothesis, question.metric, question.otherwise, None, "")


def _not_estimable(question: Question, why: str) -> Verdict:
    return Verdict(question.hypothesis, question.metric, NOT_ESTIMABLE, None, why)
