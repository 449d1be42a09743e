"""`sealkit status [PLAN]`."""

from __future__ import annotations

from pathlib import Path

import click

from sealkit.cli.out import escape, heading, json_option, print_json
from sealkit.files import to_type
from sealkit.plan.load import open_plan
from sealkit.publish.review.status import Standing, status_of
from sealkit.seal.places import beside
from sealkit.wire.errors import SealkitError, UsageError
from sealkit.wire.records import Json


@click.command("status")
@click.argument("plans", nargs=-1, type=click.Path(path_type=Path), metavar="[PLAN ...]")
@json_option
@click.pass_context
def command(ctx: click.Context, plans: tuple[Path, ...], as_json: bool) -> None:
    """Say where each plan of the study stands and what to type next. Outcomes are not shown.

    Exits with 1 if the files of a plan do not hold, and with 2 if a plan cannot be read.

    \b
    Examples:
      sealkit status
      sealkit status plans/v1.yaml --json
    """
    found = plans or tuple(sorted(Path("plans").glob("*.yaml")))
    if not found:
        raise UsageError("no plan in plans/", remedy="sealkit init mystudy")
    for path in found:
        if not path.is_file():
            raise UsageError("there is no such plan", where=str(path), remedy="sealkit status")
    codes, standings = zip(*(_standing(path) for path in found), strict=True)
    if as_json:
        documents: list[Json] = [
            {"plan": one.plan, "file": str(path), "state": one.state, "next": one.next_step, "facts": list(one.facts)}
            for path, one in zip(found, standings, strict=True)
        ]
        print_json(documents)
        ctx.exit(max(codes))
    for path, one in zip(found, standings, strict=True):
        heading(escape(f"{one.plan}: {one.state}" if one.plan == str(path) else f"{one.plan} ({path}): {one.state}"))
        for fact in one.facts:
            click.echo(f"  {escape(fact)}")
        click.echo(f"  next: {one.next_step}")
    ctx.exit(max(codes))


def _standing(path: Path) -> tuple[int, Standing]:
    """The exit code and the standing of one plan."""
    following = to_type("check", path)
    try:
        plan = open_plan(path)
        if beside(path, "seal.json").exists():
            following = to_type("verify", path)
        return 0, status_of(path, plan)
    except SealkitError as error:
        is_sealed = beside(path, "seal.json").exists()
        state = "does not hold" if is_sealed or not isinstance(error, UsageError) else "the plan is off"
        return error.exit_code, Standing(str(path), state, (str(error),), following)
