"""Rules again on the estimates that an analysis record quotes: by the plan's rules, without an episode or a measure.

    for fault in faults_of(spec, record, flow):      # none of a record that `infer.analysis` made
        fault.where, fault.found, fault.due
    analysis_quoted(spec, record, flow)              # for `infer.claims` and `infer.gates`

What is compared: which effects there are and what they are, every verdict with its rule, also in the worst and the
best case, and the counts of the flow that no judge decides. The estimates themselves are taken as quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias, cast

from sealkit.infer.analysis import RESULTS, Analysis, chosen_row, pairs_read
from sealkit.infer.estimate import Estimate, Estimated, Number
from sealkit.infer.flow import Flow
from sealkit.infer.lost import lost_quoted
from sealkit.infer.stats.results import NotEstimable
from sealkit.infer.verdicts import Verdict, verdicts
from sealkit.plan.analysis import Difference, Tally
from sealkit.plan.fields import MEANINGS, form_of
from sealkit.plan.schema import Spec
from sealkit.wire.canon import encode_value
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Json

Row: TypeAlias = Mapping[str, Json]
_is_decimal = re.compile(r"-?(0|[1-9][0-9]{0,39})\.[0-9]{12}").fullmatch
# Where the judge of an admitted episode failed, only a run of it says so: those counts are not among these.
_COUNTED: Final = ("slots", "attempted", "attempts", "abandoned", "failed", "episodes", "ended", "missing")


@dataclass(frozen=True, slots=True)
class Fault:
    """One part of a record that is not what its plan, its journal or its own estimates make it."""

    where: str
    found: Json
    due: Json


def analysis_quoted(spec: Spec, record: Row, flow: Flow) -> Analysis:
    """The analysis that the record quotes, ruled again; it has no effects but those of the record."""
    return Analysis(
        flow=flow, effects={}, verdicts=_ruled(spec, record, ""), record=record, line=encode_value(dict(record))
    )


def faults_of(spec: Spec, record: Row, flow: Flow) -> Iterator[Fault]:
    """What does not follow, each part with what is due."""
    for key, due in (("type", RESULTS), ("plan", spec.id)):
        if record.get(key) != due:
            yield Fault(key, record.get(key), due)
    yield from _flow(record, flow)
    if unlike := tuple(_listed(spec, record)):
        yield from unlike  # a rule may read an effect that is not there
        return
    yield from _effects(spec, record)
    yield from _verdicts(spec, record)


def _flow(record: Row, flow: Flow) -> Iterator[Fault]:
    found = cast(Mapping[str, Row], record["flow"])
    if found.keys() != flow.keys():
        yield Fault("flow", list(found), list(flow))
        return
    for name, arm in flow.items():
        due: dict[str, Json] = {
            "slots": arm.tally.slots, "attempted": arm.attempted, "attempts": arm.attempts,
            "abandoned": arm.abandoned, "failed": arm.failed, "episodes": arm.episodes, "ended": dict(arm.ended),
            "missing": arm.tally.missing,
        }  # fmt: skip
        for key in _COUNTED:
            if found[name].get(key) != due[key]:
                yield Fault(f"flow.{name}.{key}", found[name].get(key), due[key])


def _listed(spec: Spec, record: Row) -> Iterator[Fault]:
    rows = cast(list[Row], record["effects"])
    listed: list[Json] = [f"{row.get('effect')} on {row.get('metric')}" for row in rows]
    due: list[Json] = [f"{name} on {metric}" for name, metric in sorted(pairs_read(spec))]
    if listed != due:
        yield Fault("effects", listed, due)


def _effects(spec: Spec, record: Row) -> Iterator[Fault]:
    for place, row in enumerate(cast(list[Row], record["effects"])):
        effect = spec.effects[str(row["effect"])]
        method = spec.methods[effect.method]
        is_: dict[str, Json] = {
            "form": form_of(effect),
            "population": None if isinstance(effect, Difference) else effect.population or None,
            "method": effect.method,
            "kind": method.kind,
            "level": None if isinstance(method, Tally) else str(method.level),
            "better": spec.metrics[str(row["metric"])].better,
        }
        for key, value in is_.items():
            if row.get(key) != value:
                yield Fault(f"effects[{place}].{key}", row.get(key), value)


def _verdicts(spec: Spec, record: Row) -> Iterator[Fault]:
    found = cast(list[Row], record["verdicts"])
    ruled, worst, best = (_ruled(spec, record, bound) for bound in ("", "worst", "best"))
    if len(found) != len(ruled):
        yield Fault("verdicts", len(found), len(ruled))
        return
    for place, (row, one, if_worst, if_best) in enumerate(zip(found, ruled, worst, best, strict=True)):
        hypothesis = spec.hypotheses[one.hypothesis]
        due: dict[str, Json] = {
            "hypothesis": one.hypothesis, "metric": one.metric, "says": hypothesis.says,
            "descriptive": hypothesis.descriptive, "verdict": one.verdict, "rule": one.rule, "why": one.why,
            "if_worst": if_worst.verdict, "if_best": if_best.verdict, **_chosen(spec, record, one),
        }  # fmt: skip
        for key, value in due.items():
            if row.get(key) != value:
                yield Fault(f"verdicts[{place}].{key}", row.get(key), value)


def _chosen(spec: Spec, record: Row, one: Verdict) -> Row:
    """What the verdict rests on that was lost, or drawn again, as the record's exclusions have it."""
    again = cast(Row, cast(Row, record["exclusions"])["drawn_again"])
    return chosen_row(spec, one, lost_quoted(record), cast(Mapping[str, int], again))


def _ruled(spec: Spec, record: Row, bound: str) -> tuple[Verdict, ...]:
    """The verdicts of the estimates that the record quotes, or of their `worst` or `best`."""
    estimates: dict[tuple[str, str], Estimate] = {}
    for row in cast(list[Row], record["effects"]):
        bounds = row.get("bounds")
        numbers = cast(Row, bounds[bound]) if bound and isinstance(bounds, dict) else row
        estimates[str(row["effect"]), str(row["metric"])] = _estimate(numbers)
    return verdicts(spec, estimates)


def _estimate(row: Row) -> Estimate:
    if "not_estimable" in row:
        return NotEstimable(str(row["not_estimable"]))
    return Estimated({name: _number(row[name], name) for name in MEANINGS if name in row}, {}, ())


def _number(value: Json, name: str) -> Number:
    """A number as `infer.rows` spells it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _is_decimal(value) is not None:
        return Decimal(value)
    raise MalformedError(f"{name} is {str(value)[:40]!a}, due a whole number or a decimal with 12 places")
