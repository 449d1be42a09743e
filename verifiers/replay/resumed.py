"""Whether an act's own effect is that of another act, skipped, doubled or taken out of turn by a resume.

The recorded state before the act is honest. So run the world again on the actions as a faulty resume would
have carried them out, and see whether that leads to the recorded state. Effects of contracts are left out on
both sides: they hang on act numbers, which such a resume moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Action, Episode
from sealkit.wire.errors import SealkitError
from sealkit.wire.patch import apply, diff
from sealkit.wire.records import Json, Patch

State: TypeAlias = dict[str, Json]
Again: TypeAlias = Callable[[tuple[Action, ...]], Episode]


def resumed_wrong(scenario: Scenario, found: Episode, n: int, again: Again) -> str:
    """What the resume did to act `n`, in words; empty if no such story leads to the recorded state."""
    if n == 0:
        return ""
    try:
        earlier, before, after = _states(scenario, found, n)
    except SealkitError:
        return ""
    actions = tuple(act.action for act in found.acts[1 : n + 2])
    done, this, coming = actions[: n - 1], actions[n - 1], actions[n:]
    if not diff(before, after):
        return f"act {n} was skipped"
    stories: list[tuple[str, State, tuple[Action, ...], int]] = [
        (f"act {n} was carried out twice", before, (*done, this, this), 2),
    ]
    if done:
        stories.append((f"act {n - 1} was carried out again", before, (*done, done[-1], this), 2))
        stories.append((f"act {n - 1} was lost", earlier, (*done[:-1], this), 1))
    if coming:
        stories.append((f"act {n + 1} was carried out before act {n}", before, (*done, coming[0]), 1))
    for words, start, played, last in stories:
        if _leads(start, played, last, again, after):
            return words
    return ""


def _states(scenario: Scenario, found: Episode, n: int) -> tuple[State, State, State]:
    """The recorded states without act n-1's own effect, before act `n`, and after its own effect."""
    state: Json = dict(scenario.genesis)
    earlier = state
    for act in found.acts[:n]:
        earlier, state = state, apply(state, act.delta)
        for delta in act.deltas:
            earlier, state = _forced(earlier, delta.ops), apply(state, delta.ops)
    return cast(State, earlier), cast(State, state), cast(State, apply(state, found.acts[n].delta))


def _forced(state: Json, ops: Patch) -> Json:
    try:
        return apply(state, ops)
    except SealkitError:
        return state


def _leads(start: State, played: tuple[Action, ...], last: int, again: Again, after: State) -> bool:
    """Whether the own effects of the last acts of `played` lead from `start` to `after`."""
    try:
        state: Json = start
        for act in again(played).acts[-last:]:
            state = apply(state, act.delta)
    except SealkitError:  # the world does not take these actions, or they do not fit
        return False
    return not diff(state, after)
