"""`sealkit publish PLAN`."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import Progress, heading, json_option, plan_argument, print_json, print_table
from sealkit.files import to_type
from sealkit.infer.claims import ClaimRuling
from sealkit.infer.gates import not_asked
from sealkit.plan.slots import slot_count
from sealkit.publish.edition import Edition, build_edition, write_edition
from sealkit.seal.journal import exclusive
from sealkit.seal.pins import read_seal
from sealkit.seal.places import study_of
from sealkit.verify.sandbox import Isolation
from sealkit.verify.study import Study, open_study
from sealkit.wire.digest import digest_bytes
from sealkit.wire.events import Looked, Published
from sealkit.wire.records import Json


@click.command("publish")
@plan_argument
@click.option("--dry-run", is_flag=True, help="Decide the gates and rule on the claims; write nothing.")
@json_option
@click.pass_context
def command(ctx: click.Context, plan: Path, dry_run: bool, as_json: bool) -> None:
    """Write an edition of an analysed study, if every gate of its plan is open.

    \b
    Examples:
      sealkit publish plans/v1.yaml --dry-run
      sealkit publish plans/v1.yaml

    Writes publications/EDITION/: results.json, report.md, report.html and bundle.tar, which `sealkit verify` accepts on
    another machine. Building an edition twice gives the same bytes; one that is there is compared, never written over.

    Exit code 1 if a gate is closed.
    """
    edition, folder, new = publish(plan, dry_run=dry_run, isolation="limits")
    if as_json:
        print_json(_document(edition, folder, new))
    else:
        print_edition(edition)
        if edition.may_be_published:
            verb = "written" if new else "there already, the same bytes" if not dry_run else "ready"
            click.echo(f"\nedition {edition.name}: {verb}")
            click.echo(f"page: {folder / edition.name / 'report.html'}")
            check = to_type("verify", folder / edition.name, "--replay")
            click.echo(f"next: {to_type('publish', plan) if dry_run else check}")
        else:
            click.echo("\nnot published: a gate is closed")
    ctx.exit(0 if edition.may_be_published else 1)


def publish(plan: Path, *, dry_run: bool, isolation: Isolation) -> tuple[Edition, Path, bool]:
    """Build the edition of `plan` and write it if its gates are open; the edition, its folder, whether it is new."""
    with _alone(plan), open_study(plan, replay=isolation) as study:
        progress = Progress("episodes", slot_count(study.sealed.plan.spec, "confirmatory"))
        try:
            edition = build_edition(study, step=progress.step)
        finally:
            progress.end()
        folder = study.sealed.study / "publications"
        new = False
        if edition.may_be_published and not dry_run:
            new = write_edition(edition, folder)
        _record(study, edition, written=edition.may_be_published and not dry_run)
        return edition, folder, new


def _alone(plan: Path) -> contextlib.AbstractContextManager[None]:
    """Nobody else runs, amends or publishes this plan meanwhile; what is not there is for `open_study` to name."""
    study = study_of(plan)
    receipts = study / "receipts" / read_seal(plan, study)[0].plan.id
    if not receipts.is_dir():
        return contextlib.nullcontext()
    return exclusive(receipts, inside=study, then=f"sealkit publish {plan}")


def _record(study: Study, edition: Edition, *, written: bool) -> None:
    """Journal the edition, also where a crash came between its files and their entry; else that somebody looked."""
    results = digest_bytes(edition.files["results.json"])
    new = written and not edition.recorded
    event = Published(edition=edition.name, results=results) if new else Looked(what="publish")
    study.sealed.journal().append(event, now=now())


def print_edition(edition: Edition) -> None:
    """The claims and the gates."""
    heading("claims")
    rows = [(claim.name, claim.claim.stratum, claim.status, _says(claim)) for claim in edition.claims]
    print_table(("claim", "stratum", "status", "says"), rows)
    heading("gates")
    print_table(
        ("gate", "", "evidence"),
        [
            *((gate.gate, "open" if gate.open else "CLOSED", gate.evidence) for gate in edition.gates),
            *((gate, "not asked", "nothing was decided") for gate in not_asked(edition.gates)),
        ],
    )


def _says(claim: ClaimRuling) -> str:
    if claim.status in ("withheld", "exploratory"):
        return claim.why
    return f"{claim.claim.text} ({claim.why})" if claim.why else claim.claim.text


def _document(edition: Edition, folder: Path, new: bool) -> Json:
    claims: list[Json] = [
        {"claim": claim.name, "stratum": claim.claim.stratum, "status": claim.status} for claim in edition.claims
    ]
    gates: list[Json] = [{"gate": gate.gate, "open": gate.open, "evidence": gate.evidence} for gate in edition.gates]
    return {
        "edition": edition.name, "published": edition.may_be_published, "new": new, "claims": claims, "gates": gates,
        "page": str(folder / edition.name / "report.html"),
    }  # fmt: skip
