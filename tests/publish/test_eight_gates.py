"""All eight gates of a study that is sealed, run, analysed and published: open, and each closed alone by a fault of its own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sealkit.plan.ruling import GATES
from sealkit.seal.journal import Journal
from sealkit.wire.events import Admitted, Analysed, ArmCounts
from tests.seal.journals import NOW
from tests.studies import ROOT, call, ok, read

pytestmark = pytest.mark.slow  # each seals, runs and publishes; tests/infer/test_gates.py has the rules alone
PLAN = "plans/eight.yaml"
TEXT = f"""
sealkit: 1
id: eight
title: Eight gates
question: Does the program answer?
data_access: none_collected
confounds: [none]
power: none is needed
world: {{kind: external, run: [{sys.executable}, harness/answer.py], trees: [harness], seconds: 30}}
evidence: recorded
verifiers: [recorded]
judge: null
models: {{}}
factors:
  arm: {{only: {{role: control, models: [], options: {{}}}}}}
  family: [one]
  seed: 0..2
readings: {{}}
sample:
  repetitions: 1
  block_by: [seed]
  smoke: {{arm: all, family: all, seed: [9]}}
  pilot: null
  stopping: {{kind: fixed}}
  attempts: {{max: 1, retry_on: []}}
  budget: {{calls: 0, tokens: null, cost_microusd: null}}
  endings: {{budget_exhausted: failure, agent_stopped: failure, unparsable_reply: failure, refusal: failure, cut_off: failure, provider_error: missing, harness_error: missing}}
  missing: complete_pairs
  exclusion_cap_per_arm: 0
populations: {{all: {{family: all}}}}
metrics:
  false_rejection: {{kind: binary, better: lower, primary: true}}
  baselines_conform: {{kind: binary, better: higher}}
  not_isolated: {{kind: count, better: lower}}
methods: {{tally: {{kind: tally}}}}
multiplicity: {{kind: none}}
reported_only: []
effects:
  faithful: {{of: {{arm: only}}, metric: false_rejection, population: all, method: tally}}
  conform: {{of: {{arm: only}}, metric: baselines_conform, population: all, method: tally}}
  left_out: {{of: {{arm: only}}, metric: not_isolated, population: all, method: tally}}
hypotheses:
  false_rejection_acceptable: {{says: none is rejected, verdict: {{supported: "faithful.x == 0", otherwise: contradicted}}}}
  baselines_conform: {{says: all conform, verdict: {{supported: "conform.estimate == 1", otherwise: contradicted}}}}
  forks_isolated: {{says: none was left out, verdict: {{supported: "left_out.total == 0", otherwise: contradicted}}}}
claims:
  few: {{text: Few are rejected., stratum: instrument, needs: [{{hypothesis: false_rejection_acceptable, verdict: [supported]}}], does_not_show: more}}
gates: [{", ".join(GATES)}]
rights: {{model_outputs: "Apache-2.0; no model was called", humans: none took part, data: "Apache-2.0, made here"}}
"""
MEASURES = {"false_rejection": 0, "baselines_conform": 1, "not_isolated": 0}
ANSWER = """import json
usage = {{"calls": 0, "input_tokens": None, "output_tokens": None}}
print(json.dumps({{"transcript": [{{"answer": "accepted"}}], "measures": {measures}, "usage": usage, "models": {{}},
                  "ended": "final", "why": ""}}))
"""
After = Callable[[Path, pytest.MonkeyPatch], object]


def played(folder: Path, *, plan: tuple[str, str] = ("", ""), measures: dict[str, int] | None = None) -> Path:
    """The study after its analysis; with other words in its plan, or with other measures."""
    assert plan[0] in TEXT
    for name, text in (
        (PLAN, TEXT.replace(*plan)),
        ("harness/answer.py", ANSWER.format(measures=MEASURES | (measures or {}))),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    shutil.copytree(ROOT / "verifiers/recorded", folder / "verifiers/recorded")
    for command in ("seal", "run", "analyse"):
        ok(call(command, PLAN, cwd=folder))
    return folder


def gates(study: Path) -> tuple[dict[str, str], int]:
    """What the closed gates say, and the exit code of `publish`."""
    found = call("publish", PLAN, "--json", cwd=study)
    said = read(found.out)["gates"]
    assert [gate["gate"] for gate in said] == list(GATES)
    return {gate["gate"]: gate["evidence"] for gate in said if not gate["open"]}, found.code


def journal(study: Path) -> Journal:
    return Journal.open(study / "receipts/eight", inside=study)


def other_counts(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal says last that another number was admitted than these records give."""
    arms = {"only": ArmCounts(admitted=2, excluded={}, errored=0, missing=1)}
    journal(study).append(Admitted(arms=arms), now=NOW)


def other_results(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal(study).append(Analysed(results="sha256:" + "0" * 64), now=NOW)


def unmarked(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hypothesis is reworded when its outcome is known. sealkit marks the claim; here that mark is taken off."""
    plan = study / PLAN
    plan.write_text(plan.read_text().replace("text: Few are rejected.", "text: None is ever rejected."))
    ok(call("amend", PLAN, "--reason", "we know now", cwd=study))
    ok(call("analyse", PLAN, cwd=study))
    monkeypatch.setattr("sealkit.publish.claims.amended._exploratory", lambda *arguments: {})


def test_with_nothing_amiss_all_eight_gates_are_open(tmp_path: Path, state: Path) -> None:
    study = played(tmp_path)
    assert gates(study) == ({}, 0)
    ok(call("verify", next((study / "publications").iterdir()), "--replay=unsafe", cwd=tmp_path))


@pytest.mark.parametrize(
    ("gate", "plan", "measures", "after", "says"),
    [
        ("forks_isolated", ("", ""), {"not_isolated": 1}, None, "total 3"),
        ("baselines_conform", ("", ""), {"baselines_conform": 0}, None, "estimate 0"),
        ("false_rejection_acceptable", ("", ""), {"false_rejection": 1}, None, "x 3"),
        ("sealed_before_look", ("data_access: none_collected", "data_access: seen"), {}, None, "had been seen before"),
        ("rights_documented", ('data: "Apache-2.0, made here"', "data: ours"), {}, None, "rights.data names no licence"),
        ("denominators_reconcile", ("", ""), {}, other_counts, "not those that the journal records"),
        ("claims_follow_map", ("", ""), {}, unmarked, "not marked exploratory: few"),
        ("files_verify", ("", ""), {}, other_results, "not those that the journal records"),
    ],
)  # fmt: skip
def test_each_gate_is_closed_alone(
    gate: str, plan: tuple[str, str], measures: dict[str, int], after: After | None, says: str, tmp_path: Path,
    state: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    study = played(tmp_path, plan=plan, measures=measures)
    if after is not None:
        after(study, monkeypatch)
    closed, code = gates(study)
    assert list(closed) == [gate] and code == 1
    assert says in closed[gate]
    assert not (study / "publications").exists()
