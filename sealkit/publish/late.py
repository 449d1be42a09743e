"""What came late in a journal: amendments that were made when every outcome was there, and episodes that were first
run under a harness that was changed after the first look.

    late = Late(standing)
    late.follow(entry)          # for every entry, in order, before the standing follows it
    late.full                   # numbers of amendments: the confirmatory run had ended, or each slot had its outcome
    late.lost                   # shards that began in the study's folder and were lost, so that their slots ran anew
    late.played_on              # the first amendment after the look under which slots had their first episode, or None

A look that is recorded is one that somebody made through sealkit. Receipts are files: whoever holds every outcome may
have looked. So what an amendment changes then is held against claims as if it came after the look.
"""

from __future__ import annotations

from sealkit.run.progress import SlotIndex, Standing
from sealkit.seal.commitment import Amendment
from sealkit.seal.in_force import LOOKED
from sealkit.wire.chain import Amended, Closed, Entry, EpisodeKept, ShardLost


class Late:
    """Follows a journal beside the standing of its confirmatory stage."""

    def __init__(self, stage: Standing) -> None:
        self.full: set[int] = set()
        self.lost: list[ShardLost] = []
        self.played_on: int | None = None
        self._stage = stage
        self._ended = False  # the stage was closed once, or every slot had its outcome
        self._changed: int | None = None  # the first amendment after the look that changed what episodes run under
        self._before: list[tuple[SlotIndex, bytes]] = []  # at each amendment: which slots had their episode

    def follow(self, entry: Entry) -> None:
        """Take one more entry into account, which the standing has not followed yet."""
        event = entry.event
        if isinstance(event, Closed):
            self._ended = self._ended or event.stage == "confirmatory"
        elif isinstance(event, Amended):
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
        self._ended = self._ended or not stage.untried()
        self._before.append((stage.index, bytes(stage.kept)))
        if self._ended:
            self.full.add(event.number)
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
