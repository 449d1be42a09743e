"""Whether the study's own code that rulings rest on loads and gives what its plan reads: said before a run."""

from __future__ import annotations

from pathlib import Path

from sealkit.plan.load import Plan
from sealkit.plan.measures import judge_measures
from sealkit.wire.errors import UsageError
from sealkit.world.loader import LoadedWorld, load_judge, load_verifier
from sealkit.world.sdk import Judge


def open_judge(root: Path, plan: Plan, *, beside: LoadedWorld | None = None) -> Judge | None:
    """The judge, if the plan has one; `HarnessError` if it does not load, `UsageError` if it lacks a measure.

    `beside` is the world, if it was loaded just now.
    """
    if plan.spec.judge is None:
        return None
    judge, given = load_judge(root, plan.spec.judge, beside=beside)
    missing = [measure for measure in judge_measures(plan.spec) if measure not in given]
    if missing:
        raise UsageError(
            f"the judge gives no {', '.join(missing)}; it gives {', '.join(given)}", where=plan.where("metrics"),
            remedy="name the judge's measure with `measure:`",
        )  # fmt: skip
    return judge


def check_verifiers(root: Path, plan: Plan) -> None:
    """Raise unless every verifier that the plan names loads."""
    for name in plan.spec.verifiers:
        load_verifier(root / "verifiers" / name)
