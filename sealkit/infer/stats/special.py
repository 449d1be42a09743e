"""scipy, which has no types and takes most of a second to import: only here, and only when called.

>>> [round(limit, 4) for limit in wilson_limits(2, 5, 0.95)]
[0.1176, 0.7693]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]


def wilson_limits(x: int, n: int, level: float) -> tuple[float, float]:
    """Wilson's score limits for x of n (scipy.stats.binomtest); exactly 0 at 0 of n and 1 at n of n."""
    return _limits(x, n, level, "wilson")


def clopper_pearson_limits(x: int, n: int, level: float) -> tuple[float, float]:
    """The exact limits for x of n, by Clopper and Pearson (scipy.stats.binomtest)."""
    return _limits(x, n, level, "exact")


def _limits(x: int, n: int, level: float, method: str) -> tuple[float, float]:
    from scipy.stats import binomtest  # type: ignore[import-untyped]  # scipy ships no types

    interval = binomtest(x, n).proportion_ci(confidence_level=level, method=method)
    return float(interval.low), float(interval.high)


def binomial_at_least(k: Numbers, n: Numbers, p: Numbers) -> Numbers:
    """P(X >= k) for X binomial(n, p), element by element (scipy.special.betainc)."""
    from scipy.special import betainc  # type: ignore[import-untyped]

    inside = (k > 0) & (k <= n)
    tail = betainc(np.where(inside, k, 1), np.where(inside, n - k + 1, 1), p)
    return np.where(inside, tail, np.where(k <= 0, 1.0, 0.0))


def binomial_exactly(k: Numbers, n: int, p: Numbers) -> Numbers:
    """P(X = k) for X binomial(n, p), element by element (scipy.special)."""
    from scipy.special import gammaln, xlog1py, xlogy

    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.asarray(np.exp(ways + xlogy(k, p) + xlog1py(n - k, -p)))
