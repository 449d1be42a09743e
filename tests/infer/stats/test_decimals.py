"""Decimals that rules read: exact, 12 places, half to even, no minus zero; data without floats."""

from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.infer.stats.decimals import PLACES, as_text, exact_decimal, tail_of, to_decimal
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.stats.scale import Scaled, to_integers
from sealkit.wire.errors import UsageError

FRACTIONS = st.fractions(min_value=-(10**6), max_value=10**6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 3), "0.333333333333"),
        (Fraction(-2, 3), "-0.666666666667"),
        (Fraction(1, 2 * 10**12), "0.000000000000"),  # half of the last place: to even, down
        (Fraction(3, 2 * 10**12), "0.000000000002"),  # to even, up
        (Fraction(-1, 10**13), "0.000000000000"),  # no minus zero
        (-0.0, "0.000000000000"),
        (0.5, "0.500000000000"),
        (Decimal("1.25"), "1.250000000000"),
        (12345678901234567890123456789, "12345678901234567890123456789.000000000000"),  # longer than decimal's context
    ],
)
def test_rounding(value, text):
    assert as_text(to_decimal(value)) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_what_is_no_number_is_not_estimable(value):
    assert isinstance(to_decimal(value), NotEstimable)


@settings(deadline=None, max_examples=40)
@given(FRACTIONS)
def test_a_decimal_is_the_nearest_one_and_mirrors(value):
    rounded = exact_decimal(value)
    assert rounded.as_tuple().exponent == -PLACES
    assert abs(Fraction(rounded) - value) <= Fraction(1, 2 * 10**PLACES)
    assert exact_decimal(-value) == -rounded


def test_the_decimal_context_of_the_caller_changes_nothing():
    with localcontext() as context:
        context.prec = 3
        assert as_text(exact_decimal(Fraction(1, 7))) == "0.142857142857"
    assert getcontext().prec != 3


@pytest.mark.parametrize("level", ["0", "1", "95", "-0.5", "NaN"])
def test_a_level_is_a_share(level):
    with pytest.raises(UsageError, match="a level lies between 0 and 1"):
        tail_of(Decimal(level))


def test_tail_is_exact():
    assert tail_of(Decimal("0.95")) == Fraction(1, 40)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.one_of(st.integers(), FRACTIONS, st.decimals(allow_nan=False, allow_infinity=False, places=3))))
def test_scaling_loses_nothing(measures):
    scaled = to_integers(measures)
    assert [Fraction(value, scaled.denominator) for value in scaled.values] == [Fraction(x) for x in measures]


def test_scaling_finds_the_least_common_denominator():
    assert to_integers([Fraction(1, 3), Decimal("0.2"), True]) == Scaled((5, 3, 15), 15)
    assert to_integers([2, 4]) == Scaled((2, 4), 1)


def test_nan_is_not_estimable_and_a_float_is_refused():
    assert to_integers([Decimal("NaN")]) == NotEstimable("value 0 is NaN")
    assert to_integers([1, Decimal("Infinity")]) == NotEstimable("value 1 is Infinity")
    for measure in (0.2, float("nan"), "1", None):
        with pytest.raises(UsageError, match="value 1 is"):
            to_integers([1, measure])
