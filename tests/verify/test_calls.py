"""Calls in an attacker's hands: each change is refused, and said to be what it is."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sealkit.seal.sealed import open_seal
from sealkit.wire.canon import decode_record
from sealkit.wire.episode import Action, Episode, Move
from sealkit.world.loader import load_world
from sealkit.world.witness import open_scenario, rerun
from tests.modelled import PLAN, calls, receipts
from tests.studies import Outcome, call, ok
from tests.verify.hands import Study

Documents = list[dict[str, Any]]


@pytest.fixture
def study(called_once: Path, tmp_path: Path) -> Study:
    return Study(Path(shutil.copytree(called_once, tmp_path / "study")))


def verify(study: Study, *more: str) -> Outcome:
    return call("verify", "--no-remember", *more, cwd=study.folder)


def refused(study: Study, *more: str) -> list[dict[str, Any]]:
    """The episodes that are not admitted in a study that does not hold."""
    found = verify(study, "--json", *more)
    assert found.code == 1, found.said
    rows: list[dict[str, Any]] = json.loads(found.out)["studies"][0]["not_admitted"]
    return rows


def blob(study: Path, digest: str) -> Path:
    name = digest.removeprefix("sha256:")
    return receipts(study) / "blobs" / name[:2] / f"{name}.gz"


# --- the file ------------------------------------------------------------------------------------


def test_a_line_that_was_edited_is_named_by_its_entry(study: Study) -> None:
    study.edit(study.calls, '"output_tokens":', '"output_tokens":1')
    found = verify(study)
    assert found.code == 1 and "calls.jsonl (entry " in found.err and "evidence: found" in found.err


def test_a_file_of_calls_that_is_gone_is_missed(study: Study) -> None:
    study.calls.unlink()
    found = verify(study)
    assert found.code == 1 and "evidence: found 0 bytes" in found.err


# --- coherent changes: the journal fits what was changed -----------------------------------------


def _drop(at: int) -> Callable[[Documents], object]:
    return lambda found: found.pop(at)


def _put(at: int, **members: Any) -> Callable[[Documents], object]:
    return lambda found: found[at].update(members)


COHERENT: dict[str, tuple[Callable[[Documents], object], str]] = {
    "a call dropped": (_drop(2), "found request 1 of call 4, due request 1 of call 3"),
    "the last call dropped": (_drop(-1), "the reply of a call of this attempt"),
    "all calls dropped": (lambda found: found.clear(), "the reply of a call of this attempt"),
    "two calls swapped": (lambda found: found.insert(0, found.pop(1)), "found request 1 of call 2, due request 1"),
    "another slot's": (_put(0, slot={"arm": "A", "family": "stale_door", "seed": 9}), "found a call of try 1 at arm=A"),
    "another attempt's": (_put(0, attempt=2), "found a call of try 2"),
    "another stage's": (_put(0, stage="smoke"), "found a call of try 1"),
    "a reading's": (_put(0, purpose="read"), "found a call of try 1"),
    "another role": (_put(0, role="diagnoser"), "it asks the role 'diagnoser', due one of agent"),
    "another model": (_put(0, model="someone/else"), "answered by 'someone/else', due 'Qwen/Qwen2.5-7B-Instruct'"),
    "fewer tokens": (_put(0, output_tokens=1), "charged "),
    "fewer tokens, charged so": (
        lambda found: found[0].update(output_tokens=1, charged_tokens=found[0]["input_tokens"] + 1,
                                      cost_microusd=2 * found[0]["input_tokens"] + 8), "its body reads complete by",
    ),
    "a cheaper call": (_put(0, cost_microusd=1), "charged "),
    "a refusal said to be a reply": (_put(0, status="refusal"), "its body reads complete"),
    "another fingerprint": (_put(0, fingerprint="fp_other"), "its body reads complete"),
    "another reply": (lambda found: found[0].update(response=found[1]["response"]), "its body reads complete"),
    "a reply that is nowhere": (_put(0, response="sha256:" + "0" * 64), "there is no such body"),
    "a request that is nowhere": (_put(0, request="sha256:" + "0" * 64), "there is no such body"),
    "a request that is a reply": (
        lambda found: found[0].update(request=found[0]["response"]), "the request is not one of this plan's model",
    ),
    "no reply": (_put(0, response=None), "call 1 has an answer without a body"),
    "a failure before it": (
        lambda found: found.insert(0, {**found[0], "status": "client_error", "response": None}), "due no more",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COHERENT)
def test_calls_that_contradict_plan_bodies_or_episode_exclude_it_as_evidence(study: Study, case: str) -> None:
    edit, words = COHERENT[case]
    slot = study.swap_calls(1, edit)
    [row] = refused(study)
    assert (row["slot"], row["origin"]) == (slot, "evidence")
    assert words in row["why"], row["why"]


def test_calls_beyond_the_budget_are_refused(study: Study) -> None:
    def spend(found: Documents) -> None:
        found[0]["charged_tokens"] = 30_000_000

    study.swap_calls(0, spend)
    found = verify(study)
    assert found.code == 1 and "tokens by then, and the plan's budget is 20000000" in found.err


def test_calls_of_an_attempt_that_a_pause_did_not_cut_off_are_refused(study: Study) -> None:
    """The calls of an episode, told a second time by a pause: they would be paid for twice."""
    entries = study.entries()
    first = next(entry["event"] for entry in entries if entry["event"].get("calls"))
    told = first["calls"]
    block = study.calls.read_bytes()[: told["bytes"]]
    closed = next(n for n, entry in enumerate(entries) if entry["event"]["kind"] == "closed")
    event = {"kind": "paused", "stage": "confirmatory", "reason": "interrupted", "detail": "", "calls": told}
    entries.insert(closed, {**entries[closed], "event": event})
    study.calls.write_bytes(study.calls.read_bytes() + block)
    study.rewrite(entries)
    found = verify(study)
    assert found.code == 1 and "which is not under way" in found.err


def failed_instead(study: Study, ending: str) -> None:
    """The first episode told as an attempt that failed so, with the same calls."""
    entries, lines = study.entries(), study.episode_lines()
    place = study.numbers("episode")[0]
    event = {name: entries[place]["event"][name] for name in ("stage", "pin", "slot", "attempt", "calls")}
    entries[place] = {**entries[place], "event": {**event, "kind": "failed", "ending": ending, "why": "it broke"}}
    closed = next(entry["event"] for entry in entries if entry["event"]["kind"] == "closed")
    closed["episodes"], closed["missing"] = closed["episodes"] - 1, closed["missing"] + 1
    study.rewrite(entries, lines[1:])


def test_a_reply_that_came_is_no_failure_of_the_provider(study: Study) -> None:
    failed_instead(study, "provider_error")
    found = verify(study)
    assert found.code == 1 and "failed by provider_error, and its last call is complete" in found.err, found.said


def test_replies_that_lead_to_an_episode_are_no_failure_of_the_harness(study: Study) -> None:
    failed_instead(study, "harness_error")
    found = verify(study, "--replay=unsafe")
    said = "evidence: recorded as harness_error, and with its replies the sealed arm leaves an episode"
    assert found.code == 1 and said in found.err, found.said


def test_a_scripted_agent_that_names_a_reply_is_refused(run_once: Path, tmp_path: Path) -> None:
    study = Study(Path(shutil.copytree(run_once, tmp_path / "scripted")))
    slot = study.swap_episode(0, lambda episode: episode["acts"][-1].update(calls=["sha256:" + "0" * 64]))
    assert slot in {row["slot"] for row in refused(study)}


# --- bodies --------------------------------------------------------------------------------------


def test_a_body_that_is_gone_or_another_is_found(study: Study) -> None:
    first = calls(study.folder)[0]
    path = blob(study.folder, first["response"])
    body = path.read_bytes()
    path.unlink()
    assert "there is no such body, and no entry withholds it" in refused(study)[0]["why"]
    before = study.journal.read_bytes()
    for command in (("analyse", PLAN), ("claims", PLAN), ("publish", PLAN)):  # no episode drops out in silence
        found = call(*command, cwd=study.folder)
        assert (found.code, "1 episodes rest on a body that was removed or changed" in found.err) == (1, True), command
    assert study.journal.read_bytes() == before
    path.write_bytes(gzip.compress(b"{}"))
    assert "holds the body sha256:" in refused(study)[0]["why"]
    path.write_bytes(body)
    ok(verify(study))


def test_what_no_entry_refers_to_is_named(study: Study) -> None:
    first, name = calls(study.folder)[0], "ab" * 32
    body = blob(study.folder, first["response"]).read_bytes()
    ok(call("withhold", PLAN, first["response"], "--reason", "x", "--yes", cwd=study.folder))
    assert "that no" not in ok(verify(study)).out
    blob(study.folder, first["response"]).write_bytes(body)
    for path in (f"blobs/ab/{name}.gz", "torn/journal.jsonl.9.0123456789ab", "notes.txt", "blobs/x/y"):
        place = receipts(study.folder) / path
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(b"x")
    said = ok(verify(study)).out
    assert "3 files that no entry refers to and nobody reads, the first: blobs/x/y" in said
    assert (
        f"1 bodies that no call names, as an attempt that was killed leaves them, the first: blobs/ab/{name}.gz" in said
    )
    assert "1 bodies that are withheld and still there: the same `sealkit withhold … --yes` removes them" in said


def test_a_body_that_was_withheld_is_said_to_be_and_nothing_fails(study: Study) -> None:
    first = calls(study.folder)[0]
    said = ok(call("withhold", PLAN, first["response"], "--reason", "it names somebody", "--yes", cwd=study.folder)).out
    assert said.startswith("withheld ")
    assert not blob(study.folder, first["response"]).exists()
    plain = ok(verify(study)).out
    assert "1 bodies of calls are withheld: what they hold is not checked" in plain
    again = ok(verify(study, "--replay=unsafe")).out
    assert "cannot be run again by their arms: replies are withheld" in again
    found = call("withhold", PLAN, first["response"], "--reason", "twice", "--yes", cwd=study.folder)
    assert (found.code, "the body is withheld already" in found.err) == (2, True)


def test_withholding_says_what_it_costs_and_does_nothing_unless_told_to(study: Study) -> None:
    first, before = calls(study.folder)[0], study.journal.read_bytes()
    told = call("withhold", PLAN, first["response"], "--reason", "it names somebody", cwd=study.folder)
    assert told.code == 2 and f"withhold {PLAN} {first['response']} --reason 'it names somebody' --yes" in told.out
    hits = Counter(one["slot"]["arm"] for one in calls(study.folder) if one["response"] == first["response"])
    assert f"it is the reply to {hits.total()} HTTP request" in told.out
    assert ", ".join(f"{count} of arm {arm}" for arm, count in sorted(hits.items())) in told.out
    assert "can be run again by nobody: " in told.out
    assert "the gate files_verify closes, which this plan asks for: no further edition can be published" in told.out
    assert study.journal.read_bytes() == before and blob(study.folder, first["response"]).exists()
    asked = call("withhold", PLAN, first["request"], "--reason", "x", cwd=study.folder)
    assert asked.code == 2 and "what rests on it can still be run again" in asked.out
    assert "it is the request of " in asked.out and "files_verify" not in asked.out


@pytest.mark.parametrize("reason", ["", " ", "two\nlines", "\x1b[31m"])
def test_a_reason_is_one_line_of_text(study: Study, reason: str) -> None:
    for command in (
        ("withhold", PLAN, "sha256:" + "0" * 64, "--reason"),
        ("amend", PLAN, "--reason"),
        ("run", PLAN, "--stop"),
    ):
        refused = call(*command, reason, cwd=study.folder)
        assert refused.code == 2 and "due one line of text" in refused.err, command


def test_withholding_that_was_cut_off_is_ended_by_the_same_command(study: Study) -> None:
    first = calls(study.folder)[0]
    path = blob(study.folder, first["request"])
    body = path.read_bytes()
    ok(call("withhold", PLAN, first["request"], "--reason", "x", "--yes", cwd=study.folder))
    path.write_bytes(body)  # as if the process had died between the entry and the removal
    ok(call("withhold", PLAN, first["request"], "--reason", "x", "--yes", cwd=study.folder))
    assert not path.exists()
    assert study.numbers("withheld") == [len(study.entries()) - 1]


@pytest.mark.parametrize(
    ("digest", "words"), [("sha256:" + "0" * 64, "no call of this study has a body"), ("abc", "due sha256:")]
)
def test_what_no_call_names_cannot_be_withheld(study: Study, digest: str, words: str) -> None:
    before = study.journal.read_bytes()
    found = call("withhold", PLAN, digest, "--reason", "x", "--yes", cwd=study.folder)
    assert (found.code, words in found.err) == (2, True)
    assert study.journal.read_bytes() == before


# --- the arm, run again from its replies ---------------------------------------------------------


@pytest.fixture
def unanalysed(study: Study) -> Study:
    """The study as its run left it."""
    later = ("verified", "admitted", "looked", "analysed")
    study.rewrite([entry for entry in study.entries() if entry["event"]["kind"] not in later])
    return study


def forged(study: Study, change: Callable[[list[Move]], None]) -> str:
    """Let the honest world write the first episode of arm A again, for other moves; the slot in words."""
    number = next(n for n, line in enumerate(study.episode_lines()) if json.loads(line)["slot"]["arm"] == "A")
    found = decode_record(study.episode_lines()[number], Episode)
    moves = [Move(action=act.action, calls=act.calls, memory=act.memory) for act in found.acts[1:]]
    change(moves)
    with contextlib.closing(open_seal(study.plan)) as sealed:
        trusted = sealed.trusted(found.slot)
    session = load_world(study.folder, "house").session(open_scenario(trusted.scenario))
    line = rerun(session, trusted, tuple(moves), ended="budget" if len(moves) == 15 else "final", why="")
    return study.swap_episode(number, lambda episode: episode.update(json.loads(line)))


def _other_memory(moves: list[Move]) -> None:
    moves[1] = msgspec.structs.replace(moves[1], memory={"notes": "the door is locked"})


def _other_action(moves: list[Move]) -> None:
    del moves[5:]
    moves[-1] = msgspec.structs.replace(moves[-1], action=Action(name="done", args={}))


def _a_turn_less(moves: list[Move]) -> None:
    del moves[:-1]


FORGED: dict[str, tuple[Callable[[list[Move]], None], str]] = {
    "memory": (_other_memory, 'acts[2].memory: found {"notes":"the door is locked"}, due '),
    "action": (_other_action, '].action: found {"args":{},"name":"done"}, due '),
    "acts": (_a_turn_less, "acts[1].action: found "),
}


@pytest.mark.parametrize("case", FORGED)
def test_what_no_reply_led_to_is_found_by_the_sealed_arm_alone(unanalysed: Study, case: str) -> None:
    """The world would write just these bytes for these actions, and data alone cannot show it."""
    change, words = FORGED[case]
    slot = forged(unanalysed, change)
    ok(verify(unanalysed))
    [row] = refused(unanalysed, "--replay=unsafe")
    assert (row["slot"], row["origin"]) == (slot, "evidence")
    assert row["why"].startswith("arm: ") and words in row["why"], row["why"]


def test_an_arm_that_was_changed_answers_other_questions(unanalysed: Study) -> None:
    """The recorded request of one call is exchanged for another call's: the arm asks something else there."""

    def exchange(found: Documents) -> None:
        found[0]["request"], found[1]["request"] = found[1]["request"], found[0]["request"]

    slot = unanalysed.swap_calls(0, exchange)
    ok(verify(unanalysed))
    [row] = refused(unanalysed, "--replay=unsafe")
    assert (row["slot"], row["origin"]) == (slot, "evidence")
    assert "call 1: found the request " in row["why"] and "the episode asks agent another" in row["why"]
