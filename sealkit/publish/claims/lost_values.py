"""What values that were lost after treatment, and tries that were drawn again, make of claims and gates.

A slot with an outcome that is null for a metric meets the exclusion cap like one without an outcome, for the claims and
gates that rest on an effect on that metric. A claim says which tries were drawn again, or abandoned and begun again,
in the arms that it rests on.
All of it is read from an analysis record, so that who has no episodes can rule on it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from sealkit.infer.claims import Reservations
from sealkit.infer.lost import Lost, arms_under, lost_quoted, lost_under
from sealkit.plan.ruling import needs_of
from sealkit.plan.schema import Spec
from sealkit.publish.pages.parts import rows_of
from sealkit.publish.pages.plain import tries_again_words
from sealkit.publish.review.measuring import pins_since
from sealkit.seal.in_force import TRIED
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.records import Json

Row = Mapping[str, Json]


def over_the_cap(sealed: SealedPlan, record: Row) -> tuple[Lost, ...]:
    """The sides of effects that lost more than the cap: the lowest in force since the first confirmatory attempt."""
    cap = lowest_cap(sealed)
    return tuple(lost for lost in lost_quoted(record) if lost.over(cap))


def held_by_cap(record: Row) -> dict[str, str]:
    """Why every claim is withheld, under `*`, where an arm lost more slots than the plan's cap allows; else nothing."""
    exclusions = record.get("exclusions")
    over = exclusions.get("over_cap") if isinstance(exclusions, dict) else None
    if not isinstance(over, list) or not over:
        return {}
    again = ", or drawn again after a failed try," if drawn_again(record) else ""
    what = f"more slots are without an outcome{again} than the plan's exclusion cap allows"
    return {"*": f"{what}, in {', '.join(map(str, over))}"}


def lowest_cap(sealed: SealedPlan) -> Decimal:
    """The lowest exclusion cap in force since the first confirmatory attempt."""
    pins = (*pins_since(sealed, TRIED), sealed.latest)
    return min(pinned.plan.spec.sample.exclusion_cap_per_arm for pinned in pins)


def held_by_values(sealed: SealedPlan, record: Row) -> dict[str, str]:
    """By claim that rests on such an effect, why it is withheld."""
    spec, over = sealed.plan.spec, over_the_cap(sealed, record)
    found: dict[str, str] = {}
    for name, claim in spec.claims.items():
        lost = {
            str(one): None for need in needs_of(claim) for one in lost_under(spec, need.hypothesis, need.metric, over)
        }
        if lost:
            found[name] = f"more slots count as lost than the exclusion cap allows: {'; '.join(lost)}"
    return found


def with_tries(held: Reservations, spec: Spec, record: Row, cut_off: Mapping[str, int]) -> Reservations:
    """The same, with what each claim says of tries that were drawn again or abandoned, whether it stays or not."""
    withheld, exploratory, notes = dict(held.withheld), dict(held.exploratory), dict(held.notes)
    for name, said in _tries(spec, drawn_again(record), cut_off):
        kinds = [reasons for reasons in (withheld, exploratory) if name in reasons or "*" in reasons] or [notes]
        for reasons in kinds:
            before = reasons.get(name, reasons.get("*"))
            reasons[name] = said if before is None else f"{before}; {said}"
    return Reservations(withheld=withheld, exploratory=exploratory, notes=notes)


def drawn_again(record: Row) -> Row:
    """How many failed tries of each arm were drawn again; arms without any are left out."""
    exclusions = record.get("exclusions")
    again = exclusions.get("drawn_again") if isinstance(exclusions, dict) else None
    return again if isinstance(again, dict) else {}


def arms_under_claims(spec: Spec) -> dict[str, tuple[str, ...]]:
    """The arms that each claim rests on."""
    return {
        name: tuple({arm: None for one in needs_of(claim) for arm in arms_under(spec, one.hypothesis, one.metric)})
        for name, claim in spec.claims.items()
    }


def verdicts_cut_off(spec: Spec, record: Row, cut_off: Mapping[str, int]) -> list[Json]:
    """Each verdict that rests on an arm with tries that were abandoned and begun again, and how many there were."""
    found: list[Json] = []
    for row in rows_of(dict(record), "verdicts") if cut_off else ():
        metric = row.get("metric")
        arms = arms_under(spec, str(row["hypothesis"]), None if metric is None else str(metric))
        if tries := _of_arms(cut_off, arms):
            found.append({"hypothesis": row["hypothesis"], "metric": metric, "abandoned": dict(tries)})
    return found


def _tries(spec: Spec, again: Row, cut_off: Row) -> Iterator[tuple[str, str]]:
    """What each claim says of the tries in the arms that it rests on."""
    for name, arms in arms_under_claims(spec).items() if again or cut_off else ():
        if tries := _of_arms(again, arms):
            yield name, tries_again_words(tries)
        if tries := _of_arms(cut_off, arms):
            yield name, tries_again_words(tries, how="abandoned")


def _of_arms(tries: Row, arms: Iterable[str]) -> Row:
    """How many there are in each of these arms; nothing if in none."""
    found: Row = {arm: tries.get(arm, 0) for arm in arms}
    return found if any(found.values()) else {}
