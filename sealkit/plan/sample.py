"""How much is run and what becomes of what goes wrong: the section `sample`."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from sealkit.plan.base import Count, Inside, Positive, Selection, Share, Word
from sealkit.plan.forms import Whole
from sealkit.plan.parts import ByKind, Limits, Part

Meaning: TypeAlias = Literal["failure", "missing"]
TurnMeaning: TypeAlias = Literal["failure", "missing", "uses_turn"]


class Fixed(Part):
    """Every slot is run; nothing is looked at before."""

    kind: Literal["fixed"]


class InterimLooks(Part):
    """Declared looks, each after so many complete blocks, spending `alpha` by the function named."""

    kind: Literal["interim_looks"]
    after_blocks: Annotated[tuple[Positive, ...], Limits(1)]
    spending: Literal["obrien_fleming", "pocock"]
    alpha: Inside
    stop_for: Annotated[tuple[Literal["efficacy", "futility"], ...], Limits(1, "the reason")]


Stopping: TypeAlias = Annotated[Fixed | InterimLooks, ByKind()]


class Attempts(Part):
    """How often a slot is tried, at most 10, and after which endings again. The first completed attempt counts."""

    max: Annotated[int, Whole(1, 10)]
    retry_on: Annotated[tuple[Literal["provider_error", "harness_error"], ...], Limits(0, "the ending")]


class Budget(Part):
    """What the confirmatory run may use; null sets no bound. Calls have one: whoever asks again and again must end."""

    calls: Count
    tokens: Count | None
    cost_microusd: Count | None


class Endings(Part):
    """What each way of ending means: `failure` is judged as it stands, `missing` is no outcome.

    `uses_turn` lets the episode go on after a reply that gave no action.
    """

    budget_exhausted: Meaning
    agent_stopped: Meaning
    unparsable_reply: TurnMeaning
    refusal: TurnMeaning
    cut_off: TurnMeaning
    provider_error: Meaning
    harness_error: Meaning

    def meanings(self) -> Mapping[str, str]:
        """What each word means."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


# Ways to end that may leave a slot without an episode, so that a failure has no measure of its own.
WITHOUT_EPISODE: Final = ("provider_error", "harness_error")


class Sample(Part):
    """The run: repetitions of each cell, blocks, runs that are never analysed, stopping, attempts, bounds."""

    repetitions: Annotated[int, Whole(1, 10_000)]
    block_by: Annotated[tuple[Word, ...], Limits(1, "the factor")]
    smoke: Selection | None
    pilot: Selection | None
    stopping: Stopping
    attempts: Attempts
    budget: Budget
    endings: Endings
    missing: Literal["complete_pairs", "failure", "worst_case"]
    exclusion_cap_per_arm: Share
