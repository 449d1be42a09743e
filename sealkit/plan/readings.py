"""Which readings a plan takes of the episodes of an arm: of every level that names the arm, one.

A level with a model asks that role; a level without one is read by the judge's rules, when measures are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

import msgspec

from sealkit.plan.actors import ReadingLevel
from sealkit.plan.schema import Spec

# The measures of a reading that failed: no outcome at its level, whatever the agent did.
LOST: Final = "missing"
ReadingKey: TypeAlias = tuple[str, str]  # the reading and its level


class Taken(msgspec.Struct, frozen=True):
    """One reading that is due of an episode: its name and level, the judge's reader, the model's role or null."""

    reading: str
    level: str
    reader: str
    role: str | None

    @property
    def key(self) -> ReadingKey:
        """What it is called."""
        return self.reading, self.level


def is_taken(level: ReadingLevel, arm: str) -> bool:
    """Whether this reading is taken of the arm's episodes."""
    return isinstance(level.arms, str) or arm in level.arms


def readings_taken(spec: Spec, arm: str) -> Iterator[Taken]:
    """Every reading that is due of an episode of this arm, in the plan's order."""
    for name, reading in spec.readings.items():
        for level, how in reading.levels.items():
            if is_taken(how, arm):
                yield Taken(name, level, reading.of, how.model)


def readings_asked(spec: Spec, arm: str) -> tuple[Taken, ...]:
    """Those of them for which a model is asked."""
    return tuple(taken for taken in readings_taken(spec, arm) if taken.role is not None)


def reading_roles(spec: Spec, arms: Iterable[str]) -> tuple[str, ...]:
    """The model roles that readings of these arms ask, each once."""
    return tuple(dict.fromkeys(taken.role for arm in arms for taken in readings_asked(spec, arm) if taken.role))


def asks_readers(spec: Spec) -> bool:
    """Whether a model is asked for any reading."""
    return bool(reading_roles(spec, spec.factors.arm))
