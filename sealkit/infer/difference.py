"""The difference of two effects, and how its units hang together.

Both effects may rest on the same episodes (D - C and C - A share an arm), on others (two populations), or on both. So
what is resampled is the key that both have in common, whole: its pairs in the one effect and in the other. Keys that
the plan puts into both effects, only into the first, and only into the second are resampled apart, so that every
resample has as many of each as there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sealkit.infer.columns import Numbers
from sealkit.infer.shapes import Rows, key, summed
from sealkit.infer.stats.design import Design
from sealkit.infer.stats.parts import difference
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.stats.units import Unit
from sealkit.plan.analysis import Single


@dataclass(frozen=True, slots=True)
class TwoEffects:
    """The rows of the effect that counts, and of the one that is taken away; `names` are theirs."""

    plus: Rows
    minus: Rows
    names: tuple[str, str]

    @property
    def n(self) -> int:
        """Pairs in both effects together."""
        return self.plus.sample.n + self.minus.sample.n

    def value(self) -> Fraction | NotEstimable:
        """The first effect minus the second."""
        plus, minus = self.plus.value(), self.minus.value()
        if isinstance(plus, NotEstimable):
            return plus
        return minus if isinstance(minus, NotEstimable) else plus - minus

    def design(self) -> Design | NotEstimable:
        """What a bootstrap of the difference resamples."""
        return difference(self._groups())

    def units(self) -> int:
        """How many units are resampled."""
        return sum(map(len, self._groups()))

    def _groups(self) -> list[list[Unit]]:
        shared = _shared_key(self.plus, self.minus)
        halves = [_sums_by_key(part, shared) for part in (self.plus, self.minus)]
        planned = [set(key(part.grid, shared, part.sample.planned).tolist()) for part in (self.plus, self.minus)]
        groups: dict[tuple[bool, bool], list[Unit]] = {(True, True): [], (True, False): [], (False, True): []}
        nothing = (0,) * len(self.plus.columns())
        for number in sorted(halves[0].keys() | halves[1].keys()):
            ours, theirs = halves[0].get(number, nothing), halves[1].get(number, nothing)
            groups[number in planned[0], number in planned[1]].append(_interleaved(ours, theirs))
        return list(groups.values())


def _interleaved(ours: Unit, theirs: Unit) -> Unit:
    """What counts for the difference, then what counts against it."""
    if len(ours) == 2:
        return (*ours, *theirs)
    return (*ours[:2], *theirs[2:], *ours[2:], *theirs[:2])


def _shared_key(plus: Rows, minus: Rows) -> Sequence[str]:
    names = [effect.cluster or effect.join for effect in (plus.effect, minus.effect) if not isinstance(effect, Single)]
    return [name for name in names[0] if name in names[1]]


def _sums_by_key(rows: Rows, shared: Sequence[str]) -> dict[int, Unit]:
    numbers: Numbers = key(rows.grid, shared, rows.sample.row_slot)
    known, group = np.unique(numbers, return_inverse=True)
    sums = zip(*(summed(column, group) for column in rows.columns()), strict=True)
    return dict(zip(known.tolist(), sums, strict=True))
