"""Whether the rest of a sample was played under something else, once somebody had looked.

late = Late(standing)
late.follow(entry)          # for every entry, in order, before the standing follows it
late.lost                   # shards that began in the study's folder and were lost, so that their slots ran anew
late.runs.killed            # runs of merged shards that were cut off without a word
late.played_on              # the first amendment after the look under which slots had their first episode, or None
"""

from __future__ import annotations

from sealkit.plan.slots import SlotIndex
from sealkit.run.progress import Standing
from sealkit.seal.commitment import Amendment
from sealkit.seal.in_force import LOOKED
from sealkit.wire.chain import Entry
from sealkit.wire.events import Amended, EpisodeKept, ShardLost
from sealkit.wire.shardruns import ShardRuns


class Late:
    """Follows a journal beside the standing of its confirmatory stage."""

    def __init__(self, stage: Standing) -> None:
        self.lost: list[ShardLost] = []
        self.runs = ShardRuns()
        self.played_on: int | None = None
        self._stage = stage
        self._changed: int | None = None  # the first amendment after the look that changed what episodes run under
        self._before: list[tuple[SlotIndex, bytes]] = []  # at each amendment: which slots had their episode

    def follow(self, entry: Entry) -> None:
        """Take one more entry into account, which the standing has not followed yet."""
        event = entry.event
        self.runs.follow(entry)
        if isinstance(event, Amended):
            self._amend(event)
        elif isinstance(event, ShardLost):
            self.lost.append(event)
        elif isinstance(event, EpisodeKept) and event.stage == "confirmatory":
            self._keep(event)

    def _keep(self, event: EpisodeKept) -> None:
        if self._changed is not None and self.played_on is None and not self._had_episode(event):
            self.played_on = self._changed

    def _amend(self, event: Amended) -> None:
        stage = self._stage
        self._before.append((stage.index, bytes(stage.kept)))
        if self._changed is not None or event.phase not in LOOKED or not 0 < event.number <= len(stage.amendments):
            return
        amendment = stage.amendments[event.number - 1].commitment
        assert isinstance(amendment, Amendment)
        changed = amendment.changed
        if changed.harness or changed.ruling or changed.scenarios:
            self._changed = event.number

    def _had_episode(self, event: EpisodeKept) -> bool:
        """Whether the slot had an episode when an amendment came; then this one is held against it."""
        found = ((index.find(event.slot), kept) for index, kept in self._before)
        return any(number is not None and kept[number] for number, kept in found)
