"""What was measured, slot by slot, in columns: one number a slot for each measure that the plan's metrics read.

    cells = Cells(spec)
    cells.admit(slot, measures, ended="final", acts=12, pin=0)      # an admitted episode and what the judge gave it
    cells.set_aside(slot, pin=0)                                    # an episode that was excluded, or no verdict on it
    cells.fail(slot, "provider_error", pin=0)                       # no episode; how the last attempt ended
    cells.draw_again(slot, 2)                                       # failed tries before, that may have been chosen

A slot that is told of in no way is missing. The order of the calls changes nothing; a second call for one slot is
refused, and a call that is refused leaves the slot as it was. What an ending means is the plan's: after one that means
`missing` the slot has no outcome although its episode was admitted; a slot without an episode whose last attempt ended
in one that means `failure` counts as failed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sealkit.infer.columns import Column, Numbers
from sealkit.infer.grid import Grid
from sealkit.infer.measures import plain_metrics, read_measures
from sealkit.plan.measures import USAGE_MEASURES
from sealkit.plan.schema import Spec
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Json, Level

MISSING: Final = 0  # no episode, or one without an outcome
KNOWN: Final = 1  # an admitted episode with an outcome
SET_ASIDE: Final = 2  # an episode that was not admitted
FAILED: Final = 3  # no episode, and how the last attempt ended means failure
ELSEWHERE: Final = 4  # of cells under one pin: the slot is another pin's, and nothing stands in for it here

ColumnKey: TypeAlias = tuple[str, str | None]  # metric, and the level of its reading
_MEANT_BY: Final = {"budget": "budget_exhausted"}


@dataclass(slots=True)
class Ragged:
    """A metric with units inside the episode: row i is unit number `unit[i]` of slot `slot[i]`, with `value[i]`."""

    slot: Column = field(default_factory=Column)
    unit: Column = field(default_factory=Column)
    value: Column = field(default_factory=Column)


class Cells:
    """The outcomes of every confirmatory slot of a plan; see the module for how they are told."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.grid = Grid(spec)
        self.states = bytearray(self.grid.count)
        self.pins = bytearray(self.grid.count)  # which pin the slot's episode, or its last attempt, ran under
        self._told = bytearray(self.grid.count)
        self._metrics = plain_metrics(spec)
        self._columns: dict[ColumnKey, Column] = {}
        self._ragged: dict[ColumnKey, Ragged] = {}
        self._units: dict[str, dict[str, int]] = {}  # by kind of unit: the number of each, in the order of meeting
        for name, metric in self._metrics.items():
            levels = (None,) if metric.read_by is None else tuple(spec.readings[metric.read_by].levels)
            for level in levels:
                if metric.unit is None:
                    self._columns[name, level] = Column(self.grid.count)
                else:
                    self._ragged[name, level] = Ragged()
        self._drawn_again = array("I", bytes(4 * self.grid.count))
        # Where a reading failed, the slot has no outcome at its level alone; a byte a slot, once one has.
        self._lost: dict[ColumnKey, bytearray] = {}
        self._overhead = {name: Column(self.grid.count) for name in ("acts", *USAGE_MEASURES)}

    # --- telling

    def admit(
        self, slot: Mapping[str, Level], measures: Mapping[str, Json], *, ended: str, acts: int | None, pin: int
    ) -> None:
        """An admitted episode: its measures, how it ended, its acts (null: not counted), the number of its pin.

        `MalformedError` for a measure that its metric cannot have or that is not there, and for an ending that the
        plan does not name.
        """
        counts = self._means(slot, ended) != "missing"
        values = list(self._values(slot, measures)) if counts else []
        number = self._tell(slot, pin)
        if acts is not None:
            self._overhead["acts"].put(number, acts)
        for name in USAGE_MEASURES:
            used = measures.get(name)
            if isinstance(used, int):
                self._overhead[name].put(number, used)
        for name, level, unit, value in values:
            if value is None:
                self._lost.setdefault((name, level), bytearray(self.grid.count))[number] = 1
            elif unit is None:
                self._columns[name, level].put(number, value)
            else:
                known = self._units.setdefault(self._metrics[name].unit or "", {})
                ragged = self._ragged[name, level]
                ragged.slot.append(number)
                ragged.unit.append(known.setdefault(unit, len(known)))
                ragged.value.append(value)
        if counts:
            self.states[number] = KNOWN

    def set_aside(self, slot: Mapping[str, Level], *, pin: int) -> None:
        """An episode that was excluded, that no verifier came to a verdict on, or that could not be measured."""
        self.states[self._tell(slot, pin)] = SET_ASIDE

    def fail(self, slot: Mapping[str, Level], ending: str, *, pin: int) -> None:
        """A slot without an episode, whose last attempt ended so, and the number of the pin of that attempt."""
        failed = self._means(slot, ending) == "failure"
        number = self._tell(slot, pin)
        if failed:
            self.states[number] = FAILED

    def draw_again(self, slot: Mapping[str, Level], tries: int) -> None:
        """So many failed tries at the slot that the study's own code could have brought about; see `drawn_again`."""
        self._drawn_again[self.grid.number(slot)] = tries

    def _values(
        self, slot: Mapping[str, Level], measures: Mapping[str, Json]
    ) -> Iterator[tuple[str, str | None, str | None, int | None]]:
        """(metric, reading level, unit, kept number) of everything that the judge gave, or that a reading lost."""
        where = f"measures of slot {dict(slot)}:"
        for name, metric in self._metrics.items():
            for value in read_measures(self.spec, name, metric, measures, arm=str(slot.get("arm")), where=where):
                yield name, *value

    def _tell(self, slot: Mapping[str, Level], pin: int) -> int:
        number = self.grid.number(slot)
        if self._told[number]:
            raise MalformedError(f"slot {dict(slot)} has two outcomes", where="cells", remedy="keep one")
        self._told[number] = 1
        self.pins[number] = pin
        return number

    def _means(self, slot: Mapping[str, Level], ended: str) -> str:
        if ended == "final":
            return "judged"
        ending = _MEANT_BY.get(ended, ended)
        if ending not in type(self.spec.sample.endings).__struct_fields__:
            raise MalformedError(
                f"the episode ended by {ended!r}, to which the plan gives no meaning",
                where=f"slot {dict(slot)}",
                remedy="an ending is final, budget or a word of sample.endings",
            )
        return str(getattr(self.spec.sample.endings, ending))

    # --- reading

    def column(self, metric: str, reading: str | None) -> Column:
        """The kept number of every slot, `NULL` where there is none."""
        return self._columns[metric, reading]

    def ragged(self, metric: str, reading: str | None) -> Ragged:
        """The units of every slot, of a metric that has a unit."""
        return self._ragged[metric, reading]

    def units(self, kind: str) -> tuple[str, ...]:
        """Every unit of this kind that any episode showed, by rank."""
        return tuple(sorted(self._units.get(kind, {})))

    def ranks(self, kind: str) -> Numbers:
        """The rank, by name, of each unit of this kind that any episode showed."""
        known = self._units.get(kind, {})
        places = {name: place for place, name in enumerate(sorted(known))}
        return np.array([places[name] for name in known], dtype=np.int64)

    def state(self) -> NDArray[np.uint8]:
        """`MISSING`, `KNOWN`, `SET_ASIDE` or `FAILED` for every slot; under one pin also `ELSEWHERE`."""
        return np.frombuffer(self.states, dtype=np.uint8)

    def state_of(self, metric: str, reading: str | None) -> NDArray[np.uint8]:
        """The same for one metric: `MISSING` too where the episode counts, and its reading at this level failed."""
        lost = self._lost.get((metric, reading))
        if lost is None:
            return self.state()
        failed = np.frombuffer(lost, dtype=np.uint8) != 0
        return np.where(failed & (self.state() == KNOWN), np.uint8(MISSING), self.state())

    def drawn_again(self) -> Numbers:
        """For every slot that has an outcome, how many failed tries came before it that may have been drawn by choice.

        Who can let a try fail after seeing what it came to can draw until it pleases: best of so many.
        """
        tries = np.frombuffer(self._drawn_again, dtype=np.uint32).astype(np.int64)
        return np.where(self.state() == KNOWN, tries, 0)

    def overhead(self) -> Iterator[tuple[str, Numbers]]:
        """What every admitted episode took: acts, and usage where it was measured; `NULL` where not."""
        for name, column in self._overhead.items():
            yield name, column.all()

    def under(self, pin: int) -> Cells:
        """The same cells, in which only slots whose episode, or last attempt, ran under this pin count.

        A slot that nothing was told of is under no pin.
        """
        other = copy(self)
        other.states = bytearray(
            state if told and of == pin else ELSEWHERE
            for state, told, of in zip(self.states, self._told, self.pins, strict=True)
        )
        return other
