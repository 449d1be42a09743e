"""What shards of a run that asks models share: the plan's budget, and the bodies of requests and replies.

No shard knows what another spends. So each may use its part, by slots, of what the main journal has left of the budget:
together they stay within it. A shard's bodies are copied into the main folder when it is merged; the copy of a body
that is withheld in a shard is withheld in the main journal by the same entry. What is withheld in the main journal
already is not copied back into it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from pathlib import Path

from sealkit.agents.models.budget import Limits, Spent
from sealkit.files import create_file, open_folder, read_file_safely, sync_folder
from sealkit.seal.journal import BLOBS
from sealkit.wire.digest import PREFIX

_MOST_BODY = 8 * 1024 * 1024
_is_body = re.compile(r"[0-9a-f]{64}\.gz\Z").match
_is_place = re.compile(r"[0-9a-f]{2}\Z").match


def share_of_limits(limits: Limits, spent: Spent, *, slots: int, of: int) -> Limits:
    """The part of what is left after `spent` that falls to `slots` of all `of` slots, rounded down.

    >>> share_of_limits(Limits(calls=100, tokens=None, cost_microusd=7), Spent(calls=10), slots=1, of=3)
    Limits(calls=30, tokens=None, cost_microusd=2)
    """

    def part(limit: int, used: int) -> int:
        return max(0, limit - used) * slots // of

    return Limits(
        calls=part(limits.calls, spent.calls),
        tokens=None if limits.tokens is None else part(limits.tokens, spent.tokens),
        cost_microusd=None if limits.cost_microusd is None else part(limits.cost_microusd, spent.cost_microusd),
    )


def copy_bodies(source: Path, into: Path, *, inside: Path, but: Collection[str] = ()) -> int:
    """Every body below the receipts `source`, but for these digests, is below `into` too, on disk, after this.

    How many are new there.
    """
    copied = 0
    for place in _names(source / BLOBS, inside, _is_place):
        folder = into / BLOBS / place
        here = set(_names(folder, inside, _is_body))
        for name in _names(source / BLOBS / place, inside, _is_body):
            if name in here or f"{PREFIX}{name.removesuffix('.gz')}" in but:
                continue
            folder.mkdir(parents=True, exist_ok=True)
            create_file(folder / name, read_file_safely(source / BLOBS / place / name, inside=inside, limit=_MOST_BODY))
            copied += 1
    if copied:
        sync_folder(into / BLOBS)
        sync_folder(into)
    return copied


def _names(folder: Path, inside: Path, is_one: Callable[[str], object]) -> list[str]:
    try:
        with open_folder(folder, inside=inside) as opened:
            return sorted(name for name in os.listdir(opened.descriptor) if is_one(name))
    except FileNotFoundError:
        return []
