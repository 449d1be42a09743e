"""What a scenario must keep, checked once when it is made and again by whoever reads it from a manifest.

>>> from sealkit.wire.records import *
>>> scenario = Scenario(
...     world="toy", family="calm", seed=0, params={}, genesis={"sea": {"waves": "low"}}, briefing="Sail.",
...     contracts=(), snapshots=(), restores=(), footprints={"sail": ("/boat/at",)}, finals=("anchor",), max_acts=3)
>>> check_scenario(scenario)
Traceback (most recent call last):
    ...
sealkit.wire.errors.MalformedError: footprints.sail: pointer /boat/at is in no component; components: sea

Refused: pointers outside the declared components, names twice, references to what is not there, rules
that do not compile, templates over names that nothing sees, distortions that are not read, times beyond
one, more than 64 operations.
"""

from __future__ import annotations

from sealkit.wire.contract import placeholders, rule_in
from sealkit.wire.declared import ActSight, ActsLater, After, AfterAct, Contract, On, Scenario, WhenShown
from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import tokens
from sealkit.wire.records import Remove
from sealkit.wire.rules import compile_rule
from sealkit.wire.trace import RESERVED

MAX_OPS = 64


def check_scenario(scenario: Scenario) -> None:
    """Raise `MalformedError`, naming the place inside the scenario, unless every declaration can be meant."""
    if not scenario.genesis:
        raise MalformedError("a scenario without material state", where="genesis")
    if scenario.max_acts < 1:
        raise MalformedError(f"found {scenario.max_acts}, due at least 1", where="max_acts")
    for name in (*scenario.footprints, *scenario.finals):
        if name in RESERVED:
            raise MalformedError(f"the action {name!r} is sealkit's own word", where="footprints", remedy="rename it")
    if not scenario.finals:
        raise MalformedError("no action ends the episode", where="finals")
    for name, pointers in scenario.footprints.items():
        for pointer in pointers:
            _check_pointer(scenario, pointer, f"footprints.{name}")
    ids = [contract.id for contract in scenario.contracts]
    ids += [snapshot.id for snapshot in scenario.snapshots] + [restore.id for restore in scenario.restores]
    for id in ids:
        if ids.count(id) > 1:
            raise MalformedError(f"two declarations are called {id!r}", where="contracts")
    for contract in scenario.contracts:
        _check_contract(scenario, contract)
    _check_lineage(scenario)


def _check_contract(scenario: Scenario, contract: Contract) -> None:
    where = f"contracts.{contract.id}"
    for name, sight in contract.sees.items():
        if not isinstance(sight, ActSight):
            _check_pointer(scenario, sight.pointer, f"{where}.sees.{name}")
        elif tokens(sight.pointer)[:1] not in (("name",), ("args",)):
            what = f"pointer {sight.pointer} is in no part of an action; parts: /name, /args"
            raise MalformedError(what, where=f"{where}.sees.{name}")
    if isinstance(contract.when, On):
        _check_rule(contract.when.rule, tuple(contract.sees), f"{where}.when")
    else:
        _check_time(scenario, contract.id, contract.when, where)
    if len(contract.then) > MAX_OPS:
        raise MalformedError(f"found {len(contract.then)} operations, due at most {MAX_OPS}", where=f"{where}.then")
    for op in contract.then:
        _check_pointer(scenario, op.path, f"{where}.then")
        rule = None if isinstance(op, Remove) else rule_in(op.value)
        if rule is not None:
            _check_rule(rule, tuple(contract.sees), f"{where}.then")
    _check_tell(scenario, contract, f"{where}.tell")


def _check_tell(scenario: Scenario, contract: Contract, where: str) -> None:
    tell = contract.tell
    for name in placeholders(tell.template or ""):
        if name not in contract.sees:
            raise MalformedError(f"{{{name}}} stands in the template, and nothing in sees is called so", where=where)
    if isinstance(tell.due, WhenShown):
        _check_pointer(scenario, tell.due.pointer, where)
        _check_rule(tell.due.rule, ("reading",), f"{where}.due")
    elif isinstance(tell.due, ActsLater) and tell.due.acts < 1:
        raise MalformedError("acts_later 0 is this_return", where=where, remedy="use this_return")
    if tell.distort is not None and tell.due != WhenShown(pointer=tell.distort.pointer, rule="true"):
        raise MalformedError(
            "a distortion is of the next reading",
            where=where,
            remedy="let it be due when_shown on its pointer, if true",
        )


def _check_rule(text: str, names: tuple[str, ...], where: str) -> None:
    try:
        compile_rule(text, names, numbers="integer")
    except MalformedError as error:
        raise MalformedError(error.what, where=f"{where}: {error.where}", remedy=error.remedy) from error


def _check_lineage(scenario: Scenario) -> None:
    kept = {snapshot.id for snapshot in scenario.snapshots}
    for snapshot in scenario.snapshots:
        _check_time(scenario, snapshot.id, snapshot.when, snapshot.id)
    for restore in scenario.restores:
        _check_time(scenario, restore.id, restore.when, restore.id)
        if restore.snapshot not in kept:
            raise MalformedError(f"restores {restore.snapshot!r}, which no snapshot keeps", where=restore.id)


def _check_time(scenario: Scenario, id: str, when: AfterAct | After, where: str) -> None:
    if isinstance(when, AfterAct):
        return
    if when.contract == id or when.contract not in {contract.id for contract in scenario.contracts}:
        raise MalformedError(f"due after {when.contract!r}, which is no other contract", where=where)
    if when.acts < 1:
        raise MalformedError("due 0 acts after another contract", where=where, remedy="let it be 1 act or more")


def _check_pointer(scenario: Scenario, pointer: str, where: str) -> None:
    parts = tokens(pointer)
    if not parts or parts[0] not in scenario.genesis:
        known = ", ".join(sorted(scenario.genesis))
        raise MalformedError(f"pointer {pointer} is in no component; components: {known}", where=where)
