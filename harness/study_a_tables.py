"""Study A's tables in Markdown, every number from a results.json.

    python harness/study_a_tables.py EDITION/results.json                the tables of the study
    python harness/study_a_tables.py --ablations EDITION/results.json    those of the ablations
    python harness/study_a_tables.py EDITION/results.json --into docs/study-a.md    in the place of those there

What was not measured says so, and is never 0: also a mutation that has a place in no parent (`isolated.json`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
ISOLATED = Path(__file__).with_name("isolated.json")
POLICIES = ("terminal", "event_log", "milestones", "causal", "causal_declared", "witness")


def main(arguments: list[str]) -> int:
    """Print what was asked for."""
    names = [name for name in arguments if not name.startswith("--")]
    document = json.loads(Path(names[0]).read_bytes())
    ablations = "--ablations" in arguments
    text = "\n\n".join(of_ablations(document) if ablations else of_study(document))
    if "--into" in arguments:
        _into(Path(names[1]), "ablations" if ablations else "tables", f"From `{document['edition']}`.\n\n{text}")
    else:
        print(text)
    return 0


def _into(page: Path, what: str, text: str) -> None:
    """The text stands between the two comments `what` of the page."""
    before, _, rest = page.read_text().partition(f"<!-- {what} -->\n")
    _, _, after = rest.partition(f"<!-- end of {what} -->")
    if not after:
        sys.exit(f"{page}: found no comments {what} and end of {what}; write them where the tables are to stand")
    page.write_text(f"{before}<!-- {what} -->\n\n{text}\n\n<!-- end of {what} -->{after}")


# --- the study -------------------------------------------------------------------------------------


def of_study(document: Row) -> Iterator[str]:
    """Verdicts and claims; policies; mutations; what it costs."""
    rows: list[Row] = document["analysis"]["reported"]
    arms = [arm for arm in POLICIES if any(row.get("arm") == arm for row in rows)]
    yield _rulings(document)
    yield "**Policies**, all parents; limits are exact ones of 95 %.\n\n" + _policies(rows, arms)
    yield "**Where the witness and its comparator differ**, by mutation\n\n" + _contrast(rows)
    yield "**Detected**, of the forks of each mutation, with exact limits of 95 % in percent\n\n" + _by_mutation(
        rows, arms, "detected", interval=True
    )
    yield "**Located exactly**\n\n" + _by_mutation(rows, arms, "located", interval=False)
    yield (
        "**Abstained.** Untellable: the policy's view of the fork is, byte for byte, its view of the faithful parent. "
        "There, an abstention is warranted.\n\n" + _abstentions(rows, arms)
    )
    yield "Abstained, and how many of them warranted, where anybody did\n\n" + _abstained(rows, arms)
    yield "**Evidence and cost**, means of an episode\n\n" + _costs(rows, arms)


def _rulings(document: Row) -> str:
    verdicts = [(row["hypothesis"], row["verdict"], row["rule"] or "") for row in document["analysis"]["verdicts"]]
    claims = [(row["name"], row["status"], row["text"]) for row in document["claims"]]
    effects = [
        (row["effect"], row["metric"], row["n"], row.get("b", row.get("x", row.get("total", ""))), row.get("c", ""),
         _short(row["estimate"]), f"{_short(row['lower'])} to {_short(row['upper'])}" if "lower" in row else "")
        for row in document["analysis"]["effects"] if "estimate" in row
    ]  # fmt: skip
    heads = ("effect", "metric", "n", "for, or x, or total", "against", "estimate", "interval")
    tests = [
        (row["test"], row["effect"], row["n"], row["b"], row["c"], _p(row["p"]))
        for row in document["analysis"]["reported"] if "p" in row
    ]  # fmt: skip
    return "\n\n".join(
        (
            _table(("hypothesis", "verdict", "rule"), verdicts), _table(("claim", "status", "says"), claims),
            _table(heads, effects), _table(("test", "effect", "pairs", "for", "against", "p"), tests),
        )
    )  # fmt: skip


def _policies(rows: Sequence[Row], arms: Sequence[str]) -> str:
    return _whole(rows, arms, "drawn_detected", "detected", "located", "named", "as_predicted", "false_rejection")


def _abstentions(rows: Sequence[Row], arms: Sequence[str]) -> str:
    return _whole(rows, arms, "untellable", "abstained", "warranted", "faithful_abstention", "faithful_warranted")


def _whole(rows: Sequence[Row], arms: Sequence[str], *metrics: str) -> str:
    whole = {(row["arm"], row["metric"]): row for row in rows if row.get("arm") and not row["split"]}
    table = [(arm, *(_cell(whole.get((arm, metric)), interval=True) for metric in metrics)) for arm in arms]
    return _table(("policy", *(metric.replace("_", " ") for metric in metrics)), table)


def _abstained(rows: Sequence[Row], arms: Sequence[str]) -> str:
    """By mutation `abstained / forks, warranted`."""
    abstained, warranted = (_of_mutations(rows, metric) for metric in ("abstained", "warranted"))
    table = [
        (name, *(f"{_cell(by.get(arm), interval=False)}, {_found(warranted.get(name, {}).get(arm))}" for arm in arms))
        for name, by in abstained.items()
        if any(row.get("x") for row in by.values())
    ]
    return _table(("mutation", *arms), table) if table else "Nobody did."


def _mutations() -> set[str]:
    """Every mutation that was looked for a place."""
    kinds = ("isolated", "left_out", "no_place")
    return {name for parent in json.loads(ISOLATED.read_bytes()).values() for kind in kinds for name in parent[kind]}


def _of_mutations(rows: Sequence[Row], metric: str) -> dict[str, dict[str, Row]]:
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.get("arm") and row["metric"] == metric and "mutation" in row["split"]:
            found.setdefault(row["split"]["mutation"], {})[row["arm"]] = row
    return found


def _contrast(rows: Sequence[Row]) -> str:
    found = [row for row in rows if row.get("effect") == "gain" and "estimate" in row and row["split"]]
    more: list[str] = []
    less: list[str] = []
    tie: list[str] = []
    for row in found:
        name = f"{row['split']['mutation']} {row['b']}:{row['c']} of {row['n']}"
        (more if row["b"] > row["c"] else less if row["c"] > row["b"] else tie).append(name)
    return _table(
        ("", "mutations, with the parents in which it alone detects, for witness : comparator"),
        [(f"witness detects more ({len(more)})", ", ".join(more)), (f"comparator does ({len(less)})", ", ".join(less)),
         (f"tie ({len(tie)})", ", ".join(tie))],
    )  # fmt: skip


def _by_mutation(rows: Sequence[Row], arms: Sequence[str], metric: str, *, interval: bool) -> str:
    none: dict[str, dict[str, Row]] = {name: {} for name in _mutations()}
    found = none | _of_mutations(rows, metric)
    table = [(name, *(_cell(found[name].get(arm), interval=interval) for arm in arms)) for name in sorted(found)]
    return _table(("mutation", *arms), table)


def _costs(rows: Sequence[Row], arms: Sequence[str]) -> str:
    found = {(row["arm"], row["metric"], row["split"].get("family")): row for row in rows if row.get("arm")}
    worlds = sorted({family for _, metric, family in found if metric == "view_bytes" and family})
    table = []
    for arm in arms:
        cells: list[str] = []
        for world in worlds:
            cells.append(_mean(found.get((arm, "view_bytes", world))))
            cost, least = (found.get((name, "check_us", world)) for name in (arm, "terminal"))
            ratio = float(cost["estimate"]) / float(least["estimate"]) if cost and least else 0
            cells += [_mean(cost), f"{ratio:.1f}" if ratio else ""]
        table.append((arm, *cells, sum(_total(found.get((arm, "errored", world))) for world in worlds)))
    heads = [f"{world}, {what}" for world in worlds for what in ("bytes", "microseconds", "ratio to terminal")]
    return _table(("policy", *heads, "errored"), table)


# --- ablations -------------------------------------------------------------------------------------


def of_ablations(document: Row) -> Iterator[str]:
    """For each field whether it is justified, and what is lost without it."""
    yield _rulings(document)
    rows: list[Row] = document["analysis"]["reported"]
    by = {(row["arm"], row["metric"], row["split"]["mutation"]): row for row in rows
          if row.get("arm") and "mutation" in row["split"] and "x" in row}  # fmt: skip
    arms = list(dict.fromkeys(arm for arm, _, _ in by))
    table = []
    for arm in arms:
        if arm == "witness":
            continue
        lost: list[str] = []
        for metric in ("detected", "located"):
            names = [(mutation, row["x"] - by[arm, metric, mutation]["x"])
                     for (who, what, mutation), row in by.items() if (who, what) == ("witness", metric)]  # fmt: skip
            lost.append(", ".join(f"{mutation} {count:+d}" for mutation, count in names if count) or "none")
        table.append((arm, *lost))
    yield "**Lost**, in forks: what the witness has and the variant has not\n\n" + _table(
        ("variant", "detected", "located exactly"), table
    )
    whole = {(row["arm"], row["metric"]): row for row in rows if row.get("arm") and not row["split"]}
    metrics = ("detected", "located", "false_rejection")
    yield _table(
        ("variant", *metrics),
        [(arm, *(_cell(whole.get((arm, metric)), interval=False) for metric in metrics)) for arm in arms],
    )


# --- words -----------------------------------------------------------------------------------------


def _cell(row: Row | None, *, interval: bool) -> str:
    if row is None or "x" not in row:
        return "not measured"
    limits = f" ({_percent(row['lower'])}–{_percent(row['upper'])})" if interval and "lower" in row else ""
    return f"{row['x']}/{row['n']}{limits}"


def _found(row: Row | None) -> str:
    return "not measured" if row is None or "x" not in row else str(row["x"])


def _mean(row: Row | None) -> str:
    return "not measured" if row is None or "estimate" not in row else f"{float(row['estimate']):,.0f}"


def _total(row: Row | None) -> int:
    return int(row["total"]) if row is not None and "total" in row else 0


def _percent(number: str) -> str:
    return f"{100 * float(number):.0f}"


def _short(number: str) -> str:
    return f"{float(number):.4f}".rstrip("0").rstrip(".")


def _p(number: str) -> str:
    return f"{float(number):.2g}" if float(number) else "below 1e-12"


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
