"""What the same plan comes to on other cells: those of every generation of a sample whose blocks were run again.

    found = generations_of(sealed, measuring)       # () where no block was run again
    found[0].ruled.verdicts, found[0].over          # with the first episode of every slot
    held_by_generations(spec, found)                # claims that one of them alone would have withheld

Each is held against the lowest exclusion cap since the first confirmatory attempt, as the slots that count are: a draw
that was ended as missing until it pleased is missing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sealkit.infer.analysis import Analysis, pairs_read, ruled_on
from sealkit.infer.cells import Cells
from sealkit.infer.effects import Effects, effects_under
from sealkit.infer.flow import arms_over, tries_again
from sealkit.infer.lost import Lost, lost_in_rules, lost_under
from sealkit.infer.rows import effect_row
from sealkit.infer.verdicts import Verdict
from sealkit.plan.ruling import needs_of
from sealkit.plan.schema import Spec
from sealkit.publish.claims.lost_values import lowest_cap
from sealkit.publish.review.measuring import Measuring
from sealkit.publish.review.other_code import Verdicts
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.records import Count, Json


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What the same plan comes to on other cells."""

    effects: Effects
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """Every slot with its episode `number`, or else its last: what that comes to, and what is over the cap."""

    number: Count
    ruled: Sensitivity
    over: tuple[str, ...]  # arms
    again: bool  # whether slots of it were drawn again after a failed try
    lost: tuple[Lost, ...]


def again(cells: Cells) -> Sensitivity:
    """What the plan of these cells comes to."""
    spec = cells.spec
    effects = effects_under(cells, pairs_read(spec), spec.sample.missing)
    return Sensitivity(effects, ruled_on(spec, effects))


def by_key(analysis: Analysis | Sensitivity | None) -> Verdicts:
    """The verdicts, by hypothesis and metric."""
    return {(one.hypothesis, one.metric): one.verdict for one in analysis.verdicts} if analysis is not None else {}


def generations_of(sealed: SealedPlan, measuring: Measuring | None) -> tuple[Generation, ...]:
    """Each generation, ruled on; none where no block was run again, or nothing was measured."""
    if measuring is None or measuring.generations is None:
        return ()
    cap = lowest_cap(sealed)
    return tuple(
        Generation(
            number,
            again(cells),
            over=arms_over(cap, cells),
            again=bool(tries_again(cells)),
            lost=tuple(lost for lost in lost_in_rules(cells) if lost.over(cap)),
        )
        for number, cells in enumerate(measuring.generations.cells, start=1)
    )


def held_by_generations(spec: Spec, generations: Sequence[Generation]) -> Iterator[tuple[str, str]]:
    """The claims that are exploratory since more is lost in a generation than the cap allows, and why."""
    for one in generations:
        if one.over:
            drawn = " or were drawn again" if one.again else ""
            what = f"{one_of(one)}, more slots are without an outcome{drawn} than the exclusion cap allows"
            yield from ((name, f"{what}, in {', '.join(one.over)}") for name in spec.claims)
        for name, claim in spec.claims.items():
            lost = [
                str(each)
                for need in needs_of(claim)
                for each in lost_under(spec, need.hypothesis, need.metric, one.lost)
            ]
            if lost:
                said = "; ".join(dict.fromkeys(lost))
                yield name, f"{one_of(one)}, more slots count as lost than the exclusion cap allows: {said}"


def one_of(generation: Generation) -> str:
    """In words, which episodes a generation has."""
    return f"with episode {generation.number} of every slot, or else its last"


def sensitivity_row(spec: Spec, found: Sensitivity) -> dict[str, Json]:
    """Effects and verdicts, as an edition holds them."""
    effects: list[Json] = []
    for (name, metric), estimated in sorted(found.effects.items()):
        row: dict[str, Json] = {"effect": name, "metric": metric}
        effects.append(row | effect_row(spec, spec.effects[name], metric, estimated))
    return {"effects": effects, "verdicts": _verdicts(found)}


def generation_rows(generations: Sequence[Generation]) -> Mapping[str, Json]:
    """A row for each, as an edition holds them; nothing where there is one, which is what counts."""
    if len(generations) < 2:
        return {}
    rows: list[Json] = []
    for one in generations:
        lost: list[Json] = [str(each) for each in one.lost]
        row: dict[str, Json] = {"generation": one.number, "verdicts": _verdicts(one.ruled)}
        rows.append(row | {"over_cap": list(one.over), "lost": lost})
    return {"generations": rows}


def _verdicts(found: Sensitivity) -> list[Json]:
    return [
        {"hypothesis": one.hypothesis, "metric": one.metric, "verdict": one.verdict, "why": one.why}
        for one in found.verdicts
    ]
