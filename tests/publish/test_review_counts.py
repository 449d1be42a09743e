"""What a review counts: episodes of a smoke run are refused apart from those that count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slow import first_of
from tests.studies import PLAN, SMALL, call, make_study, ok, plan_text, read

PICKY = """\
from sealkit.wire.verdict import Accepted, Reason, Rejected


def check(trusted, episode):
    if trusted.slot["seed"] in {seeds}:
        return Rejected(reasons=(Reason({origin!r}, "acts[0]", "odd", "even"),))
    return Accepted()
"""


def _reviewed(folder: Path, *, seeds: tuple[int, ...], origin: str) -> tuple[int, dict[str, object], str]:
    """Exit code, document and text of a review in which the study's own verifier rejects these seeds."""
    study = make_study(folder / "study", SMALL)
    text = plan_text(SMALL).replace("verifiers: [witness, replay]", "verifiers: [witness, picky]")
    (study / PLAN).write_text(text, encoding="utf-8")
    verifier = study / "verifiers" / "picky"
    verifier.mkdir()
    (verifier / "__init__.py").touch()
    (verifier / "check.py").write_text(PICKY.format(seeds=set(seeds), origin=origin), encoding="utf-8")
    for command in (["seal", PLAN], ["run", PLAN, "--smoke", "--jobs", "1"], ["run", PLAN, "--jobs", "1"]):
        ok(call(*command, cwd=study))
    outcome = call("verify", "--replay=unsafe", "--json", "receipts", cwd=study)
    (found,) = read(outcome.out)["studies"]
    return outcome.code, found, call("verify", "--replay=unsafe", "receipts", cwd=study).out


def test_a_refused_smoke_run_is_counted_apart_and_is_no_fault(tmp_path: Path) -> None:
    code, found, said = _reviewed(tmp_path, seeds=(100,), origin="boundary")
    assert code == 0 and (found["refused"], found["refused_apart"]) == (0, {"smoke": 2})
    assert "0 episodes that count were not admitted; apart from them: 2 smoke" in said
    assert said.count(" (smoke, counted apart): ") == 2


@pytest.mark.parametrize("origin", first_of(["boundary", "evidence"]))
def test_what_counts_and_what_does_not_are_two_numbers(origin: str, tmp_path: Path) -> None:
    code, found, said = _reviewed(tmp_path, seeds=(1, 100), origin=origin)
    assert code == 1 and (found["refused"], found["refused_apart"]) == (4, {"smoke": 2})
    assert "4 episodes that count were not admitted; apart from them: 2 smoke" in said


@pytest.mark.slow
def test_a_smoke_record_that_is_none_is_a_fault_too(tmp_path: Path) -> None:
    code, found, _ = _reviewed(tmp_path, seeds=(100,), origin="evidence")
    assert code == 1 and (found["refused"], found["refused_apart"]) == (0, {"smoke": 2})
