"""The plan under which the logs of tests/run/logs are imported: two arms, three sums, two epochs."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.studies import ROOT

LOGS = Path(__file__).parent / "logs"
PLAN = "plans/sums.yaml"

_TEXT = """\
sealkit: 1
id: sums
title: Does it help to ask for steps?
question: Does a prompt that asks for steps get more of three sums right?
data_access: {access}
confounds: []
power: Not considered.
world: {{kind: external, run: null, trees: [task.py]}}
evidence: recorded
verifiers: [recorded]
judge: null
models: {{solver: {{id: {model}, temperature: 0, max_output_tokens: 40, reasoning: "off", price_per_million_tokens: null}}}}
factors:
  arm:
    terse: {{role: control, models: [solver], options: {{prompt: Answer with a number.}}}}
    stepwise: {{role: treatment, models: [solver], options: {{prompt: Go step by step.}}}}
  family: [{families}]
  seed: {seeds}
readings: {{}}
sample:
  repetitions: {repetitions}
  block_by: [family, seed]
  smoke: null
  pilot: null
  stopping: {{kind: fixed}}
  attempts: {{max: 1, retry_on: []}}
  budget: {{calls: 0, tokens: null, cost_microusd: null}}
  endings: {{budget_exhausted: failure, agent_stopped: failure, unparsable_reply: failure, refusal: failure, cut_off: failure,
    provider_error: missing, harness_error: missing}}
  missing: complete_pairs
  exclusion_cap_per_arm: 0.5
populations: {{sums: {{family: all}}}}
metrics: {{correct: {{kind: binary, better: higher, primary: true, measure: match{combined}}}}}
methods: {{paired: {{kind: {method}}}}}
multiplicity: {{kind: none}}
reported_only: []
effects: {{gain: {{contrast: stepwise - terse, join: [{join}], population: sums, method: paired, metric: correct}}}}
hypotheses: {{H1: {{says: steps help, verdict: {{supported: "gain.estimate > 0", otherwise: not_shown}}}}}}
claims: {{}}
gates: [sealed_before_look, denominators_reconcile, claims_follow_map, files_verify, rights_documented]
rights: {{model_outputs: "LicenseRef-mock, a mock model wrote them", humans: none took part, data: none}}
"""


def make_study(
    folder: Path,
    *,
    access: str = "collected_unseen",
    model: str = "mockllm/model",
    families: str = "sum-12, sum-23, sum-34",
    seeds: str = "[1, 2]",
    repeated: bool = False,
) -> Path:
    """A study of `folder` that takes its episodes from logs; `repeated` makes epochs repetitions of one seed."""
    shutil.copytree(ROOT / "verifiers/recorded", folder / "verifiers/recorded")
    (folder / "plans").mkdir()
    (folder / "task.py").write_text("# the task that was evaluated\n")
    text = _TEXT.format(
        access=access, model=model, families=families, seeds="[0]" if repeated else seeds,
        repetitions=2 if repeated else 1, combined=", repetitions: {kind: mean}" if repeated else "",
        method="paired_bootstrap_percentile, level: 0.95, resamples: 1000, seed: 0" if repeated else "tango, level: 0.95",
        join="family" if repeated else "family, seed",
    )  # fmt: skip
    (folder / PLAN).write_text(text)
    return folder
