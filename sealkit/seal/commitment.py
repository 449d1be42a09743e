"""The records that a plan's pins are digests of: the seal, and each amendment after it.

    pin 0    digest of plans/NAME.seal.json          one canonical `Seal` and a newline
    pin n    digest of plans/NAME.A-000n.json        one canonical `Amendment` and a newline, which names pin n-1

Both commit to the same things: the plan, the closure, the manifest and the source archive. An amendment also says
why, when, on which side of the first look, and what changed; all of that but the reason and the time can be derived
again from the files and the journal, and is (`seal.pins`, `seal.in_force`).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from sealkit.seal.closure import Closure
from sealkit.seal.manifest import ManifestSeal
from sealkit.wire.errors import MalformedError
from sealkit.wire.events import Phase, Slot
from sealkit.wire.records import Count, Record

MAX_REASON: Final = 2000

DataAccess: TypeAlias = Literal["none_collected", "collected_unseen", "seen"]


class PlanSeal(Record, frozen=True):
    """The plan: its path in the study, its id, the digests of its bytes, of its canonical parse, of each section."""

    path: str
    id: str
    file: str
    size: Count
    canonical: str
    sections: dict[str, str]


class SourceSeal(Record, frozen=True):
    """The source archive."""

    digest: str
    size: Count


class PilotSeal(Record, frozen=True):
    """What was piloted before the seal: episodes, recorded calls, and the head of the pilot's journal, or null."""

    episodes: Count
    calls: Count
    head: str | None


class Sibling(Record, frozen=True):
    """Another plan that was sealed in the same folder: its id and pin, and the head of its journal, or null.

    `paused` is the reason if its journal ended in a pause of the confirmatory run.
    """

    plan: str
    pin: str
    head: str | None
    paused: str | None


class Seal(Record, frozen=True, omit_defaults=True, tag_field="type", tag="sealkit/seal/v1"):
    """The commitment. `key_id` names the key that signed it, `time_authority` who timestamped it; null: nobody.

    `beside` are the plans that lay sealed in the folder already; seals up to sealkit 0.2.0 say nothing of them.
    """

    plan: PlanSeal
    closure: Closure
    manifest: ManifestSeal
    source: SourceSeal
    sealkit: str
    sealed_at: str
    data_access: DataAccess
    pilot: PilotSeal
    key_id: str | None
    time_authority: str | None
    beside: tuple[Sibling, ...] = ()


class FileChange(Record, frozen=True):
    """A file of the closure with its digest before and after; null where there is no such file."""

    path: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        how = "added" if self.before is None else "removed" if self.after is None else "changed"
        return f"{self.path} {how}"


class Changed(Record, frozen=True):
    """What an amendment changes, sorted.

    `protected` and `described` are sections of the plan; `layout` says that its bytes changed and no section did.
    `ruling` is the code that verdicts come from: the judge with what it imports, verifiers, and sealkit's wire, plan
    and infer. `harness` is every other file. `scenarios` counts the scenarios that were added, removed or are not as
    they were.
    """

    protected: tuple[str, ...]
    described: tuple[str, ...]
    layout: bool
    ruling: tuple[FileChange, ...]
    harness: tuple[FileChange, ...]
    scenarios: Count


class Impact(Record, frozen=True):
    """What came of recorded episodes when the amended code ran their slots again: how many ran, how many differed."""

    episodes: Count
    differ: Count


class Amendment(Record, frozen=True, tag_field="type", tag="sealkit/amendment/v1"):
    """A change after the seal. From its journal entry on, new episodes run under its pin.

    `head` is that of the journal when it was made. Each of `superseded` is a block, by the levels that its slots
    share: those slots are run again in every arm. `effect` says in words what becomes of the claims.
    """

    number: Count
    plan: PlanSeal
    previous: str
    reason: str
    made_at: str
    phase: Phase
    head: str
    closure: Closure
    manifest: ManifestSeal
    source: SourceSeal
    sealkit: str
    data_access: DataAccess
    changed: Changed
    impact: Impact | None
    superseded: tuple[Slot, ...]
    effect: tuple[str, ...]


Commitment: TypeAlias = Seal | Amendment


def amendment_name(number: int) -> str:
    """How amendment `number` is called: `A-0001`.

    >>> amendment_name(1)
    'A-0001'
    """
    return f"A-{number:04}"


def check_reason(reason: str, *, where: str) -> None:
    """Raise `MalformedError` unless `reason` is one line of words that can stand in a report."""
    if reason != reason.strip() or not reason or not reason.isprintable() or len(reason) > MAX_REASON:
        what = f"a reason is one printable line of 1 to {MAX_REASON} characters, found {reason[:80]!a}"
        raise MalformedError(what, where=where, remedy="say in a sentence why")
