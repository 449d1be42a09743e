"""Every generation of a sample whose blocks were run again is ruled on: best of so many is seen, wherever the bad draw lies."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from sealkit.publish.claims.ruled_again import Generation, generation_rows, generations_of, held_by_generations
from sealkit.publish.review.generations import Generations
from sealkit.publish.review.measuring import Measuring
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.study import Checked, Study
from sealkit.wire.chain import Entry
from sealkit.wire.digest import digest_bytes
from sealkit.wire.events import EpisodeKept, Failed, Slot
from tests.infer.told import PAIRED, small

PIN = digest_bytes(b"pin")
Draw = int | str  # success; or how the episode ended, which means that it is missing


def ruled(cap: str, draws: Sequence[tuple[Draw, ...]], *, failed: Sequence[int] = ()) -> tuple[Generation, ...]:
    """The generations where slot i of the plus arm had these episodes, and every slot of the other one a success of 0."""
    spec = small({"e": PAIRED % "boot"}, cap=cap, seeds=len(draws), endings={"unparsable_reply": "missing"}).spec
    slots: list[tuple[Slot, Draw]] = [
        ({"arm": "plus", "family": "x", "seed": seed}, draw) for seed, each in enumerate(draws) for draw in each
    ]
    slots += [({"arm": "minus", "family": "x", "seed": seed}, 0) for seed in range(len(draws))]
    entries = [
        Entry(seq=seq, prev=PIN, time="2026-11-30T12:00:00Z", event=EpisodeKept(
            stage="confirmatory", pin=PIN, slot=slot, attempt=1, digest=PIN, bytes=1, calls=None))
        for seq, (slot, _) in enumerate(slots)
    ]  # fmt: skip
    pinned = SimpleNamespace(plan=SimpleNamespace(spec=spec), number=0)
    sealed: Any = SimpleNamespace(
        plan=SimpleNamespace(spec=spec), latest=pinned, pins=(pinned,), amendments=(),
        history=lambda: SimpleNamespace(entries=lambda: iter(entries)),
    )  # fmt: skip
    study = cast(Study, SimpleNamespace(sealed=sealed, latest=SimpleNamespace(pinned=pinned)))
    generations = Generations(study, len(entries))
    for slot, draw in slots:
        ended = draw if isinstance(draw, str) else "final"
        checked = SimpleNamespace(slot=slot, ended=ended, counts=SimpleNamespace(acts=1))
        measures = {"success": 0 if isinstance(draw, str) else draw}
        generations.take(cast(Checked, checked), measures, 0)
    for seed in failed:
        generations.fail(Failed(
            stage="confirmatory", pin=PIN, slot={"arm": "plus", "family": "x", "seed": seed}, attempt=1,
            ending="harness_error", why="x", calls=None), 0)  # fmt: skip
    measuring = cast(Measuring, SimpleNamespace(generations=generations))
    return generations_of(cast(SealedPlan, sealed), measuring)


def verdicts(generations: Sequence[Generation]) -> list[str]:
    return [verdict.verdict for one in generations for verdict in one.ruled.verdicts]


def test_a_bad_draw_in_the_middle_is_in_the_verdict_of_its_generation() -> None:
    found = ruled("0", [(1, 0, 1), (1, 0, 1), (1, 0), (1, 0)])
    assert verdicts(found) == ["supported", "not_shown", "not_shown"]
    rows = cast(list[dict[str, Any]], generation_rows(found)["generations"])
    assert [(row["generation"], row["over_cap"]) for row in rows] == [(1, []), (2, []), (3, [])]


def test_a_draw_that_was_ended_as_missing_until_it_pleased_is_over_the_cap() -> None:
    found = ruled("0", [("unparsable_reply", "unparsable_reply", 1), ("unparsable_reply", 1), (1,), (1,)])
    assert verdicts(found) == ["supported"] * 3
    assert [one.over for one in found] == [("plus",), ("plus",), ()]
    spec = SimpleNamespace(claims={"c": SimpleNamespace(needs=())})
    held = list(held_by_generations(cast(Any, spec), found))
    assert [name for name, _ in held] == ["c", "c"]
    assert held[0][1] == (
        "with episode 1 of every slot, or else its last, more slots are without an outcome than the exclusion cap "
        "allows, in plus"
    )
    assert ruled("0.5", [("unparsable_reply", 1), (1,), (1,), (1,)])[0].over == ()


def test_a_slot_whose_rerun_left_no_episode_has_its_last_one() -> None:
    found = ruled("0", [(1,), (1,), (1, 0), (1, 0)], failed=[0])
    assert verdicts(found) == ["supported", "not_shown"] and [one.over for one in found] == [(), ()]


def test_one_generation_is_no_row() -> None:
    assert generation_rows(ruled("0", [(1,), (0,), (1,)])) == {}
