"""Study B's tables in Markdown, every number from a results.json of its scripted, rehearsed or local part.

    python harness/study_b_tables.py EDITION/results.json
    python harness/study_b_tables.py EDITION/results.json --into docs/study-b.md scripted

The second puts them in the place of those between the comments `scripted` and `end of scripted`. What an edition does
not hold has no table, and a cell that it does not hold says `unmeasured`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
UNMEASURED = "unmeasured"
LEVELS = ("intake", "evidence", "metric", "decision", "submission", "a1", "a2", "a3", "a4", "a5")
FLOW = ("slots", "attempted", "attempts", "admitted", "excluded", "errored", "missing", "outcomes")


def main(arguments: Sequence[str]) -> None:
    """Print the tables of an edition, or put them into a page."""
    document = json.loads(Path(arguments[0]).read_bytes())
    text = "\n\n".join(tables(document))
    if arguments[1:2] != ["--into"]:
        print(text)
        return
    page, name = Path(arguments[2]), arguments[3]
    before, _, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->")
    if not end:
        sys.exit(f"{page}: found no comments {name} and end of {name}; write them where the tables are to stand")
    text = f"From `{document['edition']}`.\n\n{text}"
    page.write_text(f"{before}<!-- {name} -->\n\n{text}\n\n{end}{after}", encoding="utf-8")


def tables(document: Row) -> Iterator[str]:
    """Denominators and stops, verdicts, passes, pairs and used turns: those that the edition holds."""
    analysis = document["analysis"]
    yield _denominators(analysis["flow"])
    if document["failures"]:
        rows = [[row["arm"], row["ending"], row["tries"]] for row in document["failures"]]
        yield "Tries that ended without an episode:\n\n" + _table(["arm", "ended by", "tries"], rows)
    yield _verdicts(analysis["verdicts"])
    for what, found in (("passed", _passes(analysis)), ("pairs", _pairs(analysis)), ("turns", _turns(analysis))):
        if found:
            yield f"{TOLD[what]}\n\n{found}"


TOLD = {
    "passed": "Episodes that passed:",
    "pairs": "Pairs of a candidate and its control within an arm, in which the control alone passed (in none did the "
    "candidate alone):",
    "turns": "Turns used without an action:",
}


def _denominators(flow: Row) -> str:
    ended = sorted({word for arm in flow.values() for word in arm["ended"]})
    rows = [
        [name, *(sum(arm[key].values()) if key == "excluded" else arm[key] for key in FLOW),
         *(arm["ended"].get(word, 0) for word in ended)]
        for name, arm in flow.items()
    ]  # fmt: skip
    return _table(["arm", *FLOW, *(f"ended: {word}" for word in ended)], rows)


def _verdicts(verdicts: Sequence[Row]) -> str:
    counted: dict[str, int] = {}
    for row in verdicts:
        counted[row["verdict"]] = counted.get(row["verdict"], 0) + 1
    if len(verdicts) > 10:
        return "Verdicts: " + ", ".join(f"{word} {count}" for word, count in counted.items()) + "."
    return _table(["hypothesis", "verdict"], [[row["hypothesis"], row["verdict"]] for row in verdicts])


def _reported(analysis: Row, metric: str) -> Iterator[Row]:
    return (row for row in analysis["reported"] if row["metric"] == metric and "arm" in row)


def _passes(analysis: Row) -> str:
    """By arm and identity; or, where there are no identities, by arm."""
    rows = [row for row in _reported(analysis, "passed") if not {*row["split"]} - {"identity"}]
    found = {(row["arm"], row["split"].get("identity", "")): f"{row['x']} of {row['n']}" for row in rows}
    if not found:  # reported by family alone: the plan has an effect of each arm
        wanted = {row["effect"]: row for row in analysis["effects"] if row["metric"] == "passed"}
        arms = [arm for arm in analysis["flow"] if arm in wanted]
        return _table(["arm", "passed"], [[arm, f"{wanted[arm]['x']} of {wanted[arm]['n']}"] for arm in arms])
    identities = sorted({identity for _, identity in found})
    rows_ = [[arm, *(found.get((arm, one), UNMEASURED) for one in identities)] for arm in analysis["flow"]]
    return _table(["arm", *(one or "passed" for one in identities)], rows_)


def _pairs(analysis: Row) -> str:
    found = {row["effect"]: row for row in analysis["reported"] if "effect" in row}
    if not found or any(row.get("b") for row in found.values()):
        return (
            ""
            if not found
            else _table(["effect", "n", "b", "c"], [[n, r["n"], r["b"], r["c"]] for n, r in found.items()])
        )
    rows = []
    for arm in analysis["flow"]:
        for how in ("pushed", "inbox"):
            cells = [found.get(f"{arm}_{level}_{how}") for level in LEVELS]
            if any(cells):
                rows.append([f"{arm}, {how}", *(f"{row['c']} of {row['n']}" if row else UNMEASURED for row in cells)])
    return _table(["arm, delivery", *LEVELS], rows) if rows else ""


def _turns(analysis: Row) -> str:
    metrics = ("turns_refused", "turns_cut_off", "turns_unreadable")
    rows: dict[tuple[str, str], dict[str, int]] = {}
    for metric in metrics:
        for row in _reported(analysis, metric):
            rows.setdefault((row["arm"], row["split"].get("identity", "")), {})[metric] = row["total"]
    told = [[", ".join(filter(None, key)), *(row.get(one, UNMEASURED) for one in metrics)] for key, row in rows.items()]
    return _table(["arm", "refused", "cut off", "unreadable"], told) if told else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
