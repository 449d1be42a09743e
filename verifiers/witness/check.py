"""Witness: does this episode's evidence hold against the sealed scenario? From bytes alone; see SPEC.md."""

from __future__ import annotations

from sealkit.wire.canon import decode_record, digest_record
from sealkit.wire.episode import Episode, Judged, Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.verdict import Verdict

from .faults import Faults
from .follow import step
from .identity import check_identity
from .receipts import check_receipts
from .returns import check_return
from .settle import settle
from .study import open_study
from .walk import Lost, Walk, start_walk


def check(trusted: Trusted, episode: bytes) -> Verdict:
    """Accepted, or Rejected with the first faulty origin first; raises only if the trusted scenario is malformed."""
    return collect(trusted, episode, Faults())


def collect(trusted: Trusted, episode: bytes, faults: Faults) -> Verdict:
    """`check`, with the contradictions going to `faults`: `ablated.py` hands in some that do not hear all of them."""
    study = open_study(trusted.scenario)
    try:
        record = decode_record(episode, Episode, where="episode")
    except MalformedError as error:
        faults.add("evidence", "episode", str(error), "one canonical line of sealkit/episode/v1")
        return faults.verdict()
    trace = check_identity(trusted, study, record, episode, faults)
    if faults:
        return faults.verdict()
    if record.genesis != study.root:
        faults.add("lineage", "genesis", record.genesis, study.root)
    walk = start_walk(study, faults)
    try:
        for act in record.acts:
            step(walk, act)
            check_return(walk, act)
    except Lost:
        return faults.verdict()
    irregular = settle(walk, record)
    check_receipts(walk, record.receipts, len(record.acts) - 1, irregular)
    _check_closing(walk, trusted, record, trace)
    return faults.verdict()


def _check_closing(walk: Walk, trusted: Trusted, record: Episode, trace: str) -> None:
    """What the judge was given is the end of this trace, and it is the sealed judge."""
    closing, faults = record.closing, walk.faults
    if closing.counts.notices != walk.notices:
        faults.add("disclosure", "closing.counts.notices", closing.counts.notices, walk.notices)
    if closing.root != walk.root:
        faults.add("judgment", "closing.root", closing.root, walk.root)
    if closing.judge != trusted.judge:
        faults.add("judgment", "closing.judge", closing.judge, trusted.judge)
    judged = digest_record(Judged(scenario=walk.study.digest, trace=trace, root=walk.root))
    if closing.judged != judged:
        faults.add("judgment", "closing.judged", closing.judged, judged)
