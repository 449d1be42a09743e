"""Failures one after another: what makes a run pause, and what such a pause does not hold against slots.

A run pauses when five attempts in a row have failed, whatever their arms; or when the first five of an arm have, so
that an arm that cannot work at all is mended, not given up slot by slot beside others that do. A pause forgives these
failures. A row begins anew after any pause, an amendment, and with each shard that is taken over.
"""

from __future__ import annotations

from typing import Final, TypeAlias

ERRORS_IN_A_ROW: Final = "errors_in_a_row"
MOST_ERRORS_IN_A_ROW: Final = 5
_Row: TypeAlias = dict[int, int]  # the slot of each failure, by a number that the failure has


class InARow:
    """The rows of failures of one stage, so far."""

    __slots__ = ("_count", "_first", "_last", "_works")

    def __init__(self) -> None:
        self._count = 0
        self._last: _Row = {}  # since the last episode
        self._first: dict[str, _Row] = {}  # of arms that have had no episode yet
        self._works: set[str] = set()

    def keep(self, arm: str) -> None:
        """An attempt of the arm left its episode."""
        self._last.clear()
        self._first.pop(arm, None)
        self._works.add(arm)

    def fail(self, arm: str, slot: int) -> None:
        """An attempt of the arm failed, at the slot of this number."""
        self._count += 1
        self._last[self._count] = slot
        if arm not in self._works:
            self._first.setdefault(arm, {})[self._count] = slot

    @property
    def longest(self) -> int:
        """The length of the longest row."""
        return max(map(len, (self._last, *self._first.values())))

    def pause(self) -> tuple[int, ...]:
        """The slots of the failures that led to a pause, one for each; rows begin anew. None led to it: none."""
        # Fewer do not make a run pause: an entry that says so forgives nothing.
        rows = [row for row in (self._last, *self._first.values()) if len(row) >= MOST_ERRORS_IN_A_ROW]
        forgiven = {failure: slot for row in rows for failure, slot in row.items()}
        self.end()
        return tuple(forgiven.values())

    def end(self) -> None:
        """Rows begin anew; that an arm works stays known."""
        self._last.clear()
        self._first.clear()

    def begin(self) -> None:
        """Rows begin anew, and every arm is as if it were new."""
        self.end()
        self._works.clear()
