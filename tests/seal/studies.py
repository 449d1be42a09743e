"""A small study on disk: one pure world, one verifier, one arm of its own, one plan."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

PLAN = """\
sealkit: 1
id: pond-v1
title: Does the frog jump?
question: In a pond of two families, does a scripted frog jump as often as it was told to?
data_access: none_collected
confounds: [The frog and the pond have the same author.]
power: The frog is deterministic.

world: {kind: reference, name: pond, params: {lilies: 3}}
evidence: traced
verifiers: [strict]
judge: worlds/pond/judge

models: {}
factors:
  arm:
    frog: {role: control, scripted: frog}
    toad: {role: treatment, arm: arms/toad, models: [], options: {warts: 12}}
  family: [windy, calm]
  seed: [7, 0, 3]
readings: {}

sample:
  repetitions: 1
  block_by: [family, seed]
  smoke: {arm: all, family: [calm], seed: [1]}
  pilot: {arm: all, family: [calm], seed: [90, 4]}
  stopping: {kind: fixed}
  attempts: {max: 2, retry_on: [harness_error]}
  budget: {calls: 0, tokens: 0, cost_microusd: 0}
  endings:
    budget_exhausted: failure
    agent_stopped: failure
    unparsable_reply: failure
    refusal: failure
    cut_off: failure
    provider_error: missing
    harness_error: missing
  missing: complete_pairs
  exclusion_cap_per_arm: 0

populations: {everything: {family: all}}
metrics: {success: {kind: binary, better: higher, primary: true}}
methods: {rate: {kind: wilson, level: 0.95}}
multiplicity: {kind: none}
reported_only: []
effects:
  frog: {of: {arm: frog}, metric: success, population: everything, method: rate}
hypotheses:
  frog:
    says: the frog succeeds every time
    verdict:
      supported: "frog.x == 6 && frog.n == 6"
      contradicted: "frog.x < frog.n"
      otherwise: not_shown
claims:
  it-jumps:
    text: The frog jumped.
    stratum: instrument
    needs: [{hypothesis: frog, verdict: [supported]}]
    does_not_show: that frogs jump
gates: [sealed_before_look, denominators_reconcile, claims_follow_map, files_verify, rights_documented]
rights: {model_outputs: none, humans: none}
"""

WORLD = '''\
"""A pond with lilies."""

from sealkit.world import Outline, after_act, authority, contract, never, replace, text

FAMILIES = ("windy", "calm")


def scenario(family, seed, draws, *, lilies):
    gust = contract("gust", when=after_act(1), then=[replace("/water/waves", "high")], tell=never(),
                    authority=authority("wind", rung="A1", scope="the pond", binding=True))
    return Outline(
        genesis={"water": {"waves": "low"}, "frog": {"on": draws.below(lilies)}}, briefing="Jump.",
        contracts=(gust,) if family == "windy" else (), footprints={"jump": ("/frog/on",)}, finals=("rest",),
        max_acts=5)


def act(state, action):
    return {**state, "frog": {"on": state["frog"]["on"] + 1}}, (text("Hop."),)
'''

FILES = {
    "plans/pond.yaml": PLAN,
    "worlds/pond/SPEC.md": "A frog jumps.\n",
    "worlds/pond/__init__.py": "",
    "worlds/pond/world.py": WORLD,
    "worlds/pond/judge.py": 'MEASURES = ("success",)\n\n\ndef judge(scenario, episode):\n    return {"success": 1}\n',
    "worlds/pond/agents.py": "from sealkit.world import Scripted\n\nAGENTS = {'frog': Scripted(lambda draws: None)}\n",
    "verifiers/strict/SPEC.md": "Nothing passes.\n",
    "verifiers/strict/__init__.py": "",
    "verifiers/strict/check.py": "def check(trusted, episode):\n    raise NotImplementedError\n",
    "arms/toad/__init__.py": "def make(scene, options, draws):\n    raise NotImplementedError\n",
    "arms/toad/arm.py": "WARTS = 12\n",
    "requirements.lock": "msgspec==0.19.0 --hash=sha256:00\n",
}


def make_study(root: Path) -> Path:
    """The study's folder; its plan is `plans/pond.yaml` in it."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def plan_of(study: Path) -> Path:
    return study / "plans" / "pond.yaml"


def edit(path: Path, old: str, new: str) -> None:
    """Replace the first `old` in the file, which must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every regular file below `folder` by its path."""
    return {
        os.path.relpath(os.path.join(where, name), folder): Path(where, name).read_bytes()
        for where, _, names in os.walk(folder)
        for name in names
    }
