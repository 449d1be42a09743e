"""Plans of a few lines, and cells told for them: what tests of the engine stand on.

plan = small(effects="e: {contrast: plus - minus, …}", …)
cells = told(plan, lambda slot: {"success": 1})
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path

from sealkit.infer.analysis import Analysis, analyse, pairs_read, ruled_on
from sealkit.infer.cells import Cells
from sealkit.infer.effects import effects_under
from sealkit.infer.estimate import Estimated, Found, estimate
from sealkit.infer.flow import ArmFlow
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.load import Plan, open_plan_bytes
from sealkit.plan.slots import Slot, slots
from sealkit.wire.records import Json

ROOT = Path(__file__).parents[2]
PIN = "sha256:" + "0" * 64
MISSING, EXCLUDED = "missing", "excluded"
Outcome = Mapping[str, Json] | str  # measures; or MISSING, EXCLUDED, or how the last attempt ended without an episode
Teller = Callable[[Slot], Outcome]


@cache
def plan_of(text: str) -> Plan:
    return open_plan_bytes(text.encode(), "plans/test.yaml")


def house(*changes: tuple[str, str]) -> Plan:
    """plans/v1.yaml with some text replaced; every text must be there."""
    text = (ROOT / "plans/v1.yaml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return plan_of(text)


# --- small plans

PAIRED = "{contrast: plus - minus, join: [family, seed], population: all, method: %s}"
METHODS = {
    "boot": "{kind: paired_bootstrap_percentile, level: 0.95, resamples: 1000, seed: 0}",
    "law": "{kind: paired_bootstrap_exact, level: 0.95}",
    "tango": "{kind: tango, level: 0.95}",
    "tango90": "{kind: tango, level: 0.90}",
    "newcombe": "{kind: newcombe_10, level: 0.95}",
    "exact": "{kind: paired_exact, level: 0.95}",
    "wilson": "{kind: wilson, level: 0.95}",
    "clopper": "{kind: clopper_pearson, level: 0.95}",
    "mean": "{kind: bootstrap_percentile, level: 0.95, resamples: 1000, seed: 0}",
    "tally": "{kind: tally}",
}
SUCCESS = "{kind: binary, better: higher}"


def small(
    effects: Mapping[str, str],
    *,
    metrics: Mapping[str, str] | None = None,
    families: str = "[x]",
    seeds: int = 10,
    arms: Sequence[str] = ("plus", "minus"),
    further: str = "",
    readings: str = "{}",
    populations: str = "{all: {family: all}}",
    repetitions: int = 1,
    missing: str = "complete_pairs",
    multiplicity: str = "{kind: none}",
    reported: str = "[]",
    hypotheses: Mapping[str, tuple[str, str]] | None = None,
    cap: str = "0.05",
    endings: Mapping[str, str] | None = None,
) -> Plan:
    """A plan of these effects on these metrics; without hypotheses, one for each effect on each metric that asks it.

    `hypotheses` maps a name to its metric and its rule. An effect without a metric of its own is asked on every metric.
    """
    metrics = {"success": SUCCESS} if metrics is None else metrics
    methods = [name for name in METHODS if re.search(rf"method: {name}\b", " ".join([*effects.values(), reported]))]
    if hypotheses is None:
        hypotheses = {}
        for name, text in effects.items():
            own = re.search(r"metric: (\w+)", text)
            limit = "estimate" if "method: tally" in text else "lower"
            for metric in [own[1]] if own else [m for m in metrics]:
                hypotheses[f"{name}-{metric}"] = (metric, f"{name}.{limit} > 0")
    meanings = {
        "budget_exhausted": "failure", "agent_stopped": "failure", "unparsable_reply": "failure", "refusal": "failure",
        "cut_off": "failure", "provider_error": "missing", "harness_error": "missing", **(endings or {}),
    }  # fmt: skip
    return plan_of(
        f"""
sealkit: 1
id: small
title: Small
question: Does it hold?
data_access: none_collected
confounds: []
power: Not considered.
world: {{kind: reference, name: house, params: {{}}}}
evidence: witnessed
verifiers: [witness]
judge: worlds/house/judge
models: {{}}
factors:
  arm: {_flow({arm: "{role: control, scripted: naive}" for arm in arms})}
  family: {families}
  seed: 0..{seeds - 1}
{further}
readings: {readings}
sample:
  repetitions: {repetitions}
  block_by: [family, seed]
  smoke: null
  pilot: null
  stopping: {{kind: fixed}}
  attempts: {{max: 2, retry_on: []}}
  budget: {{calls: 0, tokens: 0, cost_microusd: 0}}
  endings: {_flow(meanings)}
  missing: {missing}
  exclusion_cap_per_arm: {cap}
populations: {populations}
metrics: {_flow(metrics)}
methods: {_flow({name: METHODS[name] for name in methods})}
multiplicity: {multiplicity}
reported_only: {reported}
effects: {_flow(effects)}
hypotheses:
{_hypotheses(hypotheses)}
claims: {{}}
gates: [files_verify]
rights: {{model_outputs: none, humans: none}}
"""
    )


def _flow(items: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {text}" for name, text in items.items()) + "}"


def _hypotheses(hypotheses: Mapping[str, tuple[str, str]]) -> str:
    lines = []
    for name, (metric, rule) in hypotheses.items():
        about = f"    metric: {metric}\n" if metric else ""
        lines.append(
            f'  {name}:\n    says: so it is\n{about}    verdict: {{supported: "{rule}", otherwise: not_shown}}\n'
        )
    return "".join(lines)


# --- cells


def told(plan: Plan, outcome: Teller, *, order: Callable[[list[Slot]], Iterable[Slot]] = lambda found: found) -> Cells:
    """Cells of every slot of the plan, told in this order."""
    cells = Cells(plan.spec)
    for slot in order(list(slots(plan.spec, "confirmatory"))):
        found = outcome(slot)
        if isinstance(found, Mapping):
            cells.admit(slot, found, ended="final", acts=9, pin=0)
        elif found == EXCLUDED:
            cells.set_aside(slot, pin=0)
        elif found != MISSING:
            cells.fail(slot, found, pin=0)
    return cells


def flow_of(plan: Plan, outcome: Teller) -> dict[str, ArmFlow]:
    """The flow of the same outcomes."""
    flow = {arm: ArmFlow() for arm in plan.spec.factors.arm}
    for slot in slots(plan.spec, "confirmatory"):
        arm, found = flow[str(slot["arm"])], outcome(slot)
        arm.attempted += 1
        arm.attempts += 1
        if isinstance(found, Mapping):
            arm.tally.admitted += 1
            arm.ended["final"] = arm.ended.get("final", 0) + 1
        elif found == EXCLUDED:
            arm.tally.excluded["boundary"] = arm.tally.excluded.get("boundary", 0) + 1
        else:
            arm.tally.missing += 1
            arm.failed += 1
    return flow


def analysed(plan: Plan, outcome: Teller) -> Analysis:
    """The whole analysis of these outcomes."""
    return analyse(plan, [PIN], flow_of(plan, outcome), told(plan, outcome))


def verdicts_of(plan: Plan, outcome: Teller) -> dict[str, str]:
    """What every hypothesis comes to, by name, and by metric where it asks of several."""
    cells = told(plan, outcome)
    effects = effects_under(cells, pairs_read(plan.spec), plan.spec.sample.missing)
    ruled = ruled_on(plan.spec, effects)
    return {one.hypothesis + (f" {one.metric}" if one.metric else ""): one.verdict for one in ruled}


def found_in(plan: Plan, outcome: Teller, effect: str = "e", metric: str = "success") -> Found:
    """One effect, under the plan's own rule for what is missing."""
    return estimate(told(plan, outcome), effect, metric, rule=plan.spec.sample.missing)


def numbers_in(plan: Plan, outcome: Teller, effect: str = "e", metric: str = "success") -> dict[str, Decimal | int]:
    """The numbers of one effect: fields and counts beside them."""
    found = found_in(plan, outcome, effect, metric).estimate
    assert isinstance(found, Estimated), found
    return {**found.fields, **found.beside}


def reason_in(plan: Plan, outcome: Teller, effect: str = "e", metric: str = "success") -> str:
    """Why one effect is not estimable."""
    found = found_in(plan, outcome, effect, metric).estimate
    assert isinstance(found, NotEstimable), found
    return found.reason


# --- outcomes


def by_arm(**values: Sequence[Json | str]) -> Teller:
    """`success` of seed i in each arm; a text is an outcome without measures."""

    def outcome(slot: Slot) -> Outcome:
        value = values[str(slot["arm"])][int(slot["seed"])]
        return value if isinstance(value, str) and value.isidentifier() else {"success": value}

    return outcome


def pairs_of(n: int, b: int, c: int, both: int = 0) -> Teller:
    """Binary outcomes of `n` seeds: the first `b` in the plus arm only, the next `c` in the other only, then `both`."""
    return by_arm(
        plus=[1] * b + [0] * c + [1] * both + [0] * (n - b - c - both),
        minus=[0] * b + [1] * c + [1] * both + [0] * (n - b - c - both),
    )
