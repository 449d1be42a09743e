"""How an attempt at a slot, or a reading of its episode, ended, and the lines of calls.jsonl that it left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from sealkit.seal.closure import DriftError
from sealkit.seal.guard import DRIFT
from sealkit.wire.records import Json


@dataclass(frozen=True, slots=True)
class Kept:
    """The attempt left an episode."""

    line: bytes
    calls: bytes = b""


@dataclass(frozen=True, slots=True)
class Said:
    """The reading had a reply, and `said` is what the judge reads in it; null if nothing can be."""

    said: Json
    calls: bytes


@dataclass(frozen=True, slots=True)
class Broke:
    """The attempt broke: `ending` is a word of the plan's endings."""

    ending: str
    why: str
    calls: bytes = b""


@dataclass(frozen=True, slots=True)
class CutOff:
    """The attempt was cut off and decides nothing: `reason` is a word of `paused` entries.

    `error` is what nobody foresaw, if that cut it off: it is raised again once the calls are recorded.
    """

    reason: str
    why: str
    remedy: str
    calls: bytes = b""
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """Whoever carried the attempt out is gone, and it with them: it stays abandoned, and the slot is begun again."""

    why: str
    calls: bytes = b""


Outcome: TypeAlias = Kept | Said | Broke | CutOff | Lost


def drifted(error: DriftError) -> CutOff:
    """How an attempt ends during which, or before which, a sealed file was touched."""
    return CutOff(DRIFT, error.what, error.remedy)


class Pending(Protocol):
    """An attempt that is under way."""

    def done(self) -> bool:
        """Whether it has ended."""

    def result(self) -> Outcome:
        """How it ended; waits for it."""


def joined(lines: Iterable[bytes]) -> bytes:
    """Lines of calls as they stand in calls.jsonl, each with its newline."""
    return b"".join(line + b"\n" for line in lines)
