"""`sealkit pilot PLAN`."""

from __future__ import annotations

from pathlib import Path

import click

from sealkit.cli.out import json_option, plan_argument
from sealkit.cli.run import broken_step, concurrency_option, endpoint_option, go, is_broken, jobs_option, tell
from sealkit.files import to_type


@click.command("pilot")
@plan_argument
@jobs_option
@endpoint_option
@concurrency_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, plan: Path, jobs: int, endpoints: tuple[str, ...], concurrency: int, as_json: bool
) -> None:
    """Run the plan's pilot slots before its seal: counted and journaled, on seeds of their own, never analysed.

    \b
    Example:
      sealkit pilot plans/v1.yaml

    The seal then states how many pilot episodes and calls came before it. After a mend the same command tries again
    what has no episode; each try stays on record.
    """
    report = go(plan, "pilot", jobs, endpoints, concurrency)
    broken = is_broken(report, "pilot")
    tell(report, as_json, next_step=broken_step(plan, "pilot") if broken else to_type("seal", plan))
    ctx.exit(3 if broken else 0)
