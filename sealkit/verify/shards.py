"""Holds the shards in a study's folder against what its main journal has taken over from them.

The main journal alone shows that each copy is whole and in order (`wire.merged`). Where a shard's own folder is
there too, it is read to its end, every byte, and must end in the head that the main journal names.
"""

from __future__ import annotations

from collections.abc import Iterator

from sealkit.seal.history import Anchor, History
from sealkit.seal.sealed import SealedPlan
from sealkit.seal.shards import Shard, find_shards
from sealkit.wire.chain import EpisodeKept, Merged
from sealkit.wire.errors import UntrustedError


def check_shards(sealed: SealedPlan, main: History) -> tuple[str, ...]:
    """What there is to say of shards, after checking those that are here; `main` was read to its end."""
    if main.taken is None:
        return ()
    return tuple(_check(sealed, {(one.shard, one.of): one for one in main.taken.merged}))


def _check(sealed: SealedPlan, merged: dict[tuple[int, int], Merged]) -> Iterator[str]:
    here = find_shards(sealed)
    for shard in here:
        key = (shard.sharded.shard, shard.sharded.of)
        episodes = _read(shard, merged.get(key))
        if key not in merged:
            yield f"{shard.name} is not merged: its {episodes} episodes hold as bytes and are in no count"
    found = sum((shard.sharded.shard, shard.sharded.of) in merged for shard in here)
    if found:
        yield f"{found} of {len(merged)} merged shards are here: the main journal holds the same entries and episodes"
    if found < len(merged):
        yield (
            f"{len(merged) - found} of {len(merged)} merged shards are not here: their entries in the main journal "
            f"chain to the heads that they had"
        )


def _read(shard: Shard, merged: Merged | None) -> int:
    """Read the shard to its end; how many episodes it has."""
    history = shard.history()
    if merged is not None:
        history.anchor((Anchor(merged.head.count, merged.head.digest or "", "the main journal"),))
    episodes = sum(isinstance(entry.event, EpisodeKept) for entry in history.entries())
    if merged is not None and history.head != merged.head:
        what = f"ends in {history.head}, but was taken over as of {merged.head}"
        raise UntrustedError(what, where=str(shard.folder), remedy="it was changed after it was merged")
    return episodes
