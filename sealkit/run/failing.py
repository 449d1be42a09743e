"""Which arms of a stage have slots that failed, so that a broken arm is told before anything is concluded from it."""

from __future__ import annotations

from dataclasses import dataclass

from sealkit.plan.slots import slots
from sealkit.run.progress import Standing
from sealkit.wire.text import counted


@dataclass(frozen=True, slots=True)
class Failing:
    """Of an arm so many slots failed and so many have their episode; `last` says how its last attempt failed.

    >>> str(Failing("terse", failed=40, episodes=0, last="seed=3: harness_error: exit status 1"))
    'terse: 40 slots failed and none has an episode; the last failure: seed=3: harness_error: exit status 1'
    """

    arm: str
    failed: int
    episodes: int
    last: str

    @property
    def broken(self) -> bool:
        """Whether the arm has nothing but failures."""
        return not self.episodes

    def __str__(self) -> str:
        kept = f"{counted(self.episodes, 'has its', 'have their')} episode" if self.episodes else "none has an episode"
        return f"{self.arm}: {counted(self.failed, 'slot')} failed and {kept}; the last failure: {self.last}"


def failing_arms(state: Standing) -> tuple[Failing, ...]:
    """Every arm of which slots were given up after a failure, in the plan's order."""
    if state.spec is None or not any(state.failed):
        return ()
    failed: dict[str, int] = {}
    kept: dict[str, int] = {}
    for number, slot in enumerate(slots(state.spec, state.stage)):
        arm = str(slot["arm"])
        kept[arm] = kept.get(arm, 0) + state.kept[number]
        if state.failed[number] and not state.kept[number]:
            failed[arm] = failed.get(arm, 0) + 1
    return tuple(Failing(arm, count, kept[arm], state.last_failure.get(arm, "")) for arm, count in failed.items())


__all__ = ["Failing", "failing_arms"]
