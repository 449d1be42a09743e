"""Holm, Benjamini-Hochberg, gatekeeping: published examples and scipy as the second implementation."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.infer.stats.multiplicity import benjamini_hochberg, gatekeep, holm
from sealkit.wire.errors import UsageError

P_VALUES = st.lists(st.decimals(0, 1, places=6), min_size=1, max_size=12)
ALPHA = Decimal("0.05")

# Benjamini and Hochberg, J R Stat Soc B 1995, 57:289, section 3.2: 15 hypotheses on thrombolysis; at 0.05 their
# procedure rejects four, Bonferroni-type ones three.
PRINTED = [1, 4, 19, 95, 201, 278, 298, 344, 459, 3240, 4262, 5719, 6528, 7590, 10000]  # in units of 0.0001
THROMBOLYSIS = [Decimal(p).scaleb(-4) for p in PRINTED]


def test_benjamini_and_hochbergs_example():
    adjusted = benjamini_hochberg(THROMBOLYSIS)
    assert sum(p <= ALPHA for p in adjusted) == 4
    # as printed in the documentation of scipy.stats.false_discovery_control
    rejected = [0.0015, 0.003, 0.0095, 0.035625]
    kept = [0.0603, 0.06385714, 0.06385714, 0.0645, 0.0765, 0.486, 0.58118182, 0.714875, 0.75323077, 0.81321429, 1.0]
    assert [float(p) for p in adjusted] == pytest.approx(rejected + kept, abs=1e-8)
    assert sum(p <= ALPHA for p in holm(THROMBOLYSIS)) == 3


def test_holm_worked_by_hand():
    """Four tests: 4 * 0.005, 3 * 0.01, 2 * 0.03, then 1 * 0.04, which may not fall below the one before."""
    found = holm([Decimal("0.01"), Decimal("0.04"), Decimal("0.03"), Decimal("0.005")])
    assert found == (Decimal("0.03"), Decimal("0.06"), Decimal("0.06"), Decimal("0.02"))
    assert holm([Decimal("0.6"), Decimal("0.7")]) == (1, 1)


def test_a_tie_with_alpha_stays_a_tie():
    """3 * 0.05/3 in floats is 0.05000000000000001 or 0.05 as it pleases; here 0.05."""
    assert holm([Decimal("0.0125")] + [Decimal("0.5")] * 3)[0] == ALPHA
    assert benjamini_hochberg([Decimal("0.035"), Decimal("0.01"), Decimal("0.9")])[0] == Decimal("0.0525")


@settings(deadline=None, max_examples=40)
@given(P_VALUES)
def test_benjamini_hochberg_is_scipys(p_values):
    from scipy.stats import false_discovery_control

    theirs = false_discovery_control([float(p) for p in p_values]).tolist()
    assert [float(p) for p in benjamini_hochberg(p_values)] == pytest.approx(theirs, abs=1e-11)


@settings(deadline=None, max_examples=40)
@given(P_VALUES)
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values):
    """Holm's own wording: go up the ordered p-values until one exceeds alpha/(m - k)."""
    rejected, rising = set(), sorted(range(len(p_values)), key=lambda i: p_values[i])
    for k, i in enumerate(rising):
        if p_values[i] * (len(p_values) - k) > ALPHA:
            break
        rejected.add(i)
    assert {i for i, p in enumerate(holm(p_values)) if p <= ALPHA} == rejected


@settings(deadline=None, max_examples=40)
@given(P_VALUES, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_more_is_refused_by_holm(p_values, random):
    places = random.sample(range(len(p_values)), len(p_values))
    for adjust in (holm, benjamini_hochberg):
        shuffled = adjust([p_values[i] for i in places])
        assert shuffled == tuple(adjust(p_values)[i] for i in places)
    for raw, strict, loose in zip(p_values, holm(p_values), benjamini_hochberg(p_values), strict=True):
        assert raw <= loose <= strict <= 1


def test_a_gate_closes_behind_the_first_failure():
    first, second, third = [Decimal("0.01"), Decimal("0.02")], [Decimal("0.03")], [Decimal("0.001"), Decimal("0.9")]
    assert gatekeep([first, second, third]) == (
        (Decimal("0.02"), Decimal("0.02")),
        (Decimal("0.03"),),
        (Decimal("0.03"), Decimal("0.9")),
    )
    blocked = gatekeep([[Decimal("0.2")], [Decimal("0.001")]])
    assert blocked == ((Decimal("0.2"),), (Decimal("0.2"),))
    assert gatekeep([]) == ()


@settings(deadline=None, max_examples=40)
@given(st.lists(P_VALUES, min_size=1, max_size=4))
def test_serial_gatekeeping_is_the_procedure(families):
    """A family is tested with Holm if and only if everything before it was rejected."""
    adjusted, opened = gatekeep(families), True
    for family, found in zip(families, adjusted, strict=True):
        rejected = [p <= ALPHA for p in holm(family)] if opened else [False] * len(family)
        assert [p <= ALPHA for p in found] == rejected
        opened = opened and all(rejected)


@pytest.mark.parametrize("p", ["NaN", "Infinity", "-0.1", "1.1"])
def test_what_is_no_p_value_is_refused_not_ranked(p):
    for adjust in (holm, benjamini_hochberg, lambda values: gatekeep([values])):
        with pytest.raises(UsageError, match="p-value 1 is"):
            adjust([Decimal("0.01"), Decimal(p)])


def test_no_tests():
    assert holm([]) == benjamini_hochberg([]) == ()
