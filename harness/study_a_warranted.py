"""Which abstentions are warranted, found again from the records alone: `python harness/study_a_warranted.py [study-a]`.

Each record has the answer and the digest of the view, for the faithful parent and for every fork. An abstention on a
fork is warranted where its digest is that of the parent; one on the parent, where a fork that was shown has its digest.
The records' own measures have to say the same: exit code 1 if one does not.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SMOKE = 59
COLUMNS = ("forks", "untellable", "abstained", "warranted", "faithful_abstention", "faithful_warranted")


def main(arguments: list[str]) -> int:
    """Count, compare, print."""
    path = ROOT / "receipts" / (arguments[0] if arguments else "study-a") / "episodes.jsonl"
    lines = path.read_bytes().splitlines()
    records = [record for line in lines if (record := json.loads(line))["slot"]["seed"] != SMOKE]
    counts, wrong = count(records)
    print(f"{len(records)} records, without those of the smoke run")
    for policy, found in counts.items():
        print(f"{policy}: " + ", ".join(f"{column} {found[column]}" for column in COLUMNS))
    for slot in wrong:
        print(f"slot {slot}: the measures are not those that its views give")
    return int(bool(wrong))


def count(records: list[dict[str, Any]]) -> tuple[dict[str, Counter[str]], list[Any]]:
    """By policy, what the views give; and the slots whose measures say otherwise."""
    counts: dict[str, Counter[str]] = {}
    wrong = []
    for record in records:
        parent, *forks = record["transcript"]
        blind = {fork["mutation"]: int(fork["view"] == parent["view"]) for fork in forks}
        gave_up = {fork["mutation"]: int(fork["answer"] == "abstained") for fork in forks}
        warranted = {name: gave_up[name] * blind[name] for name in blind}
        silent = int(parent["answer"] == "abstained")
        found = {
            "untellable": blind, "abstained": gave_up, "warranted": warranted, "faithful_abstention": silent,
            "faithful_warranted": silent * max(blind.values(), default=0),
        }  # fmt: skip
        if any(record["measures"][name] != value for name, value in found.items()):
            wrong.append(record["slot"])
        sums = {name: sum(value.values()) if isinstance(value, dict) else value for name, value in found.items()}
        counts.setdefault(str(record["slot"]["arm"]), Counter()).update({"forks": len(forks), **sums})
    return counts, wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
