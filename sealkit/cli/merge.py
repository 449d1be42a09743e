"""`sealkit merge PLAN`."""

from __future__ import annotations

from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import Progress, json_option, plan_argument, print_json
from sealkit.run.merge import MergeReport, merge
from sealkit.wire.text import counted


@click.command("merge")
@plan_argument
@click.option("--unfinished", is_flag=True, help="Take over what there is; `sealkit run` goes on with what is left.")
@json_option
def command(plan: Path, unfinished: bool, as_json: bool) -> None:
    """Check every shard of a run and take it over into the main journal.

    \b
    Examples:
      sealkit merge plans/v1.yaml
      sealkit merge plans/v1.yaml --unfinished

    Before it, each shard was run: `sealkit run plans/v1.yaml --shard 1/2`, and so on.

    Refused if a shard is missing or not closed, if one is of another seal, pin or share, or if its bytes do not hold.
    With --unfinished, a shard that began in this folder and is gone is recorded as lost: claims become exploratory.
    The folders of the shards stay as they are. A merge that was killed goes on where it was; another one changes
    nothing.
    """
    progress = Progress("episodes merged", 0)
    try:
        report = merge(plan, unfinished=unfinished, now=now, step=progress.step)
    finally:
        progress.end()
    _tell(report, plan, as_json)


def _tell(report: MergeReport, plan: Path, as_json: bool) -> None:
    if as_json:
        print_json(
            {"shards": report.shards, "lost": report.lost, "copied": report.copied, "slots": report.slots,
             "episodes": report.episodes, "abandoned_attempts": report.abandoned, "closed": report.closed,
             **({"killed": [str(one) for one in report.killed]} if report.killed else {})}
        )  # fmt: skip
        return
    if report.lost:
        click.echo(f"{report.lost} shards began here and are gone: recorded as lost, and claims become exploratory")
    for killed in report.killed:
        click.echo(str(killed))
    if not report.copied and not report.lost:
        click.echo(f"{counted(report.shards, 'shard was', 'shards were')} merged before; nothing was to be done")
    else:
        click.echo(
            f"{counted(report.shards, 'shard')} merged, {counted(report.copied, 'entry', 'entries')}; "
            f"{report.episodes} of {report.slots} slots have their episode, "
            f"{counted(report.abandoned, 'attempt')} abandoned"
        )
    verify = f"sealkit verify receipts/ && sealkit analyse {plan}"
    click.echo(f"next: {verify if report.closed else f'sealkit run {plan}'}")
