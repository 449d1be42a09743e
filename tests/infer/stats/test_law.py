"""Exact laws: against enumeration, against the binomial, and honest about what they do not know."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.infer.stats import lattice
from sealkit.infer.stats.bootstrap import percentile_bootstrap
from sealkit.infer.stats.design import clusters, pairs, ratios, stratified_pairs
from sealkit.infer.stats.lattice import Law, sum_of, sum_of_draws
from sealkit.infer.stats.law import law_interval, law_of
from sealkit.infer.stats.results import NotEstimable
from sealkit.wire.errors import UsageError

LEVEL = Decimal("0.95")
NINE_THREE = pairs([1] * 9 + [-1] * 3 + [0] * 20)


def chances(law):
    """The law as a table, exact."""
    assert law.lost == 0
    found = Counter()
    for x, weight in zip(law.support, law.weights, strict=True):
        found[x * law.unit] += Fraction(weight, law.total)
    return +found


def enumerated(units, effect):
    """The law of the effect over every resample of the units."""
    found = Counter()
    for resample in product(units, repeat=len(units)):
        found[effect(resample)] += Fraction(1, len(units) ** len(units))
    return found


def in_thirty_digits(monkeypatch, kept=30, dropped=10**6):
    """Make every law a large one."""
    monkeypatch.setattr(lattice, "EXACT_DIGITS", 0)
    monkeypatch.setattr(lattice, "KEPT", kept)
    monkeypatch.setattr(lattice, "DROPPED", dropped)


# --- what the law is ---------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.lists(st.fractions(-2, 2, max_denominator=3), min_size=2, max_size=4))
def test_pairs_against_enumeration(rows):
    assert chances(law_of(pairs(rows))) == enumerated(rows, lambda resample: sum(resample) / len(rows))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 3)), min_size=2, max_size=4))
def test_clusters_against_enumeration(members):
    def effect(resample):
        return Fraction(sum(total for total, _ in resample), sum(size for _, size in resample))

    assert chances(law_of(clusters(members))) == enumerated(members, effect)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(-2, 2), min_size=1, max_size=3), st.lists(st.integers(-2, 2), min_size=1, max_size=4))
def test_strata_against_enumeration(one, two):
    design = stratified_pairs([(Fraction(1, 3), one), (Fraction(2, 3), two)])
    expected = Counter()
    for (x, p), (y, q) in product(
        enumerated(one, lambda resample: Fraction(sum(resample), len(one))).items(),
        enumerated(two, lambda resample: Fraction(sum(resample), len(two))).items(),
    ):
        expected[x / 3 + y * 2 / 3] += p * q
    assert chances(law_of(design)) == expected


def test_9_3_of_32():
    """Whatever the seed, the ideal limit is 0: a resample lies below 0 with a chance of 0.0241, under 0.025."""
    found = law_interval(NINE_THREE, level=LEVEL)
    assert (found.estimate, found.lower, found.upper) == (Decimal("0.1875"), 0, Decimal("0.375"))
    assert (found.n, found.b, found.c, found.method) == (32, 9, 3, "paired_bootstrap_exact_law")
    ways = {
        total: sum(
            comb(32, up) * comb(32 - up, up - total) * 9**up * 3 ** (up - total) * 20 ** (32 - 2 * up + total)
            for up in range(max(0, total), (32 + total) // 2 + 1)
        )
        for total in range(-32, 33)
    }
    assert sum(ways.values()) == 32**32
    below = Fraction(sum(ways[total] for total in range(-32, 0)), 32**32)
    assert law_of(NINE_THREE).at_most(Fraction(-1, 32)) == (below, below)
    assert 0.0241 < below < 0.0242


def test_a_chance_that_equals_the_tail_counts_and_mirrors():
    """Two pairs, -1 and 1: a resample is -1 with a chance of exactly 1/4, the tail at level 1/2."""
    found = law_interval(pairs([-1, 1]), level=Decimal("0.5"))
    assert (found.lower, found.upper) == (-1, 1)
    narrower = law_interval(pairs([-1, 1]), level=Decimal("0.499999"))
    assert (narrower.lower, narrower.upper) == (0, 0)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-3, 3), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_shuffling_swapping_and_level(rows, random):
    one = law_interval(pairs(rows), level=LEVEL)
    assert law_interval(pairs(random.sample(rows, len(rows))), level=LEVEL) == one
    other = law_interval(pairs([-row for row in rows]), level=LEVEL)
    assert (one.lower, one.upper) == (-other.upper, -other.lower)
    assert one.lower <= one.estimate <= one.upper
    wider = law_interval(pairs(rows), level=Decimal("0.99"))
    assert wider.lower <= one.lower <= one.upper <= wider.upper


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(-3, 3), min_size=3, max_size=12), st.integers(0, 9))
def test_seeded_limits_come_close(rows, seed):
    """With 4000 resamples, the seeded limit lies where the law puts 2.5 %, up to five standard errors (0.0123)."""
    law = law_of(pairs(rows))
    found = percentile_bootstrap(pairs(rows), level=LEVEL, resamples=4000, seed=seed)
    lower, upper = Fraction(found.lower), Fraction(found.upper)
    slack = Fraction(1, 10**12)
    assert law.at_most(lower + slack)[0] >= Fraction("0.0127")
    assert 1 - law.at_most(upper - slack - Fraction(1, len(rows)))[0] >= Fraction("0.0127")


def test_constant_data_and_what_has_no_law():
    assert law_interval(pairs([2] * 9), level=LEVEL).notes == ("the interval has no width",)
    assert law_interval(pairs([]), level=LEVEL) == NotEstimable("no pairs")
    assert law_interval(pairs([1]), level=LEVEL) == NotEstimable("one unit has no spread to resample")
    assert law_interval(clusters([(0, 0), (0, 0)]), level=LEVEL) == NotEstimable("the denominators sum to 0")
    assert "can sum to 0" in law_interval(clusters([(1, 1), (0, 0)]), level=LEVEL).reason
    assert "two ratios" in law_interval(ratios([(1, 1, 1, 1), (2, 1, 1, 1)]), level=LEVEL).reason


# --- large laws --------------------------------------------------------------------------------------


def test_100_000_pairs_against_the_binomial():
    """Differences of 0 and 1 sum to a binomial: scipy's quantiles of it are the limits."""
    from scipy.stats import binom

    n, wins = 100_000, 30_011
    found = law_interval(pairs([1] * wins + [0] * (n - wins)), level=LEVEL)
    assert found.lower == Decimal(int(binom.ppf(0.025, n, wins / n))) / n
    assert found.upper == Decimal(int(binom.ppf(0.975, n, wins / n))) / n
    assert law_of(pairs([1] * wins + [0] * (n - wins))).lost < 10**12  # of 10^30


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.integers(-6, 6), st.integers(1, 9), min_size=1), st.integers(1, 40))
def test_large_laws_bound_the_exact_ones(counts, draws):
    exact = sum_of_draws(counts, draws)
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_thirty_digits(monkeypatch)
        kept = sum_of_draws(counts, draws)
    assert exact.lost == 0
    assert kept.total == 10**30
    assert 0 <= kept.lost < 10**12
    for value in exact.support[:: max(1, len(exact.support) // 12)]:
        sure, at_best = kept.at_most(value)
        assert sure <= exact.at_most(value)[0] <= at_best
    tail = Fraction(1, 40)
    assert kept.quantile(tail) == exact.quantile(tail)


@settings(deadline=None, max_examples=20)
@given(
    st.dictionaries(st.integers(-6, 6), st.integers(1, 9), min_size=1),
    st.dictionaries(st.integers(-9, 9), st.integers(1, 9), min_size=1),
    st.integers(1, 5),
)
def test_sums_of_large_laws_bound_the_exact_ones(counts, others, draws):
    exact = sum_of(sum_of_draws(counts, draws), sum_of_draws(others, draws))
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_thirty_digits(monkeypatch)
        kept = sum_of(sum_of_draws(counts, draws), sum_of_draws(others, draws))
    expected = Counter()
    for (x, p), (y, q) in product(
        chances(sum_of_draws(counts, draws)).items(), chances(sum_of_draws(others, draws)).items()
    ):
        expected[x + y] += p * q
    assert chances(exact) == expected
    for value in exact.support:
        sure, at_best = kept.at_most(value)
        assert sure <= exact.at_most(value)[0] <= at_best


def test_a_law_too_coarse_for_a_tail_says_so(monkeypatch):
    coarse = Law(range(3), (10, 14, 970), 1000)  # 6 of 1000 are lost: 1 or less has a chance of 0.024 to 0.03
    assert coarse.quantile(Fraction(1, 40)).reason == "a chance of 0.025 is within 6e-03 of a step of the exact law"
    assert coarse.quantile(Fraction(1, 100)) == 0
    assert coarse.quantile(Fraction(31, 1000)) == 2
    assert isinstance(coarse.quantile(Fraction(999, 1000)), NotEstimable)
    in_thirty_digits(monkeypatch, kept=4, dropped=0)
    assert isinstance(law_interval(NINE_THREE, level=LEVEL), NotEstimable)


def test_a_law_with_too_many_values_is_not_begun():
    found = law_interval(pairs([Decimal("0.000001"), 1, Fraction(1, 3)] * 400), level=LEVEL)
    assert found.reason.startswith("the exact law would have about ")
    wide = stratified_pairs([(Fraction(1, 2), [1, 2]), (Fraction(1, 2), [0, Decimal("0.000001"), 1])])
    assert isinstance(law_of(wide), NotEstimable)
    fine = stratified_pairs([(Fraction(1, 1009), [0, 1] * 500), (Fraction(1008, 1009), [0, 1] * 499)])
    assert isinstance(law_of(fine), NotEstimable)
    uneven = clusters([(Fraction(k, 1000), 1 + k % 2) for k in range(900)])
    assert isinstance(law_of(uneven), NotEstimable)
    assert isinstance(sum_of(Law(range(0, 10**9, 10**8), (1,) * 10, 10), Law(range(2), (1, 1), 2)), NotEstimable)


def test_a_law_of_nothing_is_refused():
    for counts, draws in (({}, 1), ({1: 1}, 0), ({1: 0}, 1)):
        with pytest.raises(UsageError, match="no law of"):
            sum_of_draws(counts, draws)
