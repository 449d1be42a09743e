"""The chance of each verdict: closed forms, scipy's multinomial, and what the house study's plan states."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.infer.stats.paired import mcnemar_exact, tango
from sealkit.infer.stats.power import verdict_chances
from sealkit.wire.errors import UsageError

LEVEL = Decimal("0.95")


def sign(counts):
    return "first" if counts.b > counts.c else "second" if counts.b < counts.c else "even"


def table(*arguments):
    return {each.verdict: each.chance for each in verdict_chances(*arguments)}


def test_one_pair_is_the_design_itself():
    assert table(1, Decimal("0.3"), Decimal("0.2"), sign) == {
        "first": Fraction(3, 10),
        "second": Fraction(1, 5),
        "even": Fraction(1, 2),
    }


def test_no_discordance_has_one_outcome():
    assert table(12, Fraction(0), Fraction(0), sign) == {"even": 1}


def test_all_for_the_first_arm_is_a_binomial():
    found = table(10, Fraction(1, 3), Fraction(0), lambda counts: str(counts.b))
    assert found["3"] == 120 * Fraction(1, 3) ** 3 * Fraction(2, 3) ** 7


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 15), st.integers(0, 8), st.integers(0, 8))
def test_against_scipys_multinomial(n, p, q):
    from scipy.stats import multinomial

    found = table(n, Fraction(p, 16), Fraction(q, 16), lambda counts: f"{counts.b} {counts.c}")
    assert sum(found.values()) == 1
    for cell, chance in found.items():
        b, c = map(int, cell.split())
        theirs = multinomial.pmf([b, c, n - b - c], n, [p / 16, q / 16, (16 - p - q) / 16])
        assert float(chance) == pytest.approx(theirs, abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 12), st.integers(0, 8), st.integers(0, 8))
def test_swapping_the_arms_swaps_the_verdicts(n, p, q):
    one = table(n, Fraction(p, 16), Fraction(q, 16), sign)
    other = table(n, Fraction(q, 16), Fraction(p, 16), sign)
    assert one.get("first") == other.get("second")
    assert one.get("even") == other.get("even")


def test_the_exact_test_keeps_its_size():
    """Under no difference, exact McNemar rejects at 0.05 at most that often (30 pairs, 0.2 discordant each way)."""
    found = table(30, Fraction(1, 5), Fraction(1, 5), lambda counts: str(mcnemar_exact(counts).p <= Decimal("0.05")))
    assert 0.005 < found["True"] <= 0.05


def test_tango_covers_about_as_often_as_it_says():
    """Coverage by the same enumeration: 25 pairs, chances 0.3 and 0.1, so the true difference is 0.2."""

    def covers(counts):
        interval = tango(counts, level=LEVEL)
        return str(interval.lower <= Decimal("0.2") <= interval.upper)

    assert 0.93 < table(25, Fraction(3, 10), Fraction(1, 10), covers)["True"] < 0.97


@pytest.mark.parametrize("design", [(0, "0.1", "0.1"), (5, "0.6", "0.5"), (5, "-0.1", "0.1")])
def test_impossible_designs_are_refused(design):
    n, p, q = design
    with pytest.raises(UsageError, match="cannot be"):
        verdict_chances(n, Decimal(p), Decimal(q), sign)
