"""Study A over one parent: only isolated forks are shown, and what was said of each is told apart."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

from sealkit.wire.verdict import Accepted, Rejected
from sealkit.world.loader import Policy
from tests.mutations.loading import audit, part, policies
from tests.studies import ROOT

STUDY = part("study")


def said(policy: str, of: Any) -> Any:
    return STUDY.ruled(policies()[policy], of, clock_us=count().__next__)


def place(number: int) -> Any:
    return STUDY.parent_of(ROOT, "underwriting", number).trusted.slot


def test_parents_are_numbered_seed_by_seed() -> None:
    slots = [STUDY.parent_of(ROOT, "underwriting", number).trusted.slot for number in (0, 1, 5, 6)]
    assert slots[0] == {"arm": "interrupt_safe", "family": "static-control", "seed": 100}
    assert (slots[1]["arm"], slots[2]["seed"], slots[3]["seed"]) == ("stale_context", 100, 101)
    cells = {(slot["family"], slot["arm"]) for slot in (place(number) for number in range(18))}
    assert len(cells) == 18  # six families, three agents in turn: no two parents share a scenario
    parent = STUDY.parent_of(ROOT, "underwriting", 9)
    assert parent.line == STUDY.parent_of(ROOT, "underwriting", 9).line
    assert all(isinstance(policy.check(parent.trusted, parent.line), Accepted) for policy in policies().values())


def test_about_every_fourth_parent_looks_odd_and_nobody_rejects_it() -> None:
    kinds = [STUDY.kind_of(number) for number in range(24)]
    assert Counter(kinds) == {"plain": 18, **dict.fromkeys(part("parents").ODD, 1)}
    odd = {(number % 6, STUDY.kind_of(number)) for number in range(144)} - {(n, "plain") for n in range(6)}
    assert len(odd) == 36  # in time every odd way comes to every family
    for name, number in (("house", 3), ("house", 6), ("underwriting", 10), ("underwriting", 13), ("house", 20)):
        assert STUDY.kind_of(number) != "plain"
        parent = STUDY.parent_of(ROOT, name, number)
        for policy in policies().values():
            assert not isinstance(policy.check(parent.trusted, parent.line), Rejected), (name, number)


def test_only_forks_that_the_audit_let_through_are_shown() -> None:
    parent = STUDY.parent_of(ROOT, "underwriting", 9)
    rows = list(STUDY.audited(parent, audit))
    assert [name for name, _, _ in rows] == list(STUDY.MUTATIONS)
    isolated = {name: digest for name, digest, why in rows if digest and not why}
    lacking = {name: why for name, digest, why in rows if not digest}
    assert lacking and all(lacking.values()) and isolated.keys().isdisjoint(lacking)
    shown = STUDY.forks_shown(parent, isolated)
    assert [f"{fork.family}.{fork.variant}" for fork in shown] == list(isolated)
    left_out = next(iter(isolated))
    others = {name: digest for name, digest in isolated.items() if name != left_out}
    assert len(STUDY.forks_shown(parent, others)) == len(shown) - 1
    assert len(STUDY.forks_shown(parent, {**isolated, left_out: "sha256:" + "0" * 64})) == len(shown) - 1

    ruled = {row.mutation: row for row in (said("witness", fork) for fork in shown)}
    assert ruled["F5.truth"].answer == "accepted"
    assert (ruled["M4.truth"].answer, ruled["M4.truth"].origin, ruled["M4.truth"].exact) == (
        "rejected",
        "lineage",
        True,
    )
    faithful = said("witness", parent)
    assert (faithful.mutation, faithful.answer, faithful.exact) == ("", "accepted", False)


def test_a_detector_that_raises_is_errored_and_not_right() -> None:
    parent = STUDY.parent_of(ROOT, "underwriting", 9)
    good = policies()["terminal"]

    def breaks(trusted: object, line: bytes) -> Rejected:
        raise RuntimeError("broken")

    row = STUDY.ruled(Policy(check=breaks, view=good.view, rule=good.rule), parent, clock_us=count(0, 7).__next__)
    assert (row.answer, row.origin, row.check_us) == ("errored", "", 7)


# --- the program -----------------------------------------------------------------------------------

ASKED = {
    "drawn_detected",
    "detected",
    "located",
    "abstained",
    "errored",
    "false_rejection",
    "faithful_abstention",
    "view_bytes",
}


def ask(policy: str, number: int, isolated: Path) -> dict[str, Any]:
    """What the study's program answers about one slot, asked in this process."""
    harness = load_package_module("study_a")
    asked = {
        "slot": {"arm": policy, "family": "underwriting", "seed": number},
        "options": {"policy": policy}, "measures": dict.fromkeys(ASKED),
    }  # fmt: skip
    harness.ISOLATED = isolated
    answer: dict[str, Any] = harness._answer(STUDY, asked)
    return answer


def load_package_module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"tests_harness_{name}", ROOT / "harness" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_program_answers_a_slot_as_the_plan_would_ask(tmp_path: Path) -> None:
    harness = load_package_module("study_a")
    parent = STUDY.parent_of(ROOT, "underwriting", 9)
    rows = list(STUDY.audited(parent, audit))
    known = {
        "parent": parent.digest,
        "isolated": {name: digest for name, digest, why in rows if digest and not why},
    }
    file = tmp_path / "isolated.json"
    file.write_text(json.dumps({"underwriting/9": known}))
    witness, terminal = ask("witness", 9, file), ask("terminal", 9, file)
    assert witness["measures"].keys() == ASKED
    assert witness["measures"]["detected"].keys() == known["isolated"].keys() == terminal["measures"]["detected"].keys()
    assert sum(witness["measures"]["detected"].values()) > sum(terminal["measures"]["detected"].values()) > 0
    assert witness["measures"]["drawn_detected"] in witness["measures"]["detected"].values()
    assert witness["measures"]["false_rejection"] == terminal["measures"]["false_rejection"] == 0
    assert harness._policy("witness_without_previous") != harness._policy("witness")
    assert any(row == {"mutation": "F11.truth", "answer": "accepted", "origin": "", "view_bytes": row["view_bytes"]}
               for row in witness["transcript"])  # fmt: skip

    known["isolated"] = dict(list(known["isolated"].items())[:3])
    file.write_text(json.dumps({"underwriting/9": known}))
    assert list(ask("witness", 9, file)["measures"]["detected"]) == list(known["isolated"])
    known["isolated"]["M1.truth"] = "sha256:" + "0" * 64
    file.write_text(json.dumps({"underwriting/9": known}))
    refused = ask("witness", 9, file)
    assert (refused["ended"], refused["measures"]) == ("harness_error", {})
    file.write_text(json.dumps({"underwriting/9": {**known, "parent": "sha256:" + "0" * 64}}))
    assert "not the one that was audited" in ask("witness", 9, file)["why"]
