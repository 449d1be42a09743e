"""A world that lies on demand: every row of the first table of lies, and of what verifiers must say to it.

    trusted, line = lie("effect_an_act_late")

The lies themselves stand in `tests/lies`, one module for a group of rows.
"""

from __future__ import annotations

from tests.lies import boundary, closing, disclosure, environment, lineage
from tests.lies.stage import LIES, Evidence, Lie, honest_rerun, stage

GROUPS = (environment, boundary, disclosure, lineage, closing)

ROWS = {
    1: "due effect not applied; applied twice; other value or target; partial",
    2: "undeclared change inside an act's delta, outside the footprint",
    3: "undeclared change inside the footprint that the world's rules forbid",
    4: "right effect, applied an act early or late, or across an episode's end",
    5: "change made, due notice never shown; due reading withheld",
    6: "notice shown that no contract declares",
    7: "the same, hidden in free text",
    8: "notice altered, cut, doubled, stale",
    9: "fact shown that differs from the state, not declared as a distortion",
    10: "sender, rung or channel relabelled",
    11: "restored from another snapshot; residue after a restore; occurrence repeated or dropped after it; "
    "generation wrong; `previous` broken",
    12: "act skipped, doubled or reordered after a resume",
    13: "judge given an earlier state or another judge's digest",
    14: "trace filed under another slot or pin; act chain broken; record cut",
    15: "consistent lie of the root owner; state outside the root; external fact moved; notice cut after delivery",
}


def lie(name: str) -> Evidence:
    """What verifiers are given when this lie is told: the trusted sources and the episode's line."""
    return LIES[name].tell()


def honest(family: str = "plain") -> Evidence:
    """The same without any lie."""
    return stage(family=family)


__all__ = ["GROUPS", "LIES", "ROWS", "Evidence", "Lie", "honest", "honest_rerun", "lie"]
