"""What a verifier may answer about one episode.

`Accepted`, `Rejected(reasons)`, `Abstained(missing)` or `Errored(message)`. A rejection names origins,
the first faulty one first, in this fixed order of causes:

>>> ORIGINS
('evidence', 'lineage', 'boundary', 'environment', 'disclosure', 'authority', 'judgment')
>>> reason = Reason(origin="boundary", where="receipts[0].boundary.applied", found="3", due="2")
>>> print(reason)
boundary at receipts[0].boundary.applied: found 3, due 2
>>> Rejected(reasons=(reason,)).origin
'boundary'

Refused: a rejection without a reason, and a reason whose origin is not in the list.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from sealkit.wire.errors import MalformedError

Origin: TypeAlias = Literal["evidence", "lineage", "boundary", "environment", "disclosure", "authority", "judgment"]
ORIGINS: tuple[Origin, ...] = (
    "evidence", "lineage", "boundary", "environment", "disclosure", "authority", "judgment",
)  # fmt: skip


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One contradiction: its origin, where it stands, and what was found against what was due."""

    origin: Origin
    where: str
    found: str
    due: str

    def __str__(self) -> str:
        return f"{self.origin} at {self.where}: found {self.found}, due {self.due}"


class Accepted(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="accepted"):
    """Every equality that this verifier checks holds."""


class Rejected(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="rejected"):
    """The evidence contradicts the plan, itself or the world's rules; `reasons` is never empty."""

    reasons: tuple[Reason, ...]

    def __post_init__(self) -> None:
        if not self.reasons:
            raise MalformedError("a rejection without a reason", where="verdict")

    @property
    def origin(self) -> Origin:
        """The first faulty origin, in the order of `ORIGINS`."""
        return min((reason.origin for reason in self.reasons), key=ORIGINS.index)


class Abstained(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="abstained"):
    """The episode does not offer what this verifier needs; `missing` says what."""

    missing: str


class Errored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="verdict", tag="errored"):
    """The verifier itself failed; nothing is said about the episode."""

    message: str


Verdict: TypeAlias = Accepted | Rejected | Abstained | Errored
