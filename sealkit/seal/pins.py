"""The pins of a plan, each opened and checked from its files: the seal, and every amendment after it.

    plans/NAME.seal.json     NAME.manifest.jsonl          NAME.source.tar             pin 0
    plans/NAME.A-0001.json   NAME.A-0001.manifest.jsonl   NAME.A-0001.source.tar      pin 1, and so on without a gap

Each pin has a plan, closure, manifest and source archive of its own, and they are checked in the same way; the plan
as of an earlier pin is the one in its archive. Of an amendment, what it says of itself is derived again: that it
follows the pin before it, what changed, what becomes of the claims, which blocks are run again. Phase and place are
held against the journal, by `seal.in_force`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from sealkit.files import open_folder, read_file_safely, read_if_there, to_type
from sealkit.plan.actors import ExternalWorld
from sealkit.plan.assignment import assignment_line
from sealkit.plan.load import Plan, open_plan_bytes
from sealkit.plan.schema import Spec
from sealkit.plan.slots import blocks, slot_count
from sealkit.plan.yaml import MAX_BYTES
from sealkit.seal.archive import unpack
from sealkit.seal.changes import Version, changes, is_change, judge_files, own_files
from sealkit.seal.closure import LOCK, Closure
from sealkit.seal.commitment import Amendment, Commitment, Seal, check_reason
from sealkit.seal.committed import check_closure_of, check_manifest, check_plan, check_source
from sealkit.seal.foundations import effect_on_claims
from sealkit.seal.in_force import Due
from sealkit.seal.manifest import Manifest, open_manifest
from sealkit.seal.places import amendment_file, beside, plan_entry
from sealkit.wire.canon import MAX_LINE, decode_record
from sealkit.wire.chain import is_time
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import MalformedError, OutOfOrderError, SealkitError, UntrustedError
from sealkit.wire.events import Amended, Slot
from sealkit.wire.journal_head import parse_head
from sealkit.wire.records import Level, Record

MOST_AMENDMENTS: Final = 1000
R = TypeVar("R", bound=Record)


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """One pin, opened: number 0 is the seal. `open_pins` makes them.

    `judge_files` are those that the judge is made of, if there is more than one pin; `blocks` what is superseded, as
    levels in the order of `block_by`.
    """

    number: int
    pin: str
    commitment: Commitment
    plan: Plan
    manifest: Manifest
    plan_path: Path
    study: Path
    judge_files: frozenset[str]
    blocks: frozenset[tuple[Level | None, ...]]

    @property
    def closure(self) -> Closure:
        """Everything that the plan depended on."""
        return self.commitment.closure

    @property
    def judge(self) -> str:
        """The digest by which episodes name the judge: the root of the sealed tree that holds it; empty without one."""
        if self.plan.spec.judge is None:
            return ""
        return self.closure.tree(self.plan.spec.judge).root

    @property
    def superseded(self) -> tuple[Slot, ...]:
        """The blocks that are run again under this pin, by the levels that their slots share."""
        return self.commitment.superseded if isinstance(self.commitment, Amendment) else ()

    def supersedes(self, slot: Mapping[str, Level]) -> bool:
        """Whether this pin is that of an amendment which has this slot run again."""
        return bool(self.blocks) and block_key(slot, self.plan.spec) in self.blocks

    @property
    def version(self) -> Version:
        """What this pin commits to, for comparing."""
        return Version(self.commitment.plan, self.plan.spec, self.closure, self.manifest, self.judge_files)

    def trusted(self, slot: Slot) -> Trusted:
        """What a verifier may rely on for an episode of this slot under this pin.

        Of a world that sealkit runs that is the sealed scenario, of an external one the assignment.
        """
        if isinstance(self.plan.spec.world, ExternalWorld):
            line = assignment_line(self.plan.spec, slot)
        else:
            line = self.manifest.line(str(slot["family"]), int(slot["seed"]))
        return Trusted(pin=self.pin, judge=self.judge, slot=slot, scenario=line)

    def unpack_source(self, into: Path) -> None:
        """The source as of this pin stands in `into`, a new or empty folder, every file checked."""
        path, source = beside(self.plan_path, "source.tar", self.number), self.commitment.source
        plan = plan_entry(self.commitment.plan)
        unpack(path, into, self.closure, plan, inside=self.study, digest=source.digest, size=source.size)

    def unpack_code(self, into: Path) -> None:
        """The same without the plan and the lock, in which an amendment may write what it likes and change no code."""
        self.unpack_source(into)
        for name in (self.commitment.plan.path, LOCK):
            (into / name).unlink(missing_ok=True)

    def files(self, names: frozenset[str]) -> dict[str, bytes]:
        """Those of these files that the archive of this pin holds."""
        return check_source(self.plan_path, self.study, self.number, self.commitment, names)

    def due(self) -> Due:
        """What the journal must hold of this amendment."""
        amendment = self.commitment
        assert isinstance(amendment, Amendment)
        file = amendment_file(self.plan_path, self.number)
        after, _ = parse_head(amendment.head, where=str(file))
        event = Amended(number=self.number, pin=self.pin, phase=amendment.phase)
        return Due(event=event, after=after, file=file.name, slots=slot_count(self.plan.spec, "confirmatory"))


def open_pins(
    plan_path: Path, study: Path, *, parsed: Plan | None, working: bool = True, written: str = ""
) -> tuple[Pinned, ...]:
    """Every pin of the plan, in order, after checking all of its files; close their manifests.

    The plan file in the working tree is the last pin's, or this raises; without `working` it is not looked at, which
    is for whoever amends. A plan that was `parsed` already is taken where the bytes are the same: parsing is most of
    the time. An archive of the digest `written`, which the caller has just written and hashed, is not read again.
    """
    commitments: list[tuple[Commitment, str]] = [read_seal(plan_path, study)]
    commitments += _read_amendments(plan_path, study)
    last = len(commitments) - 1
    keep = last > 0 or not working
    plans = [parsed] if parsed is not None else []
    if last and working:
        with suppress(SealkitError):  # whatever is wrong with it, the last pin's check names it
            plans.append(open_plan_bytes(read_file_safely(plan_path, inside=study, limit=MAX_BYTES), str(plan_path)))
    opened: list[Pinned] = []
    try:
        for number, (commitment, pin) in enumerate(commitments):
            look = working and number == last
            read = commitment.source.digest != written
            opened.append(_open_pin(plan_path, study, number, commitment, pin, look, keep, plans, read))
            plans.append(opened[-1].plan)
            if number:
                _check_amendment(opened[-2], opened[-1])
    except SealkitError:
        for pinned in opened:
            pinned.manifest.close()
        raise
    return tuple(opened)


def _open_pin(
    plan_path: Path, study: Path, number: int, commitment: Commitment, pin: str, look: bool, keep: bool,
    parsed: Sequence[Plan], read: bool,
) -> Pinned:  # fmt: skip
    record = str(beside(plan_path, "seal.json") if not number else amendment_file(plan_path, number))
    if commitment.plan.path != plan_path.relative_to(study).as_posix():
        raise UntrustedError(f"it seals {commitment.plan.path!a}, not this plan", where=record)
    since = "its seal" if not number else f"amendment {number}"
    kept: dict[str, bytes] | None = None if read or not look else {}
    if look:
        data = read_file_safely(plan_path, inside=study, limit=MAX_BYTES)
        plan = check_plan(data, str(plan_path), commitment, parsed, since, record)
    else:
        kept = check_source(plan_path, study, number, commitment, None)
        archive = beside(plan_path, "source.tar", number)
        plan = check_plan(kept[commitment.plan.path], str(archive), commitment, parsed, since, record)
    check_closure_of(commitment.closure, plan.spec, where=record)
    if kept is None:
        kept = check_source(plan_path, study, number, commitment, None if keep else frozenset())
    judge = judge_files(plan.spec, own_files(commitment.closure), kept)
    manifest = open_manifest(beside(plan_path, "manifest.jsonl", number), commitment.manifest, inside=study)
    try:
        check_manifest(manifest, plan.spec)
    except SealkitError:
        manifest.close()
        raise
    superseded = commitment.superseded if isinstance(commitment, Amendment) else ()
    return Pinned(
        number=number, pin=pin, commitment=commitment, plan=plan, manifest=manifest, plan_path=plan_path, study=study,
        judge_files=judge, blocks=frozenset(block_key(block, plan.spec) for block in superseded),
    )  # fmt: skip


# --- the records ---------------------------------------------------------------------------------


def read_seal(plan_path: Path, study: Path) -> tuple[Seal, str]:
    """The seal of a plan and pin 0; `OutOfOrderError` if there is none."""
    path = beside(plan_path, "seal.json")
    found = _read_record(path, study, Seal)
    if found is None:
        raise OutOfOrderError("the plan is not sealed", where=str(plan_path), remedy=to_type("seal", plan_path))
    seal, pin = found
    if not is_time(seal.sealed_at):
        raise MalformedError(f"sealed_at is {seal.sealed_at!a}, due YYYY-MM-DDThh:mm:ssZ", where=str(path))
    return seal, pin


def _read_amendments(plan_path: Path, study: Path) -> Iterator[tuple[Amendment, str]]:
    for due, (number, name) in enumerate(_amendment_files(plan_path, study), start=1):
        path = plan_path.with_name(name)
        if number != due or name != amendment_file(plan_path, due).name:
            missing = amendment_file(plan_path, due).name
            raise UntrustedError(f"found {name}, due {missing}", where=str(path), remedy="fetch the whole study")
        found = _read_record(path, study, Amendment)
        if found is None:
            raise UntrustedError("is gone", where=str(path))
        yield found


def _amendment_files(plan_path: Path, study: Path) -> list[tuple[int, str]]:
    """(number, name) of everything beside the plan that calls itself an amendment of it."""
    is_amendment = re.compile(re.escape(plan_path.stem) + r"\.A-([0-9]{1,12})\.json\Z").match
    with open_folder(plan_path.parent, inside=study) as folder:
        names = os.listdir(folder.descriptor)
    found = sorted((int(match[1]), name) for name in names if (match := is_amendment(name)) is not None)
    if len(found) > MOST_AMENDMENTS:
        raise MalformedError(f"{len(found)} amendments, due at most {MOST_AMENDMENTS}", where=str(plan_path))
    return found


def _read_record(path: Path, study: Path, kind: type[R]) -> tuple[R, str] | None:
    raw = read_if_there(path, inside=study, limit=MAX_LINE + 1)
    if raw is None:
        return None
    if not raw.endswith(b"\n"):
        raise MalformedError("found no newline at its end", where=str(path), remedy="it was cut or edited")
    return decode_record(raw[:-1], kind, where=str(path)), digest_bytes(raw)


def _check_amendment(before: Pinned, after: Pinned) -> None:
    """What the amendment says of itself is what its files and the pin before it say."""
    amendment, where = after.commitment, str(amendment_file(after.plan_path, after.number))
    assert isinstance(amendment, Amendment)
    if amendment.number != after.number or amendment.previous != before.pin:
        what = f"it is amendment {amendment.number} after pin {short(amendment.previous)}"
        raise UntrustedError(f"{what}, due {after.number} after {short(before.pin)}", where=where)
    if amendment.plan.id != before.plan.spec.id or amendment.data_access != before.commitment.data_access:
        raise UntrustedError("it changes the plan's id or data access, which no amendment may", where=where)
    if not is_time(amendment.made_at):
        raise MalformedError(f"made_at is {amendment.made_at!a}, due YYYY-MM-DDThh:mm:ssZ", where=where)
    check_reason(amendment.reason, where=where)
    parse_head(amendment.head, where=where)
    check_superseded(after.plan.spec, amendment.superseded, where=where)
    changed = changes(before.version, after.version)
    if changed != amendment.changed or not (is_change(changed) or amendment.superseded):
        raise UntrustedError("what it says has changed is not what has", where=where, remedy="it was edited")
    effect = effect_on_claims(before.plan, after.plan, changed, amendment.phase, len(amendment.superseded))
    if effect != amendment.effect:
        raise UntrustedError("what it says becomes of the claims does not follow from it", where=where)


def check_superseded(spec: Spec, superseded: Sequence[Slot], *, where: str) -> None:
    """Raise unless these are blocks of the confirmatory stage, each once, in plan order."""
    if not superseded:
        return
    known = {block_key(block[0], spec): place for place, block in enumerate(blocks(spec, "confirmatory"))}
    levels = set(spec.sample.block_by)
    places = [known.get(block_key(block, spec), -1) if block.keys() == levels else -1 for block in superseded]
    if -1 in places or places != sorted(set(places)):
        raise UntrustedError("it supersedes what is no block of the plan, or one twice, or out of order", where=where)


def block_key(slot: Mapping[str, Level], spec: Spec) -> tuple[Level | None, ...]:
    """The levels that say to which block a slot belongs."""
    return tuple(slot.get(name) for name in spec.sample.block_by)
