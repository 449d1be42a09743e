"""What a contract means at a boundary: what it sees, whether it is due, what it does, what it tells.

Recorder and verifiers share these few pure functions; everything else they do apart.

>>> from sealkit.wire.declared import *
>>> from sealkit.wire.records import Replace
>>> lock = Contract(
...     id="lock", times=1, sees={"held": StateSight(pointer="/items/k1/held")}, when=On(rule="held"),
...     then=(Replace(path="/doors/d0", value="locked"),),
...     tell=Tell(channel="none", sender="none", template=None, due=Never(), distort=None),
...     authority=Authority(source="house", rung="A1", scope="doors", binding=True))
>>> sight = Sighting(state={"items": {"k1": {"held": True}}}, action=Action(name="pick", args={}), shown={})
>>> values = see(lock, sight)
>>> values, is_due(lock, 4, values, applied={}), effect(lock, values)[0].value
({'held': True}, True, 'locked')
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from sealkit.wire.canon import MAX_INT
from sealkit.wire.declared import ActSight, AfterAct, Contract, CountSight, On, Restore, Snapshot, StateSight, WhenShown
from sealkit.wire.episode import Action
from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import resolve, tokens
from sealkit.wire.records import Add, Json, Op, Patch, Remove, Replace, Scalar
from sealkit.wire.rules import compile_rule

Shown: TypeAlias = Mapping[tuple[str, type, Scalar], int]  # (pointer, type of value, value) → facts shown so far
Values: TypeAlias = dict[str, Scalar]

_placeholder = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Sighting(msgspec.Struct, frozen=True):
    """What a contract may look at: the state after the act's own delta, the action, the facts shown before."""

    state: Mapping[str, Json]
    action: Action
    shown: Shown


def see(contract: Contract, at: Sighting) -> Values:
    """The value of each name in `sees`; null where a pointer leads nowhere, or an argument is no scalar."""
    return {name: _value_of(sight, at) for name, sight in contract.sees.items()}


def _value_of(sight: StateSight | ActSight | CountSight, at: Sighting) -> Scalar:
    if isinstance(sight, CountSight):
        return at.shown.get((sight.pointer, type(sight.equals), sight.equals), 0)
    if isinstance(sight, StateSight):
        value = _find(dict(at.state), sight.pointer)
    else:
        value = _find({"name": at.action.name, "args": at.action.args}, sight.pointer)
    if isinstance(value, (dict, list)):
        if isinstance(sight, ActSight) and len(tokens(sight.pointer)) > 1:
            return None  # what stands in an argument is the agent's doing, and must not end the episode
        raise MalformedError("a contract sees scalars only", where=sight.pointer, remedy="point at one value")
    return value


def _find(document: Json, pointer: str) -> Json:
    try:
        return resolve(document, pointer)
    except MalformedError:
        return None


def is_due(contract: Contract, k: int, values: Values, applied: Mapping[str, int]) -> bool:
    """Whether a contract not yet applied is due at the boundary after act `k`."""
    when = contract.when
    if isinstance(when, On):
        return compile_rule(when.rule, tuple(contract.sees), numbers="integer").evaluate(values) is True
    return falls_on(when_of=contract, k=k, applied=applied)


def falls_on(*, when_of: Contract | Snapshot | Restore, k: int, applied: Mapping[str, int]) -> bool:
    """Whether a time given by act number, or relative to another contract, is the boundary after act `k`."""
    when = when_of.when
    if isinstance(when, AfterAct):
        return when.act == k
    if isinstance(when, On):
        raise MalformedError("a rule is no fixed time", where=when_of.id)
    origin = applied.get(when.contract)
    return origin is not None and origin + when.acts == k


def effect(contract: Contract, values: Values) -> Patch:
    """The contract's patch with every `{"cel": RULE}` replaced by its value over `values`."""
    return tuple(_evaluated(op, contract, values) for op in contract.then)


def _evaluated(op: Op, contract: Contract, values: Values) -> Op:
    rule = None if isinstance(op, Remove) else rule_in(op.value)
    if isinstance(op, Remove) or rule is None:
        return op
    value = compile_rule(rule, tuple(contract.sees), numbers="integer").evaluate(values)
    if isinstance(value, int) and not -MAX_INT <= value <= MAX_INT:  # a rule reckons with 64 bits
        raise MalformedError("the rule gives an integer beyond 2^53-1", where=rule)
    return Add(path=op.path, value=value) if isinstance(op, Add) else Replace(path=op.path, value=value)


def rule_in(value: Json) -> str | None:
    """The rule that a patch value stands for, or None for a literal."""
    if isinstance(value, dict) and value.keys() == {"cel"}:
        rule = value["cel"]
        return rule if isinstance(rule, str) else None
    return None


def discloses(due: WhenShown, pointer: str, value: Scalar) -> bool:
    """Whether a reading of `value` at `pointer` is the one that discloses the change."""
    if pointer != due.pointer:
        return False
    return compile_rule(due.rule, ("reading",), numbers="integer").evaluate({"reading": value}) is True


def fill(template: str, values: Mapping[str, Scalar]) -> str:
    """`template` with each `{name}` replaced by its value in words."""
    return _placeholder.sub(lambda match: spell(values[match[1]]), template)


def placeholders(template: str) -> tuple[str, ...]:
    """The names that `template` stands open for."""
    return tuple(_placeholder.findall(template))


def spell(value: Scalar) -> str:
    """How a value reads in a text: strings as they are, everything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
