"""Evidence: is this the record of this slot, whole, and chained act by act?

What fails here is named `evidence` and nothing else is asked of the episode: bytes that are not the record
they claim to be say nothing about the world.
"""

from __future__ import annotations

from sealkit.wire.canon import digest_record
from sealkit.wire.digest import is_digest
from sealkit.wire.episode import Episode, Receipt, Start, Trusted
from sealkit.wire.trace import BEGIN, head_digest, record_digest

from .faults import Faults
from .study import Study


def check_identity(trusted: Trusted, study: Study, episode: Episode, line: bytes, faults: Faults) -> str:
    """The digest of the last act, which ends the chain.

    Every contradiction in identity, chain and completeness goes to `faults`.
    """
    closing = episode.closing
    for name, found, due in (
        ("pin", episode.pin, trusted.pin),
        ("slot", episode.slot, trusted.slot),
        ("scenario", episode.scenario, study.digest),
        ("closing.record", closing.record, record_digest(line, closing.record)),
    ):
        if found != due:
            faults.add("evidence", name, found, due)
    # The genesis is quoted as it stands: that it is the scenario's is a question of lineage.
    start = digest_record(Start(pin=trusted.pin, slot=trusted.slot, scenario=study.digest, genesis=episode.genesis))
    last = _check_chain(episode, start, faults)
    _check_receipts(study, episode, start, faults)
    _check_counts(episode, faults)
    _check_end(study, episode, faults)
    return last


def _check_chain(episode: Episode, prev: str, faults: Faults) -> str:
    if not episode.acts or episode.acts[0].action != BEGIN:
        faults.add("evidence", "acts", "no act 0 called begin", "begin before the agent's first act")
    for k, act in enumerate(episode.acts):
        if act.n != k:
            faults.add("evidence", f"acts[{k}].n", act.n, k)
        if act.prev != prev:
            faults.add("evidence", f"acts[{k}].prev", act.prev, prev)
        head = head_digest(act.n, act.action, act.delta, act.prev)
        if act.head != head:
            faults.add("evidence", f"acts[{k}].head", act.head, head)
        for call in act.calls:
            if not is_digest(call):
                faults.add("evidence", f"acts[{k}].calls", call, "a digest")
        prev = digest_record(act)
    return prev


def _check_receipts(study: Study, episode: Episode, start: str, faults: Faults) -> None:
    for i, receipt in enumerate(episode.receipts):
        if receipt.episode != start:
            faults.add("evidence", f"receipts[{i}].episode", receipt.episode, start)
        if not isinstance(receipt, Receipt):
            continue
        declared = study.by_id.get(receipt.contract.id)
        if declared is None:
            faults.add("evidence", f"receipts[{i}].contract.id", receipt.contract.id, "a contract of the scenario")
        elif receipt.contract.digest != declared.digest:
            faults.add("evidence", f"receipts[{i}].contract.digest", receipt.contract.digest, declared.digest)


def _check_counts(episode: Episode, faults: Faults) -> None:
    counts = episode.closing.counts
    occurrences = sum(isinstance(receipt, Receipt) for receipt in episode.receipts)
    for name, found, due in (
        ("acts", counts.acts, len(episode.acts) - 1),
        ("occurrences", counts.occurrences, occurrences),
        ("restores", counts.restores, len(episode.receipts) - occurrences),
    ):
        if found != due:
            faults.add("evidence", f"closing.counts.{name}", found, due)


def _check_end(study: Study, episode: Episode, faults: Faults) -> None:
    """The record ends where the episode did: nothing after a final action or beyond the budget, nothing cut."""
    finals, budget = study.scenario.finals, study.scenario.max_acts
    made = len(episode.acts) - 1
    for act in episode.acts[:-1]:
        if act.action.name in finals:
            faults.add("evidence", f"acts[{act.n}]", f"{made - act.n} acts after a final action", "none")
    if made > budget:
        faults.add("evidence", "acts", f"{made} acts", f"at most {budget}")
    ended = episode.closing.ended
    if made >= 0 and episode.acts[-1].action.name in finals:
        if ended != "final":
            faults.add("evidence", "closing.ended", ended, "final")
    elif made == budget:
        if ended != "budget":
            faults.add("evidence", "closing.ended", ended, "budget")
    elif ended in ("final", "budget"):
        faults.add("evidence", "closing.ended", ended, f"another ending: {made} of {budget} acts, no final action")
