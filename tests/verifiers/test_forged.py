"""Forged episodes, frozen as files and named by their defect: each is rejected for its own reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sealkit.wire.episode import Trusted
from sealkit.wire.verdict import Accepted, Origin, Rejected
from tests.verifiers.loading import replay, witness

FORGED = Path(__file__).parents[1] / "forged"
SPELLING = "not the canonical spelling"

# name → origin, where, and what the reason says was found
DUE: dict[str, tuple[Origin, str, str]] = {
    "value_changed": ("evidence", "closing.record", "sha256:"),
    "unknown_field_added": ("evidence", "episode", "unknown field `score`"),
    "score_smuggled_into_the_slot": ("evidence", "slot", "score"),
    "receipt_without_previous": ("evidence", "episode", "missing required field `previous`"),
    "rung_that_does_not_exist": ("evidence", "episode", "Invalid enum value 'A6'"),
    "act_edited_chain_left": ("evidence", "acts[5].prev", "sha256:"),
    "head_edited": ("evidence", "acts[4].head", "sha256:000"),
    "receipts_swapped": ("lineage", "receipts[0].previous", "sha256:"),
    "receipt_observation_swapped": ("disclosure", "receipts[1].projection.act", "5"),
    "receipt_roots_swapped": ("environment", "receipts[1].roots.before", "sha256:"),
    "receipt_due_moved": ("boundary", "receipts[1].boundary.due", "1"),
    "receipt_generation_raised": ("lineage", "receipts[0].restore", "generation=1"),
    "receipt_before_a_restore_cut_out": ("lineage", "receipts", "none for contract valve"),
    "receipt_cut_out_counts_left": ("evidence", "closing.counts.occurrences", "4"),
    "restore_receipt_renamed": ("lineage", "receipts[4]", "restore again"),
    "delta_emptied": ("environment", "acts[2].deltas, contract rain", "()"),
    "delta_moved_to_the_next_act": ("boundary", "contract rain", "applied after act 3"),
    "notice_text_changed": ("disclosure", "acts[2].segments[2].text", "Radio: sun."),
    "notice_sender_changed": ("authority", "acts[2].segments[2].sender", "owner"),
    "notice_removed": ("disclosure", "acts[2].segments", "no notice of rain"),
    "fact_value_changed": ("disclosure", "acts[1].segments[0].value", "locked"),
    "true_for_one": ("environment", "acts[0].deltas, contract seedling", "True"),
    "judge_replaced": ("judgment", "closing.judge", "sha256:000"),
    "final_root_of_an_earlier_act": ("judgment", "closing.root", "sha256:"),
    "ended_renamed": ("evidence", "closing.ended", "budget"),
    "act_after_the_final_one": ("evidence", "acts[9]", "1 acts after a final action"),
    "newline_at_the_end": ("evidence", "episode", SPELLING),
    "space_after_a_colon": ("evidence", "episode", SPELLING),
    "one_written_1.0": ("evidence", "episode", "float"),
    "one_written_1e0": ("evidence", "episode", "float"),
    "zero_written_minus_zero": ("evidence", "episode", SPELLING),
    "nan_for_a_number": ("evidence", "episode", "malformed"),
    "integer_beyond_2_to_53": ("evidence", "episode", "beyond 2^53-1"),
    "key_twice": ("evidence", "episode", SPELLING),
    "keys_in_another_order": ("evidence", "episode", SPELLING),
    "letter_written_as_escape": ("evidence", "episode", SPELLING),
    "lone_surrogate": ("evidence", "episode", "surrogate"),
    "not_utf8": ("evidence", "episode", "UTF-8"),
    "cut_in_half": ("evidence", "episode", "truncated"),
    "two_lines": ("evidence", "episode", "trailing characters"),
    "nested_a_thousand_deep": ("evidence", "episode", "deeper than 64"),
    "another_kind_of_record": ("evidence", "episode", "sealkit/episode/v2"),
    "empty": ("evidence", "episode", "truncated"),
}


def trusted() -> Trusted:
    given = json.loads((FORGED / "trusted.json").read_bytes())
    return Trusted(pin=given["pin"], judge=given["judge"], slot=given["slot"], scenario=given["scenario"].encode())


def test_every_file_is_asked_about() -> None:
    assert {path.stem for path in FORGED.glob("*.json")} == {*DUE, "trusted", "honest"}


def test_the_episode_that_was_not_touched_is_accepted() -> None:
    assert witness(trusted(), (FORGED / "honest.json").read_bytes()) == Accepted()


@pytest.mark.parametrize("name", DUE)
def test_a_forged_episode_is_rejected_for_its_own_reason(name: str) -> None:
    origin, where, found = DUE[name]
    verdict = witness(trusted(), (FORGED / f"{name}.json").read_bytes())
    assert isinstance(verdict, Rejected)
    first = verdict.reasons[0]
    assert (first.origin, first.where) == (origin, where), first
    assert found in first.found, first


@pytest.mark.parametrize("name", [name for name, due in DUE.items() if due[1] == "episode"])
def test_what_cannot_be_read_is_not_run_again(name: str) -> None:
    def refuse(*given: object) -> bytes:
        raise AssertionError("the world was run")

    verdict = replay(trusted(), (FORGED / f"{name}.json").read_bytes(), rerun=refuse)
    assert isinstance(verdict, Rejected) and verdict.origin == "evidence"
