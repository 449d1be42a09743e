"""Tries that were abandoned and begun anew: a runner that was stopped, or a pause, while something was known of them.

    cut_off = CutOff(sealed)
    cut_off.see(entry, calls)        # every entry of the journal, with the lines of calls.jsonl that it tells of
    cut_off.tries                    # by arm; arms without any are left out

Whose code sees what a try came to, and can stop the run, draws again without a failure. Nobody can tell that from a
power cut, so such tries do not meet the exclusion cap: verdicts and claims say how many there were, and where arms that
are compared are too unlike in it (`unlike`), claims are exploratory. Two kinds are no second draw: what asks no model
and is run again to the same bytes, and a try that a pause recorded without a reply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias

from sealkit.plan.actors import CommandArm, ExternalWorld, roles_of
from sealkit.seal.history import spell_slot
from sealkit.seal.journal import CALLS
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.attempts import read_calls
from sealkit.wire.calls import CALL_STATUSES, Call
from sealkit.wire.chain import Entry
from sealkit.wire.events import Asked, Attempted, EpisodeKept, Failed, Paused, Read

MANY: Final = 5  # so many more in one arm than in another, and more than twice as many, are too unlike
_Key: TypeAlias = tuple[str, str, str]  # a slot, and the reading of its episode and its level, or nothing


class CutOff:
    """Follows a journal; knows which tries began, did not end, and were begun again."""

    def __init__(self, sealed: SealedPlan) -> None:
        self._sealed = sealed
        self._open: dict[_Key, tuple[Attempted | Asked, int | None]] = {}  # and the shard
        self._tries: Counter[str] = Counter()

    @property
    def tries(self) -> dict[str, int]:
        """How many of each arm."""
        return dict(sorted(self._tries.items()))

    def see(self, entry: Entry, calls: bytes) -> None:
        """Take one entry into account."""
        event = entry.event
        if not isinstance(event, Attempted | Asked | EpisodeKept | Failed | Read | Paused):
            return
        if event.stage != "confirmatory":
            return
        if isinstance(event, Paused):
            self._pause(calls, entry.shard)
        elif isinstance(event, Attempted | Asked):
            if _key(event) in self._open:
                self._tries[str(event.slot["arm"])] += 1
            self._open.pop(_key(event), None)
            if self._draws(event):
                self._open[_key(event)] = event, entry.shard
        else:
            self._open.pop(_key(event), None)

    def _pause(self, calls: bytes, shard: int | None) -> None:
        """What was cut off is told here: of what has no reply, nothing was known, but by whoever asks by himself."""
        replied = {_spell(call) for call in read_calls(calls, where=CALLS) if _is_reply(call)}
        for key, (event, of) in tuple(self._open.items()):
            told = (key[0], event.attempt, isinstance(event, Asked))
            if of == shard and told not in replied and not self._asks_by_itself(event):
                del self._open[key]

    def _draws(self, event: Attempted | Asked) -> bool:
        """Whether the try, made again, could come to something else."""
        arm = self._sealed.under(event.pin).plan.spec.factors.arm[str(event.slot["arm"])]
        return isinstance(event, Asked) or self._asks_by_itself(event) or bool(roles_of(arm))

    def _asks_by_itself(self, event: Attempted | Asked) -> bool:
        """Whether a program of the study's plays, which no gateway knows all of."""
        spec = self._sealed.under(event.pin).plan.spec
        arm = spec.factors.arm[str(event.slot["arm"])]
        return isinstance(event, Attempted) and (isinstance(spec.world, ExternalWorld) or isinstance(arm, CommandArm))


def unlike(tries: Mapping[str, int]) -> bool:
    """Whether one arm has more than twice as many of these tries as another, and many more.

    >>> unlike({"a": 23, "b": 0}), unlike({"a": 4, "b": 0}), unlike({"a": 20, "b": 12})
    (True, False, False)
    """
    most, least = max(tries.values(), default=0), min(tries.values(), default=0)
    return most > 2 * least and most - least >= MANY


def _key(event: Attempted | Asked | EpisodeKept | Failed | Read) -> _Key:
    reading = (event.reading, event.level) if isinstance(event, Asked | Read) else ("", "")
    return spell_slot(event.slot), *reading


def _spell(call: Call) -> tuple[str, int, bool]:
    return spell_slot(call.slot), call.attempt, call.purpose == "read"


def _is_reply(call: Call) -> bool:
    return CALL_STATUSES[call.status] in ("answer", "fail") and call.status != "abandoned"
