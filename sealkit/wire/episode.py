"""What an episode leaves: its trace, its receipts, its closing; and what a verifier may rely on.

>>> from sealkit.wire.canon import encode_record
>>> encode_record(NotReached())
b'{"projection":"not_reached"}'
"""

from __future__ import annotations

from typing import TypeAlias

from sealkit.wire.declared import Rung
from sealkit.wire.records import Count, Json, Level, Patch, Record, Scalar

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
