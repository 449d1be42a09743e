"""Evidence policies: each keeps its contract, and sees of the lies what its SPEC.md says, under the origin it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import pytest

from sealkit.verify.conformance.finding import examine_all
from sealkit.verify.conformance.of_policies import policy_clauses
from sealkit.verify.conformance.trial import trial_episode, trial_slots
from sealkit.wire.episode import Trusted
from sealkit.wire.verdict import Abstained, Accepted, Rejected
from sealkit.world.loader import Policy, load_policies, load_world
from tests.lying_world import LIES, honest, lie
from tests.reseal import read, reseal
from tests.verifiers.loading import ROOT, witness

FOLDERS = ("terminal", "event_log", "milestones", "telemetry", "causal", "witness")
FIELDS = ("contract_digest", "before_root", "after_root", "projection", "boundary", "restore_generation", "previous",
          "judge_evidence", "act_ledger")  # fmt: skip


@lru_cache
def policies(folder: str) -> Mapping[str, Policy]:
    return load_policies(ROOT / "verifiers" / folder)


@lru_cache
def policy(name: str) -> Policy:
    return next(policies(folder)[name] for folder in FOLDERS if name in policies(folder))


@lru_cache
def corpus() -> tuple[tuple[Trusted, bytes], ...]:
    world = load_world(ROOT / "tests" / "toy", "toy")
    return tuple((trusted, trial_episode(world, trusted)) for trusted in trial_slots(world))[:9]


def verdict(name: str, of: str) -> str:
    """The word for what a policy says of a lie: `accepted`, `abstained`, or the origin that it names."""
    said = policy(name).check(*lie(of))
    return said.origin if isinstance(said, Rejected) else type(said).__name__.lower()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_policy_keeps_every_clause(folder: str) -> None:
    clauses = policy_clauses(ROOT / "verifiers" / folder, policies(folder), corpus())
    findings = examine_all(clauses, foundations=())
    assert len(findings) == 1 + 5 * len(policies(folder))
    assert not [finding for finding in findings if not finding.kept]


def test_the_names_of_the_policies() -> None:
    assert [name for folder in FOLDERS for name in policies(folder)] == [
        "terminal", "event_log", "milestones", "canonical_action", "state_transition", "causal", "causal_declared",
        "witness",
        *(f"witness_without_{field}" for field in FIELDS),
    ]  # fmt: skip
    assert load_policies(ROOT / "verifiers" / "replay") == {}


# --- the contract can be broken --------------------------------------------------------------------


def broken(changed: Policy, clause: str) -> str:
    """The detail of the one clause that the changed policy breaks first."""
    clauses = policy_clauses(ROOT / "verifiers" / "terminal", {"own": changed}, corpus()[:2])
    found = [finding for finding in examine_all(clauses, foundations=()) if not finding.kept]
    assert found and found[0].clause == f"own: {clause}"
    return found[0].detail


def test_a_policy_that_breaks_a_clause_is_told_which() -> None:
    own = policy("terminal")
    rejects = policy("event_log").check(*lie("notice_doubled"))
    nothing = Policy(check=lambda t, e: Abstained(missing=" "), view=own.view, rule=own.rule)
    assert "does not say what is missing" in broken(nothing, "rejects nothing faithful, and says what is missing")
    strict = Policy(check=lambda t, e: rejects, view=own.view, rule=own.rule)
    assert "told again" in broken(strict, "rejects nothing faithful, and says what is missing")
    loose = Policy(check=own.check, view=lambda e: own.view(e) + b" ", rule=own.rule)
    assert broken(loose, "its view is canonical and a function of the episode")
    whole = Policy(check=own.check, view=bytes, rule=own.rule)
    assert "a level of the slot" in broken(whole, "its view tells nothing of slot or pin")
    two = Policy(check=own.check, view=own.view, rule=lambda t, v: Abstained(missing="the episode"))
    assert "not that on its view" in broken(two, "its verdict is a function of its view")


def test_a_policy_that_looks_past_its_view_is_found() -> None:
    own = policy("terminal")
    line = corpus()[0][1]

    def peeks(trusted: Trusted, episode: bytes) -> Accepted | Abstained:
        return Accepted() if episode in {item for _, item in corpus()} else Abstained(missing="what I knew")

    peeking = Policy(check=peeks, view=own.view, rule=lambda t, v: Accepted())
    assert line in {item for _, item in corpus()}
    assert "the view is the same" in broken(peeking, "what it does not see, it does not judge")


# --- what each of them sees ------------------------------------------------------------------------

SEES = {  # of lies without a declared false reading near: terminal, event_log, milestones, causal, causal_declared
    "effect_not_applied_but_logged_as_declared": ("accepted", "accepted", "accepted", "environment", "environment"),
    "effect_applied_again_later": ("accepted", "environment", "environment", "environment", "environment"),
    "receipts_dropped_with_a_restore": ("accepted", "disclosure", "accepted", "lineage", "lineage"),
    "restore_repeated": ("accepted", "lineage", "lineage", "lineage", "lineage"),
    "residue_after_a_restore": ("accepted", "accepted", "accepted", "lineage", "lineage"),
    "receipts_in_another_order": ("accepted", "accepted", "lineage", "abstained", "accepted"),
    "notice_doubled": ("accepted", "disclosure", "accepted", "abstained", "accepted"),
    "effect_an_act_late": ("accepted", "accepted", "accepted", "abstained", "boundary"),
    "effects_of_one_boundary_in_another_order": ("accepted", "accepted", "accepted", "abstained", "boundary"),
    "effect_of_other_value": ("accepted", "accepted", "accepted", "abstained", "environment"),
    "sender_relabelled": ("accepted", "accepted", "accepted", "abstained", "accepted"),
    "fact_that_is_not_so": ("accepted", "accepted", "accepted", "abstained", "disclosure"),
    "act_chain_broken": ("accepted", "accepted", "accepted", "evidence", "evidence"),
    "filed_under_another_slot": ("evidence",) * 5,
}  # fmt: skip
WEAKER = ("terminal", "event_log", "milestones", "causal", "causal_declared")


@pytest.mark.parametrize("of", SEES)
def test_what_the_weaker_policies_see_of_a_lie(of: str) -> None:
    assert tuple(verdict(name, of) for name in WEAKER) == SEES[of]


def test_no_policy_raises_on_any_lie() -> None:
    for told in LIES.values():
        trusted, line = told.tell()
        for name in WEAKER:
            assert isinstance(policy(name).check(trusted, line), (Accepted, Rejected, Abstained))


def test_each_projection_sees_its_half() -> None:
    for of, actions, transitions in (
        ("effect_applied_again_later", "environment", "accepted"),
        ("residue_after_a_restore", "accepted", "lineage"),
        ("act_chain_broken", "evidence", "accepted"),
        ("start_with_the_residue_of_another_episode", "accepted", "lineage"),
        ("judge_given_an_earlier_state", "accepted", "judgment"),
        ("receipts_in_another_order", "accepted", "lineage"),
        ("sender_relabelled", "accepted", "accepted"),
    ):
        assert (verdict("canonical_action", of), verdict("state_transition", of)) == (actions, transitions), of


# --- the witness without a field -------------------------------------------------------------------

FAKE = "sha256:" + "0" * 64
EDITS = {  # one member of one receipt, or of the closing, that only its own equality knows of
    "contract_digest": ("receipts", 1, "contract", "digest", FAKE),
    "before_root": ("receipts", 1, "roots", "before", FAKE),
    "after_root": ("receipts", 1, "roots", "after", FAKE),
    "projection": ("receipts", 1, "projection", {"projection": "not_reached"}),
    "boundary": ("receipts", 1, "boundary", "due", 9),
    "restore_generation": ("receipts", 1, "restore", {"generation": 3, "snapshot": "dry"}),
    "previous": ("receipts", 1, "previous", FAKE),
    "judge_evidence": ("closing", "judge", FAKE),
}  # fmt: skip


@pytest.mark.parametrize("field", EDITS)
def test_without_a_field_what_only_it_shows_is_missed_and_everything_else_is_caught(field: str) -> None:
    trusted, line = honest("storm")
    for edited in EDITS:
        document = read(line)
        *way, last, value = EDITS[edited]
        node = document
        for key in way:
            node = node[key]
        node[last] = value
        fork = reseal(document, trusted, keep={"previous"} if edited == "previous" else ())
        assert isinstance(witness(trusted, fork), Rejected)
        assert isinstance(policy(f"witness_without_{field}").check(trusted, fork), Accepted) == (edited == field), (
            edited
        )
        assert isinstance(policy("witness_without_act_ledger").check(trusted, fork), (Accepted, Rejected))


def test_a_view_without_a_field_does_not_tell_of_it() -> None:
    trusted, line = honest("storm")
    for edited in EDITS:
        if edited in ("previous", "judge_evidence"):
            continue
        document = read(line)
        *way, last, value = EDITS[edited]
        node = document
        for key in way:
            node = node[key]
        node[last] = value
        view = policy(f"witness_without_{edited}").view
        assert view(reseal(document, trusted)) == view(line)
    assert json.loads(policy("witness_without_previous").view(line))["receipts"][0].keys().isdisjoint({"previous"})


def test_views_are_smaller_than_the_record(tmp_path: Path) -> None:
    line = honest("storm")[1]
    sizes = [len(policy(name).view(line)) for name in ("terminal", "event_log", "milestones", "causal", "witness")]
    assert sizes == sorted(sizes) and sizes[-1] < len(line) + 50
