"""What a review says where the reviewer's code is not the sealed code, and where the journal's word is not what follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sealkit.verify.under_pin import _both
from sealkit.wire.verdict import Abstained, Accepted, Errored, Reason, Rejected
from tests.studies import call, ok

BAD = Rejected(reasons=(Reason("boundary", "acts[1]", "3", "2"),))


@pytest.mark.slow
def test_a_reviewer_with_another_sealkit_derives_the_results_with_the_sealed_one(
    published: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sealkit.publish.review.measuring.moved_analysis_code", lambda sealed: ("infer/analysis.py",))
    monkeypatch.setattr("sealkit.cli.verify.analysis_of", lambda *_: pytest.fail("ruled by the reviewer's own code"))
    monkeypatch.setattr("sealkit.cli.verify.check_beside", lambda *_: iter(()))
    said = ok(call("verify", "--replay=unsafe", cwd=published)).out
    assert "derived again by the sealed code, which is not this sealkit's, the same bytes" in said


def test_results_that_do_not_follow_are_refused(published: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sealkit.cli.verify._derived", lambda *_: ("sha256:" + "0" * 64, ""))
    outcome = call("verify", "--replay=unsafe", cwd=published)
    assert outcome.code == 1 and "the analysis derived again is 000000000000" in outcome.err


def test_admissions_that_the_journal_misstates_are_refused(
    published: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sealkit.publish.review.study.arm_counts", lambda arms: {})
    outcome = call("verify", "--replay=unsafe", cwd=published)
    assert outcome.code == 1 and "are not those that the journal records" in outcome.err


@pytest.mark.parametrize("sealed", [Accepted(), BAD, Abstained("x"), Errored("x")])
def test_an_episode_needs_the_reviewers_verifier_and_the_sealed_one(
    sealed: Accepted | Rejected | Abstained | Errored,
) -> None:
    assert _both(Accepted(), sealed) == sealed
    assert _both(BAD, sealed) == BAD
