"""`sealkit show PLAN ...`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sealkit.cli.amend import print_changes
from sealkit.cli.clock import now
from sealkit.cli.out import escape, heading, json_option, plan_argument, print_json, print_table
from sealkit.plan.lint_world import NOT_REPLAYABLE, RECORDED
from sealkit.plan.slots import STAGES, grid
from sealkit.seal.amend import changed_names
from sealkit.seal.changes import unified
from sealkit.seal.commitment import amendment_name
from sealkit.seal.history import spell_slot
from sealkit.seal.in_force import phase_in_words
from sealkit.seal.sealed import SealedPlan, open_seal
from sealkit.wire.canon import decode_record, decode_value, encode_record
from sealkit.wire.digest import short
from sealkit.wire.episode import Act, Episode, Fact, InboxOpened, Notice, Segment
from sealkit.wire.errors import UsageError
from sealkit.wire.events import EpisodeKept, Failed, Looked, Stage
from sealkit.wire.recorded import Recorded
from sealkit.wire.records import Level
from sealkit.wire.text import counted


@click.command("show")
@plan_argument
@click.option("--scenario", metavar="FAMILY:SEED", help="One line of the manifest.")
@click.option("--entry", type=click.IntRange(0), metavar="N", help="One entry of the journal.")
@click.option(
    "--amendment", type=click.IntRange(1), metavar="N", help="One amendment, and the difference that it made."
)
@click.option(
    "--debug", "slot", metavar="FACTOR=LEVEL,…", help="One episode, act by act: a look, journaled, without scores."
)
@json_option
def command(
    plan: Path, scenario: str | None, entry: int | None, amendment: int | None, slot: str | None, as_json: bool
) -> None:
    """Print one record of a sealed study in readable form: its seal, unless another is asked for.

    \b
    Examples:
      sealkit show plans/dry-run.yaml
      sealkit show plans/dry-run.yaml --scenario noise:3 --json
      sealkit show plans/dry-run.yaml --entry 0
      sealkit show plans/dry-run.yaml --amendment 1
      sealkit show plans/dry-run.yaml --debug arm=oracle,family=noise,seed=3
    """
    sealed = open_seal(plan)
    if scenario is not None:
        print_json(decode_value(sealed.manifest.line(*_key(sealed, scenario))))
    elif entry is not None:
        found = next((one for one in sealed.history().entries() if one.seq == entry), None)
        if found is None:
            raise UsageError(f"the journal has no entry {entry}", where="--entry")
        print_json(decode_value(encode_record(found)))
    elif amendment is not None:
        _show_amendment(sealed, amendment, as_json)
    elif slot is not None:
        _show_episode(sealed, _slot(sealed, slot), as_json)
    elif as_json:
        print_json(decode_value(encode_record(sealed.seal)))
    else:
        _show_seal(sealed)


def _show_seal(sealed: SealedPlan) -> None:
    seal = sealed.seal
    heading(f"{seal.plan.id}, sealed {seal.sealed_at} with sealkit {seal.sealkit}")
    click.echo(f"  pin          {sealed.pin}")
    click.echo(f"  plan         {seal.plan.file}")
    click.echo(f"  scenarios    {seal.manifest.root} over {seal.manifest.count} lines")
    click.echo(f"  source       {seal.source.digest}, {seal.source.size} bytes")
    for amendment in sealed.amendments:
        name = amendment_name(amendment.number)
        click.echo(f"  {name:<11}  {amendment.made_at}, {phase_in_words(amendment.phase)}: {escape(amendment.reason)}")
    click.echo(f"  data access  {seal.data_access}; pilot episodes {seal.pilot.episodes}, calls {seal.pilot.calls}")
    environment = seal.closure.environment
    click.echo(f"  environment  Python {environment.python}, {environment.system} {environment.machine}")
    rows = [(tree.path, str(len(tree.entries)), tree.root) for tree in seal.closure.trees]
    print_table(("tree", "files", "root"), rows, right=(1,))
    print_table(("section", "digest"), sorted(seal.plan.sections.items()))


def _show_amendment(sealed: SealedPlan, number: int, as_json: bool) -> None:
    if number >= len(sealed.pins):
        raise UsageError(f"the plan has {counted(len(sealed.amendments), 'amendment')}", where="--amendment")
    before, after, amendment = sealed.pins[number - 1], sealed.pins[number], sealed.amendments[number - 1]
    if as_json:
        print_json(decode_value(encode_record(amendment)))
        return
    phase = phase_in_words(amendment.phase)
    heading(f"{amendment_name(number)} of {amendment.plan.id}, {phase}, made at {amendment.made_at}")
    click.echo(f"  reason       {escape(amendment.reason)}")
    click.echo(f"  pin          {after.pin}")
    print_changes(before.commitment.plan, amendment)
    for effect in amendment.effect:
        click.echo(f"  claims: {escape(effect)}")
    heading("difference")
    moved = amendment.plan.file != before.commitment.plan.file
    names = changed_names(amendment.changed, sealed, plan=moved)
    for line in unified(names, before.files(frozenset(names)), after.files(frozenset(names))):
        click.echo(f"  {escape(line)}")


def _key(sealed: SealedPlan, text: str) -> tuple[str, int]:
    """The family and seed of one line of the manifest."""
    for family, seed in sealed.manifest.keys():  # noqa: SIM118 a manifest is no dict
        if text == f"{family}:{seed}":
            return family, seed
    raise UsageError(f"the manifest has no scenario {text!a}", where="--scenario", remedy="name it FAMILY:SEED")


def _slot(sealed: SealedPlan, text: str) -> dict[str, Level]:
    """The slot that `FACTOR=LEVEL,…` names, in any stage of the plan."""
    slot: dict[str, Level] = {}
    known: dict[str, dict[str, Level]] = {}
    for stage in STAGES:
        for name, levels in grid(sealed.plan.spec, stage).items():
            known.setdefault(name, {}).update({str(level): level for level in levels})
    for part in text.split(","):
        name, sign, level = (word.strip() for word in part.partition("="))
        if not sign:
            raise UsageError(f"found {part!a}, due FACTOR=LEVEL", where="--debug", remedy="arm=A,family=noise,seed=3")
        if name not in known:
            raise UsageError(f"there is no factor {name!a}; there are {', '.join(known)}", where="--debug")
        if level not in known[name]:
            raise UsageError(f"{name} has no level {level!a}; it has {', '.join(known[name])}", where="--debug")
        slot[name] = known[name][level]
    return slot


def _show_episode(sealed: SealedPlan, slot: dict[str, Level], as_json: bool) -> None:
    line, stage = _find(sealed, slot)
    # Whoever reads a confirmatory episode has seen an outcome: the journal says so before it is shown.
    if stage == "confirmatory":
        sealed.journal().append(Looked(what=f"show --debug {spell_slot(slot)}"), now=now())
    if as_json:
        print_json(decode_value(line))
        return
    if sealed.plan.spec.evidence == RECORDED:
        _show_recorded(decode_record(line, Recorded))
        return
    episode = decode_record(line, Episode)
    heading(", ".join(f"{name} {level}" for name, level in slot.items()) + f": {short(episode.closing.record)}")
    for act in episode.acts:
        _show_act(act)
    closing = episode.closing
    click.echo(f"ended: {escape(closing.ended)} {escape(closing.why)}; {len(episode.receipts)} receipts")


def _show_recorded(recorded: Recorded) -> None:
    """The transcript as the program wrote it; what it measured of it is an outcome, and not shown."""
    heading(", ".join(f"{name} {level}" for name, level in recorded.slot.items()) + f": {NOT_REPLAYABLE}")
    for entry in recorded.transcript:
        click.echo(f"  {escape(json.dumps(entry, ensure_ascii=False))}")
    usage = recorded.usage
    tokens = ", ".join(str(count) if count is not None else "?" for count in (usage.input_tokens, usage.output_tokens))
    click.echo(f"ended: {escape(recorded.closing.ended)} {escape(recorded.closing.why)}; {usage.calls} calls, "
               f"{tokens} tokens in and out")  # fmt: skip


def _find(sealed: SealedPlan, slot: dict[str, Level]) -> tuple[bytes, Stage]:
    """The last episode of this slot, and the stage that it belongs to; `UsageError` says how it failed, if it did."""
    found: tuple[bytes, Stage] | None = None
    failed: Failed | None = None
    for entry, line in sealed.history():  # to its end: an unchecked history shows nothing
        event = entry.event
        if isinstance(event, EpisodeKept) and event.slot == slot and line is not None:
            found = line, event.stage
        elif isinstance(event, Failed) and event.slot == slot:
            failed = event
    if found is None and failed is not None:
        what = f"no episode of slot {spell_slot(slot)}: attempt {failed.attempt} of the {failed.stage} stage failed"
        raise UsageError(f"{what}: {failed.ending}: {escape(failed.why)}", where="--debug")
    if found is None:
        raise UsageError(
            f"no episode of slot {spell_slot(slot)}", where="--debug", remedy="name every factor, or run it first"
        )
    return found


def _show_act(act: Act) -> None:
    arguments = ", ".join(f"{name}={json.dumps(value)}" for name, value in act.action.args.items())
    click.echo(f"{act.n:>3}  {escape(act.action.name)}({escape(arguments)})")
    for delta in act.deltas:
        click.echo(f"     * {escape(delta.cause)}: {escape(', '.join(op.path for op in delta.ops)) or 'no change'}")
    for segment in act.segments:
        for line in getattr(segment, "text", "").removesuffix("\n").split("\n"):
            click.echo(f"     {_tag(segment)} {escape(line)}")


def _tag(segment: Segment) -> str:
    kinds = {Fact: "fact  ", Notice: "notice", InboxOpened: "inbox "}
    return kinds.get(type(segment), "text  ")
