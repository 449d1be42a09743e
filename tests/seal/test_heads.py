"""Heads noted outside a folder: by this machine, on the command line, in a changelog."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from sealkit.seal.heads import KnownHeads, known_heads, parse_expect, quoted_heads
from sealkit.seal.history import Anchor
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import HarnessError, MalformedError, UntrustedError, UsageError
from sealkit.wire.journal_head import JournalHead
from tests.seal.studies import NOW
from tests.studies import call, ok

PIN, OTHER = digest_bytes(b"a seal"), digest_bytes(b"another seal")


def head(count: int, word: bytes = b"entry") -> JournalHead:
    return JournalHead(
        count=count, digest=digest_bytes(word + b"%d" % count), size=100 * count, episodes_size=0, calls_size=0
    )


@pytest.fixture
def known(tmp_path: Path) -> KnownHeads:
    return known_heads({"XDG_STATE_HOME": str(tmp_path / "state")})


def test_the_furthest_head_of_each_seal_is_remembered(known: KnownHeads) -> None:
    assert known.recall(PIN) is None
    for count in (3, 9, 5):
        known.remember(plan="v1", pin=PIN, head=head(count), now=NOW)
    known.remember(plan="v1", pin=OTHER, head=head(2), now=NOW)
    recalled = known.recall(PIN)
    assert recalled is not None
    assert (recalled.count, recalled.digest, recalled.plan) == (9, head(9).digest, "v1")
    assert recalled.anchor() == Anchor(9, head(9).digest or "", "this machine, which saw it on 2026-11-30,", True)


def test_heads_at_which_editions_end_stay_beside_the_furthest(known: KnownHeads) -> None:
    known.remember(plan="v1", pin=PIN, head=head(5), now=NOW)
    known.remember(plan="v1", pin=PIN, head=head(9), now=NOW, editions=(head(3), head(5)))
    known.remember(plan="v1", pin=PIN, head=head(11), now=NOW, editions=(head(3),))  # as a bundle has it
    found = {count: known.recall_at(PIN, count) is not None for count in (3, 5, 9, 11)}
    assert found == {3: True, 5: True, 9: False, 11: True}
    assert [one.count for one in known.other_seals("v1", OTHER)] == [11]


def test_another_seal_of_the_same_plan_id_is_found(known: KnownHeads) -> None:
    known.remember(plan="v1", pin=PIN, head=head(3), now=NOW)
    known.remember(plan="v2", pin=OTHER, head=head(3), now=NOW)
    assert known.other_seals("v1", PIN) == ()
    assert [one.pin for one in known.other_seals("v1", OTHER)] == [PIN]


def test_another_digest_at_the_same_place_is_refused(known: KnownHeads) -> None:
    known.remember(plan="v1", pin=PIN, head=head(3), now=NOW)
    with pytest.raises(UntrustedError, match="after 3 entries, not"):
        known.remember(plan="v1", pin=PIN, head=head(3, b"rewritten"), now=NOW)


def test_the_same_head_again_changes_nothing(known: KnownHeads) -> None:
    known.remember(plan="v1", pin=PIN, head=head(3), now=NOW)
    before = known.path.read_bytes()
    known.remember(plan="v1", pin=PIN, head=head(3), now=NOW + timedelta(days=1))
    assert known.path.read_bytes() == before


def test_a_line_that_was_touched_is_refused_by_number(known: KnownHeads) -> None:
    known.remember(plan="v1", pin=PIN, head=head(3), now=NOW)
    raw = known.path.read_bytes()
    md5, never = raw.replace(b"sha256:", b"md5:"), raw.replace(b"2026", b"never")
    for touched in (raw + b"x\n", raw + md5, raw + never, raw + raw[:-1]):
        known.path.write_bytes(touched)
        with pytest.raises(
            HarnessError, match=r"known_heads:2: .*; move .*known_heads aside; this machine then begins"
        ):
            known.recall(OTHER)


def test_a_file_of_known_heads_that_is_none_is_this_machines_fault(sealed: Path, state: Path) -> None:
    (state / "sealkit").mkdir(parents=True)
    (state / "sealkit" / "known_heads").write_text("ssh-rsa AAAA\n")
    outcome = call("verify", cwd=sealed)
    assert outcome.code == 3 and "known_heads:1: " in outcome.err and "known_heads aside" in outcome.err
    ok(call("verify", "--no-remember", cwd=sealed))


def test_where_it_is_kept_follows_the_xdg_rules(tmp_path: Path) -> None:
    assert known_heads({"XDG_STATE_HOME": "/s", "HOME": "/h"}).path == Path("/s/sealkit/known_heads")
    assert known_heads({"XDG_STATE_HOME": "relative", "HOME": "/h"}).path == Path("/h/.local/state/sealkit/known_heads")
    assert known_heads({"HOME": "/h"}).path == Path("/h/.local/state/sealkit/known_heads")


def test_expect_takes_a_head_as_it_is_printed() -> None:
    assert parse_expect(str(head(12))).anchor == Anchor(12, head(12).digest or "", "--expect", True)


@pytest.mark.parametrize(
    "text",
    ["", "12", f"0:{PIN}", f"-1:{PIN}", f"012:{PIN}", f"12:{PIN.upper()}", f"12:{PIN}0", f"12:{PIN}\n", "12:md5:0"],
)
def test_expect_refuses_anything_else(text: str) -> None:
    with pytest.raises(UsageError, match="due N:sha256"):
        parse_expect(text)


def test_a_changelog_quotes_heads_of_several_plans(tmp_path: Path) -> None:
    text = f"""# After the seal

Harness fixed; head v1 is as follows, and no claim changes.

head v1 {head(12)}
- head v1 {head(40)}
* `head v2 {head(7)}`
  head v10 {head(8)}
"""
    anchors = quoted_heads(text, plan="v1", source="CHANGELOG_AFTER_SEAL.md")
    assert anchors == (
        Anchor(12, head(12).digest or "", "CHANGELOG_AFTER_SEAL.md:5"),
        Anchor(40, head(40).digest or "", "CHANGELOG_AFTER_SEAL.md:6"),
    )
    assert [anchor.count for anchor in quoted_heads(text, plan="v2", source="C")] == [7]


def test_a_quote_that_was_touched_is_refused_by_line() -> None:
    with pytest.raises(MalformedError, match=r"CHANGELOG_AFTER_SEAL\.md:2: found '12:sha256:0'"):
        quoted_heads("\nhead v1 12:sha256:0\n", plan="v1", source="CHANGELOG_AFTER_SEAL.md")
