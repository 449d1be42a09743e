"""What an episode was worth: pure, from the scenario and the trace alone. SPEC.md defines each measure.

The true state at every boundary comes from replaying the deltas on the genesis. An act is measured against two
worlds as they stand before it: the true one, and the one that a fault has made false. `plan.first_steps` finds
by breadth-first search which steps begin a shortest plan in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Episode
from sealkit.wire.records import Json

from .course import Course, replay
from .diagnosis import Diagnosis
from .faults import Fault
from .plan import DONE, Step, first_steps, situation, step_of

MEASURES = ("success", "false_completion", "stale", "avoidable_stale", "noise_flip", "correction_latency", "acts")
READINGS = {"diagnosis": Diagnosis}


@dataclass(frozen=True, slots=True)
class Stale:
    """One stale-premise action: the act and the faults on whose premise it was right."""

    act: int
    faults: tuple[Fault, ...]

    def avoidable(self) -> bool:
        """Whether evidence against one of these premises was in an earlier return."""
        return any(fault.revealed is not None and fault.revealed < self.act for fault in self.faults)

    def flips(self) -> bool:
        """Whether it follows a false reading that no later reading has corrected."""
        return any(
            fault.is_false_reading and (fault.revealed is None or fault.revealed >= self.act) for fault in self.faults
        )


def judge(scenario: Scenario, episode: Episode) -> dict[str, Json]:
    """The measures of one episode, by the names in `MEASURES`."""
    course = replay(scenario, episode.acts)
    steps = tuple(step_of(act.action) for act in episode.acts)
    right = tuple(step in first_steps(situation(state)) for step, state in zip(steps[1:], course.states, strict=False))
    stale = stale_acts(course, steps, right)
    done = steps[-1] == DONE
    satisfied = DONE in first_steps(situation(course.states[-1]))
    return {
        "success": int(done and satisfied),
        "false_completion": int(done and not satisfied),
        "stale": len(stale),
        "avoidable_stale": sum(act.avoidable() for act in stale),
        "noise_flip": int(any(act.flips() for act in stale)),
        "correction_latency": correction_latency(course.faults, right),
        "acts": len(steps) - 1,
    }


def stale_acts(course: Course, steps: Sequence[Step], right: Sequence[bool]) -> tuple[Stale, ...]:
    """The acts that are right in the world as an active fault has made it false, and wrong in the true one."""
    found: list[Stale] = []
    for act in range(1, len(steps)):
        if right[act - 1]:
            continue
        state = course.states[act - 1]
        premises = ((fault, fault.premise(state)) for fault in course.faults if fault.since < act)
        misled = tuple(
            fault
            for fault, premise in premises
            if premise is not None and steps[act] in first_steps(situation(premise))
        )
        if misled:
            found.append(Stale(act=act, faults=misled))
    return tuple(found)


def correction_latency(faults: Sequence[Fault], right: Sequence[bool]) -> int | None:
    """The most turns that a revealed fault waited for a right act; None if none was revealed, or one still waits."""
    revealed = [fault.revealed for fault in faults if fault.revealed is not None]
    waits = [next((act - seen for act in range(seen + 1, len(right) + 1) if right[act - 1]), None) for seen in revealed]
    known = [wait for wait in waits if wait is not None]
    return max(known) if known and len(known) == len(waits) else None
