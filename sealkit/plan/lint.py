"""The cross-checks of a plan: that what it names is there, and that its sections fit each other.

First whether every name stands for something (`lint_run`, `lint_effects`, `lint_ruling`), then whether effects,
metrics and methods fit where they are used (`lint_uses`), last the truth tables, which rest on all of it.
"""

from __future__ import annotations

from sealkit.plan.lint_effects import effect_problems
from sealkit.plan.lint_ruling import ruling_problems, truth_problems
from sealkit.plan.lint_run import run_problems
from sealkit.plan.lint_uses import use_problems
from sealkit.plan.problems import Problem
from sealkit.plan.schema import Spec


def lint(spec: Spec) -> list[Problem]:
    """Everything that is wrong with `spec` across its sections; empty if it can be sealed."""
    names = [*run_problems(spec), *effect_problems(spec), *ruling_problems(spec)]
    return names or list(use_problems(spec)) or list(truth_problems(spec))
