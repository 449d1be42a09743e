"""Study A over one parent: only isolated forks are shown, and what was said of each is told apart."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

from sealkit.wire.digest import digest_bytes
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
    kinds = [STUDY.kind_of(number) for number in range(28)]
    assert Counter(kinds) == {"plain": 21, **dict.fromkeys(STUDY.WAYS, 1)} and len(STUDY.WAYS) == 7
    odd = {(number % 6, STUDY.kind_of(number)) for number in range(168)} - {(n, "plain") for n in range(6)}
    assert len(odd) == 42  # in time every odd way comes to every family
    for name, number in (("house", 3), ("house", 6), ("underwriting", 10), ("underwriting", 13), ("house", 20)):
        assert STUDY.kind_of(number) != "plain"
        parent = STUDY.parent_of(ROOT, name, number)
        for policy in policies().values():
            assert not isinstance(policy.check(parent.trusted, parent.line), Rejected), (name, number)


def test_a_declared_event_that_changes_nothing_is_faithful() -> None:
    for name in ("house", "underwriting"):
        number = next(n for n in range(60) if STUDY.kind_of(n) == "declared_no_op")
        parent = STUDY.parent_of(ROOT, name, number)
        (event,) = [event for event in parent.events if event.contract.id == "written_again"]
        assert event.contract.then and not event.moves and event.notice is None
        assert said("witness", parent).answer == said("causal_declared", parent).answer == "accepted"


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


def test_an_abstention_is_warranted_where_the_view_is_that_of_the_faithful_parent(tmp_path: Path) -> None:
    harness = load_package_module("study_a")
    number = next(n for n in range(60) if said("causal", STUDY.parent_of(ROOT, "house", n)).answer == "abstained")
    parent = STUDY.parent_of(ROOT, "house", number)
    forks = {
        f"{fork.family}.{fork.variant}": fork for fork in part("fork").forks_of(parent) if not isinstance(fork, tuple)
    }
    same, other = said("causal", forks["X3.only"]), said("causal", forks["F13a.truth"])
    assert (same.answer, same.blind, other.answer, other.blind) == ("abstained", True, "abstained", False)
    assert not said("causal", forks["F13b.truth"]).blind  # the same acts under another slot are told apart
    isolated = {name: digest_bytes(fork.line) for name, fork in forks.items()}
    harness.ISOLATED = tmp_path / "isolated.json"
    names = ("abstained", "warranted", "untellable", "faithful_abstention", "faithful_warranted")
    asked = {
        "slot": {"family": "house", "seed": number},
        "options": {"policy": "causal"},
        "measures": dict.fromkeys(names),
    }
    for shown, warranted in ((isolated, 1), ({"F13a.truth": isolated["F13a.truth"]}, 0)):
        harness.ISOLATED.write_text(json.dumps({f"house/{number}": {"parent": parent.digest, "isolated": shown}}))
        found = harness._answer(STUDY, asked)["measures"]
        assert found["faithful_abstention"] == 1 and found["faithful_warranted"] == warranted
        assert found["warranted"]["F13a.truth"] == 0 < found["abstained"]["F13a.truth"]
        assert found["warranted"].get("X3.only", 0) == found["untellable"].get("X3.only", 0) == warranted


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
    "warranted",
    "untellable",
    "faithful_warranted",
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
    (quiet,) = [row for row in witness["transcript"] if row["mutation"] == "F11.truth"]
    assert (quiet["answer"], quiet["origin"]) == ("accepted", "")

    seen = {row["mutation"]: row["view"] for row in terminal["transcript"]}
    blind = {mutation: int(view == seen["none"]) for mutation, view in seen.items() if mutation != "none"}
    found = terminal["measures"]["untellable"]
    assert found == blind  # found again from the record alone
    assert found["M2.truth"] == 1 and found["F13b.truth"] == 0 and not any(witness["measures"]["untellable"].values())

    known["isolated"] = dict(list(known["isolated"].items())[:3])
    file.write_text(json.dumps({"underwriting/9": known}))
    assert list(ask("witness", 9, file)["measures"]["detected"]) == list(known["isolated"])
    known["isolated"]["M1.truth"] = "sha256:" + "0" * 64
    file.write_text(json.dumps({"underwriting/9": known}))
    refused = ask("witness", 9, file)
    assert (refused["ended"], refused["measures"]) == ("harness_error", {})
    file.write_text(json.dumps({"underwriting/9": {**known, "parent": "sha256:" + "0" * 64}}))
    assert "not the one that was audited" in ask("witness", 9, file)["why"]


def test_what_is_warranted_is_found_again_from_the_records_alone() -> None:
    command = load_package_module("study_a_warranted")
    path = ROOT / "receipts/study-a/episodes.jsonl"
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    counts, wrong = command.count(records)
    assert wrong == [] and counts["terminal"]["untellable"] > counts["causal"]["untellable"] > 0
    assert counts["causal"]["abstained"] > counts["causal"]["warranted"] > 0
    assert counts["witness"]["untellable"] == counts["witness"]["abstained"] == 0
    records[0]["transcript"][1]["view"] = records[0]["transcript"][0]["view"][::-1]
    records[0]["measures"]["untellable"] = dict.fromkeys(records[0]["measures"]["untellable"], 1)
    assert command.count(records)[1] == [records[0]["slot"]]
