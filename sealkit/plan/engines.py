"""What a plan may say of effects and `sealkit.infer` cannot estimate yet; `run` refuses a plan that needs it."""

from __future__ import annotations

from collections.abc import Iterator

from sealkit.plan.analysis import Difference, Ratio
from sealkit.plan.problems import KeyPath
from sealkit.plan.schema import Spec


def missing_engines(spec: Spec) -> Iterator[tuple[KeyPath, str]]:
    """Where it is said, and what it is."""
    for name, effect in spec.effects.items():
        if not isinstance(effect, Difference):
            continue
        parts = [spec.effects[part] for part in effect.difference.split(" - ")]
        if any(not isinstance(part, Difference) and part.strata is not None for part in parts):
            yield ("effects", name), "a difference of stratified effects"
    for name, metric in spec.metrics.items():
        if not isinstance(metric, Ratio):
            continue
        sides = [spec.metrics[metric.of], spec.metrics[metric.over]]
        if any(not isinstance(side, Ratio) and (side.unit is not None or side.read_by is not None) for side in sides):
            yield ("metrics", name), "a ratio of metrics with a unit or a reading"
