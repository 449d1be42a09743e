"""The desk: what each edition declares, what each tool shows, and what a seed leaves alone."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from sealkit.run.play import play_scripted
from sealkit.wire.canon import decode_record, encode_record
from sealkit.wire.declared import AfterAct
from sealkit.wire.episode import Episode, Receipt, RestoreReceipt
from sealkit.wire.records import Json
from sealkit.wire.verdict import Accepted
from sealkit.world.draws import Draws
from sealkit.world.loader import make_scenario
from sealkit.world.sdk import State, action
from tests.underwriting.conftest import CALCULATE, CASE, INBOX, PANEL, POLICIES, POLICY, ROOT, notices, shown, submit
from tests.verifiers.loading import witness

if TYPE_CHECKING:
    from .conftest import Office

# family: (contracts, right before, right after, components moved), from the table of `spec/universe.md`.
EDITIONS = {
    "static-control": ([], "APPROVE", "APPROVE", []),
    "document-addition": (["reserve_document_added"], "CONDITIONAL", "APPROVE", ["case"]),
    "policy-revision": (["policy_superseded"], "APPROVE", "DENY", ["policy"]),
    "retraction-across-restore": (["income_retracted"], "APPROVE", "ESCALATE", ["case"]),
    "authority-conflict": (["deal_team_chat"], "APPROVE", "APPROVE", []),
    "chain-control": (["document_indexed", "policy_reissued"], "APPROVE", "APPROVE", ["case", "policy"]),
}
QUIET = [CASE, POLICY, CALCULATE, CALCULATE, INBOX]  # past every event, and all that it tells


def end(office: Office, family: str, seed: int) -> State:
    """The files after everything that is declared."""
    scenario = office.scenario(family, seed)
    session = office.world.session(scenario)
    office.walk(family, QUIET, seed=seed, session=session)
    return session.material()


@pytest.mark.parametrize("family", EDITIONS)
def test_each_edition_changes_what_it_declares_and_the_right_answer(office: Office, family: str) -> None:
    contracts, before, after, moved = EDITIONS[family]
    oracle = office.part("files").oracle
    for seed in range(40):
        scenario, files = office.scenario(family, seed), end(office, family, seed)
        assert [item.id for item in scenario.contracts] == contracts
        assert all(item.when == AfterAct(act=2) for item in scenario.contracts)
        assert (oracle(scenario.genesis), oracle(files)) == (before, after)
        assert [name for name in files if files[name] != scenario.genesis[name]] == moved
        assert all(cast(dict[str, str], files[name])["current"] == "v2" for name in moved)


def test_the_families_are_the_five_editions_and_the_control(office: Office) -> None:
    assert office.world.families == (*PANEL, "chain-control") == tuple(EDITIONS)
    assert tuple(office.world.agents) == POLICIES
    assert not any(agent.reads_truth for agent in office.world.agents.values())


def test_the_reference_figures(office: Office) -> None:
    figures, ratio = office.part("files").figures_of, office.part("files").ratio_ppm(3300, 9000)
    assert f"{ratio / 1_000_000:.6f}" == "0.366667"
    first, last = office.scenario("document-addition").genesis, end(office, "document-addition", 0)
    assert (figures(first, "case")["monthly_debt"], figures(first, "case")["monthly_income"]) == (3300, 9000)
    assert (figures(first, "case")["reserves_months"], figures(last, "case")["reserves_months"]) == (1, 4)
    first, last = office.scenario("policy-revision").genesis, end(office, "policy-revision", 0)
    assert figures(first, "policy") == {"maximum_ppm": 400_000, "minimum_reserves_months": 3}
    assert figures(last, "policy") == {"maximum_ppm": 350_000, "minimum_reserves_months": 3}
    last = end(office, "retraction-across-restore", 0)
    assert figures(last, "case")["income_status"] == "retracted"


def test_the_example_in_words_is_the_reference_case(office: Office) -> None:
    spec = (office.world.folder / "SPEC.md").read_text(encoding="utf-8")
    genesis = office.scenario("static-control").genesis
    for name in ("case", "policy"):
        row = next(line for line in spec.splitlines() if line.startswith(f"| `{name}` |"))
        assert json.loads(row.split("`")[3]) == genesis[name]


def test_a_seed_changes_figures_and_nothing_else(office: Office) -> None:
    for family in EDITIONS:
        scenarios = [office.scenario(family, seed) for seed in range(30)]
        assert len({encode_record(item) for item in scenarios}) == 30
        assert len({encode_record(scenario_without_figures(item.contracts)) for item in scenarios}) == 1
        assert len({(item.snapshots, item.restores, item.max_acts, item.finals) for item in scenarios}) == 1
        for item in scenarios:
            case = office.part("files").figures_of(item.genesis, "case")
            ratio = Fraction(int(case["monthly_debt"]), int(case["monthly_income"]))
            assert Fraction(36, 100) < ratio <= Fraction(395, 1000), "0.36 is the revised maximum of Study B"


def scenario_without_figures(contracts: object) -> dict[str, Json]:
    """When, what path, and what is told of every contract, without the figures that a version holds."""
    document = cast(list[dict[str, Json]], json.loads(encode_record({"all": contracts}))["all"])
    for item in document:
        item["then"] = [cast(dict[str, Json], op)["path"] for op in cast(list[Json], item["then"])]
    return {"all": cast(Json, document)}


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("family", EDITIONS)
def test_witness_accepts_an_agent_that_does_anything(office: Office, family: str, seed: int) -> None:
    draws = Draws("anything", family, seed)
    for _ in range(10):
        tools = [CASE, POLICY, INBOX, CALCULATE, action("case.read", x=1), action("nothing"), submit()]
        actions = [draws.choice(tools[:-1]) for _ in range(draws.below(11))] + tools[-1:]
        assert witness(*office.walk(family, actions, seed=seed)) == Accepted()


# --- tools -----------------------------------------------------------------------------------------


def test_a_read_shows_what_stood_before_the_event_of_its_own_act(office: Office) -> None:
    """Facts are filled in after the events of an act: a version that never changes keeps the read true."""
    for first, second, family in ((CASE, POLICY, "policy-revision"), (POLICY, CASE, "document-addition")):
        trusted, line = office.walk(family, [first, second, second])
        episode = decode_record(line, Episode)
        _, _, before, after = episode.acts
        assert before.deltas and not after.deltas
        assert "@v1. Root: " + episode.genesis in shown(before)
        assert "@v2. Root: " + episode.closing.root in shown(after)
        assert witness(trusted, line) == Accepted()


def test_the_inbox_is_outside_the_root(office: Office) -> None:
    scenario = office.scenario("authority-conflict")
    assert set(scenario.genesis) == {"case", "policy"}
    episode = decode_record(office.walk("authority-conflict", [CASE, POLICY, CASE, INBOX, INBOX, CASE])[1], Episode)
    assert len({act.root for act in episode.acts}) == 1
    assert [len(notices(act)) for act in episode.acts] == [0, 0, 0, 0, 1, 0, 0]
    unread = ["Unread in your inbox: 1." in shown(act) for act in episode.acts]
    assert unread == [False, False, False, True, False, False, False]
    assert shown(episode.acts[5]) == "You open the inbox. Nothing is new.\n"


def test_two_messages_are_counted_and_told_in_their_order(office: Office) -> None:
    episode = decode_record(office.walk("chain-control", [CASE, POLICY, CASE, INBOX])[1], Episode)
    assert shown(episode.acts[3]).endswith("Unread in your inbox: 2.\n")
    assert [notice.contract for notice in notices(episode.acts[4])] == ["document_indexed", "policy_reissued"]


def test_no_tool_changes_anything(office: Office) -> None:
    scenario = office.scenario("static-control")
    assert scenario.footprints == {name: () for name in scenario.footprints}
    assert set(scenario.footprints) == {
        "case.read", "policy.read", "inbox.read", "underwriting.calculate", "recommendation.submit",
    }  # fmt: skip


@pytest.mark.parametrize(
    "odd",
    [
        action("case.read", version="v1"),
        action("underwriting.calculate", monthly_debt=3300),
        action("underwriting.calculate", monthly_debt=3300, monthly_income=0),
        action("underwriting.calculate", monthly_debt=True, monthly_income=9000),
        action("underwriting.calculate", monthly_debt="3300", monthly_income=9000),
        action("recommendation.submit"),
    ],
)
def test_arguments_that_do_not_fit_do_nothing(office: Office, odd: object) -> None:
    told = office.world.session(office.scenario("static-control")).act(odd)  # type: ignore[arg-type]
    (words,) = told
    assert words.text.startswith("The arguments do not fit the schema of ")  # type: ignore[union-attr]


def test_the_schemas_are_published_and_valid(office: Office) -> None:
    files = sorted((ROOT / "worlds" / "underwriting" / "tools").iterdir())
    assert [file.name.removesuffix(".json") for file in files] == list(office.world.module.TOOLS.schemas)
    for file in files:
        schema = json.loads(file.read_text(encoding="utf-8"))
        Draft202012Validator.check_schema(schema)
        assert schema["title"] and schema["description"]
        assert schema["additionalProperties"] is False and schema["required"] == list(schema["properties"])


PARTS = st.integers(-3, 10**9 + 3)


@given(debt=PARTS, income=PARTS)
def test_a_ratio_is_the_nearest_whole_part_per_million(office: Office, debt: int, income: int) -> None:
    (words, *_) = office.world.session(office.scenario("static-control")).act(
        action("underwriting.calculate", monthly_debt=debt, monthly_income=income)
    )
    fits = 0 <= debt <= 10**9 and 1 <= income <= 10**9
    assert words.text.startswith("Debt to income: ") is fits  # type: ignore[union-attr]
    if fits:
        found = Fraction(int(words.text.split()[3]))  # type: ignore[union-attr]
        assert -Fraction(1, 2) < found - Fraction(debt * 10**6, income) <= Fraction(1, 2)


@given(
    debt=st.integers(0, 10**6), income=st.integers(1, 10**6), maximum=st.integers(0, 10**6),
    reserves=st.integers(0, 9), minimum=st.integers(0, 9), status=st.sampled_from(["verified", "unverified", "retracted"]),
)  # fmt: skip
def test_the_oracle_asks_in_the_order_of_the_rules(
    office: Office, debt: int, income: int, maximum: int, reserves: int, minimum: int, status: str
) -> None:
    case = {"monthly_debt": debt, "monthly_income": income, "reserves_months": reserves, "income_status": status}
    policy = {"maximum_ppm": maximum, "minimum_reserves_months": minimum}
    rules = (
        ("ESCALATE", status != "verified"),
        ("DENY", Fraction(debt, income) > Fraction(maximum, 10**6)),
        ("CONDITIONAL", reserves < minimum),
        ("APPROVE", True),
    )
    assert office.part("files").recommend(case, policy) == next(answer for answer, applies in rules if applies)


# --- the restore -----------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
def test_a_restore_keeps_history(office: Office, policy: str) -> None:
    episode = decode_record(office.play(policy, "retraction-across-restore")[1], Episode)
    occurrence, restore = episode.receipts
    assert isinstance(occurrence, Receipt) and isinstance(restore, RestoreReceipt)
    assert (occurrence.restore.generation, restore.restore.generation) == (0, 1)
    assert (occurrence.boundary.applied, restore.boundary.applied) == (2, 3)
    assert restore.roots.before == restore.roots.after == occurrence.roots.after == episode.closing.root
    assert [len(notices(act)) for act in episode.acts[:5]] == [0, 0, 0, 0, 1], "the message outlives the restore"
    assert [act.n for act in episode.acts] == list(range(len(episode.acts)))


def test_the_inbox_outlives_a_restore_and_the_files_come_back(office: Office) -> None:
    scenario = office.scenario("authority-conflict")
    session = office.world.session(scenario)
    kept = session.snapshot()
    revised = office.scenario("policy-revision").contracts[0]
    session.occur(revised, revised.then)
    assert session.material() != scenario.genesis
    session.restore(kept)
    assert session.material() == scenario.genesis
    assert session.act(CASE)[-1].text == "Unread in your inbox: 1.\n"  # type: ignore[union-attr]


# --- turns ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [1, 4, 7])
def test_the_policies_stop_where_their_turns_end(office: Office, budget: int) -> None:
    scenario = make_scenario(office.world, "policy-revision", 0, {"turn_budget": budget})
    episode = decode_record(play_scripted(office.world, "interrupt_safe", office.trusted(scenario)), Episode)
    assert episode.closing.counts.acts == budget
    assert episode.closing.ended == ("final" if budget == 7 else "budget")
