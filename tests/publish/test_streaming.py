"""A bundle is written and opened in chunks, its size known before a byte of it is read."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from sealkit.files import create_in_chunks
from sealkit.publish import bundle as bundle_module
from sealkit.publish.bundle import make_bundle, opened_bundle
from sealkit.publish.edition import digest_of_file
from sealkit.seal import archive
from sealkit.seal.archive import BLOCK, CHUNK, header
from sealkit.seal.sealed import SealedPlan, open_seal
from sealkit.wire.errors import MalformedError, UntrustedError, UsageError
from sealkit.wire.journal_head import JournalHead
from tests.studies import ID, PLAN, call

GREAT = 24 * CHUNK


def opened(study: Path) -> tuple[SealedPlan, JournalHead]:
    sealed = open_seal(study / PLAN)
    sealed.close()
    history = sealed.history()
    for _ in history.entries():
        pass
    return sealed, history.head


def peak(work: object) -> int:
    assert callable(work)
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_great_bundle_is_made_and_written_in_little_memory(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bundle_module, "changelog_upto", lambda sealed, head: b""
    )  # reads the history, which is checked
    sealed, head = opened(study)
    episodes = sealed.receipts / "episodes.jsonl"
    with episodes.open("ab") as file:
        file.truncate(GREAT)
    longer = JournalHead(count=head.count, digest=head.digest, size=head.size, episodes_size=GREAT, calls_size=0)
    out = study / "bundle.tar"
    assert peak(lambda: create_in_chunks(out, make_bundle(sealed, longer).chunks())) < 4 * CHUNK
    assert out.stat().st_size > GREAT and digest_of_file(out, inside=study) == make_bundle(sealed, longer).digest


def test_a_great_bundle_is_opened_in_little_memory(tmp_path: Path) -> None:
    made = tmp_path / "bundle.tar"
    names = (f"plans/{ID}.seal.json", f"receipts/{ID}/episodes.jsonl", f"receipts/{ID}/journal.jsonl")
    with made.open("wb") as file:
        for name in names:
            size = GREAT if name.endswith("episodes.jsonl") else 0
            file.write(header(name, size))
            file.seek(size, 1)
        file.write(bytes(2 * BLOCK))

    def unpack() -> None:
        with opened_bundle(made) as folder:
            assert (folder / names[1]).stat().st_size == GREAT

    assert peak(unpack) < 4 * CHUNK


def test_a_bundle_that_is_too_great_is_refused_before_it_is_read(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed, head = opened(study)
    monkeypatch.setattr(bundle_module, "MAX_ARCHIVE", 1000)
    monkeypatch.setattr(bundle_module, "read_in_chunks", None)  # not to be called
    with pytest.raises(UsageError, match=r"a bundle of [0-9]+ bytes, due at most 1000"):
        make_bundle(sealed, head)


def test_a_member_that_is_too_great_is_refused_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_ARCHIVE", 3 * CHUNK)
    made = tmp_path / "bundle.tar"
    with made.open("wb") as file:
        file.write(header("plans/a", CHUNK) + bytes(CHUNK) + header("plans/b", 3 * CHUNK))
    monkeypatch.setattr(
        bundle_module, "write_member", lambda into, name, chunks: name == "plans/b" and pytest.fail(name)
    )
    with pytest.raises(MalformedError, match="more than 20000 files or 3145728 bytes"), opened_bundle(made):
        pass


@pytest.mark.parametrize("change", ["edited", "cut"])
def test_a_study_that_changes_while_its_bundle_is_written_leaves_none(change: str, study: Path) -> None:
    sealed, head = opened(study)
    bundle = make_bundle(sealed, head)
    journal = sealed.receipts / "journal.jsonl"
    raw = journal.read_bytes()
    journal.write_bytes(raw.replace(b"sealed", b"sealeD", 1) if change == "edited" else raw[:-1])
    says = "was changed while its bundle was being written" if change == "edited" else "ends 1 bytes before its time"
    with pytest.raises(UntrustedError, match=says):
        create_in_chunks(study / "bundle.tar", bundle.chunks())
    assert not [path for path in study.iterdir() if "bundle" in path.name]


def test_an_edition_without_its_bundle_says_so(published_once: Path, tmp_path: Path) -> None:
    (there,) = (published_once / "publications").iterdir()
    folder = tmp_path / there.name
    folder.mkdir()
    (folder / "results.json").write_bytes((there / "results.json").read_bytes())
    outcome = call("verify", folder, cwd=tmp_path)
    assert outcome.code == 1 and "lacks report.md, report.html, bundle.tar; an edition has four files" in outcome.err
