"""A plan whose seal was opened: the only way from its files to a `SealedPlan`.

    plans/NAME.yaml            the plan
    plans/NAME.seal.json       one canonical `Seal` and a newline; its digest is pin 0 (`sealkit show` renders it)
    plans/NAME.manifest.jsonl  every scenario (`seal.manifest`)
    plans/NAME.source.tar      every file of the closure, and the plan (`seal.archive`)
    plans/NAME.A-0001.*        the same again for each amendment (`seal.pins`)
    receipts/ID/journal.jsonl  begins with `sealed`, which names the pin

`open_seal` parses and checks every byte of all but the last, or raises, naming the part that differs; that the
journal has an entry for each amendment is checked when its history is read. Whether today's working tree is still
what was sealed is another question (`check_no_drift`), which a run asks and a reader of results does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import cast

from sealkit.files import spell, to_type
from sealkit.plan.load import Plan
from sealkit.seal.closure import Drift, DriftError, drift, make_closure
from sealkit.seal.commitment import Amendment, Seal
from sealkit.seal.history import Anchor, History, open_history
from sealkit.seal.journal import Journal
from sealkit.seal.manifest import Manifest
from sealkit.seal.pins import Pinned, open_pins, read_seal
from sealkit.seal.places import amendment_file, beside, declared, plan_entry, receipts_folder, study_of
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import UntrustedError, UsageError
from sealkit.wire.events import Sealed, Slot
from sealkit.wire.journal_head import parse_head
from sealkit.wire.text import counted

__all__ = [
    "Seal", "SealedPlan", "amended_heads", "beside", "check_no_drift", "declared", "find_drift", "find_sealed",
    "open_seal", "open_seal_only", "plan_entry", "receipts_folder", "study_of",
]  # fmt: skip

_OPENED = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedPlan:
    """A plan whose seal was opened and checked in this process. Only `open_seal` and `make_seal` make one.

    `pins` has the seal first, then each amendment; new episodes run under the last of them.
    """

    path: Path
    study: Path
    pins: tuple[Pinned, ...]
    minted_by: InitVar[object]

    def __post_init__(self, minted_by: object) -> None:
        if minted_by is not _OPENED:
            raise TypeError("a SealedPlan is made by open_seal")

    @property
    def seal(self) -> Seal:
        """The record of pin 0."""
        return cast(Seal, self.pins[0].commitment)

    @property
    def pin(self) -> str:
        """Pin 0, by which this sealed plan is known wherever it is remembered."""
        return self.pins[0].pin

    @property
    def latest(self) -> Pinned:
        """The pin in force, under which new episodes run."""
        return self.pins[-1]

    @property
    def amendments(self) -> tuple[Amendment, ...]:
        """The records of every pin but the first."""
        return tuple(pinned.commitment for pinned in self.pins if isinstance(pinned.commitment, Amendment))

    @property
    def plan(self) -> Plan:
        """The plan as of the pin in force."""
        return self.latest.plan

    @property
    def manifest(self) -> Manifest:
        """The scenarios as of the pin in force."""
        return self.latest.manifest

    @property
    def judge(self) -> str:
        """The digest by which episodes under the pin in force name the judge."""
        return self.latest.judge

    def under(self, pin: str) -> Pinned:
        """The pin with this digest; `UntrustedError` if it is none of this plan's."""
        for pinned in self.pins:
            if pinned.pin == pin:
                return pinned
        raise UntrustedError("evidence: an episode of another pin or of a pilot", where=str(self.path))

    def close(self) -> None:
        """Give the files back; no scenario can be read after this."""
        for pinned in self.pins:
            pinned.manifest.close()

    @property
    def receipts(self) -> Path:
        """The folder of the journal and the episodes."""
        return receipts_folder(self.study, self.plan)

    @property
    def first(self) -> Sealed:
        """What the journal's first entry says."""
        return Sealed(plan=self.plan.spec.id, pin=self.pin)

    def trusted(self, slot: Slot) -> Trusted:
        """What a verifier may rely on for an episode of this slot under the pin in force."""
        return self.latest.trusted(slot)

    def history(self, anchors: Iterable[Anchor] = (), *, lacks_last: bool = False) -> History:
        """The journal and episodes of this seal, to be read and checked, held against the amendments too.

        `lacks_last` is for whoever completes an amendment: that the last one has no entry yet does not raise.
        """
        history = open_history(self.receipts, inside=self.study, first=self.first, anchors=anchors)
        if len(self.pins) > 1:
            history.anchor(amended_heads(self))
        due = tuple(pinned.due() for pinned in self.pins[1:])
        history.amended(due, plans=[pinned.plan.spec for pinned in self.pins], lacks_last=lacks_last)
        return history

    def journal(self) -> Journal:
        """The journal of this seal, to be appended to."""
        return Journal.open(self.receipts, inside=self.study)

    def unpack_source(self, into: Path) -> None:
        """The source as of the pin in force stands in `into`, a new or empty folder, every file checked."""
        self.latest.unpack_source(into)


def open_seal(plan_path: Path, *, parsed: Plan | None = None, written: str = "") -> SealedPlan:
    """The sealed plan, after checking plan, sections, closure, manifest and source archive of every pin.

    `OutOfOrderError` if there is no seal; `UntrustedError` or `MalformedError` naming the part that is not as sealed.
    A plan that was `parsed` already is taken if the file still has its bytes: parsing is most of the time. So is an
    archive that was just `written`, by its digest.
    """
    study = study_of(plan_path)
    pins = open_pins(plan_path, study, parsed=parsed, written=written)
    return SealedPlan(path=plan_path, study=study, pins=pins, minted_by=_OPENED)


def open_seal_only(plan_path: Path) -> SealedPlan:
    """Like `open_seal`, but whatever the working tree's plan file is now: for whoever amends it."""
    study = study_of(plan_path)
    pins = open_pins(plan_path, study, parsed=None, working=False)
    return SealedPlan(path=plan_path, study=study, pins=pins, minted_by=_OPENED)


def amended_heads(sealed: SealedPlan) -> tuple[Anchor, ...]:
    """The heads that amendments quote, after which they were made."""
    anchors = []
    for amendment in sealed.amendments:
        file = amendment_file(sealed.path, amendment.number)
        count, digest = parse_head(amendment.head, where=str(file))
        anchors.append(Anchor(count, digest, f"{file.parent.name}/{file.name}"))
    return tuple(anchors)


def check_no_drift(sealed: SealedPlan) -> None:
    """Raise `DriftError`, naming the files, if the working tree or this sealkit is not what was sealed."""
    found = find_drift(sealed)
    if found:
        files = "\n  ".join(str(one) for one in found)
        raise DriftError(
            f"{counted(len(found), 'file is', 'files are')} not as sealed",
            where=str(sealed.path),
            remedy=f"put back what is named here, or record the change with `sealkit amend`:\n  {files}",
        )


def find_drift(sealed: SealedPlan) -> tuple[Drift, ...]:
    """Every file of the closure that is not as the pin in force has it."""
    try:
        now = make_closure(sealed.study, declared(sealed.plan.spec))
    except UsageError as error:
        raise UntrustedError(f"is sealed, but {error.what}", where=error.where) from error
    return drift(sealed.latest.closure, now)


def find_sealed(folder: Path) -> tuple[Path, ...]:
    """The plans of every sealed study in `folder`, which is `receipts/`, one folder in it, or a whole study.

    `UsageError` if there is none, `UntrustedError` if two are of one plan id, or if receipts belong to no seal.
    """
    if (folder / "plans").is_dir():
        folder = folder / "receipts"
    one = None if folder.name == "receipts" else folder.name
    study = folder.parent if one is None else folder.parent.parent
    plans: dict[str, Path] = {}
    for path in sorted((study / "plans").glob("*.seal.json")):
        plan_path = path.with_name(path.name.removesuffix(".seal.json") + ".yaml")
        id = read_seal(plan_path, study)[0].plan.id
        if id in plans:
            what = f"a second seal of a plan {id!a}, beside that of {plans[id].name!a}"
            raise UntrustedError(what, where=spell(path), remedy="keep the first")
        plans[id] = plan_path
    found = {path.name for path in folder.iterdir()} if one is None and folder.is_dir() else {one or ""}
    wanted = set(plans) | {name for name in found if _holds_receipts(folder, name)} if one is None else {one}
    if not wanted:
        raise UsageError("there is no sealed study here", where=str(folder), remedy="sealkit seal plans/NAME.yaml")
    for name in sorted(wanted - set(plans)):
        if not os.path.lexists(study / "receipts" / name):
            what, remedy = f"there is nothing here, and no seal of a plan {name!a}", to_type("verify", study)
            raise UsageError(what, where=spell(study / "receipts" / name), remedy=remedy)
        raise UntrustedError(
            f"no seal in {study / 'plans'} is of a plan {name!a}", where=str(study / "receipts" / name)
        )
    return tuple(plans[name] for name in sorted(wanted))


def _holds_receipts(folder: Path, name: str) -> bool:
    """Whether a folder of receipts is more than a pilot's, which no seal need exist for."""
    return (folder / name).is_dir() and any(path.name != "pilot" for path in (folder / name).iterdir())
