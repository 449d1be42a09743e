"""`sealkit conformance worlds/NAME | verifiers/NAME`."""

from __future__ import annotations

from pathlib import Path

import click

from sealkit.cli.out import heading, json_option, print_json, print_table
from sealkit.verify.conformance import Finding, examine_verifier, examine_world
from sealkit.wire.errors import UsageError
from sealkit.wire.records import Json


@click.command("conformance")
@click.argument("folders", nargs=-1, required=True, metavar="worlds/NAME | verifiers/NAME ...")
@json_option
@click.pass_context
def command(ctx: click.Context, folders: tuple[str, ...], as_json: bool) -> None:
    """Run the contract that every world and verifier must keep, over your own too.

    \b
    Examples:
      sealkit conformance worlds/house
      sealkit conformance worlds/* verifiers/*

    Exit code 1 if a clause is not kept.
    """
    examined = {folder.rstrip("/"): _examine(Path(folder)) for folder in folders}
    kept = all(finding.kept for findings in examined.values() for finding in findings)
    if as_json:
        documents: list[Json] = [
            {"folder": folder, "clause": finding.clause, "kept": finding.kept, "detail": finding.detail}
            for folder, findings in examined.items()
            for finding in findings
        ]
        print_json({"kept": kept, "findings": documents})
    else:
        for folder, findings in examined.items():
            heading(folder)
            rows = [("yes" if f.kept else "NO", f.clause, f.detail) for f in findings]
            print_table(("kept", "clause", "examined"), rows)
    ctx.exit(0 if kept else 1)


def _examine(folder: Path) -> tuple[Finding, ...]:
    folder = folder.resolve()
    if not folder.is_dir():
        raise UsageError("there is no such folder", where=str(folder), remedy="name worlds/NAME or verifiers/NAME")
    study = folder.parent.parent
    if folder.parent.name == "worlds":
        return examine_world(study, folder.name)
    if folder.parent.name == "verifiers":
        return examine_verifier(study, folder.name)
    raise UsageError(
        "found neither a world nor a verifier", where=str(folder), remedy="name worlds/NAME or verifiers/NAME"
    )
