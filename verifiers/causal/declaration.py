"""What the public declaration adds: what was due, what it does, what actions may write, when it ends.

Same questions as anybody can ask who reads the declaration beside the trace. Nothing of notices: they are not seen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sealkit.wire.contract import Sighting, Values, discloses, effect, falls_on, is_due, see
from sealkit.wire.declared import Contract, Restore, Scenario, WhenShown
from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import apply, covers, diff
from sealkit.wire.records import Scalar
from sealkit.wire.verdict import Origin

from .trace import Applied, Broken, Moment, State, Trace


@dataclass(slots=True)
class Due:
    """What was due by the declaration on the states of the trace."""

    contracts: dict[str, tuple[int, Values]] = field(default_factory=dict)
    restores: dict[str, int] = field(default_factory=dict)
    kept: dict[str, State] = field(default_factory=dict)


def check_declared(trace: Trace, scenario: Scenario) -> None:
    """Hold the trace against the scenario."""
    due = _what_was_due(trace, scenario)
    for contract in scenario.contracts:
        _settle(trace, contract, due)
    for restore in scenario.restores:
        _settle_restore(trace, restore, due)
    known = {f"contract:{item.id}" for item in scenario.contracts} | {
        f"restore:{item.id}" for item in scenario.restores
    }
    for item in trace.applied:
        if item.event not in known:
            origin: Origin = "lineage" if item.event.startswith("restore:") else "environment"
            trace.faults.add(origin, f"steps[{item.act}].effects", item.event, "an event of the declaration")
    _check_order(trace, scenario, due)
    _check_footprints(trace, scenario)
    _check_end(trace, scenario)
    _check_readings(trace, scenario)


def _what_was_due(trace: Trace, scenario: Scenario) -> Due:
    due = Due()
    applied: dict[str, int] = {}
    shown: Counter[tuple[str, type, Scalar]] = Counter()
    for n, moment in enumerate(trace.moments):
        at = Sighting(state=moment.own, action=moment.step.action, shown=shown)
        for contract in scenario.contracts:
            if contract.id in due.contracts:
                continue
            try:
                values = see(contract, at)
                if is_due(contract, n, values, applied):
                    due.contracts[contract.id] = (n, values)
            except MalformedError as error:
                trace.faults.add("environment", f"steps[{n}]", error, "a state that contracts can be read against")
                raise Broken from error
        for item in trace.applied:
            if item.act == n:
                applied.setdefault(item.event.partition(":")[2], n)
        _note_lineage(scenario, n, moment, applied, due, trace)
        for read in moment.step.reads:
            shown[read.pointer, type(read.value), read.value] += 1
    return due


def _note_lineage(scenario: Scenario, n: int, moment: Moment, applied: dict[str, int], due: Due, trace: Trace) -> None:
    before_restores = next(
        (item.before for item in trace.applied if item.act == n and item.event.startswith("restore:")), moment.post
    )
    for snapshot in scenario.snapshots:
        if falls_on(when_of=snapshot, k=n, applied=applied):
            due.kept[snapshot.id] = before_restores
    for restore in scenario.restores:
        if falls_on(when_of=restore, k=n, applied=applied):
            due.restores[restore.id] = n


def _applications(trace: Trace, event: str) -> list[Applied]:
    return [item for item in trace.applied if item.event == event]


def _settle(trace: Trace, contract: Contract, due: Due) -> None:
    when, where = due.contracts.get(contract.id), f"contract {contract.id}"
    found = _applications(trace, f"contract:{contract.id}")
    if not found:
        if when is not None:
            origin: Origin = "lineage" if _restore_by(trace, when[0]) else "environment"
            trace.faults.add(origin, where, "not executed", f"executed after act {when[0]}")
        return
    first = found[0]
    if when is None or first.act != when[0]:
        moved = min(first.act, when[0]) if when else first.act
        origin = "lineage" if _restore_by(trace, moved) else "boundary"
        trace.faults.add(origin, where, f"after act {first.act}", f"after act {when[0]}" if when else "not here")
    elif not _leads(first, contract, when[1]):
        trace.faults.add("environment", where, diff(first.before, first.after), contract.then)


def _restore_by(trace: Trace, act: int) -> bool:
    return any(item.event.startswith("restore:") and item.act < act for item in trace.applied)


def _leads(item: Applied, contract: Contract, values: Values) -> bool:
    try:
        return not diff(apply(item.before, effect(contract, values)), item.after)
    except MalformedError:
        return False


def _settle_restore(trace: Trace, restore: Restore, due: Due) -> None:
    when, where = due.restores.get(restore.id), f"restore {restore.id}"
    found = _applications(trace, f"restore:{restore.id}")
    if not found:
        if when is not None:
            trace.faults.add("lineage", where, "not executed", f"after act {when}")
        return
    if found[0].act != when:
        trace.faults.add("boundary", where, f"after act {found[0].act}", "not here" if when is None else f"act {when}")
    elif restore.snapshot in due.kept and diff(due.kept[restore.snapshot], found[0].after):
        trace.faults.add("lineage", where, "another state", f"that of snapshot {restore.snapshot}")


def _check_order(trace: Trace, scenario: Scenario, due: Due) -> None:
    """Contracts of one boundary are executed in the order of the manifest, and before restores."""
    ranks = {f"contract:{contract.id}": rank for rank, contract in enumerate(scenario.contracts)}
    for item, other in zip(trace.applied, trace.applied[1:], strict=False):
        here = due.contracts.get(other.event.partition(":")[2])
        if item.act != other.act or other.event not in ranks or here is None or here[0] != other.act:
            continue
        if item.event.startswith("restore:"):
            trace.faults.add("lineage", f"steps[{other.act}].effects", f"{other.event} after a restore", "before it")
        elif ranks.get(item.event, -1) > ranks[other.event]:
            trace.faults.add("boundary", f"steps[{other.act}].effects", f"{other.event} last", "the manifest's order")


def _check_footprints(trace: Trace, scenario: Scenario) -> None:
    for n, moment in enumerate(trace.moments):
        allowed = scenario.footprints.get(moment.step.action.name, ())
        for op in moment.step.writes:
            if not any(covers(pattern, op.path) for pattern in allowed):
                words = f"{moment.step.action.name} writes {op.path}"
                trace.faults.add("environment", f"steps[{n}].writes", words, "a write inside its footprint")


def _check_end(trace: Trace, scenario: Scenario) -> None:
    steps, ended = trace.seen.steps, trace.seen.ended
    made = len(steps) - 1
    for step in steps[:-1]:
        if step.action.name in scenario.finals:
            trace.faults.add("evidence", f"steps[{step.n}]", "a final action, and more behind it", "the end")
    final = steps[-1].action.name in scenario.finals
    due = "final" if final else "budget" if made == scenario.max_acts else ""
    if made > scenario.max_acts:
        trace.faults.add("evidence", "steps", f"{made} acts", f"at most {scenario.max_acts}")
    elif (due and ended != due) or (not due and ended in ("final", "budget")):
        trace.faults.add("evidence", "ended", ended, due or "another ending")


def _check_readings(trace: Trace, scenario: Scenario) -> None:
    """Each reading that is not so is a distortion that the declaration has, for the next reading of its place."""
    waiting: dict[str, Contract] = {}
    false = set(trace.unexplained)
    for n, moment in enumerate(trace.moments):
        for contract in scenario.contracts:
            if isinstance(contract.tell.due, WhenShown) and any(
                item.act == n and item.event == f"contract:{contract.id}" for item in trace.applied
            ):
                waiting[contract.id] = contract
        for read in moment.step.reads:
            here = [item for item in waiting.values() if _due(item).pointer == read.pointer]
            told = next((item.tell.distort for item in here if item.tell.distort is not None), None)
            lie = told is not None and type(told.reading) is type(read.value) and told.reading == read.value
            if ((n, read.pointer) in false and not lie) or (told is not None and not lie):
                trace.faults.add("disclosure", f"steps[{n}].reads", f"{read.pointer} = {read.value!r}", "what was so")
            for item in here:
                if _discloses(item, read.pointer, read.value):
                    del waiting[item.id]


def _due(contract: Contract) -> WhenShown:
    assert isinstance(contract.tell.due, WhenShown)
    return contract.tell.due


def _discloses(contract: Contract, pointer: str, value: Scalar) -> bool:
    try:
        return discloses(_due(contract), pointer, value)
    except MalformedError:
        return False
