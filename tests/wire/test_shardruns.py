"""Which runs of a shard are named as cut off: `sealkit.wire.shardruns`."""

from __future__ import annotations

import pytest

from sealkit.wire.chain import Entry
from sealkit.wire.events import Attempted, Closed, EpisodeKept, Event, Merged, Opened, Paused, Sharded, ShardHead
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.shardruns import ShardRuns

PIN = "sha256:" + "1" * 64
SHARDED = Sharded(plan="p", seal=PIN, pin=PIN, shard=1, of=2, after=f"1:{PIN}")
OPENED = Opened(stage="confirmatory", pin=PIN, sealkit="1", environment=PIN)
TRIED = Attempted(stage="confirmatory", pin=PIN, slot={"arm": "a"}, attempt=1)
PAUSED = Paused(stage="confirmatory", reason="interrupted", detail="", calls=None)
CLOSED = Closed(stage="confirmatory", slots=1, episodes=1, abandoned=0, missing=0)
KEPT = EpisodeKept(stage="confirmatory", pin=PIN, slot={"arm": "a"}, attempt=1, digest=PIN, bytes=1, calls=None)
STOPPED = Closed(stage="confirmatory", slots=2, episodes=1, abandoned=0, missing=1)
BETWEEN = "that began at entry 1 was killed with no attempt under way"
EMPTY, CUT = "that began at entry 1 left nothing", "that began at entry 1 was killed: "


@pytest.mark.parametrize(
    ("noted", "events", "said"),
    [
        ((2,), (OPENED,), EMPTY),
        ((2, 3), (OPENED, OPENED, TRIED, CLOSED), EMPTY),
        ((2,), (OPENED, TRIED), CUT),
        ((2, 4, 6), (OPENED, TRIED, OPENED, TRIED, PAUSED), CUT),
        ((2,), (OPENED, PAUSED), EMPTY),  # whoever cuts a run back writes `paused` by hand
        ((2, 4), (OPENED, PAUSED, OPENED, TRIED, KEPT, CLOSED), EMPTY),
        ((2, 5), (OPENED, TRIED, PAUSED, OPENED, CLOSED), BETWEEN),
        ((2, 5), (OPENED, TRIED, KEPT, OPENED, CLOSED), BETWEEN),
        ((2,), (OPENED, TRIED, KEPT, STOPPED), BETWEEN),  # the slots that are missing may have been removed
        ((2,), (OPENED, TRIED, KEPT, CLOSED), None),  # a kill between `closed` and its note costs nothing
        ((2, 2), (OPENED,), None),
        ((2, 3), (OPENED, TRIED), None),
        ((2, 4), (OPENED, TRIED, PAUSED, OPENED, CLOSED), None),
        ((3,), (OPENED, OPENED, CLOSED), None),  # the first was killed before it could try anything
        ((), (OPENED, TRIED), None),  # it ran elsewhere
    ],
)
def test_a_run_whose_end_nobody_noted_is_named(
    noted: tuple[int, ...], events: tuple[Event, ...], said: str | None
) -> None:
    main = ShardRuns()
    head = JournalHead(count=len(events) + 1, digest=PIN, size=0, episodes_size=0, calls_size=0)
    lines: list[tuple[Event, int | None]] = [(ShardHead(shard=1, of=2, head=f"{count}:{PIN}"), None) for count in noted]
    lines += [(Merged(shard=1, of=2, head=head), None), *((event, 1) for event in (SHARDED, *events)), (CLOSED, None)]
    for event, shard in lines:
        main.follow(Entry(seq=0, prev=None, time="", event=event, shard=shard))
    assert [said is not None and said in str(one) for one in main.killed] == [True] * (said is not None)
