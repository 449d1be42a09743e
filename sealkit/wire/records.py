"""The records that sealkit writes and verifiers read, as typed, frozen, canonical JSON.

A record is one line of canonical JSON (`wire.canon`) that carries `type: sealkit/<kind>/v1`. Decoding
checks every field, refuses unknown ones, re-encodes and compares bytes, so a line has one spelling:

>>> from sealkit.wire.canon import decode_record, encode_record
>>> line = encode_record(Component(name="doors", value={"d0": "open"}))
>>> line
b'{"name":"doors","type":"sealkit/component/v1","value":{"d0":"open"}}'
>>> decode_record(line, Component).value
{'d0': 'open'}

How the kinds hang together (→ reads "is committed to by"):

    component → root → act.root, receipt.roots         scenario → start → act 0 .prev
    (n, action, delta, prev) → head → receipt.boundary          act n → act n+1 .prev
    receipt → next receipt .previous                   all of it → episode.closing.record

Refused: unknown or missing fields, floats, integers beyond 2^53-1, keys outside ASCII, duplicate keys,
another spelling of the same value, nesting beyond 64, lines beyond 4 MiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    Json: TypeAlias = bool | int | str | list["Json"] | dict[str, "Json"] | None
else:
    # msgspec cannot build a recursive alias; `canon` walks such values itself.
    Json = Any

Scalar: TypeAlias = bool | int | str | None
Level: TypeAlias = int | str
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Rung: TypeAlias = Literal["A1", "A2", "A3", "A4", "A5"]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of everything below: frozen, and closed against unknown fields."""


# --- patches -------------------------------------------------------------------------------------


class Add(Record, frozen=True, tag_field="op", tag="add"):
    """RFC 6902 `add`: a new member, or an insertion into an array (`-` appends)."""

    path: str
    value: Json


class Replace(Record, frozen=True, tag_field="op", tag="replace"):
    """RFC 6902 `replace`: the target must exist."""

    path: str
    value: Json


class Remove(Record, frozen=True, tag_field="op", tag="remove"):
    """RFC 6902 `remove`: the target must exist."""

    path: str


Op: TypeAlias = Add | Replace | Remove
# Each operation copies what it changes: without a bound a hostile record costs more to follow than its size says.
MAX_PATCH = 4096
Patch: TypeAlias = Annotated[tuple[Op, ...], Meta(max_length=MAX_PATCH)]

# --- contracts -----------------------------------------------------------------------------------


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


# --- the trace -----------------------------------------------------------------------------------


class Component(Record, frozen=True, tag_field="type", tag="sealkit/component/v1"):
    """The preimage of one component's digest."""

    name: str
    value: Json


class Root(Record, frozen=True, tag_field="type", tag="sealkit/root/v1"):
    """The preimage of a root: the digest of every component of the material state."""

    components: dict[str, str]


class Start(Record, frozen=True, tag_field="type", tag="sealkit/start/v1"):
    """The identity of an episode, to which its trace and its receipts are chained."""

    pin: str
    slot: dict[str, Level]
    scenario: str
    genesis: str


class Action(Record, frozen=True):
    """What the agent asked for. Act 0, before the agent's first, is `begin`."""

    name: str
    args: dict[str, Json]


class Text(Record, frozen=True, tag_field="kind", tag="text"):
    """Words without a checkable fact."""

    text: str


class Fact(Record, frozen=True, tag_field="kind", tag="fact"):
    """A reading: `text` tells that the state at `pointer` is `value`."""

    pointer: str
    value: Scalar
    text: str


class Notice(Record, frozen=True, tag_field="kind", tag="notice"):
    """A contract's notice as the agent was shown it."""

    contract: str
    channel: str
    sender: str
    rung: Rung
    text: str


class InboxOpened(Record, frozen=True, tag_field="kind", tag="inbox"):
    """Marks that this return opens the inbox: the notices waiting there follow it."""


Segment: TypeAlias = Text | Fact | Notice | InboxOpened


class Delta(Record, frozen=True):
    """A change of material state with its cause: `contract:<id>` or `restore:<id>`."""

    cause: str
    ops: Patch


class Head(Record, frozen=True, tag_field="type", tag="sealkit/head/v1"):
    """The preimage of a trace head: the trace up to an act's own effect, before any contract applies."""

    n: Count
    action: Action
    delta: Patch
    prev: str


class Act(Record, frozen=True, tag_field="type", tag="sealkit/act/v1"):
    """One act: the action, its own delta, what contracts and restores then changed, the root, the return.

    `prev` is the digest of act n-1, and for act 0 that of the episode's `Start`. `calls` are digests of
    the model replies behind the action, empty for a scripted agent. `memory` is what the agent's arm keeps of
    this act: what it noted, believed, cited or was blocked for. No verifier rules on it; a diagnosis may read it.
    """

    n: Count
    action: Action
    delta: Patch
    head: str
    deltas: tuple[Delta, ...]
    root: str
    segments: tuple[Segment, ...]
    calls: tuple[str, ...]
    memory: dict[str, Json]
    prev: str


class Move(Record, frozen=True):
    """What an agent did at one act: all of the act that the world does not decide."""

    action: Action
    calls: tuple[str, ...]
    memory: dict[str, Json]


# --- receipts ------------------------------------------------------------------------------------


class ContractRef(Record, frozen=True):
    """Which declaration occurred: id, digest of the frozen contract, and for which time."""

    id: str
    digest: str
    occurrence: Count


class Boundary(Record, frozen=True):
    """The act after which it was due, that after which it was applied, and the trace head there."""

    due: Count
    applied: Count
    head: str


class Roots(Record, frozen=True):
    """Material root before and after, and the components that moved; equal roots are legitimate."""

    before: str
    after: str
    moved: tuple[str, ...]


class Shown(Record, frozen=True, tag_field="projection", tag="shown"):
    """What disclosed it: the notice, or the reading; `digest` is over the bytes of the text shown."""

    channel: str
    sender: str
    authority: Rung
    act: Count
    digest: str


class NotReached(Record, frozen=True, tag_field="projection", tag="not_reached"):
    """The episode ended before the disclosure was due."""


class NeverShown(Record, frozen=True, tag_field="projection", tag="never"):
    """The contract declares that nothing announces it."""


Projection: TypeAlias = Shown | NotReached | NeverShown


class Generation(Record, frozen=True):
    """How many restores came before, and the snapshot that the last of them restored."""

    generation: Count
    snapshot: str | None


class Receipt(Record, frozen=True, tag_field="type", tag="sealkit/receipt/v1"):
    """The six-field record of one occurrence, bound to its episode by the digest of its `Start`."""

    episode: str
    contract: ContractRef
    boundary: Boundary
    roots: Roots
    projection: Projection
    restore: Generation
    previous: str | None


class RestoreReceipt(Record, frozen=True, tag_field="type", tag="sealkit/restore-receipt/v1"):
    """The record of one declared restore, in one order and one chain with the receipts."""

    episode: str
    id: str
    boundary: Boundary
    roots: Roots
    restore: Generation
    previous: str | None


AnyReceipt: TypeAlias = Receipt | RestoreReceipt

# --- the episode ---------------------------------------------------------------------------------


class Counts(Record, frozen=True):
    """How much the episode holds: acts without act 0, receipts, restore receipts, notices shown."""

    acts: Count
    occurrences: Count
    restores: Count
    notices: Count


class Judged(Record, frozen=True, tag_field="type", tag="sealkit/judged/v1"):
    """The preimage of the judge's input: the scenario, the whole trace by its last act, the final root."""

    scenario: str
    trace: str
    root: str


class Closing(Record, frozen=True):
    """How the episode ended; `record` is the digest of the episode's bytes without the field `record`.

    `ended` is `final` (a final action), `budget` (the turn budget was used up) or another word of the
    plan's endings, with `why` in a sentence or empty.
    """

    root: str
    judge: str
    judged: str
    ended: str
    why: str
    counts: Counts
    record: str


class Episode(Record, frozen=True, tag_field="type", tag="sealkit/episode/v1"):
    """One try at one slot, whole: what a verifier reads and an admission rules on."""

    pin: str
    slot: dict[str, Level]
    scenario: str
    genesis: str
    acts: tuple[Act, ...]
    receipts: tuple[AnyReceipt, ...]
    closing: Closing


class Trusted(Record, frozen=True):
    """What a verifier may rely on: all of it comes from the sealed study, none from the episode.

    Where an external world measures for itself, `scenario` is the slot's assignment and `judge` is empty.
    """

    pin: str
    judge: str
    slot: dict[str, Level]
    scenario: bytes
