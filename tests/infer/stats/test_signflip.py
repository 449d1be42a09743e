"""The sign-flip test: Fisher's example, enumeration, McNemar."""

from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.infer.stats import lattice
from sealkit.infer.stats.paired import PairedCounts, mcnemar_exact
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.stats.signflip import sign_flip

# Darwin's Zea mays, 15 pairs, crossed less self-fertilized, in eighths of an inch (Fisher 1935, section 21): 863 of
# the 2^15 sums are at least the 314 seen, so p is 1726/32768.
ZEA_MAYS = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def test_fishers_example():
    found = sign_flip([Fraction(eighths, 8) for eighths in ZEA_MAYS])
    assert found.p == Decimal("0.052673339844")  # 1726/32768
    assert (found.n, found.b, found.c) == (15, 13, 2)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.fractions(-3, 3, max_denominator=4), min_size=1, max_size=7))
def test_against_enumeration(differences):
    far = abs(sum(differences))
    flipped = [abs(sum(choice)) for choice in product(*((d, -d) for d in differences))]
    expected = Fraction(sum(distance >= far for distance in flipped), len(flipped))
    assert abs(Fraction(sign_flip(differences).p) - expected) <= Fraction(1, 2 * 10**12)
    assert sign_flip([-d for d in differences[::-1]]).p == sign_flip(differences).p


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 200), st.integers(0, 200), st.integers(1, 5))
def test_on_binary_pairs_it_is_mcnemar(b, c, ties):
    assert sign_flip([1] * b + [-1] * c + [0] * ties).p == mcnemar_exact(PairedCounts(b + c + ties, b, c)).p


def test_many_pairs_in_thirty_digits():
    b, c = 20_300, 19_900
    assert sign_flip([1] * b + [-1] * c).p == mcnemar_exact(PairedCounts(b + c, b, c)).p


def test_thirty_digits_are_never_too_small(monkeypatch):
    monkeypatch.setattr(lattice, "EXACT_DIGITS", 0)
    assert sign_flip(ZEA_MAYS).p == Decimal("0.052673339844")


def test_nothing_to_flip():
    assert sign_flip([]) == NotEstimable("no pairs")
    assert sign_flip([1, Decimal("NaN")]) == NotEstimable("value 1 is NaN")
    found = sign_flip([0, 0, 0])
    assert (found.p, found.notes) == (1, ("0 of 3 differ",))
    assert sign_flip([5]).p == 1
    assert sign_flip([1, -1]).p == 1


@pytest.mark.parametrize("differences", [[10**6, 1], [10**6] * 2000 + [1], list(range(1, 1500))])
def test_a_law_with_too_many_values_is_not_begun(differences):
    assert isinstance(sign_flip(differences), NotEstimable)
