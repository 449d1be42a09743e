"""Study A's program: one slot in, one record out (docs/your-own-harness.md). Arms are policies, seeds parents.

    python harness/study_a.py --isolate 59 422..516 > harness/isolated.json                 before the seal, no detector
    python harness/study_a.py --conform > harness/conforming.json                           before the seal, no fork
    python harness/study_a.py < assignment                                                  one slot

`isolated.json` has, for every parent, which forks passed the audit of isolation, by digest. It is sealed with the
study; a slot shows its detector those forks and no other. What was left out, and why, stands beside it.
`conforming.json` has, for every policy's folder, the clauses of the conformance suite and the digest of its files.
A slot answers from both: whether every audited fork was isolated, and whether every baseline, as it is now, conformed.

An abstention on a fork is **warranted** where the policy's view of the fork is, byte for byte, its view of the
faithful parent, and it is told the same beside: no rule on that view could tell one from the other. On the parent it
is warranted where a fork that was shown has that view. Any other is not shown to be warranted. A record has the digest
of every view, so this can be found again from the record alone.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # a checkout has sealkit at its root; an installed one comes first

from sealkit.world.draws import Draws  # noqa: E402
from sealkit.world.loader import Policy, load_package, load_policies  # noqa: E402

ISOLATED = Path(__file__).with_name("isolated.json")
CONFORMING = Path(__file__).with_name("conforming.json")
FOLDER_OF = {
    "terminal": "terminal", "event_log": "event_log", "milestones": "milestones", "canonical_action": "telemetry",
    "state_transition": "telemetry", "causal": "causal", "causal_declared": "causal",
}  # fmt: skip
WORLDS = ("house", "underwriting")
# Mutations of what became of the state, as it stands at the bounds of acts.
OF_STATE = frozenset(("M1", "M4", "M5", "M7", "M8", "F1", "F2", "F3", "F4", "F10"))


def main(arguments: list[str]) -> None:
    """Audit, or answer one slot."""
    mutations = load_package(ROOT / "mutations", "study_a_mutations")
    study: Any = import_module(f"{mutations.__name__}.study")
    if arguments[:1] == ["--isolate"]:
        audit = import_module(f"{mutations.__name__}.isolation.audit").audit
        numbers = [number for text in arguments[1:] for number in _numbers(text)]
        parents = [(name, number) for name in WORLDS for number in numbers]
        print(json.dumps(_isolate(study, audit, parents), indent=0, sort_keys=True))
    elif arguments[:1] == ["--conform"]:
        print(json.dumps(_conform(), indent=1, sort_keys=True))
    else:
        print(json.dumps(_answer(study, json.loads(sys.stdin.buffer.read()))))


def _numbers(text: str) -> range:
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def _isolate(study: Any, audit: Any, parents: list[tuple[str, int]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, number in parents:
        parent = study.parent_of(ROOT, name, number)
        rows = list(study.audited(parent, audit))
        found[f"{name}/{number}"] = {
            "parent": parent.digest,
            "isolated": {mutation: digest for mutation, digest, why in rows if digest and not why},
            "left_out": {mutation: why for mutation, digest, why in rows if digest and why},
            "no_place": {mutation: why for mutation, digest, why in rows if not digest},
        }
    return found


def _conform() -> dict[str, Any]:
    from sealkit.verify.conformance import examine_verifier  # a slot has no use for it

    found: dict[str, Any] = {}
    for name in sorted({*FOLDER_OF.values(), "witness"}):
        findings = examine_verifier(ROOT, name)
        found[name] = {
            "files": files_digest(ROOT / "verifiers" / name),
            "kept": {finding.clause: finding.detail for finding in findings if finding.kept},
            "not_kept": {finding.clause: finding.detail for finding in findings if not finding.kept},
        }
    return found


def files_digest(folder: Path) -> str:
    """One digest over the names and bytes of a verifier's files."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            name, content = str(path.relative_to(folder)), hashlib.sha256(path.read_bytes()).hexdigest()
            whole.update(f"{name} {content}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def _baselines_conform() -> bool:
    """Whether every folder of a policy passed all clauses with the files that it has now."""
    known = json.loads(CONFORMING.read_bytes())
    return all(
        name in known and known[name]["kept"] and not known[name]["not_kept"]
        and known[name]["files"] == files_digest(ROOT / "verifiers" / name)
        for name in sorted({*FOLDER_OF.values(), "witness"})
    )  # fmt: skip


def _answer(study: Any, asked: dict[str, Any]) -> dict[str, Any]:
    name, number = str(asked["slot"]["family"]), int(asked["slot"]["seed"])
    policy = _policy(str(asked["options"]["policy"]))
    known = json.loads(ISOLATED.read_bytes())[f"{name}/{number}"]
    if name == "underwriting":
        import jsonschema  # type: ignore[import-untyped]  # noqa: F401  a world's modules are compiled anew, and what they import first with them
    parent = study.parent_of(ROOT, name, number)
    if parent.digest != known["parent"]:
        return _failed(f"parent {name}/{number} is not the one that was audited")
    shown = study.forks_shown(parent, known["isolated"])
    if len(shown) != len(known["isolated"]):
        return _failed(f"{len(shown)} forks of {name}/{number}, {len(known['isolated'])} were audited")
    policy.check(parent.trusted, parent.line)  # a scenario is parsed once; its time belongs to no fork
    faithful, *rows = [study.ruled(policy, item, clock_us=_clock) for item in (parent, *shown)]
    predicted = {row.mutation: study.as_predicted(str(asked["options"]["policy"]), row) for row in rows}
    measures = {
        "detected": {row.mutation: int(row.answer == "rejected") for row in rows},
        "located": {row.mutation: int(row.exact) for row in rows},
        "state_detected": {
            row.mutation: int(row.answer == "rejected") for row in rows if row.mutation.split(".")[0] in OF_STATE
        },
        "detections": sum(row.answer == "rejected" for row in rows),
        "locations": sum(row.exact for row in rows),
        "named": {row.mutation: int(row.named) for row in rows},
        "abstained": {row.mutation: int(row.answer == "abstained") for row in rows},
        "warranted": {row.mutation: int(row.answer == "abstained" and row.blind) for row in rows},
        "untellable": {row.mutation: int(row.blind) for row in rows},
        "as_predicted": predicted,
        "unpredicted": sum(came_true == 0 for came_true in predicted.values()),
        "forks": len(rows),
        "not_isolated": len(known.get("left_out", {})),
        "baselines_conform": int("baselines_conform" in asked["measures"] and _baselines_conform()),
        "drawn_detected": _drawn(parent.digest, rows),
        "errored": sum(row.answer == "errored" for row in (faithful, *rows)),
        "false_rejection": int(faithful.answer == "rejected"),
        "faithful_abstention": int(faithful.answer == "abstained"),
        "faithful_warranted": int(faithful.answer == "abstained" and any(row.blind for row in rows)),
        "view_bytes": faithful.view_bytes,
        "check_us": sum(row.check_us for row in (faithful, *rows)) // (len(rows) + 1),
    }
    transcript = [  # of a view's digest the first 16 digits, which tell equal views from others
        {
            "mutation": row.mutation or "none",
            "answer": row.answer,
            "origin": row.origin,
            "view_bytes": row.view_bytes,
            "view": row.view.removeprefix("sha256:")[:16],
        }
        for row in (faithful, *rows)
    ]
    wanted = {key: value for key, value in measures.items() if key in asked["measures"]}
    return _record(transcript, wanted, "final", "")


def _drawn(parent: str, rows: list[Any]) -> int | None:
    """Whether the one fork that is drawn for this parent was detected: pairs of it are independent, as McNemar asks.

    It is drawn from the mutations that were shown, keyed by the parent, so it is the same fork for every policy.
    """
    if not rows:
        return None
    row = Draws("study A", "one fork a parent", parent).choice(sorted(rows, key=lambda row: str(row.mutation)))
    return int(row.answer == "rejected")


def _policy(name: str) -> Policy:
    return load_policies(ROOT / "verifiers" / FOLDER_OF.get(name, "witness"))[name]


def _clock() -> int:
    return time.perf_counter_ns() // 1000


def _failed(why: str) -> dict[str, Any]:
    return _record([], {}, "harness_error", why)


def _record(transcript: list[Any], measures: dict[str, Any], ended: str, why: str) -> dict[str, Any]:
    usage = {"calls": 0, "input_tokens": None, "output_tokens": None}
    return {"transcript": transcript, "measures": measures, "usage": usage, "models": {}, "ended": ended, "why": why}


if __name__ == "__main__":
    main(sys.argv[1:])
