"""`sealkit init FOLDER`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import click

from sealkit.wire.errors import UsageError
from sealkit.world.reference import reference_root

EXAMPLE = "docs/example/ab-prompts"
COPIED = (
    "worlds/house", "worlds/underwriting", "worlds/underwriting_b", "verifiers/witness", "verifiers/replay",
    "plans/dry-run.yaml", "plans/study-b-scripted.yaml", "plans/study-b.yaml",
    "plans/underwriting-panel.yaml", "plans/v1.yaml",
)  # fmt: skip


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--own-harness", is_flag=True, help="Instead an A/B of two prompts on a script, to be made your own.")
def command(folder: Path, own_harness: bool) -> None:
    """Make a study folder with the reference worlds, verifiers and plans, ready to be changed, sealed and run.

    \b
    Example:
      sealkit init mystudy && cd mystudy && sealkit check plans/dry-run.yaml
      sealkit init mystudy --own-harness && cd mystudy && sealkit check plans/ab-prompts.yaml
    """
    if own_harness:
        make_own_harness(folder)
        click.echo(f"made {folder} with a script, two prompts, 41 questions, a verifier and a plan")
        click.echo(f"next: cd {folder} && sealkit check plans/ab-prompts.yaml")
        return
    make_study(folder)
    click.echo(f"made {folder} with three worlds, two verifiers and five plans")
    click.echo(f"next: cd {folder} && sealkit check plans/dry-run.yaml")


def make_study(folder: Path) -> None:
    """Copy the reference study into `folder`, which is new or empty."""
    _copy(folder, {path: path for path in COPIED})


def make_own_harness(folder: Path) -> None:
    """Copy the example of one's own harness, with the verifier that it needs, into `folder`, which is new or empty."""
    paths = {f"{EXAMPLE}/{path}": path for path in ("harness", "plans/ab-prompts.yaml")}
    _copy(folder, paths | {"verifiers/recorded": "verifiers/recorded"})


def _copy(folder: Path, paths: Mapping[str, str]) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("there is something already", where=str(folder), remedy="name a new folder")
    root = reference_root()
    for there, here in paths.items():
        source, target = root / there, folder / here
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    # What is sealed is bytes: a checkout that converts ends of lines would break an honest study.
    (folder / ".gitattributes").write_bytes(b"* -text\n")
    lock = root / "requirements.lock"
    if lock.is_file():
        shutil.copyfile(lock, folder / "requirements.lock")
