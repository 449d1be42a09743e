"""How much each figure is measured on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """`repeats` of what takes milliseconds in this process, `starts` of what starts a process."""

    repeats: int
    starts: int
    seeds: int  # of every family, for every scripted agent
    entries: tuple[int, int]  # journal, short and long
    appends: int
    chained: int
    episodes: tuple[int, int]  # verified in one process, few and many
    pairs: tuple[int, int]  # that a bootstrap resamples, few and many
    resamples: int
    cells: tuple[int, int]  # analysed in one process, few and many
    calls: tuple[int, int]  # episodes, and calls in each
    turns: int  # repeats of what takes seconds
    rates: int  # at which coverage is counted, in each direction
    digests: int  # that a scripted agent computes before each act on a cluster


FULL = Sizes(
    repeats=15,
    starts=21,
    seeds=11,
    entries=(1_000, 100_000),
    appends=151,
    chained=10_000,
    episodes=(1_000, 20_000),
    pairs=(50, 100_000),
    resamples=10_000,
    cells=(1_000, 100_000),
    calls=(240, 10),
    turns=1,
    rates=99,
    digests=20_000,
)
TINY = Sizes(
    repeats=1,
    starts=1,
    seeds=1,
    entries=(3, 9),
    appends=3,
    chained=5,
    episodes=(60, 90),
    pairs=(5, 9),
    resamples=100,
    cells=(48, 72),
    calls=(2, 2),
    turns=1,
    rates=3,
    digests=10,
)
