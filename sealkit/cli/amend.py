"""`sealkit amend PLAN`."""

from __future__ import annotations

from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import (
    Progress,
    escape,
    heading,
    json_option,
    one_line,
    plan_argument,
    print_json,
    print_table,
    without_empty,
)
from sealkit.files import to_type
from sealkit.plan.asked import to_run
from sealkit.plan.schema import Spec
from sealkit.plan.slots import slot_count
from sealkit.publish.claims.drawn_anew import newly_under_claims, words_of
from sealkit.run.drawn_again import FailedTries
from sealkit.seal.amend import Draft, amending, withdraw
from sealkit.seal.changelog import CHANGELOG
from sealkit.seal.changes import ASKED, unchanged_words
from sealkit.seal.commitment import Amendment, Impact, PlanSeal, amendment_name
from sealkit.seal.history import spell_slot
from sealkit.seal.in_force import TRIED, WHEN, phase_in_words
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.impact import Replayed, replay_recorded
from sealkit.wire.canon import decode_value, encode_record
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import OutOfOrderError, UsageError
from sealkit.wire.records import Json
from sealkit.wire.text import counted
from sealkit.world.named import check_named

MOST_SLOTS = 40


@click.command("amend")
@plan_argument
@click.option("--reason", metavar="TEXT", help="Why, in one line; it is published.")
@click.option("--dry-run", is_flag=True, help="Say what would be recorded, and write nothing.")
@click.option("--impact", is_flag=True, help="Run recorded episodes again by the changed code; list those that differ.")
@click.option("--supersede", is_flag=True, help="Like --impact; `run` then repeats their blocks, in every arm.")
@click.option("--withdraw", "withdrawn", metavar="all|CLAIM", help="Withdraw a claim, or all of them, instead.")
@json_option
def command(
    plan: Path, reason: str | None, dry_run: bool, impact: bool, supersede: bool, withdrawn: str | None, as_json: bool
) -> None:
    """Record a change after the seal: what it is, which side of the first look it falls on, and what it does to claims.

    \b
    Examples:
      sealkit amend plans/v1.yaml --dry-run
      sealkit amend plans/v1.yaml --reason "the parser dropped the last line of a reply"
      sealkit amend plans/v1.yaml --reason "a door could not be opened" --supersede
      sealkit amend plans/v1.yaml --withdraw all --reason "the world does not stand for what we said it does"

    Change the files first, then call this. It writes plans/NAME.A-0001.json, which is never edited, with a manifest
    and a source archive of its own, an entry in the journal and a block in CHANGELOG_AFTER_SEAL.md. Episodes that are
    there stay, and are checked under the pin that they ran under. A call that was cut off is completed by the next.
    """
    if reason is None and not dry_run:
        raise UsageError("there is no reason", where="--reason", remedy="say in one line why")
    if reason is not None:
        one_line(reason, option="--reason")
    if withdrawn is not None:
        if dry_run or impact or supersede:
            raise UsageError("--withdraw goes with --reason alone", where="--withdraw")
        _withdraw(plan, withdrawn, str(reason), as_json)
        return
    with amending(plan, now=now()) as draft:
        check_named(draft.sealed.study, draft.plan)
        replayed = _replay(draft) if impact or supersede else None
        try:
            amendment = _record(draft, reason or "not said yet", replayed, supersede)
        except OutOfOrderError:
            if not draft.completed:
                raise
            _tell_completed(draft, as_json)
            return
        tries = _failed_tries(draft.sealed)
        pin = None if dry_run else digest_bytes(encode_record(amendment) + b"\n")
        if not dry_run:
            draft.commit(amendment).close()  # first: whoever reads along may close the pipe
        if as_json:
            print_json(_document(draft, amendment, replayed, pin))
        else:
            _print(draft, amendment, replayed)
            if tries:
                click.echo(f"\n  {escape(tries)}")
    if not as_json:
        _print_next(plan, draft, amendment, pin)


def _failed_tries(sealed: SealedPlan) -> str:
    """What tries that failed so far will cost, in a sentence; empty if nothing."""
    history, tries = sealed.history(), FailedTries(sealed)
    for entry in history.entries():
        tries.see(entry, history.calls)
    return str(tries)


def _replay(draft: Draft) -> Replayed:
    progress = Progress("episodes", slot_count(draft.plan.spec, "confirmatory"))
    try:
        return replay_recorded(draft.sealed, draft.sealed.study, draft.plan, draft.manifest, step=progress.step)
    finally:
        progress.end()


def _record(draft: Draft, reason: str, replayed: Replayed | None, supersede: bool) -> Amendment:
    if replayed is None:
        return draft.amendment(reason=reason)
    found = Impact(episodes=replayed.episodes, differ=len(replayed.differing))
    return draft.amendment(reason=reason, impact=found, superseded=replayed.blocks if supersede else ())


def _withdraw(plan: Path, what: str, reason: str, as_json: bool) -> None:
    sealed, completed = withdraw(plan, what, reason=reason, now=now())
    if as_json:
        print_json({"withdrawn": what, "reason": reason, "completed": list(completed)})
        return
    for one in completed:
        click.echo(one)
    click.echo(f"withdrawn: {what}; the journal of {sealed.plan.spec.id} and {CHANGELOG} say so")
    click.echo("next: sealkit verify receipts/")


# --- in words ------------------------------------------------------------------------------------


def _tell_completed(draft: Draft, as_json: bool) -> None:
    if as_json:
        print_json({"completed": list(draft.completed)})
        return
    for one in draft.completed:
        click.echo(f"completed what was cut off: {one}")
    click.echo(f"next: sealkit verify receipts/{draft.sealed.plan.spec.id}")


def _print(draft: Draft, amendment: Amendment, replayed: Replayed | None) -> None:
    for one in draft.completed:
        click.echo(f"completed what was cut off: {one}")
    heading(f"{amendment_name(amendment.number)} of {amendment.plan.id}, {phase_in_words(amendment.phase)}")
    print_changes(draft.sealed.latest.commitment.plan, amendment)
    if replayed is not None:
        _print_replayed(replayed, amendment)
    heading("claims")
    for effect in amendment.effect:
        click.echo(f"  {escape(effect)}")
    if draft.phase in TRIED:
        for name, arms in newly_under_claims(draft.sealed.plan.spec, draft.plan.spec).items():
            click.echo(f"  claim {escape(name)} is exploratory: {WHEN[draft.phase]}, this {escape(words_of(arms))}")
    heading("difference")
    for line in draft.diff():
        click.echo(f"  {escape(line)}")


def print_changes(before: PlanSeal, amendment: Amendment) -> None:
    """What an amendment changes, sorted, and what of it is proved unchanged."""
    changed = amendment.changed
    was, has = before.sections, amendment.plan.sections
    moved = {name: f"{_short(was.get(name))} → {_short(has.get(name))}" for name in {*was, *has}}
    rows = [("protected", f"section {name}", moved.get(name, "")) for name in changed.protected]
    rows += [("described", f"section {name}", moved.get(name, "")) for name in changed.described]
    rows += [("layout", "comments or layout of the plan", "")] if changed.layout else []
    for kind, files in (("ruling code", changed.ruling), ("harness", changed.harness)):
        rows += [(kind, str(file), f"{_short(file.before)} → {_short(file.after)}") for file in files]
    rows += [("scenarios", f"{changed.scenarios} added, removed or not as they were", "")] if changed.scenarios else []
    if rows:
        print_table(*without_empty(("kind", "what", "digests"), rows))
    unchanged = unchanged_words(before, amendment.plan)
    if unchanged:
        click.echo(f"\n  {', '.join(unchanged)} unchanged: every section has the digest that it had before")
        digests = amendment.plan.sections
        print_table(
            ("unchanged", "section", "digest"),
            [(word, name, short(digests[name])) for word in unchanged for name in ASKED[word]],
        )


def _print_replayed(replayed: Replayed, amendment: Amendment) -> None:
    heading(f"{len(replayed.differing)} of {replayed.episodes} recorded episodes would be others now")
    rows = [(spell_slot(one.slot), one.why) for one in replayed.differing[:MOST_SLOTS]]
    if rows:
        print_table(("slot", "why"), rows)
    if len(replayed.differing) > MOST_SLOTS:
        click.echo(f"  … and {len(replayed.differing) - MOST_SLOTS} more")
    if replayed.untold:
        named = "; ".join(spell_slot(one.slot) for one in replayed.untold[:MOST_SLOTS])
        click.echo(
            f"  {counted(len(replayed.untold), 'episode')} cannot be run again, since a reply is withheld: nobody can "
            f"tell, and no block is run again for that: {escape(named)}"
        )
    if replayed.blocks:
        word = "to be run again" if amendment.superseded else "in which they lie; --supersede has them run again"
        named = "; ".join(spell_slot(block) for block in replayed.blocks[:MOST_SLOTS])
        click.echo(f"  {counted(len(replayed.blocks), 'block')} {word}, every arm of each: {escape(named)}")


def _print_next(plan: Path, draft: Draft, amendment: Amendment, pin: str | None) -> None:
    if pin is None:
        click.echo(f'\nnothing was written; next: {to_type("amend", plan)} --reason "…"')
        return
    click.echo(f"\nrecorded as amendment {amendment.number}, pin {pin}")
    click.echo(f"next: {next_step(plan, draft.plan.spec, amendment)}")


def next_step(plan: Path, spec: Spec, amendment: Amendment) -> str:
    """The command that comes after this amendment."""
    if amendment.superseded or amendment.phase in ("before_any_episode", "after_first_episode"):
        return to_run(plan, spec)
    if amendment.phase == "after_smoke":
        return to_run(plan, spec, "--smoke")
    # What a run that was closed had left is open again where nobody has looked.
    again = amendment.phase == "after_last_episode" or {"sample", "factors"} & set(amendment.changed.protected)
    analyse = to_type("analyse", plan)
    return f"{to_run(plan, spec)} && {analyse}" if again else analyse


def _short(digest: str | None) -> str:
    return short(digest) if digest is not None else "none"


def _document(draft: Draft, amendment: Amendment, replayed: Replayed | None, pin: str | None) -> Json:
    differing: list[Json] = []
    untold: list[Json] = []
    if replayed is not None:
        differing = [{"slot": dict(one.slot), "why": one.why} for one in replayed.differing]
        untold = [dict(one.slot) for one in replayed.untold]
    unchanged: list[Json] = list(unchanged_words(draft.sealed.latest.commitment.plan, amendment.plan))
    return {
        "amendment": decode_value(encode_record(amendment)), "pin": pin, "completed": list(draft.completed),
        "unchanged": unchanged, "differing": differing, "untold": untold, "diff": list(draft.diff()),
    }  # fmt: skip
