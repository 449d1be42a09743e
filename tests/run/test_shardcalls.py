"""What shards that ask models share: the budget, and bodies."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.budget import Limits, Spent
from sealkit.run.shardcalls import copy_bodies, share_of_limits
from sealkit.wire.errors import MalformedError


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.lists(st.integers(0, 500), min_size=1, max_size=9))
def test_the_shares_of_all_shards_stay_within_what_is_left(limit: int, spent: int, shares: list[int]) -> None:
    of = max(1, sum(shares))
    parts = [share_of_limits(Limits(limit, limit, None), Spent(spent, spent, 0), slots=one, of=of) for one in shares]
    left = max(0, limit - spent)
    assert sum(part.calls for part in parts) <= left
    assert sum(part.tokens or 0 for part in parts) <= left
    assert all(part.cost_microusd is None for part in parts)
    if len(shares) == 1 and sum(shares):
        assert parts[0].calls == left, "one shard has all of it"


def test_bodies_are_copied_once_as_they_are_and_can_be_read_there(tmp_path: Path) -> None:
    shard, main = tmp_path / "shard", tmp_path / "main"
    for folder in (shard, main):
        (folder / "blobs").mkdir(parents=True)
    theirs, ours = Blobs(shard / "blobs", inside=tmp_path), Blobs(main / "blobs", inside=tmp_path)
    digests = [theirs.put(b"one"), theirs.put(b"two")]
    ours.put(b"two")
    (shard / "blobs" / digests[0][7:9] / "notes.txt").write_text("no body")
    assert copy_bodies(shard, main, inside=tmp_path) == 1
    assert [ours.get(digest) for digest in digests] == [b"one", b"two"]
    assert copy_bodies(shard, main, inside=tmp_path) == 0
    assert not list(main.rglob("notes.txt"))


def test_a_run_without_models_has_no_bodies_to_copy(tmp_path: Path) -> None:
    assert copy_bodies(tmp_path / "shard", tmp_path / "main", inside=tmp_path) == 0
    assert not (tmp_path / "main").exists()


def test_a_link_in_the_place_of_a_body_is_not_followed(tmp_path: Path) -> None:
    name = "ab" + "0" * 62 + ".gz"
    (tmp_path / "secret").write_text("x")
    (tmp_path / "shard" / "blobs" / "ab").mkdir(parents=True)
    (tmp_path / "shard" / "blobs" / "ab" / name).symlink_to(tmp_path / "secret")
    with pytest.raises(MalformedError, match="a link"):
        copy_bodies(tmp_path / "shard", tmp_path / "main", inside=tmp_path)
