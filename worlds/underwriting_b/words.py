"""How the desk speaks with a model: its tools, and what its texts state, in the subjects of `prompts/beliefs.md`.

    case income       9000         and so case debt, case reserves, case status, policy maximum, policy reserves
    case version      v1           and so policy version
    root              sha256:…     what the last file that was read gave
    ratio             366667

Everything is read off the text that the agent sees, line by line. A message states nothing: it is somebody's word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from sealkit.wire.records import Json
from sealkit.world.beliefs import Statement, plain

from .world import TOOLS

ACTIONS: Final[Mapping[str, Mapping[str, Json]]] = TOOLS.schemas
OBSERVING: Final = ("case.read", "policy.read", "inbox.read", "submission.open")

_heading = re.compile(r"Cite this as (case|policy)@(v[0-9]+)\. Root: (sha256:[0-9a-f]{64})")
_figures: Final = {
    "case debt": re.compile(r"Monthly debt: ([0-9]+)\."),
    "case income": re.compile(r"Monthly income: ([0-9]+)\."),
    "case status": re.compile(r"The income is ([a-z]+)\."),
    "case reserves": re.compile(r"Reserves: ([0-9]+) months\."),
    "policy maximum": re.compile(r"Largest debt to income: ([0-9]+) ppm\."),
    "policy reserves": re.compile(r"Fewest reserves: ([0-9]+) months\."),
    "ratio": re.compile(r"Debt to income: ([0-9]+) ppm\."),
}
_unit = re.compile(r"(?<=[0-9]) ?(?:ppm|months?)$")


def observe(briefing: str, text: str) -> tuple[Statement, ...]:
    """What a return states, in the order of its text."""
    return tuple(statement for line in text.split("\n") for statement in _stated(line))


def spell(subject: str, value: str) -> tuple[str, str]:
    """A belief in the words above, as far as it was written in something like them."""
    subject, value = plain(subject.replace("_", " ").replace(".", " ")), plain(value)
    bare = _unit.sub("", value)
    return subject, bare.replace(",", "") if bare.replace(",", "").isdigit() else value


def _stated(line: str) -> Iterator[Statement]:
    heading = _heading.fullmatch(line)
    if heading is not None:
        yield Statement(f"{heading[1]} version", heading[2])
        yield Statement("root", heading[3])
    for subject, figure in _figures.items():
        found = figure.fullmatch(line)
        if found is not None:
            yield Statement(subject, found[1])
