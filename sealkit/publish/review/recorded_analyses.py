"""Every analysis that a journal records, held against the one that is published: analysing again hides nothing.

An `analysed` entry says what it came to. Who changes something after it and analyses again leaves that entry where it
is, with its time, in a chain that ends in the edition's head. Entries from before verdicts were recorded say only that
the results were others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sealkit.publish.review.other_code import Verdicts
from sealkit.wire.chain import Entry
from sealkit.wire.digest import short
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Analysed
from sealkit.wire.journal_head import JournalHead
from sealkit.wire.records import Json


@dataclass(frozen=True, slots=True)
class RecordedAnalysis:
    """One analysis, the head that the journal had with its entry, and its verdicts; none where none were recorded."""

    time: str
    head: JournalHead
    results: str
    verdicts: Verdicts


def recorded(entry: Entry, event: Analysed, head: JournalHead) -> RecordedAnalysis:
    """What this entry records."""
    verdicts = {(one.hypothesis, one.metric): one.verdict for one in event.verdicts}
    return RecordedAnalysis(entry.time, head, event.results, verdicts)


def otherwise(analyses: Sequence[RecordedAnalysis], results: str, today: Verdicts) -> Iterator[Mapping[str, Json]]:
    """A row for each verdict of an earlier analysis that is another today, in the order of the journal.

    `now` is null where nobody asks any more. Of an analysis with other results whose verdicts were not recorded there
    is one row, whose hypothesis and verdict are null.
    """
    for one in analyses:
        where = {"recorded_at": one.time, "head": str(one.head), "results": one.results}
        if not one.verdicts and today and one.results != results:
            yield {**where, "hypothesis": None, "metric": None, "verdict": None, "now": None}
        for (hypothesis, metric), verdict in one.verdicts.items():
            now = today.get((hypothesis, metric))
            if now != verdict:
                yield {**where, "hypothesis": hypothesis, "metric": metric, "verdict": verdict, "now": now}


def check_verdicts(
    analyses: Sequence[RecordedAnalysis], results: str, derived: Verdicts, *, where: str
) -> None:  # fmt: skip
    """Raise `UntrustedError` if an entry of these results says another verdict than was derived again with them."""
    for one in analyses:
        for key, verdict in one.verdicts.items() if one.results == results else ():
            if derived.get(key) != verdict:
                what = f"the entry of analysis {short(results)} says that {key[0]} is {verdict[:80]!a}"
                raise UntrustedError(f"{what}, and derived again it is {derived.get(key, 'not asked')}", where=where)
