"""Episodes from Inspect AI logs: which samples become which slots, and everything that is refused, before any entry."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sealkit.run.inspect_log import read_log
from sealkit.run.inspect_zip import members
from sealkit.seal.journal import Journal
from sealkit.wire.canon import decode_record, encode_value
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import HarnessError, MalformedError, SealkitError
from sealkit.wire.recorded import FromLog, Recorded
from tests.run.inspect_plan import LOGS, PLAN, make_study
from tests.studies import call, ok

RECEIPTS = "receipts/sums"


def sealed(folder: Path, **options: Any) -> Path:
    study = make_study(folder, **options)
    ok(call("seal", PLAN, cwd=study))
    return study


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The log of arm stepwise, as JSON, after a change."""
    log = json.loads((LOGS / "stepwise.json").read_bytes())
    change(log)
    path = folder / "changed.json"
    path.write_text(json.dumps(log))
    return path


def journal(study: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["event"] for line in (study / RECEIPTS / "journal.jsonl").read_bytes().splitlines()]


def imported(study: Path, log: Path, arm: str) -> Any:
    return call("import", "inspect", log, PLAN, "--arm", arm, cwd=study)


# --- what becomes of a log


def test_from_two_logs_to_an_edition(tmp_path: Path) -> None:
    study = sealed(tmp_path / "study")
    assert "the plan names no command to run" in call("run", PLAN, cwd=study).err
    assert f"next: sealkit import inspect LOG {PLAN} --arm NAME" in ok(call("status", cwd=study)).out
    first = ok(imported(study, LOGS / "terse.eval", "terse")).out
    assert "6 episodes of arm terse" in first and "before the seal" in first and "6 slots are left" in first
    assert "0 of 12" not in first and call("analyse", PLAN, cwd=study).code == 2
    ok(imported(study, LOGS / "stepwise.eval", "stepwise"))
    assert [event["kind"] for event in journal(study)][-1] == "closed"
    assert "recorded, not replayable: there are no receipts" in ok(call("verify", "receipts", cwd=study)).out
    results = json.loads(ok(call("analyse", PLAN, "--json", cwd=study)).out)
    assert results["effects"][0]["estimate"].rstrip("0") == "0.5"  # terse gets 3 of 6, stepwise all
    assert results["overhead"]["terse"]["input_tokens"]["total"] == 72
    ok(call("verify", "receipts", "--replay=unsafe", cwd=study))
    published = ok(call("publish", PLAN, cwd=study)).out
    assert "collected before the seal, by the word of the logs: terse, stepwise" in published
    (edition,) = (study / "publications").iterdir()
    report = (edition / "report.md").read_text()
    assert "before the seal: these episodes were not preregistered" in report and "taken from logs between" in report


def test_a_record_holds_the_sample_and_names_its_log(tmp_path: Path) -> None:
    study = sealed(tmp_path / "study")
    ok(imported(study, LOGS / "stepwise.eval", "stepwise"))
    lines = (study / RECEIPTS / "episodes.jsonl").read_bytes().splitlines()
    records = [decode_record(line, Recorded) for line in lines]
    log = digest_bytes((LOGS / "stepwise.eval").read_bytes())
    assert {(str(one.slot["family"]), one.slot["seed"]) for one in records} == {
        (name, epoch) for name in ("sum-12", "sum-23", "sum-34") for epoch in (1, 2)
    }
    for one in records:
        assert isinstance(one.source, FromLog) and one.source.log == log
        assert (one.source.sample, one.source.epoch) == (one.slot["family"], one.slot["seed"])
        assert [message["role"] for message in one.transcript] == ["system", "user", "assistant"]
        assert one.measures == {"match": 1} and one.models == {"solver": "mockllm/model"}
        assert (one.usage.calls, one.usage.input_tokens, one.usage.output_tokens) == (1, 12, 1)


def test_epochs_are_repetitions_where_the_plan_repeats_its_cells(tmp_path: Path) -> None:
    study = sealed(tmp_path / "study", repeated=True)
    ok(imported(study, LOGS / "stepwise.eval", "stepwise"))
    slots = [json.loads(line)["slot"] for line in (study / RECEIPTS / "episodes.jsonl").read_bytes().splitlines()]
    assert {(slot["seed"], slot["repetition"]) for slot in slots} == {(0, 0), (0, 1)}


def test_both_formats_say_the_same(tmp_path: Path) -> None:
    """The two files are two evaluations, so ids and times differ; what is taken of them does not."""
    zipped, plain = read_log(LOGS / "stepwise.eval"), read_log(LOGS / "stepwise.json")

    def taken(log: Any) -> Any:
        return sorted(
            (one.id, one.epoch, one.scores, one.answer.usage, [m["content"] for m in one.answer.transcript])
            for one in log.samples
        )

    assert repr(taken(zipped)) == repr(taken(plain))
    assert (zipped.task_args, zipped.model, zipped.settings) == (plain.task_args, plain.model, plain.settings)


def test_a_log_begun_after_the_seal_is_said_to_be(tmp_path: Path) -> None:
    study = sealed(tmp_path / "study", access="none_collected")
    later = changed(tmp_path, lambda log: log["eval"].update(created=datetime.now(UTC).isoformat()))
    assert "after the seal" in ok(imported(study, later, "stepwise")).out
    assert [event["before_seal"] for event in journal(study) if event["kind"] == "imported"] == [False]


def test_a_log_that_is_still_to_begin_is_refused(tmp_path: Path) -> None:
    study = sealed(tmp_path / "study", access="none_collected")
    refused = imported(
        study, changed(tmp_path, lambda log: log["eval"].update(created="2099-01-01T00:00:00Z")), "terse"
    )
    assert refused.code == 1 and "says that it was begun 2099-01-01T00:00:00Z, and it is 20" in refused.err
    assert not [event for event in journal(study) if event["kind"] == "imported"]


def test_a_sample_that_failed_is_an_attempt_that_failed(tmp_path: Path) -> None:
    study = sealed(tmp_path / "study")
    log = changed(tmp_path, lambda log: log["samples"][0].update(error={"message": "no route"}, scores=None))
    assert "5 episodes of arm stepwise" in ok(imported(study, log, "stepwise")).out
    (failed,) = [event for event in journal(study) if event["kind"] == "failed"]
    assert (failed["ending"], failed["why"]) == ("harness_error", "the sample ended in an error: no route")
    ok(imported(study, LOGS / "terse.eval", "terse"))
    assert journal(study)[-1] == {
        "kind": "closed", "stage": "confirmatory", "slots": 12, "episodes": 11, "abandoned": 0, "missing": 1,
    }  # fmt: skip
    ok(call("verify", "receipts", cwd=study))


def drawn_again(log: dict[str, Any]) -> None:
    log["samples"][0]["error_retries"] = [{"message": "not so"}, {"message": "nor so"}]


def test_a_sample_that_was_drawn_again_has_the_attempts_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between two of them, the import goes on; the edition's results count both."""
    study = make_study(tmp_path / "study")
    plan = study / PLAN
    plan.write_text(plan.read_text().replace("{max: 1, retry_on: []}", "{max: 3, retry_on: [harness_error]}"))
    ok(call("seal", PLAN, cwd=study))
    log, append, calls = changed(tmp_path, drawn_again), Journal.append, 0

    def dying(self: Journal, event: Any, **named: Any) -> Any:
        nonlocal calls
        calls += event.slot["family"] == "sum-12" and event.slot["seed"] == 1 if hasattr(event, "slot") else 0
        if calls == 3:
            raise HarnessError("killed")
        return append(self, event, **named)

    monkeypatch.setattr(Journal, "append", dying)
    assert imported(study, log, "stepwise").code == 3
    monkeypatch.undo()
    ok(imported(study, log, "stepwise"))
    ok(imported(study, LOGS / "terse.eval", "terse"))
    whys = [event["why"] for event in journal(study) if event["kind"] == "failed"]
    assert whys == [f"the sample was drawn again after an error: {why}" for why in ("not so", "nor so")]
    flow = json.loads(ok(call("analyse", PLAN, "--json", cwd=study)).out)["flow"]["stepwise"]
    assert (flow["drawn_again"], flow["episodes"], flow["missing"]) == (1, 6, 0)


def test_settings_of_a_role_that_are_the_plans_are_taken(tmp_path: Path) -> None:
    own = {"solver": {"model": "mockllm/model", "config": {"temperature": 0.0, "max_tokens": 40}}}
    log = changed(tmp_path, lambda log: log["eval"].update(model_roles=own, model_generate_config={"temperature": 1}))
    ok(imported(sealed(tmp_path / "study"), log, "stepwise"))


@pytest.mark.parametrize(
    ("change", "ended"),
    [
        (lambda sample: sample.update(limit={"type": "message", "limit": 3}), "budget"),
        (lambda sample: sample["output"]["choices"][0].update(stop_reason="max_tokens"), "cut_off"),
        (lambda sample: sample["output"]["choices"][0].update(stop_reason="content_filter"), "refusal"),
    ],
)
def test_how_a_sample_ended(change: Callable[[dict[str, Any]], None], ended: str, tmp_path: Path) -> None:
    log = read_log(changed(tmp_path, lambda log: change(log["samples"][0])))
    assert [sample.answer.ended for sample in log.samples].count(ended) == 1


@pytest.mark.parametrize(
    ("value", "measure"),
    [("C", 1), ("I", 0), ("N", 0), ("P", "0.5"), (True, 1), (0.25, "0.25"), (3, 3), ("0.5", "0.5"), (None, None)],
)
def test_what_a_score_is_as_a_measure(value: Any, measure: Any, tmp_path: Path) -> None:
    log = read_log(changed(tmp_path, lambda log: log["samples"][0]["scores"]["match"].update(value=value)))
    assert log.samples[0].scores["match"] == measure


def test_a_scorer_of_several_values_is_several_measures(tmp_path: Path) -> None:
    several = {"style": 1, "content": 0.5}
    log = read_log(changed(tmp_path, lambda log: log["samples"][0]["scores"]["match"].update(value=several)))
    assert log.samples[0].scores == {"match_style": 1, "match_content": "0.5", "includes": 1}


# --- what is refused, with nothing written


def drop(log: dict[str, Any]) -> None:
    del log["samples"][0]


def double(log: dict[str, Any]) -> None:
    log["samples"].append(log["samples"][0])


def foreign(log: dict[str, Any]) -> None:
    log["samples"][0]["id"] = "sum-99"


def third_epoch(log: dict[str, Any]) -> None:
    log["samples"][0]["epoch"] = 3


def no_epoch(log: dict[str, Any]) -> None:
    log["samples"][0]["epoch"] = 0


def other_model(log: dict[str, Any]) -> None:
    log["eval"]["model"] = "mockllm/other"
    log["samples"][0]["model_usage"] = {"mockllm/other": {"input_tokens": 1, "output_tokens": 1}}
    log["samples"] = [sample | {"model_usage": log["samples"][0]["model_usage"]} for sample in log["samples"]]


def second_model(log: dict[str, Any]) -> None:
    log["samples"][0]["model_usage"]["mockllm/grader"] = {"input_tokens": 1, "output_tokens": 1}


def warmer(log: dict[str, Any]) -> None:
    log["eval"]["model_generate_config"] = {"temperature": 0.7}


def warmer_role(log: dict[str, Any]) -> None:
    log["eval"]["model_roles"] = {"solver": {"model": "mockllm/model", "config": {"temperature": 1.9}}}


def longer_role(log: dict[str, Any]) -> None:
    log["eval"]["model_roles"] = {"solver": {"model": "mockllm/model", "config": {"max_tokens": 9999}}}


def uncounted_retries(log: dict[str, Any]) -> None:
    log["eval"]["config"]["retry_on_error"] = 3
    del log["samples"][0]["error_retries"]


def edited(log: dict[str, Any]) -> None:
    log["samples"][1]["scores"]["match"]["history"] = [{"value": "I", "provenance": {"author": "me"}}]


def invalid_sample(log: dict[str, Any]) -> None:
    log["samples"][0]["invalidation"] = {"author": "me", "reason": "not liked"}


def partial(log: dict[str, Any]) -> None:
    log["results"].update(completed_samples=1, total_samples=99)


def no_score(log: dict[str, Any]) -> None:
    log["samples"][0]["scores"] = {}


def odd_score(log: dict[str, Any]) -> None:
    log["samples"][0]["scores"]["match"]["value"] = "P"


def unfinished(log: dict[str, Any]) -> None:
    log["status"] = "cancelled"


def invalid(log: dict[str, Any]) -> None:
    log["invalidated"] = True


def another_version(log: dict[str, Any]) -> None:
    log["version"] = 3


def without_prompt(log: dict[str, Any]) -> None:
    log["eval"]["task_args"] = {}


def without_zone(log: dict[str, Any]) -> None:
    log["eval"]["created"] = "2026-11-30T00:00:00"


def too_many_tokens(log: dict[str, Any]) -> None:
    log["samples"][0]["model_usage"]["mockllm/model"]["output_tokens"] = 41


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (drop, "5 samples for the 6 slots of arm stepwise: arm=stepwise,family=sum-12,seed=1"),
        (double, "sample 'sum-12', epoch 1, stands twice"),
        (foreign, "sample 'sum-99' is no level of family, so it has no slot"),
        (third_epoch, "epoch 3 is no seed of the plan, so it has no slot"),
        (no_epoch, "found epoch 0, due 1 or more"),
        (other_model, "models.solver: found 'mockllm/other', due the model mockllm/model"),
        (second_model, "called mockllm/grader, which no role of the arm plays"),
        (warmer, "states temperature 0.7, but the plan has 0 for solver"),
        (warmer_role, "states temperature 1.9, but the plan has 0 for solver"),
        (longer_role, "states max_output_tokens 9999, but the plan has 40 for solver"),
        (drawn_again, "was drawn 3 times (error_retries), and the plan allows 1 after a harness_error"),
        (uncounted_retries, "may have been drawn again, as the log has retry_on_error"),
        (edited, "epoch 1: its score 'match' was edited by hand; import the log as its scorers left it"),
        (invalid_sample, "sample 'sum-12', epoch 1, is invalidated"),
        (partial, "says that 1 of 99 samples were completed, and has 6, 6 of them without an error"),
        (no_score, "measures.match: found nothing, due a value"),
        (odd_score, "measures.match: found 0.5, due 0 or 1"),
        (unfinished, "version 2 with status 'cancelled', due version 2 with status success"),
        (invalid, "found a log that is invalidated"),
        (another_version, "version 3 with status 'success'"),
        (without_prompt, "has no task argument prompt, an option of arm stepwise"),
        (without_zone, "a time without its zone"),
        (too_many_tokens, "usage.output_tokens: found 41, due at most 40"),
    ],
)
def test_a_log_that_does_not_fit_is_refused_whole(
    change: Callable[[dict[str, Any]], None], says: str, sealed_sums: Path, tmp_path: Path
) -> None:
    before = (sealed_sums / RECEIPTS / "journal.jsonl").read_bytes()
    outcome = imported(sealed_sums, changed(tmp_path, change), "stepwise")
    assert outcome.code in (1, 2) and says in outcome.err, outcome.err
    assert (sealed_sums / RECEIPTS / "journal.jsonl").read_bytes() == before


@pytest.fixture(scope="module")
def sealed_sums(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed study; no test that uses it leaves anything in its journal."""
    return sealed(tmp_path_factory.mktemp("sums") / "study")


def test_the_log_of_one_arm_is_not_that_of_another(sealed_sums: Path) -> None:
    outcome = imported(sealed_sums, LOGS / "terse.eval", "stepwise")
    assert outcome.code == 1
    assert "the task argument prompt is 'Answer with a number.', but arm stepwise has 'Go step by step.'" in outcome.err
    assert "the plan has no arm 'loud'" in imported(sealed_sums, LOGS / "terse.eval", "loud").err
    assert "there is no such log" in imported(sealed_sums, LOGS / "none.eval", "terse").err


def test_a_log_begun_before_the_seal_needs_a_plan_that_says_so(tmp_path: Path) -> None:
    study = sealed(tmp_path / "study", access="none_collected")
    outcome = imported(study, LOGS / "terse.eval", "terse")
    assert (
        outcome.code == 1 and "before the seal of" in outcome.err and "such a log is not preregistered" in outcome.err
    )
    assert len(journal(study)) == 1


def test_an_arm_is_imported_once(tmp_path: Path) -> None:
    study = sealed(tmp_path / "study")
    ok(imported(study, LOGS / "stepwise.eval", "stepwise"))
    again = imported(study, LOGS / "stepwise.eval", "stepwise")
    assert again.code == 2 and "this log was imported for arm stepwise" in again.err
    other = imported(study, LOGS / "stepwise.json", "stepwise")
    assert other.code == 2 and "6 slots of arm stepwise were tried already" in other.err


def test_an_import_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before each append in turn; what is there at the end is what one import leaves, but for the tries."""
    whole = sealed(tmp_path / "whole")
    ok(imported(whole, LOGS / "terse.eval", "terse"))
    ok(imported(whole, LOGS / "stepwise.eval", "stepwise"))
    study = sealed(tmp_path / "study")
    ok(imported(study, LOGS / "terse.eval", "terse"))
    append, killed = Journal.append, 0

    for step in range(40):
        calls = 0

        def dying(self: Journal, *arguments: Any, step: int = step, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > step % 4:
                raise HarnessError("killed")
            return append(self, *arguments, **named)

        monkeypatch.setattr(Journal, "append", dying)
        killed += imported(study, LOGS / "stepwise.eval", "stepwise").code == 3
        monkeypatch.undo()
    assert killed > 10
    ended = imported(study, LOGS / "stepwise.eval", "stepwise")
    assert ended.code == 0 or "this log was imported" in ended.err

    def measured(folder: Path) -> Any:
        lines = [json.loads(line) for line in (folder / RECEIPTS / "episodes.jsonl").read_bytes().splitlines()]
        return [(line["slot"], line["measures"]) for line in lines]

    assert measured(study) == measured(whole)
    assert [event["kind"] for event in journal(study)].count("closed") == 1
    assert [event["kind"] for event in journal(study)].count("imported") == 2
    ok(call("verify", "receipts", cwd=study))


def test_a_plan_that_runs_its_slots_takes_none_from_a_log(tmp_path: Path) -> None:
    study = tmp_path / "own"
    ok(call("init", study, "--own-harness", cwd=tmp_path))
    ok(call("seal", "plans/ab-prompts.yaml", cwd=study))
    outcome = call("import", "inspect", LOGS / "terse.eval", "plans/ab-prompts.yaml", "--arm", "terse", cwd=study)
    assert outcome.code == 2 and "the plan names a command that runs its slots" in outcome.err


# --- what verify makes of an edited journal


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"before_seal": False}, "says of a log of"),
        ({"created": "2099-01-01T00:00:00Z"}, "says of a log of"),
        ({"arm": "terse"}, "comes from a log that no entry imports for this arm"),
        ({"log": digest_bytes(b"another")}, "comes from a log that no entry imports for this arm"),
    ],
)
def test_an_entry_of_an_import_that_was_edited_is_found(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    study = sealed(tmp_path / "study")
    ok(imported(study, LOGS / "stepwise.eval", "stepwise"))
    folder = study / RECEIPTS
    entries, prev, size = [], None, 0
    for raw in (folder / "journal.jsonl").read_bytes().splitlines():
        entry = json.loads(raw)
        if entry["event"]["kind"] == "imported":
            entry["event"] |= change
        entry["prev"] = prev
        entries.append(encode_value(entry))
        prev, size = digest_bytes(entries[-1]), size + len(entries[-1]) + 1
    (folder / "journal.jsonl").write_bytes(b"".join(line + b"\n" for line in entries))
    head = json.loads((folder / "HEAD").read_bytes()) | {"digest": prev, "size": size}
    (folder / "HEAD").write_bytes(encode_value(head) + b"\n")
    found = call("verify", "receipts", "--no-remember", cwd=study)
    assert found.code == 1 and says in found.err, found.err


# --- the zip


def zipped(*named: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in named:
            archive.writestr(name, content)
    return file.getvalue()


def read(data: bytes) -> dict[str, bytes]:
    return dict(members(data, lambda name: name.endswith(".json"), where="log"))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_as_they_were_written(method: int) -> None:
    assert read(zipped(("a.json", b"{}"), ("b.txt", b"b"), ("c.json", b""), method=method)) == {
        "a.json": b"{}",
        "c.json": b"",
    }


def declared(data: bytes, size: int) -> bytes:
    """The archive with another unpacked size of its only member, in both places that say it."""
    central = data.index(b"PK\x01\x02")
    word = size.to_bytes(4, "little")
    return data[:22] + word + data[26 : central + 24] + word + data[central + 28 :]


BOMB = zipped(("a.json", b"0" * 100_000_000))
FLAGGED = bytearray(zipped(("a.json", b"{}")))
FLAGGED[FLAGGED.index(b"PK\x01\x02") + 8] |= 1
METHOD = bytearray(zipped(("a.json", b"{}")))
METHOD[METHOD.index(b"PK\x01\x02") + 10] = zipfile.ZIP_BZIP2


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is no zip"),
        (b"PK\x03\x04", "is no zip"),
        (zipped(("a.json", b"{}"))[:-4], "is no zip"),
        (BOMB, "is 100000000 bytes unpacked, due at most 67108864"),
        (declared(BOMB, 1000), "is not as long"),
        (declared(zipped(("a.json", b"{}")), 3), "is not as long"),
        (zipped(("a.json", b"{}")).replace(b"PK\x03\x04", b"PK\x03\x05"), "the zip has no such member where it says"),
        (bytes(FLAGGED), "is encrypted"),
        (bytes(METHOD), "is compressed by method 12, due none, deflate or Zstandard"),
        (zipped(*((f"{n}", b"") for n in range(20_001))), "20001 members, due at most 20000"),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_zip_that_is_not_as_it_should_be_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(MalformedError, match="log") as caught:
        read(data)
    assert says in str(caught.value)


def test_a_member_twice_is_refused() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = zipped(("a.json", b"1"), ("a.json", b"2"))
    with pytest.raises(MalformedError, match=r"the member 'a\.json' stands twice"):
        read(data)


def test_a_flipped_byte_of_a_real_log_is_refused_or_changes_nothing() -> None:
    data = (LOGS / "terse.eval").read_bytes()
    honest = read(data)
    for place in range(0, len(data), 97):
        bad = bytearray(data)
        bad[place] ^= 0x55
        try:
            found = read(bytes(bad))
        except SealkitError:
            continue
        assert all(honest[name] == content for name, content in found.items() if name in honest)


def test_zstandard_without_its_package_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(HarnessError, match=r"`inspect log convert --to json`; or .* pip install '\.\[inspect\]'"):
        read((LOGS / "terse.eval").read_bytes())


def test_a_log_with_what_looks_like_a_key_is_refused(tmp_path: Path) -> None:
    study, key = sealed(tmp_path / "study"), "sk-" + "abcdefghijklmnopqrstuvwx"
    log = changed(tmp_path, lambda log: log["samples"][0].update(error={"message": key}, scores=None))
    found = imported(study, log, "stepwise")
    assert found.code in (1, 2) and "holds what looks like a key" in found.err and key not in found.err
