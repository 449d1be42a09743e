"""Verdicts that only lost slots can give, and what a rule wants of a sample that the plan does not have.

A rule that asks for `n == 60` of an effect on 600 cells is met where 540 of them are lost, and nowhere else. Beyond the
exclusion cap claims are withheld, so that verdict is asked for and never had. It is refused before a seal, and not when
a plan is opened: what was sealed with such a rule stays what it is.

>>> [one.text for one in _comparisons("60 == a.n && a.x < a.n && (ba.n > 3 || a.n >= 20.5)")]
['60 == a.n', 'ba.n > 3', 'a.n >= 20.5']
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Final

import msgspec

from sealkit.plan.domains import fewest
from sealkit.plan.problems import Problem
from sealkit.plan.questions import Question, questions
from sealkit.plan.schema import Spec
from sealkit.plan.slots import basis
from sealkit.plan.truth import TooMany, truth_table
from sealkit.wire.rules import Rule

_TURNED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_HOLDS: Final[Mapping[str, Callable[[Fraction, Fraction], bool]]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_FOR_SHORT_SAMPLES: Final = "not_shown"  # a plan may well say so of a sample that lost too much
_compared = re.compile(
    r"(?<![\w.])(?:(\w+)\.(\w+)\s*([<>=!]=|[<>])\s*(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*([<>=!]=|[<>])\s*(\w+)\.(\w+))(?![\w.])"
).finditer


def beyond_cap(spec: Spec) -> Iterator[Problem]:
    """Every verdict that a rule gives, and only where an arm loses more of its slots than the plan's cap allows."""
    for name in spec.hypotheses:
        for question in questions(spec, name):
            if not any(_field(one) == "n" for one in question.fields):
                continue
            table = truth_table(spec, question, within_cap=True)
            if isinstance(table, TooMany):
                continue
            never = {row.verdict for row in table.rows if row.cases == 0}
            for verdict, rule in question.rules:
                if verdict in never and verdict != _FOR_SHORT_SAMPLES:
                    yield _problem(spec, question, verdict, rule)


def _problem(spec: Spec, question: Question, verdict: str, rule: Rule) -> Problem:
    about = f" on {question.metric}" if question.metric is not None else ""
    cap = spec.sample.exclusion_cap_per_arm
    what = f"{verdict}{about} comes only of data that lost more slots than exclusion_cap_per_arm: {cap} allows"
    remedy = unmet(spec, question, rule) or "let the rule ask what the planned sample can give"
    return Problem(("hypotheses", question.hypothesis, "verdict", verdict), what, remedy)


def unmet(spec: Spec, question: Question, rule: Rule) -> str:
    """What the rule asks of counts that the planned sample has not; empty if nothing is found.

    Such as `a.n is 600 here, and the rule wants a.n == 60`. Of an effect whose n does not fit, its other counts say no
    more than that.
    """
    found: dict[tuple[str, bool], str] = {}
    for one in sorted(_comparisons(rule.text), key=lambda one: one.field != "n"):
        if one.field not in ("n", "x", "b", "c") or one.effect not in question.metrics or (one.effect, True) in found:
            continue
        counts = _counts(spec, question, one)
        if counts is not None and not one.met_in(*counts):
            what = f"{one.effect}.{one.field} is {_spelled(*counts)} here, and the rule wants {one.text}"
            found.setdefault((one.effect, one.field == "n"), what)
    return "; ".join(found.values())


def _counts(spec: Spec, question: Question, one: _Comparison) -> tuple[int, int] | None:
    """The least and the largest value of a count within the exclusion cap; None where no plan can say."""
    metric = question.metrics[one.effect]
    based = basis(spec, one.effect, metric)
    if based.unit is not None:
        return None
    return fewest(spec, one.effect, metric) if one.field == "n" else 0, based.count


def _spelled(least: int, most: int) -> str:
    return str(most) if least == most else f"at most {most}" if not least else f"from {least} to {most}"


class _Comparison(msgspec.Struct, frozen=True):
    """One comparison of a field with a number, as the rule writes it."""

    effect: str
    field: str
    sign: str
    number: Fraction
    text: str

    def met_in(self, least: int, most: int) -> bool:
        """Whether a whole number from `least` to `most` meets it."""
        near = {least, most, *range(math.floor(self.number) - 1, math.ceil(self.number) + 2)}
        return any(_HOLDS[self.sign](Fraction(one), self.number) for one in near if least <= one <= most)


def _comparisons(text: str) -> Iterator[_Comparison]:
    for match in _compared(text):
        effect, field, sign, number, first, turned, effect_after, field_after = match.groups()
        if effect is None:
            effect, field, sign, number = effect_after, field_after, _TURNED.get(turned, turned), first
        yield _Comparison(effect, field, sign, Fraction(number), match[0])


def _field(name: str) -> str:
    return name.partition(".")[2]


__all__ = ["beyond_cap", "unmet"]
