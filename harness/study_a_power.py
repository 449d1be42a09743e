"""Power of Study A, by drawn studies: `python harness/study_a_power.py` prints the table that the plan quotes.

A study has `PARENTS` pairs. The witness alone detects the drawn fork of a pair at rate b, the comparator alone at c.
H1 is supported if exact McNemar rejects at 5 % with more of b, and at most three faithful parents are rejected.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest  # type: ignore[import-untyped]

PARENTS, ALLOWED, STUDIES = 154, 3, 10_000


def rejects(b: int, c: int) -> bool:
    """Whether exact McNemar finds more of b than of c, two-sided at 5 %."""
    return b > c and binomtest(c, b + c).pvalue <= 0.05


def chance(b: float, c: float, faithful: float, *, seed: int) -> float:
    """The share of drawn studies in which H1 is supported."""
    draw = np.random.default_rng(seed)
    pairs = draw.multinomial(PARENTS, [b, c, 1 - b - c], size=STUDIES)
    few = draw.binomial(PARENTS, faithful, size=STUDIES) <= ALLOWED
    ruled = {(x, y): rejects(x, y) for x, y in {(int(one), int(two)) for one, two, _ in pairs}}
    return float(np.mean([ruled[int(one), int(two)] for one, two, _ in pairs] & few))


if __name__ == "__main__":
    print("witness alone, comparator alone, rejects a faithful parent: chance of H1")
    for place, (b, c) in enumerate([(0.10, 0.05), (0.15, 0.05), (0.20, 0.05), (0.25, 0.10), (0.30, 0.05)]):
        for faithful in (0.0, 0.005, 0.02):
            print(f"{b:.2f} {c:.2f} {faithful:.3f}: {chance(b, c, faithful, seed=place):.2f}")
