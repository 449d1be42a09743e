"""What each claim of a plan stands on, and what an amendment does to it.

A claim stands on its own entry, on the hypotheses that it needs, on every effect that their rules read, and on the
metric, population, method and readings behind each of these. Where an effect is corrected for multiplicity, it stands
on every member of the correction: one p-value moves the others. It also stands on what all of a study stands on:
question, world, models, factors, sample, how evidence is checked and judged, the correction for multiplicity, the
gates. It does not stand on what is only reported, nor on title, confounds, power and rights.

The rule (docs/decisions/0008):

    protected      before the run had ended: claims stay, and say so, but from the first confirmatory attempt on what
                   was asked is ruled on too, and where verdicts differ, exploratory, as is a claim that was itself
                   added or changed; when it had ended, or after the first look: a claim that stands on something that
                   changed, in either plan, is exploratory
    ruling code    from the first confirmatory attempt on: the code of every pin since then rules, and a claim on
                   whose verdicts they differ is exploratory
    harness        results are also said for each pin alone, where episodes that count ran under several; after the
                   first look, if slots have their first episode after it, every claim is exploratory, as for ruling
                   code and scenarios
    blocks         run again: where the old episodes would give another verdict, exploratory

`effect_on_claims` says this in words, of one amendment; `publish.amended` rules by the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, cast

from sealkit.plan.analysis import Difference, PlusMinus, Ratio, Single
from sealkit.plan.fields import corrected
from sealkit.plan.load import Plan
from sealkit.plan.questions import questions
from sealkit.plan.ruling import needs_of
from sealkit.plan.schema import Spec
from sealkit.seal.commitment import Changed
from sealkit.seal.in_force import COMPLETE, LOOKED, TRIED, WHEN
from sealkit.wire.canon import decode_value, encode_value
from sealkit.wire.events import Phase
from sealkit.wire.records import Count, Json

# What every claim stands on. The rest are mappings, of which a claim stands on the entries that it uses.
WHOLE: Final = (
    "question", "data_access", "world", "evidence", "verifiers", "judge", "models", "factors", "sample", "multiplicity",
    "gates",
)  # fmt: skip
# Of these, what verdicts are computed from.
COMPUTED: Final = ("factors", "sample", "multiplicity")
# What no claim stands on.
BESIDE: Final = ("id", "title", "confounds", "power", "rights", "reported_only")
Element: TypeAlias = tuple[str, str]  # section, and the name of an entry in it; empty for the whole section


def foundations(spec: Spec, claim_name: str) -> frozenset[Element]:
    """Everything in the plan that the claim stands on; empty if the plan has no such claim."""
    claim = spec.claims.get(claim_name)
    if claim is None:
        return frozenset()
    found = {("claims", claim_name), *((section, "") for section in WHOLE)}
    for need in needs_of(claim):
        found |= set(_under(spec, need.hypothesis, need.metric))
    return frozenset(found)


def under_hypothesis(spec: Spec, name: str) -> frozenset[Element]:
    """Everything in the plan that the verdicts of this hypothesis are computed from; empty if there is none."""
    if name not in spec.hypotheses:
        return frozenset()
    return frozenset((*_under(spec, name, None), *((section, "") for section in COMPUTED)))


def moved_hypotheses(before: Plan, after: Plan) -> tuple[str, ...]:
    """The hypotheses of `before` that `after` has no more, or asks in another way."""
    then, now = _parse(before), _parse(after)
    return tuple(
        name
        for name in before.spec.hypotheses
        if any(
            _value(then, one) != _value(now, one)
            for one in under_hypothesis(before.spec, name) | under_hypothesis(after.spec, name)
        )
    )


def moved_claims(before: Plan, after: Plan) -> tuple[str, ...]:
    """The claims of `before` that `after` has no more, or words or rests on other needs."""
    then, now = _parse(before), _parse(after)
    return tuple(name for name in before.spec.claims if _value(then, ("claims", name)) != _value(now, ("claims", name)))


def moved_under_claims(before: Plan, after: Plan) -> dict[str, tuple[str, ...]]:
    """For each claim of either plan that stands on something that changed: what that is, such as `effects.dc`."""
    then, now = _parse(before), _parse(after)
    moved: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys((*before.spec.claims, *after.spec.claims)):
        under = foundations(before.spec, name) | foundations(after.spec, name)
        found = tuple(sorted(_spell(one) for one in under if _value(then, one) != _value(now, one)))
        if found:
            moved[name] = found
    return moved


def made_exploratory(before: Plan, after: Plan, phase: Phase) -> dict[str, tuple[str, ...]]:
    """The claims of today's plan that a protected change in this phase makes exploratory, and by what."""
    moved = moved_under_claims(before, after)
    if phase not in COMPLETE:  # there a claim itself was made, or made anew, when there could be outcomes
        moved = {name: what for name, what in moved.items() if phase in TRIED and _spell(("claims", name)) in what}
    return {name: what for name, what in moved.items() if name in after.spec.claims}


def made_to_say(before: Plan, after: Plan, phase: Phase) -> dict[str, str]:
    """The claims that stay although what they stand on changed in this phase, and what they say of it."""
    exploratory = made_exploratory(before, after, phase)
    tried = f", {WHEN[phase]}" if phase in TRIED else ""
    said = f"as amended before the first look{tried}"
    stay = (name for name in moved_under_claims(before, after) if name in after.spec.claims)
    return {name: said for name in stay if name not in exploratory}


def _under(spec: Spec, hypothesis: str, asked: str | None) -> Iterator[Element]:
    """What the verdict on the metric `asked` is computed from, or, where that is null, every verdict."""
    yield "hypotheses", hypothesis
    family = corrected(spec)
    for question in questions(spec, hypothesis):
        if asked in (None, question.metric):
            pairs = tuple(question.metrics.items())
            for effect, metric in dict.fromkeys((*pairs, *(family if set(pairs) & set(family) else ()))):
                yield from _under_effect(spec, effect)
                yield from _under_metric(spec, metric)


def _under_effect(spec: Spec, name: str) -> Iterator[Element]:
    effect = spec.effects[name]
    yield "effects", name
    yield "methods", effect.method
    if isinstance(effect, Difference):
        for part in effect.difference.split(" - "):
            yield from _under_effect(spec, part)
        return
    yield "populations", effect.population
    sides = (
        (effect.of,)
        if isinstance(effect, Single)
        else (effect.plus, effect.minus)
        if isinstance(effect, PlusMinus)
        else ()
    )
    yield from (("readings", factor) for side in sides for factor in side if factor in spec.readings)


def _under_metric(spec: Spec, name: str) -> Iterator[Element]:
    metric = spec.metrics[name]
    yield "metrics", name
    if isinstance(metric, Ratio):
        yield from _under_metric(spec, metric.of)
        yield from _under_metric(spec, metric.over)
    elif metric.read_by is not None:
        yield "readings", metric.read_by


def _parse(plan: Plan) -> Mapping[str, Json]:
    return cast(dict[str, Json], decode_value(plan.canonical))


def _value(parse: Mapping[str, Json], element: Element) -> bytes | None:
    """The canonical bytes of what stands there: Python would take true for 1."""
    section, name = element
    if section not in parse:
        return None
    value = parse[section]
    if name:
        entries = cast(dict[str, Json], value)
        if name not in entries:
            return None
        value = entries[name]
    return encode_value(value)


def _spell(element: Element) -> str:
    return f"{element[0]}.{element[1]}" if element[1] else element[0]


# --- in words ------------------------------------------------------------------------------------


def effect_on_claims(before: Plan, after: Plan, changed: Changed, phase: Phase, blocks: Count) -> tuple[str, ...]:
    """What becomes of the claims, in sentences: a function of what changed and of the phase alone."""
    says = list(_of_protected(before, after, changed, phase))
    if changed.ruling and phase in TRIED:
        says.append(
            f"ruling code changed {WHEN[phase]}: the analysis is made with the code of every pin since the first "
            "attempt, and a claim whose verdicts differ is exploratory"
        )
    elif changed.ruling:
        says.append(f"ruling code changed {WHEN[phase]}: the judge of the last pin measures every episode")
    if changed.harness and phase in TRIED:
        says.append(
            "the harness changed after the first confirmatory attempt: where episodes ran under several pins, "
            "analysis and report also say what those that count come to under each pin alone"
        )
    if phase in LOOKED and (changed.harness or changed.ruling or changed.scenarios):
        says.append(f"what episodes run under changed {WHEN[phase]}: where a slot has its first episode after this, "
                    "every claim is exploratory")  # fmt: skip
    if blocks:
        says.append(
            f"{blocks} blocks are run again in every arm, chosen without outcomes: the old episodes stay, and a "
            "sensitivity analysis puts them in the place of the new ones; a claim to which they would give another "
            "verdict is exploratory"
        )
    return tuple(says) or ("claims stay as they are",)


def _of_protected(before: Plan, after: Plan, changed: Changed, phase: Phase) -> Iterator[str]:
    if not changed.protected:
        return
    sections, when = ", ".join(changed.protected), WHEN[phase]
    exploratory = made_exploratory(before, after, phase)
    for name, what in exploratory.items():
        yield f"claim {name} is exploratory: {when}, what it stands on changed: {', '.join(what)}"
    stay = made_to_say(before, after, phase)
    if stay:
        words = ", ".join(dict.fromkeys(stay.values()))
        unless = ", where the hypotheses as they were asked come to the same verdicts," if phase in TRIED else ""
        yield f"{sections} changed: claims stay confirmatory{unless} and say so ({words}): {', '.join(stay)}"
    dropped = tuple(_dropped(before.spec, after.spec, phase))
    yield from dropped
    if not exploratory and not stay and not dropped:
        yield f"{sections} changed {when}: no claim stands on what changed, claims stay as they are"


def _dropped(before: Spec, after: Spec, phase: Phase) -> Iterator[str]:
    for kind, old, new in (
        ("claim", before.claims, after.claims), ("hypothesis", before.hypotheses, after.hypotheses)
    ):  # fmt: skip
        listed = ", and stays listed" if phase in TRIED else ""
        yield from (f"{kind} {name} was dropped {WHEN[phase]}{listed}" for name in old if name not in new)
