"""Holds the shards in a study's folder against what its main journal has taken over from them.

The main journal alone shows that each copy is whole and in order (`wire.merged`). Where a shard's own folder is
there too, it is read to its end, every byte, and must end in the head that the main journal names.
"""

from __future__ import annotations

from collections.abc import Iterator

from sealkit.seal.history import Anchor, History
from sealkit.seal.sealed import SealedPlan
from sealkit.seal.shards import Shard, check_still_here, find_shards
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import EpisodeKept, Merged
from sealkit.wire.merged import Taken


def check_shards(sealed: SealedPlan, main: History) -> tuple[str, ...]:
    """What there is to say of shards, after checking those that are here; `main` was read to its end.

    `UntrustedError` for a shard that began here and is gone without a word, for one that is not as it was, and for one
    that was left out of the merge and holds episodes: somebody could have chosen between these and others.
    """
    return () if main.taken is None else tuple(_check(sealed, main.taken))


def _check(sealed: SealedPlan, taken: Taken) -> Iterator[str]:
    merged = {(one.shard, one.of): one for one in taken.merged}
    here = find_shards(sealed)
    if of := taken.shared_among:
        numbers = {shard.sharded.shard for shard in here if shard.sharded.of == of}
        check_still_here(sealed, set(taken.waiting) - numbers, of)
        for number in sorted(taken.lost):
            yield f"shard {number} of {of} began here and was lost: nobody can say what it held, and its slots ran anew"
    yield from map(str, taken.runs.killed)
    for shard in here:
        key = (shard.sharded.shard, shard.sharded.of)
        episodes = _read(shard, merged.get(key), taken)
        if key in merged:
            continue
        yield from map(str, shard.killed(taken))
        if episodes and (taken.attempted or taken.merged or taken.lost):
            what = f"was left out of the merge, and holds {episodes} episodes of slots that the main run has"
            remedy = "no slot may have two runs to choose from; say so in the report, and keep this shard elsewhere"
            raise UntrustedError(what, where=str(shard.folder), remedy=remedy)
        yield f"{shard.name} is not merged: its {episodes} episodes hold as bytes and are in no count"
    found = sum((shard.sharded.shard, shard.sharded.of) in merged for shard in here)
    if found:
        yield f"{found} of {len(merged)} merged shards are here: the main journal holds the same entries and episodes"
    if found < len(merged):
        yield (
            f"{len(merged) - found} of {len(merged)} merged shards are not here: their entries in the main journal "
            f"chain to the heads that they had"
        )


def _read(shard: Shard, merged: Merged | None, taken: Taken) -> int:
    """Read the shard to its end; how many episodes it has."""
    history = shard.history(taken)
    if merged is not None:
        history.anchor((Anchor(merged.head.count, merged.head.digest or "", "the main journal"),))
    episodes = sum(isinstance(entry.event, EpisodeKept) for entry in history.entries())
    if merged is not None and history.head != merged.head:
        what = f"ends in {history.head}, but was taken over as of {merged.head}"
        raise UntrustedError(what, where=str(shard.folder), remedy="it was changed after it was merged")
    return episodes
