"""The CPU that one scripted act costs, all told."""

from __future__ import annotations

from functools import partial
from statistics import median

from benchmarks.clock import cpu_s
from benchmarks.episodes import house, lines, play_slot, slots
from benchmarks.row import Row
from benchmarks.sizes import Sizes
from sealkit.wire.canon import decode_record
from sealkit.wire.episode import Episode
from sealkit.world.loader import LoadedWorld


def measure(sizes: Sizes) -> Row:
    """World, agent, recorder and the closed episode line, over every family and agent; reading a scenario too."""
    acts = sum(decode_record(line, Episode).closing.counts.acts for line in lines(sizes))  # and that warms up

    def play_all(world: LoadedWorld) -> None:
        for agent, trusted in slots(sizes):
            play_slot(world, agent, trusted)

    # A fresh world each time: in a run every slot is played once, so what a world remembers of it must not help.
    each_ms = median(cpu_s(partial(play_all, house())) for _ in range(sizes.repeats)) * 1000 / acts
    how = f"{acts} acts in {len(slots(sizes))} episodes, of {len({agent for agent, _ in slots(sizes)})} agents"
    return Row("CPU of a scripted act", each_ms, "ms", 0.2, how)
