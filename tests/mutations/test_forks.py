"""Forks: one mutation each, coherent, audited; what is predicted of them; faithful parents that look odd."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.wire.digest import digest_bytes
from sealkit.wire.records import Replace
from sealkit.wire.verdict import Accepted, Rejected
from sealkit.world.sdk import action
from tests.mutations.loading import FAMILIES, SOME, InapplicableError, audit, forks, make_fork, parent, part, policies
from tests.mutations.loading import session as session_of
from tests.reseal import seal_record
from tests.studies import ROOT

NAMES = [f"{family.id}.{variant.name}" for family in FAMILIES.values() for variant in family.variants]


def audited(fork: Any, *, line: bytes | None = None, note: Any = None) -> tuple[str, ...]:
    trusted = fork.parent.trusted.scenario
    found: tuple[str, ...] = audit(
        fork.parent.line, trusted, line or fork.line, fork.trusted.scenario, note or fork.note()
    )
    return found


# --- forks -----------------------------------------------------------------------------------------


def test_every_variant_has_a_fork_and_every_fork_is_isolated() -> None:
    made = Counter(f"{fork.family}.{fork.variant}" for fork in forks())
    assert [name for name in NAMES if not made[name]] == []
    assert {fork.family: audited(fork) for fork in forks() if audited(fork)} == {}


def test_a_fork_is_the_same_each_time_and_leaves_its_parent_alone() -> None:
    for each in SOME[:2]:
        one = parent(*each)
        before = json.dumps(one.document)
        for fork in forks():
            if fork.parent is one:
                again = make_fork(one, fork.family, fork.variant)
                assert (again.line, again.note()) == (fork.line, fork.note())
        assert json.dumps(one.document) == before


def test_a_fork_does_not_tell_what_it_is() -> None:
    for fork in forks():
        assert b"mutation" not in fork.line and f'"{fork.family}"'.encode() not in fork.line
    for fork in forks()[::9]:
        for name, policy in policies().items():
            seen = policy.view(fork.line)
            assert b'"family"' not in seen and f'"{fork.parent.trusted.slot["family"]}"'.encode() not in seen, name


def test_what_stays_and_what_changed_cover_the_record() -> None:
    for fork in forks():
        before = set(fork.parent.leaves)
        assert set(fork.unchanged) == before - set(fork.changed)
        assert fork.changed and fork.unchanged


def test_a_mutation_without_a_place_says_what_is_lacking() -> None:
    calm = parent("underwriting", "static-control", "interrupt_safe")
    for family, lacking in (
        ("M1", "no event that moves the root"),
        ("M4", "no event with a restore"),
        ("M6", "no two"),
    ):
        with pytest.raises(InapplicableError, match=lacking):
            make_fork(calm, family, "truth")


# --- what is predicted -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_what_is_predicted_comes_true_on_a_few_parents(name: str) -> None:
    for fork in forks():
        if f"{fork.family}.{fork.variant}" != name:
            continue
        for policy, expected in fork.label.expected.items():
            verdict = policies()[policy].check(fork.trusted, fork.line)
            where = (policy, fork.parent.trusted.slot, verdict)
            assert expected == "p" or isinstance(verdict, Rejected) == (expected == "Y"), where


def test_the_witness_can_fail_and_causal_can_win() -> None:
    variants = [variant for family in FAMILIES.values() for variant in family.variants]
    missed = [variant for variant in variants if variant.expected["witness"] == "-"]
    assert all(variant.why for variant in missed)
    assert [family.id for family in FAMILIES.values() for variant in family.variants
            if variant.expected["witness"] == "-" and variant.expected["causal"] == "Y"] == ["F5", "F11"]  # fmt: skip
    assert {family.id for family in FAMILIES.values() if family.id[0] == "X"} == {"X1", "X3", "X4"}


SEEN_IN = {  # spec/universe.md, "W should see it in", as the witness spells the place
    "M1": r"receipts\[\d+\]\.roots\.|acts\[\d+\]\.root$",
    "M2": r"receipts\[\d+\]\.projection|acts\[\d+\]\.segments",
    "M3": r"receipts\[\d+\]\.projection\.(authority|sender|channel)|acts\[\d+\]\.segments\[\d+\]\.(rung|sender|channel)",
    "M4": r"acts\[\d+\]\.deltas, contract ",  # behind a restore, and once too many
    "M5": r"receipts$|closing\.counts\.occurrences",  # the head that should have been preserved has no receipt
    "M6": r"receipts\[\d+\]\.previous",
    "M7": r"receipts\[\d+\]\.roots|acts\[\d+\]\.root$",
    "M8": r"contract ",  # due after one act, applied after another
}


def test_the_witness_sees_the_numbered_mutations_where_it_should() -> None:
    placed = Counter[str]()
    for fork in forks():
        if fork.family in SEEN_IN:
            verdict = policies()["witness"].check(fork.trusted, fork.line)
            assert isinstance(verdict, Rejected)
            places = [reason.where for reason in verdict.reasons]
            assert any(re.match(SEEN_IN[fork.family], at) for at in places), (fork.family, fork.variant, places)
            placed[f"{fork.family}.{fork.variant}"] += verdict.origin == fork.label.origin
    assert len(placed) == 16 and all(placed.values())
    inexact = {
        name for name, count in placed.items() if count < sum(f"{f.family}.{f.variant}" == name for f in forks())
    }
    assert inexact == {"M1.repeats", "M8.repeats"}  # a root that strays, and an event behind a restore, look otherwise


# --- the audit -------------------------------------------------------------------------------------

Leak = Callable[[Any], None]
LEAKS: dict[str, Leak] = {
    "a note of the agent": lambda d: d["acts"][1]["memory"].update(idea="x"),
    "a reading": lambda d: next(s for a in d["acts"] for s in a["segments"] if s["kind"] == "fact").update(text="x"),
    "why it ended": lambda d: d["closing"].update(why="because"),
    "the judge": lambda d: d["closing"].update(judge="sha256:" + "0" * 64),
    "a receipt's act": lambda d: d["receipts"][0]["boundary"].update(due=0),
}


def m2() -> Any:
    return make_fork(parent("underwriting", "chain-control", "interrupt_safe"), "M2", "truth")


@pytest.mark.parametrize("leak", LEAKS)
def test_a_second_leaf_that_changed_is_caught(leak: str) -> None:
    """Planted: two leaves changed. The note does not say so; then it does, with all digests made to fit."""
    fork = m2()
    document = json.loads(fork.line)
    LEAKS[leak](document)
    line = seal_record(document)
    assert audited(fork, line=line)
    changed = part("parent").leaves
    old, new = fork.parent.leaves, dict(changed(json.loads(line)))
    note = fork.note()
    note["changed"] = sorted(at for at in old.keys() | new.keys() if old.get(at) != new.get(at))
    note["unchanged"] = {at: digest for at, digest in fork.parent.leaf_digests.items() if at not in note["changed"]}
    assert any("made again it differs" in fault for fault in audited(fork, line=line, note=note))


def test_a_second_edit_that_the_note_admits_is_caught() -> None:
    fork = m2()
    executor = part("executor")
    for path, value in (
        ("/closing/why", "because"),
        (re.sub(r"\d+/text$", "0/text", fork.edits.recorded[0].path), "x"),
    ):
        edits = executor.Edits(recorded=(*fork.edits.recorded, Replace(path=path, value=value)))
        line = executor.carry_out(fork.parent, edits)
        note = {**fork.note(), "edits": {"start": [], "executed": [], "recorded": executor.written(edits.recorded)}}
        old, new = fork.parent.leaves, dict(part("parent").leaves(json.loads(line)))
        note["changed"] = sorted(at for at in old.keys() | new.keys() if old.get(at) != new.get(at))
        note["unchanged"] = {at: digest for at, digest in fork.parent.leaf_digests.items() if at not in note["changed"]}
        assert any("may not" in fault or "at most" in fault for fault in audited(fork, line=line, note=note))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda note: note.update(parent=digest_bytes(b"")), "of another parent"),
        (lambda note: note.update(family="M3"), "M3.truth may not"),
        (lambda note: note.update(variant="lies"), "no such mutation"),
        (lambda note: note["changed"].pop(), "disagree on what changed"),
        (lambda note: note["unchanged"].update({"/closing/why": "sha256:" + "0" * 64}), "/closing/why"),
        (lambda note: note["edits"].update(recorded=[]), "nothing was edited"),
        (lambda note: note["edits"]["recorded"][0].update(path="/acts/99"), "cannot be made again"),
        (lambda note: note.pop("edits"), "lacks what it must have"),
    ],
)
def test_a_note_that_is_off_is_caught(change: Leak, says: str) -> None:
    fork = m2()
    note = json.loads(json.dumps(fork.note()))
    change(note)
    assert any(says in fault for fault in audited(fork, note=note))


def test_what_is_trusted_changes_only_in_the_lie_of_who_owns_the_root() -> None:
    lie = next(fork for fork in forks() if fork.family == "X1")
    assert lie.trusted.scenario != lie.parent.trusted.scenario
    assert audited(lie) == ()
    fork = m2()
    other = json.loads(fork.parent.trusted.scenario)
    other["max_acts"] += 1
    given = part("isolation.plain").spelled(other)
    faults = audit(fork.parent.line, fork.parent.trusted.scenario, fork.line, given, fork.note())
    assert any("may not change what is trusted" in fault for fault in faults)


def test_the_audit_knows_every_mutation_and_no_other() -> None:
    assert list(part("isolation.table").ALLOWED) == NAMES


# --- faithful, and odd -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", part("parents").ODD)
def test_a_faithful_parent_that_looks_odd_is_rejected_by_nobody(name: str) -> None:
    one = parent("underwriting", "retraction-across-restore", "interrupt_safe")
    make = session_of("underwriting", one.trusted)
    odd = part("parents").odd(name, one, make, action("policy.read"), most=one.scenario.max_acts)
    assert odd is not None and odd.line != one.line
    for policy in policies().values():
        assert policy.check(odd.trusted, odd.line) == Accepted()


def test_steps_kept_by_the_executor_are_those_of_an_honest_one() -> None:
    for each in SOME:
        one = parent(*each)
        assert not isinstance(policies()["causal_declared"].check(one.trusted, one.line), Rejected)
        assert all("sealkit/execution/v1" in act["memory"] for act in one.document["acts"])


# --- grounding -------------------------------------------------------------------------------------


def test_every_family_stands_in_the_specification_with_its_rows_and_their_sources() -> None:
    text = (ROOT / "mutations" / "SPEC.md").read_text(encoding="utf-8")
    for family in FAMILIES.values():
        assert f"| {family.id} |" in text, family.id
        for row in family.rows:
            assert re.search(rf"^\| {row} \| https://", text, re.MULTILINE), row
        for variant in family.variants:
            letters = " | ".join(variant.expected[policy] for policy in part("catalogue").POLICIES)
            assert f"| {family.id}.{variant.name} | {variant.origin} | {letters} |" in text


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_second_leaf_changes_the_audit_finds_it(data: st.DataObject) -> None:
    """Any fork, any leaf but the record digest, with a note that tells of it and a record digest that fits."""
    fork = data.draw(st.sampled_from(forks()))
    document = json.loads(fork.line)
    leaves = [at for at, _ in part("parent").leaves(document) if at != "/closing/record"]
    *way, last = data.draw(st.sampled_from(leaves)).split("/")[1:]
    node = document
    for key in way:
        node = node[_key(node, key)]
    last = _key(node, last)
    node[last] = data.draw(st.sampled_from(["x", 7, None, False, {}]).filter(lambda value: value != node[last]))
    line = seal_record(document)
    old, new = fork.parent.leaves, dict(part("parent").leaves(json.loads(line)))
    differ = {at for at in old.keys() | new.keys()
              if at not in old or at not in new or (type(old[at]), old[at]) != (type(new[at]), new[at])}  # fmt: skip
    note = {**fork.note(), "changed": sorted(differ)}
    note["unchanged"] = {at: digest for at, digest in fork.parent.leaf_digests.items() if at not in differ}
    assert audited(fork, line=line, note=note)


def _key(node: Any, token: str) -> Any:
    token = token.replace("~1", "/").replace("~0", "~")
    return int(token) if isinstance(node, list) else token
