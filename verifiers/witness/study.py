"""What follows from one sealed scenario line: parsed and digested once, then shared by all its episodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from sealkit.wire.canon import decode_record, digest_record
from sealkit.wire.declared import (
    ActSight,
    After,
    AfterAct,
    Contract,
    CountSight,
    On,
    Restore,
    Scenario,
    Snapshot,
    StateSight,
    When,
)
from sealkit.wire.digest import digest_bytes
from sealkit.wire.patch import covers
from sealkit.wire.rules import Rule, compile_rule
from sealkit.wire.scenario import check_scenario
from sealkit.wire.trace import component_digests, root_digest

MAX_REMEMBERED = 512


@dataclass(frozen=True, slots=True)
class Declared:
    """A contract of the scenario, its place in the manifest's order, and the digest that receipts quote."""

    contract: Contract
    rank: int
    digest: str
    rule: Rule | None  # None: its time is on the agenda
    places: frozenset[str]  # pointers into the state that it sees
    sees_act: bool
    sees_readings: bool


Timed: TypeAlias = Declared | Snapshot | Restore


@dataclass(frozen=True, slots=True)
class Study:
    """The scenario and everything derived from it that does not hang on an episode."""

    scenario: Scenario
    digest: str
    genesis: dict[str, str]
    root: str
    declared: tuple[Declared, ...]
    by_id: dict[str, Declared]
    restores: dict[str, Restore]
    ruled: tuple[Declared, ...]
    at: dict[int, tuple[Timed, ...]]  # due after an act, by its number
    after: dict[str, tuple[tuple[int, Timed], ...]]  # due so many acts after a contract, by its id
    counted: frozenset[str]  # pointers whose readings some contract counts
    _allowed: dict[tuple[str, str], bool] = field(default_factory=dict)

    def may_change(self, action: str, pointer: str) -> bool:
        """Whether the footprint of `action` covers `pointer`; an action without a footprint changes nothing."""
        known = self._allowed.get((action, pointer))
        if known is None:
            known = any(covers(pattern, pointer) for pattern in self.scenario.footprints.get(action, ()))
            if len(self._allowed) < MAX_REMEMBERED:
                self._allowed[action, pointer] = known
        return known


@lru_cache(maxsize=256)
def open_study(line: bytes) -> Study:
    """The study of a scenario line; `MalformedError` if the line is no scenario that can be meant."""
    scenario = decode_record(line, Scenario, where="the trusted scenario")
    check_scenario(scenario)
    genesis = component_digests(scenario.genesis)
    declared = tuple(_declared(contract, rank) for rank, contract in enumerate(scenario.contracts))
    timed: tuple[Timed, ...] = (*declared, *scenario.snapshots, *scenario.restores)
    return Study(
        scenario=scenario,
        digest=digest_bytes(line),
        genesis=genesis,
        root=root_digest(genesis),
        declared=declared,
        by_id={item.contract.id: item for item in declared},
        restores={restore.id: restore for restore in scenario.restores},
        ruled=tuple(item for item in declared if item.rule is not None),
        at=_at(timed),
        after=_after(timed),
        counted=_counted(scenario),
    )


def _declared(contract: Contract, rank: int) -> Declared:
    sights = contract.sees.values()
    when = contract.when
    return Declared(
        contract=contract,
        rank=rank,
        digest=digest_record(contract),
        rule=compile_rule(when.rule, tuple(contract.sees), numbers="integer") if isinstance(when, On) else None,
        places=frozenset(sight.pointer for sight in sights if isinstance(sight, StateSight)),
        sees_act=any(isinstance(sight, ActSight) for sight in sights),
        sees_readings=any(isinstance(sight, CountSight) for sight in sights),
    )


def _counted(scenario: Scenario) -> frozenset[str]:
    sights = [sight for contract in scenario.contracts for sight in contract.sees.values()]
    return frozenset(sight.pointer for sight in sights if isinstance(sight, CountSight))


def _when(item: Timed) -> When:
    return item.contract.when if isinstance(item, Declared) else item.when


def _at(items: tuple[Timed, ...]) -> dict[int, tuple[Timed, ...]]:
    at: dict[int, tuple[Timed, ...]] = {}
    for item in items:
        when = _when(item)
        if isinstance(when, AfterAct):
            at[when.act] = (*at.get(when.act, ()), item)
    return at


def _after(items: tuple[Timed, ...]) -> dict[str, tuple[tuple[int, Timed], ...]]:
    after: dict[str, tuple[tuple[int, Timed], ...]] = {}
    for item in items:
        when = _when(item)
        if isinstance(when, After):
            after[when.contract] = (*after.get(when.contract, ()), (when.acts, item))
    return after
