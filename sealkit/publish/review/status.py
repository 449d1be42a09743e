"""Where a plan stands, from its files alone, and the command that comes next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sealkit.files import to_type
from sealkit.plan.actors import ExternalWorld
from sealkit.plan.asked import to_run, to_run_stage
from sealkit.plan.load import Plan
from sealkit.plan.slots import slot_count
from sealkit.publish.review.past import Past, way_on
from sealkit.run.drawn_again import FailedTries
from sealkit.run.failing import failing_arms
from sealkit.run.progress import Standing as Stage
from sealkit.run.progress import begin, begin_sealed, begin_shard, follow_all
from sealkit.seal.commitment import amendment_name
from sealkit.seal.history import History, open_history
from sealkit.seal.in_force import phase_in_words
from sealkit.seal.journal import JOURNAL
from sealkit.seal.sealed import SealedPlan, beside, find_drift, open_seal, receipts_folder, study_of
from sealkit.seal.shards import Shard, find_shards
from sealkit.wire.text import counted


@dataclass(frozen=True, slots=True)
class Standing:
    """One plan's state in a word or two, facts about it, and what to type next."""

    plan: str
    state: str
    facts: tuple[str, ...]
    next_step: str


def status_of(path: Path, plan: Plan) -> Standing:
    """The standing of one plan; raises as `open_seal` and the journal do if something does not hold."""
    if not beside(path, "seal.json").exists():
        return _before_the_seal(path, plan)
    sealed = open_seal(path)
    sealed.close()
    stage, smoke = (begin_sealed(sealed.pins, stage) for stage in ("confirmatory", "smoke"))
    history, past, tries = sealed.history(), Past(), FailedTries(sealed)
    history.merging()
    for entry in history.entries():
        stage.follow(entry)
        smoke.follow(entry)
        tries.see(entry, history.calls)
        past.follow(entry)
    earlier = past.smoke - smoke.episodes
    facts = [
        f"sealed {sealed.seal.sealed_at}, pin {sealed.pin}",
        f"{stage.episodes} of {stage.index.count} slots have their episode, "
        f"{counted(sum(stage.abandoned.values()), 'attempt')} abandoned; smoke {smoke.episodes} of {smoke.index.count}"
        + (f" since the last amendment, {earlier} before it" if earlier else ""),
        f"head {plan.spec.id} {history.head}",
    ]
    facts += [
        f"{amendment_name(one.number)} {one.made_at}, {phase_in_words(one.phase)}: {one.reason}"
        for one in sealed.amendments
    ]
    shards = find_shards(sealed)
    facts += _shard_facts(sealed, shards, history)
    drift = find_drift(sealed)
    if drift:
        facts.append(f"the working tree has drifted from the seal: {drift[0]}{' …' if drift[1:] else ''}")
    facts += [f"arm {failing}" for failing in failing_arms(stage)]
    facts += past.facts()
    facts += [str(tries)] if str(tries) else []
    if past.edition is not None:
        folder = sealed.study / "publications" / past.edition
        following = to_type("verify", folder, "--replay")
        if not folder.is_dir():
            facts[-1] = f"published, edition {past.edition}, which is not in publications/ here"
            following = to_type("verify", sealed.receipts, "--replay")
        return Standing(plan.spec.id, "published", tuple(facts), following)
    if past.analysed is not None:
        return Standing(plan.spec.id, "analysed", tuple(facts), to_type("publish", path))
    if stage.closed:
        return Standing(plan.spec.id, "run", tuple(facts), to_type("analyse", path))
    if past.pause is not None:
        again = to_run_stage(path, plan.spec, past.pause.stage)
        return Standing(plan.spec.id, "paused", tuple(facts), way_on(past.pause.reason, path, again))
    state = "being run" if stage.episodes or shards else "sealed"
    if merging := _to_merge(sealed, shards, history):
        return Standing(plan.spec.id, state, tuple(facts), merging)
    world = plan.spec.world
    from_logs = isinstance(world, ExternalWorld) and world.run is None
    imports = f"sealkit import inspect LOG {shlex.quote(str(path))} --arm NAME"
    following = imports if from_logs else to_run(path, plan.spec)
    return Standing(plan.spec.id, state, tuple(facts), following)


def _to_merge(sealed: SealedPlan, shards: Iterable[Shard], main: History) -> str:
    """The merge that comes next; empty if none does."""
    assert main.taken is not None
    taken = main.taken
    if (cut_off := taken.open) is not None:  # it goes on as it was begun
        due = [shard for shard in shards if shard.sharded.pin == sealed.latest.pin]
        whole = len(due) == cut_off.of and all(_followed(sealed, shard).closed for shard in due)
        return to_type("merge", sealed.path, *(() if whole else ("--unfinished",)))
    merged = {(one.shard, one.of) for one in taken.merged}
    here = [one.sharded for one in shards if one.sharded.pin == sealed.latest.pin]
    left = {one.shard for one in here if (one.shard, one.of) not in merged}
    if taken.attempted or not left.union(taken.waiting):
        return ""
    if gone := set(taken.waiting) - left:
        names = ", ".join(map(str, sorted(gone)))
        return f"{to_type('merge', sealed.path, '--unfinished')}, unless shard {names} can be put back as it was"
    if taken.lost:
        return to_type("merge", sealed.path, "--unfinished")
    return f"{to_type('merge', sealed.path)}, when every shard is closed"


def _shard_facts(sealed: SealedPlan, shards: Iterable[Shard], main: History) -> Iterator[str]:
    """A line for each shard: how far it is, whether it was merged, or that it is gone."""
    assert main.taken is not None
    taken, shards = main.taken, tuple(shards)
    if taken.open is not None:
        yield f"a merge was cut off in shard {taken.open.shard} of {taken.open.of}"
    merged = {(one.shard, one.of) for one in taken.merged}
    here = {shard.sharded.shard for shard in shards if shard.sharded.of == taken.shared_among}
    for number in sorted(set(taken.waiting) - here):
        yield f"shard {number} of {taken.shared_among}: began here, and its journal is gone"
    for number in sorted(taken.lost):
        yield f"shard {number} of {taken.shared_among}: began here and was lost; its slots are left to the main run"
    for shard in shards:
        said = shard.sharded
        if (said.shard, said.of) in merged:
            yield f"{shard.name}: merged"
        elif said.pin != sealed.latest.pin:
            yield f"{shard.name}: under an earlier pin, not merged; its episodes are in no count"
        else:
            spec, past = sealed.plan.spec, Past()
            state = begin_shard(spec, said.shard, said.of)
            for entry in shard.history().entries():
                state.follow(entry)
                past.follow(entry)
            ends = "closed, not merged" if state.closed else "not closed"
            if past.pause is not None:
                again = to_run(sealed.path, spec, "--shard", f"{said.shard}/{said.of}")
                on = way_on(past.pause.reason, sealed.path, again)
                ends = f"paused {past.paused_at}: {past.pause.reason}: {past.pause.detail}; next: {on}"
            yield (
                f"{shard.name}: {state.episodes} of {state.slots} slots have their episode, "
                f"{counted(sum(state.abandoned.values()), 'attempt')} abandoned, {ends}"
            )


def _followed(sealed: SealedPlan, shard: Shard) -> Stage:
    return follow_all(begin_shard(sealed.plan.spec, shard.sharded.shard, shard.sharded.of), shard.history().entries())


def _before_the_seal(path: Path, plan: Plan) -> Standing:
    """What was piloted; the seal comes next, unless the pilot paused or has nothing but failures."""
    planned, seal = f"{slot_count(plan.spec, 'confirmatory')} slots planned", to_type("seal", path)
    folder = receipts_folder(study_of(path), plan) / "pilot"
    if not (folder / JOURNAL).exists():
        return Standing(plan.spec.id, "not sealed", (f"{planned}, no pilot",), seal)
    stage, past = begin(plan.spec, "pilot"), Past()
    for entry in open_history(folder, inside=study_of(path), first=None).entries():
        stage.follow(entry)
        past.follow(entry)
    following, again = seal, to_run_stage(path, plan.spec, "pilot")
    if past.pause is not None:
        following = way_on(past.pause.reason, path, again)
    elif past.failed and not stage.episodes:
        following = f"mend what failed, then {again}"
    facts = (f"{planned}, {counted(stage.episodes, 'pilot episode')}", *past.facts())
    return Standing(plan.spec.id, "not sealed", facts, following)
