"""`sealkit seal PLAN`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import json_option, plan_argument, print_json
from sealkit.plan.asked import to_run
from sealkit.seal.heads import known_heads
from sealkit.seal.manifest import scenarios_in_words
from sealkit.seal.places import beside, study_of
from sealkit.seal.seal import make_seal
from sealkit.seal.sealed import open_seal
from sealkit.wire.digest import short
from sealkit.wire.errors import UntrustedError
from sealkit.wire.text import counted


@click.command("seal")
@plan_argument
@json_option
def command(plan: Path, as_json: bool) -> None:
    """Commit to a plan and everything it depends on, before any confirmatory call.

    \b
    Example:
      sealkit seal plans/v1.yaml

    Writes plans/NAME.seal.json, NAME.manifest.jsonl (every scenario) and NAME.source.tar (all sealed code), and
    begins the journal in receipts/. A second seal of the same plan is refused: a change after the seal is an
    amendment.
    """
    _refuse_forgotten(plan)
    sealed = make_seal(plan, now=now())
    sealed.manifest.close()
    seal = sealed.seal
    if as_json:
        trees: dict[str, str] = {tree.path: tree.root for tree in seal.closure.trees}
        print_json(
            {"plan": seal.plan.id, "pin": sealed.pin, "sealed_at": seal.sealed_at, "trees": dict(trees),
             "scenarios": seal.manifest.count, "manifest": seal.manifest.root, "source": seal.source.digest}
        )  # fmt: skip
        return
    files = sum(len(tree.entries) for tree in seal.closure.trees)
    click.echo(f"sealed {seal.plan.id} at {seal.sealed_at}, pin {short(sealed.pin)}")
    trees_and_files = f"{counted(len(seal.closure.trees), 'tree')} with {counted(files, 'file')}"
    click.echo(f"  {trees_and_files}, {scenarios_in_words(sealed.plan.spec, seal.manifest.count)}")
    click.echo(f"  the pin in full, to quote where others can see it: {sealed.pin}")
    click.echo(f"next: {to_run(plan, sealed.plan.spec)}")


def _refuse_forgotten(plan: Path) -> None:
    """A seal without a journal is completed by sealing again, but not if this machine has seen that journal."""
    study_of(plan)  # whose refusal of a path that is no plan's says it better
    if not beside(plan, "seal.json").exists():
        return
    sealed = open_seal(plan)
    sealed.manifest.close()
    known = known_heads(os.environ).recall(sealed.pin)
    if known is not None and not sealed.receipts.exists():
        raise UntrustedError(
            f"its journal is gone; this machine has seen {counted(known.count, 'entry', 'entries')} of it",
            where=str(sealed.receipts),
            remedy="put the receipts back",
        )
