"""The order in which a stage's slots are run: drawn blocks, drawn arms inside each, fixed by the plan alone.

All slots of a block are adjacent, so whatever drifts with time falls on every arm alike. The draw depends on
the plan's id and the stage, never on what happened, so a run that stopped goes on in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator

from sealkit.plan.schema import Spec
from sealkit.plan.slots import Slot, Stage, blocks
from sealkit.world.draws import Draws


def drawn_slots(spec: Spec, stage: Stage) -> Iterator[Slot]:
    """Every slot of `stage`, block by block, in the order in which it is run."""
    for block in drawn_blocks(spec, stage):
        yield from block


def drawn_blocks(spec: Spec, stage: Stage) -> Iterator[tuple[Slot, ...]]:
    """Every block of `stage`, in the order in which it is run, with its slots in theirs."""
    draws = Draws("order", spec.id, stage)
    for block in draws.split("blocks").shuffled(tuple(blocks(spec, stage))):
        key = [block[0][name] for name in spec.sample.block_by]
        yield tuple(draws.split("arms", *key).shuffled(block))
