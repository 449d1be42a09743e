"""The planned cells: every slot of a run, the blocks they are run in, and what each effect rests on.

A slot is one value for every factor, and `repetition` (from 0) where the plan repeats cells. Slots and blocks come
in plan order: arm, family, seed, further factors by name, each in the order of its levels, the last one fastest.
The order in which blocks, and arms inside them, are run is drawn by `sealkit.run` from these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Final, Literal, TypeAlias

import msgspec

from sealkit.plan.analysis import Contrast, Difference, PlusMinus, Single
from sealkit.plan.base import Selection
from sealkit.plan.schema import Spec
from sealkit.wire.errors import UntrustedError
from sealkit.wire.records import Level

Stage: TypeAlias = Literal["confirmatory", "smoke", "pilot"]
Slot: TypeAlias = dict[str, Level]
STAGES: Final[tuple[Stage, ...]] = ("smoke", "pilot", "confirmatory")
REPETITION: Final = "repetition"


def grid(spec: Spec, stage: Stage) -> dict[str, tuple[Level, ...]]:
    """The levels that `stage` runs of each factor, in plan order; empty if the plan has no such stage."""
    levels = dict(spec.factors.levels())
    if stage != "confirmatory":
        selection = spec.sample.smoke if stage == "smoke" else spec.sample.pilot
        if selection is None:
            return {}
        # Seeds of a smoke or pilot run are its own, so a selection names levels, it does not filter them.
        levels = {name: _picked(selection, name, known) for name, known in levels.items()}
    if spec.sample.repetitions > 1:
        levels[REPETITION] = tuple(range(spec.sample.repetitions))
    return levels


def _picked(selection: Selection, name: str, known: tuple[Level, ...]) -> tuple[Level, ...]:
    picked = selection.get(name, "all")
    return known if isinstance(picked, str) else picked


def slot_count(spec: Spec, stage: Stage) -> int:
    """How many slots `stage` has."""
    levels = grid(spec, stage)
    return math.prod(len(each) for each in levels.values()) if levels else 0


def slots(spec: Spec, stage: Stage) -> Iterator[Slot]:
    """Every slot of `stage`, in plan order."""
    levels = grid(spec, stage)
    if levels:
        yield from (dict(zip(levels, values, strict=True)) for values in product(*levels.values()))


class SlotIndex:
    """Numbers the slots of a stage in plan order, so that what is known of each takes bytes and not a key."""

    def __init__(self, spec: Spec, stage: Stage) -> None:
        self.count = slot_count(spec, stage)
        self._places: list[tuple[str, dict[Level, int]]] = [
            (name, {level: place for place, level in enumerate(levels)}) for name, levels in grid(spec, stage).items()
        ]

    def __call__(self, slot: Mapping[str, Level], *, where: str = "") -> int:
        """The slot's number; `UntrustedError` naming `where` if the plan has no such slot."""
        number = self.find(slot)
        if number is None:
            raise UntrustedError(f"evidence: the plan has no slot {dict(slot)!a}", where=where)
        return number

    def find(self, slot: Mapping[str, Level]) -> int | None:
        """The slot's number; None if the plan has no such slot."""
        number = 0
        try:
            for name, places in self._places:
                number = number * len(places) + places[slot[name]]
        except KeyError:
            return None
        return number if len(slot) == len(self._places) else None


def blocks(spec: Spec, stage: Stage) -> Iterator[tuple[Slot, ...]]:
    """The slots of `stage` in blocks: one for each combination of `block_by`, all arms of it together."""
    levels = grid(spec, stage)
    if not levels:
        return
    outer = spec.sample.block_by
    inner = [name for name in levels if name not in outer]
    for shared in product(*(levels[name] for name in outer)):
        fixed = dict(zip(outer, shared, strict=True))
        block = []
        for values in product(*(levels[name] for name in inner)):
            slot = {**fixed, **dict(zip(inner, values, strict=True))}
            block.append({name: slot[name] for name in levels})
        yield tuple(block)


class Basis(msgspec.Struct, frozen=True):
    """What an effect rests on as planned: `cells` of one arm, or joined `pairs`, or the pairs of two effects.

    With a `unit`, each of these holds as many units as its episode shows, which no plan can say.
    """

    kind: Literal["cells", "pairs", "effects"]
    count: int
    unit: str | None


def basis(spec: Spec, effect_name: str, metric_name: str) -> Basis:
    """What the effect rests on if nothing is excluded or missing."""
    effect = spec.effects[effect_name]
    unit = getattr(spec.metrics[metric_name], "unit", None)
    if isinstance(effect, Difference):
        parts = [basis(spec, name, metric_name).count for name in effect.difference.split(" - ")]
        return Basis("effects", sum(parts), unit)
    levels = spec.factors.levels()
    population = spec.populations[effect.population]
    inside = {name: _inside(population, name, known) for name, known in levels.items()}
    if isinstance(effect, Single):
        return Basis("cells", _cells(inside, effect.of), unit)
    plus, minus = sides(effect)
    shared = {name: _joined(known, plus.get(name), minus.get(name)) for name, known in inside.items()}
    return Basis("pairs", _cells(shared, {}), unit)


def sides(effect: Contrast | PlusMinus) -> tuple[Mapping[str, Level], Mapping[str, Level]]:
    """What the plus side and the minus side of a comparison fix."""
    if isinstance(effect, PlusMinus):
        return effect.plus, effect.minus
    plus, minus = effect.contrast.split(" - ")
    return {"arm": plus}, {"arm": minus}


def _inside(population: Selection, name: str, known: tuple[Level, ...]) -> tuple[Level, ...]:
    picked = population.get(name, "all")
    if isinstance(picked, str):
        return known
    wanted = set(picked)
    return tuple(level for level in known if level in wanted)


def _cells(levels: Mapping[str, tuple[Level, ...]], fixed: Mapping[str, Level]) -> int:
    return math.prod(int(fixed[name] in known) if name in fixed else len(known) for name, known in levels.items())


def _joined(known: tuple[Level, ...], plus: Level | None, minus: Level | None) -> tuple[Level, ...]:
    """The levels over which pairs run: one where a side fixes the factor, else all of the population's."""
    return known if plus is None and minus is None else known[:1]
