"""The chance of each verdict of a paired binary design, by enumeration.

With n pairs, a chance p of a yes in the first arm only and q of one in the second only, the counts (b, c) have a
trinomial law. Every possible pair of counts is ruled on once and the chances of equal verdicts are added up, in whole
numbers: nothing is simulated, and the chances sum to exactly 1. n pairs have (n+1)(n+2)/2 possible counts.

The same sum gives the true coverage of an interval: let the rule say whether it covers p - q.

>>> sign = lambda counts: "first" if counts.b > counts.c else "not first"
>>> for each in verdict_chances(10, Fraction(3, 10), Fraction(1, 10), sign):
...     print(f"{each.verdict}: {float(each.chance):.4f}")
first: 0.7878
not first: 0.2122
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import comb, lcm

from sealkit.infer.stats.paired import PairedCounts
from sealkit.wire.errors import UsageError


@dataclass(frozen=True, slots=True)
class VerdictChance:
    """How often a design ends in a verdict."""

    verdict: str
    chance: Fraction


def verdict_chances(
    n: int, first_only: Fraction | Decimal, second_only: Fraction | Decimal, rule: Callable[[PairedCounts], str]
) -> tuple[VerdictChance, ...]:
    """The chance of every verdict that the rule can reach with n pairs, by verdict."""
    p, q = Fraction(first_only), Fraction(second_only)
    if n < 1 or min(p, q) < 0 or p + q > 1:
        raise UsageError(f"{n} pairs with chances {first_only} and {second_only} cannot be")
    whole = lcm(p.denominator, q.denominator)
    wins, losses = int(p * whole), int(q * whole)
    ties = whole - wins - losses
    tied = [ties**k for k in range(n + 1)]
    weights: Counter[str] = Counter()
    for b in range(n + 1):
        ways = comb(n, b) * wins**b
        for c in range(n - b + 1):
            if weight := ways * comb(n - b, c) * losses**c * tied[n - b - c]:
                weights[rule(PairedCounts(n, b, c))] += weight
    total = whole**n
    return tuple(VerdictChance(verdict, Fraction(weights[verdict], total)) for verdict in sorted(weights))
