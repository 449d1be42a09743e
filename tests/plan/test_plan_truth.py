"""Truth tables against brute force: closed counts, and outcomes drawn at random."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from math import comb

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sealkit.plan.load import open_plan, open_plan_bytes
from sealkit.plan.orderings import Domain, combined, is_possible, places, weak_orderings
from sealkit.plan.questions import Question, questions
from sealkit.plan.truth import TooMany, TruthTable, spelled, truth_table
from sealkit.wire.rules import compile_rule
from tests.plan.trees import FILES

WIDE = Domain(Fraction(-100), Fraction(100))
SPEC = open_plan(FILES["v1"]).spec
DRY = open_plan(FILES["dry-run"]).spec
FUBINI = (1, 1, 3, 13, 75, 541)  # weak orderings of n things, OEIS A000670


@pytest.mark.parametrize("fields", [1, 2, 3])
@pytest.mark.parametrize("constants", [0, 1, 2])
def test_free_fields_and_constants_have_all_weak_orderings(fields: int, constants: int) -> None:
    domains = {f"e{index}.estimate": WIDE for index in range(fields)}
    marks = [Fraction(index) for index in range(constants)]
    cases = list(weak_orderings(domains, marks))
    # The constants stand in one of the orders that constants! / ties would allow: count them by inclusion.
    ranked = {
        tuple(sorted(range(len(v)), key=v.__getitem__)) + _ties(v) for case in cases for v in [_line(case, marks)]
    }
    assert len(ranked) == len(cases), "no ordering twice"
    if constants <= 1:
        assert len(cases) == FUBINI[fields + constants]
    else:
        assert len(cases) == {1: 5, 2: 31, 3: 233}[fields]  # 2k+1 places each; 31 and 233 counted by brute force below


def _line(case: Mapping[str, Fraction], marks: list[Fraction]) -> list[Fraction]:
    return [*case.values(), *marks]


def _ties(values: list[Fraction]) -> tuple[int, ...]:
    order = sorted(set(values))
    return tuple(order.index(value) for value in values)


@pytest.mark.parametrize("fields", [1, 2, 3])
def test_weak_orderings_are_those_that_numbers_can_have(fields: int) -> None:
    marks = [Fraction(0), Fraction(1)]
    steps = [Fraction(index, 4) for index in range(-4, 9)]
    grid: list[list[Fraction]] = [[]]
    for _ in range(fields):
        grid = [[*values, step] for values in grid for step in steps]
    expected = {_ties([*values, *marks]) for values in grid}
    domains = {f"e{index}.estimate": WIDE for index in range(fields)}
    assert {_ties(_line(case, marks)) for case in weak_orderings(domains, marks)} == expected


@pytest.mark.parametrize("constants", [0, 1, 2, 3])
def test_an_interval_has_a_place_for_each_multiset_of_three_places(constants: int) -> None:
    side = {name: WIDE for name in ("e.lower", "e.estimate", "e.upper")}
    cases = list(combined(places(side, [Fraction(index) for index in range(constants)])))
    assert len(cases) == comb(2 * constants + 1 + 2, 3)
    assert all(case["e.lower"] <= case["e.estimate"] <= case["e.upper"] for case in cases)


def test_what_cannot_be_is_not_tried() -> None:
    whole = Domain(Fraction(0), Fraction(3), whole=True)
    counts = {"e.b": whole, "e.c": whole, "e.n": Domain(Fraction(1), Fraction(3), whole=True)}
    for case in weak_orderings(counts, [Fraction(1)]):
        assert case["e.b"] + case["e.c"] <= case["e.n"] <= 3
        assert all(value.denominator == 1 for value in case.values())
    assert not is_possible({"e.x": Fraction(1), "e.estimate": Fraction(0)})
    assert not is_possible({"e.x": Fraction(2), "e.n": Fraction(2), "e.estimate": Fraction(1, 2)})
    assert not is_possible({"e.b": Fraction(1), "e.c": Fraction(2), "e.estimate": Fraction(1, 2)})


# --- against outcomes drawn at random

FIELDS = ("dc.lower", "dc.estimate", "dc.upper", "ca.lower", "ca.estimate", "ca.upper", "dc.b", "dc.c", "dc.n")
TERMS = st.sampled_from((*FIELDS[:6], "0", "0.25", "-0.25"))
COUNTS = st.sampled_from(("dc.b", "dc.c", "dc.n", "10", "50"))
SIGNS = st.sampled_from(("<", "<=", ">", ">=", "==", "!="))
COMPARISONS = st.builds("{} {} {}".format, TERMS, SIGNS, TERMS) | st.builds("{} {} {}".format, COUNTS, SIGNS, COUNTS)
RULES = st.lists(COMPARISONS, min_size=1, max_size=3).flatmap(
    lambda parts: st.lists(st.sampled_from(("&&", "||")), min_size=len(parts) - 1, max_size=len(parts) - 1).map(
        lambda signs: parts[0] + "".join(f" {sign} {part}" for sign, part in zip(signs, parts[1:], strict=True))
    )
)


def asked(texts: list[str], metric: str = "success") -> Question:
    rules = tuple((f"v{i}", compile_rule(text, FIELDS, numbers="decimal")) for i, text in enumerate(texts))
    return Question("H", None, {"dc": metric, "ca": metric}, rules, "otherwise_")


def drawn(generator: random.Random) -> dict[str, Fraction]:
    """Fields of two comparisons of 50 pairs at most, as an analysis could give them."""
    values: dict[str, Fraction] = {}
    for effect in ("dc", "ca"):
        n = generator.choice((1, 9, 10, 11, 49, 50, generator.randint(1, 50)))
        b = generator.choice((0, min(10, n), generator.randint(0, n)))
        c = generator.choice((0, min(10, n - b), generator.randint(0, n - b)))
        estimate = Fraction(b - c, n)
        marks = (Fraction(-1), Fraction(-1, 4), Fraction(0), Fraction(1, 4), Fraction(1), estimate)
        lower = generator.choice([mark for mark in marks if mark <= estimate])
        upper = generator.choice([mark for mark in marks if mark >= estimate])
        values |= {f"{effect}.{k}": Fraction(v) for k, v in (("n", n), ("b", b), ("c", c), ("estimate", estimate))}
        values |= {f"{effect}.lower": lower, f"{effect}.upper": upper}
    return values


def answer(question: Question, values: Mapping[str, Fraction]) -> str:
    return next((verdict for verdict, rule in question.rules if rule.evaluate(values)), question.otherwise)


@settings(max_examples=60, deadline=None)
@given(st.lists(RULES, min_size=1, max_size=3), st.integers(0, 999))
@example(["dc.lower < dc.lower", "10 < dc.b", "dc.c < dc.n"], 0)  # parts and n in one gap
def test_a_verdict_that_some_outcome_reaches_is_reached_in_the_table(texts: list[str], seed: int) -> None:
    generator = random.Random(seed)
    question = asked(texts)
    table = truth_table(SPEC, question)
    if isinstance(table, TooMany):
        return
    reached = {row.verdict for row in table.rows if row.cases}
    for _ in range(100):
        assert answer(question, drawn(generator)) in reached
    for row in table.rows:
        if row.cases:
            values = {name: Fraction(value) for name, value in row.example}
            assert answer(question, values) == row.verdict, "the example shows the verdict"


@pytest.mark.parametrize(
    ("text", "reachable"),
    [
        ("2 * dc.estimate > ca.estimate && dc.estimate < ca.estimate", True),
        ("dc.b - dc.c >= 8", True),
        ("dc.b - dc.c >= 51", False),
        ("dc.b + dc.c == dc.n && dc.n == 50", True),
        ("dc.estimate - ca.estimate > 1.5", True),
        ("dc.estimate - ca.estimate > 2", False),
        ("dc.lower + 0.1 > dc.upper", True),
        ("dc.b - dc.c >= 8 && dc.n >= 45 && dc.lower > 0 && dc.estimate > 0.1 && dc.upper < 0.9", True),
        ("dc.lower > 0 ? dc.upper < 0.25 : ca.lower > 0", True),
    ],
)
def test_rules_that_compute(text: str, reachable: bool) -> None:
    table = truth_table(SPEC, asked([text]))
    assert isinstance(table, TruthTable)
    assert bool(table.rows[0].cases) is reachable


def test_the_sample_bounds_what_can_be_counted() -> None:
    (question,) = questions(DRY, "random")
    table = truth_table(DRY, question)
    assert isinstance(table, TruthTable)
    examples = {row.verdict: dict(row.example) for row in table.rows}
    assert examples["supported"] == {"random.n": "60", "random.x": "0"}
    assert int(examples["not_shown"]["random.n"]) < 60


def test_a_margin_is_a_constant_of_its_rules() -> None:
    spec = open_plan(FILES["everything"]).spec
    (question,) = questions(spec, "margins")
    table = truth_table(spec, question)
    assert isinstance(table, TruthTable)
    example = {name: Fraction(value) for name, value in table.rows[0].example}
    assert example["close.margin"] == Fraction(1, 20)
    assert example["close.lower"] > -example["close.margin"]


def test_what_is_tried_depends_on_nothing_but_the_plan() -> None:
    tables = [
        [truth_table(spec, question) for name in spec.hypotheses for question in questions(spec, name)]
        for spec in (SPEC, open_plan_bytes(FILES["v1"].read_bytes(), "again").spec)
    ]
    assert tables[0] == tables[1]


def test_values_are_shown_as_decimals_where_they_are_some() -> None:
    assert [spelled(Fraction(x)) for x in ("1/3", "-1/4", "60", "0", "1/1000000", "100")] == [
        "1/3", "-0.25", "60", "0", "0.000001", "100",
    ]  # fmt: skip
