"""Studies for tests: parts of the dry run, sealed and run by the command line as a user would.

study = make_study(folder, SMALL)          # a folder as `sealkit init` makes it, with plans/part.yaml
call("seal", "plans/part.yaml", cwd=study).code
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import click

from sealkit.cli import main
from sealkit.cli.init import make_study as init_study

ROOT = Path(__file__).parents[1]
PLAN = "plans/part.yaml"
ID = "part"


@dataclass(frozen=True)
class Part:
    """Which part of the dry run: arms, families, and seeds from 0 on."""

    arms: tuple[str, ...]
    families: tuple[str, ...]
    seeds: int

    @property
    def slots(self) -> int:
        return len(self.arms) * len(self.families) * self.seeds


SMALL = Part(("oracle", "tracker"), ("delayed_update", "noise"), 2)
FAMILIES = ("stale_door", "wrong_start", "delayed_update", "noise", "unobservable", "double_fault")
MIDDLE = Part(("oracle", "naive", "tracker", "rechecker", "random"), FAMILIES, 5)

_section = re.compile(r"^([a-z_]+):.*\n(?:(?![a-z_]+:).*\n)*", re.MULTILINE)


def plan_text(part: Part, *, id: str = ID, text: str | None = None) -> str:
    """plans/dry-run.yaml cut down to a part: each arm is said to succeed in every episode."""
    cells = len(part.families) * part.seeds
    arms = "".join(f"    {arm}: {{role: control, scripted: {arm}}}\n" for arm in part.arms)
    effects = "".join(
        f"  {arm}: {{of: {{arm: {arm}}}, metric: success, population: everything, method: rate}}\n" for arm in part.arms
    )
    hypotheses = "".join(
        f"  {arm}:\n    says: the {arm} succeeds {cells} of {cells}\n    verdict:\n"
        f'      supported: "{arm}.x == {cells} && {arm}.n == {cells}"\n      contradicted: "{arm}.x < {arm}.n"\n'
        f"      otherwise: not_shown\n"
        for arm in part.arms
    )
    instead = {
        "id": f"id: {id}\n",
        "factors": f"factors:\n  arm:\n{arms}  family: [{', '.join(part.families)}]\n  seed: 0..{part.seeds - 1}\n",
        "populations": "populations: {everything: {family: all}}\n",
        "metrics": "metrics: {success: {kind: binary, better: higher, primary: true}}\n",
        "methods": "methods: {rate: {kind: wilson, level: 0.95}}\n",
        "reported_only": "reported_only: []\n",
        "effects": f"effects:\n{effects}",
        "hypotheses": f"hypotheses:\n{hypotheses}",
        "claims": "claims:\n  it-does:\n    text: The oracle succeeded.\n    stratum: instrument\n"
        f"    needs: [{{hypothesis: {part.arms[0]}, verdict: [supported]}}]\n    does_not_show: anything else\n",
    }
    whole = text if text is not None else (ROOT / "plans" / "dry-run.yaml").read_text(encoding="utf-8")
    return _section.sub(lambda found: instead.get(found[1], found[0]), whole).replace(
        "family: [stale_door], seed: [100]", f"family: [{part.families[0]}], seed: [100]"
    )


def make_study(folder: Path, part: Part) -> Path:
    """A study with the reference world and verifiers, and the part as its only plan."""
    init_study(folder)
    for plan in (folder / "plans").glob("*.yaml"):
        plan.unlink()
    (folder / PLAN).write_text(plan_text(part), encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Outcome:
    """What one call of the command line left."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Everything that was printed."""
        return self.out + self.err


def call(*arguments: str | Path, cwd: Path, traceback: bool = True) -> Outcome:
    """Call the command line in this process, in the folder `cwd`. With `traceback`, a defect of sealkit raises."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = None
    with (
        mock.patch.object(sys, "argv", ["sealkit", *map(str, arguments)]),
        mock.patch.dict(os.environ, {"SEALKIT_TRACEBACK": "1"} if traceback else {}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(cwd),
        mock.patch.object(click.utils, "_default_text_stderr", lambda: err),
    ):
        if not traceback:
            os.environ.pop("SEALKIT_TRACEBACK", None)
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return Outcome(code, out.getvalue(), err.getvalue())


def read(text: str) -> Any:
    """The one JSON document that a command printed."""
    assert text.endswith("\n")
    return json.loads(text)


def ok(outcome: Outcome) -> Outcome:
    """The outcome, which is exit code 0."""
    assert outcome.code == 0, outcome.said
    return outcome
