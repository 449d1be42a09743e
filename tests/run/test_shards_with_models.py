"""Shards whose arms ask models: calls and bodies come along, and the merged run is run again from recorded replies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from sealkit.run.bench import open_bench
from sealkit.run.run import limits_here
from tests.loopback import Loopback
from tests.modelled import PLAN, calls, episodes, policy, receipts
from tests.studies import call, ok


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


def test_no_shard_may_use_more_than_its_part_of_the_budget(modelled_once: Path) -> None:
    shards = [limits_here(open_bench(modelled_once / PLAN, "confirmatory", share=(one, 2))) for one in (1, 2)]
    whole = limits_here(open_bench(modelled_once / PLAN, "confirmatory"))
    assert 0 < sum(one.calls for one in shards) <= whole.calls
    assert shards[0].calls == whole.calls // 2
