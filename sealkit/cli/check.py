"""`sealkit check PLAN`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import click

from sealkit.cli.out import heading, json_option, plan_argument, print_json, print_table
from sealkit.files import to_type
from sealkit.infer.headroom import LEAST, AtEnd, headroom, without_end
from sealkit.infer.reach import unreached
from sealkit.plan.describe import PlanReport, describe
from sealkit.plan.load import Plan, check_sealable, open_plan
from sealkit.plan.schema import Spec
from sealkit.plan.truth import TruthTable
from sealkit.publish.review.trials import Stage, Trial, trials
from sealkit.seal.piloted import check_played
from sealkit.seal.places import beside, study_of
from sealkit.seal.siblings import check_id_is_own, of_the_same_id
from sealkit.wire.records import Json
from sealkit.world.named import check_named, check_scenarios, programs_elsewhere

Ends: TypeAlias = Mapping[Stage, Sequence[AtEnd]]


ORDERINGS = (
    "An ordering is one way in which the figures can stand to each other and to the numbers of the rules.\n"
    "These tables order the figures alone; what so many pairs or cells can give, {} says."
)
LOSSES = (
    "Beyond {} of an arm's slots lost, claims are withheld. Lost is a slot without an outcome, one whose measure is\n"
    "null where a rule reads it, and one that has its episode after a failed try of the study's own code."
)


@click.command("check")
@plan_argument
@json_option
def command(plan: Path, as_json: bool) -> None:
    """Read a plan, refuse what cannot be meant, and say what will be concluded from which data.

    \b
    Example:
      sealkit check plans/v1.yaml

    Prints the slots of each stage, the cells or pairs behind each effect, and the truth table of each hypothesis:
    every verdict that its rules can give, in how many orderings of the numbers they read, and one ordering for each.
    That is over orderings alone, and knows no sample size: `sealkit power` says what so many pairs or cells can give.
    Where all tables of a small sample can be gone through, a verdict that none of them gives is named.
    Where a pilot or a smoke run was made, its seeds can be confirmatory no more, whatever the plan says now; and
    it warns of arms that are at the floor or the ceiling of a primary metric.
    """
    opened = open_plan(plan)
    study = study_of(plan)
    check_played(study, opened)
    if not beside(plan, "seal.json").exists():
        check_id_is_own(plan, opened, study)
    check_sealable(opened)
    named = check_named(study, opened)
    if named.world is not None:
        check_scenarios(named.world, opened)
    report = describe(opened)
    same = tuple(
        f"{one} has the id {opened.spec.id} too: one alone can be sealed" for one in of_the_same_id(plan, opened)
    )
    warnings = (*report.warnings, *same, *programs_elsewhere(opened), *map(str, unreached(opened.spec)))
    found = trials(plan, opened, named.judge) if named.judge is not None else ()
    for trial in found:
        warnings += tuple(f"{one} in the {trial.stage} run" for one in without_end(opened.spec, trial.measured))
    ends = {trial.stage: headroom(opened.spec, trial.measured) for trial in found}
    if as_json:
        print_json(_document(opened, report, warnings, found, ends))
    else:
        _print(opened.spec, report, warnings, to_type("power", plan))
        _print_headroom(found, ends)
        click.echo(f"\nthe plan can be sealed; next: {to_type('seal', plan)}")


def _print(spec: Spec, report: PlanReport, warnings: Sequence[str], power: str) -> None:
    click.echo(f"{spec.id}: {spec.title}")
    heading("slots")
    rows = [(stage.stage, str(stage.slots), str(stage.arms)) for stage in report.stages]
    print_table(("stage", "slots", "arms"), rows, right=(1, 2))
    heading("effects")
    print_table(
        ("effect", "metric", "form", "rests on", "read by"),
        [
            (
                effect.effect, effect.metric, effect.form,
                _basis(effect.basis.count, effect.basis.kind, effect.basis.unit),
                "rules" if effect.read_by_rules else "the reader",
            )
            for effect in report.effects
        ],
    )  # fmt: skip
    for table in report.truth:
        metric = f" on {table.metric}" if table.metric else ""
        heading(f"{table.hypothesis}{metric}: {spec.hypotheses[table.hypothesis].says}")
        print_table(("verdict", "orderings", "for example"), _rows(table), right=(1,))
    if report.truth:
        click.echo(f"\n{LOSSES.format(spec.sample.exclusion_cap_per_arm)}")
        click.echo(f"\n{ORDERINGS.format(power)}")
    if warnings:
        heading("beware")
        for warning in warnings:
            click.echo(f"  {warning}")
    if report.later:
        heading("sealable, but not yet runnable by this sealkit")
        for part in report.later:
            click.echo(f"  {part}")


def _basis(count: int, kind: str, unit: str | None) -> str:
    return f"{count} {kind}" + (f", each with its {unit}s" if unit else "")


def _rows(table: TruthTable) -> list[tuple[str, str, str]]:
    return [
        (row.verdict, str(row.cases), ", ".join(f"{name} = {value}" for name, value in row.example))
        for row in table.rows
    ]


def _print_headroom(found: Sequence[Trial], ends: Ends) -> None:
    for trial in found:
        lacking = f", {trial.left_out} more do not hold" if trial.left_out else ""
        heading(f"headroom in the {trial.stage} run ({len(trial.measured)} episodes{lacking})")
        for end in ends[trial.stage]:
            click.echo(f"  {end} in the {trial.stage} run")
        if not ends[trial.stage]:
            click.echo(f"  no arm is at an end of a primary metric, of those with at least {LEAST} episodes")


def _headroom_document(found: Sequence[Trial], ends: Ends) -> Json:
    return [
        {"stage": trial.stage, "episodes": len(trial.measured), "left_out": trial.left_out, "at_end": [
            {"arm": end.arm, "metric": end.metric, "end": end.end, "value": end.value, "n": end.n}
            for end in ends[trial.stage]
        ]}
        for trial in found
    ]  # fmt: skip


def _document(plan: Plan, report: PlanReport, warnings: Sequence[str], found: Sequence[Trial], ends: Ends) -> Json:
    stages: list[Json] = [{"stage": s.stage, "slots": s.slots, "arms": s.arms} for s in report.stages]
    effects: list[Json] = [
        {"effect": e.effect, "metric": e.metric, "form": e.form, "basis": e.basis.kind, "count": e.basis.count,
         "unit": e.basis.unit, "read_by_rules": e.read_by_rules}
        for e in report.effects
    ]  # fmt: skip
    truth: list[Json] = [
        {"hypothesis": t.hypothesis, "metric": t.metric, "orderings": t.cases,
         "verdicts": {row.verdict: {"orderings": row.cases, "example": dict(row.example)} for row in t.rows}}
        for t in report.truth
    ]  # fmt: skip
    later: list[Json] = list(report.later)
    return {
        "plan": plan.spec.id, "digest": plan.digest, "file": plan.file_digest, "sections": dict(plan.sections),
        "stages": stages, "effects": effects, "truth_tables": truth, "later": later, "warnings": list(warnings),
        "headroom": _headroom_document(found, ends),
    }  # fmt: skip
