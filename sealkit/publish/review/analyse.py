"""Makes the preregistered analysis of a sealed study, and records that it was made.

The sealed judge measures in a child process, the plan's own rules rule. Into the journal go, in this order:
`verified`, `admitted`, `looked` (from here on outcomes are known), `analysed` with the digest of the results and what
they came to.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sealkit.files import to_type
from sealkit.infer.analysis import Analysis, analyse
from sealkit.publish.review.analysis_code import moved_analysis_code
from sealkit.publish.review.study import Review, arm_counts, review
from sealkit.seal.sealed import SealedPlan
from sealkit.verify.study import Study
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import HarnessError, OutOfOrderError, UntrustedError
from sealkit.wire.events import Admitted, Analysed, Looked, Ruled
from sealkit.wire.text import counted


def analyse_study(study: Study, *, step: Callable[[int], None]) -> tuple[Review, Analysis]:
    """The review and the analysis, nothing written; `OutOfOrderError` while slots are still to be run.

    `UntrustedError` if the analysis code that would rule is not the code that was pinned.
    """
    check_analysis_code(study.sealed)
    found = review(study, anchors=(), measure=True, step=step)
    if not found.closed:
        done = sum(arm.slots - arm.missing for arm in found.arms.values())
        slots = sum(arm.slots for arm in found.arms.values())
        raise OutOfOrderError(
            f"{done} of {slots} slots have their episode: outcomes are not looked at before the run is over",
            where=str(study.sealed.path),
            remedy=to_type("run", study.sealed.path),
        )
    return found, analysis_of(study, found)


def check_analysis_code(sealed: SealedPlan) -> None:
    """Raise `UntrustedError`, naming the files, if this sealkit rules by other code than the pin in force has."""
    moved = moved_analysis_code(sealed)
    if moved:
        raise UntrustedError(
            f"{counted(len(moved), 'file')} of sealkit's own analysis code {'is' if len(moved) == 1 else 'are'} not as "
            f"sealed, the first: {moved[0]}",
            where=str(sealed.path),
            remedy="rule with the sealkit that was sealed, or record the change with `sealkit amend`",
        )


def analysis_of(study: Study, found: Review) -> Analysis:
    """The analysis of a study whose episodes the review measured; a function of these bytes alone.

    `UntrustedError` if a body that an episode rests on was removed or changed without an entry: who can delete files
    does not choose which episodes count.
    """
    if lost := study.calls.lost:
        raise UntrustedError(
            f"{len(lost)} episodes rest on a body that was removed or changed without an entry, the first: {lost[0]}",
            where=str(study.sealed.receipts),
            remedy="put it back as it was; what must not be kept is taken out by `sealkit withhold`",
        )
    if found.cells is None:
        raise HarnessError("nothing was measured", remedy="the sealed judge runs with --replay")
    return analyse(study.sealed.plan, found.pins, found.flow, found.cells)


def record_analysis(study: Study, found: Review, analysis: Analysis, *, now: Callable[[], datetime]) -> bool:
    """Journal a look at the outcomes, and the analysis if it is not there yet; whether it was new.

    An amendment, a withdrawal or a withheld body since the last one makes it new, also where the results are the same.
    """
    results = digest_bytes(analysis.line)
    journal = study.sealed.journal()
    if found.analysed == results and not found.changed_since:
        journal.append(Looked(what="analyse, again"), now=now())
        return False
    journal.append(found.verified, now=now())
    journal.append(Admitted(arms=arm_counts(found.arms)), now=now())
    journal.append(Looked(what="analyse"), now=now())
    verdicts = tuple(Ruled(one.hypothesis, one.metric, one.verdict) for one in analysis.verdicts)
    journal.append(Analysed(results=results, verdicts=verdicts), now=now())
    return True
