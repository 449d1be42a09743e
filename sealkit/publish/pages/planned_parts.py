"""What the names of a plan stand for, from `results.json`: what effects compare, and the rules behind a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from sealkit.publish.pages.parts import Row, Table, part_of, rows_of, slim
from sealkit.publish.pages.plain import number, words
from sealkit.wire.canon import encode_value
from sealkit.wire.records import Json

# What the columns of numbers mean; where a metric is better low, `b` counts its lower values.
COLUMNS = (
    "n: the units, or the pairs, that an estimate rests on.",
    "x: the units that have what is counted; total: the sum over the units.",
    "b: the pairs in which the plus side alone has the better value; c: those in which the minus side alone has it. "
    "On a metric of yes and no the estimate is (b − c) / n.",
    "Estimates of pairs are turned so that above 0 is better for the plus side, also where lower values are better.",
)


def planned_tables(plan: Row) -> tuple[Table, ...]:
    """Effects, populations, arms, models and metrics in words; nothing where an edition does not say."""
    tables = [_effects(plan)] if rows_of(plan, "effects") else []
    populations = tuple((str(row["name"]), _holds(part_of(row, "holds"))) for row in rows_of(plan, "populations"))
    if populations:
        tables.append(Table("Populations, by what the sealed scenario fixes", ("population", "holds"), populations))
    for section, name in (("arms", "arm"), ("models", "model role"), ("metrics", "metric")):
        rows = tuple(
            (str(row["name"]), ", ".join(_setting(*one) for one in part_of(row, "settings").items()))
            for row in rows_of(plan, section)
        )
        if rows:
            tables.append(Table(f"{words(section).capitalize()}, as the plan has them", (name, "settings"), rows))
    return tuple(tables)


def _effects(plan: Row) -> Table:
    readers: dict[str, dict[str, None]] = {}
    for row in rows_of(plan, "reads"):
        for name in cast(list[str], row["by"]):
            readers.setdefault(str(row["effect"]), {})[name] = None
    heads = ("effect", "is", "pairs share", "in population", "method", "margin", "read by")
    rows = tuple(
        (str(row["name"]), meaning(row), ", ".join(_texts(row, "join")), str(row.get("population") or ""),
         _method(row), _margin(part_of(row, "margin")), ", ".join(readers.get(str(row["name"]), {})) or "nobody")
        for row in rows_of(plan, "effects")
    )  # fmt: skip
    return slim(Table("What each effect is", heads, rows))


def meaning(effect: Row) -> str:
    """What an effect compares: `arm D minus arm C`."""
    if "difference" in effect:
        plus, minus = _texts(effect, "difference")
        return f"effect {plus} minus effect {minus}"
    if "of" in effect:
        return f"{_side(part_of(effect, 'of'))} alone"
    return f"{_side(part_of(effect, 'plus'))} minus {_side(part_of(effect, 'minus'))}"


def _side(fixed: Mapping[str, Json]) -> str:
    ordered = sorted(fixed.items(), key=lambda one: one[0] != "arm")
    return ", ".join(f"{words(factor)} {level}" for factor, level in ordered)


def _method(effect: Row) -> str:
    cluster, strata = _texts(effect, "cluster"), part_of(effect, "strata")
    said = str(effect["method"]) + (f", clusters by {', '.join(cluster)}" if cluster else "")
    if strata:
        weights = ", ".join(f"{level} {weight}" for level, weight in part_of(strata, "weights").items())
        said += f", strata by {strata['by']} ({weights})"
    return said


def _margin(margin: Row) -> str:
    return f"{words(str(margin['kind']))} {margin['value']}: {margin['why']}" if margin else ""


def _holds(holds: Row) -> str:
    return "; ".join(f"{words(factor)}: {_levels(picked)}" for factor, picked in holds.items())


def _levels(picked: Json) -> str:
    return ", ".join(map(str, picked)) if isinstance(picked, list) else str(picked)


def _setting(name: str, value: Json) -> str:
    if value is True:
        return words(name)
    said = encode_value(value).decode() if isinstance(value, dict | list) else str(value)
    return f"{words(name)} {said}"


def _texts(row: Row, name: str) -> list[str]:
    return [str(item) for item in cast(list[Json], row.get(name) or [])]


# --- at a verdict --------------------------------------------------------------------------------


def ruled_lines(verdict: Row, plan: Row, effects: list[Row]) -> tuple[str, ...]:
    """All rules of the hypothesis and what they read, with whatever an estimate's own notes warn of."""
    name, metric = verdict["hypothesis"], verdict.get("metric")
    found = next((row for row in rows_of(plan, "hypotheses") if row["name"] == name), None)
    if found is None:
        return ()
    asked = next((row for row in rows_of(found, "asked") if row.get("metric") == metric), {})
    reads = [(str(row["effect"]), str(row["metric"])) for row in rows_of(asked, "reads")]
    numbers = {(str(row.get("effect")), str(row.get("metric"))): row for row in effects}
    named = {str(row["name"]): row for row in rows_of(plan, "effects")}
    what = [
        f"{one} is {meaning(named[one])} on {words(on)}{_where(named[one])}{_n(numbers.get((one, on), {}))}"
        for one, on in reads
    ]
    notes = [(one, on, note) for one, on in reads for note in _texts(numbers.get((one, on), {}), "notes")]
    return (
        f"Rules, read from the top: {_rules(rows_of(found, 'rules'))}.",
        *((f"There {'; '.join(what)}.",) if what else ()),
        *(beware(*note) for note in notes),
    )


def beware(effect: str, metric: str, note: str) -> str:
    """An estimate's own note, as pages and terminals have it: that its interval has no width, say."""
    return f"Beware, {effect} on {words(metric)}: {note}."


def _rules(rules: list[Row]) -> str:
    return "; ".join(
        f"{words(str(row['verdict']))} if {row['rule']}" if row.get("rule") else f"else {words(str(row['verdict']))}"
        for row in rules
    )


def _where(effect: Row) -> str:
    return f" in population {effect['population']}" if effect.get("population") else ""


def _n(row: Row) -> str:
    return f" (n = {number(row['n'])})" if row.get("n") is not None else ""


def read_by_rules(plan: Row) -> Iterator[tuple[str, str]]:
    """Every (effect, metric) that a rule reads, or that a rule's number rests on."""
    for row in rows_of(plan, "reads"):
        if row.get("ruling"):
            yield str(row["effect"]), str(row["metric"])
