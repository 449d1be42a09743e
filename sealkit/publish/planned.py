"""What an edition says of its plan: arms, populations, metrics, effects and rules, as the plan in force has them.

Kept in `results.json`, so that a reader of the report needs no other file to know what a name stands for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import cast

import msgspec

from sealkit.plan.analysis import Difference, Effect, Single
from sealkit.plan.questions import questions
from sealkit.plan.ruling import OTHERWISE
from sealkit.plan.schema import Spec
from sealkit.plan.slots import sides
from sealkit.plan.uses import uses_of
from sealkit.wire.records import Json, Level


def planned(spec: Spec) -> dict[str, Json]:
    """The sections of the plan that the report explains its names by, in the plan's order."""
    return {
        "arms": [{"name": name, "settings": _settings(arm)} for name, arm in spec.factors.arm.items()],
        "models": [{"name": name, "settings": _settings(role)} for name, role in spec.models.items()],
        "populations": [
            {"name": name, "holds": {factor: _pick(picked) for factor, picked in selection.items()}}
            for name, selection in spec.populations.items()
        ],
        "metrics": [{"name": name, "settings": _settings(metric)} for name, metric in spec.metrics.items()],
        "effects": [_effect(name, effect) for name, effect in spec.effects.items()],
        "hypotheses": [_hypothesis(spec, name) for name in spec.hypotheses],
        "reads": list(_reads(spec)),
    }


def _settings(part: object) -> Json:
    """A part as the plan writes it, decimals as text, without what is not set."""
    whole = cast(dict[str, Json], msgspec.to_builtins(part))
    return {name: value for name, value in whole.items() if value is not None and value is not False}


def _pick(picked: str | Sequence[Level]) -> Json:
    return picked if isinstance(picked, str) else list(_runs(picked))


def _runs(levels: Sequence[Level]) -> Iterator[Level]:
    """Levels with a run of whole numbers written as the plan writes it.

    >>> list(_runs(("a", 0, 1, 2, 7))), list(_runs((3, 4)))
    (['a', '0..2', 7], [3, 4])
    """
    run: list[Level] = []
    for before, level in pairwise((None, *levels, None)):
        if run and not (isinstance(level, int) and isinstance(before, int) and level == before + 1):
            yield from [f"{run[0]}..{run[-1]}"] if len(run) > 2 and isinstance(run[0], int) else run
            run = []
        if level is not None:
            run.append(level)


def _effect(name: str, effect: Effect) -> dict[str, Json]:
    row: dict[str, Json] = {"name": name, "method": effect.method, "metric": effect.metric}
    if effect.margin is not None:
        row["margin"] = {"kind": effect.margin.kind, "value": str(effect.margin.value), "why": effect.margin.why}
    if isinstance(effect, Difference):
        return row | {"difference": list(effect.difference.split(" - "))}
    row |= {"population": effect.population, "cluster": list(effect.cluster or ())}
    if effect.strata is not None:
        row["strata"] = {"by": effect.strata.by, "weights": _weights(effect.strata.weights)}
    if isinstance(effect, Single):
        return row | {"of": dict(effect.of)}
    plus, minus = sides(effect)
    return row | {"plus": dict(plus), "minus": dict(minus), "join": list(effect.join)}


def _weights(weights: Mapping[str, object]) -> Json:
    return {level: str(weight) for level, weight in weights.items()}


def _hypothesis(spec: Spec, name: str) -> Json:
    """Its rules in order, the last without a condition; and for each verdict that it gives, what its rules read."""
    rules: list[Json] = [
        {"verdict": text if verdict == OTHERWISE else verdict, "rule": None if verdict == OTHERWISE else text}
        for verdict, text in spec.hypotheses[name].verdict.items()
    ]
    asked: list[Json] = [
        {"metric": question.metric, "reads": [{"effect": one, "metric": on} for one, on in question.metrics.items()]}
        for question in questions(spec, name)
    ]
    return {"name": name, "rules": rules, "asked": asked}


def _reads(spec: Spec) -> Iterator[Json]:
    """Every effect on a metric, and who reads it; `ruling` where a rule does, or what a rule's number rests on."""
    readers: dict[tuple[str, str], dict[str, None]] = {}
    ruling: set[tuple[str, str]] = set()
    for use in uses_of(spec):
        pair, section = (use.effect, use.metric), str(use.path[0])
        by = {"hypotheses": str(use.path[-1]), "effects": f"effect {use.path[-1]}", "multiplicity": "the correction"}
        readers.setdefault(pair, {})[by.get(section, "the reader")] = None
        ruling |= {pair} if use.ruling else set()
    for pair, names in readers.items():
        yield {"effect": pair[0], "metric": pair[1], "by": cast(list[Json], list(names)), "ruling": pair in ruling}
