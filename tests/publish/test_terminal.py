"""What the commands print of texts that a terminal would obey, and the command `power`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.studies import PLAN, ROOT, call, ok


@pytest.mark.parametrize(
    "arguments",
    [("claims", PLAN), ("publish", PLAN, "--dry-run"), ("verify", "receipts", "--replay=unsafe"), ("check", PLAN),
     ("power", PLAN), ("analyse", PLAN), ("status", PLAN)],
)  # fmt: skip
def test_no_control_reaches_the_terminal(arguments: tuple[str, ...], held: Path) -> None:
    """The verifier of this study puts a bidirectional override into its reason, its plan marks into every text."""
    said = ok(call(*arguments, cwd=held)).said
    assert said and all(c.isprintable() or c == "\n" for c in said)


def test_a_reason_with_controls_is_spelled_out(held: Path) -> None:
    assert "\\u202e<b>|" in ok(call("verify", "receipts", "--replay=unsafe", cwd=held)).out


# --- power ---------------------------------------------------------------------------------------


def power(folder: Path, *arguments: str) -> Any:
    return json.loads(ok(call("power", *arguments, "--json", cwd=folder)).out)


def test_power_of_the_sealed_plan(sealed_once: Path) -> None:
    found = power(sealed_once, PLAN, "--assume", "oracle=x:1", "--assume", "tracker=x:0.5")
    assert found["plan"] == "part" and found["pin"].startswith("sha256:")
    oracle, tracker = found["questions"]
    assert (oracle["way"], tracker["way"]) == ("exact", "exact")
    chances = {one["verdict"]: one["chance"] for one in tracker["chances"]}
    assert chances == {"supported": "0.062500000000", "contradicted": "0.937500000000", "not_shown": "0.000000000000"}
    assert oracle["chances"][0] == {"verdict": "supported", "chance": "1.000000000000", "lower": None, "upper": None}


def test_power_without_assumptions_says_what_it_needs(sealed_once: Path) -> None:
    found = power(sealed_once, PLAN)
    assert [question["lacking"] for question in found["questions"]] == [["oracle.success"], ["tracker.success"]]
    said = ok(call("power", PLAN, cwd=sealed_once)).out
    assert "nothing: say --assume oracle.success=x:…" in said and "say --assume for oracle.success" in said
    assert "4 cells" in said


def test_power_of_a_plan_that_is_not_sealed_simulates_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    text = (ROOT / "plans" / "v1.yaml").read_text().replace("resamples: 10000", "resamples: 100")
    (tmp_path / "plans" / "v1.yaml").write_text(text)
    arguments = (
        "plans/v1.yaml",
        "--assume",
        "dc=mean:0.6,sd:1",
        "--assume",
        "ca=mean:0.6,sd:1",
        "--simulations",
        "100",
    )
    found = power(tmp_path, *arguments, "--seed", "3")
    assert found["pin"] is None and found["seed"] == 3
    (simulated,) = (question for question in found["questions"] if question["way"] == "simulated")
    assert (simulated["hypothesis"], simulated["metric"], simulated["simulations"]) == ("H1", "avoidable_stale", 100)
    for chance in simulated["chances"]:
        assert float(chance["lower"]) <= float(chance["chance"]) <= float(chance["upper"])
    assert found == power(tmp_path, *arguments, "--seed", "3")
    said = ok(call("power", *arguments, cwd=tmp_path)).out
    assert "100 studies drawn from seed 1, with 95 % intervals of the Monte Carlo error" in said
    assert "not sealed; no slot missing or excluded" in said


def test_power_looks_at_nothing(run_once: Path) -> None:
    before = (run_once / "receipts" / "part" / "journal.jsonl").read_bytes()
    power(run_once, PLAN, "--assume", "oracle=x:0.9")
    assert (run_once / "receipts" / "part" / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize("text", ["nonsense", "oracle=x:2", "oracle=b:0.1,c:0.1", "other=x:0.1", "oracle=x:\x1b[31m"])
def test_a_statement_that_does_not_fit_is_refused(text: str, sealed_once: Path) -> None:
    found = call("power", PLAN, "--assume", text, cwd=sealed_once)
    assert found.code == 2 and found.err.startswith("sealkit: --assume"), found.said
    assert "\x1b" not in found.err


@pytest.mark.parametrize("command", ["power", "claims", "publish", "verify", "check"])
def test_help_has_examples(command: str, tmp_path: Path) -> None:
    assert "Example" in ok(call(command, "--help", cwd=tmp_path)).out
