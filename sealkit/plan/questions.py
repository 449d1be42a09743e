"""What a hypothesis asks, made explicit: one question for each verdict that it gives.

A hypothesis with `each: {metric: [...]}` asks once for every metric, any other once. A question holds the compiled
rules in order and the metric of every effect that they read. The truth table is made from it before the seal, and
the analysis answers it after the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from sealkit.plan.fields import MEANINGS
from sealkit.plan.ruling import OTHERWISE, Hypothesis
from sealkit.plan.schema import Spec
from sealkit.wire.rules import Rule, compile_rule


class Question(msgspec.Struct, frozen=True):
    """Rules from top to bottom, the verdict if none holds, and the metric of each effect that they read.

    `metric` is the one of `each` that this question is about, and null for a hypothesis that asks once.
    """

    hypothesis: str
    metric: str | None
    metrics: Mapping[str, str]
    rules: tuple[tuple[str, Rule], ...]
    otherwise: str

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Every verdict that it can give, `otherwise` last."""
        return (*(verdict for verdict, _ in self.rules), self.otherwise)

    @property
    def fields(self) -> tuple[str, ...]:
        """Every `effect.field` that its rules read."""
        return tuple(sorted({name for _, rule in self.rules for name in rule.names}))


def questions(spec: Spec, name: str) -> tuple[Question, ...]:
    """The questions of the hypothesis `name` of a checked plan, in the order of `each`."""
    hypothesis = spec.hypotheses[name]
    rules = compiled_rules(spec, hypothesis)
    asked: tuple[str | None, ...] = (None,) if hypothesis.each is None else hypothesis.each.metric
    return tuple(
        Question(
            hypothesis=name,
            metric=metric,
            metrics={
                effect: found
                for effect in effects_read(rules)
                if (found := metric_of(spec, hypothesis, effect, metric)) is not None
            },
            rules=rules,
            otherwise=hypothesis.verdict[OTHERWISE],
        )
        for metric in asked
    )


def compiled_rules(spec: Spec, hypothesis: Hypothesis) -> tuple[tuple[str, Rule], ...]:
    """(verdict, rule) for every rule of `hypothesis`; `MalformedError` for the first that cannot be read."""
    return tuple(
        (verdict, compile_field_rule(spec, text))
        for verdict, text in hypothesis.verdict.items()
        if verdict != OTHERWISE
    )


def compile_field_rule(spec: Spec, text: str) -> Rule:
    """The rule that `text` spells over the fields of the plan's effects; `MalformedError` with the column if none."""
    return compile_rule(text, _names(tuple(spec.effects)), numbers="decimal")


@lru_cache(maxsize=16)
def _names(effects: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{effect}.{field}" for effect in effects for field in MEANINGS)


def effects_read(rules: tuple[tuple[str, Rule], ...]) -> tuple[str, ...]:
    """The effects that these rules read, by name."""
    return tuple(sorted({name.partition(".")[0] for _, rule in rules for name in rule.names}))


def metric_of(spec: Spec, hypothesis: Hypothesis, effect: str, asked: str | None) -> str | None:
    """The metric on which `hypothesis` reads `effect`: its own, or that of `each` or `metric`; null if none is said."""
    own = spec.effects[effect].metric
    if own is not None:
        return own
    if isinstance(hypothesis.metric, Mapping):
        return hypothesis.metric.get(effect)
    return asked if asked is not None else hypothesis.metric
