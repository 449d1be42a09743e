"""What no sealkit writes, however well it is chained: `sealkit.wire.order`."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sealkit.run.calling import BROKE_OFF, INTERRUPTED
from sealkit.run.in_a_row import ERRORS_IN_A_ROW
from sealkit.run.worker import REFUSED
from sealkit.wire.chain import Entry
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import (
    Amended,
    Analysed,
    Asked,
    Attempted,
    Closed,
    Event,
    Looked,
    Opened,
    Paused,
    Published,
    Repaired,
    Sealed,
    Sharded,
    Withdrawn,
    Withheld,
)
from sealkit.wire.order import PAUSES, STOPPED, Order, torn_name

PIN = "sha256:" + "1" * 64
SEALED = Sealed(plan="p", pin=PIN)
OPENED = Opened(stage="confirmatory", pin=PIN, sealkit="1", environment=PIN)
TRIED = Attempted(stage="confirmatory", pin=PIN, slot={"arm": "a"}, attempt=1)
ASKED = Asked(stage="smoke", pin=PIN, slot={"arm": "a"}, attempt=1, episode=PIN, reading="r", level="l")
PAUSED = Paused(stage="confirmatory", reason="budget", detail="", calls=None)
CLOSED = Closed(stage="confirmatory", slots=1, episodes=1, abandoned=0, missing=0)
SMOKED = replace(CLOSED, stage="smoke")
AMENDED = Amended(number=1, pin=PIN, phase="after_last_episode")
ANALYSED, PUBLISHED = Analysed(results=PIN), Published(edition="e", results=PIN)
WITHHELD, WITHDRAWN = Withheld(digest=PIN, reason="r"), Withdrawn(what="all", reason="r")
TORN = Repaired(file="calls.jsonl", offset=3, bytes=1, digest=PIN, moved_to=torn_name("calls.jsonl", 3, PIN))
SHARDED = Sharded(plan="p", seal=PIN, pin=PIN, shard=1, of=2, after=f"1:{PIN}")


def follow(*events: Event | tuple[Event, int]) -> None:
    order = Order()
    for seq, one in enumerate(events):
        event, shard = one if isinstance(one, tuple) else (one, None)
        order.follow(Entry(seq=seq, prev=None, time="", event=event, shard=shard), f"entry {seq}")


def test_histories_of_sealkit_stand() -> None:
    one = (OPENED, TRIED, PAUSED, OPENED, TRIED, CLOSED, Looked(what="analyse"), ANALYSED, PUBLISHED)
    follow(SEALED, OPENED, TORN, *one[1:], PUBLISHED, AMENDED, *one, WITHHELD, ANALYSED, PUBLISHED)
    smoke = tuple(replace(event, stage="smoke") for event in (OPENED, TRIED, CLOSED))
    follow(SEALED, *smoke, *smoke, *one)
    follow(SEALED, (SHARDED, 1), (OPENED, 1), (TRIED, 1), (CLOSED, 1), (SHARDED, 2), (OPENED, 2), (CLOSED, 2), CLOSED)


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ((SEALED, SEALED), "entry 1: evidence: found sealed, which begins a journal"),
        ((SEALED, TRIED), "entry 1: evidence: found attempted, but no run of the confirmatory stage was opened"),
        ((SEALED, OPENED, ASKED), "found asked, but no run of the smoke stage was opened"),
        ((SEALED, OPENED, PAUSED, TRIED), "found attempted, but no run"),
        ((SEALED, OPENED, CLOSED, TRIED), "found attempted, but no run"),
        ((SEALED, OPENED, AMENDED, TRIED), "found attempted, but no run"),
        ((SEALED, OPENED, (TRIED, 1)), "found attempted, but no run"),
        ((SEALED, CLOSED, OPENED, CLOSED), "the confirmatory stage is closed a second time"),
        ((SEALED, SMOKED, SMOKED), "the smoke stage is closed a second time"),
        ((SEALED, PUBLISHED), "edition 'e' is published without an analysis"),
        ((SEALED, ANALYSED, AMENDED, PUBLISHED), "is published without an analysis"),
        ((SEALED, ANALYSED, WITHHELD, PUBLISHED), "is published without an analysis"),
        ((SEALED, ANALYSED, WITHDRAWN, PUBLISHED), "is published without an analysis"),
        ((SEALED, replace(PAUSED, reason="lunch")), "a pause for 'lunch', which is no reason"),
        ((SEALED, replace(TORN, moved_to="torn/../../x")), "were moved to 'torn/../../x', where no repair moves them"),
        ((SEALED, replace(TORN, file="HEAD", moved_to=torn_name("HEAD", 3, PIN))), "bytes of 'HEAD' were moved"),
    ],
)
def test_nothing_else_does(events: tuple[Event | tuple[Event, int], ...], why: str) -> None:
    with pytest.raises(UntrustedError, match=why):
        follow(*events)


def test_what_a_run_pauses_for_is_known() -> None:
    assert {INTERRUPTED, BROKE_OFF, ERRORS_IN_A_ROW, STOPPED, REFUSED} <= PAUSES
