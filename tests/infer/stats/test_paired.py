"""Paired yes-or-no outcomes: McNemar, Tango, Newcombe 10 and margins against published values and closed forms."""

from decimal import Decimal
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sealkit.infer.stats.paired import (
    PairedCounts,
    equivalence,
    mcnemar_exact,
    mcnemar_mid_p,
    newcombe_10,
    noninferiority,
    tango,
    tango_score,
)
from sealkit.infer.stats.results import NotEstimable
from sealkit.wire.errors import UsageError

LEVEL = Decimal("0.95")
DUST = Decimal("1e-11")
Z = NormalDist().inv_cdf(0.975)


@st.composite
def tables(draw, largest=60):
    """Counts and the number of pairs with a yes in both arms."""
    n = draw(st.integers(1, largest))
    b = draw(st.integers(0, n))
    c = draw(st.integers(0, n - b))
    return PairedCounts(n, b, c), draw(st.integers(0, n - b - c))


def limits(interval, places):
    return round(interval.lower, places), round(interval.upper, places)


# Newcombe, Stat Med 1998, 17:2635, table III, method 10; cells yes-yes, yes-no, no-yes, no-no. The table was printed
# with z = 1.96, which here and there moves its fourth decimal by one.
TABLE_III = [
    ((36, 12, 2, 0), (0.0569, 0.3404)),
    ((20, 12, 2, 16), (0.0562, 0.3292)),
    ((18, 12, 2, 18), (0.0562, 0.3290)),
    ((36, 14, 0, 0), (0.1528, 0.4167)),
    ((35, 14, 0, 1), (0.1461, 0.4175)),
    ((18, 14, 0, 18), (0.1441, 0.3963)),
    ((2, 97, 1, 0), (0.8721, 0.9854)),
    ((1, 97, 1, 1), (0.8736, 0.9850)),
    ((0, 29, 1, 0), (0.6666, 0.9882)),
    ((2, 98, 0, 0), (0.9178, 0.9945)),
    ((1, 98, 0, 1), (0.9171, 0.9916)),
    ((0, 30, 0, 0), (0.8395, 1.0)),
    ((54, 0, 0, 0), (-0.0664, 0.0664)),
    ((53, 0, 0, 1), (-0.0729, 0.0729)),
    ((30, 0, 0, 24), (-0.0358, 0.0358)),
    ((29, 0, 0, 25), (-0.0354, 0.0354)),
    ((28, 0, 0, 26), (-0.0352, 0.0352)),
    ((27, 0, 0, 27), (-0.0351, 0.0351)),
]


@pytest.mark.parametrize(("cells", "published"), TABLE_III)
def test_newcombe_table_iii(cells, published):
    both, b, c, neither = cells
    interval = newcombe_10(PairedCounts(both + b + c + neither, b, c), both=both, level=LEVEL)
    assert (float(interval.lower), float(interval.upper)) == pytest.approx(published, abs=1e-4)


# Tango, Stat Med 1998, 17:891, section 6.1 (soft contact lenses, table V): 43 pairs both effective, 1 only the
# standard; margin 0.1, alpha 0.05. Printed: Z 1.709, one-sided p 0.044, lower 90 % limit -0.096.
def test_tango_section_6_1():
    lenses = PairedCounts(n=44, b=0, c=1)
    found = noninferiority(lenses, margin=Decimal("0.1"), alpha=Decimal("0.05"))
    assert round(tango_score(lenses, -0.1), 3) == 1.709
    assert (round(found.p, 3), round(found.lower, 3)) == (Decimal("0.044"), Decimal("-0.096"))


# Fagerland, Lydersen, Laake, Stat Med 2014, 33:2850 and their book's chapter 8: airway hyper-responsiveness (Bentur
# 2009) and complete response (Cavo 2012); the values of R package contingencytables, which accompanies the book.
@pytest.mark.parametrize(
    ("counts", "both", "score", "newcombe", "exact", "mid_p"),
    [
        (PairedCounts(21, 1, 7), 1, (-0.517, -0.026), (-0.507, -0.026), 0.0703, 0.0391),
        (PairedCounts(161, 6, 16), 59, (-0.1240, -0.0054), (-0.1186, -0.0046), 0.052479, 0.034690),
    ],
)
def test_fagerland_examples(counts, both, score, newcombe, exact, mid_p):
    wanted = {
        tango(counts, level=LEVEL): score,
        newcombe_10(counts, both=both, level=LEVEL): newcombe,
    }
    places = 3 if counts.n == 21 else 4
    for interval, published in wanted.items():
        assert tuple(map(float, limits(interval, places))) == published
    assert float(mcnemar_exact(counts).p) == pytest.approx(exact, abs=6e-5 if counts.n == 21 else 1e-6)
    assert float(mcnemar_mid_p(counts).p) == pytest.approx(mid_p, abs=6e-5 if counts.n == 21 else 1e-6)


# Agresti, Categorical Data Analysis (1990, page 350): approval 794/150/86/570; z^2 = 17.36.
def test_agresti_approval():
    counts = PairedCounts(n=1600, b=150, c=86)
    assert round(tango_score(counts, 0.0) ** 2, 2) == 17.36  # at a difference of 0 the score test is McNemar's
    interval = tango(counts, level=LEVEL)
    assert interval.estimate == Decimal("0.04")
    assert limits(interval, 2) == (Decimal("0.02"), Decimal("0.06"))  # Agresti's Wald interval, as printed
    assert mcnemar_exact(counts).p < Decimal("0.0001")


# --- closed forms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 44, 1000])
def test_tango_without_discordant_pairs_is_z2_over_n_plus_z2(n):
    interval = tango(PairedCounts(n, 0, 0), level=LEVEL)
    assert float(interval.upper) == pytest.approx(Z**2 / (n + Z**2), abs=1e-11)
    assert interval.lower == -interval.upper


@settings(deadline=None, max_examples=50)
@given(tables())
@example((PairedCounts(32, 9, 3), 10))
@example((PairedCounts(60, 0, 59), 0))
def test_tango_limits_solve_the_quartic(table):
    """T(D)^2 = z^2 without q is a polynomial of degree 4 in D: evaluated exactly, it changes sign at a limit."""
    counts, _ = table
    n, d, c, z2 = counts.n, counts.b - counts.c, counts.c, Fraction(Z) ** 2

    def quartic(x):
        twice_q = (d - n * x) ** 2 / (z2 * n) - x * (1 - x)
        return n * twice_q**2 + (-(counts.b + c) + (2 * n - d) * x) * twice_q - 2 * c * x * (1 - x)

    interval = tango(counts, level=LEVEL)
    for limit in (interval.lower, interval.upper):
        if abs(limit) != 1:
            near = [quartic(Fraction(limit) + k * Fraction(1, 10**9)) for k in (-1, 1)]
            assert near[0] * near[1] <= 0


@settings(deadline=None, max_examples=50)
@given(tables())
def test_tango_limit_is_where_the_score_is_z(table):
    counts, _ = table
    interval = tango(counts, level=LEVEL)
    if abs(interval.upper) < 1:
        assert (
            tango_score(counts, float(interval.upper) - 1e-9) >= -Z >= tango_score(counts, float(interval.upper) + 1e-9)
        )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_twice_the_binomial_tail(b, c):
    from scipy.stats import binomtest

    assume(b + c)
    exact = mcnemar_exact(PairedCounts(100, b, c))
    assert float(exact.p) == pytest.approx(binomtest(min(b, c), b + c).pvalue, abs=1e-11)
    assert mcnemar_mid_p(PairedCounts(100, b, c)).p <= exact.p


def test_no_discordant_pairs_is_p_1_and_says_so():
    for test in (mcnemar_exact, mcnemar_mid_p):
        found = test(PairedCounts(32, 0, 0))
        assert (found.p, found.notes) == (1, ("0 of 32 discordant",))


def test_equal_discordance_is_p_1():
    assert mcnemar_exact(PairedCounts(32, 4, 4)).p == 1
    assert mcnemar_mid_p(PairedCounts(32, 4, 4)).p == 1


# --- properties --------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(tables())
def test_swapping_the_arms_negates_every_limit(table):
    counts, both = table
    for interval in (lambda x: tango(x, level=LEVEL), lambda x: newcombe_10(x, both=both, level=LEVEL)):
        one, other = interval(counts), interval(counts.swapped)
        assert (one.estimate, one.lower, one.upper) == (-other.estimate, -other.upper, -other.lower)
        assert (one.b, one.c, one.n) == (other.c, other.b, other.n)
        assert -1 <= one.lower <= one.estimate <= one.upper <= 1
    assert mcnemar_exact(counts).p == mcnemar_exact(counts.swapped).p
    assert mcnemar_mid_p(counts).p == mcnemar_mid_p(counts.swapped).p


@settings(deadline=None, max_examples=50)
@given(tables(), st.integers(1, 40))
def test_concordant_pairs_leave_mcnemar_and_the_sign_and_shrink_the_estimate(table, more):
    counts, _ = table
    larger = PairedCounts(counts.n + more, counts.b, counts.c)
    assert mcnemar_exact(larger).p == mcnemar_exact(counts).p
    one, other = tango(counts, level=LEVEL), tango(larger, level=LEVEL)
    assert abs(other.estimate) <= abs(one.estimate)
    assert (other.lower > 0, other.upper < 0) == (one.lower > 0, one.upper < 0)  # both are McNemar's decision at 0


@settings(deadline=None, max_examples=50)
@given(tables())
def test_one_more_win_for_the_first_arm_never_lowers_a_limit(table):
    counts, _ = table
    assume(counts.c)
    one, other = tango(counts, level=LEVEL), tango(PairedCounts(counts.n, counts.b, counts.c - 1), level=LEVEL)
    assert one.lower <= other.lower + DUST
    assert one.upper <= other.upper + DUST


@settings(deadline=None, max_examples=50)
@given(tables(), st.sampled_from(["0.8", "0.9", "0.95", "0.99"]))
def test_a_higher_level_contains_the_lower(table, level):
    counts, both = table
    for interval in (lambda x: tango(counts, level=x), lambda x: newcombe_10(counts, both=both, level=x)):
        narrow, wide = interval(Decimal(level)), interval(Decimal("0.999"))
        assert wide.lower <= narrow.lower + DUST
        assert narrow.upper <= wide.upper + DUST


@settings(deadline=None, max_examples=50)
@given(tables(), st.decimals("0.01", "0.9", places=2), st.sampled_from(["0.025", "0.05", "0.1"]))
def test_a_margin_is_passed_exactly_when_the_limit_clears_it(table, margin, alpha):
    counts, _ = table
    found = noninferiority(counts, margin=margin, alpha=Decimal(alpha))
    assume(abs(found.p - Decimal(alpha)) > DUST)
    assert (found.p <= Decimal(alpha)) == (found.lower > -margin)
    both_ways = equivalence(counts, margin=margin, alpha=Decimal(alpha))
    assert (both_ways.p <= Decimal(alpha)) == (-margin < both_ways.lower and both_ways.upper < margin)
    assert both_ways.p == equivalence(counts.swapped, margin=margin, alpha=Decimal(alpha)).p
    assert both_ways.p >= found.p
    assert found.level == 1 - 2 * Decimal(alpha)


@pytest.mark.parametrize(("n", "margin"), [(20, "0.1"), (50, "0.05"), (100, "0.05"), (100, "0.2")])
def test_without_discordant_pairs_both_margin_tests_have_a_closed_form(n, margin):
    """At b = c = 0 the restricted rate of "second only" is the margin m, so T = sqrt(n m / (1 - m)), either way."""
    delta = float(margin)
    due = 1 - NormalDist().cdf(sqrt(n * delta / (1 - delta)))
    for test in (noninferiority, equivalence):
        found = test(PairedCounts(n, 0, 0), margin=Decimal(margin), alpha=Decimal("0.05"))
        assert float(found.p) == pytest.approx(due, abs=1e-9)


def test_equivalence_is_the_harder_of_two_one_sided_tests():
    """Schuirmann, J Pharmacokinet Biopharm 1987, 15:657: the larger p of the two one-sided tests."""
    counts = PairedCounts(44, 0, 1)  # Tango's contact lenses: the one-sided p of noninferiority is 0.044
    ways = [noninferiority(each, margin=Decimal("0.1"), alpha=Decimal("0.05")) for each in (counts, counts.swapped)]
    found = equivalence(counts, margin=Decimal("0.1"), alpha=Decimal("0.05"))
    assert found.p == max(each.p for each in ways) == ways[0].p
    assert round(found.p, 3) == Decimal("0.044")


@settings(deadline=None, max_examples=50)
@given(tables(), st.decimals("0.01", "0.5", places=2), st.decimals("0.01", "0.4", places=2))
def test_a_wider_margin_is_easier(table, margin, more):
    counts, _ = table
    narrow = noninferiority(counts, margin=margin, alpha=Decimal("0.05"))
    assert noninferiority(counts, margin=margin + more, alpha=Decimal("0.05")).p <= narrow.p + DUST


# --- refusals ----------------------------------------------------------------------------------------


def test_no_pairs():
    empty = PairedCounts(0, 0, 0)
    found = [
        tango(empty, level=LEVEL),
        newcombe_10(empty, both=0, level=LEVEL),
        mcnemar_exact(empty),
        mcnemar_mid_p(empty),
        noninferiority(empty, margin=Decimal("0.1"), alpha=Decimal("0.05")),
        equivalence(empty, margin=Decimal("0.1"), alpha=Decimal("0.05")),
    ]
    assert found == [NotEstimable("no pairs")] * 6


def test_one_pair_is_nearly_no_evidence():
    interval = tango(PairedCounts(1, 1, 0), level=LEVEL)
    assert interval.upper == 1
    assert interval.lower < 0


@pytest.mark.parametrize("counts", [(10, 8, 3), (10, -1, 0), (-1, 0, 0)])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(UsageError, match="discordant"):
        PairedCounts(*counts)


def test_impossible_questions_are_refused():
    counts = PairedCounts(10, 2, 1)
    with pytest.raises(UsageError, match="yes in both arms"):
        newcombe_10(counts, both=8, level=LEVEL)
    for margin in ("0", "1", "-0.1", "NaN"):
        with pytest.raises(UsageError, match="a margin lies"):
            noninferiority(counts, margin=Decimal(margin), alpha=Decimal("0.05"))
    for alpha in ("0", "0.5", "NaN"):
        with pytest.raises(UsageError, match="alpha lies"):
            equivalence(counts, margin=Decimal("0.1"), alpha=Decimal(alpha))


def test_a_large_table_stays_accurate():
    """Against the Wald interval, which Tango's approaches: the difference is of the order 1/n."""
    n, b, c = 10**8, 3 * 10**7, 2 * 10**7
    interval = tango(PairedCounts(n, b, c), level=LEVEL)
    half = Z * sqrt(b + c - (b - c) ** 2 / n) / n
    assert float(interval.upper) == pytest.approx(0.1 + half, abs=1e-7)
    assert float(interval.lower) == pytest.approx(0.1 - half, abs=1e-7)
