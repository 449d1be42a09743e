"""What evidence costs: bytes of each policy's view, and the time of its verdict as a ratio to `terminal`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.clock import ROOT, cpu_s, medians
from benchmarks.row import Row
from benchmarks.sizes import Sizes
from sealkit.verify.conformance.trial import trial_episode, trial_slots
from sealkit.wire.episode import Trusted
from sealkit.world.loader import Policy, load_policies, load_world

FOLDERS = ("terminal", "event_log", "milestones", "telemetry", "causal", "witness")
WORLDS = ("house", "underwriting")


def measure(sizes: Sizes) -> tuple[Row, ...]:
    """For each world and policy: the time of `check` over that of `terminal`, and the mean size of the view."""
    policies = {name: each for folder in FOLDERS for name, each in load_policies(ROOT / "verifiers" / folder).items()}
    return tuple(row for world in WORLDS for row in _of_world(world, policies, sizes))


def _of_world(name: str, policies: dict[str, Policy], sizes: Sizes) -> Iterator[Row]:
    world = load_world(ROOT, name)
    slots = [trusted for trusted in trial_slots(world) if int(trusted.slot["seed"]) < sizes.seeds]
    evidence = [(trusted, trial_episode(world, trusted)) for trusted in slots]
    whole = sum(len(line) for _, line in evidence) / len(evidence)
    for policy, each in policies.items():
        least, time = medians(
            lambda: cpu_s(lambda: _check(policies["terminal"], evidence)),
            lambda each=each: cpu_s(lambda: _check(each, evidence)),  # type: ignore[misc]
            repeats=max(1, sizes.repeats // 5),
        )
        size = sum(len(each.view(line)) for _, line in evidence) / len(evidence)
        how = f"{size:.0f} bytes seen of {whole:.0f}, {time * 1e6 / len(evidence):.0f} µs an episode"
        yield Row(f"{name}: {policy} over terminal", time / least, "×", None, how)


def _check(policy: Policy, evidence: Sequence[tuple[Trusted, bytes]]) -> None:
    for trusted, line in evidence:
        policy.check(trusted, line)
