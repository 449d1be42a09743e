"""An analysis that was recorded stays told, whatever was analysed after it."""

from __future__ import annotations

import pytest

from sealkit.publish.pages.parts import analyses_table
from sealkit.publish.review.recorded_analyses import RecordedAnalysis, check_verdicts, otherwise, recorded
from sealkit.wire.chain import Entry
from sealkit.wire.errors import UntrustedError
from sealkit.wire.events import Analysed, Ruled
from sealkit.wire.journal_head import EMPTY
from tests.publish.documents import synthetic

THEN, NOW = "sha256:" + "0" * 64, "sha256:" + "1" * 64
HEAD = EMPTY


def analysis(*verdicts: tuple[str, str | None, str], results: str = THEN) -> RecordedAnalysis:
    event = Analysed(results=results, verdicts=tuple(Ruled(*one) for one in verdicts))
    return recorded(Entry(seq=4, prev=None, time="2026-01-01T00:00:04Z", event=event), event, HEAD)


TODAY = {("gain", None): "supported", ("rate", "success"): "not_shown"}


def test_a_verdict_that_another_analysis_turned_is_told_with_its_time_and_head() -> None:
    first = analysis(("gain", None, "contradicted"), ("rate", "success", "not_shown"))
    (row,) = otherwise((first, analysis(*((*key, verdict) for key, verdict in TODAY.items()))), NOW, TODAY)
    assert (row["hypothesis"], row["metric"], row["verdict"], row["now"]) == ("gain", None, "contradicted", "supported")
    assert (row["recorded_at"], row["head"], row["results"]) == ("2026-01-01T00:00:04Z", str(HEAD), THEN)


def test_a_hypothesis_that_nobody_asks_any_more_is_told_too() -> None:
    (row,) = otherwise((analysis(("dropped", None, "contradicted")),), NOW, TODAY)
    assert (row["hypothesis"], row["now"]) == ("dropped", None)


def test_an_older_entry_says_that_its_results_were_others() -> None:
    (row,) = otherwise((analysis(), analysis(results=NOW)), NOW, TODAY)
    assert (row["results"], row["hypothesis"], row["verdict"]) == (THEN, None, None)


def test_the_same_verdicts_again_are_no_news() -> None:
    assert not list(otherwise((analysis(*((*key, verdict) for key, verdict in TODAY.items())),), NOW, TODAY))


def test_an_entry_that_says_another_verdict_than_its_results_is_refused() -> None:
    check_verdicts((analysis(("gain", None, "supported"), results=NOW),), NOW, TODAY, where="receipts/x")
    check_verdicts((analysis(("gain", None, "contradicted")),), NOW, TODAY, where="receipts/x")  # of other results
    with pytest.raises(UntrustedError, match="says that gain is 'contradicted', and derived again it is supported"):
        check_verdicts((analysis(("gain", None, "contradicted"), results=NOW),), NOW, TODAY, where="receipts/x")


def test_a_report_tells_them_in_a_table() -> None:
    table = analyses_table(synthetic())
    assert table is not None
    assert [row[2:] for row in table.rows] == [
        ("E", "contradicted", "not shown"), (f"other results, {table.rows[1][1].partition(':')[2]}", "not recorded", "see above"),
    ]  # fmt: skip
    assert analyses_table({}) is None
