"""Writes the forged episodes in `tests/forged`, each named by its defect. Run once: `python -m tests.forge`.

The files are committed and stay as they are, so that a verifier of tomorrow is asked about the bytes of today.
`trusted.json` is what all of them are checked against; `honest.json` is the episode that was not touched.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from sealkit.world.witness import Recorder
from tests.lies.stage import DONE, FERN, MAIL, WAIT, World, look, play, trust, without
from tests.reseal import Document, read, reseal, seal_record, spell

FORGED = Path(__file__).parent / "forged"
ACTS = (look("shed"), FERN, look("tank"), look("sky"), MAIL, WAIT, look("sky"), WAIT, DONE)
FAKE = "sha256:" + "0" * 64

# Edited by hand: the record digest is as it was.
BY_HAND: dict[str, Callable[[Document], object]] = {
    "value_changed": lambda d: d["acts"][3]["segments"][0].update(value=9),
    "unknown_field_added": lambda d: d.update(score=1),
    "score_smuggled_into_the_slot": lambda d: d["slot"].update(score=1),
    "receipt_without_previous": lambda d: d["receipts"][0].pop("previous"),
    "rung_that_does_not_exist": lambda d: d["receipts"][1]["projection"].update(authority="A6"),
}

# Edited by somebody who makes the record digest right, and nothing else.
RECORD_RIGHT: dict[str, Callable[[Document], object]] = {
    "act_edited_chain_left": lambda d: d["acts"][4]["segments"][0].update(text="The sky: clear."),
    "head_edited": lambda d: d["acts"][4].update(head=FAKE),
    "receipts_swapped": lambda d: _swap(d["receipts"], 0, 1),
}

# Edited by somebody who makes every chain and digest right.
ALL_RIGHT: dict[str, Callable[[Document], object]] = {
    "receipt_observation_swapped": lambda d: _swap_fields(d["receipts"][1], d["receipts"][3], "projection"),
    "receipt_roots_swapped": lambda d: _swap_fields(d["receipts"][1], d["receipts"][2], "roots"),
    "receipt_due_moved": lambda d: d["receipts"][1]["boundary"].update(due=1),
    "receipt_generation_raised": lambda d: d["receipts"][0]["restore"].update(generation=1),
    "receipt_before_a_restore_cut_out": lambda d: (
        d["receipts"].pop(3), d["closing"]["counts"].update(occurrences=3)),
    "receipt_cut_out_counts_left": lambda d: d["receipts"].pop(3),
    "restore_receipt_renamed": lambda d: d["receipts"][-1].update(id="again"),
    "delta_emptied": lambda d: d["acts"][2]["deltas"][0].update(ops=[]),
    "delta_moved_to_the_next_act": lambda d: _move_delta(d, 2, 3),
    "notice_text_changed": lambda d: d["acts"][2]["segments"][-1].update(text="Radio: sun. Your tank holds 3."),
    "notice_sender_changed": lambda d: d["acts"][2]["segments"][-1].update(sender="owner"),
    "notice_removed": lambda d: (d["acts"][2]["segments"].pop(), d["closing"]["counts"].update(notices=2)),
    "fact_value_changed": lambda d: d["acts"][1]["segments"][0].update(value="locked", text="The door is locked."),
    "true_for_one": lambda d: d["acts"][0]["deltas"][0]["ops"][0].update(value={"wet": True}),
    "judge_replaced": lambda d: d["closing"].update(judge=FAKE),
    "final_root_of_an_earlier_act": lambda d: d["closing"].update(root=d["acts"][3]["root"]),
    "ended_renamed": lambda d: d["closing"].update(ended="budget"),
    "act_after_the_final_one": lambda d: (d["acts"].append({**d["acts"][-1], "n": 10}),
                                          d["closing"]["counts"].update(acts=10)),
}  # fmt: skip

# Bytes that do not follow the format.
BYTES: dict[str, Callable[[bytes], bytes]] = {
    "newline_at_the_end": lambda line: line + b"\n",
    "space_after_a_colon": lambda line: line.replace(b'"acts":[', b'"acts": [', 1),
    "one_written_1.0": lambda line: line.replace(b'"n":1,', b'"n":1.0,', 1),
    "one_written_1e0": lambda line: line.replace(b'"n":1,', b'"n":1e0,', 1),
    "zero_written_minus_zero": lambda line: line.replace(b'"n":0,', b'"n":-0,', 1),
    "nan_for_a_number": lambda line: line.replace(b'"n":1,', b'"n":NaN,', 1),
    "integer_beyond_2_to_53": lambda line: line.replace(b'"value":3', b'"value":9007199254740993', 1),
    "key_twice": lambda line: line.replace(b'"n":1,', b'"n":1,"n":1,', 1),
    "keys_in_another_order": lambda line: line.replace(b'"args":{},"name":"begin"', b'"name":"begin","args":{}', 1),
    "letter_written_as_escape": lambda line: line.replace(b'"begin"', b'"\\u0062egin"', 1),
    "lone_surrogate": lambda line: line.replace(b'"begin"', b'"\\ud800"', 1),
    "not_utf8": lambda line: line.replace(b'"begin"', b'"\xff"', 1),
    "cut_in_half": lambda line: line[: len(line) // 2],
    "two_lines": lambda line: line + b"\n" + line,
    "nested_a_thousand_deep": lambda line: line.replace(
        b'"args":{}', b'"args":{"a":%b}' % (b"[" * 999 + b"]" * 999), 1),
    "another_kind_of_record": lambda line: line.replace(b"sealkit/episode/v1", b"sealkit/episode/v2", 1),
    "empty": lambda line: b"",
}  # fmt: skip


def _swap(items: list[Any], i: int, j: int) -> None:
    items[i], items[j] = items[j], items[i]


def _swap_fields(one: Document, other: Document, name: str) -> None:
    one[name], other[name] = other[name], one[name]


def _move_delta(document: Document, here: int, there: int) -> None:
    document["acts"][there]["deltas"].insert(0, document["acts"][here]["deltas"].pop(0))


def forge() -> None:
    """Write every file."""
    declared = without("storm", "lock", "rumour", "haze", "gauge", "mould", "dusk", "visit")
    declared = replace(declared, restores=declared.restores[:1])
    trusted = trust(declared)
    line = play(Recorder(World(declared.genesis), trusted), ACTS)
    FORGED.mkdir(exist_ok=True)
    given = {"pin": trusted.pin, "judge": trusted.judge, "slot": trusted.slot, "scenario": trusted.scenario.decode()}
    (FORGED / "trusted.json").write_bytes(json.dumps(given, indent=1, sort_keys=True).encode() + b"\n")
    (FORGED / "honest.json").write_bytes(line)
    for edits, seal in (
        (BY_HAND, spell),
        (RECORD_RIGHT, seal_record),
        (ALL_RIGHT, lambda document: reseal(document, trusted)),
    ):
        for name, edit in edits.items():
            document = read(line)
            edit(document)
            (FORGED / f"{name}.json").write_bytes(seal(document))
    for name, change in BYTES.items():
        (FORGED / f"{name}.json").write_bytes(change(line))


if __name__ == "__main__":
    forge()
