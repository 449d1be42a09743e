"""An episode replayed: the true state at every boundary, from the genesis and the deltas, and the faults there were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Act
from sealkit.wire.patch import apply
from sealkit.world.sdk import State

from .faults import Fault, fault_of


@dataclass(frozen=True, slots=True)
class Course:
    """An episode replayed: `states[k]` is the true state after act k with its contracts."""

    states: tuple[State, ...]
    faults: tuple[Fault, ...]


def replay(scenario: Scenario, acts: Sequence[Act]) -> Course:
    """The true states, and the faults that occurred."""
    state: State = dict(scenario.genesis)
    states: list[State] = []
    faults: list[Fault] = []
    contracts = {f"contract:{contract.id}": contract for contract in scenario.contracts}
    for act in acts:
        state = cast(State, apply(state, act.delta))
        for delta in act.deltas:
            before, state = state, cast(State, apply(state, delta.ops))
            contract = contracts.get(delta.cause)
            fault = None if contract is None else fault_of(contract, before, state, acts[act.n :])
            if fault is not None:
                faults.append(fault)
        states.append(state)
    return Course(states=tuple(states), faults=tuple(faults))
