"""`amend --impact` where arms ask models: recorded replies are read again by the changed code, and nothing is called."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sealkit.seal.amend import amending
from tests.loopback import Loopback
from tests.modelled import PLAN, calls, policy
from tests.seal.studies import NOW
from tests.studies import call, ok


@pytest.fixture
def study(called_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(called_once, tmp_path / "study"))


def impact(study: Path, *more: str) -> Any:
    return json.loads(ok(call("amend", PLAN, "--impact", "--json", *more, cwd=study)).out)


def edit(study: Path, path: str, old: str, new: str) -> None:
    file = study / path
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_change_that_touches_no_episode_differs_nowhere(study: Path) -> None:
    edit(study, "worlds/house/words.py", '"""', '"""Words. ')
    assert impact(study, "--dry-run")["differing"] == []


def test_a_prompt_that_was_reworded_would_have_asked_something_else(study: Path) -> None:
    with (study / "worlds" / "house" / "prompts" / "actions.md").open("a", encoding="utf-8") as file:
        file.write("Be quick.\n")
    found = impact(study, "--dry-run")
    assert {one["why"] for one in found["differing"]} == {"it asks a model something else"}
    assert len(found["differing"]) == 4


def test_blocks_that_a_change_touches_run_again_and_a_reader_derives_the_same_blocks(study: Path) -> None:
    before = len(calls(study))
    with (study / "worlds" / "house" / "prompts" / "beliefs.md").open("a", encoding="utf-8") as file:
        file.write("Keep it short.\n")  # of arms with a store alone
    found = impact(study, "--supersede", "--reason", "a belief could not be told from a wish")
    assert {one["slot"]["arm"] for one in found["differing"]} == {"D"}
    with Loopback(policy) as server:
        again = json.loads(ok(call("run", PLAN, "--endpoint", server.url, "--json", cwd=study)).out)
        assert again["new"] == 4, "both arms of both blocks"
        assert len(calls(study)) == before + len(server.requests)
        assert again["used"]["calls"] == len(calls(study)), "the budget counts what was superseded too"
    said = ok(call("verify", "--no-remember", "--replay=unsafe", cwd=study)).out
    assert "2 superseded blocks derived again from the sealed sources" in said
    assert "8 episodes run again by their sealed arms from the recorded replies" in said


def test_an_episode_whose_reply_is_withheld_has_no_block_run_again(study: Path) -> None:
    """Who withholds a reply of each block that lost, and adds a comment, must not have just these drawn again."""
    first = calls(study)[0]
    ok(call("withhold", PLAN, first["response"], "--reason", "it names somebody", "--yes", cwd=study))
    edit(study, "worlds/house/words.py", '"""', '"""Words. ')
    found = impact(study, "--dry-run")
    assert found["differing"] == [] and first["slot"] in found["untold"]


@pytest.mark.slow
def test_nor_has_it_by_hand(study: Path) -> None:
    first = calls(study)[0]
    ok(call("withhold", PLAN, first["response"], "--reason", "it names somebody", "--yes", cwd=study))
    edit(study, "worlds/house/words.py", '"""', '"""Words. ')
    said = ok(call("amend", PLAN, "--supersede", "--reason", "a comment", cwd=study)).out
    assert "cannot be run again, since a reply is withheld" in said and "to be run again" not in said
    block = {name: level for name, level in first["slot"].items() if name != "arm"}
    with amending(study / PLAN, now=NOW) as draft:
        draft.commit(draft.amendment(reason="all the same", superseded=(block,))).close()
    refused = call("verify", "--no-remember", "--replay=unsafe", cwd=study)
    assert refused.code == 1 and "amendment 2 supersedes 1 blocks, but those in which its code gives" in refused.err
