"""The journal's lines, and the rule that chains them.

A line is a canonical `Entry`: its number, the digest of the line before it (null for line 0), the time, and
the event. Nothing else orders the journal: the time is advisory, a clock may go back.

>>> first = encode_record(Entry(seq=0, prev=None, time="2026-11-30T12:00:00Z", event=Recovered(entry=0)))
>>> first
b'{"event":{"entry":0,"kind":"recovered"},"prev":null,"seq":0,"time":"2026-11-30T12:00:00Z","type":"sealkit/entry/v1"}'

`follow` checks one line against all lines before it, of which it needs only how many there were and the
digest of the last; that pair, with the sizes of journal.jsonl, episodes.jsonl and calls.jsonl so far, is a
`JournalHead`, kept in the file HEAD:

>>> entry, head = follow(EMPTY, first)
>>> head.count, short(head.digest), head.size
(1, '72aa32d591b9', 117)
>>> follow(head, first)
Traceback (most recent call last):
    ...
sealkit.wire.errors.UntrustedError: journal.jsonl entry 1: found entry number 0, due 1; an entry was dropped, doubled or moved

Refused: another spelling than the canonical one, an unknown kind or field, a number or `prev` that does not
follow. A head is quoted elsewhere as `N:sha256:…`: after N entries, the last has this digest.
"""  # noqa: E501 - a message is as long as it is

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from sealkit.wire.canon import MAX_LINE, decode_record, encode_record, reencode
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import MalformedError, UntrustedError
from sealkit.wire.records import Count, Json, Record

Stage: TypeAlias = Literal["pilot", "smoke", "confirmatory"]
Phase: TypeAlias = Literal[
    "before_any_episode", "after_smoke", "after_first_episode", "after_last_episode", "after_first_look",
    "after_analysis",
]  # fmt: skip
is_time = re.compile(
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)Z\Z"
).match
Slot: TypeAlias = dict[str, Annotated[int, Meta(ge=1 - 2**53, le=2**53 - 1)] | str]

# --- what may happen -----------------------------------------------------------------------------


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


class Entry(Record, frozen=True, omit_defaults=True, tag_field="type", tag="sealkit/entry/v1"):
    """One line of a journal.

    With `shard` it is the next entry of that shard's journal, taken over with the time that it has there. No other line
    has that member, not even as null: so lines are spelled as they were before there were shards.
    """

    seq: Count
    prev: str | None
    time: str
    event: Event
    shard: Count | None = None


# --- the chain -----------------------------------------------------------------------------------


class JournalHead(Record, frozen=True, tag_field="type", tag="sealkit/journal-head/v1"):
    """A journal up to its entry number `count - 1`: that line's digest, and how many bytes the three files have."""

    count: Count
    digest: str | None
    size: Count
    episodes_size: Count
    calls_size: Count

    def __str__(self) -> str:
        return f"{self.count}:{self.digest}"


_decoder = msgspec.json.Decoder(Entry)

EMPTY = JournalHead(count=0, digest=None, size=0, episodes_size=0, calls_size=0)


def follow(head: JournalHead, line: bytes, *, file: str = "journal.jsonl") -> tuple[Entry, JournalHead]:
    """The entry that `line`, without its newline, adds to the journal up to `head`, and the head after it."""
    try:
        entry = _decoder.decode(line)
        plain = reencode(entry) == line and line.isascii() and len(line) <= MAX_LINE
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        plain = False
    if not plain:  # whatever the fault is, the slower way names it; a line beyond ASCII may yet be in order
        entry = decode_record(line, Entry, where=f"{file} entry {head.count}")
    if entry.seq != head.count or entry.prev != head.digest or not is_time(entry.time):
        raise _broken(entry, head, f"{file} entry {head.count}")
    return entry, _after(head, line, entry.event)


def extend(head: JournalHead, event: Event, time: str, *, shard: int | None = None) -> tuple[bytes, JournalHead]:
    """The line, without its newline, that records `event` after `head`, and the head after it.

    `time` is in UTC, in whole seconds: `2026-11-30T12:00:00Z`. `shard` is for an entry taken over from one.
    """
    if not is_time(time):
        raise MalformedError(f"found {time!r}, due YYYY-MM-DDThh:mm:ssZ", where="time")
    line = encode_record(Entry(seq=head.count, prev=head.digest, time=time, event=event, shard=shard))
    return line, _after(head, line, event)


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


def _after(head: JournalHead, line: bytes, event: Event) -> JournalHead:
    episode = event.bytes + 1 if type(event) is EpisodeKept else 0
    calls = calls_of(event)
    return JournalHead(
        count=head.count + 1,
        digest=digest_bytes(line),
        size=head.size + len(line) + 1,
        episodes_size=head.episodes_size + episode,
        calls_size=head.calls_size + (0 if calls is None else calls.bytes),
    )


def _broken(entry: Entry, head: JournalHead, where: str) -> UntrustedError | MalformedError:
    if entry.seq != head.count:
        remedy = "an entry was dropped, doubled or moved"
        return UntrustedError(f"found entry number {entry.seq}, due {head.count}", where=where, remedy=remedy)
    if entry.prev != head.digest:
        found, due = (short(digest) if digest else "null" for digest in (entry.prev, head.digest))
        what = f"it follows {found}, but the entry before it is {due}"
        return UntrustedError(what, where=where, remedy="that entry was edited")
    return MalformedError(f"its time is {entry.time!r}, due YYYY-MM-DDThh:mm:ssZ", where=where)


_quoted = re.compile(r"(0|[1-9][0-9]{0,15}):(sha256:[0-9a-f]{64})\Z").match


def parse_head(text: str, *, where: str) -> tuple[int, str]:
    """Count and digest of a head quoted as `N:sha256:…`; `MalformedError` naming `where` if it is not."""
    match = _quoted(text)
    if match is None or match[1] == "0":
        raise MalformedError(
            f"found {text[:90]!r}, due N:sha256:… with N the number of entries, at least 1", where=where
        )
    return int(match[1]), match[2]
