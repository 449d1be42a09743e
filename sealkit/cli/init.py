"""`sealkit init FOLDER`."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from sealkit.wire.errors import UsageError
from sealkit.world.reference import reference_root

COPIED = ("worlds/house", "verifiers/witness", "verifiers/replay", "plans/dry-run.yaml", "plans/v1.yaml")


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Make a study folder with the reference world, verifiers and plans, ready to be changed, sealed and run.

    \b
    Example:
      sealkit init mystudy && cd mystudy && sealkit check plans/dry-run.yaml
    """
    make_study(folder)
    click.echo(f"made {folder} with a world, two verifiers and two plans")
    click.echo(f"next: cd {folder} && sealkit check plans/dry-run.yaml")


def make_study(folder: Path) -> None:
    """Copy the reference study into `folder`, which is new or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("there is something already", where=str(folder), remedy="name a new folder")
    root = reference_root()
    for path in COPIED:
        source, target = root / path, folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    lock = root / "requirements.lock"
    if lock.is_file():
        shutil.copyfile(lock, folder / "requirements.lock")
