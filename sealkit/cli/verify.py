"""`sealkit verify [FOLDER]`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from sealkit.cli.clock import now
from sealkit.cli.out import Progress, complain, json_option, print_json, spelled
from sealkit.cli.verified import closing, document_of, print_study
from sealkit.files import to_type
from sealkit.plan.actors import ExternalWorld
from sealkit.plan.asked import to_run
from sealkit.plan.lint_world import NOT_REPLAYABLE, RECORDED
from sealkit.plan.slots import STAGES, slot_count
from sealkit.publish.bundle import opened_bundle
from sealkit.publish.edition import BUNDLE
from sealkit.publish.editions import check_beside, check_given
from sealkit.publish.given import editions_of, what_is_given
from sealkit.publish.released import Released, open_released
from sealkit.publish.review.analyse import analysis_of
from sealkit.publish.review.anchors import PUBLICATIONS, anchors_of
from sealkit.publish.review.recorded_analyses import check_verdicts
from sealkit.publish.review.study import Review, review
from sealkit.publish.ruled_twice import Ruled, ruled_twice, verdicts_of
from sealkit.seal.closure import sealkit_drift
from sealkit.seal.heads import Expected, KnownHeads, known_heads, parse_expect
from sealkit.seal.history import Anchor
from sealkit.seal.journal import read_head
from sealkit.seal.manifest import scenarios_in_words
from sealkit.seal.sealed import find_sealed
from sealkit.verify.impact import check_reruns
from sealkit.verify.sandbox import Isolation
from sealkit.verify.study import Study, open_study
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import HarnessError, MalformedError, SealkitError, UntrustedError, UsageError
from sealkit.wire.records import Json
from sealkit.wire.text import counted


@click.command("verify")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("receipts"))
@click.option(
    "--replay", is_flag=False, flag_value="kernel", default=None, type=click.Choice(["kernel", "unsafe"]),
    help="Also run the sealed source again, in an isolated child process; `unsafe` where the system isolates nothing.",
)  # fmt: skip
@click.option(
    "--expect",
    multiple=True,
    metavar="'[PLAN ]N:sha256:…'",
    help="A head that the journal, of that plan, must have had.",
)
@click.option("--no-remember", is_flag=True, help="Neither recall nor remember heads on this machine.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, folder: Path, replay: str | None, expect: tuple[str, ...], no_remember: bool, as_json: bool
) -> None:
    """Check a study's bytes and evidence from its files, trusting nothing in its folder.

    \b
    Examples:
      sealkit verify receipts/
      sealkit verify receipts/house-dry-run --replay
      sealkit verify publications/EDITION --replay
      sealkit verify bundle.tar --replay
      sealkit verify receipts/house-dry-run --expect 'house-dry-run 905:sha256:3f…'

    FOLDER is receipts/, one folder in it, a whole study, one plan of it, publications/, an edition's folder, or its
    bundle alone. Every study in it is checked, whatever the others come to; the last line says how many hold.
    Without --replay no code of the study is run: your own verifiers read its data. With it the sealed world, judge
    and verifiers run again in a child process that cannot reach your files or network, the recorded rulings are
    derived again, and the latest edition of each plan is built again.

    What a sealkit that is not yours sealed, yours runs and rules on too, and says where it comes to something else.

    Exit code 1 if anything does not hold; 3 if your sealkit could not rule on what another one sealed, or could not
    read the pages that another one laid out.
    """
    asked = _Asked(
        expected=tuple(parse_expect(text) for text in expect),
        isolation=None if replay is None else "kernel" if replay == "kernel" else "limits",
        remember=not no_remember,
        as_json=as_json,
    )
    whole = Path(os.path.abspath(folder))
    found = _Found()
    for one in editions_of(whole) if what_is_given(whole) == "editions" else (whole,):
        _verify(one, asked, found)
    if not found.failed and (strange := [one for one in asked.expected if one.plan not in (None, *found.plans)]):
        what = f"no plan {strange[0].plan} was checked; there is {', '.join(found.plans)}"
        raise UsageError(what, where="--expect", remedy="quote the head of one that is")
    if as_json:
        print_json({"holds": not found.codes, "studies": found.documents})
    else:
        click.echo(f"\n{closing(found.checked, found.failed, found.unable)}")
    ctx.exit(next((code for code in (1, 3, 2) if code in found.codes), 0))


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options of one call."""

    expected: tuple[Expected, ...]
    isolation: Isolation | None
    remember: bool
    as_json: bool


@dataclass(slots=True)
class _Found:
    """What came of the studies so far: how many there are, those that do not hold, those that could not be ruled on."""

    checked: int = 0
    plans: list[str] = field(default_factory=list)
    documents: list[Json] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unable: list[str] = field(default_factory=list)
    codes: set[int] = field(default_factory=set)

    def fails(self, name: str, code: int) -> None:
        """This study does not hold, or could not be ruled on; the exit code says which."""
        (self.unable if code == HarnessError.exit_code else self.failed).append(name)
        self.codes.add(code)


def _verify(whole: Path, asked: _Asked, found: _Found) -> None:
    """Check every study in what was given. One that does not hold keeps nobody from looking at the others."""
    given = what_is_given(whole)
    with contextlib.ExitStack() as stack:
        try:
            released = open_released(whole) if given == "edition" else None
            bundle = whole if given == "bundle" else whole / BUNDLE if released is not None else None
            study_folder = stack.enter_context(opened_bundle(bundle)) if bundle is not None else whole
            plans = (whole,) if given == "plan" else find_sealed(study_folder)
        except (MalformedError, UntrustedError, HarnessError) as error:
            _failed(found, spelled(whole).name, error, asked)
            return
        for plan_path in plans:
            name = whole.name if bundle is not None else str(spelled(plan_path))
            try:
                _verify_plan(plan_path, plans, released, bundle, name, asked, found)
            except SealkitError as error:
                _failed(found, name, error, asked)


def _failed(found: _Found, name: str, error: SealkitError, asked: _Asked) -> None:
    if asked.as_json:
        raise error
    found.checked += 1
    found.fails(name, error.exit_code)
    complain(str(error))


def _verify_plan(
    plan_path: Path, plans: Collection[Path], released: Released | None, bundle: Path | None, name: str,
    asked: _Asked, so_far: _Found,
) -> None:  # fmt: skip
    with open_study(plan_path, replay=asked.isolation, twice=True) as study:
        id = study.sealed.plan.spec.id
        so_far.plans.append(id)
        expected = [one.anchor for one in asked.expected if one.plan in (None, id)]
        expected += [] if released is None else [released.anchor]
        found, extra = _review(study, tuple(expected), remember=asked.remember, cut=bundle is not None)
        ruled = ruled_twice(study, found, released)
        extra = (*ruled.lines, *extra)
        if released is not None:
            extra += tuple(_told(ruled, check_given(study, found, released)))
        elif bundle is None:
            extra += tuple(_told(ruled, check_beside(study, found, plans)))
        unread = released.pages if released is not None and released.unread else ""
        so_far.checked += 1
        if faults := found.faults + ruled.faults:
            so_far.fails(name, UntrustedError.exit_code)
        elif ruled.unable or unread:
            so_far.fails(name, HarnessError.exit_code)
        so_far.documents.append(document_of(study, found, extra, ruled))
        if not asked.as_json:
            print_study(study, found, extra)
            if bundle is None and not (faults or ruled.unable) and (following := _next_step(study, found)):
                click.echo(f"  {following}")


def _review(study: Study, expected: tuple[Anchor, ...], *, remember: bool, cut: bool) -> tuple[Review, tuple[str, ...]]:
    known = known_heads(os.environ) if remember else None
    sealed = study.sealed
    seen, told = _seen(study, known, cut=cut)
    progress = Progress("episodes", sum(slot_count(sealed.plan.spec, stage) for stage in STAGES))
    try:
        anchors = anchors_of(study, (*expected, *seen))
        found = review(study, anchors=anchors, measure=study.sandbox is not None, step=progress.step)
    finally:
        progress.end()
    extra = (*_replayed(study, found), *told)
    if known is not None:
        try:
            known.remember(
                plan=sealed.plan.spec.id, pin=sealed.pin, head=found.head, now=now(), editions=found.analysed_at
            )
        except (HarnessError, OSError) as error:
            # What this machine cannot remember takes nothing from what was found.
            extra += (f"the head could not be remembered on this machine: {error} (--no-remember)",)
    return found, extra


def _seen(study: Study, known: KnownHeads | None, *, cut: bool) -> tuple[tuple[Anchor, ...], tuple[str, ...]]:
    """The head that this machine remembers of this seal, as far as it can be compared, and what there is to say.

    A journal that was `cut`, in a bundle, ends where its edition was made: this machine may rightly have seen more, and
    then compares it with what it remembers of that place.
    """
    if known is None:
        return (), ()
    sealed, told = study.sealed, []
    if others := known.other_seals(sealed.plan.spec.id, sealed.pin):
        listed = ", ".join(f"{short(other.pin)} on {other.seen[:10]}" for other in others[:3])
        told.append(
            f"this machine has seen another seal of a plan called {sealed.plan.spec.id}: {listed}; a scratch copy has "
            "a seal of its own, and so has a study that was sealed twice: who published it can say which"
        )
    head, here = known.recall(sealed.pin), read_head(sealed.receipts, inside=sealed.study)
    if head is None:
        return (), tuple(told)
    if cut and here is not None and here.count < head.count:
        where = known.recall_at(sealed.pin, here.count)
        held = "were not compared: it does not remember that place" if where is None else "agree that far"
        told.append(
            f"this machine has seen {counted(head.count, 'entry', 'entries')} of this journal, on {head.seen[:10]}; "
            f"the bundle ends after {here.count}, with the analysis of its edition, and the two {held}"
        )
        return () if where is None else (where.anchor(),), tuple(told)
    return (head.anchor(),), tuple(told)


def _told(ruled: Ruled, editions: Iterator[str]) -> Iterator[str]:
    """What there is to say of editions; one that does not hold hides no word of what this sealkit rules otherwise."""
    try:
        yield from editions
    except UntrustedError as error:
        if not ruled.faults:
            raise
        yield str(error)


def _next_step(study: Study, found: Review) -> str:
    """What to type next: of a study that is published anybody, of another whoever makes it."""
    plan, spec = spelled(study.sealed.path), study.sealed.plan.spec
    if found.edition is not None:
        folder = study.sealed.study / PUBLICATIONS / found.edition
        if study.sandbox is not None or not folder.is_dir():
            return ""
        return f"next: {to_type('verify', Path(os.path.relpath(folder)), '--replay')}"
    if found.analysed is not None and not found.changed_since:
        following = to_type("publish", plan)
    elif found.closed:
        following = to_type("analyse", plan)
    else:
        from_logs = isinstance(spec.world, ExternalWorld) and spec.world.run is None
        following = to_type("status", plan) if from_logs else to_run(plan, spec)
    return f"next, if the study is yours: {following}"


def _replayed(study: Study, found: Review) -> Iterator[str]:
    if study.sandbox is None:
        if found.analysed is not None:
            of_another = ", by another sealkit than this one" if sealkit_drift(study.sealed.latest.closure) else ""
            what = "nothing of them was derived or ruled on again" if of_another else "nothing of them was derived"
            yield f"measures and rulings {short(found.analysed)} as recorded{of_another}: {what} (--replay)"
        return
    isolation = {"kernel": "isolated by the kernel", "limits": "with limits only"}[study.sandbox.level]
    if study.sealed.plan.spec.evidence == RECORDED:
        yield f"no episode was run again: they are {NOT_REPLAYABLE}; what runs of the sealed source is {isolation}"
    else:
        yield f"the sealed source was run again, {isolation}"
        count, pins = study.check_scenarios(), len(study.sealed.pins)
        made = f"{count} scenarios of {pins} pins" if pins > 1 else scenarios_in_words(study.sealed.plan.spec, count)
        yield f"{made} made again by the sealed world, the same bytes"
    if found.recorded is not None and not found.changed_since and not found.as_recorded:
        raise UntrustedError(
            "the admissions derived here are not those that the journal records", where=str(study.sealed.receipts)
        )
    if reruns := check_reruns(study):
        yield f"{reruns} superseded blocks derived again from the sealed sources: those that the change touched"
    if found.analysed is None:
        return
    if found.changed_since:
        again = to_type("analyse", spelled(study.sealed.path))
        since = "an amendment, a withdrawal or a withheld body came after the recorded analysis"
        yield f"{since}; `{again}` makes it again"
        return
    results, by = _derived(study, found)
    if results != found.analysed:
        raise UntrustedError(
            f"the analysis derived again is {short(results)}, but {short(found.analysed)} was recorded",
            where=str(study.sealed.receipts),
        )
    yield f"the recorded analysis {short(results)} was derived again{by}, the same bytes"


def _derived(study: Study, found: Review) -> tuple[str, str]:
    """The digest of the results: by this sealkit where it is the sealed one, else by the sealed analysis code."""
    where = str(study.sealed.receipts)
    if found.measuring is None or (cells := found.measuring.sealed_cells) is None:
        analysis = analysis_of(study, found)
        check_verdicts(found.recorded_analyses, digest_bytes(analysis.line), verdicts_of(analysis), where=where)
        return digest_bytes(analysis.line), ""
    results = cells.results(found.pins, found.flow)
    check_verdicts(found.recorded_analyses, results, cells.verdicts(), where=where)
    return results, " by the sealed code, which is not this sealkit's"
