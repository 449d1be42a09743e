"""The engineering preflight, as a table: `python harness/preflight.py [--into docs/study-a.md]`.

26 forks of five parents of `underwriting`: does what a policy sees of the fork differ from what it sees of the parent?
No detector runs, so what is counted is an upper bound on what a detector could know, and no detection rate.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # a checkout has sealkit at its root; an installed one comes first

from sealkit.verify.conformance.trial import TRIAL_JUDGE, TRIAL_PIN, trial_scenario  # noqa: E402
from sealkit.wire.episode import Trusted  # noqa: E402
from sealkit.world.loader import load_package, load_policies, load_world  # noqa: E402

AGENT = "interrupt_safe"


def main(arguments: list[str]) -> None:
    """Print the table, or put it between the comments `preflight` and `end of preflight` of a page."""
    text = table()
    if arguments[:1] != ["--into"]:
        print(text)
        return
    page = Path(arguments[1])
    before, start, rest = page.read_text().partition("<!-- preflight -->\n")
    _, end, after = rest.partition("<!-- end of preflight -->")
    if not end:
        sys.exit(f"{page}: found no comments preflight and end of preflight; write them where the table is to stand")
    page.write_text(f"{before}{start}\n{text}\n\n{end}{after}")


def table() -> str:
    """What the counts are, then one row a family."""
    package = load_package(ROOT / "mutations", "preflight_mutations")
    preflight: Any = import_module(f"{package.__name__}.preflight")
    parents: Any = import_module(f"{package.__name__}.parents")
    world = load_world(ROOT, "underwriting")
    played = []
    for edition in preflight.EDITIONS:
        slot: dict[str, int | str] = {"arm": AGENT, "family": edition, "seed": 0}
        scenario = trial_scenario(world, edition, 0)
        played.append(parents.played(world, AGENT, Trusted(TRIAL_PIN, TRIAL_JUDGE, slot, scenario)))
    forks = preflight.preflight_forks(played)
    views = {name: load_policies(ROOT / "verifiers" / name)[name].view for name in preflight.VIEWS.values()}
    rows = preflight.visible(forks, views)
    rows["all"] = {column: sum(row[column] for row in rows.values()) for column in ("forks", *preflight.VIEWS)}
    heads = ("family", "forks", *(f"{short} (`{name}`)" for short, name in preflight.VIEWS.items()))
    lines = [heads, ("---",) * len(heads), *((family, *map(str, row.values())) for family, row in rows.items())]
    says = f"Forks in which the edit is visible: **{preflight.LABEL}**."
    return f"{says}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
