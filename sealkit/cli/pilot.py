"""`sealkit pilot PLAN`."""

from __future__ import annotations

from pathlib import Path

import click

from sealkit.cli.out import json_option, plan_argument
from sealkit.cli.run import concurrency_option, endpoint_option, go, is_broken, jobs_option, tell
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

    The seal then states how many pilot episodes and calls came before it.
    """
    report = go(plan, "pilot", jobs, endpoints, concurrency)
    tell(report, as_json, next_step=to_type("seal", plan))
    ctx.exit(3 if is_broken(report, "pilot") else 0)
