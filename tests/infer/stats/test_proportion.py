"""Wilson and Clopper-Pearson against published values."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.infer.stats.proportion import clopper_pearson, wilson
from sealkit.infer.stats.results import NotEstimable
from sealkit.wire.errors import UsageError

LEVEL = Decimal("0.95")
COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def rounded(rate, places=4):
    return round(rate.lower, places), round(rate.upper, places)


# Newcombe, Stat Med 1998, 17:857, table I: 95 % limits, score method without continuity correction and exact method.
@pytest.mark.parametrize(
    ("x", "n", "score", "exact"),
    [
        (81, 263, ("0.2553", "0.3662"), ("0.2527", "0.3676")),
        (15, 148, ("0.0624", "0.1605"), ("0.0578", "0.1617")),
        (0, 20, ("0.0000", "0.1611"), ("0.0000", "0.1684")),
        (1, 29, ("0.0061", "0.1718"), ("0.0009", "0.1776")),
    ],
)
def test_newcombe_table_i(x, n, score, exact):
    assert rounded(wilson(x, n, level=LEVEL)) == tuple(map(Decimal, score))
    assert rounded(clopper_pearson(x, n, level=LEVEL)) == tuple(map(Decimal, exact))


# The reference panel of the underwriting world (spec/universe.md), in per cent.
@pytest.mark.parametrize(("x", "limits"), [(5, ("56.6", "100.0")), (2, ("11.8", "76.9")), (1, ("3.6", "62.4"))])
def test_underwriting_panel(x, limits):
    rate = wilson(x, 5, level=LEVEL)
    assert (round(100 * rate.lower, 1), round(100 * rate.upper, 1)) == tuple(map(Decimal, limits))


# Fagerland, Lydersen, Laake, Statistical Analysis of Contingency Tables (2017), chapter 2: 13 of 16.
def test_fagerland_chapter_2():
    assert rounded(clopper_pearson(13, 16, level=LEVEL)) == (Decimal("0.5435"), Decimal("0.9595"))


@pytest.mark.parametrize("n", [1, 5, 7, 20, 333])
def test_edges_are_exactly_0_and_1(n):  # a hand-written Wilson form gives -2.8e-17 at 0 of n
    assert wilson(0, n, level=LEVEL).lower == 0
    assert wilson(n, n, level=LEVEL).upper == 1
    assert clopper_pearson(0, n, level=LEVEL).upper < 1


@settings(max_examples=40, deadline=None)
@given(COUNTS)
def test_failures_mirror_successes(counts):
    x, n = counts
    for interval in (wilson, clopper_pearson):
        rate, mirror = interval(x, n, level=LEVEL), interval(n - x, n, level=LEVEL)
        assert abs(rate.lower + mirror.upper - 1) <= Decimal("1e-12")
        assert rate.lower <= rate.estimate <= rate.upper
        assert (rate.x, rate.n, rate.level) == (x, n, LEVEL)


def test_no_slots_have_no_rate():
    assert wilson(0, 0, level=LEVEL) == NotEstimable("0 of 0 has no rate")


@pytest.mark.parametrize(("x", "n"), [(6, 5), (-1, 5), (0, -1)])
def test_impossible_counts_are_refused(x, n):
    with pytest.raises(UsageError, match="no count of successes"):
        wilson(x, n, level=LEVEL)
