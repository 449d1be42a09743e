"""What a pilot or a smoke run has tried is never confirmatory afterwards: what counts is what was played.

A plan keeps the seeds of its stages apart (`plan.lint_run`), but it can be edited before its seal, and amended after
it. So the seeds that were played are read from the journals, each up to where the plan came into force: the pilot's,
whose head the seal quotes, and the smoke attempts of the study's own. As in a plan, a seed is taken in every family:
else a family under another name would give the same episode once more.

    tried = Tried()
    tried.follow(event)                 # for every entry of the pilot's journal, then of the study's own
    check_untried(plan, tried)          # for whoever checks, seals or amends: raises, naming the cells
    tried.check(event, where)           # for a reader of results, at each entry: no attempt is on such a seed
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from sealkit.plan.load import Plan
from sealkit.plan.schema import Spec
from sealkit.seal.history import open_history, spell_slot
from sealkit.wire.errors import SealkitError, UntrustedError, UsageError
from sealkit.wire.events import Attempted, Event
from sealkit.wire.records import Level
from sealkit.wire.text import counted

_MOST_NAMED: Final = 6


class Tried:
    """The seeds that were tried before the confirmatory run: each with its first family and stage."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: dict[Level, tuple[Level, str]] = {}

    def follow(self, event: Event) -> None:
        """Take one more entry into account; attempts of the confirmatory run try nothing before it."""
        if isinstance(event, Attempted) and event.stage != "confirmatory":
            self._first.setdefault(event.slot.get("seed", ""), (event.slot.get("family", ""), event.stage))

    def check(self, event: Event, where: str) -> None:
        """`UntrustedError` naming `where` if this is a confirmatory attempt on a seed that was tried before."""
        if isinstance(event, Attempted) and event.stage == "confirmatory":
            seed = event.slot.get("seed", "")
            if seed in self._first:
                family, stage = self._first[seed]
                what = f"evidence: {spell_slot(event.slot)} is confirmatory, but {_cell(family, seed)} was tried before"
                remedy = "a seed that was tried may have been chosen for what came of it: seal a new study on others"
                raise UntrustedError(f"{what}, in the {stage} run", where=where, remedy=remedy)

    def among(self, spec: Spec) -> tuple[str, ...]:
        """The cells that were tried and whose seeds the plan runs confirmatorily, each with the stage."""
        found = ((seed, *self._first[seed]) for seed in spec.factors.seed if seed in self._first)
        return tuple(f"{_cell(family, seed)} ({stage})" for seed, family, stage in found)


def check_untried(plan: Plan, tried: Tried) -> None:
    """`UsageError` naming the cells if confirmatory seeds of the plan were tried already."""
    if cells := tried.among(plan.spec):
        named = "; ".join(cells[:_MOST_NAMED])
        more = f"; and {len(cells) - _MOST_NAMED} more" if len(cells) > _MOST_NAMED else ""
        what = f"{counted(len(cells), 'confirmatory seed was', 'confirmatory seeds were')} tried before: {named}{more}"
        raise UsageError(what, where=plan.where("factors", "seed"), remedy="take other seeds, which nobody has tried")


def tried_in(*folders: Path, inside: Path) -> Tried:
    """What the journals in these folders say was tried, as far as they hold; whether they do is for `verify` to say."""
    tried = Tried()
    for folder in folders:
        with contextlib.suppress(SealkitError, OSError):
            for entry in open_history(folder, inside=inside, first=None).entries():
                tried.follow(entry.event)
    return tried


def _cell(family: Level, seed: Level) -> str:
    return spell_slot({"family": family, "seed": seed})
