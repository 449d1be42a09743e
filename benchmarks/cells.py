"""`python -m benchmarks.cells N`: analyses plans/v1.yaml on about N synthetic cells, told one after another."""

from __future__ import annotations

import random
import sys

from benchmarks.clock import ROOT
from sealkit.infer.analysis import analyse
from sealkit.infer.cells import Cells
from sealkit.infer.flow import ArmFlow
from sealkit.plan.load import Plan, open_plan_bytes
from sealkit.plan.slots import Slot, slots
from sealkit.wire.records import Json

SLOTS_A_SEED = 24  # four arms in six families
RATES = {"A": 0.4, "B": 0.4, "C": 0.6, "D": 0.8}


def plan_of(count: int) -> Plan:
    """plans/v1.yaml with as many seeds as give so many cells, and 1,000 resamples."""
    text = (ROOT / "plans/v1.yaml").read_text()
    for old, new in (
        ("  seed: 0..9\n", f"  seed: 0..{-(-count // SLOTS_A_SEED) - 1}\n"),
        ("seed: [100]}", "seed: [99999]}"),
        ("resamples: 10000", "resamples: 1000"),
    ):
        if old not in text:
            raise RuntimeError(f"plans/v1.yaml no longer has {old!r}")
        text = text.replace(old, new)
    return open_plan_bytes(text.encode(), "plans/v1.yaml")


def measures(slot: Slot, readers: tuple[str, ...], drawn: random.Random) -> dict[str, Json]:
    """What a judge might give."""
    success = int(drawn.random() < RATES[str(slot["arm"])])
    faults = {"noise": (), "double_fault": ("f1", "f2")}.get(str(slot["family"]), ("f1",))
    named: dict[str, Json] = {reader: {fault: drawn.randrange(2) for fault in faults} for reader in readers}
    return {
        "success": success, "avoidable_stale": drawn.randrange(3 - success), "false_completion": 0,
        "stale": drawn.randrange(4), "correction_latency": drawn.choice((None, 1, 2, 3)), "named_and_timed": named,
        "named": named, "extra_faults": dict.fromkeys(readers, 0), "input_tokens": drawn.randrange(10_000),
        "output_tokens": drawn.randrange(1_000), "acts": drawn.randrange(3, 16),
    }  # fmt: skip


def main(count: int) -> None:
    plan = plan_of(count)
    spec = plan.spec
    levels = spec.readings["reader"].levels
    readers = {
        arm: tuple(name for name, level in levels.items() if isinstance(level.arms, str) or arm in level.arms)
        for arm in spec.factors.arm
    }
    cells, flow, drawn = Cells(spec), {arm: ArmFlow() for arm in spec.factors.arm}, random.Random(0)
    for slot in slots(spec, "confirmatory"):
        arm = str(slot["arm"])
        flow[arm].attempted += 1
        flow[arm].tally.admitted += 1
        cells.admit(slot, measures(slot, readers[arm], drawn), ended="final", acts=9, pin=0)
    analyse(plan, ["sha256:" + "0" * 64], flow, cells)


if __name__ == "__main__":
    main(int(sys.argv[1]))
