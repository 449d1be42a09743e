"""`sealkit withhold PLAN DIGEST`."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import one_line, plan_argument
from sealkit.seal.sealed import open_seal
from sealkit.seal.withheld import withhold
from sealkit.wire.digest import short


@click.command("withhold")
@plan_argument
@click.argument("digest")
@click.option("--reason", required=True, help="Why; it is published.")
def command(plan: Path, digest: str, reason: str) -> None:
    """Remove the body of a request or a reply for good, and record that it was.

    \b
    Example:
      sealkit withhold plans/v1.yaml sha256:9f… --reason "it quotes a customer"

    DIGEST is that of the body, as a line of calls.jsonl names it. The line stays, and `sealkit verify` says that the
    body is withheld. What rests on it cannot be run again by anybody. An episode keeps what its agent wrote down;
    what a model read in a withheld reply counts as missing, and claims that rest on it are exploratory. After it
    `sealkit analyse` is due once more.
    """
    with contextlib.closing(open_seal(plan)) as sealed:
        there = withhold(sealed, digest, reason=one_line(reason, option="--reason"), now=now())
    click.echo(f"withheld {short(digest)}{'' if there else ', of which there was no body'}")
