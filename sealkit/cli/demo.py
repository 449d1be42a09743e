"""`sealkit demo`."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import click

from sealkit.agents.models.local import serving
from sealkit.cli.analyse import print_analysis
from sealkit.cli.clock import now
from sealkit.cli.init import make_study
from sealkit.cli.publish import print_edition, publish
from sealkit.cli.run import go
from sealkit.files import to_type
from sealkit.publish.review.analyse import analyse_study, record_analysis
from sealkit.seal.seal import make_seal
from sealkit.verify.study import open_study
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import UsageError
from sealkit.world.reference import reference_root

PLAN = Path("plans") / "dry-run.yaml"
LOCAL_PLANS = ("local-model", "study-b-local")
LOCAL_MODEL = "smollm2-135m-instruct-q4_1"  # as these plans have it


@click.command("demo")
@click.option("--into", type=click.Path(path_type=Path), help="Make the study in this new folder.")
@click.option(
    "--local-model", type=click.Path(path_type=Path), metavar="GGUF",
    help="Run the four arms of v1 with this model file in a llama.cpp server on this machine instead.",
)  # fmt: skip
@click.option(
    "--plan", type=click.Choice(LOCAL_PLANS),
    help="What the local model is asked: the arms of v1 unless said otherwise, or both scaffolds of Study B.",
)  # fmt: skip
@click.pass_context
def command(ctx: click.Context, into: Path | None, local_model: Path | None, plan: str | None) -> None:
    """Run the dry run of the house study end to end in a scratch folder: no network, no model, under a minute.

    \b
    Examples:
      sealkit demo
      sealkit demo --into mydemo
      make demo-model              the same with a small language model, on this machine alone
      make demo-model PLAN=study-b-local

    Five scripted agents in 60 scenarios each show that the world does what it was built to do, and that the whole way
    from a plan to a published edition holds.
    """
    if plan is not None and local_model is None:
        raise UsageError("a plan is chosen for the local model alone", where="--plan", remedy="add --local-model GGUF")
    folder = (
        Path(os.path.abspath(into)) if into is not None else Path(tempfile.mkdtemp(prefix="sealkit-demo-")) / "study"
    )
    make_study(folder)
    if local_model is None:
        ctx.exit(0 if _demo(folder / PLAN, ()) else 1)
    local_plan = Path("plans") / f"{plan or LOCAL_PLANS[0]}.yaml"
    shutil.copyfile(reference_root() / local_plan, folder / local_plan)
    with serving(Path(os.path.abspath(local_model)), name=LOCAL_MODEL, log=folder.parent / "server.log") as address:
        ctx.exit(0 if _demo(folder / local_plan, (address,)) else 1)


def _verify(edition: Path) -> str:
    # Each demo has a seal of its own: this machine need not remember it beside the study that it is a copy of.
    return to_type("verify", edition, "--replay", "--no-remember")


def _demo(plan: Path, endpoints: tuple[str, ...]) -> bool:
    sealed = make_seal(plan, now=now())
    sealed.manifest.close()
    click.echo(f"1  sealed: {sealed.seal.manifest.count} scenarios and every line of code, pin {short(sealed.pin)}")
    report = go(plan, "confirmatory", os.cpu_count() or 1, endpoints, 1)
    click.echo(f"2  run: {report.episodes} of {report.slots} slots have their episode")
    with open_study(plan, replay="limits") as study:
        found, analysis = analyse_study(study, step=lambda count: None)
        record_analysis(study, found, analysis, now=now)
    admitted = sum(arm.admitted for arm in found.arms.values())
    totals = found.totals
    click.echo(
        f"3  verified: {totals.acts} acts, {totals.occurrences} receipts; every episode run again, the same bytes"
    )
    click.echo(f"4  admitted: {admitted} of {report.slots} slots")
    click.echo(f"5  ruled by the sealed rules, results {short(digest_bytes(analysis.line))}:")
    print_analysis(study.sealed.plan.spec, analysis)
    edition, publications, _ = publish(plan, dry_run=False, isolation="limits")
    print_edition(edition)
    supported = [verdict for verdict in analysis.verdicts if verdict.verdict == "supported"]
    click.echo(
        f"\n{report.slots} slots, {admitted} admitted, "
        f"{len(supported)} of {len(analysis.verdicts)} predictions supported"
    )
    click.echo(f"the published page: {publications / edition.name / 'report.html'}")
    click.echo(f"check it as a stranger: {_verify(publications / edition.name)}")
    return (bool(endpoints) or len(supported) == len(analysis.verdicts)) and edition.may_be_published
