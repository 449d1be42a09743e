"""A run on a Dask cluster of real processes: the same bytes as without, whatever of it is killed."""

from __future__ import annotations

import json
import random
import shutil
import signal
from pathlib import Path

import pytest

from tests.run.clusters import Found, cluster, needs_dask
from tests.run.killing import ENTRY, Moment, await_growth, send_at, start
from tests.studies import ID, PLAN, call, ok

pytestmark = needs_dask
RECEIPTS = Path("receipts") / ID


@pytest.fixture(scope="module")
def expected(middle: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The episodes of a run on this machine."""
    study = Path(shutil.copytree(middle, tmp_path_factory.mktemp("local") / "study"))
    ok(call("run", PLAN, "--jobs", "2", cwd=study))
    return (study / RECEIPTS / "episodes.jsonl").read_bytes()


@pytest.fixture
def study(middle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(middle, tmp_path / "study"))


def arguments(found: Found, *more: str) -> tuple[str, ...]:
    return ("run", PLAN, "--executor", "dask", "--scheduler", found.address, *more)


def run(study: Path, found: Found, *more: str) -> dict[str, int]:
    """A run on the cluster in a process of its own, which ends well; its report."""
    with start(study, *arguments(found, "--json", *more)) as child:
        out, said = child.communicate(timeout=120)
    assert child.returncode == 0, said.decode()
    report: dict[str, int] = json.loads(out)
    return report


def tries(study: Path) -> int:
    lines = (study / RECEIPTS / "journal.jsonl").read_bytes().splitlines()
    return sum(json.loads(line)["event"]["kind"] == "attempted" for line in lines)


def test_two_workers_leave_the_episodes_of_a_run_without_them(study: Path, expected: bytes, tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster", workers=2) as found:
        report = run(study, found)
    assert report == {"slots": 150, "episodes": 150, "new": 150, "abandoned_attempts": 0, "missing": 0}
    assert (study / RECEIPTS / "episodes.jsonl").read_bytes() == expected
    ok(call("verify", "--no-remember", cwd=study))


@pytest.mark.slow
def test_a_shard_runs_on_a_cluster_too(study: Path, tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster", workers=1) as found:
        assert run(study, found, "--shard", "1/2")["episodes"] == 75
    ok(call("run", PLAN, "--shard", "2/2", cwd=study))
    ok(call("merge", PLAN, cwd=study))
    ok(call("verify", "--no-remember", cwd=study))


@pytest.mark.slow
def test_ten_workers_are_killed_and_nothing_is_lost_or_doubled(study: Path, expected: bytes, tmp_path: Path) -> None:
    """Five runs, in each of which two workers are killed: the run goes on with the second, and ends without it."""
    drawn = random.Random(10)
    with cluster(tmp_path / "cluster", workers=2) as found:
        for _ in range(5):
            found.await_workers()
            with start(study, *arguments(found)) as child:
                for victim in found.workers[-2:]:
                    moment = Moment(drawn.randrange(1, 16 * ENTRY), drawn.uniform(0, 0.01))
                    send_at(study, victim.pid, moment, gone=lambda child=child: child.poll() is not None)
                    victim.wait()
                _, said = child.communicate(timeout=120)
            assert (child.returncode, "workers_lost: no worker of the cluster is left" in said.decode()) == (3, True), (
                said
            )
            found.add_worker()
            found.add_worker()
        assert tries(study) < 150
        found.await_workers()
        report = run(study, found)
    assert report["episodes"] == 150 and report["missing"] == 0
    assert report["abandoned_attempts"] == tries(study) - 150 >= 10
    # A run that is paused keeps what has ended by itself, in whatever order: the same episodes, each byte for byte.
    assert sorted((study / RECEIPTS / "episodes.jsonl").read_bytes().splitlines()) == sorted(expected.splitlines())
    ok(call("verify", "--no-remember", cwd=study))


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["scheduler", "runner"])
def test_the_scheduler_or_the_runner_is_killed_and_the_next_run_goes_on(
    victim: str, study: Path, expected: bytes, tmp_path: Path
) -> None:
    with cluster(tmp_path / "cluster", workers=2) as found, start(study, *arguments(found)) as child:
        await_growth(study, 40 * ENTRY, gone=lambda: child.poll() is not None)
        (found.scheduler if victim == "scheduler" else child).kill()
        _, said = child.communicate(timeout=120)
    if victim == "scheduler":
        assert child.returncode == 3
        assert "the scheduler has gone" in said.decode() and "run the same command again" in said.decode()
    else:
        assert child.returncode == -signal.SIGKILL
    before = tries(study)
    assert 0 < before < 150
    with cluster(tmp_path / "another", workers=1) as found:
        report = run(study, found)
    assert report["episodes"] == 150 and report["abandoned_attempts"] == tries(study) - 150
    assert sorted((study / RECEIPTS / "episodes.jsonl").read_bytes().splitlines()) == sorted(expected.splitlines())
    ok(call("verify", "--no-remember", cwd=study))


def test_a_worker_that_finds_drift_refuses_and_gives_up_no_slot(study: Path, tmp_path: Path) -> None:
    """The runner looked before; the file is changed before the worker looks."""
    with cluster(tmp_path / "cluster", workers=0) as found, start(study, *arguments(found)) as child:
        await_growth(study, 1, gone=lambda: child.poll() is not None)
        agents = study / "worlds" / "house" / "agents.py"
        agents.write_text(agents.read_text() + "\n# changed\n")
        found.add_worker()
        _, said = child.communicate(timeout=120)
    assert child.returncode == 3
    assert "worker_refused: a worker refuses:" in said.decode() and "worlds/house/agents.py" in said.decode()
    assert not (study / RECEIPTS / "episodes.jsonl").exists()


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--executor", "dask"), 2, "--executor dask and --scheduler go together"),
        (("--scheduler", "tcp://127.0.0.1:1"), 2, "--executor dask and --scheduler go together"),
    ],
)
def test_bad_arguments(more: tuple[str, ...], code: int, said: str, study: Path) -> None:
    outcome = call("run", PLAN, *more, cwd=study)
    assert (outcome.code, said in outcome.err) == (code, True), outcome.said


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_said(study: Path) -> None:
    with start(study, "run", PLAN, "--executor", "dask", "--scheduler", "tcp://127.0.0.1:1") as child:
        _, said = child.communicate(timeout=60)
    assert child.returncode == 3
    assert "no scheduler answers at 'tcp://127.0.0.1:1'" in said.decode()
