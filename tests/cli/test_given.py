"""What `verify`, `check` and `conformance` are given: the right part of a study, or a message with what to type."""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from sealkit.seal.archive import BLOCK, header
from tests.studies import ID, PLAN, ROOT, SMALL, call, make_study, ok


def _is_no_study(kind: str, study: Path) -> str:
    match kind:
        case "nothing":
            return "nope"
        case "no receipts":
            return "receipts/nope"
        case "pipe":
            os.mkfifo(study / "pipe")
            return "pipe"
        case "device":
            return "/dev/zero"
        case "folder":
            return "worlds"
        case _:
            (study / "odd").mkdir()
            (study / "odd" / "plans").write_text("no folder\n")
            return "odd"


@pytest.mark.parametrize("kind", ["nothing", "no receipts", "pipe", "device", "folder", "plans is a file"])
def test_what_holds_no_study_is_a_mistake_in_the_command(kind: str, study: Path) -> None:
    outcome = call("verify", _is_no_study(kind, study), cwd=study)
    assert outcome.code == 2 and not outcome.out
    due = {"pipe": "found a pipe", "device": "found a device", "no receipts": "no seal of a plan 'nope'"}
    assert due.get(kind, "there is no study here") in outcome.err
    assert "; name a study's folder" in outcome.err or f"; sealkit verify {study}" in outcome.err


def test_the_plans_folder_leads_to_its_study(study: Path) -> None:
    assert f"; sealkit verify {study}\n" in call("verify", "plans", cwd=study).err


def test_a_plan_stands_for_its_receipts(study: Path) -> None:
    due = ok(call("verify", "receipts", "--json", "--no-remember", cwd=study))
    assert ok(call("verify", PLAN, "--json", "--no-remember", cwd=study)).out == due.out


def test_a_plan_without_a_seal_is_to_be_sealed(tmp_path: Path) -> None:
    outcome = call("verify", PLAN, cwd=make_study(tmp_path / "a study", SMALL))
    assert outcome.code == 2
    assert outcome.err.endswith(f"the plan is not sealed; sealkit seal '{tmp_path}/a study/{PLAN}'\n")


def test_receipts_that_are_gone_are_evidence_that_is_gone(sealed: Path) -> None:
    for path in (sealed / "receipts" / ID).iterdir():
        path.unlink()
    (sealed / "receipts" / ID).rmdir()
    assert call("verify", "receipts", cwd=sealed).code == 1
    assert call("verify", f"receipts/{ID}", cwd=sealed).code == 1


@pytest.mark.parametrize("name", ["plans", "plans/", "receipts/x"])
def test_a_bundle_whose_folders_are_files_is_none(name: str, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.tar"
    bundle.write_bytes(header(name, 1) + b"x" + bytes(BLOCK - 1) + bytes(2 * BLOCK))
    outcome = call("verify", bundle, cwd=tmp_path)
    assert outcome.code == 1 and outcome.err.startswith(f"sealkit: {bundle}: ")


def test_a_file_that_is_no_archive_is_no_bundle(study: Path) -> None:
    outcome = call("verify", f"plans/{ID}.seal.json", cwd=study)
    assert outcome.code == 1 and "is no bundle: found no ustar header; name the bundle.tar" in outcome.err


def test_a_world_or_verifier_that_is_not_there_is_a_mistake_in_the_command(study: Path) -> None:
    for folder in ("worlds/nope", "verifiers/nope"):
        outcome = call("conformance", folder, cwd=study)
        assert outcome.code == 2 and outcome.err.endswith(
            "there is no such folder; name worlds/NAME or verifiers/NAME\n"
        )


def test_bad_parameters_are_refused_at_their_place_by_every_command_that_uses_them(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study", SMALL)
    plan = study / PLAN
    plan.write_text(
        plan.read_text()
        .replace("turn_budget: 15", "turn_budget: 0")
        .replace("pilot: null", "pilot: {arm: all, family: all, seed: [700]}")
    )
    number, line = next((n, text) for n, text in enumerate(plan.read_text().splitlines(), 1) if "turn_budget" in text)
    at = f"sealkit: {PLAN}:{number}:{line.index('turn_budget: 0') + 14} $.world.params.turn_budget: "
    for command in (["check"], ["seal"], ["pilot", "--jobs", "1"]):
        outcome = call(*command, PLAN, cwd=study)
        assert outcome.code == 2 and outcome.err.startswith(at), outcome.err
        assert re.search(r"are at least 1 \(worlds/house/world.py, line \d+\); worlds/house/SPEC.md", outcome.err)


def test_every_command_that_is_named_next_can_be_typed(tmp_path: Path) -> None:
    """A path with a space and a quote: what is printed goes through a shell's reading as the path that it is."""
    study = make_study(tmp_path / "it's a study", SMALL)
    plan = study / PLAN
    said = [call(*command, plan, cwd=tmp_path) for command in (["check"], ["seal"], ["run", "--jobs", "1"], ["status"])]
    for outcome in map(ok, said):
        typed = outcome.out.rpartition("next: ")[2].split("\n")[0]
        words = [word for part in typed.split(" && ") for word in shlex.split(part)]
        assert words.count("sealkit") == words.count(str(plan)) > 0, typed


def _without_rights() -> None:
    """A root owner may write anywhere; one without the capabilities that say so may not."""
    for capability in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.skipif(sys.platform != "linux", reason="drops capabilities as Linux has them")
def test_a_study_that_cannot_be_written_to_says_what_to_do(sealed: Path) -> None:
    folders = [sealed, *(path for path in sealed.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    for file in (path for path in sealed.rglob("*") if path.is_file()):
        file.chmod(0o444)
    try:
        for command in (["run", "--jobs", "1"], ["seal"], ["amend", "--reason", "x"]):
            ended = subprocess.run(
                [sys.executable, "-B", "-m", "sealkit", *command, PLAN], cwd=sealed, preexec_fn=_without_rights,
                env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if command != ["seal"]:
                assert ended.returncode == 3, ended
                assert "Permission denied; give yourself the right to write there, or work in a copy" in ended.stderr
            assert "Traceback" not in ended.stderr
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert tarfile.is_tarfile(sealed / "plans" / f"{ID}.source.tar")


def test_publications_stands_for_its_editions(published_once: Path, tmp_path: Path) -> None:
    study = Path(shutil.copytree(published_once, tmp_path / "study"))
    [edition] = (study / "publications").iterdir()
    shutil.copytree(edition, study / "publications" / "another")
    refused = call("verify", "publications/", "--no-remember", cwd=study)
    assert refused.code == 1 and "calls itself 'part-" in refused.err
    assert refused.out.endswith("\n1 of 2 studies holds; another does not\n") and "next:" not in refused.out
    shutil.rmtree(study / "publications" / "another")
    assert ok(call("verify", "publications", "--no-remember", cwd=study)).out.endswith("\n1 study holds\n")
    shutil.rmtree(edition)
    assert call("verify", "publications", "--no-remember", cwd=study).code == 2
    standing = ok(call("status", PLAN, cwd=study)).out
    assert f"published, edition {edition.name}, which is not in publications/ here\n" in standing
    assert standing.endswith(f"  next: sealkit verify {study}/receipts/{ID} --replay\n") or standing.endswith(
        f"  next: sealkit verify receipts/{ID} --replay\n"
    )
