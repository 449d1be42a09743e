"""Seeded draws that are the same in every process, on every machine, under every Python.

A stream is SHA-256 over (key, counter); a draw below n takes eight bytes and refuses the uneven rest, so
no value is favoured. The key names what it is for, so adding a draw to one purpose moves no other.

>>> d = Draws("house", "noise", 3)
>>> [d.below(6) for _ in range(5)], d.split("names").choice(("red", "blue", "green"))
([2, 3, 0, 0, 4], 'blue')
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from struct import Struct
from typing import TypeVar

T = TypeVar("T")
_ALL = 2**64
_eight = Struct(">Q").pack
_first = Struct(">Q24x").unpack


class Draws:
    """A stream of draws fixed by `key`; `split` opens an independent one."""

    __slots__ = ("_before", "_counter", "_key")

    def __init__(self, *key: str | int) -> None:
        self._key = json.dumps(key, separators=(",", ":")).encode()
        self._before = self._key + b"\x00"
        self._counter = 0

    def split(self, *label: str | int) -> Draws:
        """The stream under this key and `label`; it depends on no draw made here."""
        return Draws(self._key.decode(), *label)

    def below(self, bound: int) -> int:
        """An integer in 0 … bound-1, each equally likely; `bound` from 1 to 2^53."""
        if not 1 <= bound <= 2**53:
            raise ValueError(f"bound {bound} is not in 1 … 2^53")
        while True:
            (value,) = _first(sha256(self._before + _eight(self._counter)).digest())
            self._counter += 1
            drawn: int = value % bound
            if value - drawn <= _ALL - bound:  # else it is one of the uneven rest
                return drawn

    def between(self, low: int, high: int) -> int:
        """An integer in low … high, both included."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[T]) -> T:
        """One of `items`, each equally likely."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> tuple[T, ...]:
        """`items` in drawn order (Fisher-Yates, from the end)."""
        order, below = list(items), self.below
        for i in range(len(order) - 1, 0, -1):
            j = below(i + 1)
            order[i], order[j] = order[j], order[i]
        return tuple(order)

    def sample(self, items: Sequence[T], size: int) -> tuple[T, ...]:
        """The first `size` of `items` in drawn order."""
        return self.shuffled(items)[:size]
