"""In which order a journal's entries can stand, whatever its plan says.

A chain that holds says that nobody edited it piece by piece. Whoever rewrites all of it can chain anything: what no
sealkit writes is refused here, for every journal that is read, a main one, a shard's or a pilot's.

    opened → attempted, asked …            under way until `paused`, `closed` or an amendment; then `opened` again
    closed                                 once a stage, and once more after an amendment; of a stage that is never
                                           analysed, once more after `opened`
    analysed → published                   with no amendment, withdrawal or withheld body between

Also refused: `sealed` but as entry 0; a pause for a reason that there is not; torn bytes that were moved elsewhere than
`seal.recovery` moves them.
"""

from __future__ import annotations

from typing import Final

from sealkit.wire.chain import Entry
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import (
    Amended,
    Analysed,
    Asked,
    Attempted,
    Closed,
    Event,
    Opened,
    Paused,
    Published,
    Repaired,
    Sealed,
    Stage,
    Withdrawn,
    Withheld,
)

STOPPED: Final = "stopped"  # by `--stop`, for good
PAUSES: Final = frozenset(
    (
        *("interrupted", STOPPED, "errors_in_a_row", "budget", "authentication", "model_drift", "no_endpoint"),
        "drift",
        *("workers_lost", "scheduler_lost", "worker_refused", "broke_off"),
    )
)
# Nothing is concluded from these: what one of them left without an episode may be tried again.
NEVER_ANALYSED: Final[frozenset[Stage]] = frozenset(("smoke", "pilot"))
TORN: Final = "torn"
_TORN_FILES: Final = ("journal.jsonl", "episodes.jsonl", "calls.jsonl")


def torn_name(file: str, offset: int, digest: str) -> str:
    """Where the bytes of this digest that stood at `offset` of `file` are moved.

    >>> torn_name("episodes.jsonl", 7, "sha256:0123456789abcdef")
    'torn/episodes.jsonl.7.0123456789ab'
    """
    return f"{TORN}/{file}.{offset}.{digest[7:19]}"


class Order:
    """Follows a journal from its first entry; entries that are copied from a shard have an order of their own."""

    __slots__ = ("_analysed", "_closed", "_under_way")

    def __init__(self) -> None:
        self._analysed = False
        self._closed: set[tuple[int | None, Stage]] = set()
        self._under_way: dict[int | None, Stage] = {}

    def follow(self, entry: Entry, where: str) -> None:
        """Take one more entry into account; `UntrustedError` naming `where` if it cannot stand here."""
        if (what := self._fault(entry)) is not None:
            raise UntrustedError(f"evidence: {what}", where=where, remedy="no sealkit writes this")
        self._take(entry.shard, entry.event)

    def _fault(self, entry: Entry) -> str | None:
        event = entry.event
        match event:
            case Sealed() if entry.seq:
                return "found sealed, which begins a journal and stands nowhere else"
            case Attempted() | Asked() if self._under_way.get(entry.shard) != event.stage:
                return f"found {event.__struct_config__.tag}, but no run of the {event.stage} stage was opened"
            case Closed() if (entry.shard, event.stage) in self._closed:
                return f"the {event.stage} stage is closed a second time, with no amendment between"
            case Published() if not self._analysed:
                return f"edition {event.edition[:80]!a} is published without an analysis of what is in force"
            case Paused() if event.reason not in PAUSES:
                return f"a pause for {event.reason[:80]!a}, which is no reason of sealkit's"
            case Repaired() if event.file not in _TORN_FILES or event.moved_to != _due(event):
                return f"bytes of {event.file[:80]!a} were moved to {event.moved_to[:80]!a}, where no repair moves them"
        return None

    def _take(self, shard: int | None, event: Event) -> None:
        match event:
            case Opened():
                self._under_way[shard] = event.stage
                if event.stage in NEVER_ANALYSED:
                    self._closed.discard((shard, event.stage))
            case Paused() | Closed():
                self._under_way.pop(shard, None)
                if isinstance(event, Closed):
                    self._closed.add((shard, event.stage))
            case Analysed():
                self._analysed = True
            case Amended():
                self._under_way.clear()
                self._closed.clear()
                self._analysed = False
            case Withdrawn() | Withheld():
                self._analysed = False
            case _:
                pass


def _due(event: Repaired) -> str:
    return torn_name(event.file, event.offset, event.digest)
