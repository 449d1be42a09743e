"""What was changed in each fork of a parent: `python harness/study_a_notes.py house 422 [MUTATION]`.

One JSON line a fork: its edits, every JSON Pointer at which it differs from the parent, and the digest of every leaf
that is as it was. The audit of isolation was given just this. It is not kept, for the notes of all forks are about
a hundred megabytes and the seeds give them again. What is kept, in `isolated.json`, is the digest of every fork, which
is in each line here as well.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # a checkout has sealkit at its root; an installed one comes first

from sealkit.wire.digest import digest_bytes  # noqa: E402
from sealkit.world.loader import load_package  # noqa: E402

ISOLATED = Path(__file__).with_name("isolated.json")


def main(arguments: list[str]) -> int:
    """Print the notes; exit code 1 if a fork is not the one that was audited."""
    if len(arguments) not in (2, 3):
        sys.exit("say a world, a number and perhaps a mutation: python harness/study_a_notes.py house 422 M2.truth")
    world, number = arguments[0], int(arguments[1])
    known = json.loads(ISOLATED.read_bytes()).get(f"{world}/{number}")
    if known is None:
        sys.exit(f"{ISOLATED.name} has no parent {world}/{number}; take one that it has")
    others = 0
    for name, note, digest in notes(world, number):
        if arguments[2:] in ([], [name]):
            print(json.dumps({**note, "fork": digest}, sort_keys=True))
            others += known["isolated"].get(name) != digest
    return int(bool(others))


def notes(world: str, number: int) -> list[tuple[str, dict[str, Any], str]]:
    """For each fork of the parent: its name, its note, its digest."""
    package = load_package(ROOT / "mutations", "study_a_notes_mutations")
    study: Any = import_module(f"{package.__name__}.study")
    fork: Any = import_module(f"{package.__name__}.fork")
    made = [each for each in fork.forks_of(study.parent_of(ROOT, world, number)) if not isinstance(each, tuple)]
    return [(f"{each.family}.{each.variant}", each.note(), digest_bytes(each.line)) for each in made]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
