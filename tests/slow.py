"""Tests that take long: each run tries the first case, and `make test-slow` the others.

>>> [case.values if hasattr(case, "values") else case for case in first_of([1, 2, (3, 4)])]
[1, (2,), (3, 4)]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_of(cases: Iterable[Any]) -> list[Any]:
    """The cases for `parametrize`, all but the first marked slow."""
    first, *others = cases
    marked = [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in others]
    return [first, *marked]
