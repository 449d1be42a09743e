"""`sealkit withhold PLAN DIGEST`."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import escape, one_line, plan_argument
from sealkit.files import to_type
from sealkit.publish.review.asked import gates_amended
from sealkit.seal.sealed import SealedPlan, open_seal
from sealkit.seal.withheld import Cost, cost_of, withhold
from sealkit.wire.digest import short
from sealkit.wire.text import counted

GATE = "files_verify"


@click.command("withhold")
@plan_argument
@click.argument("digest")
@click.option("--reason", required=True, help="Why; it is published.")
@click.option("--yes", is_flag=True, help="Do it: without this, only what it costs is said.")
@click.pass_context
def command(ctx: click.Context, plan: Path, digest: str, reason: str, yes: bool) -> None:
    """Remove the body of a request or a reply for good, and record that it was.

    \b
    Example:
      sealkit withhold plans/v1.yaml sha256:9f… --reason "it quotes a customer"

    DIGEST is that of the body, as a line of calls.jsonl names it. Without --yes nothing is done: what hangs on the
    body is said, and the exit code is 2. The line stays, and `sealkit verify` says that the body is withheld. What
    rests on it cannot be run again by anybody, so that the gate files_verify closes, and no further edition can be
    published where the plan asks for that gate. An episode keeps what its agent wrote down; what a model read in a
    withheld reply counts as missing, and claims that rest on it are exploratory. After it `sealkit analyse` is due
    once more.
    """
    reason = one_line(reason, option="--reason")
    with contextlib.closing(open_seal(plan)) as sealed:
        cost = withhold(sealed, digest, reason=reason, now=now()) if yes else cost_of(sealed, digest)
        if yes:
            click.echo(f"withheld {short(digest)}{'' if cost.there else ', of which there was no body'}")
        else:
            click.echo(f"what it costs to withhold {short(digest)}, for good")
        for words in _costs(sealed, cost):
            click.echo(f"  {escape(words)}")
    if not yes:
        click.echo(f"nothing was done; to do it: {to_type('withhold', plan, digest, '--reason', reason, '--yes')}")
        ctx.exit(2)


def _costs(sealed: SealedPlan, cost: Cost) -> Iterator[str]:
    for what, told in (("the request of", cost.requests), ("the reply to", cost.replies)):
        if told.total():
            yield f"it is {what} {counted(told.total(), 'HTTP request')}: {_listed(told)}"
    if cost.episodes.total():
        what = f"{counted(cost.episodes.total(), 'episode')} can be run again by nobody: {_listed(cost.episodes)}"
        yield f"{what}; that its agent did so is then taken on trust"
    if cost.readings.total():
        what = f"{counted(cost.readings.total(), 'reading')} count as missing: {_listed(cost.readings)}"
        yield f"{what}; claims that rest on them are exploratory, or withheld beyond the exclusion cap"
    if not cost.episodes.total() + cost.readings.total():
        yield "what rests on it can still be run again"
    elif GATE in {*sealed.plan.spec.gates, *gates_amended(sealed.pins)}:
        yield (
            f"the gate {GATE} closes, which this plan asks for: no further edition can be published, and no amendment "
            "after the first confirmatory attempt helps. So publish first what is to be published"
        )
    else:
        yield f"the plan does not ask for the gate {GATE}: editions can still be published, and say what is withheld"
    if cost.editions:
        made = counted(cost.editions, "edition was", "editions were")
        yield f"{made} published before: they still verify, and their bundles hold the body still"


def _listed(told: Counter[str]) -> str:
    return ", ".join(f"{count} of {name}" for name, count in sorted(told.items()) if count)
