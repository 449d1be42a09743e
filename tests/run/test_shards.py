"""Shards of a run, each in a folder and journal of its own, and their merge: everything by the command line."""

from __future__ import annotations

import json
import random
import shutil
import signal
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from sealkit.plan.load import open_plan
from sealkit.plan.slots import slots
from sealkit.run.shares import drawn_share, parse_share
from sealkit.seal.journal import Journal
from sealkit.wire.canon import decode_record, encode_record, encode_value
from sealkit.wire.chain import Entry, extend, follow
from sealkit.wire.errors import UsageError
from sealkit.wire.journal_head import EMPTY
from tests.run.killing import ENTRY, Moment, moments, nursery, stopped_fork
from tests.studies import ID, MIDDLE, PLAN, Outcome, call, make_study, ok, plan_text

RECEIPTS = Path("receipts") / ID


def shard(study: Path, number: int, of: int) -> Path:
    return study / RECEIPTS / "shards" / f"{number}-of-{of}"


def run(study: Path, share: str, *more: str) -> Outcome:
    return call("run", PLAN, "--shard", share, "--jobs", "1", *more, cwd=study)


def merge(study: Path, *more: str) -> Outcome:
    return call("merge", PLAN, *more, cwd=study)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_bytes().splitlines()]


def kept(folder: Path) -> list[bytes]:
    return (folder / "episodes.jsonl").read_bytes().splitlines()


def verified(study: Path) -> dict[str, Any]:
    [one] = json.loads(ok(call("verify", "--no-remember", "--json", cwd=study)).out)["studies"]
    return dict(one)


@pytest.fixture(scope="session")
def two_shards_once(tmp_path_factory: pytest.TempPathFactory, sealed_once: Path) -> Path:
    """The small study after both of its shards were run, each in a copy of its own, and put together again."""
    study = Path(shutil.copytree(sealed_once, tmp_path_factory.mktemp("shards") / "study"))
    other = Path(shutil.copytree(study, tmp_path_factory.mktemp("other") / "study"))
    ok(run(study, "1/2"))
    ok(run(other, "2/2"))
    shutil.copytree(shard(other, 2, 2), shard(study, 2, 2))
    return study


@pytest.fixture
def two(two_shards_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(two_shards_once, tmp_path / "study"))


# --- shares --------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", [1, 2, 3, 7, 30])
def test_shares_are_whole_blocks_that_make_up_the_run(of: int, tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / PLAN).write_text(plan_text(MIDDLE))
    spec = open_plan(tmp_path / PLAN).spec
    shares = [list(drawn_share(spec, number, of)) for number in range(1, of + 1)]
    everything = [tuple(sorted(slot.items(), key=str)) for share in shares for slot in share]
    assert sorted(everything, key=str) == sorted(
        (tuple(sorted(slot.items(), key=str)) for slot in slots(spec, "confirmatory")), key=str
    )
    owners = [{tuple(slot[name] for name in spec.sample.block_by) for slot in share} for share in shares]
    assert sum(map(len, owners)) == len(set().union(*owners)) == 30, "a block is in one share alone"
    assert max(map(len, owners)) - min(map(len, owners)) <= 1


@pytest.mark.parametrize("text", ["0/2", "3/2", "1/0", "1", "1/2/3", "a/b", "01/2", "-1/2", "1/10000", "1 /2", ""])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="due i/n"):
        parse_share(text)


# --- a shard -------------------------------------------------------------------------------------


def test_a_shard_has_a_journal_of_its_own_that_begins_with_what_binds_it(sealed: Path) -> None:
    before = (sealed / RECEIPTS / "journal.jsonl").read_bytes()
    head = json.loads((sealed / RECEIPTS / "HEAD").read_bytes())
    report = json.loads(ok(run(sealed, "1/2", "--json")).out)
    assert report == {"slots": 4, "episodes": 4, "new": 4, "abandoned_attempts": 0, "missing": 0}
    first = lines(shard(sealed, 1, 2))[0]["event"]
    assert first["after"] == f"{head['count']}:{head['digest']}"
    assert (first["kind"], first["plan"], first["shard"], first["of"]) == ("sharded", ID, 1, 2)
    assert first["seal"] == first["pin"] == lines(sealed / RECEIPTS)[0]["event"]["pin"]
    after = (sealed / RECEIPTS / "journal.jsonl").read_bytes()
    noted = [one["event"] for one in lines(sealed / RECEIPTS)[head["count"] :]]
    assert after.startswith(before) and [one["kind"] for one in noted] == ["shard_head"] * 2
    assert [one["head"].split(":")[0] for one in noted] == ["2", str(len(lines(shard(sealed, 1, 2))))]
    assert json.loads(ok(run(sealed, "1/2", "--json")).out)["new"] == 0
    assert (sealed / RECEIPTS / "journal.jsonl").read_bytes() == after, "what it says already is not said again"


def test_status_shows_shards_and_that_they_are_to_be_merged(sealed: Path) -> None:
    ok(run(sealed, "2/2"))
    out = ok(call("status", PLAN, cwd=sealed)).out
    assert "shard 2 of 2: 4 of 4 slots have their episode, 0 attempts abandoned, closed, not merged" in out
    assert f"next: sealkit merge {PLAN}, when every shard is closed" in out
    ok(run(sealed, "1/2"))
    ok(merge(sealed))
    assert "shard 2 of 2: merged" in ok(call("status", PLAN, cwd=sealed)).out


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("--shard", "1/3"), "the run is shared among 2, not 3", 2),
        ((), "1 shards wait to be merged before the main run goes on", 2),
        (
            ("--shard", "1/9999"),
            "9999 shards, but only whole blocks of the confirmatory stage are shared, and it has 4",
            2,
        ),
        (("--shard", "1/2", "--smoke"), "a smoke run has no shards", 2),
    ],
)
def test_beside_a_shard_these_are_refused(arguments: tuple[str, ...], said: str, code: int, sealed: Path) -> None:
    ok(run(sealed, "1/2"))
    outcome = call("run", PLAN, "--jobs", "1", *arguments, cwd=sealed)
    assert (outcome.code, said in outcome.err) == (code, True), outcome.said


def test_an_amendment_waits_for_the_merge(two: Path) -> None:
    agents = two / "worlds" / "house" / "agents.py"
    agents.write_text(agents.read_text() + "\n# changed\n")
    refused = call("amend", PLAN, "--reason", "a remark", cwd=two)
    assert refused.code == 2 and "2 shards wait to be merged before an amendment is made" in refused.err
    agents.write_text(agents.read_text().removesuffix("\n# changed\n"))
    ok(merge(two))
    agents.write_text(agents.read_text() + "\n# changed\n")
    ok(call("amend", PLAN, "--reason", "a remark", cwd=two))
    assert "nothing was to be done" in ok(merge(two)).out
    ok(call("verify", "--no-remember", cwd=two))


def test_a_main_run_that_has_begun_is_not_shared(study: Path) -> None:
    outcome = run(study, "1/2")
    assert outcome.code == 2 and "the confirmatory run has begun without shards" in outcome.err


# --- a shard that began in the main journal's own folder -------------------------------------------


def test_a_shard_that_was_deleted_is_named_by_all_and_let_go_by_merge_alone_for_good(two: Path) -> None:
    shutil.rmtree(shard(two, 1, 2))
    gone = "shard 1 of 2 began here, and its journal is gone"
    for outcome in (run(two, "1/2"), run(two, "2/2"), merge(two), call("verify", "--no-remember", cwd=two)):
        assert (outcome.code, gone in outcome.err) == (1, True), outcome.said
    out = ok(call("status", cwd=two)).out
    assert "shard 1 of 2: began here, and its journal is gone" in out
    assert f"next: sealkit merge {PLAN} --unfinished, unless shard 1 can be put back as it was" in out
    assert call("run", PLAN, cwd=two).code == 2, "its slots are not run by the main run in silence"
    report = json.loads(ok(merge(two, "--unfinished", "--json")).out)
    assert (report["shards"], report["lost"], report["closed"]) == (1, 1, False)
    assert run(two, "1/2").code == 2
    ok(call("run", PLAN, "--jobs", "1", cwd=two))
    assert "shard 1 of 2 began here and was lost: nobody can say what it held" in str(verified(two)["notes"])
    ok(call("analyse", PLAN, cwd=two))
    claims = json.loads(ok(call("claims", PLAN, "--json", cwd=two)).out)["claims"]
    assert claims and all("shard 1 of 2 was lost" in str(one) for one in claims), claims


def test_a_shard_that_was_run_anew_or_cut_back_is_not_the_one_that_began_here(two: Path, sealed_once: Path) -> None:
    honest = Path(shutil.copytree(shard(two, 1, 2), two / "honest"))
    other = Path(shutil.copytree(sealed_once, two / "other"))
    ok(run(other, "1/2"))
    for change in ("anew", "cut back"):
        shutil.rmtree(shard(two, 1, 2))
        shutil.copytree(honest if change == "cut back" else shard(other, 1, 2), shard(two, 1, 2))
        edit(shard(two, 1, 2), reopened if change == "cut back" else later)
        for outcome in (
            run(two, "1/2"),
            merge(two),
            merge(two, "--unfinished"),
            call("verify", "--no-remember", cwd=two),
        ):
            assert (outcome.code, "the main journal quotes" in outcome.err) == (1, True), (change, outcome.said)


def cut(folder: Path, count: int) -> None:
    """The folder's journal, with its HEAD, as it was after its first entries; it had no episodes then."""
    head, kept_lines = EMPTY, (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)[:count]
    for line in kept_lines:
        _, head = follow(head, line[:-1])
    (folder / "journal.jsonl").write_bytes(b"".join(kept_lines))
    (folder / "HEAD").write_bytes(encode_record(head) + b"\n")
    (folder / "episodes.jsonl").write_bytes(b"")


@pytest.fixture
def killed(sealed: Path) -> Path:
    """The small study after a run of its first shard was killed, and all of its attempts were cut out of the shard."""
    before = len(lines(sealed / RECEIPTS))
    ok(run(sealed, "1/2"))
    cut(sealed / RECEIPTS, before + 1)  # a kill leaves no note of the end
    cut(shard(sealed, 1, 2), 2)
    return sealed


def test_a_shard_that_was_killed_and_cut_back_to_where_its_run_began_is_named_to_the_end(killed: Path) -> None:
    said = "a run of shard 1 of 2 that began at entry 1 left nothing: its attempts may have been removed"
    assert said in str(verified(killed)["notes"])
    assert said in ok(run(killed, "1/2")).out
    ok(run(killed, "2/2"))
    assert said in ok(merge(killed)).out
    shutil.rmtree(killed / RECEIPTS / "shards")
    assert said in str(verified(killed)["notes"])
    ok(call("analyse", PLAN, cwd=killed))
    claims = json.loads(ok(call("claims", PLAN, "--json", cwd=killed)).out)["claims"]
    assert claims and all("that began at entry 1 left nothing" in str(one) for one in claims), claims


def test_a_shard_cut_back_to_before_its_run_is_refused(killed: Path) -> None:
    cut(shard(killed, 1, 2), 1)
    for outcome in (run(killed, "1/2"), merge(killed, "--unfinished"), call("verify", "--no-remember", cwd=killed)):
        assert (outcome.code, "the main journal quotes 2 entries" in outcome.err) == (1, True), outcome.said


def test_an_amendment_after_a_shard_began_comes_after_an_attempt_may_have_been_made(killed: Path) -> None:
    ok(merge(killed, "--unfinished"))
    agents = killed / "worlds" / "house" / "agents.py"
    agents.write_text(agents.read_text() + "\n# changed\n")
    ok(call("amend", PLAN, "--reason", "a remark", cwd=killed))
    assert lines(killed / RECEIPTS)[-1]["event"]["phase"] == "after_first_episode"


def later(documents: list[dict[str, Any]]) -> None:
    documents[0]["time"] = "2099-01-01T00:00:00Z"


def test_a_shard_that_was_left_out_of_the_merge_is_not_passed_over(two: Path) -> None:
    late = shutil.move(shard(two, 2, 2), two / "late")
    ok(merge(two, "--unfinished"))
    ok(call("run", PLAN, "--jobs", "1", cwd=two))
    ok(call("verify", "--no-remember", cwd=two))
    shutil.move(late, shard(two, 2, 2))
    refused = call("verify", "--no-remember", cwd=two)
    assert refused.code == 1 and "was left out of the merge, and holds 4 episodes of slots" in refused.err


def test_what_lies_about_beside_shards_is_passed_over_or_named(two: Path) -> None:
    (two / RECEIPTS / "shards" / ".DS_Store").write_bytes(b"x")
    stray = two / RECEIPTS / "shards" / "notes.txt"
    stray.write_text("x")
    refused = merge(two)
    assert refused.code == 1 and "notes.txt: is not named as a shard's folder" in refused.err
    assert "move it out of shards/" in refused.err
    stray.rename(stray.with_name("1-of-3"))
    assert "1-of-3" in merge(two).err
    stray.with_name("1-of-3").unlink()
    ok(merge(two))


# --- the merge -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_merged_study_verifies_and_is_published_as_any_other(two: Path, run_once: Path) -> None:
    folders = (shard(two, 1, 2), shard(two, 2, 2))
    alone = {folder: {path: path.read_bytes() for path in folder.iterdir()} for folder in folders}
    report = json.loads(ok(merge(two, "--json")).out)
    assert report == {
        "shards": 2,
        "lost": 0,
        "copied": 22,
        "slots": 8,
        "episodes": 8,
        "abandoned_attempts": 0,
        "closed": True,
    }
    assert alone == {folder: {path: path.read_bytes() for path in folder.iterdir()} for folder in alone}
    assert kept(two / RECEIPTS) == kept(shard(two, 1, 2)) + kept(shard(two, 2, 2))
    found = verified(two)
    assert "2 of 2 merged shards are here: the main journal holds the same entries and episodes" in found["notes"]
    assert {arm["admitted"] for arm in found["arms"].values()} == {4}
    ok(call("analyse", PLAN, cwd=two))
    ok(call("publish", PLAN, cwd=two))
    [edition] = (two / "publications").iterdir()
    assert "shared among 2 shards by whole blocks" in (edition / "results.json").read_text()
    assert "2 of 2 merged shards are not here" in ok(call("verify", edition, "--no-remember", cwd=two)).out
    assert sorted(kept(two / RECEIPTS)) == sorted(kept(run_once / RECEIPTS)), "the bytes of a run without shards"


def test_merging_again_changes_nothing(two: Path) -> None:
    ok(merge(two))
    before = (two / RECEIPTS / "journal.jsonl").read_bytes()
    assert "2 shards were merged before; nothing was to be done" in ok(merge(two)).out
    assert (two / RECEIPTS / "journal.jsonl").read_bytes() == before
    refused = run(two, "1/2")
    assert refused.code == 2 and "the shards are merged" in refused.err
    assert json.loads(ok(call("run", PLAN, "--json", cwd=two)).out)["new"] == 0


def test_a_shard_that_is_missing_or_open_is_left_to_the_main_run_only_where_that_is_asked_for(two: Path) -> None:
    shutil.rmtree(shard(two, 2, 2))
    refused = merge(two)
    assert refused.code == 2 and "1 of 2 shards are missing, the first is 2" in refused.err
    assert json.loads(ok(merge(two, "--unfinished", "--json")).out)["closed"] is False
    assert json.loads(ok(call("run", PLAN, "--jobs", "1", "--json", cwd=two)).out)["new"] == 4
    ok(call("verify", "--no-remember", cwd=two))
    assert "nothing was to be done" in ok(merge(two)).out


def test_a_shard_that_was_stopped_is_merged_with_its_slots_missing(sealed: Path) -> None:
    ok(run(sealed, "1/2"))
    refused = call("run", PLAN, "--stop", "no more money", cwd=sealed)
    assert refused.code == 2 and "1 shards wait to be merged" in refused.err
    ok(run(sealed, "2/2", "--stop", "no more money"))
    assert json.loads(ok(merge(sealed, "--json")).out)["episodes"] == 4
    assert sum(arm["missing"] for arm in verified(sealed)["arms"].values()) == 4


def edit(folder: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Rewrite a shard's journal as somebody would who can chain entries."""
    documents = lines(folder)
    change(documents)
    head, out = EMPTY, []
    for number, document in enumerate(documents):
        document |= {"seq": number, "prev": None}
        line, head = extend(head, decode_record(encode_value(document), Entry).event, document["time"])
        out.append(line + b"\n")
    (folder / "journal.jsonl").write_bytes(b"".join(out))
    (folder / "HEAD").write_bytes(encode_record(head) + b"\n")


def drop_last_slot(documents: list[dict[str, Any]]) -> None:
    del documents[-3:-1]
    documents[-1]["event"] |= {"episodes": 3, "missing": 1}


def reopened(documents: list[dict[str, Any]]) -> None:
    del documents[-1]


def another_seal(documents: list[dict[str, Any]]) -> None:
    documents[0]["event"]["seal"] = "sha256:" + "0" * 64


def another_pin(documents: list[dict[str, Any]]) -> None:
    documents[0]["event"]["pin"] = "sha256:" + "0" * 64


def another_main(documents: list[dict[str, Any]]) -> None:
    documents[0]["event"]["after"] = "1:sha256:" + "0" * 64


def looked(documents: list[dict[str, Any]]) -> None:
    documents.insert(1, {**documents[1], "event": {"kind": "looked", "what": "everything"}})


def smoke(documents: list[dict[str, Any]]) -> None:
    documents[1]["event"]["stage"] = "smoke"


def twice(documents: list[dict[str, Any]]) -> None:
    documents[4:4] = documents[2:4]


@pytest.mark.parametrize(
    ("change", "said", "code"),
    [
        (reopened, "shard 2 of 2 is not closed", 2),
        (another_seal, "this shard belongs to another seal", 1),
        (another_pin, "ran under an earlier pin than the one in force", 1),
        (another_main, "it began after 1 entries of another main journal than this", 1),
        (looked, "found looked, which cannot stand here in a shard's journal", 1),
        (smoke, "found an entry of the smoke stage", 1),
        (twice, "has an episode already", 1),
    ],
)
def test_a_shard_that_was_rewritten_is_refused_and_nothing_is_merged(
    change: Callable[[list[dict[str, Any]]], None], said: str, code: int, two: Path
) -> None:
    edit(shard(two, 2, 2), change)
    if change is twice:
        episodes = shard(two, 2, 2) / "episodes.jsonl"
        first, rest = episodes.read_bytes().split(b"\n", 1)
        episodes.write_bytes(first + b"\n" + first + b"\n" + rest)
    before = (two / RECEIPTS / "journal.jsonl").read_bytes()
    refused = merge(two)
    assert (refused.code, said in refused.err) == (code, True), refused.said
    assert str(shard(Path(), 2, 2)) in refused.err, "it says where"
    assert (two / RECEIPTS / "journal.jsonl").read_bytes() == before


def test_a_shard_that_was_closed_before_it_was_run_is_refused(two: Path) -> None:
    edit(shard(two, 2, 2), drop_last_slot)
    episodes = shard(two, 2, 2) / "episodes.jsonl"
    episodes.write_bytes(b"".join(episodes.read_bytes().splitlines(keepends=True)[:-1]))
    refused = merge(two)
    assert refused.code == 1
    assert "closed, but 1 of its 4 slots have neither an episode nor a failure" in refused.err


def test_the_slots_of_another_share_are_refused(two: Path) -> None:
    """Shard 1's journal under the name and number of shard 2, which ran elsewhere."""
    shutil.rmtree(shard(two, 2, 2))
    shutil.copytree(shard(two, 1, 2), shard(two, 2, 2))
    refused = merge(two)
    assert refused.code == 1 and "begins shard 1 of 2, due 2 of 2" in refused.err
    edit(shard(two, 2, 2), lambda documents: documents[0]["event"].update(shard=2))
    refused = merge(two)
    assert refused.code == 1 and "is in the share of shard 1, not 2" in refused.err


def test_shards_of_two_ways_to_share_a_run_are_refused(two: Path, sealed_once: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(sealed_once, tmp_path / "other"))
    ok(run(other, "1/3"))
    shutil.copytree(shard(other, 1, 3), shard(two, 1, 3))
    refused = merge(two)
    assert refused.code == 1 and "found shards of 2 and of 3" in refused.err


def test_a_smoke_run_after_shards_began_is_no_hindrance_and_one_that_only_their_copy_knows_is(
    two: Path, sealed_once: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(sealed_once, tmp_path / "other"))
    ok(call("run", PLAN, "--smoke", "--jobs", "1", cwd=other))
    ok(run(other, "1/2"))
    honest = shutil.move(shard(two, 1, 2), tmp_path / "honest")
    shutil.copytree(shard(other, 1, 2), shard(two, 1, 2))
    refused = merge(two)
    assert refused.code == 1 and "entries of another main journal than this" in refused.err
    shutil.rmtree(shard(two, 1, 2))
    shutil.move(honest, shard(two, 1, 2))
    ok(call("run", PLAN, "--smoke", "--jobs", "1", cwd=two))
    ok(merge(two))
    ok(call("verify", "--no-remember", cwd=two))


def test_a_byte_of_a_shards_episode_is_missed_by_neither_merge_nor_verify(two: Path) -> None:
    episodes = shard(two, 2, 2) / "episodes.jsonl"
    honest = episodes.read_bytes()
    episodes.write_bytes(honest.replace(b'"ended":"final"', b'"ended":"funal"', 1))
    assert merge(two).code == 1
    episodes.write_bytes(honest)
    ok(merge(two))
    episodes.write_bytes(honest.replace(b'"ended":"final"', b'"ended":"funal"', 1))
    refused = call("verify", "--no-remember", cwd=two)
    assert refused.code == 1 and str(shard(Path(), 2, 2)) in refused.err


def test_a_shard_that_was_run_on_after_the_merge_is_named(two: Path) -> None:
    ok(merge(two))
    edit(shard(two, 2, 2), reopened)
    for outcome in (call("verify", "--no-remember", cwd=two), merge(two)):
        assert outcome.code == 1 and str(shard(Path(), 2, 2)) in outcome.err, outcome.said


# --- what a hand can do to the main journal after a merge ------------------------------------------


@pytest.mark.parametrize("shards_here", [True, False])
@pytest.mark.parametrize("lie", ["time", "order", "mark", "gone"])
def test_a_copy_that_was_edited_and_chained_again_is_found_with_and_without_the_shards(
    lie: str, shards_here: bool, two: Path
) -> None:
    ok(merge(two))
    if not shards_here:
        shutil.rmtree(two / RECEIPTS / "shards")
    documents = lines(two / RECEIPTS)
    failed = next(number for number, one in enumerate(documents) if one["event"]["kind"] == "attempted")
    if lie == "time":
        documents[failed]["time"] = "2001-01-01T00:00:00Z"
    elif lie == "order":
        documents[failed : failed + 4] = documents[failed + 2 : failed + 4] + documents[failed : failed + 2]
        episodes = kept(two / RECEIPTS)
        (two / RECEIPTS / "episodes.jsonl").write_bytes(b"\n".join([episodes[1], episodes[0], *episodes[2:], b""]))
    elif lie == "mark":
        del documents[failed]["shard"]
    else:
        del documents[failed]
    head, out = EMPTY, []
    for number, document in enumerate(documents):
        entry = decode_record(encode_value(document | {"seq": number, "prev": None}), Entry)
        line, head = extend(head, entry.event, entry.time, shard=entry.shard)
        out.append(line + b"\n")
    (two / RECEIPTS / "journal.jsonl").write_bytes(b"".join(out))
    (two / RECEIPTS / "HEAD").write_bytes(encode_record(head) + b"\n")
    refused = call("verify", "--no-remember", cwd=two)
    assert refused.code == 1 and "journal.jsonl entry" in refused.err, refused.said


# --- killed ----------------------------------------------------------------------------------------


def test_a_merge_that_is_killed_again_and_again_ends_as_one_that_was_not(two: Path, tmp_path: Path) -> None:
    undisturbed = Path(shutil.copytree(two, tmp_path / "undisturbed"))
    ok(merge(undisturbed))
    drawn = random.Random(7)
    codes = []
    with nursery() as nurse:
        for _ in range(12):
            moment = Moment(drawn.randrange(0, 3) * ENTRY, drawn.uniform(0, 0.004))
            codes.append(stopped_fork(two, moment, nurse, "merge", PLAN, by=signal.SIGKILL))
    hits = codes.count(-signal.SIGKILL)
    assert hits >= 3
    middle = lines(two / RECEIPTS)[-1]["event"]["kind"] != "closed"
    if middle:
        assert call("verify", "--no-remember", cwd=two).code == 1
    ok(merge(two))
    ok(call("verify", "--no-remember", cwd=two))
    assert kept(two / RECEIPTS) == kept(undisturbed / RECEIPTS)
    marked = [[one["event"] for one in lines(study / RECEIPTS) if "shard" in one] for study in (two, undisturbed)]
    assert marked[0] == marked[1]


def test_a_merge_that_was_cut_off_is_named_and_goes_on(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, left = Journal.take_over, [5]

    def cut_off(self: Journal, *arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return whole(self, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "take_over", cut_off)
        assert merge(two).code == 130
    for outcome in (
        call("verify", "--no-remember", cwd=two),
        call("run", PLAN, cwd=two),
        call("analyse", PLAN, cwd=two),
    ):
        assert outcome.code == 1
        assert "holds 5 of the 11 entries of shard 1; a merge was cut off; `sealkit merge` completes it" in outcome.err
    assert f"next: sealkit merge {PLAN}\n" in ok(call("status", cwd=two)).out
    folder = shutil.move(shard(two, 1, 2), two / "elsewhere")
    gone = merge(two)
    assert gone.code == 2 and "a merge was cut off in shard 1 of 2, whose folder is gone" in gone.err
    shutil.move(folder, shard(two, 1, 2))
    assert json.loads(ok(merge(two, "--json")).out)["copied"] == 22 - 5
    ok(call("verify", "--no-remember", cwd=two))


def test_a_shard_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", MIDDLE)
    ok(call("seal", PLAN, cwd=study))
    uninterrupted = Path(shutil.copytree(study, tmp_path / "uninterrupted"))
    for share in ("1/2", "2/2"):
        ok(run(uninterrupted, share))
    ok(run(study, "1/2"))
    with nursery() as nurse:
        for moment in islice(moments(3), 8):
            asked = ("run", PLAN, "--jobs", "1", "--shard", "2/2")
            stopped_fork(study, moment, nurse, *asked, by=signal.SIGKILL, folder="shards/2-of-2")
    ok(run(study, "2/2"))
    assert kept(shard(study, 2, 2)) == kept(shard(uninterrupted, 2, 2))
    report = json.loads(ok(merge(study, "--json")).out)
    tried = [one for one in lines(study / RECEIPTS) if one["event"]["kind"] == "attempted"]
    assert report["episodes"] == MIDDLE.slots and report["closed"]
    assert report["abandoned_attempts"] == len(tried) - MIDDLE.slots
    ok(merge(uninterrupted))
    assert kept(study / RECEIPTS) == kept(uninterrupted / RECEIPTS)
    assert sum(arm["abandoned_attempts"] for arm in verified(study)["arms"].values()) == report["abandoned_attempts"]
