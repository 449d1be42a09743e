"""`sealkit run PLAN`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import Progress, json_option, plan_argument, print_json
from sealkit.files import to_type
from sealkit.plan.slots import Stage, slot_count
from sealkit.run.bench import open_bench
from sealkit.run.run import RunReport, run_stage

jobs_option = click.option(
    "--jobs", type=click.IntRange(1, 256), default=os.cpu_count() or 1, show_default="one a processor",
    help="Worker processes.",
)  # fmt: skip


@click.command("run")
@plan_argument
@click.option("--smoke", is_flag=True, help="Run the plan's smoke slots: journaled, never analysed.")
@jobs_option
@json_option
def command(plan: Path, smoke: bool, jobs: int, as_json: bool) -> None:
    """Run every slot of a sealed plan that has no episode yet.

    \b
    Examples:
      sealkit run plans/v1.yaml --smoke
      sealkit run plans/v1.yaml --jobs 4

    Refused without a seal, with a broken one, or if a sealed file has changed. A run that was stopped or killed goes
    on where it was; attempts that left no episode stay counted. Progress shows counts, never outcomes.
    """
    report = go(plan, "smoke" if smoke else "confirmatory", jobs)
    tell(report, as_json, next_step=f"{to_type('verify', plan)} && {to_type('analyse', plan)}")


def go(plan: Path, stage: Stage, jobs: int) -> RunReport:
    """Run one stage, with progress on a terminal."""
    bench = open_bench(plan, stage)
    total = slot_count(bench.plan.spec, stage)
    progress = Progress(f"{stage} slots", total)
    try:
        return run_stage(bench, jobs=min(jobs, max(1, total // 4)), now=now, step=progress.step)
    finally:
        progress.end()


def tell(report: RunReport, as_json: bool, *, next_step: str) -> None:
    """Print what a run left."""
    if as_json:
        print_json(
            {"slots": report.slots, "episodes": report.episodes, "new": report.new,
             "abandoned_attempts": report.abandoned, "missing": report.missing}
        )  # fmt: skip
        return
    click.echo(
        f"{report.episodes} of {report.slots} slots have their episode, {report.new} of them new; "
        f"{report.abandoned} attempts abandoned, {report.missing} slots missing"
    )
    click.echo(f"next: {next_step}")
