"""A question's rules: the first that holds names the verdict, and what cannot be estimated names it before any."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import pytest

from sealkit.infer.estimate import Estimate, Estimated
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.verdicts import Verdict, rule
from sealkit.plan.load import open_plan_bytes
from sealkit.plan.questions import questions
from tests.studies import SMALL, plan_text


def ruled(fields: Mapping[str, Decimal | int] | None, *, reading: str = "x") -> Verdict:
    """The verdict on the oracle of the small plan."""
    text = plan_text(SMALL)
    text = text.replace('"oracle.x == 4 && oracle.n == 4"', f'"oracle.{reading} == 4 && oracle.n == 4"')
    spec = open_plan_bytes(text.encode(), "plans/part.yaml").spec
    [question] = questions(spec, "oracle")
    found: Estimate = (
        NotEstimable("no admitted episode has a value")
        if fields is None
        else Estimated(dict(fields), beside={}, notes=())
    )
    return rule(question, {("oracle", "success"): found})


def numbers(x: int, n: int) -> dict[str, Decimal | int]:
    return {"x": x, "n": n, "estimate": Decimal(x) / n, "lower": Decimal(0), "upper": Decimal(1), "total": x}


@pytest.mark.parametrize(
    ("x", "n", "verdict"),
    [(4, 4, "supported"), (3, 4, "contradicted"), (0, 4, "contradicted"), (3, 3, "not_shown"), (2, 3, "contradicted")],
)
def test_the_first_rule_that_holds_names_the_verdict(x: int, n: int, verdict: str) -> None:
    found = ruled(numbers(x, n))
    assert (found.hypothesis, found.metric, found.verdict, found.why) == ("oracle", None, verdict, "")
    assert (found.rule is None) == (verdict == "not_shown")


def test_what_cannot_be_estimated_names_the_verdict_before_any_rule() -> None:
    found = ruled(None)
    assert (found.verdict, found.rule) == ("not_estimable", None)
    assert found.why == "oracle on success: no admitted episode has a value"


def test_a_number_that_is_not_there_is_not_estimable_whatever_the_order_of_the_operands() -> None:
    fields = {name: number for name, number in numbers(3, 4).items() if name != "x"}
    found = ruled(fields)
    assert found.verdict == "not_estimable" and found.why == "oracle on success has no x"
