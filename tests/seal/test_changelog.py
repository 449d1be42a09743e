"""CHANGELOG_AFTER_SEAL.md: derived from the records, block by block, and held against them byte by byte."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from sealkit.seal.amend import amending, withdraw
from sealkit.seal.changelog import CHANGELOG, PREFACE, blocks_due, changelog_upto, check_changelog, read_changelog
from sealkit.seal.heads import quoted_heads
from sealkit.seal.seal import make_seal
from sealkit.seal.sealed import open_seal
from sealkit.wire.canon import decode_record
from sealkit.wire.errors import SealkitError, UntrustedError
from sealkit.wire.journal_head import JournalHead
from tests.seal.studies import NOW, edit, make_study, plan_of

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two plans: one amended twice and withdrawn, the other amended in between."""
    root = make_study(tmp_path_factory.mktemp("template"))
    other = root / "plans" / "lake.yaml"
    other.write_text(plan_of(root).read_text().replace("id: pond-v1", "id: lake-v1"))
    for plan in (plan_of(root), other):
        make_seal(plan, now=NOW).close()
    edit(root / "worlds/pond/world.py", "Hop.", "Hup.")
    amend(plan_of(root), "the frog said hop")
    amend(other, "the frog said hop")
    edit(plan_of(root), "The frog jumped.", "A frog jumped.")
    amend(plan_of(root), "it is any frog")
    withdraw(plan_of(root), "it-jumps", reason="it did not", now=NOW)
    return root


def amend(plan: Path, reason: str) -> None:
    with amending(plan, now=NOW) as draft:
        draft.commit(draft.amendment(reason=reason)).close()


@pytest.fixture
def study(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "study"))


def check(study: Path) -> None:
    """What a review does, for both plans."""
    for plan in (plan_of(study), study / "plans" / "lake.yaml"):
        sealed = open_seal(plan)
        check_changelog(sealed, blocks_due(sealed, sealed.history()))
        sealed.close()


def text(study: Path) -> str:
    return (study / CHANGELOG).read_text(encoding="utf-8")


def put(study: Path, words: str) -> None:
    (study / CHANGELOG).write_text(words, encoding="utf-8")


def headings(words: str) -> list[str]:
    return re.findall(r"^## (\S+ \S+)", words, re.MULTILINE)


def test_a_block_says_what_the_record_says(study: Path) -> None:
    check(study)
    assert text(study).startswith(PREFACE)
    assert headings(text(study)) == ["pond-v1 A-0001,", "lake-v1 A-0001,", "pond-v1 A-0002,", "pond-v1 withdrawal,"]
    sealed = open_seal(plan_of(study))
    sections = sealed.plan.sections
    second = text(study).split("## ")[3]
    pins = [pinned.pin for pinned in sealed.pins]
    heads = {
        anchor.count: anchor.digest for anchor in quoted_heads(text(study), plan="pond-v1", source="CHANGELOG")
    }  # fmt: skip
    assert set(heads) == {2, 3, 4}
    same = ", ".join(f"{name} {digest[7:19]}" for name, digest in sorted(sections.items()) if name != "claims")
    assert second == (
        "pond-v1 A-0002, 2026-11-30T12:00:00Z\n\nReason: it is any frog\n\n- phase: before_any_episode\n"
        "- changed, protected sections: claims\n- unchanged by digest: hypotheses, metrics, analysis, sample\n"
        f"- sections with the same digest as before: {same}\n"
        "- claims: claims changed: claims stay confirmatory and say so (as amended before the first look): it-jumps\n"
        f"- pin: `{pins[2]}`\n- `head pond-v1 3:{heads[3]}`\n\n"
    )
    assert "- changed, harness: worlds/pond/world.py changed\n" in text(study).split("## ")[1]
    assert list(sealed.history(quoted_heads(text(study), plan="pond-v1", source=CHANGELOG)))


def test_it_is_a_function_of_the_records(study: Path, tmp_path: Path) -> None:
    sealed = open_seal(plan_of(study))
    due = blocks_due(sealed, sealed.history())
    assert due == blocks_due(sealed, sealed.history())
    assert all(block in read_changelog(study) for block in due)


def _line(old: str, new: str) -> Callable[[Path], None]:
    def apply(study: Path) -> None:
        assert old in text(study)
        put(study, text(study).replace(old, new, 1))

    return apply


def _without(number: int) -> Callable[[Path], None]:
    def apply(study: Path) -> None:
        preface, *blocks = re.split(r"^(?=## )", text(study), flags=re.MULTILINE)
        put(study, preface + "".join(block for place, block in enumerate(blocks, start=1) if place != number))

    return apply


def _doubled(number: int) -> Callable[[Path], None]:
    def apply(study: Path) -> None:
        preface, *blocks = re.split(r"^(?=## )", text(study), flags=re.MULTILINE)
        put(study, preface + "".join(blocks) + blocks[number - 1])

    return apply


def _swapped(study: Path) -> None:
    preface, one, lake, two, gone = re.split(r"^(?=## )", text(study), flags=re.MULTILINE)
    put(study, preface + two + lake + one + gone)


ATTACKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a reason": (_line("Reason: it is any frog", "Reason: it is some frog"), "block 2 of plan pond-v1, .*A-0002.* was edited"),
    "a phase": (_line("phase: before_any_episode", "phase: after_smoke"), "block 1 of plan pond-v1, .* was edited"),
    "what changed": (_line("changed, harness: worlds/pond/world.py changed", "changed, harness: README.md changed"), "block 1"),
    "what is unchanged": (_line("unchanged by digest: hypotheses,", "unchanged by digest: claims, hypotheses,"), "block 1 of"),
    "a time": (_line("A-0002, 2026-11-30T12", "A-0002, 2026-11-29T12"), "block 2 of plan pond-v1"),
    "a pin": (_line("- pin: `sha256:", "- pin: `sha256:0"), "block 1 of"),
    "a head": (_line("- `head pond-v1 2:", "- `head pond-v1 3:"), "block 1 of plan pond-v1"),
    "a line dropped": (_line("- phase: before_any_episode\n", ""), "block 1 of"),
    "a line added": (_line("- phase: before", "- nothing else changed\n- phase: before"), "block 1 of"),
    "a word behind a block": (lambda s: put(s, text(s) + "All is well.\n"), "block 3 of plan pond-v1, .*withdrawal.* was edited"),
    "a word between blocks": (_line("\n## lake", "\nAll is well.\n\n## lake"), "block 1 of plan pond-v1"),
    "line endings": (lambda s: (s / CHANGELOG).write_bytes((s / CHANGELOG).read_bytes().replace(b"\n", b"\r\n")), "block 1 of"),
    "bytes that are no text": (lambda s: (s / CHANGELOG).write_bytes((s / CHANGELOG).read_bytes() + b"\xff"), "was edited"),
    "the first block": (_without(1), "block 1 of plan pond-v1, .*A-0001.*, was edited or moved"),
    "the second block": (_without(3), "block 2 of plan pond-v1, .*A-0002.*, was edited or moved"),
    "the last block": (_without(4), "the block 'pond-v1 withdrawal, .*' is missing"),
    "the other plan's block": (_without(2), "the block 'lake-v1 A-0001, .*' is missing"),
    "the file": (lambda s: (s / CHANGELOG).unlink(), "the block 'pond-v1 A-0001, .*' is missing"),
    "all of its text": (lambda s: put(s, ""), "the block 'pond-v1 A-0001, .*' is missing"),
    "a block twice": (_doubled(3), "'pond-v1 A-0002, .*' is no block of the journal of plan pond-v1"),
    "a block of no entry": (lambda s: put(s, text(s) + "## pond-v1 A-0003, now\n\nReason: x\n\n"), "'pond-v1 A-0003, now' is no"),
    "a block of no plan": (lambda s: put(s, text(s) + "## sea-v1 A-0001, now\n\n"), "a block of 'sea-v1', of which no seal"),
    "a heading of one's own": (lambda s: put(s, text(s) + "## Notes\n\n"), "a block of 'Notes', of which no seal is here"),
    "two blocks swapped": (_swapped, "block 1 of plan pond-v1"),
    "a heading that is a word of control": (lambda s: put(s, text(s) + "## \x1b[31mred\n"), r"a block of '\\x1b\[31mred'"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_was_touched_is_named(study: Path, attack: str) -> None:
    touch, message = ATTACKS[attack]
    touch(study)
    with pytest.raises(UntrustedError, match=f"(?s){CHANGELOG}: .*{message}") as raised:
        check(study)
    assert raised.value.exit_code == 1 and str(raised.value).isprintable()
    before = read_changelog(study) if (study / CHANGELOG).exists() else b""
    with suppress(SealkitError), amending(plan_of(study), now=NOW):
        pass  # which completes what is missing, and writes nothing over what is there
    assert read_changelog(study).startswith(before)


@pytest.mark.parametrize("which", ["the last block", "the file", "all of its text"])
def test_amend_completes_what_a_crash_could_have_left_out(study: Path, which: str) -> None:
    before = read_changelog(study)
    ATTACKS[which][0](study)
    with amending(plan_of(study), now=NOW) as draft:
        lacked = 3 if which != "the last block" else 1
        assert draft.completed == (f"the changelog has its blocks, {lacked} new",)
    if which == "the last block":
        assert read_changelog(study) == before
    with amending(study / "plans" / "lake.yaml", now=NOW):
        pass
    check(study)


@pytest.mark.parametrize(
    "preface", ["", "Notes of ours.\n", "# Notes\n\nWith `code` and\n### a heading\n\n", "no newline"]
)
def test_words_of_the_authors_stand_above_the_first_block(study: Path, preface: str) -> None:
    put(
        study,
        preface + ("\n\n" if preface and not preface.endswith("\n\n") else "") + text(study).removeprefix(PREFACE),
    )
    check(study)
    fresh = study.with_name("fresh")
    make_study(fresh)
    make_seal(plan_of(fresh), now=NOW).close()
    put(fresh, preface)
    edit(fresh / "worlds/pond/world.py", "Hop.", "Hup.")
    amend(plan_of(fresh), "the frog said hop")
    assert text(fresh).startswith(preface or PREFACE)
    sealed = open_seal(plan_of(fresh))
    check_changelog(sealed, blocks_due(sealed, sealed.history()))


def test_a_study_without_amendments_needs_no_changelog(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study")
    make_seal(plan_of(study), now=NOW).close()
    sealed = open_seal(plan_of(study))
    check_changelog(sealed, blocks_due(sealed, sealed.history()))
    put(study, "Nothing happened.\n")
    check_changelog(sealed, ())


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_refused(study: Path, kind: str) -> None:
    path = study / CHANGELOG
    path.rename(study / "kept")
    if kind == "link":
        path.symlink_to(study / "kept")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(SealkitError, match=f"{CHANGELOG}: found a {kind}"):
        check(study)


def test_a_copy_as_of_an_earlier_head_has_the_blocks_up_to_there(study: Path) -> None:
    sealed = open_seal(plan_of(study))
    due = blocks_due(sealed, sealed.history())
    heads: list[JournalHead] = []
    history = sealed.history()
    for _ in history.entries():
        heads.append(history.head)
    copies = [changelog_upto(sealed, head) for head in heads]
    assert copies == [
        b"", *(PREFACE.encode() + b"".join(due[:count]) for count in (1, 2, 3)),
    ]  # fmt: skip
    assert b"lake" not in copies[-1]
    assert decode_record((sealed.receipts / "HEAD").read_bytes()[:-1], JournalHead) == heads[-1]
