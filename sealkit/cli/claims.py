"""`sealkit claims PLAN`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import Progress, escape, heading, json_option, plan_argument, print_json
from sealkit.infer.claims import NO_RESERVATIONS, ClaimRuling, rule_claims
from sealkit.plan.lint_world import NOT_REPLAYABLE, RECORDED
from sealkit.plan.load import open_plan
from sealkit.plan.slots import slot_count
from sealkit.publish.edition import build_edition
from sealkit.publish.review.asked import asked_earlier, claims_of_earlier
from sealkit.seal.sealed import beside, open_seal
from sealkit.verify.study import open_study
from sealkit.wire.events import Analysed, Looked
from sealkit.wire.records import Json


@click.command("claims")
@plan_argument
@json_option
def command(plan: Path, as_json: bool) -> None:
    """Say of every claim of a plan whether the evidence that it needs is there.

    \b
    Examples:
      sealkit claims plans/v1.yaml
      sealkit claims plans/v1.yaml --json

    Before the analysis every claim is unmeasured, and nothing is looked at. After it the sealed judge measures again,
    the recorded analysis must come out, and the gates are decided; that is a look, and the journal says so.

    supported, contradicted, partly, not shown, not estimable: what the verdicts say. Unmeasured: there are none.
    Exploratory: an amendment touched the claim, or what it stands on, when there were outcomes. Withheld: a gate is
    closed, an arm has too many exclusions, or the claim was withdrawn, or dropped by such an amendment.
    """
    name, evidence, rulings, looked = _rulings(plan)
    if as_json:
        print_json(
            {"plan": name, "evidence": evidence, "looked": looked, "claims": [_document(ruling) for ruling in rulings]}
        )
        return
    heading(f"claims of {name}" + ("" if looked else ", before any analysis"))
    for ruling in rulings:
        _print(ruling)
    if rulings and evidence == RECORDED:
        click.echo(f"\n  the evidence of every claim is {NOT_REPLAYABLE}")
    if not rulings:
        click.echo("  the plan makes none")


def _rulings(plan: Path) -> tuple[str, str, Sequence[ClaimRuling], bool]:
    """The plan's id and evidence level, the ledger, and whether outcomes were looked at for it."""
    analysed, dropped = _before(plan)
    if not analysed:
        spec = open_plan(plan).spec
        return spec.id, spec.evidence, (*rule_claims(spec, (), NO_RESERVATIONS), *dropped), False
    with open_study(plan, replay="limits") as study:
        progress = Progress("episodes", slot_count(study.sealed.plan.spec, "confirmatory"))
        try:
            edition = build_edition(study, step=progress.step)
        finally:
            progress.end()
        study.sealed.journal().append(Looked(what="claims"), now=now())
        spec = study.sealed.plan.spec
        return spec.id, spec.evidence, edition.claims, True


def _before(plan: Path) -> tuple[bool, tuple[ClaimRuling, ...]]:
    """Whether there is an analysis, and the claims that were dropped or reworded when there could be outcomes."""
    if not beside(plan, "seal.json").exists():
        return False, ()
    sealed = open_seal(plan)
    try:
        analysed = any([isinstance(entry.event, Analysed) for entry in sealed.history().entries()])
        dropped = (ruling for one in asked_earlier(sealed.pins) for ruling in claims_of_earlier(one, {}, {}))
        return analysed, tuple(dropped)
    finally:
        sealed.close()


def _print(ruling: ClaimRuling) -> None:
    status = click.style(ruling.status.replace("_", " "), bold=True)
    click.echo(f"\n  {status}: {ruling.name} ({ruling.claim.stratum})")
    click.echo(f"    {escape(ruling.claim.text)}")
    for met in ruling.needs:
        metric = f" on {met.need.metric}" if met.need.metric else ""
        found = met.found or "not measured"
        click.echo(f"    needs {met.need.hypothesis}{metric} {' or '.join(met.need.verdict)}: found {found}")
    if ruling.why:
        click.echo(f"    {escape(ruling.why)}")
    click.echo(f"    does not show: {escape(ruling.claim.does_not_show)}")


def _document(ruling: ClaimRuling) -> Json:
    needs: list[Json] = [
        {
            "hypothesis": met.need.hypothesis,
            "metric": met.need.metric,
            "due": list(met.need.verdict),
            "found": met.found,
        }
        for met in ruling.needs
    ]
    return {
        "claim": ruling.name, "text": ruling.claim.text, "stratum": ruling.claim.stratum, "status": ruling.status,
        "needs": needs, "why": ruling.why, "does_not_show": ruling.claim.does_not_show,
    }  # fmt: skip
