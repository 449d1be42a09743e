"""The exact unconditional interval: closed forms, brute force, coverage by enumeration, symmetry."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import product

import pytest

from sealkit.infer.stats.exact_paired import exact_difference, exceeds
from sealkit.infer.stats.paired import PairedCounts, tango_score
from sealkit.infer.stats.results import Estimate, NotEstimable

LEVEL = Decimal("0.95")


def interval(n: int, b: int, c: int) -> Estimate:
    found = exact_difference(PairedCounts(n, b, c), level=LEVEL)
    assert isinstance(found, Estimate)
    return found


def chance(n: int, b: int, c: int, first: float, second: float) -> float:
    """The trinomial chance of b and c."""
    ways = math.comb(n, b) * math.comb(n - b, c)
    return float(ways * first**b * second**c * max(0.0, 1 - first - second) ** (n - b - c))


def outcomes(n: int) -> list[tuple[int, int]]:
    return [(b, c) for b, c in product(range(n + 1), repeat=2) if b + c <= n]


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_n_of_n_has_a_closed_form(n: int) -> None:
    found = interval(n, n, 0)
    assert float(found.lower) == pytest.approx(2 * 0.025 ** (1 / n) - 1, abs=1e-9)
    assert found.upper == 1


@pytest.mark.parametrize(("n", "b", "c"), [(6, 3, 1), (8, 0, 0), (7, 5, 2)])
def test_limits_are_where_brute_force_puts_them(n: int, b: int, c: int) -> None:
    """Just below the lower limit every rate refuses; just above it some rate does not; all outcomes enumerated."""
    lower = float(interval(n, b, c).lower)

    def largest(difference: float) -> float:
        due = tango_score(PairedCounts(n, b, c), difference) - 1e-9
        far = [pair for pair in outcomes(n) if tango_score(PairedCounts(n, *pair), difference) >= due]
        rates = [max(0.0, -difference) + i / 400 * ((1 - abs(difference)) / 2) for i in range(401)]
        return max(sum(chance(n, x, y, rate + difference, rate) for x, y in far) for rate in rates)

    assert largest(lower - 2e-3) <= 0.025 * (1 + 1e-6)
    assert largest(lower + 2e-3) >= 0.025 * (1 - 1e-3)


@pytest.mark.parametrize("n", [3, 5])
def test_it_covers_whatever_the_rates_are(n: int) -> None:
    limits = {pair: interval(n, *pair) for pair in outcomes(n)}
    for first, second in product([0.0, 0.05, 0.15, 0.3, 0.5, 0.7], repeat=2):
        if first + second <= 1:
            difference = Decimal(str(first)) - Decimal(str(second))
            covered = sum(
                chance(n, *pair, first, second)
                for pair, found in limits.items()
                if found.lower <= difference <= found.upper
            )
            assert covered >= 0.95


@pytest.mark.parametrize(("n", "b", "c"), [(12, 5, 2), (20, 0, 3), (9, 4, 4)])
def test_swapping_the_arms_negates_it(n: int, b: int, c: int) -> None:
    one, other = interval(n, b, c), interval(n, c, b)
    assert (one.estimate, one.lower, one.upper) == (-other.estimate, -other.upper, -other.lower)
    assert one.lower <= one.estimate <= one.upper


def test_without_pairs_there_is_none() -> None:
    assert exact_difference(PairedCounts(0, 0, 0), level=LEVEL) == NotEstimable("no pairs")


def test_a_chance_close_to_the_tail_is_decided_by_the_finer_search() -> None:
    """At b = n = 1 the chance is (1 + D)/2: 0.025 at D = -0.95."""
    assert exceeds(PairedCounts(1, 1, 0), -0.95 + 1e-6, 0.025)
    assert not exceeds(PairedCounts(1, 1, 0), -0.95 - 1e-6, 0.025)
