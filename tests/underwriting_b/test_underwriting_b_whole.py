"""Study B whole, as `python -m tests.loopback.study_b` runs it: 252 slots over HTTP, ten faults, an edition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sealkit.plan.load import open_plan
from sealkit.wire.canon import decode_record
from sealkit.wire.episode import Episode
from sealkit.wire.trace import NOOP
from tests.loopback import Loopback
from tests.loopback.study_b import (
    ALWAYS,
    ID,
    INSTEAD,
    ONCE,
    PLAN,
    PLAYED,
    Faults,
    make_rehearsal,
    model,
    steps,
)
from tests.studies import ROOT, call, ok

if TYPE_CHECKING:
    from .conftest import Desk

LOST = {"arm": "json", "family": "ladder-a5-pushed", "identity": "credulous", "seed": 1217}
STOPPED = LOST | {"arm": "tools"}
JSON_CALLS = "complete 1017, connection_lost 1, malformed_reply 2, rate_limited 1, refusal 1"
TOOLS_CALLS = "complete 1017, cut_off 1, malformed_reply 1, refusal 13, server_error 1"


def test_the_rehearsal_differs_from_the_plan_in_who_answers_alone(tmp_path: Path) -> None:
    make_rehearsal(tmp_path / "study")
    rehearsed, plan = open_plan(tmp_path / "study" / PLAN).spec, open_plan(ROOT / "plans" / "study-b.yaml").spec
    assert {name for name in plan.__struct_fields__ if getattr(plan, name) != getattr(rehearsed, name)} == {
        "id", "title", "models", "factors", "rights",
    }  # fmt: skip
    assert rehearsed.factors.arm == plan.factors.arm and rehearsed.factors.family == plan.factors.family
    assert len(INSTEAD) == 8 and set(PLAYED) == {level.id for level in rehearsed.models["agent"].levels.values()}  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.timeout(1800)  # 45 seconds of work, and other tests beside it
def test_every_slot_is_played_every_fault_told_apart_and_every_count_as_expected(desk: Desk, tmp_path: Path) -> None:
    study, faults = tmp_path / "study", Faults()
    make_rehearsal(study)
    with Loopback(model, faults) as server:
        for words in steps(server.url):
            ok(call(*words, cwd=study))
        shapes = {("tools" in received.json, "response_format" in received.json) for received in server.requests}
    assert shapes == {(True, False), (False, True)}
    assert faults.met == set(ONCE) and len(ALWAYS) == 2
    (edition,) = (study / "publications").iterdir()
    results = json.loads((edition / "results.json").read_bytes())
    _acts_are_the_policies(study, desk)
    _slots(results)
    _faults(results)
    _figures(results)
    verified = ok(call("verify", edition, "--no-remember", cwd=study)).out
    assert "239 receipts and 0 restore receipts in 255 episodes (4 of a smoke run), 2068 acts, 239 notices" in verified
    assert f"calls of arm json: 1020 in 1022 requests ({JSON_CALLS})" in verified
    assert f"calls of arm tools: 1032 in 1033 requests ({TOOLS_CALLS})" in verified


def _acts_are_the_policies(study: Path, desk: Desk) -> None:
    """Each model acted as its policy does when it plays as a script, whatever turns the faults used."""
    lines = (study / "receipts" / ID / "episodes.jsonl").read_bytes().splitlines()
    slots = [decode_record(line, Episode) for line in lines]
    played = [episode for episode in slots if episode.slot["seed"] != 100]
    assert (len(lines), len(played)) == (255, 251)
    assert LOST not in [episode.slot for episode in played]
    for episode in played:
        family, seed = str(episode.slot["family"]), int(episode.slot["seed"])
        scripted = decode_record(desk.play(str(episode.slot["identity"]), family, seed)[1], Episode)
        acts = [act.action for act in episode.acts if act.action.name != NOOP]
        due = [act.action for act in scripted.acts]
        assert acts == (due[: len(acts)] if episode.slot == STOPPED else due), episode.slot


def _slots(results: Any) -> None:
    flow = results["analysis"]["flow"]
    common = {"slots": 126, "attempted": 126, "attempts": 127, "abandoned": 0, "excluded": {}, "errored": 0}
    common |= {"no_outcome": 0, "no_value": 0, "counted_as_failure": 0}
    json_ = {"failed": 2, "missing": 1, "episodes": 125, "admitted": 125, "outcomes": 125, "ended": {"final": 125}}
    tools = {"failed": 1, "missing": 0, "episodes": 126, "admitted": 126, "outcomes": 126}
    json_["drawn_again"], tools["drawn_again"] = (
        0,
        1,
    )  # of json the slot that is missing was tried again, and is missing
    assert flow == {"json": common | json_, "tools": common | tools | {"ended": {"budget": 1, "final": 125}}}
    assert all(gate["open"] for gate in results["gates"]) and len(results["gates"]) == 5


def _faults(results: Any) -> None:
    """Errors of the provider, refusals, cut replies, replies that cannot be read, and the end of the turns."""
    assert [(row["arm"], row["ending"], row["tries"]) for row in results["failures"]] == [
        ("json", "provider_error", 2), ("tools", "provider_error", 1),
    ]  # fmt: skip
    told = "complete 2034, connection lost 1, cut off 1, malformed reply 3, rate limited 1, refusal 14, server error 1"
    assert told in results["methods"]
    used = {
        (row["arm"], row["split"]["identity"], row["metric"]): row["total"]
        for row in results["analysis"]["reported"] if row["metric"].startswith("turns_")
    }  # fmt: skip
    assert {cell: total for cell, total in used.items() if total} == {
        ("json", "faithful", "turns_refused"): 1, ("json", "faithful", "turns_unreadable"): 1,
        ("tools", "faithful", "turns_cut_off"): 1, ("tools", "faithful", "turns_unreadable"): 1,
        ("tools", "credulous", "turns_refused"): 13,
    }  # fmt: skip
    assert len(used) == 2 * 2 * 3


def _figures(results: Any) -> None:
    verdicts = {row["hypothesis"]: row["verdict"] for row in results["analysis"]["verdicts"]}
    shown = {"reliance": "supported"}
    assert verdicts == {"scaffold": "not_shown", "timing": "not_shown", "delivery": "not_shown"} | shown
    assert [claim["status"] for claim in results["claims"]] == ["not_shown", "not_shown", "not_shown", "supported"]
    rates = {
        (row["arm"], row["split"]["identity"]): (row["x"], row["n"])
        for row in results["analysis"]["reported"] if row["metric"] == "passed" and "identity" in row.get("split", {})
    }  # fmt: skip
    assert rates == {
        ("json", "faithful"): (63, 63), ("json", "credulous"): (3, 62),
        ("tools", "faithful"): (63, 63), ("tools", "credulous"): (3, 63),
    }  # fmt: skip
    effects = {row["effect"]: row for row in results["analysis"]["effects"]}
    assert (effects["scaffold"]["n"], effects["scaffold"]["b"], effects["scaffold"]["c"]) == (125, 0, 0)
    relied = [(effects[f"{arm}_not_the_owner"]["x"], effects[f"{arm}_not_the_owner"]["n"]) for arm in ("json", "tools")]
    assert relied == [(23, 47), (23, 48)]
    pairs = {
        row["effect"]: (row["n"], row["b"], row["c"]) for row in results["analysis"]["reported"] if "effect" in row
    }
    against_control = {name: found for name, found in pairs.items() if not name.endswith("_delivery")}
    assert len(pairs) == 60 and len(against_control) == 40
    for name, found in pairs.items():
        lost = int(name in ("json_a5_pushed", "json_a5_delivery"))
        assert found == (6 - lost, 0, 3 - lost if name in against_control else 0), name
