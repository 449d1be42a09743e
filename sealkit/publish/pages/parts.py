"""The parts of a report, read from `results.json` and nothing else: tables and lines for page and Markdown.

What an effect's parts are is in `effect_parts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from sealkit.plan.lint_world import NOT_REPLAYABLE, RECORDED
from sealkit.publish.pages.plain import interval, number, tries_again_words, words
from sealkit.wire.records import Json

Row: TypeAlias = dict[str, Json]
STRATA = {
    "validated": "validated instrument behaviour",
    "instrument": "instrument behaviour, not validated",
    "confirmatory": "preregistered and measured",
    "descriptive": "descriptive",
    "exploratory": "exploratory",
    "unmeasured": "preregistered and unmeasured",
    "withheld": "withheld",
}


@dataclass(frozen=True, slots=True)
class Table:
    """Heads and rows of text; columns numbered in `right` hold numbers."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()


def slim(table: Table) -> Table:
    """The same table without columns in which no row has anything."""
    kept = [place for place in range(len(table.heads)) if any(row[place] not in ("", "–") for row in table.rows)]
    return Table(
        table.caption,
        tuple(table.heads[place] for place in kept),
        tuple(tuple(row[place] for place in kept) for row in table.rows),
        tuple(new for new, place in enumerate(kept) if place in table.right),
    )


@dataclass(frozen=True, slots=True)
class Stratum:
    """Claims that stand apart from others, each with its needs in words."""

    title: str
    claims: tuple[Row, ...]


def rows_of(record: Row, *path: str) -> list[Row]:
    """The rows under `path`; none where there is nothing."""
    value: Json = record
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return cast(list[Row], value) if isinstance(value, list) else []


def part_of(record: Row, *path: str) -> Row:
    """The mapping under `path`; empty where there is none."""
    value: Json = record
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def named(row: Row) -> str:
    """A hypothesis, with its metric where it asks of several."""
    return str(row["hypothesis"]) + (f" on {words(str(row['metric']))}" if row.get("metric") else "")


# --- verdicts and claims -------------------------------------------------------------------------


def verdict_lines(verdict: Row, cut_off: Iterable[Row] = ()) -> tuple[str, ...]:
    """What stands below a verdict: the rule, bounds, robustness, and why it was not estimable."""
    lines = []
    if verdict.get("rule"):
        lines.append(f"The rule that held: {verdict['rule']}")
    if verdict.get("why"):
        lines.append(f"Not estimable: {verdict['why']}")
    worst, best = str(verdict.get("if_worst")), str(verdict.get("if_best"))
    if {worst, best} == {verdict["verdict"]}:
        lines.append("The same with every missing outcome at its worst, and at its best.")
    else:
        lines.append(f"With every missing outcome at its worst: {words(worst)}; at its best: {words(best)}.")
    if verdict.get("drawn_again"):
        lines.append(f"{tries_again_words(part_of(verdict, 'drawn_again'))}.")
    for row in cut_off:
        if (row.get("hypothesis"), row.get("metric")) == (verdict.get("hypothesis"), verdict.get("metric")):
            lines.append(f"{tries_again_words(part_of(row, 'abandoned'), how='abandoned')}, and begun again.")
    if verdict.get("null"):
        lines.append(f"Slots that count as lost: {'; '.join(cast(list[str], verdict['null']))}.")
    robustness = verdict.get("robustness")
    if isinstance(robustness, dict):
        lines += _robustness(robustness, str(verdict["verdict"]))
    return tuple(lines)


def _robustness(robustness: Row, verdict: str) -> Iterator[str]:
    tried, same = robustness.get("seeds_tried"), robustness.get("seeds_same")
    if isinstance(tried, int) and isinstance(same, int) and tried:
        decides = ", so the seed decides" if robustness.get("seed_decides") else ""
        yield f"Of {tried} other bootstrap seeds, {same} give this verdict{decides}."
    elif robustness.get("seeds_untried"):
        yield f"No other bootstrap seed was tried: {robustness['seeds_untried']}."
    for name, called in (("exact_law", "The exact bootstrap law"), ("tango", "Tango's interval")):
        found = robustness.get(name)
        if found:
            yield f"{called} gives {'the same verdict' if found == verdict else words(str(found))}."


def strata(claims: Sequence[Row]) -> tuple[Stratum, ...]:
    """Claims in their strata; those that stand on less than was planned each in one of their own."""
    groups: dict[str, list[Row]] = {}
    for claim in claims:
        stratum = status = str(claim["status"])
        if status not in ("exploratory", "unmeasured", "withheld"):
            stratum = str(claim["stratum"])
        if (stratum, status) == ("instrument", "supported"):
            stratum = "validated"
        needs = "; ".join(map(_need, rows_of(claim, "needs")))
        if claim.get("evidence") == RECORDED:
            needs += f"; its evidence is {NOT_REPLAYABLE}"
        groups.setdefault(stratum, []).append({**claim, "needs_text": needs, "standing": _standing(claim)})
    return tuple(Stratum(STRATA[name], tuple(groups[name])) for name in STRATA if name in groups)


def _standing(claim: Row) -> str:
    """The claim's status; of a supported one that rests on another verdict, on which: a text may say the opposite."""
    status = words(str(claim["status"]))
    others = [need for need in rows_of(claim, "needs") if need["found"] != "supported"]
    if status != "supported" or not others:
        return status
    rests = "; ".join(f"{named(need)} {_found(need)}" for need in others)
    return f"{status}, by {rests}"


def _need(need: Row) -> str:
    due = " or ".join(map(words, cast(list[str], need["due"])))
    return f"{named(need)} {due}: found {_found(need)}"


def _found(need: Row) -> str:
    return words(str(need["found"])) if need["found"] else "not measured"


# --- from slots to outcomes ----------------------------------------------------------------------


def flow_tables(flow: Row) -> tuple[Table, ...]:
    """Scheduled to outcomes, arm by arm, exclusions by origin; and how episodes ended, each kind by itself."""
    arms = [(name, cast(Row, arm)) for name, arm in flow.items()]
    origins = sorted({origin for _, arm in arms for origin in part_of(arm, "excluded")})
    before = ("slots", "attempted", "attempts", "abandoned", "failed", "episodes", "admitted")
    after = ["errored", "missing", "no_outcome", "outcomes", "counted_as_failure"]
    after += [key for key in ("no_value", "drawn_again") if any(arm.get(key) for _, arm in arms)]
    heads = ("arm", *map(words, before), *(f"excluded: {one}" for one in origins or ["none"]), *map(words, after))
    rows = tuple(
        (name, *(number(arm.get(one)) for one in before),
         *(number(part_of(arm, "excluded").get(one, 0)) for one in origins or ["none"]),
         *(number(arm.get(one)) for one in after))
        for name, arm in arms
    )  # fmt: skip
    kinds = sorted({kind for _, arm in arms for kind in part_of(arm, "ended")})
    ends = tuple((name, *(number(part_of(arm, "ended").get(kind, 0)) for kind in kinds)) for name, arm in arms)
    found = [Table("Slots of each arm, and what became of them", heads, rows, _numbers(heads))]
    if kinds:
        ended = ("arm", *map(words, kinds))
        found.append(Table("How the episodes of each arm ended", ended, ends, _numbers(ended)))
    return tuple(found)


def _numbers(heads: Sequence[str]) -> tuple[int, ...]:
    return tuple(range(1, len(heads)))


def reading_tables(readings: Row) -> tuple[Table, ...]:
    """What models read of the episodes, level by level, and what that used; nothing where none was asked to."""
    if not readings:
        return ()
    levels, used = part_of(readings, "levels"), part_of(readings, "used")
    kinds = ["due", "made", "unreadable", "withheld", "failed", "left", "abandoned"]
    kinds += ["drawn_again"] if any(cast(Row, row).get("drawn_again") for row in levels.values()) else []
    heads = ("reading", *map(words, kinds))
    rows = tuple((name, *(number(cast(Row, row).get(kind, 0)) for kind in kinds)) for name, row in levels.items())
    spent = Table(
        "What readings used, which is no arm's overhead", tuple(map(words, used)),
        (tuple(number(value) for value in used.values()),), tuple(range(len(used))),
    )  # fmt: skip
    return Table("Readings of the episodes by a model", heads, rows, _numbers(heads)), spent


def exclusion_lines(exclusions: Row) -> tuple[str, ...]:
    """The cap on exclusions and what came of it, and whether compared arms lost alike."""
    lines = []
    if exclusions.get("cap") is not None:
        over, null = (cast(list[str], exclusions.get(key) or []) for key in ("over_cap", "null_over_cap"))
        above = f"exceeded in {', '.join(over)}: claims are withheld" if over else "not exceeded"
        if null and not over:
            above = "not exceeded, but where a measure is null, as below"
        what = "may be without an outcome, whether excluded, errored or missing"
        again = part_of(exclusions, "drawn_again")
        what += ", or drawn again after a failed try of the study's own code" if again else ""
        lines.append(f"At most {exclusions['cap']} of an arm's slots {what}; {above}.")
        if again:
            lines.append(f"{tries_again_words(again)}: an outcome that came after may have been chosen.")
        if null:
            lines.append(
                f"More of what an effect rests on counts as lost, and claims on it are withheld: {'; '.join(null)}."
            )
    shares = {"excluded": "excluded or errored", "without": "without an outcome, for whatever reason"}
    for row in rows_of(exclusions, "imbalance"):
        what = f"{row.get('arms')}, share of slots {shares[str(row.get('of'))]}"
        if "not_estimable" in row:
            lines.append(f"{what}: not estimable, {row['not_estimable']}.")
            continue
        (x, n), (y, m) = (cast(list[int], row[side]) for side in ("plus", "minus"))
        difference = f"{number(row.get('difference'))} ({interval(row)})"
        lines.append(f"{what}: {x} of {n} against {y} of {m}, difference {difference}.")
    return tuple(lines)


def overhead_table(overhead: Row) -> Table:
    """Mean and total of every usage measure, arm by arm, over the episodes that have it."""
    measures = list(dict.fromkeys(name for arm in overhead.values() for name in cast(Row, arm)))
    kinds = ("n", "mean", "total")
    heads = ("arm", *(f"{words(name)}, {kind}" for name in measures for kind in kinds))
    rows = tuple(
        (name, *(number(part_of(cast(Row, arm), one).get(kind)) for one in measures for kind in kinds))
        for name, arm in overhead.items()
    )
    return Table("", heads, rows, _numbers(heads))


# --- what the ruling stands on -------------------------------------------------------------------


def gate_table(document: Row) -> Table:
    """Every gate of the plan, open or closed, with its evidence; then those that the plan does not ask for."""
    rows = tuple(
        ("open" if gate["open"] else "CLOSED", words(str(gate["gate"])), str(gate["meaning"]), str(gate["evidence"]))
        for gate in rows_of(document, "gates")
    )
    silent = tuple(
        ("not asked", words(str(gate["gate"])), str(gate["meaning"]), "the plan does not name it: nothing was decided")
        for gate in rows_of(document, "gates_not_asked")
    )
    return Table("", ("", "gate", "decides that", "evidence"), (*rows, *silent))


def amendment_tables(amendments: Sequence[Row]) -> tuple[Table, ...]:
    """Amendments before the first look, and those after it."""
    heads = ("number", "made at", "phase", "what changed", "reason", "effect on claims")
    groups = {"Before the first look at outcomes": False, "After the first look at outcomes": True}
    tables = []
    for caption, after in groups.items():
        rows = tuple(
            (str(row.get("number")), str(row.get("made_at")), words(str(row.get("phase"))), str(row.get("changed")),
             str(row.get("reason")), str(row.get("effect")))
            for row in amendments
            if bool(row.get("after_look")) is after
        )  # fmt: skip
        if rows:
            tables.append(Table(caption, heads, rows, right=(0,)))
    return tuple(tables)


def differing_table(after: Row) -> Table | None:
    """Verdicts that amendments could have turned: by the first episodes, or by earlier ruling code."""
    rows = tuple(
        (str(row["source"]), named(row), words(str(row["verdict"])), words(str(row["other"])))
        for row in rows_of(after, "differing")
    )
    if not rows:
        return None
    return Table("Verdicts that are others without an amendment", ("without", "hypothesis", "verdict", "then"), rows)


def earlier_table(after: Row) -> Table | None:
    """Hypotheses as they were asked when there could be outcomes, before an amendment dropped or changed them."""
    rows = tuple(
        (named(row), str(row.get("says")), words(str(row["verdict"])),
         words(str(row["now"])) if row.get("now") else "not asked", f"amendment {row.get('amendment')}")
        for row in rows_of(after, "earlier")
    )  # fmt: skip
    if not rows:
        return None
    caption = "Asked once there could be outcomes, and dropped or changed by an amendment: ruled on as it was asked"
    return Table(caption, ("hypothesis", "says", "verdict", "as asked today", "changed by"), rows)


def analyses_table(document: Row) -> Table | None:
    """What analyses that were recorded earlier came to, where it is not what this report says."""
    rows = tuple(
        (str(row["recorded_at"]), str(row["head"]),
         named(row) if row.get("hypothesis") else f"other results, {row['results']}",
         words(str(row["verdict"])) if row.get("verdict") else "not recorded",
         words(str(row["now"])) if row.get("now") else "not asked" if row.get("hypothesis") else "see above")
        for row in rows_of(document, "earlier_analyses")
    )  # fmt: skip
    if not rows:
        return None
    caption = "Analyses that were recorded before this one, and came to something else"
    return Table(caption, ("recorded at", "head", "hypothesis", "verdict then", "verdict now"), rows)


def withdrawal_lines(withdrawn: Row) -> tuple[str, ...]:
    """What the authors withdrew, and why."""
    return tuple(
        f"Withdrawn, {'all claims' if name == '*' else f'claim {name}'}: {why}" for name, why in withdrawn.items()
    )


def provenance(study: Row) -> Table:
    """The digests that this edition hangs on."""
    names = (
        "pin", "head", "results", "plan_file", "manifest", "source", "bundle", "sealkit", "environment", "data_access",
    )  # fmt: skip
    return Table("", ("what", "value"), tuple((words(name), str(study.get(name))) for name in names))
