"""Runs the slots of recorded episodes again with changed code, and says whose episode would be another.

What is compared is what happened: actions, changes of state, returns, how it ended. Pins, and the digests that hang on
them, are not. No judge is asked and no outcome looked at, so the blocks to be run again are chosen without outcomes;
`check_reruns` lets a reader derive them again from the sealed sources.

An episode one of whose replies is withheld cannot be run again, so nobody can tell whether it would be another. It has
no block run again: who withholds a reply may have seen what the episode came to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from sealkit.agents.models.blobs import Blobs
from sealkit.agents.models.errors import WithheldError
from sealkit.agents.models.recorded import Recorded as Replies
from sealkit.plan.actors import Arm, CommandArm, ReferenceWorld, ScriptedArm
from sealkit.plan.load import Plan
from sealkit.plan.slots import SlotIndex, blocks
from sealkit.run.play import answered, play_arm
from sealkit.seal.journal import BLOBS, CALLS
from sealkit.seal.manifest import Manifest
from sealkit.seal.pins import Pinned, block_key
from sealkit.seal.sealed import SealedPlan
from sealkit.seal.withheld import withheld_bodies
from sealkit.verify.sandbox import BrokenOffError, Sandbox
from sealkit.verify.study import Later, Study
from sealkit.wire.attempts import Calls, read_calls
from sealkit.wire.attempts import answered as answered_calls
from sealkit.wire.canon import decode_record, encode_record, reencode
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Act, Episode, Trusted
from sealkit.wire.errors import HarnessError, UntrustedError, UsageError
from sealkit.wire.events import EpisodeKept, Slot, Withheld
from sealkit.wire.records import Count
from sealkit.world.loader import load_world


@dataclass(frozen=True, slots=True)
class Differing:
    """A slot whose episode would be another, and how, in words."""

    slot: Slot
    why: str


@dataclass(frozen=True, slots=True)
class Untold:
    """A slot whose episode nobody can run again: the replies of these digests are withheld."""

    slot: Slot
    withheld: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many recorded episodes there are, those that differ in the order of the journal, the blocks that these lie
    in, and those of which nobody can tell.
    """

    episodes: Count
    differing: tuple[Differing, ...]
    blocks: tuple[Slot, ...]
    untold: tuple[Untold, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One episode as it is recorded: its line, and the calls behind it with the bodies of their replies.

    `withheld` has the digests of replies that are not there.
    """

    slot: Slot
    line: bytes
    calls: Calls
    replies: tuple[bytes, ...]
    withheld: tuple[str, ...]


# The line that a slot leaves now with the recorded replies; a sentence if it asks something else.
Again: TypeAlias = Callable[[Arm, Trusted, Recorded], bytes | str]


def replay_recorded(
    sealed: SealedPlan, study: Path, plan: Plan, manifest: Manifest, *, step: Callable[[int], None]
) -> Replayed:
    """Every confirmatory episode that counts and whose slot the working tree's plan has, run again by its code."""
    if not isinstance(plan.spec.world, ReferenceWorld):
        raise UsageError("this sealkit cannot run an external world again", where=plan.where("world"))
    world = load_world(study, plan.spec.world.name)

    def again(arm: Arm, trusted: Trusted, recorded: Recorded) -> bytes | str:
        bodies = {digest_bytes(body): body for body in recorded.replies}
        replies = Replies(plan.spec, bodies.__getitem__, recorded.calls)
        try:
            playing = play_arm(arm, world, trusted, study, plan.spec.sample.endings.meanings())
            line = answered(playing, replies.answer)
            replies.finish()
        except UntrustedError:
            return "it asks a model something else"
        return line

    return _replayed(sealed, sealed.pins, plan, manifest, again, step)


def check_reruns(study: Study) -> Count:
    """Derive the blocks that every amendment supersedes again, by its sealed source; how many, all as recorded.

    `UntrustedError` naming the amendment if its blocks are not those in which recorded episodes would be others. A
    block in which a reply was withheld since may be among them too.
    """
    count, withheld = 0, _first_withheld(study.sealed)
    for pinned in study.sealed.pins:
        if not pinned.blocks:
            continue
        earlier = study.sealed.pins[: pinned.number]
        again = _in_sandbox(study.under[pinned.pin].sandbox, pinned.plan)
        found = _replayed(study.sealed, earlier, pinned.plan, pinned.manifest, again, lambda done: None)
        after = pinned.due().after
        since = [one.slot for one in found.untold if all(withheld[digest] >= after for digest in one.withheld)]
        may_be = _blocks(pinned.plan, since)
        told = [block for block in pinned.superseded if block in found.blocks or block not in may_be]
        if list(found.blocks) != told:
            what = f"amendment {pinned.number} supersedes {len(pinned.superseded)} blocks"
            raise UntrustedError(
                f"{what}, but those in which its code gives other episodes are {len(found.blocks)}, or not the same",
                where=str(study.sealed.path),
                remedy="the blocks were not chosen by what the change does",
            )
        count += len(told)
    return count


def _first_withheld(sealed: SealedPlan) -> dict[str, Count]:
    """The entry that withheld each digest."""
    found: dict[str, Count] = {}
    for entry in sealed.history().entries():
        if isinstance(entry.event, Withheld):
            found.setdefault(entry.event.digest, entry.seq)
    return found


def _in_sandbox(sandbox: Sandbox, plan: Plan) -> Again:
    def again(arm: Arm, trusted: Trusted, recorded: Recorded) -> bytes | str:
        if isinstance(arm, ScriptedArm):
            return sandbox.play(arm.scripted, trusted)
        return sandbox.rerun_arm(
            trusted, plan.data, tuple(map(encode_record, recorded.calls)), recorded.replies
        )  # fmt: skip

    return again


def _replayed(
    sealed: SealedPlan,
    pins: Sequence[Pinned],
    plan: Plan,
    manifest: Manifest,
    again: Again,
    step: Callable[[int], None],
) -> Replayed:
    episodes, differing, untold = 0, list[Differing](), list[Untold]()
    for recorded in _recorded(sealed, pins, plan):
        episodes += 1
        if recorded.withheld:
            untold.append(Untold(recorded.slot, recorded.withheld))
        elif why := _difference(recorded.line, _again(again, plan, manifest, recorded)):
            differing.append(Differing(recorded.slot, why))
        step(1)
    touched = _blocks(plan, [one.slot for one in differing])
    return Replayed(episodes, tuple(differing), touched, tuple(untold))


def _recorded(sealed: SealedPlan, pins: Sequence[Pinned], plan: Plan) -> Iterator[Recorded]:
    """The confirmatory episodes that count under these pins, and whose slot the plan has."""
    index, later = SlotIndex(plan.spec, "confirmatory"), Later(pins)
    bodies = Blobs(
        sealed.receipts / BLOBS, inside=sealed.study, withheld=withheld_bodies(sealed.receipts, inside=sealed.study)
    )
    history = sealed.history()
    for entry, line in history:
        event = entry.event
        if not isinstance(event, EpisodeKept) or event.stage != "confirmatory" or line is None:
            continue
        pinned = sealed.under(event.pin)
        if pinned.number < len(pins) and not later.left_out(pinned, event) and index.find(event.slot) is not None:
            calls = read_calls(history.calls, where=f"{CALLS} (entry {entry.seq})")
            yield Recorded(event.slot, line, calls, *_replies(bodies, calls))


def _replies(bodies: Blobs, calls: Calls) -> tuple[tuple[bytes, ...], tuple[str, ...]]:
    """The replies that are there, and the digests of those that are withheld."""
    replies, withheld = list[bytes](), list[str]()
    for digest in (call.response or "" for call in answered_calls(calls)):
        try:
            replies.append(bodies.get(digest))
        except WithheldError:
            withheld.append(digest)
    return tuple(replies), tuple(withheld)


def _again(again: Again, plan: Plan, manifest: Manifest, recorded: Recorded) -> bytes | str:
    """The line that the slot leaves now; a sentence if it leaves none."""
    name = str(recorded.slot["arm"])
    arm = plan.spec.factors.arm[name]
    if isinstance(arm, CommandArm):
        what = "an arm that is a program is not run again, so nobody can say which episodes would be others"
        raise UsageError(what, where=plan.where("factors", "arm", name), remedy="amend without --impact")
    scenario = manifest.line(str(recorded.slot["family"]), int(recorded.slot["seed"]))
    try:
        return again(arm, Trusted(pin="", judge="", slot=recorded.slot, scenario=scenario), recorded)
    except BrokenOffError:
        raise
    except HarnessError as error:
        return f"it breaks: {error}"


def _difference(recorded: bytes, again: bytes | str) -> str:
    """What differs, in words that tell nothing of how the recorded episode went: no look is recorded for this."""
    if isinstance(again, str):
        return again
    old, new = (decode_record(line, Episode) for line in (recorded, again))
    for then, now in zip(old.acts, new.acts, strict=False):
        if _plain(then) != _plain(now):
            return "an act differs"
    if len(old.acts) != len(new.acts):
        return "it has another number of acts"
    ends = [(episode.closing.root, episode.closing.ended, episode.closing.why) for episode in (old, new)]
    return "it ends otherwise" if ends[0] != ends[1] else ""


def _plain(act: Act) -> bytes:
    """What happened in an act, without the digests that hang on the pin; bytes, because Python takes true for 1."""
    return reencode(msgspec.structs.replace(act, prev="", head=""))


def _blocks(plan: Plan, among: list[Slot]) -> tuple[Slot, ...]:
    """The blocks, in plan order, in which these slots lie, by the levels that their slots share."""
    spec = plan.spec
    touched = {block_key(slot, spec) for slot in among}
    shared = (block[0] for block in blocks(spec, "confirmatory") if block_key(block[0], spec) in touched)
    return tuple({name: slot[name] for name in spec.sample.block_by} for slot in shared)
