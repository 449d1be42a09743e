"""Receipts against the trace: one for each occurrence and restore, in its order, and every field of them."""

from __future__ import annotations

from sealkit.wire.canon import digest_record
from sealkit.wire.declared import Never
from sealkit.wire.episode import AnyReceipt, Boundary, NeverShown, NotReached, Projection, Receipt, Roots, Shown
from sealkit.wire.verdict import Origin

from .walk import Occurrence, Restored, Walk

Happened = Occurrence | Restored


def check_receipts(walk: Walk, receipts: tuple[AnyReceipt, ...], last: int, irregular: set[str]) -> None:
    """Check the chain of receipts, then each against what happened; `last` is the number of the last act."""
    previous: str | None = None
    for i, receipt in enumerate(receipts):
        if receipt.previous != previous:
            walk.faults.add("lineage", f"receipts[{i}].previous", receipt.previous, previous)
        previous = digest_record(receipt)
    if [_key_of(receipt) for receipt in receipts] == [_key(item) for item in walk.happened]:
        for i, item in enumerate(walk.happened):
            _check(walk, i, receipts[i], item, irregular)
    else:
        _align(walk, receipts, last, irregular)


def _key_of(receipt: AnyReceipt) -> tuple[str, str]:
    return ("contract", receipt.contract.id) if isinstance(receipt, Receipt) else ("restore", receipt.id)


def _key(item: Happened) -> tuple[str, str]:
    return ("contract", item.declared.contract.id) if isinstance(item, Occurrence) else ("restore", item.restore.id)


def _align(walk: Walk, receipts: tuple[AnyReceipt, ...], last: int, irregular: set[str]) -> None:
    """Pair receipts with what happened as well as may be, and name what is left over."""
    left = list(walk.happened)
    order: list[int] = []
    for i, receipt in enumerate(receipts):
        item = next((item for item in left if _key(item) == _key_of(receipt)), None)
        if item is None:
            walk.faults.add(_origin_of_extra(walk, receipt, last), f"receipts[{i}]", " ".join(_key_of(receipt)),
                            "only what the trace records")  # fmt: skip
            continue
        left.remove(item)
        if _key(item)[1] not in irregular:
            order.append(walk.happened.index(item))
        _check(walk, i, receipt, item, irregular)
    if order != sorted(order):
        walk.faults.add("lineage", "receipts", "another order", "the order in which it happened")
    for item in left:
        kind, id = _key(item)
        if kind == "contract" and id in irregular:
            continue  # named already, and it is no wonder that a receipt is missing
        origin: Origin = "lineage" if _restored_since(walk, item) else "evidence"
        walk.faults.add(origin, "receipts", f"none for {kind} {id}", f"one: it happened after act {item.act}")


def _origin_of_extra(walk: Walk, receipt: AnyReceipt, last: int) -> Origin:
    if not isinstance(receipt, Receipt):
        return "lineage"
    if receipt.boundary.applied > last:
        return "boundary"
    earlier = [item for item in walk.happened if _key(item) == _key_of(receipt)]
    return "lineage" if any(_restored_since(walk, item) for item in earlier) else "environment"


def _restored_since(walk: Walk, item: Happened) -> bool:
    behind = walk.happened[walk.happened.index(item) :]
    return any(isinstance(other, Restored) for other in behind)


def _check(walk: Walk, i: int, receipt: AnyReceipt, item: Happened, irregular: set[str]) -> None:
    where = f"receipts[{i}]"
    if isinstance(receipt, Receipt) and isinstance(item, Occurrence):
        id = receipt.contract.id
        settled = id in irregular or (bool(walk.strays) and item.act > walk.strays[0].act)
        if receipt.contract.occurrence != 1 and id not in irregular:
            walk.faults.add("lineage", f"{where}.contract.occurrence", receipt.contract.occurrence, 1)
        _check_boundary(walk, where, receipt.boundary, item, settled)
        _check_roots(walk, where, receipt.roots, item.roots, "environment")
        _check_projection(walk, where, receipt.projection, _projection(item))
    elif isinstance(item, Restored):
        settled = walk.restores_due.get(item.restore.id) != item.act
        strayed = bool(walk.strays) and walk.strays[0].act < item.act
        _check_boundary(walk, where, receipt.boundary, item, settled)
        _check_roots(walk, where, receipt.roots, item.roots, "environment" if strayed else "lineage")
    if receipt.restore != item.generation:
        walk.faults.add("lineage", f"{where}.restore", receipt.restore, item.generation)


def _check_boundary(walk: Walk, where: str, found: Boundary, item: Happened, settled: bool) -> None:
    """`settled`: that its time is off was named already, so what the receipt calls due does not matter."""
    if found.due != item.act and not settled:
        walk.faults.add("boundary", f"{where}.boundary.due", found.due, item.act)
    if found.applied != item.act:
        walk.faults.add("boundary", f"{where}.boundary.applied", found.applied, item.act)
    if found.head != item.head:
        walk.faults.add("boundary", f"{where}.boundary.head", found.head, item.head)


def _check_roots(walk: Walk, where: str, found: Roots, due: Roots, origin: Origin) -> None:
    if found == due:
        return
    for name in ("before", "after", "moved"):
        here, there = getattr(found, name), getattr(due, name)
        if here != there:
            walk.faults.add(origin, f"{where}.roots.{name}", here, there)


def _projection(item: Occurrence) -> Projection:
    if item.told is not None:
        return item.told
    return NeverShown() if isinstance(item.declared.contract.tell.due, Never) else NotReached()


def _check_projection(walk: Walk, where: str, found: Projection, due: Projection) -> None:
    if found == due:
        return
    if not (isinstance(found, Shown) and isinstance(due, Shown)):
        walk.faults.add("disclosure", f"{where}.projection", found, due)
        return
    origin: Origin
    for name, origin in (
        ("act", "disclosure"), ("digest", "disclosure"),
        ("channel", "authority"), ("sender", "authority"), ("authority", "authority"),
    ):  # fmt: skip
        here, there = getattr(found, name), getattr(due, name)
        if here != there:
            walk.faults.add(origin, f"{where}.projection.{name}", here, there)
