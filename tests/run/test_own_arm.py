"""Arms of the study's own that misbehave in the process that runs them: they break their own attempts, and no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.loopback import Loopback
from tests.modelled import PLAN, events, make_study, plan_text, policy, receipts
from tests.studies import call, ok

SECRET = "hunter2-hunter2"
LIKE_A_KEY = "sk-abcdefghijklmnopqrstuvwxyz"
ARM = f'''
import os, pathlib
from sealkit.agents.turns import Action, Ask, Message, Move

LIKE_A_KEY = "{LIKE_A_KEY}"

class Player:
    def turn(self, view):
        reply = yield Ask(role="agent", messages=(Message(role="user", content="what now?"),), schema=None)
        DO
        return Move(action=Action(name="done", args={{}}), calls=(reply.call,), memory={{}})

def make(scene, options, draws):
    return Player()
'''


def ran(folder: Path, does: str) -> tuple[Path, str]:
    """A study of two arms of which one does this in each of its turns, after its run; and what the run said."""
    text = plan_text()
    arm = next(line for line in text.splitlines() if line.startswith("    D: "))
    study = make_study(
        folder, text.replace(arm, "    D: {role: treatment, arm: arms/mine, models: [agent], options: {}}")
    )
    (study / "arms" / "mine").mkdir(parents=True)
    (study / "arms" / "mine" / "__init__.py").write_text(ARM.replace("DO", does))
    ok(call("seal", PLAN, cwd=study))
    with Loopback(lambda asked: "done" if asked["messages"][-1]["content"] == "what now?" else policy(asked)) as server:
        found = call("run", PLAN, "--endpoint", server.url, "--concurrency", "2", cwd=study)
    assert found.code in (0, 3), found.said
    return study, found.out + found.err


def test_whatever_an_arm_raises_is_its_own_failure_and_the_run_goes_on(tmp_path: Path) -> None:
    kinds = ("KeyboardInterrupt", "SystemExit", "GeneratorExit", "CancelledError")
    each = f"KINDS = ({', '.join(kinds)})"
    does = (
        f"from asyncio import CancelledError; {each}; sys.turns = (sys.turns + 1) % 4; raise KINDS[sys.turns]('stop')"
    )
    study, said = ran(tmp_path / "study", f"import sys; sys.turns = getattr(sys, 'turns', 0); {does}")
    assert "2 of 4 slots have their episode" in said
    assert {event["slot"]["arm"] for event in events(study, "episode")} == {"A"}
    failed = events(study, "failed")
    assert {(event["slot"]["arm"], event["ending"]) for event in failed} == {("D", "harness_error")}
    assert {event["why"] for event in failed} == {
        f"the world or its agent raised {kind}: stop (arms/mine/__init__.py, line 10)" for kind in kinds
    }
    assert [event["kind"] for event in events(study)][-1] == "closed"


def test_an_arm_finds_no_key_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEALKIT_API_KEY", SECRET)
    monkeypatch.setenv("SEALKIT_API_KEY_AGENT", SECRET)
    does = "raise ValueError(sorted(name for name in os.environ if 'KEY' in name))"
    study, _ = ran(tmp_path / "study", does)
    [why] = {event["why"] for event in events(study, "failed")}
    assert why.startswith("the world or its agent raised ValueError: [] (")
    assert os.environ["SEALKIT_API_KEY"] == os.environ["SEALKIT_API_KEY_AGENT"] == SECRET, "as it was, afterwards"


MEMORY = "return Move(action=Action(name='done', args={{}}), calls=(reply.call,), memory={{'note': {}}})"


PEEK = """
import subprocess, sys
from sealkit.run.leaks import keys_apart
look = "import os; print(open(f'/proc/{os.getppid()}/environ').read().count(%r))"
with keys_apart() as keys:
    print(keys["SEALKIT_API_KEY"] == %r, subprocess.run([sys.executable, "-c", look], capture_output=True).stdout)
print(keys.keys() <= __import__("os").environ.keys())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_program_finds_no_key_in_the_environment_that_sealkit_was_started_with() -> None:
    environment = {**os.environ, "SEALKIT_API_KEY": SECRET}
    done = subprocess.run(
        [sys.executable, "-c", PEEK % (SECRET, SECRET)], env=environment, capture_output=True, text=True, check=True
    )
    # Root reads the block and finds no key; anybody else may not read it at all.
    assert done.stdout in ("True b'0\\n'\nTrue\n", "True b''\nTrue\n")


READ = """
import ctypes, os, sys
from sealkit.run.leaks import close_memory

def spawn(closed):
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:  # root may read everything: this is about the others
            os.setgid(65534), os.setuid(65534)
        if closed is not None:
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE, which a change of user has taken
            close_memory() if closed else None
            os.write(ready, b"."), os.read(end, 1), os._exit(0)
        try:
            open(f"/proc/{first}/environ", "rb").read()
        except PermissionError:
            os._exit(7)
        os._exit(0)
    return child

for closed in (False, True):
    (told, ready), (end, over) = os.pipe(), os.pipe()
    first = spawn(closed)
    os.read(told, 1)
    print(os.waitstatus_to_exitcode(os.waitpid(spawn(None), 0)[1]))
    os.write(over, b"."), os.waitpid(first, 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_another_program_of_the_same_user_can_read_neither_memory_nor_environment() -> None:
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "0\n7\n", "before it is closed it can be read; then not"


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("raise ValueError(found)", "the message holds what looks like a key; it is not kept"),
        (MEMORY.format("found"), "the episode holds what looks like a key; it is not kept"),
    ],
)
def test_a_key_that_an_arm_has_found_is_neither_kept_nor_told(
    does: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEALKIT_API_KEY", SECRET)
    (tmp_path / "key").write_text(SECRET)  # as if it lay anywhere else
    study, said = ran(tmp_path / "study", f"found = pathlib.Path({str(tmp_path / 'key')!r}).read_text(); {does}")
    assert {event["why"] for event in events(study, "failed")} == {why}
    files = [path for path in receipts(study).rglob("*") if path.is_file()]
    ok(call("verify", "--no-remember", cwd=study))
    assert files and not any(SECRET.encode() in path.read_bytes() for path in files) and SECRET not in said


def test_what_is_written_like_a_key_is_looked_for_where_no_endpoint_has_one(tmp_path: Path) -> None:
    study, said = ran(tmp_path / "study", "raise ValueError(LIKE_A_KEY)")
    assert {event["why"] for event in events(study, "failed")} == {
        "the message holds what looks like a key; it is not kept"
    }
    assert LIKE_A_KEY not in said
