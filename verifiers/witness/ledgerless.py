"""The witness without the act ledger: the contracts, the receipts and the closing, and no act.

No state can be followed, so roots are held against one another only, and what is due by a rule cannot be known.
"""

from __future__ import annotations

from typing import cast

from sealkit.wire.canon import decode_record, decode_value, digest_json, digest_record, encode_value
from sealkit.wire.contract import fill, placeholders
from sealkit.wire.declared import AfterAct, Contract, Never
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import AnyReceipt, Closing, Episode, Generation, NeverShown, Receipt, Shown, Start, Trusted
from sealkit.wire.records import Json, Record
from sealkit.wire.trace import record_digest
from sealkit.wire.verdict import Origin, Verdict

from .faults import Faults
from .study import Study, open_study


class Seen(Record, frozen=True, tag_field="type", tag="sealkit/view-ledgerless/v1"):
    """The record without its acts. `whole` says whether its record digest held."""

    pin: str
    slot: str
    scenario: str
    genesis: str
    receipts: tuple[AnyReceipt, ...]
    closing: Closing
    whole: bool


def view(episode: bytes) -> bytes:
    """What this policy sees of an episode; `MalformedError` if that is none."""
    record = decode_record(episode, Episode, where="episode")
    claimed = record.closing.record
    seen = cast(dict[str, Json], decode_value(episode))
    del seen["acts"]
    closing = {**cast(dict[str, Json], seen["closing"]), "record": "", "judged": ""}  # both commit to the acts
    whole = record_digest(episode, claimed) == claimed
    slot = digest_json(seen["slot"])
    return encode_value(
        {**seen, "type": "sealkit/view-ledgerless/v1", "slot": slot, "closing": closing, "whole": whole}
    )


def rule(trusted: Trusted, seen: bytes) -> Verdict:
    """The verdict on what is seen, and on nothing else."""
    what, study, faults = decode_record(seen, Seen, where="view"), open_study(trusted.scenario), Faults()
    due = (("pin", what.pin, trusted.pin), ("slot", what.slot, digest_json(cast(Json, dict(trusted.slot)))),
           ("scenario", what.scenario, study.digest), ("closing.record", what.whole, True))  # fmt: skip
    for name, found, right in due:
        if found != right:
            faults.add("evidence", name, found, right)
    start = digest_record(Start(pin=trusted.pin, slot=trusted.slot, scenario=study.digest, genesis=what.genesis))
    for i, receipt in enumerate(what.receipts):
        if receipt.episode != start:
            faults.add("evidence", f"receipts[{i}].episode", receipt.episode, start)
        if isinstance(receipt, Receipt):
            _check_contract(study, f"receipts[{i}]", receipt, faults)
    if faults:
        return faults.verdict()
    if what.genesis != study.root:
        faults.add("lineage", "genesis", what.genesis, study.root)
    _check_chain(what, study, faults)
    _check_closing(what, trusted, study, faults)
    return faults.verdict()


def _check_contract(study: Study, where: str, receipt: Receipt, faults: Faults) -> None:
    declared = study.by_id.get(receipt.contract.id)
    if declared is None:
        faults.add("evidence", f"{where}.contract.id", receipt.contract.id, "a contract of the scenario")
        return
    contract = declared.contract
    if receipt.contract.digest != declared.digest:
        faults.add("evidence", f"{where}.contract.digest", receipt.contract.digest, declared.digest)
    boundary = receipt.boundary
    when = contract.when.act if isinstance(contract.when, AfterAct) else boundary.due
    if boundary.due != when or boundary.applied != boundary.due:
        faults.add("boundary", f"{where}.boundary", boundary, f"due and applied after act {when}")
    if isinstance(receipt.projection, NeverShown) != isinstance(contract.tell.due, Never):
        faults.add("disclosure", f"{where}.projection", receipt.projection, contract.tell.due)
    if isinstance(receipt.projection, Shown):
        _check_projection(contract, f"{where}.projection", receipt.projection, faults)
    if not contract.then and receipt.roots.before != receipt.roots.after:
        faults.add("environment", f"{where}.roots", "roots that move", "equal roots: a notice only")
    if (receipt.roots.before == receipt.roots.after) != (receipt.roots.moved == ()):
        faults.add("environment", f"{where}.roots.moved", receipt.roots.moved, "components exactly if the root moves")


def _check_projection(contract: Contract, where: str, shown: Shown, faults: Faults) -> None:
    template = contract.tell.template
    if template is not None and not placeholders(template):
        digest = digest_bytes(fill(template, {}).encode())
        if shown.digest != digest:
            faults.add("disclosure", f"{where}.digest", shown.digest, digest)
    for name, found, due in (
        ("channel", shown.channel, contract.tell.channel),
        ("sender", shown.sender, contract.tell.sender),
        ("authority", shown.authority, contract.authority.rung),
    ):
        if found != due:
            faults.add("authority", f"{where}.{name}", found, due)


def _check_chain(what: Seen, study: Study, faults: Faults) -> None:
    previous: str | None = None
    generation, last = Generation(generation=0, snapshot=None), -1
    ids: set[str] = set()
    for i, receipt in enumerate(what.receipts):
        where = f"receipts[{i}]"
        if receipt.previous != previous:
            faults.add("lineage", f"{where}.previous", receipt.previous, previous)
        previous = digest_record(receipt)
        id = f"contract:{receipt.contract.id}" if isinstance(receipt, Receipt) else f"restore:{receipt.id}"
        if id in ids or (isinstance(receipt, Receipt) and receipt.contract.occurrence != 1):
            faults.add("lineage" if generation.generation else "environment", where, f"{id} again", "once")
        ids.add(id)
        if not isinstance(receipt, Receipt):
            restore = study.restores.get(receipt.id)
            if restore is None:
                faults.add("lineage", where, id, "a restore of the scenario")
                continue
            generation = Generation(generation=generation.generation + 1, snapshot=restore.snapshot)
        if receipt.restore != generation:
            faults.add("lineage", f"{where}.restore", receipt.restore, generation)
        if receipt.boundary.applied < last:
            faults.add("lineage", f"{where}.boundary.applied", receipt.boundary.applied, f"{last} or later")
        last = receipt.boundary.applied
    _check_missing(study, what.closing.counts.acts, ids, generation, faults)


def _check_missing(study: Study, made: int, ids: set[str], generation: Generation, faults: Faults) -> None:
    for declared in study.declared:
        when = declared.contract.when
        if isinstance(when, AfterAct) and when.act <= made and f"contract:{declared.contract.id}" not in ids:
            origin: Origin = "lineage" if generation.generation else "environment"
            faults.add(origin, f"contract {declared.contract.id}", "no receipt", f"one: due after act {when.act}")
    for restore in study.scenario.restores:
        when = restore.when
        if isinstance(when, AfterAct) and when.act <= made and f"restore:{restore.id}" not in ids:
            faults.add("lineage", f"restore {restore.id}", "no receipt", f"one: due after act {when.act}")


def _check_closing(what: Seen, trusted: Trusted, study: Study, faults: Faults) -> None:
    closing = what.closing
    occurrences = sum(isinstance(item, Receipt) for item in what.receipts)
    for name, found, due in (
        ("occurrences", closing.counts.occurrences, occurrences),
        ("restores", closing.counts.restores, len(what.receipts) - occurrences),
    ):
        if found != due:
            faults.add("evidence", f"closing.counts.{name}", found, due)
    if closing.counts.acts > study.scenario.max_acts:
        faults.add("evidence", "closing.counts.acts", closing.counts.acts, f"at most {study.scenario.max_acts}")
    if closing.judge != trusted.judge:
        faults.add("judgment", "closing.judge", closing.judge, trusted.judge)
