"""Which failed tries were drawn again by choice, as far as a journal can tell; and what an edition says of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from sealkit.cli.analyse import print_amended
from sealkit.cli.init import make_own_harness
from sealkit.infer.cells import Cells
from sealkit.infer.claims import Reservations
from sealkit.infer.flow import tries_again
from sealkit.plan.load import Plan, open_plan_bytes
from sealkit.publish.claims.lost_values import held_by_cap
from sealkit.publish.review.measuring import Measuring
from sealkit.publish.review.redrawn import Redrawn
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.calls import Status
from sealkit.wire.canon import encode_record
from sealkit.wire.chain import Entry
from sealkit.wire.events import Failed, Heard, Read, Stage
from sealkit.wire.records import Level
from tests.infer.told import PAIRED, small
from tests.studies import ROOT, call, ok
from tests.wire.sample import CALL

DIGEST = "sha256:" + "5e" * 32
PLAN = "plans/ab-prompts.yaml"


def asked(*statuses: Status) -> bytes:
    """Lines of calls.jsonl, of requests that came to this."""
    return b"".join(encode_record(replace(CALL, status=status)) + b"\n" for status in statuses)


A_CALL = asked("rate_limited", "timeout")


def told(plan: Plan, *failures: tuple[Mapping[str, Level], str, bytes, Stage]) -> dict[str, int]:
    """The tries of each arm that count, where every slot was kept in the end."""
    sealed = cast(SealedPlan, SimpleNamespace(under=lambda pin: SimpleNamespace(plan=plan)))
    redrawn = Redrawn(sealed)
    for slot, ending, calls, stage in failures:
        event = Failed(stage=stage, pin=DIGEST, slot=dict(slot), attempt=1, ending=ending, why="x", calls=None)
        redrawn.see(Entry(seq=1, prev=DIGEST, time="2026-11-10T08:00:00Z", event=event), calls)
    cells = Cells(plan.spec)
    for slot, *_ in failures:
        if slot["seed"] != 99 and not cells.states[cells.grid.number(slot)]:
            measures = dict.fromkeys(plan.spec.metrics, 1)
            cells.admit(slot, measures, ended="final", acts=None, pin=0)  # type: ignore[arg-type]
    measuring = SimpleNamespace(cells=cells, generations=None, earlier=(), sealed_cells=None)
    redrawn.tell(cast(Measuring, measuring))
    return tries_again(cells)


def slot(seed: int, arm: str = "plus", family: str = "x") -> dict[str, Level]:
    return {"arm": arm, "family": family, "seed": seed}


def test_what_the_studys_own_code_could_bring_about_counts() -> None:
    plan = small({"e": PAIRED % "tango"})
    assert told(
        plan,
        (slot(0), "harness_error", b"", "confirmatory"),
        (slot(0), "harness_error", A_CALL, "confirmatory"),  # its last call had a reply, or the program died on its own
        (slot(1), "provider_error", b"", "confirmatory"),  # nobody was asked
        (slot(1, "minus"), "harness_error", b"", "confirmatory"),
    ) == {"plus": 3, "minus": 1}


def test_a_provider_error_before_any_reply_by_the_endpoints_own_doing_does_not() -> None:
    assert told(small({"e": PAIRED % "tango"}), (slot(0), "provider_error", A_CALL, "confirmatory")) == {}


@pytest.mark.parametrize(
    "calls",
    [asked("complete", "client_error"), asked("complete", "timeout"), asked("rate_limited", "client_error"),
     asked("too_large"), asked("never_ended")],
)  # fmt: skip
def test_one_after_a_reply_or_that_what_was_asked_can_bring_about_counts(calls: bytes) -> None:
    """Who dislikes a reply asks a question that is too long: HTTP 400, and the slot is drawn again."""
    assert told(small({"e": PAIRED % "tango"}), (slot(0), "provider_error", calls, "confirmatory")) == {"plus": 1}


def test_a_reading_whose_reply_the_judge_did_not_take_was_drawn_again_once_it_is_made() -> None:
    redrawn = Redrawn(cast(SealedPlan, None))
    tries: tuple[tuple[int, Heard, bytes], ...] = (
        (0, "harness_error", asked("complete")), (0, "provider_error", A_CALL), (0, "harness_error", b""),
        (0, "harness_error", asked("complete")), (0, "said", asked("complete")),
        (1, "harness_error", asked("complete")),  # never made: it is missing
    )  # fmt: skip
    for seed, ending, calls in tries:
        event = Read(
            stage="confirmatory", pin=DIGEST, slot=slot(seed), attempt=1, episode=f"episode {seed}", reading="reader",
            level="fine", said=None, ending=ending, why="x", calls=None,
        )  # fmt: skip
        redrawn.see(Entry(seq=1, prev=DIGEST, time="2026-11-10T08:00:00Z", event=event), calls)
    counts = {"reader fine": {"made": 1}, "reader raw": {"made": 1}}
    assert redrawn.beside(counts) == {"reader fine": {"made": 1, "drawn_again": 2}, "reader raw": {"made": 1}}
    cells = Cells(small({"e": PAIRED % "tango"}).spec)
    for seed in (0, 1):
        cells.admit(slot(seed), dict.fromkeys(cells.spec.metrics, 1), ended="final", acts=None, pin=0)  # type: ignore[arg-type]
    redrawn.tell(cast(Measuring, SimpleNamespace(cells=cells, generations=None, earlier=(), sealed_cells=None)))
    assert tries_again(cells) == {"plus": 2}


def test_neither_does_a_smoke_run_nor_a_slot_that_an_amendment_dropped() -> None:
    plan = small({"e": PAIRED % "tango"})
    assert told(plan, (slot(0), "harness_error", b"", "smoke"), (slot(99), "harness_error", b"", "confirmatory")) == {}


def test_who_asks_by_himself_has_no_word_of_the_gateway() -> None:
    """An external world's provider error is what its script says of itself, whatever stands beside it."""
    text = (ROOT / "docs/example/ab-prompts" / PLAN).read_bytes()
    one = slot(0, "stepwise", "sums")
    plan = open_plan_bytes(text, PLAN)
    assert told(plan, (one, "provider_error", A_CALL, "confirmatory")) == {"stepwise": 1}


DRAWS_AGAIN = """
    import hashlib
    mark = Path(MARKS) / hashlib.sha256(repr(slot["slot"]).encode()).hexdigest()
    if slot["slot"]["arm"] == "stepwise" and slot["slot"]["seed"] < 4 and not mark.exists():
        mark.touch()
        record["ended"], record["why"] = "provider_error", "HTTP 529"
    if slot["slot"]["seed"] == 39:
        record["measures"]["correct"] = None
    json.dump(record, sys.stdout)"""


@pytest.mark.slow
def test_a_script_that_draws_its_bad_draws_again_supports_no_claim(tmp_path: Path) -> None:
    """Every slot has its episode in the end, 4 of 40 by a second draw, and one is null: cap 0.05."""
    study, marks = tmp_path / "study", tmp_path / "marks"
    marks.mkdir()
    make_own_harness(study)
    script: Any = study / "harness/ask.py"
    text = script.read_text()
    assert text.count("\n    json.dump(record, sys.stdout)") == 1
    script.write_text(
        text.replace("\n    json.dump(record, sys.stdout)", DRAWS_AGAIN.replace("MARKS", repr(str(marks))))
    )
    for words in (("seal",), ("run", "--jobs", "1"), ("analyse",), ("publish",)):
        ok(call(words[0], PLAN, *words[1:], cwd=study))
    (edition,) = (study / "publications").iterdir()
    report = (edition / "report.md").read_text()
    assert "| drawn again |" in report and "4 tries drawn again in arm stepwise, 0 in arm terse." in report
    claim = "5 of 40 in stepwise, 1 of them null; 4 tries drawn again in arm stepwise, 0 in arm terse."
    assert claim in report
    assert "Slots that count as lost: gain on correct: 5 of 40 in stepwise, 1 of them null; " in report
    assert "exceeded in stepwise: claims are withheld" in report and "not exceeded" not in report
    assert "share of slots without an outcome, for whatever reason: 1 of 40 against 1 of 40" in report
    assert (
        "was built again from its bundle, the same bytes"
        in ok(call("verify", edition, "--replay=unsafe", cwd=study)).out
    )


def test_analyse_says_withheld_where_publish_does(capsys: pytest.CaptureFixture[str]) -> None:
    held = held_by_cap({"exclusions": {"over_cap": ["terse"], "drawn_again": {"terse": 3}}})
    after = SimpleNamespace(
        analyses=(), rows=(), generations=(), other_code={}, differing=(), earlier=(), earlier_claims=(),
        reservations=Reservations(withheld={}, exploratory={"steps-help": "an earlier pin's cap"}),
    )  # fmt: skip
    print_amended(cast(Any, after), held)
    said = capsys.readouterr().out
    assert "withheld: every claim: more slots are without an outcome, or drawn again" in said
    assert "exploratory" not in said
