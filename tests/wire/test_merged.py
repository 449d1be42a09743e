"""What a main journal may take over from a shard, and what may stand in a shard's own: `sealkit.wire.merged`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from sealkit.wire.chain import Entry, extend, follow
from sealkit.wire.errors import MalformedError, UntrustedError
from sealkit.wire.events import (
    Amended,
    Attempted,
    Closed,
    Event,
    Looked,
    Merged,
    Opened,
    Recovered,
    Sealed,
    Sharded,
    ShardHead,
    ShardLost,
)
from sealkit.wire.journal_head import EMPTY, JournalHead
from sealkit.wire.merged import Taken, check_in_shard

TIME = "2026-11-30T12:00:00Z"
PIN, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64
SEALED = Sealed(plan="p", pin=PIN)
_, AFTER = extend(EMPTY, SEALED, TIME)
SHARDED = Sharded(plan="p", seal=PIN, pin=PIN, shard=1, of=2, after=str(AFTER))
SECOND = Sharded(plan="p", seal=PIN, pin=PIN, shard=2, of=2, after=str(AFTER))
CLOSED = Closed(stage="confirmatory", slots=0, episodes=0, abandoned=0, missing=0)
TRIED = Attempted(stage="confirmatory", pin=PIN, slot={"arm": "a"}, attempt=1)
HERE = ShardHead(shard=1, of=2, head=str(extend(EMPTY, SHARDED, TIME)[1]))
LOST = ShardLost(shard=1, of=2)
AMENDED = Amended(number=1, pin=OTHER, phase="before_any_episode")
Line = tuple[Event, int | None]


def head_of(*events: Event) -> JournalHead:
    head = EMPTY
    for event in events:
        _, head = extend(head, event, TIME)
    return head


def whole(*events: Event, shard: int = 1, of: int = 2) -> list[Line]:
    """`merged` and the copies of a shard's entries."""
    return [(Merged(shard=shard, of=of, head=head_of(*events)), None), *((event, shard) for event in events)]


def taken(lines: Sequence[Line]) -> Taken:
    """A main journal with these lines behind `sealed`, read to its end."""
    state, head = Taken(SEALED), EMPTY
    for event, shard in ((SEALED, None), *lines):
        line, _ = extend(head, event, TIME, shard=shard)
        entry, head = follow(head, line)
        state.follow(entry, head.digest, PIN, f"entry {entry.seq}")
    state.end("journal.jsonl")
    return state


def test_a_mark_is_a_number_in_a_copied_line_alone() -> None:
    copied, _ = extend(EMPTY, SHARDED, TIME, shard=1)
    own, _ = extend(EMPTY, SHARDED, TIME)
    assert b'"shard":1,"time"' in copied and own == copied.replace(b'"shard":1,"time"', b'"time"')
    assert follow(EMPTY, own)[0].shard is None and follow(EMPTY, copied)[0].shard == 1
    with pytest.raises(MalformedError, match=r"canonical|bytes|spell"):
        follow(EMPTY, own.replace(b'"seq":0,', b'"seq":0,"shard":null,'))


def test_shards_are_taken_over_whole_one_after_another() -> None:
    state = taken([*whole(SHARDED, CLOSED), *whole(SECOND, CLOSED, shard=2), (CLOSED, None), (Looked(what="x"), None)])
    assert [(one.shard, one.of) for one in state.merged] == [(1, 2), (2, 2)]
    assert state.open is None and not state.attempted


def test_shards_that_began_here_are_merged_or_lost_before_the_run_goes_on() -> None:
    state = taken([(HERE, None), (ShardHead(shard=2, of=2, head=f"1:{OTHER}"), None)])
    assert (state.waiting, state.after, state.heads(1, 3)) == ((1, 2), str(AFTER), {})
    head = ShardHead(shard=1, of=2, head=str(head_of(SHARDED, CLOSED)))
    done: list[Line] = [(ShardLost(shard=2, of=2), None), *whole(SHARDED, CLOSED), (TRIED, None), (AMENDED, None)]
    state = taken([(HERE, None), (head, None), (ShardHead(shard=2, of=2, head=f"1:{OTHER}"), None), *done])
    assert (state.waiting, state.lost, state.attempted) == ((), {2}, True)


def test_a_crash_of_the_merge_may_stand_between() -> None:
    first, second, third = whole(SHARDED, CLOSED)
    taken([first, second, (Recovered(entry=2), None), third])


REFUSED: dict[str, tuple[Callable[[], list[Line]], str]] = {
    "cut off": (lambda: whole(SHARDED, CLOSED)[:2], "holds 1 of the 2 entries of shard 1; a merge was cut off"),
    "something else before the end": (
        lambda: [*whole(SHARDED, CLOSED)[:2], (Looked(what="x"), None)],
        "found looked before shard 1 was taken over whole",
    ),
    "another shard before the end": (
        lambda: [*whole(SHARDED, CLOSED)[:2], *whole(SECOND, CLOSED, shard=2)],
        "found merged before shard 1 was taken over whole",
    ),
    "not announced": (lambda: [(SHARDED, 1)], "an entry of shard 1, which no `merged` has announced"),
    "the mark of another": (
        lambda: [whole(SHARDED)[0], (SHARDED, 2)],
        "an entry of shard 2, which no `merged` has announced",
    ),
    "unmarked": (lambda: [(SHARDED, None)], "found sharded, which begins a shard's own journal"),
    "after an attempt": (lambda: [(TRIED, None), *whole(SHARDED)], "a merge after an attempt of the main run"),
    "twice": (lambda: [*whole(SHARDED), *whole(SHARDED)], "shard 1 of 2 does not fit those merged before"),
    "two ways to share": (lambda: [*whole(SHARDED), *whole(SECOND, shard=2, of=3)], "shard 2 of 3 does not fit"),
    "number 0": (lambda: whole(SHARDED, shard=0), "found shard 0 of 2"),
    "number 3 of 2": (lambda: whole(SHARDED, shard=3), "found shard 3 of 2"),
    "empty": (lambda: whole(), "with 0 entries"),
    "another share": (lambda: whole(SECOND), "it does not begin shard 1 of 2"),
    "no beginning": (lambda: whole(CLOSED), "it does not begin shard 1 of 2"),
    "another plan": (lambda: whole(Sharded("q", PIN, PIN, 1, 2, str(AFTER))), "a shard of another seal or pin"),
    "another seal": (lambda: whole(Sharded("p", OTHER, PIN, 1, 2, str(AFTER))), "a shard of another seal or pin"),
    "another pin": (lambda: whole(Sharded("p", PIN, OTHER, 1, 2, str(AFTER))), "a shard of another seal or pin"),
    "another main journal": (lambda: whole(Sharded("p", PIN, PIN, 1, 2, f"1:{OTHER}")), "began after 1 entries of"),
    "a longer main journal": (lambda: whole(Sharded("p", PIN, PIN, 1, 2, f"7:{OTHER}")), "began after 7 entries of"),
    "another entry than the shard's": (
        lambda: [*whole(SHARDED, CLOSED)[:2], (Recovered(entry=0), 1)],
        "the entries of shard 1 end in",
    ),
    "an attempt beside a shard that began here": (
        lambda: [(HERE, None), (TRIED, None)],
        "shard 1, which began here, is neither merged nor lost",
    ),
    "an amendment beside it": (
        lambda: [(HERE, None), (AMENDED, None)],
        "shard 1, which began here, is neither merged nor lost",
    ),
    "another shard than began here": (
        lambda: [(ShardHead(shard=1, of=2, head=f"1:{OTHER}"), None), *whole(SHARDED)],
        "shard 1 had another entry 0 when it ran here",
    ),
    "less of it than was here": (
        lambda: [(ShardHead(shard=1, of=2, head=f"7:{OTHER}"), None), *whole(SHARDED)],
        "is lost, or held more entries than are merged",
    ),
    "one that is lost": (lambda: [(HERE, None), (LOST, None), *whole(SHARDED)], "is lost, or held more entries"),
    "lost without a beginning": (lambda: [(LOST, None)], "is lost, which did not begin here"),
    "lost twice": (lambda: [(HERE, None), (LOST, None), (LOST, None)], "can neither stand nor be lost here"),
    "a head after the run began": (lambda: [(TRIED, None), (HERE, None)], "can neither stand nor be lost here"),
    "a head of what is lost": (
        lambda: [(HERE, None), (LOST, None), (ShardHead(shard=2, of=2, head=f"1:{OTHER}"), None)],
        "shard 2 of 2 cannot stand at 1:sha256",
    ),
    "a head three times": (lambda: [(HERE, None)] * 3, "shard 1 of 2 cannot stand at 1:sha256"),
    "another head of the same count": (
        lambda: [(HERE, None), (ShardHead(shard=1, of=2, head=f"1:{OTHER}"), None)],
        "shard 1 of 2 cannot stand at 1:sha256",
    ),
    "a head of less": (
        lambda: [(ShardHead(shard=1, of=2, head=f"7:{OTHER}"), None), (HERE, None)],
        "shard 1 of 2 cannot stand at 1:sha256",
    ),
    "a head of another way to share": (
        lambda: [(HERE, None), (ShardHead(shard=2, of=3, head=f"1:{OTHER}"), None)],
        "shard 2 of 3 can neither stand",
    ),
    "what no shard holds": (lambda: whole(SHARDED, Looked(what="x")), "found looked, which cannot stand here"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    lines, why = REFUSED[name]
    with pytest.raises(UntrustedError, match=why):
        taken(lines())


def test_entries_keep_the_time_that_they_have_in_the_shard() -> None:
    state = Taken(SEALED)
    state.follow(Entry(0, None, TIME, SEALED), AFTER.digest, PIN, "entry 0")
    state.follow(Entry(1, "", TIME, Merged(shard=1, of=1, head=head_of(SHARDED))), None, PIN, "entry 1")
    moved = Entry(seq=2, prev="", time="2026-11-30T12:00:01Z", event=Sharded("p", PIN, PIN, 1, 1, str(AFTER)), shard=1)
    with pytest.raises(UntrustedError, match="the entries of shard 1 end in"):
        state.follow(moved, None, PIN, "entry 2")


@pytest.mark.parametrize(
    ("event", "first", "why"),
    [
        (SHARDED, False, "found sharded, which cannot stand here"),
        (CLOSED, True, "found closed, which cannot stand here"),
        (SECOND, True, "it begins another shard"),
        (SEALED, False, "found sealed, which cannot stand here"),
        (Opened(stage="smoke", pin=PIN, sealkit="1", environment=PIN), False, "an entry of the smoke stage"),
        (Opened(stage="confirmatory", pin=OTHER, sealkit="1", environment=PIN), False, "but the shard runs under"),
    ],
)
def test_what_cannot_stand_in_a_shards_journal(event: Event, first: bool, why: str) -> None:
    with pytest.raises(UntrustedError, match=why):
        check_in_shard(event, SHARDED, first=first, where="shards/1-of-2/journal.jsonl entry 1")


@pytest.mark.parametrize(("event", "first"), [(SHARDED, True), (TRIED, False), (CLOSED, False), (Recovered(0), False)])
def test_what_can(event: Event, first: bool) -> None:
    check_in_shard(event, SHARDED, first=first, where="entry")
