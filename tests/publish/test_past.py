"""What `sealkit status` says of a study after its edition, from entries alone."""

from __future__ import annotations

from sealkit.publish.review.past import Past
from sealkit.wire.chain import Entry
from sealkit.wire.events import Amended, Analysed, Event, Opened, Paused, Published, Withdrawn

RESULTS = "sha256:" + "0" * 64
OPENED = Opened(stage="confirmatory", pin=RESULTS, sealkit="0.1", environment=RESULTS)
PAUSED = Paused(stage="confirmatory", reason="budget", detail="20 calls are used", calls=None)
AMENDED = Amended(number=1, pin=RESULTS, phase="after_analysis")


def after(*events: Event) -> Past:
    past = Past()
    for number, event in enumerate(events):
        past.follow(Entry(seq=number, prev=None, time=f"2026-01-01T00:00:0{number}Z", event=event))
    return past


def test_an_edition_that_an_amendment_overtook_is_still_named() -> None:
    published = Analysed(results=RESULTS), Published(edition="p-1", results=RESULTS)
    assert list(after(*published, AMENDED).facts()) == [
        "edition p-1 in publications/p-1 was published before amendment 1"
    ]
    past = after(
        *published, Withdrawn(what="all", reason="r"), *published[:1], Published(edition="p-2", results=RESULTS)
    )
    assert past.edition == "p-2" and "edition p-1 in publications/p-1 was published before a withdrawal" in past.facts()


def test_a_pause_lasts_until_the_run_goes_on_or_the_plan_is_amended() -> None:
    told = "paused 2026-01-01T00:00:01Z, and no slot given up: budget: 20 calls are used"
    assert list(after(OPENED, PAUSED).facts()) == [told]
    assert not list(after(OPENED, PAUSED, OPENED).facts()) and not list(after(OPENED, PAUSED, AMENDED).facts())
