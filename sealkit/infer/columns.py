"""Whole numbers in the narrowest array that holds them: one byte each while they are small.

>>> column = Column(3)
>>> column.put(1, 7)
>>> column.put(2, 1_000)
>>> column.all().tolist() == [NULL, 7, 1000], column.bytes_each
(True, 2)
"""

from __future__ import annotations

from array import array
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Whole = NDArray[Any]  # whole numbers: int64, or Python's own where 64 bits are too few

NULL: Final = -(2**63)  # no number
_WIDTHS: Final = ("b", "h", "i", "q")


class Column:
    """A column of `count` numbers below 2^63 either way, `NULL` at first; it can grow by `append`."""

    def __init__(self, count: int = 0) -> None:
        self._values = array(_WIDTHS[0], [-(2**7)]) * count

    def __len__(self) -> int:
        return len(self._values)

    @property
    def bytes_each(self) -> int:
        """How wide it is by now."""
        return self._values.itemsize

    @property
    def _none(self) -> int:
        """What stands for `NULL` at this width: its lowest number."""
        return -(1 << 8 * self._values.itemsize - 1)

    def put(self, place: int, value: int) -> None:
        """`value` is at `place`."""
        fitting = self._fitting(value)
        self._values[place] = fitting

    def append(self, value: int) -> None:
        """`value` is at the end."""
        fitting = self._fitting(value)  # before the array is looked at: it may be replaced by a wider one
        self._values.append(fitting)

    def _fitting(self, value: int) -> int:
        if value == NULL:
            return self._none
        while not self._none < value < -self._none:
            self._widen()
        return value

    def _widen(self) -> None:
        width = next(code for code in _WIDTHS if array(code).itemsize > self._values.itemsize)
        values = self.all()
        wider = array(width, [0])
        values[values == NULL] = -(1 << 8 * wider.itemsize - 1)
        self._values = array(width, values.astype(np.dtype(width)).tobytes())

    def at(self, places: Numbers) -> Numbers:
        """The numbers at these places."""
        return self._read(np.frombuffer(self._values, dtype=np.dtype(self._values.typecode))[places])

    def all(self) -> Numbers:
        """Every number."""
        return self._read(np.frombuffer(self._values, dtype=np.dtype(self._values.typecode)))

    def _read(self, values: Whole) -> Numbers:
        found = values.astype(np.int64)
        found[values == self._none] = NULL
        return found


def packed(values: Whole) -> Whole:
    """The same numbers in as few bytes as they need; read them with `unpacked`."""
    if values.dtype == object or not values.size:
        return values
    low, high = int(values.min()), int(values.max())
    return values.astype(np.result_type(np.min_scalar_type(low), np.min_scalar_type(high)))


def unpacked(values: Whole) -> Whole:
    """The same numbers in 64 bits, to be computed with."""
    return values if values.dtype == object else values.astype(np.int64)


def roomy(values: Whole, *, times: int) -> Whole:
    """The same numbers, as Python's own where so many times the largest of them would not fit into 64 bits."""
    if values.dtype == object or not values.size or times * int(np.abs(values).max()) < 2**62:
        return values
    return values.astype(object)
