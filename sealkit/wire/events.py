"""What the journal records: one event an entry, each a record whose `kind` names it.

The order of the events of one attempt is fixed by who writes them: `attempted` is on disk before the attempt's first
call, and `episode` or `failed` ends it. What chains them is `wire.chain`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.records import Count, Json, Record

Stage: TypeAlias = Literal["pilot", "smoke", "confirmatory"]
Phase: TypeAlias = Literal[
    "before_any_episode", "after_smoke", "after_first_episode", "after_last_episode", "after_first_look",
    "after_analysis",
]  # fmt: skip
Slot: TypeAlias = dict[str, Annotated[int, Meta(ge=1 - 2**53, le=2**53 - 1)] | str]


class Sealed(Record, frozen=True, tag_field="kind", tag="sealed"):
    """The plan `plan` was sealed; `pin` is the digest of its seal. The first entry of a confirmatory journal."""

    plan: str
    pin: str


class Opened(Record, frozen=True, tag_field="kind", tag="opened"):
    """A run began or went on, under this sealkit and in the environment whose record has this digest."""

    stage: Stage
    pin: str
    sealkit: str
    environment: str


class Attempted(Record, frozen=True, tag_field="kind", tag="attempted"):
    """Try number `attempt`, from 1, at a slot begins; on disk before its first call."""

    stage: Stage
    pin: str
    slot: Slot
    attempt: Count


class CallLines(Record, frozen=True):
    """The next `count` lines of calls.jsonl, of `bytes` bytes with their newlines; `digest` is over all of these."""

    count: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    bytes: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    digest: str


class EpisodeKept(Record, frozen=True, tag_field="kind", tag="episode"):
    """That try left an episode: the next line of episodes.jsonl, of `bytes` bytes without its newline.

    `calls` are the lines of that try's calls to models, null if it made none; so in `Failed` and `Paused`.
    """

    stage: Stage
    pin: str
    slot: Slot
    attempt: Count
    digest: str
    bytes: Count
    calls: CallLines | None


class Failed(Record, frozen=True, tag_field="kind", tag="failed"):
    """That try ended without an episode: `ending` is a word of the plan's endings, `why` a sentence."""

    stage: Stage
    pin: str
    slot: Slot
    attempt: Count
    ending: str
    why: str
    calls: CallLines | None


class Asked(Record, frozen=True, tag_field="kind", tag="asked"):
    """Try number `attempt`, from 1, at a reading of a slot's episode begins; on disk before its first call.

    `episode` is the digest of the line that is shown.
    """

    stage: Stage
    pin: str
    slot: Slot
    attempt: Count
    episode: str
    reading: str
    level: str


Heard: TypeAlias = Literal["said", "unreadable", "provider_error", "harness_error"]


class Read(Record, frozen=True, tag_field="kind", tag="read"):
    """That try at a reading ended: what was `said` at this level, as the judge read it.

    `ending` is `said`; or nothing was said, and `why` is a
    sentence: the judge can read nothing in the reply (`unreadable`), no reply came, or the judge's own code broke.
    """

    stage: Stage
    pin: str
    slot: Slot
    attempt: Count
    episode: str
    reading: str
    level: str
    said: Json
    ending: Heard
    why: str
    calls: CallLines | None


class Paused(Record, frozen=True, tag_field="kind", tag="paused"):
    """A run stopped before its end and finalised no slot by it: a word, and a sentence or nothing.

    `calls` are those of all tries that it cut off.
    """

    stage: Stage
    reason: str
    detail: str
    calls: CallLines | None


class Closed(Record, frozen=True, tag_field="kind", tag="closed"):
    """A run reached its end: slots of the plan, episodes kept, tries without an episode, slots without one."""

    stage: Stage
    slots: Count
    episodes: Count
    abandoned: Count
    missing: Count


class Recovered(Record, frozen=True, tag_field="kind", tag="recovered"):
    """A crash had left HEAD one behind: it now counts entry number `entry`, which was whole."""

    entry: Count


class Repaired(Record, frozen=True, tag_field="kind", tag="repaired"):
    """Bytes that a crash had left behind the last whole line of `file` were moved, as they were, to `moved_to`."""

    file: str
    offset: Count
    bytes: Count
    digest: str
    moved_to: str


class Verified(Record, frozen=True, tag_field="kind", tag="verified"):
    """Verifiers, by name with the digest of their tree, ruled on so many episodes; `rejected` by first origin."""

    verifiers: dict[str, str]
    accepted: Count
    rejected: dict[str, Count]
    abstained: Count
    errored: Count


class ArmCounts(Record, frozen=True):
    """How the slots of one arm were ruled; `excluded` by origin."""

    admitted: Count
    excluded: dict[str, Count]
    errored: Count
    missing: Count


class Admitted(Record, frozen=True, tag_field="kind", tag="admitted"):
    """Every confirmatory slot was ruled on."""

    arms: dict[str, ArmCounts]


class Looked(Record, frozen=True, tag_field="kind", tag="looked"):
    """Someone saw confirmatory outcomes through sealkit: `what` they asked for."""

    what: str


class Ruled(Record, frozen=True):
    """The verdict on a hypothesis; `metric` is the one that was asked about, where the hypothesis asks of several."""

    hypothesis: str
    metric: str | None
    verdict: str


class Analysed(Record, frozen=True, omit_defaults=True, tag_field="kind", tag="analysed"):
    """The preregistered analysis was made; `results` is the digest of its file, `verdicts` what it came to.

    Entries from before verdicts were recorded have none; so have those of plans without hypotheses.
    """

    results: str
    verdicts: tuple[Ruled, ...] = ()


class Published(Record, frozen=True, tag_field="kind", tag="published"):
    """The edition `edition` was written; `results` is the digest of its results.json."""

    edition: str
    results: str


class Amended(Record, frozen=True, tag_field="kind", tag="amended"):
    """Amendment `number`, whose file has the digest `pin`, is in force from here on; `phase` says where it stood."""

    number: Count
    pin: str
    phase: Phase


class Withheld(Record, frozen=True, tag_field="kind", tag="withheld"):
    """The body of this digest, a request or a reply, was taken out of blobs/ on purpose; what hangs on it is unread."""

    digest: str
    reason: str


class Imported(Record, frozen=True, tag_field="kind", tag="imported"):
    """The slots of `arm` take their episodes from the log whose `bytes` bytes have the digest `log`.

    `created` is when the log says it was begun; `before_seal` that this is before the seal's own time.
    """

    stage: Stage
    pin: str
    arm: str
    format: Literal["inspect"]
    log: str
    bytes: Count
    created: str
    before_seal: bool


class Withdrawn(Record, frozen=True, tag_field="kind", tag="withdrawn"):
    """The authors withdraw `what`, the name of a claim, or `all` of them."""

    what: str
    reason: str


class Sharded(Record, frozen=True, tag_field="kind", tag="sharded"):
    """Shard `shard` of `of` of the confirmatory run begins, under `pin`: the first entry of the shard's own journal.

    `seal` is the digest of the plan's seal; `after` the head that the main journal had, as `N:sha256:…`.
    """

    plan: str
    seal: str
    pin: str
    shard: Count
    of: Count
    after: str


class Merged(Record, frozen=True, tag_field="kind", tag="merged"):
    """All entries of the journal of shard `shard` of `of`, which ends in `head`, are taken over from here on."""

    shard: Count
    of: Count
    head: JournalHead


class ShardHead(Record, frozen=True, tag_field="kind", tag="shard_head"):
    """In this folder the journal of shard `shard` of `of` stood at `head`, as `N:sha256:…`: a run of it begins or ends.

    At the beginning the last entry counted is `opened`, and no attempt of that run was begun yet.
    """

    shard: Count
    of: Count
    head: str


class ShardLost(Record, frozen=True, tag_field="kind", tag="shard_lost"):
    """A shard that began in this folder was not here any more at the merge: its slots are left to the main run."""

    shard: Count
    of: Count


Event: TypeAlias = (
    Sealed
    | Opened
    | Attempted
    | EpisodeKept
    | Failed
    | Asked
    | Read
    | Paused
    | Closed
    | Recovered
    | Repaired
    | Verified
    | Admitted
    | Looked
    | Analysed
    | Published
    | Amended
    | Withheld
    | Imported
    | Withdrawn
    | Sharded
    | Merged
    | ShardHead
    | ShardLost
)


# What the calls of one attempt, or of all the attempts that a pause cut off, may come to.
MAX_CALLS = 32 * 1024 * 1024


def call_lines(block: bytes) -> CallLines | None:
    r"""What an entry says of `block`, whole lines of calls.jsonl; None if there are none.

    >>> call_lines(b'{"n":1}\n{"n":2}\n').count
    2
    """
    if not block:
        return None
    if not block.endswith(b"\n"):
        raise MalformedError("the last line has no newline", where="calls.jsonl")
    return CallLines(count=block.count(b"\n"), bytes=len(block), digest=digest_bytes(block))


def calls_of(event: Event) -> CallLines | None:
    """The lines of calls.jsonl that an event tells of."""
    return event.calls if isinstance(event, (EpisodeKept, Failed, Paused, Read)) else None
