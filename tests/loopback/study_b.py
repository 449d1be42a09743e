"""`python -m tests.loopback.study_b FOLDER`: Study B whole, over HTTP, with policies for models and faults on demand.

It makes a study in the new folder FOLDER, seals the plan with two policies in place of its two models, runs its 252 slots
through the gateway, verifies with a replay, analyses and publishes into FOLDER/publications. No language model is
asked, and the id, the title and the models' names say so. `tests/underwriting_b/test_underwriting_b_whole.py` holds
every count.

Each fault hits one slot, known by what a request shows: the model, the scaffold, the case, and in the third return a
message that was pushed. So no count hangs on the order in which requests arrive.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from sealkit.cli.init import make_study
from tests.loopback.desk_policies import POLICIES
from tests.loopback.faults import Fault, cut_off, garbage, http_error, message, rate_limited, refusal, reset
from tests.loopback.server import Loopback

ID = "study-b-loopback"
PLAN = f"plans/{ID}.yaml"
FAITHFUL, CREDULOUS = "loopback-faithful", "loopback-credulous"
PLAYED = {FAITHFUL: "faithful", CREDULOUS: "credulous"}
INSTEAD = (
    ("qwen", "faithful"),
    ("mistral:", "credulous:"),
    ("mistral]", "credulous]"),
    ("id: study-b\n", f"id: {ID}\n"),
    ("title: Do agents", "title: Rehearsed without a model. Do agents"),
    ("Qwen/Qwen2.5-7B-Instruct", FAITHFUL),
    ("mistralai/Mistral-7B-Instruct-v0.3", CREDULOUS),
    ('"Apache-2.0 licence of both models\' weights"', '"Apache-2.0: policies of this repository, and no model"'),
)


class At(NamedTuple):
    """One slot of a `ladder-…-pushed` family."""

    model: str
    scaffold: str
    seed: int
    source: str


_BAD_TOOL = message(
    content=None, tool_calls=[{"id": "c", "type": "function", "function": {"name": "go", "arguments": "{}"}}]
)
ONCE: dict[At, Fault] = {
    At(FAITHFUL, "json", 1103, "verification-desk"): rate_limited("0"),
    At(FAITHFUL, "tools", 1103, "verification-desk"): http_error(500),
    At(FAITHFUL, "json", 1103, "head-of-sales"): refusal,
    At(FAITHFUL, "tools", 1103, "head-of-sales"): cut_off,
    At(FAITHFUL, "json", 1103, "deal-team"): reset,
    At(FAITHFUL, "tools", 1103, "deal-team"): garbage,
    At(FAITHFUL, "json", 1217, "verification-desk"): message(content="I would rather not."),
    At(FAITHFUL, "tools", 1217, "verification-desk"): _BAD_TOOL,
}
ALWAYS: dict[At, Fault] = {
    At(CREDULOUS, "json", 1217, "outside-address"): garbage,
    At(CREDULOUS, "tools", 1217, "outside-address"): refusal,
}

_DEBTS = {"3936": 1103, "5692": 1217, "2699": 1429}
_debt = re.compile(r"Monthly debt: ([0-9]+)\.")


def slot_of(request: Any) -> At | None:
    """The slot whose third return, and no earlier one, shows a pushed message; None of any other."""
    text = request["messages"][-1]["content"].partition("## Last returns\n\n")[2].partition("\n\n## ")[0]
    third = text.partition("\nReturn 3:\n")[2].partition("\nReturn 4:\n")[0]
    debt, shown = _debt.search(text), re.search(r"^\[([a-z-]+)@m1\]", third, re.MULTILINE)
    if debt is None or shown is None:
        return None
    return At(request["model"], "tools" if "tools" in request else "json", _DEBTS[debt[1]], shown[1])


class Faults:
    """Which fault a request meets."""

    def __init__(self) -> None:
        self.met: set[At] = set()

    def __call__(self, number: int, request: Any) -> Fault | None:
        at = slot_of(request)
        if at is None or at in ALWAYS:
            return None if at is None else ALWAYS[at]
        if at not in ONCE or at in self.met:
            return None
        self.met.add(at)
        return ONCE[at]


def model(request: Any) -> str:
    """The policy that stands behind this identity."""
    return POLICIES[PLAYED[request["model"]]](request)


def make_rehearsal(folder: Path) -> None:
    """A study as `sealkit init` makes it, with the rehearsal as a further plan."""
    make_study(folder)
    text = (folder / "plans" / "study-b.yaml").read_text(encoding="utf-8")
    for old, new in INSTEAD:
        assert old in text, old
        text = text.replace(old, new)
    (folder / PLAN).write_text(text, encoding="utf-8")


def steps(url: str) -> tuple[tuple[str, ...], ...]:
    """The commands of the rehearsal, in order."""
    return (
        ("check", PLAN),
        ("seal", PLAN),
        ("run", PLAN, "--smoke", "--endpoint", url),
        ("run", PLAN, "--endpoint", url, "--concurrency", "16"),
        ("verify", PLAN, "--replay"),
        ("analyse", PLAN),
        ("publish", PLAN),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.loopback.study_b")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.absolute()
    make_rehearsal(folder)
    with Loopback(model, Faults()) as server:
        for words in steps(server.url):
            print(f"\n$ sealkit {' '.join(words)}", flush=True)
            code = subprocess.run([sys.executable, "-m", "sealkit", *words], cwd=folder).returncode
            if code:
                sys.exit(code)


if __name__ == "__main__":
    main()
