"""Where the files of a sealed plan are in a study, and what of the study a plan depends on by what it names."""

from __future__ import annotations

from pathlib import Path

from sealkit.plan.actors import CommandArm, OwnArm, ReferenceWorld
from sealkit.plan.load import Plan
from sealkit.plan.schema import Spec
from sealkit.seal.closure import Declared
from sealkit.seal.commitment import PlanSeal, amendment_name
from sealkit.seal.tree import TreeEntry
from sealkit.wire.errors import UsageError


def study_of(plan_path: Path) -> Path:
    """The study folder that a plan file belongs to: that which holds the folder `plans`."""
    if plan_path.parent.name != "plans" or plan_path.suffix != ".yaml":
        raise UsageError("a plan is a file plans/NAME.yaml of a study", where=str(plan_path), remedy="move it there")
    return plan_path.parent.parent


def receipts_folder(study: Path, plan: Plan) -> Path:
    """Where the receipts of a plan are; those of its pilot are in the folder `pilot` below."""
    return study / "receipts" / plan.spec.id


def beside(plan_path: Path, suffix: str, number: int = 0) -> Path:
    """The file of this plan that has that suffix: `seal.json`, `manifest.jsonl`, `source.tar`; of amendment `number`
    if not 0.

    >>> beside(Path("plans/v1.yaml"), "source.tar").name, beside(Path("plans/v1.yaml"), "source.tar", 2).name
    ('v1.source.tar', 'v1.A-0002.source.tar')
    """
    of = f".{amendment_name(number)}" if number else ""
    return plan_path.with_name(f"{plan_path.stem}{of}.{suffix}")


def amendment_file(plan_path: Path, number: int) -> Path:
    """The file of this plan's amendment `number`."""
    return plan_path.with_name(f"{plan_path.stem}.{amendment_name(number)}.json")


def plan_entry(plan: PlanSeal) -> TreeEntry:
    """The plan file as the archive holds it."""
    return TreeEntry(path=plan.path, size=plan.size, digest=plan.file)


def declared(spec: Spec) -> Declared:
    """The folders and files that the plan depends on by what it names."""
    trees = [f"verifiers/{name}" for name in spec.verifiers]
    foreign: list[str] = []
    if isinstance(spec.world, ReferenceWorld):
        trees.append(f"worlds/{spec.world.name}")
    else:
        foreign += spec.world.trees
    if spec.judge is not None:
        folder = spec.judge.rpartition("/")[0]
        if not folder:
            raise UsageError(f"found {spec.judge}, due a module in a folder", where="$.judge")
        trees.append(folder)
    for arm in spec.factors.arm.values():
        if isinstance(arm, OwnArm):
            trees.append(arm.arm)
        elif isinstance(arm, CommandArm):
            foreign += arm.trees
    return Declared(trees=tuple(dict.fromkeys(trees)), foreign=tuple(dict.fromkeys(foreign)))
