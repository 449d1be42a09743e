"""Runs the slots of recorded episodes again with changed code, and says whose episode would be another.

What is compared is what happened: actions, changes of state, returns, how it ended. Pins, and the digests that hang on
them, are not. No judge is asked and no outcome looked at, so the blocks to be run again are chosen without outcomes;
`check_reruns` lets a reader derive them again from the sealed sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from sealkit.plan.actors import ReferenceWorld, ScriptedArm
from sealkit.plan.load import Plan
from sealkit.plan.slots import blocks
from sealkit.run.play import play_scripted
from sealkit.run.progress import SlotIndex
from sealkit.seal.manifest import Manifest
from sealkit.seal.pins import Pinned, block_key
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.sandbox import BrokenOffError
from sealkit.verify.study import Later, Study
from sealkit.wire.canon import decode_record, reencode
from sealkit.wire.chain import EpisodeKept, Slot
from sealkit.wire.errors import HarnessError, UntrustedError, UsageError
from sealkit.wire.records import Act, Count, Episode, Trusted
from sealkit.world.loader import load_world


@dataclass(frozen=True, slots=True)
class Differing:
    """A slot whose episode would be another, and how, in words."""

    slot: Slot
    why: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many episodes were run again, those that differ in the order of the journal, and the blocks that these lie
    in.
    """

    episodes: Count
    differing: tuple[Differing, ...]
    blocks: tuple[Slot, ...]


def replay_recorded(
    sealed: SealedPlan, study: Path, plan: Plan, manifest: Manifest, *, step: Callable[[int], None]
) -> Replayed:
    """Every confirmatory episode that counts and whose slot the working tree's plan has, run again by its code."""
    if not isinstance(plan.spec.world, ReferenceWorld):
        raise UsageError("this sealkit cannot run an external world again", where=plan.where("world"))
    world = load_world(study, plan.spec.world.name)

    def again(agent_name: str, trusted: Trusted) -> bytes:
        return play_scripted(world, agent_name, trusted)

    return _replayed(sealed, sealed.pins, plan, manifest, again, step)


def check_reruns(study: Study) -> Count:
    """Derive the blocks that every amendment supersedes again, by its sealed source; how many, all as recorded.

    `UntrustedError` naming the amendment if its blocks are not those in which recorded episodes would be others.
    """
    count = 0
    for pinned in study.sealed.pins:
        if not pinned.blocks:
            continue
        sandbox = study.under[pinned.pin].sandbox
        earlier = study.sealed.pins[: pinned.number]
        found = _replayed(study.sealed, earlier, pinned.plan, pinned.manifest, sandbox.play, lambda done: None)
        if found.blocks != pinned.superseded:
            what = f"amendment {pinned.number} supersedes {len(pinned.superseded)} blocks"
            raise UntrustedError(
                f"{what}, but those in which its code gives other episodes are {len(found.blocks)}, or not the same",
                where=str(study.sealed.path),
                remedy="the blocks were not chosen by what the change does",
            )
        count += len(found.blocks)
    return count


Again: TypeAlias = Callable[[str, Trusted], bytes]


def _replayed(
    sealed: SealedPlan,
    pins: Sequence[Pinned],
    plan: Plan,
    manifest: Manifest,
    again: Again,
    step: Callable[[int], None],
) -> Replayed:
    episodes, differing = 0, []
    for slot, line in _recorded(sealed, pins, plan):
        episodes += 1
        why = _difference(line, _again(again, plan, manifest, slot))
        if why:
            differing.append(Differing(slot, why))
        step(1)
    return Replayed(episodes, tuple(differing), _blocks(plan, differing))


def _recorded(sealed: SealedPlan, pins: Sequence[Pinned], plan: Plan) -> Iterator[tuple[Slot, bytes]]:
    """The confirmatory episodes that count under these pins, and whose slot the plan has."""
    index, later = SlotIndex(plan.spec, "confirmatory"), Later(pins)
    for entry, line in sealed.history():
        event = entry.event
        if not isinstance(event, EpisodeKept) or event.stage != "confirmatory" or line is None:
            continue
        pinned = sealed.under(event.pin)
        if pinned.number < len(pins) and not later.left_out(pinned, event) and index.find(event.slot) is not None:
            yield event.slot, line


def _again(again: Again, plan: Plan, manifest: Manifest, slot: Slot) -> bytes | str:
    """The line that the slot leaves now; a sentence if it leaves none."""
    arm = plan.spec.factors.arm[str(slot["arm"])]
    if not isinstance(arm, ScriptedArm):
        raise UsageError("this sealkit can run only scripted arms again", where=plan.where("factors", "arm"))
    scenario = manifest.line(str(slot["family"]), int(slot["seed"]))
    try:
        return again(arm.scripted, Trusted(pin="", judge="", slot=slot, scenario=scenario))
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


def _blocks(plan: Plan, differing: list[Differing]) -> tuple[Slot, ...]:
    """The blocks, in plan order, in which these slots lie, by the levels that their slots share."""
    spec = plan.spec
    touched = {block_key(one.slot, spec) for one in differing}
    shared = (block[0] for block in blocks(spec, "confirmatory") if block_key(block[0], spec) in touched)
    return tuple({name: slot[name] for name in spec.sample.block_by} for slot in shared)
