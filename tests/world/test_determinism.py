"""The same (family, seed), the same bytes: in another process, place, language, time zone, and without a clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sealkit.verify.conformance.trial import trial_episode, trial_slots
from sealkit.wire.digest import digest_bytes
from sealkit.world.loader import load_world
from tests.studies import ROOT

WORLDS = {
    "house": ROOT, "underwriting": ROOT, "underwriting_b": ROOT, "toy": ROOT / "tests" / "toy",
    "ferry": ROOT / "docs" / "example",
}  # fmt: skip

# Prints the digests of every trial scenario and episode; whatever could differ from day to day raises.
CHILD = """
import json, os, random, sys, time, uuid
from pathlib import Path
from sealkit.verify.conformance.trial import trial_episode, trial_slots
from sealkit.wire.digest import digest_bytes
from sealkit.world.loader import load_world

def forbidden(*arguments, **named):
    raise RuntimeError("a world asked for the time or for chance")

for module, names in (
    (time, "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns localtime gmtime strftime ctime"),
    (random, "random randrange randint choice shuffle sample getrandbits uniform"),
    (os, "urandom getpid getcwd"), (uuid, "uuid1 uuid4"),
):
    for name in names.split():
        setattr(module, name, forbidden)
found = {}
for name, root in json.loads(sys.argv[1]).items():
    world = load_world(Path(root), name)
    slots = list(trial_slots(world))
    found[name] = [
        [str(sorted(one.slot.items())), digest_bytes(one.scenario), digest_bytes(trial_episode(world, one))]
        for one in slots
    ]
print(json.dumps(found))
"""


def _digests(**environment: str) -> dict[str, list[list[str]]]:
    cwd = environment.pop("CWD")
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps({name: str(root) for name, root in WORLDS.items()})], cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, list[list[str]]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def here() -> dict[str, list[list[str]]]:
    return _digests(PYTHONHASHSEED="0", TZ="UTC", LANG="C.UTF-8", CWD=str(ROOT))


def test_another_process_elsewhere_gives_the_same_bytes(here: dict[str, list[list[str]]], tmp_path: Path) -> None:
    there = _digests(
        PYTHONHASHSEED="4711", TZ="Pacific/Kiritimati", LANG="tr_TR.UTF-8", LC_ALL="C", PYTHONUTF8="0",
        PYTHONOPTIMIZE="1", CWD=str(tmp_path),
    )  # fmt: skip
    assert there == here


def test_what_is_compared_is_every_family_seed_and_agent(here: dict[str, list[list[str]]]) -> None:
    assert {name: len(found) for name, found in here.items()} == {
        "house": 6 * 3 * 5,
        "underwriting": 6 * 3 * 3,
        "underwriting_b": 21 * 3 * 4,
        "toy": 3 * 3 * 2,
        "ferry": 2 * 3 * 2,
    }
    house = here["house"]
    assert len({scenario for _, scenario, _ in house}) == 18, "another family or seed is another scenario"
    assert len({episode for _, _, episode in house}) == 90


def test_this_process_gives_the_same_bytes_twice(here: dict[str, list[list[str]]]) -> None:
    for name, root in WORLDS.items():
        world = load_world(root, name)
        found = [
            [str(sorted(one.slot.items())), digest_bytes(one.scenario), digest_bytes(trial_episode(world, one))]
            for one in trial_slots(world)
        ]
        assert found == here[name]
