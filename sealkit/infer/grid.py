"""The slots of a plan as numbers in plan order, so that what is known of each takes bytes and not a mapping.

The last factor runs fastest, as in `plan.slots`; repetitions are the last factor of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sealkit.infer.columns import Numbers
from sealkit.plan.schema import Spec
from sealkit.plan.slots import REPETITION, grid
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Level


class Grid:
    """Every confirmatory slot of a plan, by number.

    `factors` has the levels of each factor but the repetition, of which there are `repetitions`.
    """

    def __init__(self, spec: Spec) -> None:
        levels = grid(spec, "confirmatory")
        self.count = math.prod(map(len, levels.values()))
        self.repetitions = len(levels.get(REPETITION, (0,)))
        self.factors = {name: known for name, known in levels.items() if name != REPETITION}
        self._places = {name: {level: place for place, level in enumerate(known)} for name, known in levels.items()}
        self._strides: dict[str, int] = {}
        stride = self.count
        for name, known in levels.items():
            stride //= len(known)
            self._strides[name] = stride

    def number(self, slot: Mapping[str, Level]) -> int:
        """The slot's number; `MalformedError` if the plan has no such slot."""
        try:
            number = sum(places[slot[name]] * self._strides[name] for name, places in self._places.items())
        except KeyError:
            raise MalformedError(f"the plan has no slot {dict(slot)}", where="slot") from None
        if len(slot) != len(self._places):
            raise MalformedError(f"the plan has no slot {dict(slot)}", where="slot")
        return number

    def places(self, numbers: Numbers, factor: str) -> Numbers:
        """Which level of `factor`, counted from 0, each of these slots has."""
        return numbers // self._strides[factor] % len(self.factors[factor])

    def place(self, factor: str, level: Level) -> int:
        """Which level of `factor` this one is, counted from 0."""
        return self._places[factor][level]

    def cells(self, chosen: Mapping[str, tuple[Level, ...]]) -> Numbers:
        """The slots that have one of the chosen levels in every factor: a row a cell, a column a repetition.

        `chosen` names every factor; rows come in plan order.
        """
        numbers = np.zeros(1, dtype=np.int64)
        for name in self.factors:
            steps = np.array([self.place(name, level) for level in chosen[name]], dtype=np.int64) * self._strides[name]
            numbers = (numbers[:, None] + steps[None, :]).reshape(-1)
        return numbers[:, None] + np.arange(self.repetitions, dtype=np.int64)[None, :]
