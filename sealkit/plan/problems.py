"""What is wrong with a plan, where, and what to do: one message style for reading, schema and cross-checks.

>>> source = Positions("plans/v1.yaml", values={("sample", "smoke", "seed", 0): (41, 9)}, keys={})
>>> twice = Problem(("sample", "smoke", "seed", 0), "100 is both a smoke and a confirmatory seed", "give another")
>>> print(twice.message(source))
plans/v1.yaml:41:9 $.sample.smoke.seed[0]: 100 is both a smoke and a confirmatory seed; give another

All problems of a file are collected and raised as one error, the first in its first line, at most 20.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from sealkit.wire.errors import UsageError

MOST: Final = 20

KeyPath: TypeAlias = tuple[str | int, ...]
Position: TypeAlias = tuple[int, int]


def spell(path: KeyPath) -> str:
    """`path` as messages write it: `$.sample.smoke.seed[0]`."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{cut(step)}" for step in path)


def cut(text: str) -> str:
    """`text` as it is, or the beginning of a long one."""
    return text if len(text) <= 64 else text[:63] + "…"


class Positions(msgspec.Struct, frozen=True):
    """Where each key and each value of a file stands: line and column, both counted from 1."""

    name: str
    values: Mapping[KeyPath, Position]
    keys: Mapping[KeyPath, Position]

    def of(self, path: KeyPath, *, key: bool = False) -> Position:
        """The position of what stands at `path`, or of the nearest thing above it that is written."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, (1, 1))

    def where(self, path: KeyPath, *, key: bool = False) -> str:
        """`plans/v1.yaml:41:9 $.sample.seeds`."""
        line, column = self.of(path, key=key)
        return f"{self.name}:{line}:{column} {spell(path)}"


class Problem(msgspec.Struct, frozen=True):
    """One thing wrong at `path`; `at_key` points at the key itself and not at its value."""

    path: KeyPath
    what: str
    remedy: str
    at_key: bool = False

    def message(self, positions: Positions) -> str:
        """The problem as one line."""
        return f"{positions.where(self.path, key=self.at_key)}: {self.what}; {self.remedy}"


def usage_error(problems: Sequence[Problem], positions: Positions) -> UsageError:
    """One error for all `problems` (at least one), in the order in which they stand in the file."""
    ordered = sorted(dict.fromkeys(problems), key=lambda p: positions.of(p.path, key=p.at_key))
    first, rest = ordered[0], ordered[1:]
    where = positions.where(first.path, key=first.at_key)
    return UsageError(first.what, where=where, remedy=first.remedy + _others(p.message(positions) for p in rest))


class Flaw(msgspec.Struct, frozen=True):
    """Something in the bytes that is not YAML as sealkit reads it, at a line and column."""

    position: Position
    path: KeyPath
    what: str
    remedy: str

    def where(self, name: str) -> str:
        """`plans/v1.yaml:41:9 $.sample.seeds`."""
        return f"{name}:{self.position[0]}:{self.position[1]} {spell(self.path)}"


def text_error(flaws: Sequence[Flaw], name: str) -> UsageError:
    """One error for all `flaws` (at least one) of a plan's text; a plan is what somebody asks for, so is its text."""
    ordered = sorted(flaws, key=lambda flaw: flaw.position)
    first, rest = ordered[0], ordered[1:]
    lines = (f"{flaw.where(name)}: {flaw.what}; {flaw.remedy}" for flaw in rest)
    return UsageError(first.what, where=first.where(name), remedy=first.remedy + _others(lines))


def _others(lines: Iterable[str]) -> str:
    listed = list(lines)
    kept = listed[: MOST - 1]
    left = len(listed) - len(kept)
    return "".join("\n" + line for line in kept) + (f"\n… and {left} more" if left else "")
