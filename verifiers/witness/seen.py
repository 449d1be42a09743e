"""What `witness` sees: the whole record, with the slot as a digest, so that no level of it can be read.

`rule` judges that view. With the trusted slot in its place again the line is the episode's own, byte for byte, so
`rule(trusted, view(line))` and `check(trusted, line)` are one verdict.
"""

from __future__ import annotations

from typing import cast

from sealkit.wire.canon import decode_record, decode_value, digest_json, encode_value
from sealkit.wire.episode import Episode, Trusted
from sealkit.wire.records import Json
from sealkit.wire.verdict import Reason, Rejected, Verdict

from .check import collect
from .faults import Faults

Document = dict[str, Json]


def view(episode: bytes) -> bytes:
    """What this policy sees of an episode; `MalformedError` if that is none."""
    decode_record(episode, Episode, where="episode")
    document = cast(Document, decode_value(episode, where="episode"))
    return encode_value({**document, "slot": digest_json(document["slot"])})


def rule(trusted: Trusted, seen: bytes) -> Verdict:
    """The verdict on what is seen, and on nothing else."""
    return rule_with(trusted, seen, Faults())


def rule_with(trusted: Trusted, seen: bytes, faults: Faults) -> Verdict:
    """`rule`, with the contradictions going to `faults`."""
    document = cast(Document, decode_value(seen, where="view"))
    slot = dict(trusted.slot)
    found, due = document["slot"], digest_json(cast(Json, slot))
    if found != due:
        return Rejected(reasons=(Reason(origin="evidence", where="slot", found=str(found), due=due),))
    return collect(trusted, encode_value({**document, "slot": cast(Json, slot)}), faults)
