"""What a seal says of the plans that its folder held sealed already, and what that holds in place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.studies import ID, PLAN, SMALL, call, make_study, ok, plan_text


def seal_again(study: Path, id: str) -> Any:
    """A second plan is sealed; its seal."""
    plan = study / "plans" / f"{id}.yaml"
    plan.write_text(plan_text(SMALL, id=id), encoding="utf-8")
    ok(call("seal", f"plans/{id}.yaml", cwd=study))
    return json.loads(plan.with_suffix(".seal.json").read_bytes())


def test_a_later_seal_names_the_earlier_one_and_holds_its_journal_in_place(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", SMALL)
    ok(call("seal", PLAN, cwd=study))
    assert "beside" not in json.loads((study / PLAN).with_suffix(".seal.json").read_bytes()), "there was nothing beside"
    receipts = study / "receipts" / ID
    older = Path(shutil.copytree(receipts, tmp_path / "older"))
    ok(call("run", PLAN, "--stop", "seen enough", cwd=study))
    [one] = seal_again(study, "second")["beside"]
    head = json.loads((receipts / "HEAD").read_bytes())
    assert (one["plan"], one["head"], one["paused"]) == (ID, f"{head['count']}:{head['digest']}", None)
    said = ok(call("verify", f"receipts/{ID}", "--no-remember", cwd=study)).out
    assert f"quoted inside it by the seal of second ({head['count']} of {head['count']} entries)" in said
    shutil.rmtree(receipts)
    shutil.copytree(older, receipts)
    found = call("verify", f"receipts/{ID}", "--no-remember", cwd=study)
    assert found.code == 1 and "the seal of second" in found.err
