"""What was piloted before a seal: counted from the pilot's journal, committed to by the seal, and checked again.

    receipts/ID/pilot/journal.jsonl HEAD episodes.jsonl calls.jsonl   chained as any journal is; the seal quotes HEAD

`read_pilot` counts, for the seal; `check_pilot` counts again, for a reader, and holds it against the seal. No pilot
goes on after the seal, so the journal ends at the head that is quoted.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from sealkit.plan.load import Plan
from sealkit.seal.commitment import PilotSeal
from sealkit.seal.history import open_history
from sealkit.seal.journal import JOURNAL, exclusive
from sealkit.seal.sealed import SealedPlan, receipts_folder
from sealkit.seal.tried import Tried, check_untried, tried_in
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Asked, Attempted, EpisodeKept, Failed, Opened, Paused, Read, calls_of
from sealkit.wire.records import Count

PILOT: Final = "pilot"


class Piloted(msgspec.Struct, frozen=True):
    """What a pilot's files hold, checked to their end."""

    episodes: Count
    attempts: Count
    calls: Count
    head: str

    @property
    def seal(self) -> PilotSeal:
        """What a seal says of it: the head commits to the attempts and to every recorded call."""
        return PilotSeal(episodes=self.episodes, calls=self.calls, head=self.head)


def read_pilot(folder: Path, *, inside: Path, tried: Tried) -> Piloted | None:
    """The pilot in `folder`; None if there is no journal of one. `tried` knows its attempts after this."""
    if not os.path.lexists(folder / JOURNAL):
        return None
    attempts = episodes = calls = 0
    history = open_history(folder, inside=inside, first=None)
    for entry in history.entries():
        event = entry.event
        if isinstance(event, (Opened, Attempted, EpisodeKept, Failed, Asked, Read, Paused)) and event.stage != PILOT:
            what = f"an entry of a {event.stage} run in the journal of a pilot"
            raise UntrustedError(what, where=f"{folder / JOURNAL} entry {entry.seq}", remedy="no pilot writes this")
        tried.follow(event)
        attempts += isinstance(event, Attempted)
        episodes += isinstance(event, EpisodeKept)
        told = calls_of(event)
        calls += 0 if told is None else told.count
    return Piloted(episodes=episodes, attempts=attempts, calls=calls, head=str(history.head))


def seal_pilot(folder: Path, plan: Plan, *, inside: Path, until: ExitStack) -> PilotSeal:
    """What the seal says of the pilot in `folder`, in which nobody runs one until `until` is closed.

    `UsageError` if it tried seeds that are confirmatory in the plan.
    """
    if folder.is_dir():
        until.enter_context(exclusive(folder, inside=inside))
    found = read_pilot(folder, inside=inside, tried=(tried := Tried()))
    check_untried(plan, tried)
    return PilotSeal(episodes=0, calls=0, head=None) if found is None else found.seal


def check_played(study: Path, plan: Plan) -> None:
    """`UsageError` if confirmatory seeds of the plan were tried by its pilot, or by a smoke run where it is sealed."""
    receipts = receipts_folder(study, plan)
    check_untried(plan, tried_in(receipts / PILOT, receipts, inside=study))


def check_pilot(sealed: SealedPlan, tried: Tried) -> Piloted | None:
    """The pilot that the seal counts, read again; None if it counts none. `UntrustedError` if they do not agree.

    `tried` knows its attempts after this.
    """
    said, folder = sealed.seal.pilot, sealed.receipts / PILOT
    found, where = read_pilot(folder, inside=sealed.study, tried=tried), str(folder / JOURNAL)
    if found is None:
        if said == PilotSeal(episodes=0, calls=0, head=None):
            return None
        what = f"there is no pilot, but the seal counts {said.episodes} episodes and {said.calls} calls of one"
        raise UntrustedError(what, where=where, remedy="fetch the whole study")
    for what, now, due in (
        ("its head is", found.head, said.head or "none"), ("episodes:", found.episodes, said.episodes),
        ("calls:", found.calls, said.calls),
    ):  # fmt: skip
        if now != due:
            remedy = "a pilot was run after the seal, or its files were edited"
            raise UntrustedError(f"{what} {now}, but the seal says {due}", where=where, remedy=remedy)
    return found
