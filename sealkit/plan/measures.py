"""Which measures a plan reads, and who gives them."""

from __future__ import annotations

from sealkit.plan.schema import Spec

# Measures that sealkit sums over an episode's model calls; no judge gives them.
USAGE_MEASURES = ("input_tokens", "output_tokens", "calls")


def judge_measures(spec: Spec) -> tuple[str, ...]:
    """The measures that the judge must give: of every metric but ratios, readings and usage, each once."""
    names = []
    for name, metric in spec.metrics.items():
        if metric.kind != "ratio" and metric.read_by is None:
            names.append(metric.measure or name)
    return tuple(dict.fromkeys(name for name in names if name not in USAGE_MEASURES))
