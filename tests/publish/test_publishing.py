"""`publish` beside another one, and killed in the midst of its work: an edition is there whole, or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sealkit.seal.journal import exclusive
from tests.run.killing import environment, start
from tests.slow import first_of
from tests.studies import ID, PLAN, call, ok

# Kills its own process, as `kill -9` does, when it comes to write file number AT (0 is the first), to move the edition to
# its place (4), or to record it in the journal (5).
KILLED = """
import os, signal, sys
import sealkit.publish.edition as edition
import sealkit.cli.publish as publish
from sealkit.cli import main
from tests.slow import first_of

at, written, create = int(sys.argv.pop(1)), [], edition.create_in_chunks

def die(*arguments, **more):
    os.kill(os.getpid(), signal.SIGKILL)

def counted(path, chunks):
    if len(written) == at:
        die()
    written.append(path)
    create(path, chunks)

edition.create_in_chunks = counted
if at == 4:
    edition.os.rename = die
if at == 5:
    publish._record = die
sys.argv[0] = "sealkit"
main()
"""


def editions(study: Path) -> dict[str, dict[str, bytes]]:
    """The files of every edition, as whoever lists the folder sees them."""
    folders = [path for path in (study / "publications").iterdir() if not path.name.startswith(".")]
    return {folder.name: {path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders}


@pytest.mark.parametrize("at", first_of([4, 0, 2, 5]))
def test_a_publication_that_is_killed_leaves_nothing_or_an_edition_and_the_next_one_ends_it(
    at: int, study: Path, published_once: Path, state: Path
) -> None:
    due = editions(published_once)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(at), "publish", PLAN], cwd=study, env=environment(), capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert editions(study) == (due if at == 5 else {})
    assert any((study / "publications").glob(".part.making/*")) is (at in (2, 4))
    said = ok(call("verify", "receipts", "--json", cwd=study)).out  # what was left is not taken for an edition
    notes = json.loads(said)["studies"][0]["notes"]
    assert any("were ruled on again" in note for note in notes) is (at == 5)
    unfinished = f"is unfinished: the journal has no entry yet that it was published; `sealkit publish {PLAN}` ends it"
    assert any(unfinished in note.replace(str(study) + "/", "") for note in notes) is (at == 5)
    ok(call("publish", PLAN, cwd=study))
    assert editions(study) == due
    assert [path.name for path in (study / "publications").iterdir()] == list(due)
    last = json.loads((study / "receipts" / ID / "journal.jsonl").read_bytes().splitlines()[-1])
    assert last["event"]["kind"] == "published"


def test_a_second_publication_at_the_same_time_is_told_what_to_wait_for(study: Path) -> None:
    with exclusive(study / "receipts" / ID, inside=study):
        for more in ((), ("--dry-run",)):
            refused = call("publish", PLAN, *more, cwd=study)
            assert refused.code == 2 and not (study / "publications").exists()
            assert "another sealkit is at work here: a run, an amendment or a publication" in refused.err
            assert f"wait for it to end, then: sealkit publish {PLAN}" in refused.err
    ok(call("publish", PLAN, cwd=study))


def test_two_publications_that_race_make_one_edition(study: Path, published_once: Path) -> None:
    both = [start(study, "publish", PLAN) for _ in range(2)]
    outcomes = [(*child.communicate(timeout=120), child.returncode) for child in both]
    codes = sorted(code for _, _, code in outcomes)
    assert codes in ([0, 0], [0, 2]), outcomes  # one after the other, or one refused
    assert editions(study) == editions(published_once)
    events = [
        json.loads(line)["event"] for line in (study / "receipts" / ID / "journal.jsonl").read_bytes().splitlines()
    ]
    assert sum(event["kind"] == "published" for event in events) == 1


def test_what_a_stranger_put_in_the_place_of_the_unfinished_is_removed_or_named(study: Path, tmp_path: Path) -> None:
    (study / "publications").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    (study / "publications" / ".part.making").symlink_to(tmp_path / "outside")
    ok(call("publish", PLAN, cwd=study))
    assert (tmp_path / "outside" / "kept").read_text() == "kept"
    assert not os.path.lexists(study / "publications" / ".part.making")


def test_publications_that_lead_elsewhere_are_refused(study: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (study / "publications").symlink_to(tmp_path / "outside")
    refused = call("publish", PLAN, cwd=study)
    assert refused.code == 1 and "publications: found a link, due a folder" in refused.err
    assert not list((tmp_path / "outside").iterdir())
