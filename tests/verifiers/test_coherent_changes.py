"""One field of a receipt, or one of its trusted sources, changed with every chain and digest made right again.

The receipt's six fields and the sources they are checked against meet in one equality each. Whichever side is
changed, that equality breaks, and the verdict names its origin.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sealkit.wire.episode import Trusted
from sealkit.wire.verdict import Accepted, Origin, Rejected
from tests.lying_world import honest
from tests.reseal import Document, contract_digest, digest, read, reseal, root, spell
from tests.verifiers.loading import witness

FAKE = "sha256:" + "0" * 64


def named(parts: list[Document], id: str) -> Any:
    """The receipt, contract, snapshot or restore with this id."""
    return next(part for part in parts if part.get("contract", part).get("id", part.get("id")) == id)


def rejected(trusted: Trusted, line: bytes, origin: Origin, where: str = "") -> None:
    verdict = witness(trusted, line)
    assert isinstance(verdict, Rejected)
    assert verdict.origin == origin, "\n".join(map(str, verdict.reasons))
    assert any(where in reason.where for reason in verdict.reasons if reason.origin == origin), verdict.reasons


# --- the receipt's side ----------------------------------------------------------------------------

RECEIPT: dict[str, tuple[Origin, str, Callable[[Any], None]]] = {
    "episode": ("evidence", "rain", lambda r: r.update(episode=FAKE)),
    "contract.id, undeclared": ("evidence", "rain", lambda r: r["contract"].update(id="hail")),
    "contract.id, another's": ("evidence", "rain", lambda r: r["contract"].update(id="dusk")),
    "contract.digest": ("evidence", "rain", lambda r: r["contract"].update(digest=FAKE)),
    "contract.occurrence": ("lineage", "rain", lambda r: r["contract"].update(occurrence=2)),
    "boundary.due": ("boundary", "rain", lambda r: r["boundary"].update(due=1)),
    "boundary.applied": ("boundary", "rain", lambda r: r["boundary"].update(applied=3)),
    "boundary.head": ("boundary", "rain", lambda r: r["boundary"].update(head=FAKE)),
    "roots.before": ("environment", "rain", lambda r: r["roots"].update(before=FAKE)),
    "roots.after": ("environment", "rain", lambda r: r["roots"].update(after=r["roots"]["before"])),
    "roots.moved, more": ("environment", "rain", lambda r: r["roots"].update(moved=["shed", "sky"])),
    "roots.moved, none": ("environment", "rain", lambda r: r["roots"].update(moved=[])),
    "projection.act": ("disclosure", "rain", lambda r: r["projection"].update(act=3)),
    "projection.digest": ("disclosure", "rain", lambda r: r["projection"].update(digest=FAKE)),
    "projection.channel": ("authority", "rain", lambda r: r["projection"].update(channel="letter")),
    "projection.sender": ("authority", "rain", lambda r: r["projection"].update(sender="owner")),
    "projection.authority": ("authority", "rain", lambda r: r["projection"].update(authority="A5")),
    "projection, not reached": ("disclosure", "rain", lambda r: r.update(projection={"projection": "not_reached"})),
    "projection, never": ("disclosure", "rain", lambda r: r.update(projection={"projection": "never"})),
    "projection, never for not reached": (
        "disclosure", "leak", lambda r: r.update(projection={"projection": "never"})),
    "projection, not reached for never": (
        "disclosure", "seedling", lambda r: r.update(projection={"projection": "not_reached"})),
    "restore.generation": ("lineage", "dusk", lambda r: r["restore"].update(generation=1)),
    "restore.snapshot": ("lineage", "dusk", lambda r: r["restore"].update(snapshot="dry")),
    "restore.snapshot, none": ("lineage", "dusk", lambda r: r["restore"].update(snapshot=None)),
    "previous": ("lineage", "rain", lambda r: r.update(previous=FAKE)),
    "previous, none": ("lineage", "rain", lambda r: r.update(previous=None)),
    "restore's episode": ("evidence", "back", lambda r: r.update(episode=FAKE)),
    "restore's id": ("lineage", "back", lambda r: r.update(id="again")),
    "restore's boundary.due": ("boundary", "back", lambda r: r["boundary"].update(due=7)),
    "restore's boundary.applied": ("boundary", "back", lambda r: r["boundary"].update(applied=9)),
    "restore's boundary.head": ("boundary", "back", lambda r: r["boundary"].update(head=FAKE)),
    "restore's roots.before": ("lineage", "back", lambda r: r["roots"].update(before=FAKE)),
    "restore's roots.after": ("lineage", "back", lambda r: r["roots"].update(after=FAKE)),
    "restore's roots.moved": ("lineage", "back", lambda r: r["roots"].update(moved=["sky"])),
    "restore's generation": ("lineage", "back", lambda r: r["restore"].update(generation=2)),
    "restore's snapshot": ("lineage", "back", lambda r: r["restore"].update(snapshot="shut")),
    "restore's previous": ("lineage", "back", lambda r: r.update(previous=FAKE)),
}  # fmt: skip


@pytest.mark.parametrize("field", RECEIPT)
def test_a_receipts_field_changed_coherently_is_named(field: str) -> None:
    origin, id, change = RECEIPT[field]
    trusted, line = honest("storm")
    document = read(line)
    change(named(document["receipts"], id))
    keep = {"episode"} if "episode" in field else {"previous"} if "previous" in field else set()
    rejected(trusted, reseal(document, trusted, keep=keep), origin, "receipts")


# --- the trusted side ------------------------------------------------------------------------------


def forged(change: Callable[[Document], None]) -> tuple[Trusted, bytes]:
    """The honest episode against another scenario, which it quotes in every place that quotes one."""
    trusted, line = honest("storm")
    scenario = json.loads(trusted.scenario)
    change(scenario)
    other = Trusted(pin=trusted.pin, judge=trusted.judge, slot=trusted.slot, scenario=spell(scenario))
    document = read(line)
    for receipt in document["receipts"]:
        if "contract" in receipt:
            receipt["contract"]["digest"] = contract_digest(other, receipt["contract"]["id"])
    return other, reseal(document, other)


def of(id: str, change: Callable[[Any], None]) -> Callable[[Document], None]:
    """A change of one contract."""
    return lambda scenario: change(named(scenario["contracts"], id))


SOURCES: dict[str, tuple[Origin, Callable[[Document], None]]] = {
    "when.act": ("boundary", of("rain", lambda c: c["when"].update(act=3))),
    "when.act, never reached": ("boundary", of("rain", lambda c: c["when"].update(act=40))),
    "when.rule": ("boundary", of("leak", lambda c: c["when"].update(rule="level < 3"))),
    "when.rule, sooner": ("boundary", of("leak", lambda c: c["when"].update(rule="name == 'look'"))),
    "when.acts": ("boundary", of("lock", lambda c: c["when"].update(acts=2))),
    "when.contract": ("boundary", of("lock", lambda c: c["when"].update(contract="rain"))),
    "when.rule over a count": ("boundary", of("rumour", lambda c: c["when"].update(rule="looks >= 1"))),
    "sees, another pointer": (
        "environment", of("leak", lambda c: c["sees"]["level"].update(pointer="/bench/fern/wet"))),
    "sees, another value counted": ("boundary", of("rumour", lambda c: c["sees"]["looks"].update(equals="locked"))),
    "then.value": ("environment", of("rain", lambda c: c["then"][0].update(value="snow"))),
    "then.value, another type": ("environment", of("seedling", lambda c: c["then"][0]["value"].update(wet=True))),
    "then.path": ("environment", of("rain", lambda c: c["then"][0].update(path="/tank/valve"))),
    "then, one more": (
        "environment", of("rain", lambda c: c["then"].append({"op": "replace", "path": "/tank/level", "value": 0}))),
    "then, one less": ("environment", of("lock", lambda c: c["then"].pop())),
    "then.cel": ("environment", of("leak", lambda c: c["then"][0]["value"].update(cel="level - 2"))),
    "then, of a notice only": (
        "environment", of("visit", lambda c: c["then"].append({"op": "replace", "path": "/sky/now", "value": "x"}))),
    "tell.template": ("disclosure", of("rain", lambda c: c["tell"].update(template="Rain, {level} left."))),
    "tell.due": ("disclosure", of("rain", lambda c: c["tell"].update(due={"due": "never"}))),
    "tell.due.acts": ("disclosure", of("lock", lambda c: c["tell"]["due"].update(acts=3))),
    "tell.due, inbox": ("disclosure", of("visit", lambda c: c["tell"].update(due={"due": "inbox"}))),
    "tell.due.rule": ("disclosure", of("rumour", lambda c: c["tell"]["due"].update(rule="reading == 'clear'"))),
    "tell.due.pointer": ("disclosure", of("rumour", lambda c: c["tell"]["due"].update(pointer="/shed/door"))),
    "tell.distort.reading": ("disclosure", of("haze", lambda c: c["tell"]["distort"].update(reading="hail"))),
    "tell.distort, none": ("disclosure", of("haze", lambda c: c["tell"].update(distort=None))),
    "tell.channel": ("authority", of("rain", lambda c: c["tell"].update(channel="letter"))),
    "tell.sender": ("authority", of("rain", lambda c: c["tell"].update(sender="owner"))),
    "authority.rung": ("authority", of("rain", lambda c: c["authority"].update(rung="A5"))),
    "authority.rung, of a reading": ("authority", of("haze", lambda c: c["authority"].update(rung="A5"))),
    "order of the manifest": ("boundary", lambda s: s["contracts"].insert(0, s["contracts"].pop(5))),
    "genesis": ("lineage", lambda s: s["genesis"]["bench"]["rose"].update(wet=1)),
    "footprints": ("environment", lambda s: s["footprints"].update(water=["/bench/*/wet"])),
    "footprints, none": ("environment", lambda s: s["footprints"].pop("fill")),
    "finals": ("evidence", lambda s: s.update(finals=["stop"])),
    "finals, sooner": ("evidence", lambda s: s["finals"].append("wait")),
    "max_acts": ("evidence", lambda s: s.update(max_acts=5)),
    "snapshots.when": ("lineage", lambda s: s["snapshots"][0]["when"].update(act=3)),
    "snapshots.when, after": ("lineage", lambda s: s["snapshots"][1]["when"].update(acts=4)),
    "restores.when": ("boundary", lambda s: s["restores"][0]["when"].update(act=9)),
    "restores.snapshot": ("lineage", lambda s: s["restores"][0].update(snapshot="shut")),
    "restores, one more": (
        "lineage",
        lambda s: s["restores"].append({"id": "new", "snapshot": "dry", "when": {"when": "after_act", "act": 12}})),
    "restores, one less": ("lineage", lambda s: s["restores"].pop()),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_a_trusted_source_changed_coherently_is_named(source: str) -> None:
    origin, change = SOURCES[source]
    rejected(*forged(change), origin)


def test_what_no_equality_reads_is_a_lie_of_the_root_owner() -> None:
    """Source, scope and binding stand in the contract's digest and nowhere else; so does the briefing."""
    for change in (
        of("rain", lambda c: c["authority"].update(binding=False)),
        of("rain", lambda c: c["authority"].update(scope="the sea")),
        of("rain", lambda c: c["authority"].update(source="the sea")),
        lambda s: s.update(briefing="Drown the plants."),
    ):
        assert witness(*forged(change)) == Accepted()


@pytest.mark.parametrize("source", SOURCES)
def test_a_scenario_that_the_episode_does_not_quote_is_evidence(source: str) -> None:
    trusted, line = honest("storm")
    scenario = json.loads(trusted.scenario)
    SOURCES[source][1](scenario)
    other = Trusted(pin=trusted.pin, judge=trusted.judge, slot=trusted.slot, scenario=spell(scenario))
    rejected(other, line, "evidence", "scenario")


def test_a_contract_that_its_receipt_does_not_quote_is_evidence() -> None:
    trusted, line = honest("storm")
    scenario = json.loads(trusted.scenario)
    named(scenario["contracts"], "rain")["authority"]["scope"] = "the sea"
    other = Trusted(pin=trusted.pin, judge=trusted.judge, slot=trusted.slot, scenario=spell(scenario))
    rejected(other, reseal(read(line), other), "evidence", "contract.digest")


def test_pin_slot_and_judge_are_the_trusted_ones() -> None:
    trusted, line = honest("storm")
    document = read(line)
    document["pin"] = FAKE
    rejected(trusted, reseal(document, trusted), "evidence", "pin")
    document = read(line)
    document["slot"]["seed"] = 7
    rejected(trusted, reseal(document, trusted), "evidence", "slot")
    document = read(line)
    document["closing"]["judge"] = FAKE
    rejected(trusted, reseal(document, trusted), "judgment", "closing.judge")


def test_a_root_recomputed_by_other_code_is_the_root_recorded() -> None:
    """The independent digests of `tests.reseal` and those of `sealkit.wire` agree from the state upward."""
    trusted, line = honest("calm")
    document = read(line)
    assert document["genesis"] == root(json.loads(trusted.scenario)["genesis"])
    assert document["receipts"] == []
    assert document["acts"][1]["prev"] == digest(document["acts"][0])


# --- the rest of the trace -------------------------------------------------------------------------

TRACE: dict[str, tuple[Origin, Callable[[Document], object]]] = {
    "an act's root": ("environment", lambda d: d["acts"][1].update(root=FAKE)),
    "an act's root at a restore": ("lineage", lambda d: d["acts"][8].update(root=FAKE)),
    "an act's delta that does not fit": (
        "environment", lambda d: d["acts"][3]["delta"][0].update(path="/bench/ivy/wet")),
    "a restore's delta that does not fit": (
        "lineage", lambda d: d["acts"][8]["deltas"][0]["ops"][0].update(path="/bench/ivy/wet")),
    "a component dropped": (
        "environment", lambda d: d["acts"][3]["delta"].append({"op": "remove", "path": "/sky"})),
    "a delta spelled another way": (
        "environment", lambda d: d["acts"][3]["delta"].append(d["acts"][3]["delta"][0])),
    "a state that a contract cannot be read against": (
        "environment", lambda d: d["acts"][3]["delta"][1].update(value={"litres": 3})),
    "an unknown cause": ("environment", lambda d: d["acts"][2]["deltas"][0].update(cause="rain")),
    "an unknown restore": ("lineage", lambda d: d["acts"][8]["deltas"][0].update(cause="restore:undo")),
    "a call that is no digest": ("evidence", lambda d: d["acts"][2]["calls"].append("my notes")),
    "act 0 with another name": ("evidence", lambda d: d["acts"][0]["action"].update(name="wait")),
    "act 0 with arguments": ("evidence", lambda d: d["acts"][0]["action"]["args"].update(at="sky")),
    "no acts": ("evidence", lambda d: d["acts"].__delitem__(slice(1, None))),
    "a fact of a list": ("disclosure", lambda d: d["acts"][12]["segments"][0].update(pointer="/shed/tools")),
    "words after the notices": (
        "disclosure", lambda d: d["acts"][2]["segments"].append({"kind": "text", "text": "Bye."})),
    "counts.acts": ("evidence", lambda d: d["closing"]["counts"].update(acts=12)),
    "counts.occurrences": ("evidence", lambda d: d["closing"]["counts"].update(occurrences=9)),
    "counts.restores": ("evidence", lambda d: d["closing"]["counts"].update(restores=1)),
    "counts.notices": ("disclosure", lambda d: d["closing"]["counts"].update(notices=9)),
    "closing.root": ("judgment", lambda d: d["closing"].update(root=FAKE)),
    "closing.ended": ("evidence", lambda d: d["closing"].update(ended="stopped")),
    "genesis": ("lineage", lambda d: d.update(genesis=FAKE)),
    "a restore's receipt cut out": ("lineage", lambda d: _cut(d, "back")),
    "a restore's receipt doubled": ("lineage", lambda d: _double(d, "again")),
    "a receipt doubled": ("environment", lambda d: _double(d, "dusk")),
    "a receipt doubled across a restore": ("lineage", lambda d: _double(d, "rain")),
    "a receipt for what comes after the end": ("boundary", lambda d: _move(d, "dusk", 20)),
}  # fmt: skip


def _count(document: Document) -> None:
    restores = sum("id" in receipt for receipt in document["receipts"])
    document["closing"]["counts"].update(restores=restores, occurrences=len(document["receipts"]) - restores)


def _cut(document: Document, id: str) -> None:
    document["receipts"].remove(named(document["receipts"], id))
    _count(document)


def _double(document: Document, id: str) -> None:
    document["receipts"].append(json.loads(json.dumps(named(document["receipts"], id))))
    _count(document)


def _move(document: Document, id: str, act: int) -> None:
    _double(document, id)
    document["receipts"][-1]["boundary"]["applied"] = act


@pytest.mark.parametrize("place", TRACE)
def test_a_place_in_the_trace_changed_coherently_is_named(place: str) -> None:
    origin, change = TRACE[place]
    trusted, line = honest("storm")
    document = read(line)
    change(document)
    rejected(trusted, reseal(document, trusted), origin)
