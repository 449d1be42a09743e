"""A sealed file that is written to while a run is under way: no request of other content leaves, and the run pauses."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import Loopback
from tests.modelled import PLAN, episodes, events, make_study, plan_text
from tests.run.clusters import cluster, needs_dask
from tests.run.killing import start
from tests.slow import first_of
from tests.studies import call, ok

OWN = """
from sealkit.agents.turns import Action, Ask, Message, Move
WORD = "own"

class Player:
    def turn(self, view):
        reply = yield Ask(role="agent", messages=(Message(role="user", content=WORD),), schema=None)
        return Move(action=Action(name="done", args={}), calls=(reply.call,), memory={})

def make(scene, options, draws):
    return Player()
"""
PROGRAM = """
import json, sys
WORD = "program"
for line in sys.stdin:
    said = json.loads(line)
    if "view" in said:
        print(json.dumps({"ask": {"role": "agent", "messages": [{"role": "user", "content": WORD}], "schema": None}}), flush=True)
    if "reply" in said:
        print(json.dumps({"act": {"name": "done", "args": {}}, "memory": {}}), flush=True)
"""
FILES = ("worlds/house/prompts/actions.md", "arms/mine/__init__.py", "agent.py")
MARK = "# OTHER"


@pytest.fixture(scope="module")
def sealed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An arm of sealkit's, a package and a program, two slots each."""
    arms = {
        "B": "arm: arms/mine, models: [agent], options: {}",
        "D": "run: [python3, agent.py], models: [agent], trees: [agent.py]",
    }
    text = plan_text(arms="ABD")
    for arm, kind in arms.items():
        text = re.sub(rf"^    {arm}: .*$", f"    {arm}: {{role: treatment, {kind}}}", text, flags=re.MULTILINE)
    study = make_study(tmp_path_factory.mktemp("touched") / "study", text)
    (study / "arms/mine").mkdir(parents=True)
    (study / "arms/mine/__init__.py").write_text(OWN)
    (study / "agent.py").write_text(PROGRAM)
    ok(call("seal", PLAN, cwd=study))
    return study


@pytest.fixture
def study(sealed_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sealed_once, tmp_path / "study"))


def done(request: Any) -> str:
    """Done at once, for any arm."""
    return json.dumps({"action": "done", "argument": "", "notes": ""})


def at_request(number: int, does: Callable[[], object]) -> Callable[[Any], str]:
    """A model that does this while its request of that number is under way."""
    left = [number]

    def reply(request: Any) -> str:
        left[0] -= 1
        if not left[0]:
            does()
        return done(request)

    return reply


def change(file: Path) -> bytes:
    """The file is another after this; what it was."""
    before = file.read_bytes()
    text = before.decode().replace('"own"', f'"{MARK}"').replace('"program"', f'"{MARK}"')
    file.write_text(text if MARK in text else f"{text}\n{MARK}\n")
    return before


def paused(study: Path) -> list[str]:
    return [event["reason"] for event in events(study, "paused")]


@pytest.mark.parametrize("file", FILES)
def test_after_a_change_no_request_leaves_and_the_attempt_is_not_kept(study: Path, file: str) -> None:
    before = (study / file).read_bytes()
    with Loopback(at_request(3, lambda: change(study / file))) as server:
        found = call("run", PLAN, "--endpoint", server.url, cwd=study)
        assert (found.code, len(server.requests)) == (1, 3), found.said
        assert f"{file} was changed" in found.err and "put it back as it was sealed, and run again" in found.err
        assert paused(study) == ["drift"] and not events(study, "failed")
        assert events(study, "paused")[0]["calls"]["count"] == 1 and episodes(study).count(b"\n") == 2
        (study / file).write_bytes(before)
        ok(call("run", PLAN, "--endpoint", server.url, cwd=study))
        assert len(server.requests) == 7 and not any(MARK.encode() in one.body for one in server.requests)


def test_one_that_is_put_back_at_once_pauses_the_run_too(study: Path) -> None:
    file = study / FILES[0]
    with Loopback(at_request(3, lambda: file.write_bytes(change(file)))) as server:
        found = call("run", PLAN, "--endpoint", server.url, cwd=study)
        assert (found.code, len(server.requests)) == (1, 3)
    assert "was written to after the run had begun, though it is as sealed again; leave sealed files alone" in found.err
    assert paused(study) == ["drift"]
    ok(call("verify", "receipts", "--no-remember", cwd=study))
    assert "see that every sealed file is as it was sealed, then" in call("status", PLAN, cwd=study).out


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_of_many_under_way_none_asks_by_the_other_content(study: Path, file: str) -> None:
    with Loopback(at_request(2, lambda: change(study / file))) as server:
        assert call("run", PLAN, "--endpoint", server.url, "--concurrency", "4", cwd=study).code == 1
        assert len(server.requests) <= 5 and not any(MARK.encode() in one.body for one in server.requests)
    assert paused(study) == ["drift"] and not events(study, "failed")


def test_what_no_seal_holds_may_come_and_go(study: Path) -> None:
    folder = study / "arms/mine/__pycache__"
    with Loopback(at_request(2, folder.mkdir)) as server:
        ok(call("run", PLAN, "--endpoint", server.url, cwd=study))
        assert len(server.requests) == 6
    assert not paused(study)


@pytest.mark.parametrize(
    ("does", "said"),
    first_of(
        [
            (lambda study: (study / "arms/mine/more.py").write_text(""), "arms/mine/more.py was added"),
            (lambda study: (study / "requirements.lock").unlink(), "requirements.lock was removed"),
            (lambda study: shutil.rmtree(study / "arms"), "there is no such folder"),
            (lambda study: moved_and_back(study / "arms"), "arms was moved or replaced after the run had begun"),
        ]
    ),
)
def test_folders_are_watched(study: Path, does: Callable[[Path], object], said: str) -> None:
    with Loopback(at_request(2, lambda: does(study))) as server:
        found = call("run", PLAN, "--endpoint", server.url, cwd=study)
        assert (found.code, len(server.requests)) == (1, 2), found.said
    assert said in found.err and paused(study) == ["drift"]


def moved_and_back(folder: Path) -> None:
    folder.rename(folder.with_name("aside"))
    folder.with_name("aside").rename(folder)


@pytest.mark.parametrize("jobs", first_of(["1", "2"]))
def test_a_program_of_one_s_own_is_ended_while_it_runs(tmp_path: Path, jobs: str) -> None:
    study, plan = tmp_path / "study", "plans/ab-prompts.yaml"
    ok(call("init", study, "--own-harness", cwd=tmp_path))
    script = study / "harness/ask.py"
    # It touches its own prompt when two episodes are kept, and would then take its time.
    touches = """
    kept, prompt = Path("receipts/ab-prompts/episodes.jsonl"), HERE / "prompts/terse.txt"
    if kept.exists() and kept.read_bytes().count(b"\\n") > 1:
        import os, time
        os.utime(prompt)
        time.sleep(25)
"""
    script.write_text(script.read_text().replace("def main() -> None:\n", f"def main() -> None:{touches}"))
    ok(call("seal", plan, cwd=study))
    with start(study, "run", plan, "--jobs", jobs) as child:
        _, said = child.communicate(timeout=20)
    assert child.returncode == 1, said.decode()
    assert b"harness/prompts/terse.txt was written to after the run had begun" in said
    lines = (study / "receipts/ab-prompts/journal.jsonl").read_bytes().splitlines()
    found = [json.loads(line)["event"] for line in lines]
    assert [event["reason"] for event in found if event["kind"] == "paused"] == ["drift"]
    assert not [event for event in found if event["kind"] == "failed"]


@needs_dask
@pytest.mark.slow
def test_a_worker_of_a_cluster_finds_it_too_and_goes_on_when_it_is_put_back(study: Path, tmp_path: Path) -> None:
    file = study / FILES[1]
    before = file.read_bytes()
    model = at_request(2, lambda: change(file))
    with cluster(tmp_path / "cluster", workers=1) as found, Loopback(model) as server:
        arguments = ("run", PLAN, "--endpoint", server.url, "--executor", "dask", "--scheduler", found.address)
        for code in (1, 0):
            with start(study, *arguments) as child:
                _, said = child.communicate(timeout=120)
            assert child.returncode == code, said.decode()
            file.write_bytes(before)
        assert not any(MARK.encode() in one.body for one in server.requests)
    assert paused(study) == ["drift"]
