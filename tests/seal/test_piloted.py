"""A pilot before a seal: the seal counts it, a reader counts again, and a bundle carries it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sealkit.seal.journal import Journal, call_lines
from sealkit.seal.sealed import open_seal_only
from sealkit.wire.events import Attempted, Opened, Paused
from tests.studies import ID, PLAN, SMALL, Outcome, call, make_study, ok, plan_text, read

CALLS = b'{"call":1}\n{"call":2}\n{"call":3}\n'


@pytest.fixture(scope="module")
def piloted_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that is sealed after a pilot of four episodes and of three calls."""
    study = make_study(tmp_path_factory.mktemp("piloted") / "study", SMALL)
    text = plan_text(SMALL).replace("pilot: null", "pilot: {arm: all, family: [noise], seed: [200, 201]}")
    (study / PLAN).write_text(text, encoding="utf-8")
    ok(call("pilot", PLAN, "--jobs", "1", cwd=study))
    paused = Paused(stage="pilot", reason="interrupted", detail="", calls=call_lines(CALLS))
    Journal.open(pilot(study), inside=study).append(paused, now=datetime.now(UTC), calls=CALLS)
    ok(call("seal", PLAN, cwd=study))
    return study


@pytest.fixture
def piloted(piloted_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(piloted_once, tmp_path / "study"))


def pilot(study: Path) -> Path:
    return study / "receipts" / ID / "pilot"


def verify(study: Path, *more: str) -> Outcome:
    return call("verify", f"receipts/{ID}", "--no-remember", *more, cwd=study)


def test_the_pilot_that_the_seal_counts_is_read_again(piloted: Path) -> None:
    said = ok(verify(piloted)).out
    assert "before the seal a pilot, whose journal holds: 4 attempts, 4 episodes, 3 model calls" in said
    seal = json.loads((piloted / "plans/part.seal.json").read_bytes())["pilot"]
    (found,) = read(ok(verify(piloted, "--json")).out)["studies"]
    assert found["pilot"] == {"attempts": 4, "episodes": 4, "calls": 3, "head": seal["head"]}


def test_a_seal_without_a_pilot_says_nothing_of_calls(sealed: Path) -> None:
    seal = json.loads((sealed / "plans/part.seal.json").read_bytes())
    assert seal["pilot"] == {"calls": 0, "episodes": 0, "head": None}
    (found,) = read(ok(verify(sealed, "--json")).out)["studies"]
    assert found["pilot"] is None


def edit(name: str, old: bytes, new: bytes) -> Callable[[Path], None]:
    def done(study: Path) -> None:
        raw = (pilot(study) / name).read_bytes()
        assert old in raw
        (pilot(study) / name).write_bytes(raw.replace(old, new, 1))

    return done


def cut(study: Path) -> None:
    """The last entry is gone, and HEAD with it: a journal that holds, and is not the one that was sealed."""
    lines = (pilot(study) / "journal.jsonl").read_bytes().splitlines(keepends=True)
    head = json.loads((pilot(study) / "HEAD").read_bytes())
    entry: dict[str, Any] = json.loads(lines[-1])
    head |= {
        "count": head["count"] - 1,
        "digest": entry["prev"],
        "size": head["size"] - len(lines[-1]),
        "calls_size": 0,
    }
    (pilot(study) / "calls.jsonl").unlink()
    (pilot(study) / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    (pilot(study) / "HEAD").write_text(json.dumps(head, sort_keys=True, separators=(",", ":")) + "\n")


TAMPERED: dict[str, tuple[Callable[[Path], object], str]] = {
    "gone": (lambda study: shutil.rmtree(pilot(study)), "no pilot, but the seal counts 4 episodes and 3 calls of one"),
    "no journal": (lambda study: (pilot(study) / "journal.jsonl").unlink(), "no pilot, but the seal counts 4 episodes"),
    "cut": (cut, "its head is "),
    "an episode": (edit("episodes.jsonl", b'"final"', b'"budgt"'), "evidence: found an episode of"),
    "an entry": (edit("journal.jsonl", b'"attempt":1', b'"attempt":2'), "pilot/journal.jsonl entry"),
    "a call more": (edit("calls.jsonl", b"\n", b"\n{}\n"), "calls.jsonl"),
    "another call": (edit("calls.jsonl", b'"call":2', b'"call":9'), "calls.jsonl"),
    "no calls": (lambda study: (pilot(study) / "calls.jsonl").unlink(), "calls.jsonl"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_pilot_that_is_not_the_one_that_was_sealed_is_refused(name: str, piloted: Path) -> None:
    tamper, says = TAMPERED[name]
    tamper(piloted)
    refused = verify(piloted)
    assert refused.code == 1 and says in refused.err, refused.err
    assert "receipts/part/pilot/" in refused.err


def test_a_pilot_that_no_seal_counts_is_refused(sealed: Path, piloted_once: Path) -> None:
    shutil.copytree(pilot(piloted_once), pilot(sealed))
    refused = verify(sealed)
    assert refused.code == 1 and "but the seal says none" in refused.err


def test_a_run_that_calls_itself_a_pilot_is_none(sealed: Path, run_once: Path) -> None:
    shutil.copytree(run_once / "receipts" / ID, pilot(sealed))
    refused = verify(sealed)
    assert refused.code == 1 and "an entry of a confirmatory run in the journal of a pilot" in refused.err


@pytest.mark.slow
def test_a_bundle_carries_the_pilot(piloted: Path, tmp_path: Path, state: Path) -> None:
    for command in (("run", PLAN, "--jobs", "1"), ("analyse", PLAN), ("publish", PLAN)):
        ok(call(*command, cwd=piloted))
    (edition,) = (piloted / "publications").iterdir()
    alone = Path(shutil.copytree(edition, tmp_path / "stranger" / edition.name))
    found = read(ok(call("verify", alone, "--replay=unsafe", "--json", cwd=tmp_path)).out)["studies"]
    assert [(one["pilot"]["episodes"], one["pilot"]["calls"]) for one in found] == [(4, 3)]


# --- what was played is never confirmatory --------------------------------------------------------


def promote(study: Path) -> None:
    """Two seeds that the pilot has tried are confirmatory in the plan as it stands now, and the pilot has another."""
    text = (study / PLAN).read_text()
    text = text.replace("  seed: 0..1\n", "  seed: [200, 201]\n").replace("seed: [200, 201]}", "seed: [7]}")
    (study / PLAN).write_text(text, encoding="utf-8")


def test_seeds_that_a_pilot_tried_are_never_confirmatory(piloted: Path) -> None:
    for path in (piloted / "plans").glob("part.*"):
        if path.name != "part.yaml":
            path.unlink()
    for name in ("journal.jsonl", "HEAD"):
        (piloted / "receipts" / ID / name).unlink()
    promote(piloted)
    for command in ("check", "seal"):
        refused = call(command, PLAN, cwd=piloted)
        assert refused.code == 2, refused.said
        assert "$.factors.seed: 2 confirmatory seeds were tried before: family=noise,seed=200 (pilot); " in refused.err
        assert "take other seeds" in refused.err
    assert not (piloted / "plans/part.seal.json").exists()


def test_no_amendment_makes_seeds_confirmatory_that_a_pilot_or_a_smoke_run_tried(piloted: Path) -> None:
    promote(piloted)
    refused = call("amend", PLAN, "--reason", "other seeds", cwd=piloted)
    assert refused.code == 2 and "family=noise,seed=201 (pilot)" in refused.err, refused.said
    text = (piloted / PLAN).read_text().replace("  seed: [200, 201]\n", "  seed: [0, 100]\n")
    (piloted / PLAN).write_text(text.replace("seed: [100]}", "seed: [300]}"), encoding="utf-8")
    sealed = open_seal_only(piloted / PLAN)
    pin, slot = sealed.pin, {"arm": "oracle", "family": "delayed_update", "seed": 100}
    for event in (
        Opened(stage="smoke", pin=pin, sealkit="1", environment=pin),
        Attempted(stage="smoke", pin=pin, slot=slot, attempt=1),
    ):
        sealed.journal().append(event, now=datetime.now(UTC))
    sealed.close()
    for command in (("amend", PLAN, "--reason", "other seeds"), ("check", PLAN)):
        refused = call(*command, cwd=piloted)
        assert refused.code == 2, refused.said
        assert "1 confirmatory seed was tried before: family=delayed_update,seed=100 (smoke)" in refused.err


def test_a_study_of_which_confirmatory_seeds_were_tried_before_is_refused(
    piloted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a sealkit that did not look would have sealed and run it."""
    promote(piloted)
    with monkeypatch.context() as blind:
        blind.setattr("sealkit.seal.amend.check_untried", lambda *_: None)
        ok(call("amend", PLAN, "--reason", "other seeds", cwd=piloted))
    ok(call("run", PLAN, "--jobs", "1", cwd=piloted))
    refused = verify(piloted)
    assert refused.code == 1 and "was tried before, in the pilot run" in refused.err, refused.said
    assert "is confirmatory, but family=noise,seed=20" in refused.err
