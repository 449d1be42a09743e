"""`sealkit power PLAN`."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import click

from sealkit.cli.out import Progress, heading, json_option, plan_argument, print_json, print_table
from sealkit.infer.assumed import Assumption, Pair, all_needed, assumptions, parse_assumption, words_due
from sealkit.infer.power import Chance, Power, power
from sealkit.plan.load import open_plan
from sealkit.plan.questions import questions
from sealkit.plan.schema import Spec
from sealkit.plan.slots import basis
from sealkit.seal.sealed import beside, open_seal
from sealkit.wire.digest import short
from sealkit.wire.records import Json

SEED = 1
SIMULATIONS = 1000


@click.command("power")
@plan_argument
@click.option("--assume", multiple=True, metavar="EFFECT[.METRIC]=WORDS", help="What to suppose of an effect.")
@click.option(
    "--simulations", type=click.IntRange(100, 1_000_000), default=SIMULATIONS, show_default=True,
    help="Studies to draw where chances cannot be enumerated.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=SEED, show_default=True, help="Where drawing starts.")
@json_option
def command(plan: Path, assume: tuple[str, ...], simulations: int, seed: int, as_json: bool) -> None:
    """The chance of each verdict of a plan, if its effects were as you suppose and no outcome were missing.

    \b
    Examples:
      sealkit power plans/v1.yaml
      sealkit power plans/dry-run.yaml --assume oracle=x:0.99 --assume oracle_stale=mean:0.1,sd:0.4
      sealkit power plans/v1.yaml --assume dc.success=b:0.25,c:0.10,both:0.3 --assume ca.success=b:0.2,c:0.1
      sealkit power plans/v1.yaml --assume dc=mean:0.5,sd:1.2 --assume ca=mean:0.5,sd:1.2

    \b
    Without --assume it says of which effects something must be supposed, and computes nothing. WORDS are
      b:0.25,c:0.10     pairs of yes or no: the plus side alone is better in 25 %, the minus side alone in 10 %;
                        with both:0.3 also how often both have it, which matters where effects share an arm
      x:0.9             one arm alone: the value is 1 in 90 % of its cells
      mean:0.4,sd:1.2   other metrics: a pair's difference, above 0 as predicted; or one arm's values
      units:2           beside them, for a metric with units: how many each episode shows

    The plan's own rules, methods and corrections rule. Effects that share no outcome are enumerated exactly where there
    are few enough counts; else studies are drawn from the seed, and every chance has the interval of its Monte Carlo
    error. Nothing is read of any outcome.
    """
    sealed = open_seal(plan) if beside(plan, "seal.json").exists() else None
    if sealed is not None:
        sealed.close()
    spec = sealed.plan.spec if sealed is not None else open_plan(plan).spec
    pin = sealed.latest.pin if sealed is not None else None
    supposed = assumptions(spec, map(parse_assumption, assume))
    asked = sum(len(questions(spec, name)) for name in spec.hypotheses)
    progress = Progress("simulations", simulations * asked)
    try:
        found = tuple(power(spec, supposed, simulations=simulations, seed=seed, step=progress.step))
    finally:
        progress.end()
    if as_json:
        print_json(_document(spec, pin, supposed, found, seed))
    else:
        _print(spec, pin, supposed, found, seed)


def _print(
    spec: Spec, pin: str | None, supposed: Mapping[Pair, Assumption], found: tuple[Power, ...], seed: int
) -> None:
    state = f"as pinned by {short(pin)}" if pin is not None else "not sealed"
    click.echo(f"{spec.id}, {state}; no slot missing or excluded")
    heading("supposed")
    rows = [(*pair, str(supposed[pair]) if pair in supposed else f"nothing: say {_due(spec, pair)}", _size(spec, pair))
            for pair in all_needed(spec)]  # fmt: skip
    print_table(("effect", "metric", "supposed", "rests on"), rows)
    for each in found:
        about = f" on {each.metric}" if each.metric else ""
        heading(f"{each.hypothesis}{about}: {_way(each, seed)}")
        if each.lacking:
            click.echo(f"  say --assume for {', '.join('.'.join(pair) for pair in each.lacking)}")
        else:
            print_table(("verdict", "chance", ""), [_row(chance) for chance in each.chances], right=(1,))


def _due(spec: Spec, pair: Pair) -> str:
    words = words_due(spec, pair)
    if not words:
        return "nothing: ratios are not drawn"
    return f"--assume {'.'.join(pair)}={','.join(f'{word}:…' for word in words)}"


def _size(spec: Spec, pair: Pair) -> str:
    rests = basis(spec, *pair)
    return f"{rests.count} {rests.kind}"


def _way(each: Power, seed: int) -> str:
    if each.way == "simulated":
        return f"{each.simulations} studies drawn from seed {seed}, with 95 % intervals of the Monte Carlo error"
    return "exact" if each.way == "exact" else "not computed, for nothing is supposed of what it rests on"


def _row(chance: Chance) -> tuple[str, str, str]:
    if chance.lower is None or chance.upper is None:
        return chance.verdict, f"{chance.chance:.4f}", ""
    return chance.verdict, f"{chance.chance:.3f}", f"{chance.lower:.3f} to {chance.upper:.3f}"


def _document(
    spec: Spec, pin: str | None, supposed: Mapping[Pair, Assumption], found: tuple[Power, ...], seed: int
) -> Json:
    said: list[Json] = [
        {"effect": pair[0], "metric": pair[1], "supposed": str(supposed[pair]) if pair in supposed else None,
         "due": list(words_due(spec, pair))}
        for pair in all_needed(spec)
    ]  # fmt: skip
    asked: list[Json] = [
        {"hypothesis": each.hypothesis, "metric": each.metric, "way": each.way.replace(" ", "_"),
         "simulations": each.simulations, "chances": [_chance(chance) for chance in each.chances],
         "lacking": [".".join(pair) for pair in each.lacking]}
        for each in found
    ]  # fmt: skip
    return {"plan": spec.id, "pin": pin, "seed": seed, "supposed": said, "questions": asked}


def _chance(chance: Chance) -> Json:
    return {"verdict": chance.verdict, "chance": _text(chance.chance), "lower": _text(chance.lower),
            "upper": _text(chance.upper)}  # fmt: skip


def _text(number: Decimal | None) -> str | None:
    return f"{number:f}" if number is not None else None
