"""An edition in its folder: what agrees with what, and every way to edit one of its files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sealkit.publish.pages.markdown import markdown
from sealkit.publish.pages.page import page
from sealkit.wire.canon import encode_value
from tests.studies import ID, PLAN, Outcome, call, ok


def verify(folder: Path, *more: str) -> Outcome:
    return call("verify", folder, *more, cwd=folder.parent)


def elsewhere(edition: Path, tmp_path: Path) -> Path:
    """The edition's folder alone, as a stranger gets it."""
    return Path(shutil.copytree(edition, tmp_path / "stranger" / edition.name))


def rewrite(folder: Path, edit: Callable[[Any], None]) -> None:
    """Edit results.json, and make both reports fit it again."""
    document = json.loads((folder / "results.json").read_bytes())
    before = encode_value(document)
    edit(document)
    assert encode_value(document) != before
    (folder / "results.json").write_bytes(encode_value(document) + b"\n")
    (folder / "report.md").write_bytes(markdown(document).encode())
    (folder / "report.html").write_bytes(page(document).encode())


def test_a_stranger_checks_an_edition_from_its_folder_alone(edition: Path, tmp_path: Path, state: Path) -> None:
    folder = elsewhere(edition, tmp_path)
    said = ok(verify(folder)).out
    assert f"edition {edition.name}: its pages are those of results.json; its plan, verdicts, claims and gates" in said
    assert f"edition {edition.name}, not compared: its estimates, whose digest the journal records; that the" in said
    assert f"verify {edition.name} --replay" in said
    assert "history anchored by: nothing outside this folder; quoted inside it by edition" in said
    assert "working tree" not in said


def test_with_replay_it_is_built_again_byte_for_byte(edition: Path, tmp_path: Path, state: Path) -> None:
    folder = elsewhere(edition, tmp_path)
    said = ok(verify(folder, "--replay=unsafe")).out
    assert f"edition {edition.name} was built again from its bundle, the same bytes" in said


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("report.html", "report.html: is not the report of results.json"),
        ("report.md", "report.md: is not the report of results.json"),
        ("bundle.tar", "bundle.tar: has digest"),
        ("results.json", "is not the report of results.json"),
    ],
)
def test_one_edited_file_is_named(edition: Path, name: str, says: str) -> None:
    data = (edition / name).read_bytes()
    (edition / name).write_bytes(
        data.replace(b"supported", b"Supported", 1) if name != "bundle.tar" else data[:-512] + b"x" * 512
    )
    assert (edition / name).read_bytes() != data
    found = verify(edition)
    assert found.code == 1 and says in found.err, found.said


def better(document: Any) -> None:
    document["claims"][0]["status"] = "contradicted"


def other_numbers(document: Any) -> None:
    document["analysis"]["effects"][0]["estimate"] = "0.999000000000"


def other_gate(document: Any) -> None:
    document["gates"][0]["open"] = False


def other_head(document: Any) -> None:
    count, digest = document["study"]["head"].split(":", 1)
    document["study"]["head"] = f"{int(count) - 1}:{digest}"


def other_pin(document: Any) -> None:
    document["study"]["pin"] = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (other_numbers, "is none that the journal records"),
        (other_head, "edition"),
        (other_pin, "quotes another seal"),
        (better, "results.json: $.claims[0].status is 'contradicted', due 'supported' by the sealed plan"),
        (other_gate, "results.json: $.gates[0].open is False, due True by the sealed plan"),
    ],
)
def test_results_and_reports_edited_together(
    edit: Callable[[Any], None], says: str, edition: Path, tmp_path: Path, state: Path
) -> None:
    folder = elsewhere(edition, tmp_path)
    rewrite(folder, edit)
    found = verify(folder)
    assert found.code == 1 and says in found.err, found.said


@pytest.mark.parametrize("edit", [better, other_gate])
def test_with_replay_an_edition_that_says_more_is_not_what_is_built_again(
    edit: Callable[[Any], None], edition: Path, tmp_path: Path, state: Path
) -> None:
    folder = elsewhere(edition, tmp_path)
    rewrite(folder, edit)
    again = verify(folder, "--replay=unsafe")
    assert again.code == 1 and "results.json: is " in again.err, again.said


def test_in_its_study_the_journal_holds_every_byte_of_an_edition(published: Path, edition: Path) -> None:
    rewrite(edition, better)
    found = call("verify", "receipts", cwd=published)
    assert found.code == 1 and "was published; it was edited" in found.err, found.said


def test_a_renamed_edition_is_refused(edition: Path) -> None:
    other = edition.rename(edition.with_name("part-000000000000"))
    found = verify(other)
    assert found.code == 1 and "calls itself" in found.err


@pytest.mark.parametrize(
    "edit",
    [
        lambda document: document.pop("analysis"),
        lambda document: document.update(claims=[{"status": "supported"}]),
        lambda document: document["analysis"]["effects"][0].update(estimate="NaN"),
        lambda document: document["analysis"]["effects"][0].update(lower="-Infinity"),
        lambda document: document["analysis"]["effects"][0].update(upper="1e999999"),
        lambda document: document["analysis"].update(effects=7),
        lambda document: document["study"].pop("title"),
        lambda document: document["analysis"].update(verdicts=[[]]),
    ],
)
def test_results_that_no_report_can_be_made_of_are_refused(edit: Callable[[Any], object], edition: Path) -> None:
    document = json.loads((edition / "results.json").read_bytes())
    edit(document)
    (edition / "results.json").write_bytes(encode_value(document) + b"\n")
    found = verify(edition)
    assert found.code == 1 and "defect" not in found.err, found.said
    assert "results.json" in found.err or "report" in found.err


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}\n",
        b"[]\n",
        b'{"type":"sealkit/edition/v2"}\n',
        b'{"type":"sealkit/edition/x"}\n',
        b"\xff\n",
        b"null\n",
    ],
)
def test_what_is_no_edition_is_refused(data: bytes, edition: Path) -> None:
    (edition / "results.json").write_bytes(data)
    found = verify(edition)
    assert found.code == 1 and "results.json" in found.err, found.said


def test_an_edition_of_another_format_is_not_called_edited(edition: Path) -> None:
    (edition / "results.json").write_bytes(b'{"type":"sealkit/edition/v1"}\n')
    found = verify(edition)
    assert (
        found.code == 3 and "is written as sealkit/edition/v1, and this sealkit reads sealkit/edition/v2" in found.err
    )


def test_an_edition_made_by_another_sealkit_is_checked_but_for_its_layout(
    edition: Path, tmp_path: Path, state: Path
) -> None:
    folder = elsewhere(edition, tmp_path)
    document = json.loads((folder / "results.json").read_bytes())
    document["made_by"] = "sealkit 99.0.0"
    (folder / "results.json").write_bytes(encode_value(document) + b"\n")
    (folder / "report.md").write_text("laid out in another way\n")
    for replay, seen in (((), "ruled on again"), (("--replay=unsafe",), "results.json was built again")):
        found = verify(folder, *replay)
        said = found.out
        assert found.code == 3, "a stranger who was given a page looks at the page"
        assert "report.md were NOT read, they are laid out by sealkit 99.0.0, by its own word" in said.replace(
            " and", ""
        )
        assert seen in said and "the same bytes" not in said.split(f"edition {folder.name}", 1)[1].splitlines()[0]
    for forged in ("sealkit 99.0.0. Audited by many", "sealkit 99.0.0\n", None):
        (folder / "results.json").write_bytes(encode_value(document | {"made_by": forged}) + b"\n")
        found = verify(folder)
        assert found.code == 1 and f"made_by is {str(forged)!a}, due a version" in found.err
    document["does_not_prove"] = []
    (folder / "results.json").write_bytes(encode_value(document) + b"\n")
    found = verify(folder)
    assert found.code == 3 and "$.does_not_prove[0] is not worded as this sealkit words it" in found.err
    assert "made by sealkit 99.0.0, by its own word: verify with that one" in found.err


# --- an edition as an anchor ---------------------------------------------------------------------


def test_an_older_copy_of_the_journal_does_not_meet_the_head_that_an_edition_quotes(
    published: Path, sealed_once: Path, state: Path
) -> None:
    """Journal, episodes and HEAD of an earlier day, put back together: consistent, but an edition knows better."""
    receipts = published / "receipts" / ID
    shutil.rmtree(receipts)
    shutil.copytree(sealed_once / "receipts" / ID, receipts)
    found = call("verify", "receipts", "--no-remember", cwd=published)
    assert found.code == 1 and "edition part-" in found.err, found.said
    shutil.rmtree(published / "publications")
    ok(call("verify", "receipts", "--no-remember", cwd=published))


def test_a_journal_written_anew_does_not_meet_it_either(published: Path, sealed_once: Path, state: Path) -> None:
    """The same plan run again: another history, and results that may be the same."""
    receipts = published / "receipts" / ID
    shutil.rmtree(receipts)
    shutil.copytree(sealed_once / "receipts" / ID, receipts)
    aside = published.parent / "aside"
    (published / "publications").rename(aside)
    ok(call("run", PLAN, "--jobs", "1", cwd=published))
    ok(call("analyse", PLAN, cwd=published))
    aside.rename(published / "publications")
    found = call("verify", "receipts", "--no-remember", cwd=published)
    assert found.code == 1 and "edition part-" in found.err, found.said
