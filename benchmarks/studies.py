"""Study folders to measure in, in scratch folders: what `sealkit init` makes, and studies run at any size."""

from __future__ import annotations

import compileall
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.clock import ROOT, sealkit, spend
from benchmarks.journals import TIME
from sealkit.plan.slots import slot_count
from sealkit.run.bench import Bench, open_bench
from sealkit.run.order import drawn_slots
from sealkit.seal.journal import EPISODES, JOURNAL, read_head, write_head
from sealkit.wire.chain import extend
from sealkit.wire.digest import digest_bytes
from sealkit.wire.events import Attempted, Closed, EpisodeKept, Event

PLAN = "plans/dry-run.yaml"
SLOTS_A_SEED = 30  # five agents in six families
FIRST_SEED = 1000  # beyond the seeds of the smoke run


def make_study(folder: Path, *, seeds: int = 10) -> Path:
    """A study in `folder` with the reference world, verifiers and the dry run's plan, not yet sealed."""
    for name in ("worlds", "verifiers"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "plans").mkdir()
    shutil.copyfile(ROOT / "requirements.lock", folder / "requirements.lock")
    (folder / PLAN).write_text(_with_seeds((ROOT / PLAN).read_text(), seeds))
    compileall.compile_dir(folder / "worlds", quiet=2)  # as `sealkit check` leaves it
    return folder


def _with_seeds(plan: str, seeds: int) -> str:
    """The dry run's plan with so many seeds, and with its predictions, exact counts over ten, scaled to them."""
    text, changed = re.subn(r"(?m)^( +seed: )0\.\.9$", rf"\g<1>{FIRST_SEED}..{FIRST_SEED + seeds - 1}", plan)
    if changed != 1:
        raise RuntimeError(f"{PLAN} no longer has the seeds 0..9")
    return re.sub(r"== ([1-6])0\b", lambda count: f"== {int(count[1]) * seeds}", text)


def make_run_study(folder: Path, *, seeds: int) -> Path:
    """A sealed study whose every slot has its episode: the bytes of a run, without waiting for the disk at each."""
    make_study(folder, seeds=seeds)
    spend(sealkit("seal", PLAN), cwd=folder)
    bench = open_bench(folder / PLAN, "confirmatory")
    head = read_head(bench.folder, inside=folder)
    if head is None:
        raise RuntimeError("the seal began no journal")
    with (bench.folder / JOURNAL).open("ab") as journal, (bench.folder / EPISODES).open("ab") as episodes:
        for event, episode in _events(bench):
            line, head = extend(head, event, TIME)
            journal.write(line + b"\n")
            episodes.write(episode)
    write_head(bench.folder, head)
    return folder


def _events(bench: Bench) -> Iterator[tuple[Event, bytes]]:
    """What a run records, in its order: the event, and what it adds to the episodes."""
    spec = bench.plan.spec
    count = slot_count(spec, "confirmatory")
    yield bench.opened(), b""
    for slot in drawn_slots(spec, "confirmatory"):
        yield Attempted(stage="confirmatory", pin=bench.pin, slot=slot, attempt=1), b""
        line = bench.play(slot)
        digest = digest_bytes(line)
        yield (
            EpisodeKept(
                stage="confirmatory", pin=bench.pin, slot=slot, attempt=1, digest=digest, bytes=len(line), calls=None
            ),
            line + b"\n",
        )
    yield Closed(stage="confirmatory", slots=count, episodes=count, abandoned=0, missing=0), b""
