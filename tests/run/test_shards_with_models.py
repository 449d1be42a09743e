"""Shards whose arms ask models: calls and bodies come along, and the merged run is run again from recorded replies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sealkit.run.bench import open_bench
from sealkit.run.run import limits_here
from tests.loopback import Loopback
from tests.loopback.faults import Answer, whole
from tests.modelled import PLAN, calls, episodes, policy, receipts
from tests.studies import call, ok


@pytest.mark.slow
def test_calls_and_bodies_are_merged_and_the_run_is_replayed(
    modelled_once: Path, called_once: Path, tmp_path: Path
) -> None:
    study = Path(shutil.copytree(modelled_once, tmp_path / "study"))
    with Loopback(policy) as server:
        for share in ("1/2", "2/2"):
            ok(call("run", PLAN, "--shard", share, "--endpoint", server.url, cwd=study))
        asked = len(server.requests)
    kept = receipts(study) / "shards" / "1-of-2" / "blobs"
    kept.rename(tmp_path / "bodies")  # a copy that was cut off
    refused = call("merge", PLAN, cwd=study)
    assert refused.code == 1 and "there is no such body, and no entry withholds it" in refused.err
    (tmp_path / "bodies").rename(kept)
    ok(call("merge", PLAN, cwd=study))
    assert sorted(episodes(study).splitlines()) == sorted(episodes(called_once).splitlines())
    assert len(calls(study)) == asked == len(calls(called_once))
    bodies = {path.name for path in (receipts(study) / "blobs").rglob("*.gz")}
    assert bodies == {path.name for path in (receipts(called_once) / "blobs").rglob("*.gz")}
    for part in (receipts(study) / "shards").iterdir():
        assert {path.name for path in (part / "blobs").rglob("*.gz")} <= bodies
    shutil.rmtree(receipts(study) / "shards")
    found = json.loads(ok(call("verify", "--no-remember", "--json", "--replay=unsafe", cwd=study)).out)["studies"][0]
    assert "4 episodes run again by their sealed arms from the recorded replies, the same bytes" in found["notes"]
    ok(call("analyse", PLAN, cwd=study))
    ok(call("publish", PLAN, cwd=study))
    [edition] = (study / "publications").iterdir()
    ok(call("verify", edition, "--no-remember", cwd=study))


def _same(request: Any, reply: Any) -> Answer:
    """The same bytes, whatever was asked."""
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return whole(reply | {"id": "chatcmpl-1", "usage": usage})


@pytest.mark.slow
def test_a_body_that_is_withheld_in_the_main_journal_comes_back_through_no_shard(
    modelled_once: Path, tmp_path: Path
) -> None:
    """The same bytes as of the smoke run, played by a shard: they are in neither folder, and that is said at once."""
    study = Path(shutil.copytree(modelled_once, tmp_path / "study"))
    with Loopback(lambda request: "none", lambda number, request: _same) as server:
        ok(call("run", PLAN, "--smoke", "--endpoint", server.url, cwd=study))
        reply = calls(study)[0]["response"]
        ok(call("withhold", PLAN, reply, "--reason", "x", "--yes", cwd=study))
        said = [call("run", PLAN, "--shard", one, "--endpoint", server.url, cwd=study) for one in ("1/2", "2/2")]
    for one in said:
        assert ok(one).err.count("which is withheld, was sent or came again: it is not written") == 1, one.said
    ok(call("merge", PLAN, cwd=study))
    name = reply.removeprefix("sha256:")
    assert not [path for path in study.rglob(f"{name}*")]
    assert "1 bodies of calls are withheld" in ok(call("verify", "--no-remember", cwd=study)).out


def test_no_shard_may_use_more_than_its_part_of_the_budget(modelled_once: Path) -> None:
    shards = [limits_here(open_bench(modelled_once / PLAN, "confirmatory", share=(one, 2))) for one in (1, 2)]
    whole = limits_here(open_bench(modelled_once / PLAN, "confirmatory"))
    assert 0 < sum(one.calls for one in shards) <= whole.calls
    assert shards[0].calls == whole.calls // 2
