"""What a scenario declares before anything runs: contracts, snapshots, restores. One scenario is one manifest line.

A contract is one exogenous occurrence: when it is due, what it changes, what the agent is told of it, on whose word.
What that means at a boundary is in `wire.contract`; what a scenario must keep, in `wire.scenario`.

>>> from sealkit.wire.canon import encode_record
>>> encode_record(AfterAct(act=3))
b'{"act":3,"when":"after_act"}'
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from sealkit.wire.records import Count, Json, Patch, Record, Scalar

Rung: TypeAlias = Literal["A1", "A2", "A3", "A4", "A5"]


class StateSight(Record, frozen=True, tag_field="see", tag="state"):
    """A named scalar: what stands at `pointer` in the material state after the act."""

    pointer: str


class ActSight(Record, frozen=True, tag_field="see", tag="act"):
    """A named scalar: what stands at `pointer` in the action, `{"name":…,"args":{…}}`; null if nothing does."""

    pointer: str


class CountSight(Record, frozen=True, tag_field="see", tag="count"):
    """A named integer: how many facts at `pointer` with value `equals` the returns so far have shown."""

    pointer: str
    equals: Scalar


Sight: TypeAlias = StateSight | ActSight | CountSight


class AfterAct(Record, frozen=True, tag_field="when", tag="after_act"):
    """Due at the boundary after act `act`; 0 is before the agent's first act."""

    act: Count


class On(Record, frozen=True, tag_field="when", tag="on"):
    """Due at the first boundary at which `rule`, over the contract's `sees`, holds."""

    rule: str


class After(Record, frozen=True, tag_field="when", tag="after"):
    """Due `acts` acts after the contract named `contract` was applied."""

    contract: str
    acts: Count


When: TypeAlias = AfterAct | On | After


class ThisReturn(Record, frozen=True, tag_field="due", tag="this_return"):
    """The notice belongs to the return of the act after which the contract applies."""


class ActsLater(Record, frozen=True, tag_field="due", tag="acts_later"):
    """The notice belongs to the return `acts` acts after the contract applied."""

    acts: Count


class WhenShown(Record, frozen=True, tag_field="due", tag="when_shown"):
    """The first later reading of `pointer` for which `rule` (over `reading`) holds discloses the change."""

    pointer: str
    rule: str


class Inbox(Record, frozen=True, tag_field="due", tag="inbox"):
    """The notice waits until a return opens the inbox."""


class Never(Record, frozen=True, tag_field="due", tag="never"):
    """Nothing announces the change; the agent can only observe its effects."""


Due: TypeAlias = ThisReturn | ActsLater | WhenShown | Inbox | Never


class Distort(Record, frozen=True):
    """A declared false reading: the next fact shown for `pointer` reads `reading`; the state is not changed."""

    pointer: str
    reading: Scalar


class Tell(Record, frozen=True):
    """How the agent is to learn of the change. `template` is the notice's text, with `{name}` for names in `sees`."""

    channel: str
    sender: str
    template: str | None
    due: Due
    distort: Distort | None


class Authority(Record, frozen=True):
    """Who stands behind the change, on which rung of the ladder, over what, and whether it binds."""

    source: str
    rung: Rung
    scope: str
    binding: bool


class Contract(Record, frozen=True, tag_field="type", tag="sealkit/contract/v1"):
    """One declared exogenous occurrence: when it is due, what it does, what is told, on whose authority.

    A value in `then` may be `{"cel": RULE}`: the rule's value over `sees` at the boundary.
    """

    id: str
    times: Literal[1]
    sees: dict[str, Sight]
    when: When
    then: Patch
    tell: Tell
    authority: Authority


class Snapshot(Record, frozen=True):
    """The material state is kept under `id` at this boundary, after the contracts due there."""

    id: str
    when: AfterAct | After


class Restore(Record, frozen=True):
    """The material state becomes that of `snapshot` again at this boundary, after contracts and snapshots."""

    id: str
    snapshot: str
    when: AfterAct | After


class Scenario(Record, frozen=True, tag_field="type", tag="sealkit/scenario/v1"):
    """What (family, seed) fixes, the same in every arm: one line of the sealed manifest.

    `footprints` names, for each action, the pointers that it may change (`*` stands for one whole token);
    `finals` the actions that end an episode; `max_acts` the turn budget in acts.
    """

    world: str
    family: str
    seed: Count
    params: dict[str, Json]
    genesis: dict[str, Json]
    briefing: str
    contracts: tuple[Contract, ...]
    snapshots: tuple[Snapshot, ...]
    restores: tuple[Restore, ...]
    footprints: dict[str, tuple[str, ...]]
    finals: tuple[str, ...]
    max_acts: Count
