"""Kill −9 at any of 200 random moments, and run again: nothing lost, nothing doubled, the same bytes in the end."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.run.killing import Moment, await_growth, killed_run, moments, nursery, start, stopped_forks
from tests.slow import first_of
from tests.studies import ID, MIDDLE, PLAN, call, make_study, ok

LANES = 4
FORKED, ALONE, WITH_WORKERS = 42, 6, 2  # kills of each lane: 4 × 50 = 200


@pytest.fixture(scope="session")
def uninterrupted(middle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same study after a run that nobody disturbed."""
    study = Path(shutil.copytree(middle, tmp_path_factory.mktemp("uninterrupted") / "study"))
    ok(call("run", PLAN, "--jobs", "1", cwd=study))
    return study


def episodes(study: Path) -> bytes:
    return (study / "receipts" / ID / "episodes.jsonl").read_bytes()


def events(study: Path, *kinds: str) -> list[dict[str, Any]]:
    lines = (study / "receipts" / ID / "journal.jsonl").read_bytes().splitlines()
    return [event for event in (json.loads(line)["event"] for line in lines) if event["kind"] in kinds]


def slot_of(event: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(event["slot"].items()))


@pytest.mark.parametrize("lane", first_of(range(LANES)))
def test_a_run_that_is_killed_again_and_again_loses_and_doubles_nothing(
    lane: int, middle: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    study = Path(shutil.copytree(middle, tmp_path / "study"))
    drawn = moments(lane)
    with nursery() as nurse:
        hits = [killed_run(study, moment, jobs=1) for moment in islice(drawn, ALONE)]
        hits += [killed_run(study, moment, jobs=2) for moment in islice(drawn, WITH_WORKERS)]
        stopped_forks(study, middle, drawn, nurse, by=signal.SIGKILL, count=FORKED)
    assert hits == [True] * (ALONE + WITH_WORKERS), "a run was over before it was killed"

    report = json.loads(ok(call("run", PLAN, "--jobs", "1", "--json", cwd=study)).out)

    kept = Counter(map(slot_of, events(study, "episode")))
    assert len(kept) == MIDDLE.slots and set(kept.values()) == {1}
    assert episodes(study) == episodes(uninterrupted)
    tried = events(study, "attempted")
    abandoned = len(tried) - MIDDLE.slots
    assert abandoned > 0
    [closed] = events(study, "closed")
    assert closed["abandoned"] == report["abandoned_attempts"] == abandoned
    assert (closed["episodes"], closed["missing"], closed["slots"]) == (MIDDLE.slots, 0, MIDDLE.slots)
    for slot in kept:  # attempts of a slot are numbered from 1, and the last one is the one that counts
        numbers = [event["attempt"] for event in tried if slot_of(event) == slot]
        [counted] = [event["attempt"] for event in events(study, "episode") if slot_of(event) == slot]
        assert numbers == list(range(1, len(numbers) + 1)) and counted == numbers[-1]

    [verified] = json.loads(ok(call("verify", "--no-remember", "--json", cwd=study)).out)["studies"]
    per_arm = Counter(event["slot"]["arm"] for event in tried)
    assert {arm: counts["abandoned_attempts"] for arm, counts in verified["arms"].items()} == {
        arm: per_arm[arm] - MIDDLE.slots // len(MIDDLE.arms) for arm in MIDDLE.arms
    }
    assert all(counts["admitted"] == 30 for counts in verified["arms"].values())


# --- workers -------------------------------------------------------------------------------------

DEADLY = """

class Deadly:
    '''Ends the process that it lives in, once.'''

    def __init__(self, agent):
        self.agent = agent

    def act(self, view):
        import os, signal
        try:
            os.unlink({flag!r})
        except FileNotFoundError:
            return self.agent.act(view)
        os.kill(os.getpid(), signal.SIGKILL)


AGENTS = {{name: Scripted(make=lambda draws, made=made: Deadly(made.make(draws)), reads_truth=made.reads_truth)
          for name, made in AGENTS.items()}}
"""


@pytest.fixture
def deadly(tmp_path: Path) -> tuple[Path, Path]:
    """A sealed study in which an agent kills its own process while a file exists, and that file."""
    flag = tmp_path / "kill-one"
    study = make_study(tmp_path / "study", MIDDLE)
    agents = study / "worlds" / "house" / "agents.py"
    agents.write_text(agents.read_text(encoding="utf-8") + DEADLY.format(flag=str(flag)), encoding="utf-8")
    ok(call("seal", PLAN, cwd=study))
    return study, flag


def test_a_worker_that_dies_ends_the_run_with_exit_3_and_the_next_run_completes_it(
    deadly: tuple[Path, Path], uninterrupted: Path
) -> None:
    study, flag = deadly
    flag.touch()
    with start(study, "run", PLAN, "--jobs", "2") as child:
        _, said = child.communicate(timeout=120)
    assert child.returncode == 3
    assert said.decode() == ("sealkit: a worker process died; run the same command again; nothing recorded is lost\n")
    assert not flag.exists()
    report = json.loads(ok(call("run", PLAN, "--jobs", "1", "--json", cwd=study)).out)
    assert report["episodes"] == MIDDLE.slots and report["abandoned_attempts"] >= 1
    ok(call("verify", "--no-remember", cwd=study))


def test_workers_end_with_a_parent_that_is_killed(middle: Path, tmp_path: Path) -> None:
    study = Path(shutil.copytree(middle, tmp_path / "study"))
    # `killed_run` reads output to its end: a worker that lives on would hold it open.
    assert killed_run(study, Moment(grown=5000, then=0.0), jobs=2)


@pytest.mark.parametrize("jobs", first_of(["2", "1"]))
def test_a_run_that_is_interrupted_says_so_and_goes_on_later(
    jobs: str, middle: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    study = Path(shutil.copytree(middle, tmp_path / "study"))
    with start(study, "run", PLAN, "--jobs", jobs) as child:
        await_growth(study, 5000, gone=lambda: child.poll() is not None)
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does, to the workers too
        _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert (
        said.decode().strip()
        == "sealkit: stopped by you; nothing recorded is lost; run the same command again to go on"
    )
    [paused] = events(study, "paused")
    assert paused["reason"] == "interrupted"
    ok(call("verify", "--no-remember", cwd=study))
    ok(call("run", PLAN, "--jobs", "1", cwd=study))
    assert episodes(study) == episodes(uninterrupted)


@pytest.mark.slow
def test_an_interrupt_at_any_moment_leaves_nothing_to_repair(middle: Path, uninterrupted: Path, tmp_path: Path) -> None:
    study = Path(shutil.copytree(middle, tmp_path / "study"))
    with nursery() as nurse:
        stopped_forks(study, middle, moments(1000), nurse, by=signal.SIGINT, count=20)
    assert not events(study, "recovered", "repaired")
    ok(call("run", PLAN, "--jobs", "1", cwd=study))
    assert episodes(study) == episodes(uninterrupted)
