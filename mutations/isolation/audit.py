"""Is a fork its parent with exactly one mutation, and what follows from it?

    audit(parent, scenario, fork, given, note)
        → ()          isolated
        → ("…", …)    what is not as it should be; the fork is left out before any detector runs

Everything is found again from bytes: which leaves differ, the digests of those that do not, whether the edits are of
the kind and number that the family may make, all at one event, and whether they lead to this line, byte for byte.
`given` is the scenario that a detector is handed with the fork: the parent's own, but for a lie of who owns the root.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from .again import due_line
from .plain import UnfitError, digest, leaves, opened, sha
from .table import ALLOWED, MANY

MOST = 5  # places named in one fault


def audit(parent: bytes, scenario: bytes, fork: bytes, given: bytes, note: Any) -> tuple[str, ...]:
    """What breaks the isolation of a fork; nothing if it is isolated. `note` is what its maker says was done."""
    try:
        before, after = opened(parent, "parent"), opened(fork, "fork")
        declared = opened(scenario, "scenario")
        faults = [*_bound(parent, before, scenario, note), *_edits(note), *_leaves(before, after, note)]
        if given != scenario:
            faults += _told_otherwise(declared, opened(given, "the scenario given"), after, given, note)
        due = due_line(before, declared, note["edits"])
    except UnfitError as error:
        return (f"it cannot be made again: {error}",)
    except (KeyError, TypeError, AttributeError) as error:
        return (f"the note or the record lacks what it must have: {type(error).__name__} {error}",)
    if due != fork:
        differ = _differing(opened(due, "the fork made again"), after)
        faults.append(f"made again it differs at {', '.join(differ[:MOST])}")
    return tuple(faults)


def _bound(parent: bytes, before: Any, scenario: bytes, note: Any) -> list[str]:
    faults = []
    if note["parent"] != sha(parent):
        faults.append("the note is of another parent")
    if before["scenario"] != sha(scenario):
        faults.append("the parent is of another scenario")
    return faults


def _told_otherwise(declared: Any, told: Any, after: Any, given: bytes, note: Any) -> list[str]:
    """A detector is handed another scenario only where the mutation is just that, and of one effect alone."""
    faults = []
    if note["family"] != "X1":
        faults.append(f"{note['family']} may not change what is trusted")
    if after["scenario"] != sha(given):
        faults.append("the fork is of another scenario than the one given")
    differ = _differing(declared, told)
    if not differ or len({re.sub(r"^(/contracts/[0-9]+/then)/.*", r"\1", at) for at in differ}) != 1:
        faults.append(f"the scenario given differs at {', '.join(differ[:MOST])}")
    elif not re.match(r"/contracts/[0-9]+/then/", differ[0]):
        faults.append(f"the scenario given differs at {differ[0]}, which is no effect")
    return faults


def _edits(note: Any) -> list[str]:
    name = f"{note['family']}.{note['variant']}"
    allowed = ALLOWED.get(name)
    if allowed is None:
        return [f"no such mutation: {name}"]
    faults, used = [], Counter[str]()
    edits = [f"{stage} {op['op']} {op['path']}" for stage in ("start", "executed", "recorded")
             for op in note["edits"][stage]]  # fmt: skip
    for edit in edits:
        pattern = next((pattern for pattern in allowed if re.fullmatch(pattern, edit)), None)
        if pattern is None:
            faults.append(f"{name} may not {edit}")
        else:
            used[pattern] += 1
    faults += [f"{name}: {count} edits of the kind {pattern}, {allowed[pattern]} at most"
               for pattern, count in used.items() if count > allowed[pattern]]  # fmt: skip
    if not edits:
        faults.append("nothing was edited")
    return faults + _one_place(name, note, many=MANY in allowed.values())


def _one_place(name: str, note: Any, *, many: bool) -> list[str]:
    """Values are replaced in one receipt and in one segment: one event, one message, one reading."""
    if many:
        return []
    replaced = [
        op["path"] for stage in ("executed", "recorded") for op in note["edits"][stage] if op["op"] == "replace"
    ]
    faults = []
    for what, pattern in (("receipts", r"/receipts/(\d+)"), ("segments", r"/acts/(\d+/segments/\d+)")):
        places = {match[1] for path in replaced for match in [re.match(pattern, path)] if match}
        if len(places) > 1:
            faults.append(f"{name} edits {len(places)} {what}")
    return faults


def _leaves(before: Any, after: Any, note: Any) -> list[str]:
    differ = _differing(before, after)
    gone = set(differ)
    same = {at: digest(value) for at, value in leaves(before) if at not in gone}
    faults = []
    if sorted(note["changed"]) != differ:
        odd = sorted(set(note["changed"]) ^ set(differ))
        faults.append(f"the note and the bytes disagree on what changed, at {', '.join(odd[:MOST])}")
    if note["unchanged"] != same:
        odd = sorted(at for at in {*note["unchanged"], *same} if note["unchanged"].get(at) != same.get(at))
        faults.append(f"the digests of what did not change are off, at {', '.join(odd[:MOST])}")
    if not differ:
        faults.append("nothing differs")
    return faults


def _differing(before: Any, after: Any) -> list[str]:
    old = {at: (type(value), str(value)) for at, value in leaves(before)}
    new = {at: (type(value), str(value)) for at, value in leaves(after)}
    return sorted(at for at in {*old, *new} if old.get(at) != new.get(at))
