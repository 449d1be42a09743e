"""Adds up the counts of an analysis record: from the slots of every arm down to the n of every effect.

    slots = admitted + excluded + errored + missing        in every arm
    episodes = slots - missing,  outcomes = admitted - no_outcome
    planned = n + absent + null                            under every effect whose metric has no unit of its own

A record that sealkit made adds up by construction; a gate does not take its word for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from sealkit.infer.measures import plain_metrics
from sealkit.plan.schema import Spec
from sealkit.wire.records import Json

Row = Mapping[str, Json]


def irreconcilable(spec: Spec, record: Row) -> tuple[str, ...]:
    """Every count of the record that does not add up, in words; none if all do."""
    flow = cast(Mapping[str, Row], record["flow"])
    return (*_arms(spec, flow), *_effects(spec, cast(list[Row], record["effects"])))


def _arms(spec: Spec, flow: Mapping[str, Row]) -> Iterator[str]:
    if flow.keys() != spec.factors.arm.keys():
        yield f"the flow has the arms {', '.join(flow)}, the plan {', '.join(spec.factors.arm)}"
    for name, arm in flow.items():
        slots, admitted, errored, missing = (_count(arm, key) for key in ("slots", "admitted", "errored", "missing"))
        excluded = sum(cast(Mapping[str, int], arm["excluded"]).values())
        if slots != admitted + excluded + errored + missing:
            parts = f"{admitted} admitted, {excluded} excluded, {errored} errored, {missing} missing"
            yield f"arm {name}: {slots} slots, but {parts}"
        if _count(arm, "episodes") != slots - missing:
            yield f"arm {name}: {_count(arm, 'episodes')} episodes of {slots} slots, {missing} of them missing"
        outcomes, none = _count(arm, "outcomes"), _count(arm, "no_outcome")
        if outcomes != admitted - none:
            yield f"arm {name}: {outcomes} outcomes of {admitted} admitted, {none} without"
        for key in ("no_value", "drawn_again"):
            if _count(arm, key) > outcomes:
                yield f"arm {name}: {_count(arm, key)} {key.replace('_', ' ')} of {outcomes} outcomes"


def _effects(spec: Spec, rows: list[Row]) -> Iterator[str]:
    metrics = plain_metrics(spec)
    for row in rows:
        metric = metrics.get(str(row["metric"]))  # none for a ratio, which has a row a cell
        if metric is not None and metric.unit is not None:
            continue  # an episode shows as many units as it shows
        for basis in cast(list[Row], row["basis"]):
            planned, absent, null, n = (_count(basis, key) for key in ("planned", "absent", "null", "n"))
            if planned != n + absent + null:
                effect = f"effect {row['effect']} on {row['metric']}"
                yield f"{effect}: {planned} planned, but n is {n}, {absent} absent, {null} without a value"


def _count(row: Row, key: str) -> int:
    return cast(int, row[key])
