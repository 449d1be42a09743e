"""What the plan reports beside its rulings (`reported_only`): tests, effects and arms by split. No rule reads it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from sealkit.infer.cells import Cells
from sealkit.infer.effects import Effects
from sealkit.infer.estimate import Found, estimate_effect
from sealkit.infer.intervals import tested
from sealkit.infer.rows import Row, effect_row
from sealkit.infer.shapes import Rows
from sealkit.infer.stats.decimals import as_text
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.analysis import Contrast, Difference, PlusMinus, ReportedArms, ReportedEffects, ReportedTest, Single
from sealkit.plan.fields import readings_of
from sealkit.plan.schema import Spec
from sealkit.plan.slots import sides
from sealkit.wire.records import Json, Level

Levels = dict[str, Level]


def reported(cells: Cells, effects: Effects) -> Iterator[Json]:
    """A row for every entry, in the plan's order: `entry` is its place, `split` the levels that a row is about."""
    for place, entry in enumerate(cells.spec.reported_only):
        if isinstance(entry, ReportedTest):
            rows = _tests(entry, effects)
        elif isinstance(entry, ReportedEffects):
            rows = _effects(cells, entry)
        else:
            rows = _arms(cells, entry)
        for row in rows:
            yield {"entry": place, **row}


def _tests(entry: ReportedTest, effects: Effects) -> Iterator[Row]:
    for effect in entry.effects:
        for metric in entry.metrics:
            row: Row = {"test": entry.test, "effect": effect, "metric": metric, "split": {}}
            yield row | _test(entry, effects[effect, metric])


def _test(entry: ReportedTest, found: Found) -> Row:
    if not isinstance(found.data, Rows):
        why = found.estimate.reason if isinstance(found.estimate, NotEstimable) else "it compares no pairs"
        return {"not_estimable": why}
    result = tested(found.data, entry.test)
    if isinstance(result, NotEstimable):
        return {"not_estimable": result.reason}
    notes: list[Json] = list(result.notes)
    return {"n": result.n, "b": result.b, "c": result.c, "p": as_text(result.p), "notes": notes}


def _effects(cells: Cells, entry: ReportedEffects) -> Iterator[Row]:
    spec = cells.spec
    for name in entry.effects:
        for metric in entry.metrics:
            for levels in _splits(cells, entry.split or (), name, metric):
                within = {factor: (level,) for factor, level in levels.items()}
                found = estimate_effect(cells, spec.effects[name], metric, rule=spec.sample.missing, within=within)
                split: Row = dict(levels)
                row: Row = {"effect": name, "metric": metric, "split": split}
                yield row | effect_row(spec, spec.effects[name], metric, found)


def _splits(cells: Cells, split: tuple[str, ...], effect_name: str, metric: str) -> Iterator[Levels]:
    """The levels of the split, one combination after another: of factors that vary in the effect's population.

    Units of the metric come last, those that any episode showed.
    """
    spec = cells.spec
    parts = _parts(spec, effect_name)
    fixed = {name for part in parts for name in (part.of if isinstance(part, Single) else sides(part)[0])}
    names = [name for name in spec.factors.levels() if name in split and name not in fixed]
    options = [[level for level in spec.factors.levels()[name] if _inside(spec, parts, name, level)] for name in names]
    for unit in _units(spec, metric, split):
        names.append(unit)
        options.append([*cells.units(unit)])
    for levels in product(*options):
        yield dict(zip(names, levels, strict=True))


def _units(spec: Spec, metric: str, split: tuple[str, ...]) -> list[str]:
    """The unit that the metric is split by. A split by a unit splits only what has it."""
    unit = getattr(spec.metrics[metric], "unit", None)
    return [unit] if unit in split else []


def _parts(spec: Spec, effect_name: str) -> list[Single | Contrast | PlusMinus]:
    effect = spec.effects[effect_name]
    if isinstance(effect, Difference):
        return [part for name in effect.difference.split(" - ") for part in _parts(spec, name)]
    return [effect]


def _inside(spec: Spec, parts: list[Single | Contrast | PlusMinus], name: str, level: Level) -> bool:
    picked = [spec.populations[part.population].get(name, "all") for part in parts]
    return any(isinstance(levels, str) or level in levels for levels in picked)


def _arms(cells: Cells, entry: ReportedArms) -> Iterator[Row]:
    spec = cells.spec
    arms = tuple(spec.factors.arm) if isinstance(entry.arms, str) else tuple(str(arm) for arm in entry.arms)
    factors = spec.factors.levels()
    for metric in entry.metrics:
        readings = readings_of(spec, metric)
        # A split by a reading splits only what depends on the reading.
        names = [name for name in entry.split or () if name in factors or name in readings]
        units = _units(spec, metric, entry.split or ())
        for arm in arms:
            options = [factors[name] if name in factors else _readings(spec, name, arm) for name in names]
            options += [cells.units(unit) for unit in units]
            for levels in product(*options):
                yield _arm(cells, entry, metric, arm, dict(zip((*names, *units), levels, strict=True)))


def _readings(spec: Spec, name: str, arm: str) -> tuple[Level, ...]:
    """The levels of a reading that are taken in this arm."""
    levels = spec.readings[name].levels
    return tuple(level for level, read in levels.items() if isinstance(read.arms, str) or arm in read.arms)


def _arm(cells: Cells, entry: ReportedArms, metric: str, arm: str, levels: Levels) -> Row:
    unit = getattr(cells.spec.metrics[metric], "unit", None)
    of = {name: level for name, level in levels.items() if name != unit}
    within = {unit: (levels[unit],)} if unit in levels else {}
    effect = Single(of={"arm": arm, **of}, population="", method=entry.method)
    found = estimate_effect(cells, effect, metric, rule=cells.spec.sample.missing, within=within)
    split: Row = dict(levels)
    row: Row = {"arm": arm, "metric": metric, "split": split, **effect_row(cells.spec, effect, metric, found)}
    if unit is not None and not within:
        row["notes"] = ["units of one episode are not independent, and this interval takes them to be"]
    return row
