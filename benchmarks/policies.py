"""What evidence costs: time and memory of each policy's verdict as ratios to `terminal`, and bytes of its view.

    python -m benchmarks policies     among the other figures
    python -m benchmarks.policies     as the table of docs/evidence-policies.md

Memory is the most that Python held at once beyond what it held before, in one check of an episode whose scenario is
known: the mean over episodes. It is counted after the time, for counting slows.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.clock import ROOT, cpu_s, medians
from benchmarks.row import Row
from benchmarks.sizes import FULL, TINY, Sizes
from sealkit.verify.conformance.trial import trial_episode, trial_slots
from sealkit.wire.episode import Trusted
from sealkit.world.loader import Policy, load_policies, load_world

FOLDERS = ("terminal", "event_log", "milestones", "telemetry", "causal", "witness")
WORLDS = ("house", "underwriting")
Evidence = Sequence[tuple[Trusted, bytes]]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one policy costs in one world: means of an episode, and ratios to `terminal`."""

    world: str
    policy: str
    seen_bytes: float
    whole_bytes: float
    time_s: float
    time_ratio: float
    memory_bytes: float
    memory_ratio: float


def measure(sizes: Sizes) -> tuple[Row, ...]:
    """For each world and policy the time of `check` over that of `terminal`; memory and bytes stand beside it."""
    return tuple(
        Row(
            f"{cost.world}: {cost.policy} over terminal", cost.time_ratio, "×", None,
            f"{cost.time_s * 1e6:.0f} µs; memory {cost.memory_ratio:.3g} ×, {cost.memory_bytes / 1e3:.0f} kB; "
            f"{cost.seen_bytes:.0f} bytes seen of {cost.whole_bytes:.0f}",
        )
        for cost in costs(sizes)
    )  # fmt: skip


def costs(sizes: Sizes) -> Iterator[Cost]:
    """What every policy costs in every world, `terminal` first."""
    policies = {name: each for folder in FOLDERS for name, each in load_policies(ROOT / "verifiers" / folder).items()}
    for world in WORLDS:
        yield from _of_world(world, policies, sizes)


def _of_world(name: str, policies: dict[str, Policy], sizes: Sizes) -> Iterator[Cost]:
    world = load_world(ROOT, name)
    slots = [trusted for trusted in trial_slots(world) if int(trusted.slot["seed"]) < sizes.seeds]
    evidence = [(trusted, trial_episode(world, trusted)) for trusted in slots]
    count = len(evidence)
    whole = sum(len(line) for _, line in evidence) / count
    terminal = policies["terminal"]
    least_memory = _memory(terminal, evidence)
    for policy, each in policies.items():
        least, time = medians(
            lambda: cpu_s(lambda: _check(terminal, evidence)),
            lambda each=each: cpu_s(lambda: _check(each, evidence)),  # type: ignore[misc]
            repeats=max(1, sizes.repeats // 5),
        )
        memory = _memory(each, evidence)
        seen = sum(len(each.view(line)) for _, line in evidence) / count
        yield Cost(name, policy, seen, whole, time / count, time / least, memory, memory / least_memory)


def _check(policy: Policy, evidence: Evidence) -> None:
    for trusted, line in evidence:
        policy.check(trusted, line)


def _memory(policy: Policy, evidence: Evidence) -> float:
    """The mean peak of a check. Each is asked before: what a verifier keeps of a scenario belongs to no episode."""
    peaks = []
    for trusted, line in evidence:
        policy.check(trusted, line)
        gc.collect(0)
        tracemalloc.start()
        policy.check(trusted, line)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return sum(peaks) / len(peaks)


def table(rows: Sequence[Cost]) -> str:
    """One Markdown row a policy, the worlds side by side."""
    heads = [f"{world}, {what}" for world in WORLDS for what in ("bytes", "time", "memory")]
    lines = [["policy", *heads], ["---"] * (len(heads) + 1)]
    whole = {cost.world: cost.whole_bytes for cost in rows}
    lines.append(["the record", *(cell for world in WORLDS for cell in (f"{whole[world]:,.0f}", "", ""))])
    for policy in dict.fromkeys(cost.policy for cost in rows):
        cells = [f"`{policy}`"]
        for cost in (cost for world in WORLDS for cost in rows if (cost.world, cost.policy) == (world, policy)):
            cells += [f"{cost.seen_bytes:,.0f}", f"{cost.time_ratio:.2g}", f"{cost.memory_ratio:.2g}"]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(table(tuple(costs(TINY if "--tiny" in sys.argv else FULL))))
