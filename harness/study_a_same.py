"""Do two runs of study A, in two copies, agree in all but the recorded costs?

    python harness/study_a_same.py ONE OTHER [study-a | study-a-ablations]

Each is the folder of a study that was sealed, run, analysed and published. Every record is compared with that of the
same slot: the transcript with every answer, origin and view, and every measure but the time of a check. Left out are
the pin, which has the hour of the seal, and the digests of the answer and of the record, which have that time. Then
what was analysed is compared. Exit code 1 if anything else differs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

COSTS = ("check_us",)


def main(arguments: list[str]) -> int:
    """Compare, and say what was compared and what differs."""
    folders, name = [Path(text) for text in arguments[:2]], (arguments[2:] or ["study-a"])[0]
    one, other = (_records(folder / "receipts" / name / "episodes.jsonl") for folder in folders)
    differing = [f"slot {slot} differs" for slot in one if slot in other and _held(one[slot]) != _held(other[slot])]
    differing += [f"slot {slot} is in one of them only" for slot in sorted(one.keys() ^ other.keys())]
    differing += differences(*(_analysis(folder, name) for folder in folders))
    costly = sum(
        one[slot]["measures"].get(cost) != other[slot]["measures"].get(cost)
        for slot in one.keys() & other.keys() for cost in COSTS
    )  # fmt: skip
    print(f"{len(one)} and {len(other)} records; {', '.join(COSTS)} differs in {costly}")
    print("\n".join(differing) or "the same in all but the recorded costs")
    return int(bool(differing))


def _records(path: Path) -> dict[str, Any]:
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    return {json.dumps(record["slot"], sort_keys=True): record for record in records}


def _held(record: dict[str, Any]) -> dict[str, Any]:
    """The record without its costs, and without what commits to them or to the hour of the seal."""
    measures = {name: value for name, value in record["measures"].items() if name not in COSTS}
    closing = {name: value for name, value in record["closing"].items() if name != "record"}
    source = {name: value for name, value in record["source"].items() if name != "answer"}
    return {**record, "pin": "", "measures": measures, "closing": closing, "source": source}


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """What two analyses of the same plan say differently, apart from costs and from the pins that they ran under."""
    for key in sorted({*one, *other} - {"pins", "by_pin"}):
        left, right = (_without_costs(analysis.get(key)) for analysis in (one, other))
        if left != right:
            yield f"{key} differs"


def _without_costs(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_costs(item) for item in value if not (isinstance(item, dict) and item.get("metric") in COSTS)]
    return value


def _analysis(folder: Path, name: str) -> Any:
    editions = [path for path in (folder / "publications").glob(f"{name}-*/results.json")]
    documents = [document for path in editions if (document := json.loads(path.read_bytes()))["study"]["plan"] == name]
    if len(documents) != 1:
        sys.exit(f"{folder}/publications: found {len(documents)} editions of {name}, due one; publish it first")
    return documents[0]["analysis"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
