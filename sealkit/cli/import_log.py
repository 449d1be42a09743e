"""`sealkit import inspect LOG PLAN`."""

from __future__ import annotations

from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import json_option, plan_argument, print_json
from sealkit.run.import_log import import_inspect
from sealkit.wire.digest import short
from sealkit.wire.text import counted


@click.group("import")
def command() -> None:
    """Take the episodes of a sealed plan from the log of another tool: recorded, not replayable.

    \b
    Example:
      sealkit import inspect logs/terse.eval plans/mine.yaml --arm terse
    """


@command.command("inspect")
@click.argument("log", type=click.Path(path_type=Path))
@plan_argument
@click.option("--arm", required=True, metavar="NAME", help="The arm whose slots the log's samples are.")
@json_option
def inspect(log: Path, plan: Path, arm: str, as_json: bool) -> None:
    """Take every episode of one arm from an Inspect AI log (.eval, or .json as `inspect log convert` writes it).

    \b
    Examples:
      sealkit import inspect logs/terse.eval plans/mine.yaml --arm terse
      sealkit import inspect logs/stepwise.eval plans/mine.yaml --arm stepwise

    A sample id is a level of family; an epoch is a seed, or a repetition where the plan repeats its cells; a scorer is
    the measure of its name. Refused whole: samples without a slot, twice or missing; another model or other options
    than the arm's; a log begun before the seal, unless the plan's data_access says that data had been collected.
    """
    report = import_inspect(log, plan, arm, now=now)
    if as_json:
        print_json(
            {"arm": arm, "episodes": report.episodes, "failed": report.failed, "left": report.left, "log": report.log,
             "created": report.created, "before_seal": report.before_seal}
        )  # fmt: skip
        return
    side = "before" if report.before_seal else "after"
    failed = counted(report.failed, "sample")
    click.echo(f"{counted(report.episodes, 'episode')} of arm {arm} from log {short(report.log)}, {failed} failed")
    click.echo(f"the log says that it was begun {report.created}, {side} the seal; recorded, not replayable")
    if report.left:
        click.echo(f"next: import the other arms; {report.left} slots are left")
    else:
        click.echo(f"next: sealkit verify receipts/ && sealkit analyse {plan}")
