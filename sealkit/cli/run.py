"""`sealkit run PLAN`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from sealkit.agents.models.endpoint import read_endpoints
from sealkit.cli.clock import now
from sealkit.cli.out import Progress, cost_in_words, escape, json_option, one_line, plan_argument, print_json
from sealkit.files import to_type
from sealkit.plan.asked import to_run, to_run_stage
from sealkit.plan.load import open_plan
from sealkit.plan.slots import Stage
from sealkit.run.bench import Bench, open_bench
from sealkit.run.calling import Models
from sealkit.run.external import Command
from sealkit.run.leaks import keys_apart
from sealkit.run.run import RunReport, run_stage, stop_stage
from sealkit.run.shares import parse_share
from sealkit.wire.errors import UsageError
from sealkit.wire.records import Json
from sealkit.wire.text import counted

jobs_option = click.option(
    "--jobs", type=click.IntRange(1, 256), default=os.cpu_count() or 1, show_default="one a processor",
    help="Worker processes.",
)  # fmt: skip

endpoint_option = click.option(
    "--endpoint", "endpoints", multiple=True, metavar="[ROLE=]URL",
    help="Where models are served: an OpenAI-compatible address such as http://127.0.0.1:8000/v1, or ROLE=URL for one "
    "role of the plan. Keys come from SEALKIT_API_KEY or SEALKIT_API_KEY_ROLE in the environment.",
)  # fmt: skip
concurrency_option = click.option(
    "--concurrency", type=click.IntRange(1, 1024), default=1, show_default=True,
    help="Attempts under way at once, where arms ask models; on a cluster, in each worker.",
)  # fmt: skip


@click.command("run")
@plan_argument
@click.option("--smoke", is_flag=True, help="Run the plan's smoke slots: journaled, never analysed.")
@click.option("--shard", metavar="i/n", help="Run one of n shares of the blocks, in a folder and journal of its own.")
@jobs_option
@click.option(
    "--executor", type=click.Choice(["local", "dask"]), default="local", show_default=True,
    help="Play on this machine, or on the workers of a Dask cluster that share this folder.",
)  # fmt: skip
@click.option("--scheduler", metavar="tcp://…", help="The address of the Dask cluster's scheduler.")
@endpoint_option
@concurrency_option
@click.option("--stop", metavar="REASON", help="Run nothing more, ever: close the run as it stands. Recorded.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    plan: Path,
    smoke: bool,
    shard: str | None,
    jobs: int,
    executor: str,
    scheduler: str | None,
    endpoints: tuple[str, ...],
    concurrency: int,
    stop: str | None,
    as_json: bool,
) -> None:
    """Run every slot of a sealed plan that has no episode yet; then take the readings that it asks of models.

    \b
    Examples:
      sealkit run plans/v1.yaml --smoke
      sealkit run plans/dry-run.yaml --jobs 4
      sealkit run plans/v1.yaml --endpoint http://127.0.0.1:8000/v1 --concurrency 64
      sealkit run plans/v1.yaml --shard 2/3
      sealkit run plans/dry-run.yaml --executor dask --scheduler tcp://127.0.0.1:8786
      sealkit run plans/v1.yaml --executor dask --scheduler tcp://127.0.0.1:8786 --endpoint URL

    Refused without a seal, with a broken one, or if a sealed file has changed. A run that was stopped or killed goes
    on where it was; attempts that left no episode stay counted. Another model than the plan's, a refused key, an
    endpoint that is not there, a spent budget or five errors in a row pause it, and so do the first five of an arm.
    Progress shows counts, never outcomes.

    A smoke run gives no slot up: the same command tries again what has no episode, and each try stays on record.

    With --stop, slots that have no episode by now are missing for good, and counted so in every result.

    Exit code 3 if an arm has nothing but failures, or if any slot of a smoke run is missing.
    """
    if smoke and shard is not None:
        raise UsageError("a smoke run has no shards", where="--shard", remedy="leave one of --smoke and --shard out")
    if (executor == "dask") != (scheduler is not None):
        raise UsageError("--executor dask and --scheduler go together", where="--executor", remedy="give both")
    share = None if shard is None else parse_share(shard)
    stage: Stage = "smoke" if smoke else "confirmatory"
    if stop is not None:
        report = stop_stage(open_bench(plan, stage, share=share), one_line(stop, option="--stop"), now=now)
    else:
        report = go(plan, stage, jobs, endpoints, concurrency, share=share, scheduler=scheduler)
    broken = stop is None and is_broken(report, stage)
    following = broken_step(plan, stage) if broken else _next_step(plan, stage, share, endpoints)
    tell(report, as_json, next_step=following)
    ctx.exit(3 if broken else 0)


def is_broken(report: RunReport, stage: Stage) -> bool:
    """Whether something must be mended before anybody goes on: an arm that only fails, a smoke run with gaps."""
    return any(arm.broken for arm in report.failing) or (stage == "smoke" and report.missing > 0)


def broken_step(plan: Path, stage: Stage) -> str:
    """What comes after a run in which an arm only failed: of a stage that is never analysed, the same run again."""
    again = to_run_stage(plan, open_plan(plan).spec, stage)
    if stage == "pilot":
        return f"mend what failed, then {again}"
    amend = f'{to_type("amend", plan)} --reason "…"'
    mend = f"find out with {to_type('show', plan)} --debug SLOT, and mend it; if a sealed file changes: {amend}"
    return f"{mend}; then {again}" if stage == "smoke" else mend


def _next_step(plan: Path, stage: Stage, share: tuple[int, int] | None, endpoints: tuple[str, ...]) -> str:
    if share is not None:
        return f"{to_type('merge', plan)}, when every shard is closed"
    if stage == "smoke":
        given = [word for endpoint in endpoints for word in ("--endpoint", endpoint)]
        return to_type("run", plan, *given) if given else to_run(plan, open_plan(plan).spec)
    return f"{to_type('verify', plan)} && {to_type('analyse', plan)}"


def go(
    plan: Path,
    stage: Stage,
    jobs: int,
    endpoints: tuple[str, ...],
    concurrency: int,
    *,
    share: tuple[int, int] | None = None,
    scheduler: str | None = None,
) -> RunReport:
    """Run one stage, or a share of it, with progress on a terminal."""
    bench = open_bench(plan, stage, share=share)
    passed = bench.world.environment if isinstance(bench.world, Command) else ()  # a program gets what its plan names
    with keys_apart(but=passed) as keys:
        return _go(bench, jobs, endpoints, concurrency, scheduler, {**os.environ, **keys})


def _go(
    bench: Bench,
    jobs: int,
    endpoints: tuple[str, ...],
    concurrency: int,
    scheduler: str | None,
    environ: Mapping[str, str],
) -> RunReport:
    models, stage = None, bench.stage
    total = bench.begin().slots
    progress = Progress(f"{stage} slots", total)
    if bench.roles:
        at = read_endpoints(endpoints, roles=bench.roles, environ=environ)
        models = Models(at, concurrency, warn=progress.warn)
    elif endpoints:
        what = f"no arm and no reading of the {stage} stage asks a model"
        raise UsageError(what, where="--endpoint", remedy="leave it out")
    try:
        return run_stage(
            bench, jobs=min(jobs, max(1, total // 4)), now=now, watch=progress, models=models, scheduler=scheduler
        )
    finally:
        progress.end()


def tell(report: RunReport, as_json: bool, *, next_step: str) -> None:
    """Print what a run left."""
    spent = report.spent
    if as_json:
        used: dict[str, Json] = {} if spent is None else {
            "used": {"calls": spent.calls, "tokens": spent.tokens, "cost_microusd": spent.cost_microusd,
                     "unmet": spent.unmet}
        }  # fmt: skip
        print_json(
            {"slots": report.slots, "episodes": report.episodes, "new": report.new,
             "abandoned_attempts": report.abandoned, "missing": report.missing,
             **({"failing": {arm.arm: {"failed": arm.failed, "last": arm.last} for arm in report.failing}}
                if report.failing else {}),
             **({"failed_tries": report.tries} if report.tries else {}),
             **({"readings": report.readings, "read": report.read, "abandoned_readings": report.readings_abandoned}
                if report.readings else {}),
             **({"killed": [str(one) for one in report.killed]} if report.killed else {}), **used}
        )  # fmt: skip
        return
    click.echo(
        f"{report.episodes} of {report.slots} slots have their episode, {report.new} of them new; "
        f"{counted(report.abandoned, 'attempt')} abandoned, {counted(report.missing, 'slot')} missing"
    )
    for killed in report.killed:
        click.echo(str(killed))
    for arm in report.failing:
        click.echo(f"arm {escape(str(arm))}")
    if report.tries:
        click.echo(escape(report.tries))
    if report.readings:
        left = f", {report.readings_abandoned} tries abandoned" if report.readings_abandoned else ""
        click.echo(f"{report.read} of {report.readings} readings by models have their reply{left}")
    if spent is not None:
        cost = cost_in_words(spent.cost_microusd, priced=report.priced)
        unmet = f" ({spent.unmet} of them found nobody at the endpoint)" if spent.unmet else ""
        click.echo(f"{counted(spent.calls, 'request')} to models so far{unmet}, {spent.tokens} tokens, {cost}")
    click.echo(f"next: {next_step}")
