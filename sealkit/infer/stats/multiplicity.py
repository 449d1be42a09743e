"""p-values adjusted for several tests: each may be compared with alpha as if it were the only one.

    Holm              m p(1), (m-1) p(2), ..., never falling, at most 1 (Holm, Scand J Stat 1979, 6:65)
    Benjamini-        m p(i)/i, never rising from the largest down (J R Stat Soc B 1995, 57:289); scipy has it as
    Hochberg          false_discovery_control, in floats; here exact, so a tie with alpha stays a tie
    serial            families in order; each is tested with Holm at full alpha only if every hypothesis before it was
    gatekeeping       rejected (Westfall and Krishen, J Stat Plan Inference 2001, 99:25): an adjusted p is at least
                      the largest adjusted p of the families before

>>> [f"{p:.2f}" for p in holm([Decimal("0.01"), Decimal("0.04"), Decimal("0.03"), Decimal("0.005")])]
['0.03', '0.06', '0.06', '0.02']
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from sealkit.infer.stats.decimals import exact_decimal
from sealkit.wire.errors import UsageError


def holm(p_values: Sequence[Decimal]) -> tuple[Decimal, ...]:
    """Adjusted p-values that keep the chance of any false rejection, in the order given."""
    rising, adjusted, largest = _rising(p_values), list(p_values), Fraction(0)
    for rank, i in enumerate(rising):
        largest = max(largest, min(Fraction(1), (len(rising) - rank) * Fraction(p_values[i])))
        adjusted[i] = exact_decimal(largest)
    return tuple(adjusted)


def benjamini_hochberg(p_values: Sequence[Decimal]) -> tuple[Decimal, ...]:
    """Adjusted p-values that keep the expected share of false rejections, in the order given."""
    rising, adjusted, least = _rising(p_values), list(p_values), Fraction(1)
    for rank, i in reversed(list(enumerate(rising, start=1))):
        least = min(least, Fraction(len(rising), rank) * Fraction(p_values[i]))
        adjusted[i] = exact_decimal(least)
    return tuple(adjusted)


def gatekeep(families: Sequence[Sequence[Decimal]]) -> tuple[tuple[Decimal, ...], ...]:
    """Holm in each family, the families in serial order; families of one are a fixed sequence."""
    gate, adjusted = Decimal(0), []
    for family in families:
        passed = tuple(max(gate, p) for p in holm(family))
        gate = max((gate, *passed))
        adjusted.append(passed)
    return tuple(adjusted)


def _rising(p_values: Sequence[Decimal]) -> list[int]:
    """The places of the p-values, smallest first."""
    for i, p in enumerate(p_values):
        if not (p.is_finite() and 0 <= p <= 1):
            raise UsageError(f"p-value {i} is {p}, which has no rank", remedy="rule it not estimable before adjusting")
    return sorted(range(len(p_values)), key=lambda i: p_values[i])
