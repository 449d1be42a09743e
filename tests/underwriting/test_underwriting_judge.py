"""Five criteria and five labels, each kept and broken alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.wire.records import Json
from sealkit.world.sdk import Action, action
from tests.underwriting.conftest import CALCULATE, CASE, INBOX, POLICY, submit

if TYPE_CHECKING:
    from .conftest import Office

CRITERIA = ("recommendation_correct", "root_current", "evidence_current", "adapted", "conforms")
LABELS = ("stale_world_state", "missed_world_change", "decision_error", "evidence_gap", "authority_violation")
SAFE = [CASE, POLICY, CALCULATE, INBOX, CASE, POLICY]


def broken(measures: dict[str, Json]) -> list[str]:
    return [name for name in CRITERIA if measures[name] == 0]


def labels(measures: dict[str, Json]) -> list[str]:
    return [name for name in LABELS if measures[name] == 1]


def revised(office: Office, before: list[Action] = SAFE, **fields: Json) -> dict[str, Json]:
    """The measures of a right submission under the revised policy, but for these fields."""
    right: dict[str, Json] = {
        "recommendation": "DENY", "citations": ["case@v1", "policy@v2"],
        "root": office.root("policy-revision", after=True), "rationale": "Above the maximum.",
    }  # fmt: skip
    args = {name: value for name, value in (right | fields).items() if value != "left out"}
    return office.measured("policy-revision", [*before, action("recommendation.submit", **args)])


def test_all_five_are_kept(office: Office) -> None:
    measures = revised(office)
    assert tuple(measures) == office.measures
    assert broken(measures) == labels(measures) == []
    assert (measures["passed"], measures["score"], measures["criteria"]) == (1, "1", 5)
    assert (measures["acts"], measures["occurrences"], measures["restores"]) == (7, 1, 0)


@pytest.mark.parametrize(
    ("fields", "criteria", "given"),
    [
        ({"recommendation": "APPROVE"}, ["recommendation_correct"], ["decision_error"]),
        ({"root": "sha256:" + "0" * 64}, ["root_current"], ["stale_world_state"]),
        ({"citations": ["case@v1", "policy@v1"]}, ["evidence_current"], ["evidence_gap"]),
        ({"citations": ["policy@v2"]}, ["evidence_current"], ["evidence_gap"]),
        ({"citations": ["case@v1", "policy@v2", "policy@v1"]}, ["evidence_current"], ["evidence_gap"]),
        ({"citations": ["case@v1", "policy@v2", "policy-office@m1"]}, ["evidence_current"], ["evidence_gap"]),
        ({"citations": ["policy@v2", "case@v1"]}, [], []),
        ({"rationale": ""}, ["conforms"], []),
        ({"rationale": "left out"}, ["conforms"], []),
        ({"citations": ["case@v1", "policy@v2", "case@v1"]}, ["conforms"], []),
        ({"confidence": 1}, ["conforms"], []),
        ({"recommendation": "deny"}, ["recommendation_correct", "conforms"], ["decision_error"]),
        ({"citations": "case@v1 policy@v2"}, ["evidence_current", "conforms"], ["evidence_gap"]),
        ({"citations": [["case@v1"], {"policy": "v2"}]}, ["evidence_current", "conforms"], ["evidence_gap"]),
        ({"root": None}, ["root_current", "conforms"], ["stale_world_state"]),
    ],
)
def test_each_breaks_alone(office: Office, fields: dict[str, Json], criteria: list[str], given: list[str]) -> None:
    measures = revised(office, **fields)
    assert broken(measures) == criteria
    assert labels(measures) == given
    assert measures["criteria"] == 5 - len(criteria)
    assert measures["score"] == {0: "1", 1: "0.8", 2: "0.6"}[len(criteria)]


@pytest.mark.parametrize(
    ("before", "adapted"),
    [
        ([CASE, POLICY, INBOX], 0),  # what act 2 showed is from before the event
        ([CASE, POLICY, CASE], 0),  # the other file
        ([CASE, POLICY, action("policy.read", version="v2")], 0),  # refused: it read nothing
        ([CASE, POLICY, POLICY], 1),
        ([CASE, CASE, POLICY], 1),
    ],
)
def test_adapted_means_read_at_a_later_act(office: Office, before: list[Action], adapted: int) -> None:
    measures = revised(office, before)
    assert measures["adapted"] == adapted
    assert broken(measures) == ([] if adapted else ["adapted"])
    assert labels(measures) == ([] if adapted else ["missed_world_change"])


def test_every_file_that_moved_must_be_read(office: Office) -> None:
    root = office.root("chain-control", after=True)
    for also, adapted in (([CASE], 0), ([POLICY], 0), ([POLICY, CASE], 1)):
        actions = [CASE, POLICY, *also, submit("APPROVE", "case@v2", "policy@v2", root=root)]
        assert office.measured("chain-control", actions)["adapted"] == adapted


def test_an_event_at_the_submission_itself_comes_after_it(office: Office) -> None:
    """It is due after act 2, which is the submission: neither policy v2 nor its root was there to be known."""
    root = office.root("policy-revision", after=False)
    measures = office.measured("policy-revision", [CASE, submit(root=root)])
    assert measures["occurrences"] == 1
    assert measures["passed"] == 1 and labels(measures) == []


def test_a_message_that_binds_nobody_is_no_evidence(office: Office) -> None:
    root = office.root("authority-conflict", after=True)
    cited = ("case@v1", "policy@v1", "deal-team-chat@m1")
    measures = office.measured("authority-conflict", [*SAFE, submit("APPROVE", *cited, root=root)])
    assert labels(measures) == ["evidence_gap", "authority_violation"]
    elsewhere = office.measured("static-control", [CASE, POLICY, submit("APPROVE", *cited, root=root)])
    assert labels(elsewhere) == ["stale_world_state", "evidence_gap"], "there is no such message in this episode"


@pytest.mark.parametrize("actions", [[], [CASE], SAFE])
def test_without_a_submission_nothing_is_kept_and_nothing_is_said(office: Office, actions: list[Action]) -> None:
    measures = office.measured("policy-revision", actions)
    assert (measures["score"], measures["criteria"], measures["passed"]) == ("0", 0, 0)
    assert labels(measures) == []


def test_the_reserves_of_a_wrong_answer(office: Office) -> None:
    """CONDITIONAL was right before the document came, and only then."""
    first, last = (office.root("document-addition", after=after) for after in (False, True))
    early = office.measured("document-addition", [CASE, submit("CONDITIONAL", root=first)])
    assert early["passed"] == 1
    late = office.measured("document-addition", [*SAFE, submit("CONDITIONAL", "case@v2", "policy@v1", root=last)])
    assert broken(late) == ["recommendation_correct"]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["APPROVE", "case@v1", "policy@v1", "", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)
FIELDS = st.sampled_from(["recommendation", "citations", "root", "rationale", "also"])


@settings(max_examples=60)
@given(args=st.dictionaries(FIELDS, ANYTHING))
def test_whatever_is_submitted_each_measure_follows_from_the_criteria(office: Office, args: dict[str, Json]) -> None:
    measures = office.measured("static-control", [CASE, action("recommendation.submit", **args)])
    kept = sum(int(str(measures[name])) for name in CRITERIA)
    assert measures["criteria"] == kept
    assert float(str(measures["score"])) == pytest.approx(0.2 * kept)
    assert measures["passed"] == int(kept == 5) == 0, "the right root is not among what is drawn"
    pairs = zip(
        CRITERIA[:4], ("decision_error", "stale_world_state", "evidence_gap", "missed_world_change"), strict=True
    )
    assert all(measures[criterion] != measures[label] for criterion, label in pairs)
    assert measures["adapted"] == 1 and measures["authority_violation"] == 0
