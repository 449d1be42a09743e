"""`python -m benchmarks`: every figure, or those named; exit 0 whatever they are."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys

from benchmarks.row import Row, table
from benchmarks.sizes import FULL, Sizes

FIGURES = ("verify", "version", "seal", "act", "append", "memory", "chain", "inference", "calls", "policies", "cluster")


def measure(name: str, sizes: Sizes) -> tuple[Row, ...]:
    """The rows of the figure called `name`, measured now."""
    found: Row | tuple[Row, ...] = importlib.import_module(f"benchmarks.{name}").measure(sizes)
    return (found,) if isinstance(found, Row) else found


def main(arguments: list[str], sizes: Sizes = FULL) -> None:
    """Measure, then print a table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios, measured in one run.")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"one of: {', '.join(FIGURES)} (all)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    chosen = parser.parse_args(arguments)
    if unknown := sorted(set(chosen.figures) - set(FIGURES)):
        parser.error(f"no figure is called {', '.join(unknown)}")
    rows: list[Row] = []
    for name in chosen.figures or FIGURES:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        rows += measure(name, sizes)
    if chosen.json:
        print(json.dumps({"python": platform.python_version(), "figures": [row.as_json() for row in rows]}, indent=2))
    else:
        print(table(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
