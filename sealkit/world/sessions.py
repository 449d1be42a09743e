"""Simulators as the environment plays them: nobody else holds the objects that their state is made of."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from sealkit.wire.canon import decode_value, encode_value
from sealkit.wire.declared import Contract
from sealkit.wire.episode import Action
from sealkit.wire.patch import apply
from sealkit.wire.records import Json, Patch
from sealkit.world.sdk import Session, State, Told

ActFunction: TypeAlias = Callable[[State, Action], tuple[State, Sequence[Told]]]


def copied(state: State) -> State:
    """The same state in objects of its own: whoever changes it changes nobody else's."""
    return cast(State, decode_value(encode_value(cast(Json, state))))


class PureSession:
    """A pure world as a session: the state is a value, an act makes the next one."""

    def __init__(self, state: State, act: ActFunction) -> None:
        self._state = state
        self._act = act

    def material(self) -> State:
        """The state that roots are taken of."""
        return self._state

    def act(self, action: Action) -> Sequence[Told]:
        """What an act does, and what the world tells of it."""
        self._state, told = self._act(self._state, action)
        return told

    def occur(self, contract: Contract, effect: Patch) -> None:
        """Apply an occurrence."""
        self._state = cast(State, apply(self._state, effect))

    def snapshot(self) -> bytes:
        """The state as bytes."""
        return encode_value(self._state)

    def restore(self, snapshot: bytes) -> None:
        """The state of a snapshot."""
        self._state = cast(State, decode_value(snapshot))


class DetachedSession:
    """A stateful simulator that may change its own state in place: all that goes in and out is copied."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.act = session.act
        self.snapshot = session.snapshot
        self.restore = session.restore

    def material(self) -> State:
        """The state that roots are taken of."""
        return copied(self._session.material())

    def occur(self, contract: Contract, effect: Patch) -> None:
        """Apply an occurrence."""
        self._session.occur(copy.deepcopy(contract), copy.deepcopy(effect))
