"""`sealkit show`: records in readable form, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.studies import ID, PLAN, SMALL, call, make_study, ok
from tests.verify.hands import Study
from tests.world.makeshift import edited

SLOT = "arm=oracle,family=noise,seed=1"


def test_the_seal_in_words(study: Path) -> None:
    out = ok(call("show", PLAN, cwd=study)).out
    assert re.search(rf"{ID}, sealed \d{{4}}-\d\d-\d\dT.*Z with sealkit", out)
    assert re.search(r"pin +sha256:[0-9a-f]{64}\n", out) and re.search(r"worlds/house +\d+ +sha256:", out)
    assert re.search(r"hypotheses +sha256:[0-9a-f]{64}", out)


def test_a_scenario_and_an_entry(study: Path) -> None:
    scenario = json.loads(ok(call("show", PLAN, "--scenario", "noise:1", cwd=study)).out)
    assert (scenario["family"], scenario["seed"]) == ("noise", 1)
    entry = json.loads(ok(call("show", PLAN, "--entry", "0", cwd=study)).out)
    assert entry["event"]["kind"] == "sealed" and entry["seq"] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--scenario", "noise"], "the manifest has no scenario 'noise'; name it FAMILY:SEED"),
        (["--scenario", "noise:²"], "the manifest has no scenario"),
        (["--scenario", "noise:" + "9" * 5000], "the manifest has no scenario"),
        (["--scenario", "fog:1"], "the manifest has no scenario 'fog:1'"),
        (["--entry", "999"], "the journal has no entry 999"),
        (["--debug", "oracle"], "found 'oracle', due FACTOR=LEVEL"),
        (["--debug", "arm=oracle"], "no episode of slot arm=oracle; name every factor"),
        (["--debug", "arm=nobody,family=noise,seed=1"], "arm has no level 'nobody'; it has oracle, tracker"),
        (["--debug", "arm=oracle,family=noise,seed=²"], "seed has no level"),
        (["--debug", "arm=oracle,family=noise,mood=good"], "there is no factor 'mood'"),
        (["--debug", "arm=oracle,family=noise,seed=100"], "no episode of slot"),
        (["--debug", "\x1b[31m=\u202e"], "there is no factor '\\x1b[31m'"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named(arguments: list[str], says: str, study: Path) -> None:
    refused = call("show", PLAN, *arguments, cwd=study)
    assert refused.code == 2 and says in refused.err
    assert not Study(study).numbers("looked")[1:], "who saw nothing has not looked"


def test_an_episode_is_shown_act_by_act_and_the_look_is_journaled(study: Path) -> None:
    before = len(Study(study).lines())
    out = ok(call("show", PLAN, "--debug", SLOT, cwd=study)).out
    assert re.search(r"^  0  begin\(\)$", out, re.MULTILINE) and re.search(r"^ +\d+  done\(\)$", out, re.MULTILINE)
    assert re.search(r'^ +\d+  move\(to="\w+"\)$', out, re.MULTILINE)
    assert "\\n" not in out, "lines of a text are lines"
    assert re.search(r"^ended: final ; \d receipts$", out, re.MULTILINE)
    looked = Study(study).entries()[before:]
    assert [entry["event"]["kind"] for entry in looked] == ["looked"]
    ok(call("verify", "--no-remember", cwd=study))


def test_an_episode_as_json_is_its_line(study: Path) -> None:
    episode = json.loads(ok(call("show", PLAN, "--debug", SLOT, "--json", cwd=study)).out)
    assert episode["slot"] == {"arm": "oracle", "family": "noise", "seed": 1}
    assert any(json.loads(line) == episode for line in Study(study).episode_lines())


def test_what_a_world_writes_is_shown_and_not_obeyed(sealed: Path, tmp_path: Path) -> None:
    study = make_study(tmp_path / "loud", SMALL)
    source = study / "worlds" / "house" / "world.py"
    loud = "\\x1b[2J\\x1b]0;owned\\x07\\u202e\\u2066\\x9b31m"
    said = "You say that you are done."
    source.write_text(edited(source.read_text(encoding="utf-8"), said, loud + said), encoding="utf-8")
    ok(call("seal", PLAN, cwd=study))
    ok(call("run", PLAN, "--jobs", "1", cwd=study))
    shown = "".join(
        ok(call("show", PLAN, "--debug", f"arm={arm},family={family},seed={seed}", cwd=study)).out
        for arm in SMALL.arms for family in SMALL.families for seed in range(SMALL.seeds)
    )  # fmt: skip
    assert "\\x1b[2J" in shown and "\\u202e" in shown
    assert all(c.isprintable() or c == "\n" for c in shown)
