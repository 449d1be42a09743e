"""`sealkit analyse PLAN`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import (
    Progress,
    escape,
    heading,
    json_option,
    plan_argument,
    print_json,
    print_table,
    without_empty,
)
from sealkit.files import to_type
from sealkit.infer.analysis import Analysis
from sealkit.infer.estimate import Estimate
from sealkit.infer.robustness import NO_SEED
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.verdicts import Verdict
from sealkit.plan.schema import Spec
from sealkit.plan.slots import slot_count
from sealkit.publish.claims.amended import Amended, amended
from sealkit.publish.claims.lost_values import held_by_cap
from sealkit.publish.not_proved import not_proved
from sealkit.publish.pages.parts import named, rows_of
from sealkit.publish.pages.planned_parts import beware
from sealkit.publish.review.analyse import analyse_study, record_analysis
from sealkit.verify.study import open_study
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.records import Json

_MOST_NAMED = 20


@click.command("analyse")
@plan_argument
@json_option
def command(plan: Path, as_json: bool) -> None:
    """Admit episodes, let the sealed judge measure them, and rule as the sealed plan says.

    \b
    Example:
      sealkit analyse plans/dry-run.yaml

    Refused while slots are still to be run: nobody looks early. The look and the digest of the results are journaled,
    and `sealkit verify --replay` derives the same results again.
    """
    with open_study(plan, replay="limits") as study:
        spec = study.sealed.plan.spec
        progress = Progress("episodes", slot_count(spec, "confirmatory"))
        try:
            found, analysis = analyse_study(study, step=progress.step)
        finally:
            progress.end()
        after = amended(study, found, analysis)
        new = record_analysis(study, found, analysis, now=now)
    if as_json:
        print_json(dict(analysis.record))
        return
    print_analysis(spec, analysis)
    for one in found.not_admitted[:_MOST_NAMED]:
        click.echo(f"  {one.slot}: {one.admission.status}: {escape(one.admission.why)}")
    print_amended(after, held_by_cap(analysis.record))
    state = "recorded in the journal" if new else "as recorded in the journal before"
    click.echo(f"\nresults {short(digest_bytes(analysis.line))}, {state}")
    click.echo("not proved:")
    for sentence in not_proved(spec.evidence):
        click.echo(f"  {sentence}")
    click.echo(f"next: {to_type('verify', f'receipts/{spec.id}', '--replay')} && {to_type('publish', plan)}")


def print_analysis(spec: Spec, analysis: Analysis) -> None:
    """The verdicts first, then the numbers that they rest on, then who was admitted."""
    heading(f"verdicts of {spec.id}")
    heads = ("hypothesis", "metric", "verdict", "says")
    rows = [
        (one.hypothesis, one.metric or "", one.verdict, one.why or spec.hypotheses[one.hypothesis].says)
        for one in analysis.verdicts
    ]
    print_table(*without_empty(heads, rows))
    for line in caveats(analysis):
        click.echo(f"  {line}")
    heading("effects")
    print_table(
        ("effect", "metric", "n", "counts", "estimate", "interval"),
        [(effect, metric, *_numbers(found.estimate)) for (effect, metric), found in analysis.effects.items()],
        right=(2, 3, 4),
    )
    for line in by_pin(analysis):
        click.echo(f"  {line}")
    heading("slots")
    print_table(
        ("arm", "slots", "admitted", "excluded", "errored", "missing"),
        [
            (name, *map(str, (arm.slots, arm.admitted, sum(arm.excluded.values()), arm.errored, arm.missing)))
            for name, arm in ((name, flow.tally) for name, flow in analysis.flow.items())
        ],
        right=(1, 2, 3, 4, 5),
    )


def print_amended(after: Amended, held: Mapping[str, str]) -> None:
    """What amendments, withdrawals and lost outcomes make of the analysis; nothing if there are none.

    A claim has the one status here that `publish` gives it: what is withheld is not called exploratory too.
    """
    withheld = {**held, **after.reservations.withheld}
    exploratory = {
        name: why for name, why in after.reservations.exploratory.items() if not {name, "*"} & withheld.keys()
    }
    for row in after.analyses:
        click.echo(f"  {_earlier_analysis(row)}")
    if not (after.rows or withheld or exploratory):
        return
    heading("amendments" if after.rows else "claims")
    for row in after.rows:
        click.echo(f"  {row['number']}, {row['phase']}: {escape(str(row['changed']))}")
        click.echo(f"     {escape(str(row['effect']))}")
    if after.generations and not after.differing:
        click.echo("  with the episodes that were superseded in their place: the same verdicts")
    if after.other_code and not after.differing:
        pins = ", ".join(map(short, after.other_code))
        click.echo(f"  by the code of pin {pins}, since the first attempt: the same verdicts")
    for row in after.differing:
        name = f"{row['hypothesis']} on {row['metric']}" if row["metric"] else str(row["hypothesis"])
        click.echo(f"  {name}: {row['verdict']}, but {row['other']} by the {row['source']}")
    for row in after.earlier:
        name = f"{row['hypothesis']} on {row['metric']}" if row["metric"] else str(row["hypothesis"])
        click.echo(f"  {name}, as asked before amendment {row['amendment']}: {row['verdict']}")
    for ruling in after.earlier_claims:
        click.echo(f"  withheld: claim {ruling.name}: {escape(ruling.why)}")
    for status, reasons in (("withheld", withheld), ("exploratory", exploratory)):
        for name, why in reasons.items():
            click.echo(f"  {status}: {'every claim' if name == '*' else f'claim {name}'}: {escape(why)}")


def _earlier_analysis(row: Mapping[str, Json]) -> str:
    before = f"an analysis was recorded at {row['recorded_at']} with"
    if row["hypothesis"] is None:
        return f"{before} other results, {short(str(row['results']))}"
    name = f"{row['hypothesis']} on {row['metric']}" if row["metric"] else str(row["hypothesis"])
    return f"{before} {name} {row['verdict']}, which is {row['now'] or 'not asked'} now"


def by_pin(analysis: Analysis) -> Iterator[str]:
    """With several pins, a line for what the episodes of each come to alone: a sensitivity, not a ruling."""
    for part in rows_of(dict(analysis.record), "by_pin"):
        verdicts = ", ".join(f"{named(row)} {row['verdict']}" for row in rows_of(part, "verdicts"))
        yield f"from the episodes under pin {short(str(part['pin']))} alone: {verdicts}"


def caveats(analysis: Analysis) -> Iterator[str]:
    """A line for every verdict that lost outcomes, the seed or the method could have turned, and every note."""
    rows = analysis.record["verdicts"]
    assert isinstance(rows, list)
    for verdict, row in zip(analysis.verdicts, rows, strict=True):
        assert isinstance(row, dict)
        name = f"{verdict.hypothesis} on {verdict.metric}" if verdict.metric else verdict.hypothesis
        for case in ("worst", "best"):
            if row[f"if_{case}"] != verdict.verdict:
                yield f"{name}: {row[f'if_{case}']} in the {case} case of what is missing"
        robust = row["robustness"]
        if isinstance(robust, dict):
            yield from (f"{name}: {line}" for line in _other_ways(verdict, robust))
    for (effect, metric), found in analysis.effects.items():
        if not isinstance(found.estimate, NotEstimable):
            yield from (beware(effect, metric, note) for note in found.estimate.notes)


def _other_ways(verdict: Verdict, robust: dict[str, Json]) -> Iterator[str]:
    if robust["seed_decides"]:
        shares = f"{robust['seeds_same']} of {robust['seeds_tried']}"
        yield f"the bootstrap's seed decides: {shares} seeds say {verdict.verdict}"
    elif robust["seed_decides"] is None and robust["seeds_untried"] != NO_SEED:
        yield f"whether the bootstrap's seed decides is not known: {robust['seeds_untried']}"
    for way, words in (("exact_law", "the exact bootstrap law"), ("tango", "Tango's interval")):
        if robust[way] is not None and (robust[way] != verdict.verdict or robust["seed_decides"]):
            yield f"{words} says {robust[way]}"


def _numbers(found: Estimate) -> tuple[str, str, str, str]:
    if isinstance(found, NotEstimable):
        return ("0", "", "", f"not estimable: {found.reason}")
    fields = {**found.beside, **found.fields}
    alone = str(fields.get("x", fields.get("total", "")))
    count = f"{fields['b']} for, {fields['c']} against" if "b" in fields else alone
    interval = f"{_short(fields['lower'])} to {_short(fields['upper'])}" if "lower" in fields else ""
    return (str(fields.get("n", "")), count, _short(fields["estimate"]), interval)


def _short(number: Decimal | int) -> str:
    return f"{Decimal(number):.4f}"
