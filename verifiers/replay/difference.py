"""Where two episodes of the same actions first part, in the order of causes, and whose fault that is.

Acts are compared one by one: what follows the first act that differs is its consequence and is not named.
Within that act: its own delta, contracts and restores, the root, the return. Then receipts, then the closing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sealkit.wire.episode as wire
from sealkit.wire.canon import decode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.records import Record
from sealkit.wire.verdict import Origin, Reason

from .resumed import Again, resumed_wrong

MAX_WORDS = 160


def first_difference(trusted: wire.Trusted, found: wire.Episode, due: wire.Episode, again: Again) -> tuple[Reason, ...]:
    """The reasons at the first place where `found` is not `due`; the two are known to differ."""
    stages: tuple[Callable[[], Iterator[Reason]], ...] = (
        lambda: _identity(found, due),
        lambda: _acts(trusted, found, due, again),
        lambda: _receipts(found, due),
        lambda: _closing(found.closing, due.closing),
    )
    for stage in stages:
        reasons = tuple(stage())
        if reasons:
            return reasons
    return (_reason("evidence", "episode", "other bytes", "the bytes of the episode run again"),)


def _reason(origin: Origin, where: str, found: object, due: object) -> Reason:
    return Reason(origin=origin, where=where, found=_words(found), due=_words(due))


def _same(found: object, due: object) -> bool:
    """Whether two decoded values are written alike; Python's `==` takes true for 1."""
    return found == due and repr(found) == repr(due)


def _words(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= MAX_WORDS else text[: MAX_WORDS - 1] + "…"


def _unequal(found: Record, due: Record, where: str, **origins: Origin) -> Iterator[Reason]:
    """A reason for each named field in which two records differ."""
    for name, origin in origins.items():
        here, there = getattr(found, name), getattr(due, name)
        if not _same(here, there):
            yield _reason(origin, f"{where}{name}", here, there)


def _identity(found: wire.Episode, due: wire.Episode) -> Iterator[Reason]:
    yield from _unequal(found, due, "", pin="evidence", slot="evidence", scenario="evidence", genesis="lineage")


# --- acts ------------------------------------------------------------------------------------------


def _acts(trusted: wire.Trusted, found: wire.Episode, due: wire.Episode, again: Again) -> Iterator[Reason]:
    scenario = decode_record(trusted.scenario, Scenario, where="the trusted scenario")
    for n, (act, other) in enumerate(zip(found.acts, due.acts, strict=False)):
        if _same(act, other):
            continue
        where = f"acts[{n}]."
        if not _same(act.delta, other.delta):
            resumed = resumed_wrong(scenario, found, n, again)
            yield _reason("lineage" if resumed else "environment", f"{where}delta", resumed or act.delta, other.delta)
        yield from _deltas(scenario, found, due, n)
        if act.root != other.root and act.delta == other.delta and act.deltas == other.deltas:
            restored = any(delta.cause.startswith("restore:") for delta in act.deltas)
            yield _reason("lineage" if restored else "environment", f"{where}root", act.root, other.root)
        yield from _segments(act, other, n)
        if all(_same(getattr(act, name), getattr(other, name)) for name in ("delta", "deltas", "root", "segments")):
            yield from _unequal(act, other, where, n="evidence", head="evidence", prev="evidence", calls="evidence")
        return
    if len(found.acts) != len(due.acts):
        yield _reason("lineage", "acts", f"{len(found.acts)} acts", f"{len(due.acts)} acts")


def _deltas(scenario: Scenario, found: wire.Episode, due: wire.Episode, n: int) -> Iterator[Reason]:
    act, other = found.acts[n], due.acts[n]
    if _same(act.deltas, other.deltas):
        return
    where = f"acts[{n}].deltas"
    here = {delta.cause: delta.ops for delta in act.deltas}
    there = {delta.cause: delta.ops for delta in other.deltas}
    unequal = [cause for cause in sorted(here.keys() | there.keys()) if not _same(here.get(cause), there.get(cause))]
    for cause in unequal:
        restore = cause.startswith("restore:")
        if cause not in here or cause not in there:
            origin: Origin = "lineage" if restore else _origin_of_move(scenario, found, due, cause, n)
            words = ("not applied", "applied here") if cause not in here else ("applied here", "not applied")
            yield _reason(origin, f"{where}, {cause}", *words)
        elif _same(act.delta, other.delta):
            yield _reason("lineage" if restore else "environment", f"{where}, {cause}", here[cause], there[cause])
    if not unequal:  # applied again within one boundary, or in another order
        twice = len(here) != len(act.deltas)
        causes = ", ".join(delta.cause for delta in act.deltas)
        yield _reason("environment" if twice else "boundary", where, causes, ", ".join(there))


def _origin_of_move(scenario: Scenario, found: wire.Episode, due: wire.Episode, cause: str, n: int) -> Origin:
    """Why a contract stands at act `n` in one episode only: another act, a resume, or the world itself."""
    if any(delta.cause.startswith("restore:") for act in found.acts[:n] for delta in act.deltas):
        return "lineage"
    here = [act.n for act in found.acts if any(delta.cause == cause for delta in act.deltas)]
    there = [act.n for act in due.acts if any(delta.cause == cause for delta in act.deltas)]
    declared = cause in {f"contract:{contract.id}" for contract in scenario.contracts}
    return "boundary" if declared and len(here) == 1 and here != there else "environment"


def _segments(act: wire.Act, other: wire.Act, n: int) -> Iterator[Reason]:
    where = f"acts[{n}].segments"
    if len(act.segments) != len(other.segments):
        yield _reason("disclosure", where, f"{len(act.segments)} segments", f"{len(other.segments)}")
        return
    for i, (here, there) in enumerate(zip(act.segments, other.segments, strict=True)):
        if _same(here, there):
            continue
        labels_only = (
            isinstance(here, wire.Notice) and isinstance(there, wire.Notice)
            and (here.contract, here.text) == (there.contract, there.text)
        )  # fmt: skip
        yield _reason("authority" if labels_only else "disclosure", f"{where}[{i}]", here, there)


# --- receipts and closing --------------------------------------------------------------------------


def _receipts(found: wire.Episode, due: wire.Episode) -> Iterator[Reason]:
    for i, (here, there) in enumerate(zip(found.receipts, due.receipts, strict=False)):
        if _same(here, there):
            continue
        where = f"receipts[{i}]."
        roots: Origin = "environment"
        if isinstance(here, wire.Receipt) and isinstance(there, wire.Receipt) and here.contract.id == there.contract.id:
            yield from _unequal(here, there, where, episode="evidence")
            yield from _unequal(
                here.contract, there.contract, f"{where}contract.", digest="evidence", occurrence="lineage"
            )
            yield from _projection(here.projection, there.projection, f"{where}projection")
        elif isinstance(here, wire.RestoreReceipt) and isinstance(there, wire.RestoreReceipt):
            yield from _unequal(here, there, where, episode="evidence", id="lineage")
            roots = "lineage"
        else:
            cut = len(found.receipts) < len(due.receipts)
            yield _reason("evidence" if cut else "lineage", f"receipts[{i}]", _name(here), _name(there))
            return
        yield from _unequal(here, there, where, boundary="boundary", roots=roots, restore="lineage", previous="lineage")
        return
    if len(found.receipts) != len(due.receipts):
        yield _reason("evidence", "receipts", f"{len(found.receipts)} receipts", f"{len(due.receipts)}")


def _name(receipt: wire.AnyReceipt) -> str:
    return f"contract {receipt.contract.id}" if isinstance(receipt, wire.Receipt) else f"restore {receipt.id}"


def _projection(found: wire.Projection, due: wire.Projection, where: str) -> Iterator[Reason]:
    if found == due:
        return
    if isinstance(found, wire.Shown) and isinstance(due, wire.Shown):
        yield from _unequal(
            found, due, f"{where}.",
            act="disclosure", digest="disclosure", channel="authority", sender="authority", authority="authority",
        )  # fmt: skip
    else:
        yield _reason("disclosure", where, found, due)


def _closing(found: wire.Closing, due: wire.Closing) -> Iterator[Reason]:
    reasons = tuple(
        _unequal(
            found, due, "closing.",
            root="judgment", judge="judgment", judged="judgment", ended="evidence", why="evidence", counts="evidence",
        )
    )  # fmt: skip
    yield from reasons or _unequal(found, due, "closing.", record="evidence")
