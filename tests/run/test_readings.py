"""Readings by a model, by the commands and over a real connection: a part of v1 with four arms, two families, two seeds.

What one episode says is checked by hand: arm D, family double_fault, seed 0. In it the tags were swapped from the start,
which the steward's message told in return 2, and a door was locked at act 6, which return 7 showed.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import pytest

from sealkit.agents.models.blobs import Blobs
from sealkit.publish.methods import course_of, methods
from sealkit.run.readings import Readings
from sealkit.seal.sealed import open_seal
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.chain import Entry, extend
from sealkit.wire.errors import HarnessError
from sealkit.wire.events import Asked, Closed, Event, Read, call_lines
from sealkit.wire.journal_head import EMPTY
from tests.amending import DEAF_TRACKER, change
from tests.loopback import Fault, Loopback
from tests.loopback.faults import http_error, wrong_model
from tests.loopback.house_policies import POLICIES, sections
from tests.modelled import ID, PLAN, calls, events, make_study, read_plan_text, receipts
from tests.run.killing import Moment, nursery, stopped_fork
from tests.studies import Outcome, call, ok

D_SLOT = {"arm": "D", "family": "double_fault", "seed": 0}
OVER = "more slots are without an outcome of reading reader than the exclusion cap allows, in"
GONE = http_error(410)  # no reply, and not asked again


def run(study: Path, server: Loopback, *more: str) -> Outcome:
    return call("run", PLAN, "--endpoint", server.url, "--concurrency", "16", *more, cwd=study)


def verify(study: Path, *more: str) -> Outcome:
    return call("verify", f"receipts/{ID}", "--no-remember", *more, cwd=study)


def is_reading(request: Any) -> bool:
    return "Transcript" in sections(request)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = make_study(tmp_path_factory.mktemp("readings") / "study", read_plan_text())
    ok(call("seal", PLAN, cwd=study))
    return study


@pytest.fixture(scope="module")
def ran(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = tmp_path_factory.mktemp("ran") / "study"
    shutil.copytree(sealed, study)
    with Loopback(POLICIES["graded"]) as server:
        assert "5 of 5 readings by models have their reply" in ok(run(study, server, "--smoke")).out
        assert "20 of 20 readings by models have their reply" in ok(run(study, server)).out
    return study


@pytest.fixture
def copy(ran: Path, tmp_path: Path) -> Path:
    shutil.copytree(ran, tmp_path / "study")
    return tmp_path / "study"


def of(study: Path, slot: dict[str, Any], level: str) -> dict[str, Any]:
    (found,) = [one for one in events(study, "read") if one["slot"] == slot and one["level"] == level]
    return found


# --- the run


def test_readings_follow_the_last_slot_and_the_run_is_closed_behind_them(ran: Path) -> None:
    kinds = [event["kind"] for event in events(ran) if event.get("stage") == "confirmatory"]
    last_episode, first_read = max(i for i, kind in enumerate(kinds) if kind == "episode"), kinds.index("asked")
    assert last_episode < first_read and kinds[-2:] == ["read", "closed"]
    assert kinds.count("episode") == 16 and kinds.count("read") == kinds.count("asked") == 20


def test_each_reading_is_one_call_of_its_own_purpose_and_names_the_episode_that_was_read(ran: Path) -> None:
    kept = {json.dumps(event["slot"]): event["digest"] for event in events(ran, "episode")}
    for event in events(ran, "read"):
        assert event["episode"] == kept[json.dumps(event["slot"])]
        assert (event["ending"], event["why"], event["calls"]["count"], event["attempt"]) == ("said", "", 1, 1)
    asked = [one for one in calls(ran) if one["purpose"] == "read"]
    assert len(asked) == 25 and {one["role"] for one in asked} == {"diagnoser"}


def test_readings_are_taken_where_the_plan_says_so(ran: Path) -> None:
    taken = {(event["slot"]["arm"], event["level"]) for event in events(ran, "read")}
    assert taken == {("A", "transcript"), ("B", "transcript"), *((arm, "structured") for arm in "BCD")}


def test_whoever_reads_is_told_neither_slot_nor_pin(ran: Path) -> None:
    bodies = Blobs(receipts(ran) / "blobs", inside=ran)
    for one in calls(ran):
        if one["purpose"] == "read":
            asked = json.loads(bodies.get(one["request"]))
            text = "".join(message["content"] for message in asked["messages"])
            for word in ("double_fault", "noise", "arm", "family", "seed", one["pin"], "tags_swapped", "door_locks"):
                assert not re.search(rf"\b{word}\b", text), word


def test_running_again_asks_nobody(copy: Path) -> None:
    before = (receipts(copy) / "journal.jsonl").read_bytes()
    with Loopback(POLICIES["graded"]) as server:
        ok(run(copy, server))
        assert not server.requests
    assert (receipts(copy) / "journal.jsonl").read_bytes() == before


# --- the edition, checked by hand


@pytest.mark.slow
def test_an_edition_counts_what_was_read(copy: Path) -> None:
    barn, gate = {"subject": "key barn", "turn": 2}, {"subject": "key gate", "turn": 2}
    assert of(copy, D_SLOT, "structured")["said"] == [barn, barn, gate]
    for step in ("analyse", "publish"):
        ok(call(step, PLAN, cwd=copy))
    (edition,) = (copy / "publications").iterdir()
    results = json.loads((edition / "results.json").read_bytes())
    assert results["readings"]["levels"] == {
        "reader structured": {
            "due": 12,
            "made": 12,
            "unreadable": 0,
            "withheld": 0,
            "failed": 0,
            "left": 0,
            "abandoned": 0,
        },
        "reader transcript": {
            "due": 8,
            "made": 8,
            "unreadable": 0,
            "withheld": 0,
            "failed": 0,
            "left": 0,
            "abandoned": 0,
        },
    }
    assert results["readings"]["used"]["calls"] == 20
    # D's four episodes show six faults. Of the swapped tags (turns 0 to 2) both readings name a key in turn 2; neither
    # names the locked door; both blocked turns under noise name the door that was misread, inside its turns.
    assert _row(results, "named_and_timed", "D", "structured") == (6, "0.666666666667")
    assert _row(results, "named_and_timed", "D", "rule") == (6, "1.000000000000")
    assert _row(results, "extra_faults", "D", "structured") == (4, "0.000000000000")
    # A never meets the locked door: four faults in four episodes, of which the messages tell two.
    assert _row(results, "named", "A", "transcript") == (4, "0.500000000000")
    report = (edition / "report.md").read_text()
    assert "Reading reader transcript: 8 episodes were read by a model" in report
    assert "| reader structured | 12 | 12 | 0 | 0 | 0 | 0 | 0 |" in report
    arm_a = results["analysis"]["overhead"]["A"]["input_tokens"]["total"]
    due = sum(one["input_tokens"] for one in calls(copy) if one["slot"]["arm"] == "A" and one["purpose"] == "act"
              and one["stage"] == "confirmatory")  # fmt: skip
    assert arm_a == due, "what readings use is no arm's overhead"
    out = ok(verify(copy, "--replay")).out
    assert "25 readings asked and read again by the sealed judge, with the same result" in out
    assert "was derived again, the same bytes" in out


@pytest.mark.slow
def test_what_a_withheld_reply_said_counts_as_missing_and_a_new_analysis_says_so(copy: Path) -> None:
    ok(call("analyse", PLAN, cwd=copy))
    reply = next(
        one["response"] for one in calls(copy)
        if one["purpose"] == "read" and one["stage"] == "confirmatory" and one["slot"] == D_SLOT
    )  # fmt: skip
    hit = sum(one["response"] == reply and one["stage"] == "confirmatory" for one in calls(copy))
    ok(call("withhold", PLAN, reply, "--reason", "it names somebody", "--yes", cwd=copy))
    found = call("publish", PLAN, cwd=copy)
    assert found.code == 2 and "withheld body came after the last analysis; sealkit analyse" in found.err, found.said
    analysis = json.loads(ok(call("analyse", PLAN, "--json", cwd=copy)).out)
    rows = [
        row["basis"][0] for row in analysis["reported"]
        if row["metric"] == "extra_faults" and row.get("arm") == "D" and row["split"] == {"reader": "structured"}
    ]  # fmt: skip
    assert [(basis["n"], basis["absent"]) for basis in rows] == [(4 - hit, hit)]
    out = ok(verify(copy, "--replay")).out
    assert f"structured: 12 due, {12 - hit} made, 0 unreadable, {hit} withheld" in out
    assert "was derived again, the same bytes" in out
    closed = call("publish", PLAN, cwd=copy)
    assert closed.code == 1 and f"0 episodes and {hit} readings could not be run again" in closed.out, closed.said
    out = ok(call("analyse", PLAN, cwd=copy)).out
    assert f"withheld: claim log-helps-diagnosis: {OVER} D" in out
    assert "exploratory: " not in out, "a claim has one status, the one that publish gives it"


def _row(results: Any, metric: str, arm: str, level: str) -> tuple[int, str]:
    (row,) = [
        row
        for row in results["analysis"]["reported"]
        if row["metric"] == metric and row.get("arm") == arm and row.get("split") == {"reader": level}
    ]
    return row["n"], row["estimate"]


# --- what goes wrong at the endpoint


def fails(slots: int, *, times: int) -> Callable[[int, Any], Fault | None]:
    """The first readings fail: those of so many different questions, each so many times."""
    seen: dict[str, int] = {}

    def fault(number: int, request: Any) -> Fault | None:
        text = request["messages"][-1]["content"]
        if not is_reading(request) or (text not in seen and len(seen) == slots):
            return None
        seen[text] = seen.get(text, 0) + 1
        return GONE if seen[text] <= times else None

    return fault


@pytest.fixture
def fresh(sealed: Path, tmp_path: Path) -> Path:
    shutil.copytree(sealed, tmp_path / "study")
    return tmp_path / "study"


def test_a_reading_without_a_reply_is_tried_as_often_as_a_slot(fresh: Path) -> None:
    with Loopback(POLICIES["graded"], fails(1, times=1)) as server:
        assert "20 of 20 readings" in ok(run(fresh, server)).out
    broken = [event for event in events(fresh, "read") if event["ending"] != "said"]
    assert {(event["ending"], event["attempt"], event["said"]) for event in broken} == {("provider_error", 1, None)}
    first = broken[0]
    again = [e for e in events(fresh, "read") if (e["slot"], e["level"]) == (first["slot"], first["level"])]
    assert [(e["attempt"], e["ending"]) for e in again] == [(1, "provider_error"), (2, "said")]
    ok(verify(fresh, "--replay"))


@pytest.mark.slow
def test_a_reading_that_failed_for_good_is_a_missing_outcome_and_no_wrong_diagnosis(fresh: Path) -> None:
    with Loopback(POLICIES["graded"], fails(1, times=2)) as server:
        # One at a time: two episodes may ask in the same bytes, and would share the failures between them.
        out = ok(run(fresh, server, "--concurrency", "1")).out
    lost = [event for event in events(fresh, "read") if event["attempt"] == 2]
    assert {event["ending"] for event in lost} == {"provider_error"}
    assert f"{20 - len(lost)} of 20 readings" in out and "16 of 16 slots" in out
    level, slot = lost[0]["level"], lost[0]["slot"]
    assert f"{len(lost)} failed" in ok(verify(fresh)).out
    for step in ("analyse", "publish"):
        ok(call(step, PLAN, cwd=fresh))
    results = json.loads(next(fresh.glob("publications/*/results.json")).read_bytes())
    rows = {
        row["split"]["reader"]: row["basis"][0]
        for row in results["analysis"]["reported"]
        if row["metric"] == "extra_faults" and row.get("arm") == slot["arm"]
    }
    assert (rows[level]["n"], rows[level]["absent"]) == (3, 1)
    assert all(basis["absent"] == 0 for name, basis in rows.items() if name != level), "other levels are as they were"
    assert all(arm["errored"] == 0 for arm in results["analysis"]["flow"].values())
    ok(verify(fresh, "--replay"))


def test_five_failures_in_a_row_pause_the_run_and_give_up_no_reading(fresh: Path) -> None:
    with Loopback(POLICIES["graded"], lambda number, request: GONE if is_reading(request) else None) as server:
        paused = run(fresh, server)
    assert paused.code == 3 and "5 errors in a row" in paused.err
    assert events(fresh)[-1]["reason"] == "errors_in_a_row"
    assert len(events(fresh, "episode")) == 16
    ok(verify(fresh))
    with Loopback(POLICIES["graded"]) as server:
        assert "20 of 20 readings" in ok(run(fresh, server)).out
        assert all(is_reading(request.json) for request in server.requests)
    ok(verify(fresh, "--replay"))


@pytest.mark.slow
def test_readings_that_a_stop_left_are_never_taken(fresh: Path) -> None:
    with Loopback(POLICIES["graded"], lambda number, request: GONE if is_reading(request) else None) as server:
        assert run(fresh, server).code == 3
    ok(call("run", PLAN, "--stop", "enough", cwd=fresh))
    change(fresh, PLAN, "title: ", "title: Once more, ")
    change(fresh, PLAN, "exclusion_cap_per_arm: 0.05", "exclusion_cap_per_arm: 1")  # too late to rescue a claim
    ok(call("amend", PLAN, "--reason", "the title was dull", cwd=fresh))
    with Loopback(POLICIES["graded"]) as server:
        assert "0 of 20 readings" in ok(run(fresh, server)).out
        assert not server.requests
    assert sum(map(int, re.findall(r"(\d+) left", ok(verify(fresh)).out))) == 20
    out = ok(call("analyse", PLAN, cwd=fresh)).out
    assert f"withheld: claim log-helps-diagnosis: {OVER} A, B, C, D" in out
    assert "withheld: claim enforced" not in out and "withheld: claim fewer" not in out
    assert re.search(r"^ *diag +named_and_timed +0 .*not estimable", out, re.M)
    assert re.search(r"^ *dc +success +2 ", out, re.M) and re.search(r"^ *dc +avoidable_stale +2 ", out, re.M)


def test_another_model_than_the_planned_one_pauses_the_readings(fresh: Path) -> None:
    other = wrong_model("other")
    with Loopback(POLICIES["graded"], lambda number, request: other if is_reading(request) else None) as server:
        paused = run(fresh, server)
    assert paused.code == 3 and "model_drift" in paused.err
    assert events(fresh, "asked") and not events(fresh, "read"), "none is given up"
    assert [one["purpose"] for one in calls(fresh)][-1] == "read", "but the calls are kept"
    ok(verify(fresh))


@pytest.mark.slow
def test_a_reply_in_which_the_judge_can_read_nothing_is_asked_for_once_and_has_no_outcome(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", read_plan_text())
    strict = ("worlds/house/diagnosis.py", "        given = [] if isinstance(reply, Unreadable) else",
              "        if isinstance(reply, Unreadable):\n            return None\n        given =")  # fmt: skip
    change(study, *strict)
    ok(call("seal", PLAN, cwd=study))

    def silent(request: Any) -> str:
        return "I cannot tell." if is_reading(request) and "Actions held back" in sections(request) else play(request)

    play = POLICIES["graded"]
    with Loopback(silent) as server:
        assert "20 of 20 readings by models have their reply" in ok(run(study, server)).out
    unread = [event for event in events(study, "read") if event["ending"] == "unreadable"]
    assert len(unread) == 4 and {event["slot"]["arm"] for event in unread} == {"D"}
    assert {event["attempt"] for event in events(study, "read")} == {1}
    ok(call("analyse", PLAN, cwd=study))
    out = ok(verify(study, "--replay")).out
    assert "readings, reader structured: 12 due, 8 made, 4 unreadable, 0 withheld, 0 failed, 0 left" in out
    assert "20 readings asked and read again" in out


# --- stopped and killed


@pytest.fixture(scope="module")
def played(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study with all of its episodes, in which no reading was begun."""
    study = Path(shutil.copytree(sealed, tmp_path_factory.mktemp("played") / "study"))

    def stop(readings: Readings) -> NoReturn:
        raise HarnessError("no reading is begun here")

    with Loopback(POLICIES["graded"]) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Readings, "left", stop)
        assert run(study, server).code == 3
    assert len(events(study, "episode")) == 16 and not events(study, "asked")
    return study


def test_a_reading_that_was_begun_stays_counted_whether_the_run_is_killed_or_interrupted(
    played: Path, tmp_path: Path
) -> None:
    study = Path(shutil.copytree(played, tmp_path / "study"))
    with Loopback(POLICIES["graded"]) as server, nursery() as nurse:
        args = ("run", PLAN, "--endpoint", server.url, "--concurrency", "2")
        grown = random.Random(7)
        codes = [
            stopped_fork(study, Moment(grown.randrange(500, 3000), 0.0), nurse, *args, by=by)
            for by in (signal.SIGKILL,) * 5 + (signal.SIGINT,) * 2
        ]
        out = ok(run(study, server)).out
    begun = Counter((json.dumps(one["slot"]), one["level"]) for one in events(study, "asked"))
    last = {(json.dumps(one["slot"]), one["level"]): one["attempt"] for one in events(study, "read")}
    assert len(events(study, "read")) == len(begun) == 20 and last == begun, "no try without its number"
    abandoned = begun.total() - 20
    assert codes.count(-signal.SIGKILL) <= abandoned and {-signal.SIGKILL, 130} <= set(codes)
    assert f"20 of 20 readings by models have their reply, {abandoned} tries abandoned" in out
    said = ok(verify(study)).out
    assert sum(map(int, re.findall(r"0 left, (\d+) abandoned", said))) == abandoned
    texts = methods_of(study)
    assert sum(map(int, re.findall(r"(\d+) tr(?:y|ies) w(?:as|ere) abandoned", texts))) == abandoned


def methods_of(study: Path) -> str:
    sealed = open_seal(study / PLAN)
    return methods(sealed.plan.spec, sealed.seal, sealed.pin, course_of(sealed.history().entries()))


# --- after an amendment, and in shards


def scripted_text() -> str:
    """The same plan with scripted arms, whose episodes alone `amend --supersede` can have run again."""
    text = read_plan_text()
    for arm, agent in zip("ABCD", ("naive", "tracker", "rechecker", "oracle"), strict=True):
        text, count = re.subn(rf"(    {arm}: {{role: \w+), scaffold[^}}]*}}", rf"\1, scripted: {agent}}}", text)
        assert count == 1
    text = re.sub(r"  agent:\n(    .*\n)+", "", text, count=1)
    return text


@pytest.mark.slow
def test_an_episode_that_is_run_again_is_read_again_and_what_was_read_of_the_old_one_counts_no_more(
    tmp_path: Path,
) -> None:
    study = make_study(tmp_path / "study", scripted_text())
    ok(call("seal", PLAN, cwd=study))
    with Loopback(POLICIES["graded"]) as server:
        ok(run(study, server))
        old = {event["episode"] for event in events(study, "read")}
        change(study, *DEAF_TRACKER)
        ok(call("amend", PLAN, "--reason", "it should not heed messages", "--supersede", cwd=study))
        assert "20 of 20 readings by models" in ok(run(study, server)).out
    new = [event for event in events(study, "read") if event["episode"] not in old]
    assert {event["slot"]["family"] for event in new} == {"double_fault"}, "noise tells no messages: its blocks stay"
    assert len(new) == 10 and len(events(study, "read")) == 30
    out = ok(verify(study, "--replay")).out
    assert "readings, reader structured: 12 due, 12 made, 0 unreadable, 0 withheld, 0 failed, 0 left" in out
    ok(call("analyse", PLAN, cwd=study))
    ok(verify(study, "--replay"))


@pytest.mark.slow
def test_shards_take_their_own_readings_and_the_merged_journal_has_all(fresh: Path) -> None:
    with Loopback(POLICIES["graded"]) as server:
        for shard in ("1/2", "2/2"):
            assert "10 of 10 readings by models" in ok(run(fresh, server, "--shard", shard)).out
    ok(call("merge", PLAN, cwd=fresh))
    assert len(events(fresh, "read")) == 20
    assert "12 due, 12 made" in ok(verify(fresh, "--replay")).out


# --- what somebody writes into the files


def rewritten(study: Path, change: Callable[[Read], Read]) -> None:
    """The first reading of a confirmatory episode changed, and the journal chained again around it."""
    done: list[Read] = []

    def first(event: Event) -> list[Event]:
        if isinstance(event, Read) and event.stage == "confirmatory" and not done:
            done.append(event)
            return [change(event)]
        return [event]

    rechained(study, first)
    assert done


def journal(study: Path) -> list[bytes]:
    return (receipts(study) / "journal.jsonl").read_bytes().splitlines()


def rechained(study: Path, change: Callable[[Event], list[Event]]) -> None:
    """Every event replaced by what `change` makes of it, and the journal chained again."""
    lines, head = [], EMPTY
    for line in journal(study):
        entry = decode_record(line, Entry)
        for event in change(entry.event):
            spelled, head = extend(head, event, entry.time)
            lines.append(spelled)
    (receipts(study) / "journal.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    (receipts(study) / "HEAD").write_bytes(encode_record(head) + b"\n")


def changed(**fields: Any) -> Callable[[Read], Read]:
    return lambda event: msgspec.structs.replace(event, **fields)


def test_what_nobody_said_is_found_by_the_sealed_judge(copy: Path) -> None:
    rewritten(copy, changed(said=[{"subject": "door attic-loft", "turn": 1}]))
    assert "asked and read again" not in ok(verify(copy)).out, "from data alone it cannot be seen"
    found = verify(copy, "--replay")
    assert found.code == 1
    assert 'the entry says [{"subject":"door attic-loft","turn":1}], and the sealed judge reads' in found.err


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"episode": "sha256:" + "0" * 64}, "a reading of another episode than the one of slot"),
        ({"level": "rule"}, "the plan asks no model for reader at rule"),
        ({"level": "aside"}, "the plan asks no model for reader at aside"),
        ({"attempt": 2}, "the outcome of try 2 at a reading, which is not under way"),
        ({"said": None}, "what was said does not go with the ending said"),
        ({"why": "it was late"}, "what was said does not go with the ending said"),
        (
            {"said": None, "ending": "provider_error", "why": "x"},
            "a reading that ended by provider_error has 1 requests",
        ),
        ({"pin": "sha256:" + "0" * 64}, "a reading of another pin"),
    ],
)
def test_a_reading_that_no_run_makes_is_refused_from_data_alone(copy: Path, fields: dict[str, Any], says: str) -> None:
    rewritten(copy, changed(**fields))
    found = verify(copy)
    assert found.code == 1 and says in found.err, found.said


def test_a_reading_without_the_entry_of_its_beginning_is_refused(copy: Path) -> None:
    rechained(copy, lambda event: [] if isinstance(event, Asked) and event.stage == "confirmatory" else [event])
    found = verify(copy)
    assert found.code == 1 and "the outcome of try 1 at a reading, which is not under way" in found.err, found.said


def test_a_reply_that_the_judge_can_read_is_no_failure_of_the_harness(copy: Path) -> None:
    rewritten(copy, changed(said=None, ending="harness_error", why="it broke"))
    found = verify(copy, "--replay")
    assert found.code == 1 and "recorded as harness_error, and the sealed judge reads its reply" in found.err, (
        found.said
    )


def test_a_reading_that_has_its_reply_is_not_begun_again(copy: Path) -> None:
    asked = [e for e in (decode_record(line, Entry).event for line in journal(copy)) if isinstance(e, Asked)][-1]
    again = msgspec.structs.replace(asked, attempt=2)
    rechained(copy, lambda event: [again, event] if isinstance(event, Closed) and event.stage != "smoke" else [event])
    found = verify(copy)
    assert found.code == 1 and "was made already" in found.err, found.said


def test_a_reading_cannot_have_the_call_of_another_slot(copy: Path) -> None:
    blocks = (receipts(copy) / "calls.jsonl").read_bytes()

    def swap(event: Read) -> Read:
        return msgspec.structs.replace(event, calls=call_lines(forged))

    (line,) = [
        line for line in blocks.splitlines() if json.loads(line)["purpose"] == "read"
        and json.loads(line)["stage"] == "confirmatory"
    ][:1]  # fmt: skip
    one = json.loads(line)
    one["slot"]["seed"] = 1 - one["slot"]["seed"]
    forged = json.dumps(one, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    rewritten(copy, swap)
    (receipts(copy) / "calls.jsonl").write_bytes(blocks.replace(line + b"\n", forged, 1))
    found = verify(copy)
    assert found.code == 1 and "found a call of try 1 at" in found.err, found.said
