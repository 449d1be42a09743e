"""What a report shows of effects: forest plots, numbers with n, b and c, bounds, and how robust the limits are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

from sealkit.publish.pages.forest import Forest, Line, forest
from sealkit.publish.pages.parts import Row, Table, named, part_of, rows_of, slim
from sealkit.publish.pages.plain import interval, number, p_value, words
from sealkit.wire.digest import short

MOST_LINES = 40  # of one plot; more go into a further plot
_HEADS = (
    "metric", "in", "planned", "n", "x or total", "b", "c", "estimate", "interval", "method", "notes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plot:
    """A forest plot of the effects on one metric."""

    caption: str
    forest: Forest


# --- plots ---------------------------------------------------------------------------------------


def plots(effects: Sequence[Row]) -> tuple[Plot, ...]:
    """Plots by metric and form, of the effects that have an interval."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in effects:
        if row.get("lower") is not None and row.get("upper") is not None:
            groups.setdefault((str(row["metric"]), str(row["form"])), []).append(row)
    return tuple(
        _plot(metric, form, rows[start : start + MOST_LINES])
        for (metric, form), rows in groups.items()
        for start in range(0, len(rows), MOST_LINES)
    )


def _plot(metric: str, form: str, rows: Sequence[Row]) -> Plot:
    lines = [
        Line(
            label=str(row["effect"]), detail=_detail(row), estimate=Decimal(str(row["estimate"])),
            lower=Decimal(str(row["lower"])), upper=Decimal(str(row["upper"])),
        )
        for row in rows
    ]  # fmt: skip
    reference = None if form == "single" else Decimal(0)
    ends = (Decimal(0), Decimal(1)) if form == "single" and "x" in rows[0] else ()
    kinds = {"single": "one arm alone", "paired": "differences over pairs", "difference": "differences of two effects"}
    oriented = "" if form == "single" else "; right of the dashed line is the predicted direction"
    return Plot(f"{words(metric)}, {kinds[form]}{oriented}", forest(lines, reference=reference, ends=ends))


def _detail(row: Row) -> str:
    counts = [f"{name} = {row[name]}" for name in ("n", "x", "total", "b", "c") if row.get(name) is not None]
    if "x" in row:
        counts = [count for count in counts if not count.startswith("total")]
    return f"{number(row['estimate'])} ({interval(row)}), {', '.join(counts)}"


# --- tables --------------------------------------------------------------------------------------


def effect_tables(analysis: Row, ruling: frozenset[tuple[str, str]]) -> tuple[Table, ...]:
    """The effects that rules read, those that none reads, their other limits, then what the plan reports beside them.

    `ruling` has every (effect, metric) that a rule reads.
    """
    effects, reported = rows_of(analysis, "effects"), rows_of(analysis, "reported")
    beside = [row for row in reported if "effect" in row and "test" not in row]
    again = {_pair(row) for row in beside if not row.get("split")}  # these stand whole among what is reported
    unread = [row for row in effects if _pair(row) not in ruling | again]
    groups = {
        "Effects that the rules read": [row for row in effects if _pair(row) in ruling],
        "Effects that no rule reads" if ruling else "Effects": unread,
    }
    tables = [effect_table(rows, caption) for caption, rows in groups.items() if rows]
    tables += [*_bounds(effects), *_robustness(effects)]
    tables += _reported([row for row in beside if row.get("split") or _pair(row) not in ruling], "effects")
    tables += _reported([row for row in reported if "arm" in row], "arms alone")
    tests = [row for row in reported if "test" in row]
    return (*tables, _test_table(tests)) if tests else tuple(tables)


def _pair(row: Row) -> tuple[str, str]:
    return str(row["effect"]), str(row["metric"])


def _reported(rows: Sequence[Row], what: str) -> Iterator[Table]:
    """Tables by metric; an effect that a rule reads whole is not repeated here, only its splits are."""
    for metric in dict.fromkeys(str(row["metric"]) for row in rows):
        own = [row for row in rows if row["metric"] == metric]
        yield effect_table(own, f"{words(metric)}, {what}, reported beside and read by no rule")


def effect_table(effects: Sequence[Row], caption: str) -> Table:
    """Every effect with its numbers; one that cannot be estimated says why, and is never 0."""
    heads = ("arm" if effects and "arm" in effects[0] else "effect", *_HEADS)
    return slim(Table(caption, heads, tuple(map(_effect, effects)), right=(3, 4, 5, 6, 7, 8, 9)))


def _effect(row: Row) -> tuple[str, ...]:
    lacks = "not_estimable" in row
    planned = " + ".join(number(part.get("planned")) for part in rows_of(row, "basis"))
    return (
        str(row.get("effect", row.get("arm"))), words(str(row["metric"])), _cells(row), planned, number(row.get("n")),
        number(row.get("x", row.get("total"))), number(row.get("b")), number(row.get("c")),
        "not estimable" if lacks else number(row.get("estimate")), interval(row), _method(row), "; ".join(_notes(row)),
    )  # fmt: skip


def _cells(row: Row) -> str:
    split = part_of(row, "split")
    return ", ".join(str(level) for level in split.values()) or str(row.get("population") or "")


def _method(row: Row) -> str:
    level = row.get("level")
    return words(str(row.get("kind") or row.get("method") or "")) + (f", {level}" if level else "")


def _notes(row: Row) -> Iterator[str]:
    if "not_estimable" in row:
        yield str(row["not_estimable"])
    for part in rows_of(row, "basis"):
        for what, says in (("absent", "without an outcome"),
                           ("left_out", "of these failures that the plan leaves out"),
                           ("null", "with an outcome and no value"), ("filled", "resting on a stand-in"),
                           ("unpaired", "without a partner")):  # fmt: skip
            if part.get(what):
                yield f"{part[what]} {says}"
    if row.get("margin") is not None:
        test = part_of(row, "margin_test")
        said = f", {words(str(test['kind']))}, p {p_value(test['p'])}" if test else ""
        yield f"margin {row['margin']}{said}"
    if row.get("p_adjusted") is not None:
        yield f"p {p_value(row.get('p'))}, corrected {p_value(row['p_adjusted'])}"
    yield from map(str, cast(list[str], row.get("notes") or []))


def _bounds(effects: Sequence[Row]) -> Iterator[Table]:
    found = [row for row in effects if part_of(row, "bounds")]
    if found:
        heads = ("effect", "metric", "worst", "n", "interval", "best", "n", "interval")
        rows = tuple(
            (str(row["effect"]), words(str(row["metric"])),
             *(cell for case in ("worst", "best") for cell in _case(part_of(row, "bounds", case))))
            for row in found
        )  # fmt: skip
        caption = "With every missing outcome against the predicted direction, and for it"
        yield Table(caption, heads, rows, right=(2, 3, 4, 5, 6, 7))


def _case(case: Row) -> tuple[str, str, str]:
    if "not_estimable" in case:
        return f"not estimable: {case['not_estimable']}", "–", ""
    return number(case.get("estimate")), number(case.get("n")), interval(case)


def _robustness(effects: Sequence[Row]) -> Iterator[Table]:
    found = [row for row in effects if part_of(row, "robustness")]
    if found:
        heads = ("effect", "metric", "interval", "same limits under other seeds", "exact bootstrap law", "Tango")
        rows = tuple(
            (str(row["effect"]), words(str(row["metric"])), interval(row), _seeds(part_of(row, "robustness", "seeds")),
             *(interval(part_of(row, "robustness", way)) or "–" for way in ("exact_law", "tango")))
            for row in found
        )  # fmt: skip
        yield Table("The same limits by other ways, which rule on nothing", heads, rows, right=(2, 3, 4, 5))


def _seeds(seeds: Row) -> str:
    tried = seeds.get("tried")
    return f"{seeds['same_limits']} of {tried}" if tried else "–"


def _test_table(tests: Sequence[Row]) -> Table:
    rows = tuple(
        (words(str(row.get("test"))), str(row.get("effect")), words(str(row.get("metric"))), _cells(row),
         number(row.get("n")), number(row.get("b")), number(row.get("c")),
         p_value(row.get("p")) if "not_estimable" not in row else f"not estimable: {row['not_estimable']}")
        for row in tests
    )  # fmt: skip
    heads = ("test", "effect", "metric", "in", "n", "b", "c", "p")
    return Table("Tests, read by no rule", heads, rows, right=(4, 5, 6, 7))


def amended_tables(analysis: Row, after: Row) -> tuple[Table, ...]:
    """Effects from the episodes of each pin alone, and what each generation comes to where blocks were run again."""
    tables = []
    for part in rows_of(analysis, "by_pin"):
        verdicts = ", ".join(f"{named(row)} {words(str(row['verdict']))}" for row in rows_of(part, "verdicts"))
        caption = f"From the episodes under pin {short(str(part['pin']))} alone: {verdicts}"
        tables.append(effect_table(rows_of(part, "effects"), caption))
    again = rows_of(after, "sensitivity", "effects")
    if again:
        tables.append(effect_table(again, "With the first episodes in the place of those that were run again"))
    generations = rows_of(after, "generations")
    if generations:
        tables.append(_generation_table(generations))
    return tuple(tables)


def _generation_table(generations: Sequence[Row]) -> Table:
    rows = tuple(
        (number(row["generation"]),
         ", ".join(f"{named(one)} {words(str(one['verdict']))}" for one in rows_of(row, "verdicts")),
         "; ".join((*cast(list[str], row["over_cap"]), *cast(list[str], row["lost"]))) or "–")
        for row in generations
    )  # fmt: skip
    caption = "Generation k has the k-th episode of every slot, or else its last; each is held against the lowest cap"
    return Table(caption, ("generation", "verdicts", "over the exclusion cap"), rows, right=(0,))
