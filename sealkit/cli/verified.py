"""What `sealkit verify` shows of one study that it checked: for people, and for machines."""

from __future__ import annotations

from collections.abc import Sequence

import click
from msgspec.structs import asdict

from sealkit.cli.out import cost_in_words, escape, heading, print_table
from sealkit.infer.admit import ArmTally
from sealkit.plan.actors import roles_of
from sealkit.plan.asked import is_priced
from sealkit.plan.lint_world import NOT_REPLAYABLE, RECORDED, level_in_words
from sealkit.plan.readings import reading_roles
from sealkit.publish.review.study import Review
from sealkit.publish.ruled_twice import Ruled
from sealkit.seal.in_force import phase_in_words
from sealkit.verify.study import Study
from sealkit.wire.digest import short
from sealkit.wire.records import Json
from sealkit.wire.text import counted


def print_study(study: Study, found: Review, extra: tuple[str, ...]) -> None:
    """The table of arms, and every line there is to say."""
    seal = study.sealed.seal
    heading(f"{seal.plan.id}  (sealed {seal.sealed_at}, pin {short(study.sealed.pin)}, evidence "
            f"{level_in_words(study.sealed.plan.spec.evidence)})")  # fmt: skip
    rows = [_row(name, arm, found.abandoned.get(name, 0)) for name, arm in found.arms.items()]
    heads = ("arm", "slots", "admitted", "excluded", "errored", "missing", "abandoned tries", "origins")
    print_table(heads, rows, right=(1, 2, 3, 4, 5, 6))
    _print_amendments(study, found)
    if missing := 0 if found.closed else sum(arm.missing for arm in found.arms.values()):
        click.echo(f"  the run is not over: the {missing} missing are slots that have no episode yet")
    totals = found.totals
    left_out = sum(sum(counts.values()) for counts in found.left_out.values())
    episodes = sum(arm.slots - arm.missing for arm in found.arms.values()) + found.smoke + left_out
    played = f"{counted(episodes, 'episode')} ({found.smoke} of a smoke run)"
    if study.sealed.plan.spec.evidence == RECORDED:
        click.echo(f"  {played}, {NOT_REPLAYABLE}: there are no receipts")
    else:
        click.echo(
            f"  {counted(totals.occurrences, 'receipt')} and {counted(totals.restores, 'restore receipt')} "
            f"in {played}, {counted(totals.acts, 'act')}, {counted(totals.notices, 'notice')}"
        )
    if found.pilot is not None:
        pilot = found.pilot
        click.echo(
            f"  before the seal a pilot, whose journal holds: {counted(pilot.attempts, 'attempt')}, "
            f"{counted(pilot.episodes, 'episode')}, {counted(pilot.calls, 'model call')}"
        )
    spec = study.sealed.plan.spec
    for name, used in found.calls.items():
        roles = roles_of(spec.factors.arm[name]) if name in spec.factors.arm else tuple(spec.models)
        cost = cost_in_words(used.cost_microusd, priced=is_priced(spec, roles))
        statuses = ", ".join(f"{status} {count}" for status, count in sorted(used.statuses.items()))
        click.echo(
            f"  calls of arm {escape(name)}: {used.calls} in {used.requests} requests ({statuses}), "
            f"{used.input_tokens} input and {used.output_tokens} output tokens, {cost}"
        )
    for name, counts in found.readings.items():
        told = ", ".join(f"{count} {word.replace('_', ' ')}" for word, count in counts.items())
        click.echo(f"  readings, {escape(name)}: {told}")
    if (used := found.reading_calls).requests:
        roles = reading_roles(spec, spec.factors.arm)
        cost = cost_in_words(used.cost_microusd, priced=is_priced(spec, roles))
        click.echo(
            f"  calls of readings, which are no arm's: {used.calls} in {used.requests} requests, "
            f"{used.input_tokens} input and {used.output_tokens} output tokens, {cost}"
        )
    for refused in found.not_admitted[:20]:
        origin = refused.admission.origin or refused.admission.status
        apart = f" ({refused.apart}, counted apart)" if refused.apart else ""
        click.echo(f"  {origin}: {refused.slot}{apart}: {escape(refused.admission.why)}")
    if (more := found.refused + sum(found.refused_apart.values()) - 20) > 0:
        click.echo(f"  … and {more} more")
    if found.refused_apart:
        words = ", ".join(f"{count} {why}" for why, count in found.refused_apart.items())
        click.echo(f"  {found.refused} episodes that count were not admitted; apart from them: {words}")
    for line in (*extra, *found.notes):
        click.echo(f"  {escape(line)}")
    click.echo(f"  history anchored by: {_anchored(found)}")
    click.echo(f"  head {seal.plan.id} {found.head}")


def closing(checked: int, failed: Sequence[str], unable: Sequence[str]) -> str:
    """The last line: how many studies hold, and which do not.

    >>> closing(5, (), ()), closing(1, (), ())
    ('5 studies hold', '1 study holds')
    >>> closing(5, ("plans/v1.yaml",), ("study-a-b83f80da5e1c",))
    '3 of 5 studies hold; plans/v1.yaml does not; of study-a-b83f80da5e1c it is not known'
    """
    held = checked - len(failed) - len(unable)
    if held == checked:
        return "1 study holds" if held == 1 else f"{held} studies hold"
    words = f"{held} of {counted(checked, 'study', 'studies')} {'holds' if held == 1 else 'hold'}"
    if failed:
        words += f"; {', '.join(map(escape, failed))} {'does' if len(failed) == 1 else 'do'} not"
    return f"{words}; of {', '.join(map(escape, unable))} it is not known" if unable else words


def _print_amendments(study: Study, found: Review) -> None:
    """Each amendment, and the episodes that stay and do not count because of one."""
    for pinned in study.sealed.pins[1:]:
        amendment = study.sealed.amendments[pinned.number - 1]
        phase, pin = phase_in_words(amendment.phase), short(pinned.pin)
        click.echo(f"  amendment {amendment.number}, {phase}, pin {pin}: {escape(amendment.reason)}")
    for name, counts in found.left_out.items():
        words = ", ".join(f"{count} {why}" for why, count in counts.items())
        click.echo(f"  {name}: {words} by an amendment; these episodes stay and are checked, and do not count")


def _row(name: str, arm: ArmTally, abandoned: int) -> tuple[str, ...]:
    origins = ", ".join(f"{origin} {count}" for origin, count in arm.excluded.items()) or "none"
    excluded = sum(arm.excluded.values())
    counts = (arm.slots, arm.admitted, excluded, arm.errored, arm.missing, abandoned)
    return (name, *(str(count) for count in counts), origins)


def _anchored(found: Review) -> str:
    def listed(outside: bool) -> str:
        return "; ".join(
            f"{escape(anchor.source.strip(' ,'))} ({anchor.count} of {found.head.count} entries)"
            for anchor in found.anchors
            if anchor.outside is outside
        )

    # Whoever wrote the folder could write these too: they refute an older copy, and vouch for nothing.
    inside = listed(False)
    return (listed(True) or "nothing outside this folder") + (f"; quoted inside it by {inside}" if inside else "")


def _left_out(found: Review) -> Json:
    return {arm: dict(counts.items()) for arm, counts in found.left_out.items()}


def document_of(study: Study, found: Review, extra: tuple[str, ...], ruled: Ruled) -> Json:
    """The same, for machines."""
    arms: dict[str, Json] = {}
    for name, arm in found.arms.items():
        excluded: dict[str, Json] = dict(arm.excluded.items())
        arms[name] = {"slots": arm.slots, "admitted": arm.admitted, "excluded": excluded, "errored": arm.errored,
                      "missing": arm.missing, "abandoned_attempts": found.abandoned.get(name, 0)}  # fmt: skip
    refused: list[Json] = [
        {
            "slot": one.slot,
            "status": one.admission.status,
            "origin": one.admission.origin,
            "why": one.admission.why,
            "apart": one.apart or None,
        }
        for one in found.not_admitted
    ]
    totals = found.totals
    return {
        "plan": study.sealed.plan.spec.id, "pin": study.sealed.pin, "evidence": study.sealed.plan.spec.evidence,
        "pins": [pinned.pin for pinned in study.sealed.pins], "left_out": _left_out(found), "head": str(found.head),
        "arms": arms,
        "acts": totals.acts, "receipts": totals.occurrences, "restore_receipts": totals.restores,
        "notices": totals.notices, "refused": found.refused, "refused_apart": dict(found.refused_apart.items()),
        "not_admitted": refused, "notes": [*extra, *found.notes],
        "pilot": None if found.pilot is None else asdict(found.pilot),
        "anchors": [anchor.source for anchor in found.anchors], "analysed": found.analysed,
        "calls": {name: used.record() for name, used in found.calls.items()},
        "verifiers": dict(study.verifiers), "unchecked": list(study.unchecked),
        "isolation": study.sandbox.level if study.sandbox is not None else None, "this_sealkit": ruled.record,
    }  # fmt: skip
