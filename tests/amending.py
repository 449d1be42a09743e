"""Studies for tests of amendments: a claim on each of two arms, and ways to change files as an author would.

study = make_study(folder)                                          # plans/part.yaml with the claims it-does, it-tracks
change(study, "worlds/house/world.py", "old", "new")
amended(study, "why")                                               # `sealkit amend plans/part.yaml --reason why`
"""

from __future__ import annotations

from pathlib import Path

from sealkit.cli.out import Progress
from sealkit.run.bench import open_bench
from sealkit.run.run import run_stage
from tests import studies
from tests.seal.studies import NOW
from tests.studies import ID, PLAN, SMALL, Outcome, call, ok

CHANGELOG = "CHANGELOG_AFTER_SEAL.md"
IT_DOES = "    does_not_show: anything else\n"
IT_TRACKS = (
    "  it-tracks:\n    text: The tracker succeeded.\n    stratum: instrument\n"
    "    needs: [{hypothesis: tracker, verdict: [supported]}]\n    does_not_show: anything else\n"
)

# A harness fix that changes no episode; a judge that is another file and the same judge; one that is another judge.
FIX = ("worlds/house/world.py", "# --- ", "# --- mended: ")
SAME_JUDGE = ("worlds/house/judge.py", '    """The measures of one episode', '    """All measures of one episode')
OTHER_JUDGE = (
    "worlds/house/judge.py", '"success": int(done and satisfied)',
    '"success": int(done and satisfied and scenario.family != "noise")',
)  # fmt: skip
# The tracker no longer heeds messages: it fails under delayed updates, and nowhere else.
DEAF_TRACKER = (
    "worlds/house/agents.py",
    "                belief.learn(segment)\n            elif isinstance(segment, Notice):\n                belief.heed(segment)\n"
    "        return _first(belief.situation())\n",
    "                belief.learn(segment)\n        return _first(belief.situation())\n",
)
REWORDED = ("worlds/house/world.py", "You have {turn_budget} actions.", "You may act {turn_budget} times.")


def make_study(folder: Path) -> Path:
    """A study that is not sealed yet."""
    studies.make_study(folder, SMALL)
    change(folder, PLAN, IT_DOES, IT_DOES + IT_TRACKS)
    return folder


def change(study: Path, name: str, old: str, new: str) -> None:
    """Replace the first `old` in a file of the study."""
    path = study / name
    text = path.read_text(encoding="utf-8")
    assert old in text, (name, old)
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def amended(study: Path, reason: str, *more: str, plan: str = PLAN) -> Outcome:
    """The outcome of `sealkit amend`, which is exit code 0."""
    return ok(call("amend", plan, "--reason", reason, *more, cwd=study))


def run(study: Path, *more: str, plan: str = PLAN) -> Outcome:
    """Run what is left of a plan in this process."""
    return ok(call("run", plan, "--jobs", "1", *more, cwd=study))


def run_some(study: Path, episodes: int) -> None:
    """Run confirmatory slots until so many more have their episode, and stop as somebody who presses Ctrl-C does."""
    left = [episodes]

    class Impatient(Progress):
        def step(self, count: int = 1) -> None:
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt

    try:
        run_stage(open_bench(study / PLAN, "confirmatory"), jobs=1, now=lambda: NOW, watch=Impatient("slots", 0))
    except KeyboardInterrupt:
        return
    raise AssertionError("the run came to its end")


def verified(study: Path, *more: str) -> Outcome:
    """The outcome of `sealkit verify`, which is exit code 0."""
    return ok(call("verify", f"receipts/{ID}", "--no-remember", *more, cwd=study))
