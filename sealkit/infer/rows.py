"""An estimate as a row of the analysis record: counts as integers, everything else as 12-place decimals."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from sealkit.infer.estimate import Estimate, Found, Number
from sealkit.infer.intervals import Interval, margin_tested
from sealkit.infer.robustness import Robustness
from sealkit.infer.sample import Basis
from sealkit.infer.shapes import Rows
from sealkit.infer.stats.decimals import as_text, exact_decimal
from sealkit.infer.stats.results import NotEstimable
from sealkit.plan.analysis import Difference, Effect, Tally
from sealkit.plan.fields import form_of
from sealkit.plan.schema import Spec
from sealkit.wire.records import Json

Row = dict[str, Json]


def spelled(number: Number) -> Json:
    """A number as a record holds it."""
    return as_text(number) if isinstance(number, Decimal) else number


def effect_row(spec: Spec, effect: Effect, metric_name: str, found: Found) -> Row:
    """What an effect on a metric is, what it rests on, and its numbers or why there are none."""
    method = spec.methods[effect.method]
    parts: list[Json] = [_basis(basis) for basis in found.basis]
    row: Row = {
        "form": form_of(effect),
        "population": None if isinstance(effect, Difference) else effect.population or None,
        "method": effect.method,
        "kind": method.kind,
        "level": None if isinstance(method, Tally) else str(method.level),
        "better": spec.metrics[metric_name].better,
        "basis": parts,
    }
    return row | numbers(found.estimate) | _sides(found) | _margin(effect, spec, found)


def numbers(estimate: Estimate) -> Row:
    """The fields, the counts beside them and the notes, or the reason why there are none."""
    if isinstance(estimate, NotEstimable):
        return {"not_estimable": estimate.reason}
    notes: list[Json] = list(estimate.notes)
    return _spelled(estimate.fields) | _spelled(estimate.beside) | {"notes": notes}


def _spelled(values: Mapping[str, Number]) -> Row:
    return {name: spelled(number) for name, number in values.items()}


def _basis(basis: Basis) -> Json:
    return {
        "planned": basis.planned, "absent": basis.absent, "null": basis.null, "filled": basis.filled,
        "unpaired": basis.unpaired, "left_out": basis.left_out, "n": basis.n,
    }  # fmt: skip


def _sides(found: Found) -> Row:
    """Both sides of a comparison of pairs: the means over the rows that the effect rests on, as measured."""
    data = found.data
    if not isinstance(data, Rows) or data.sample.minus is None or isinstance(found.estimate, NotEstimable):
        return {}
    sides: Row = {}
    for name, columns in (("plus", data.sample.plus), ("minus", data.sample.minus)):
        mean = data.mean(columns)
        sides[name] = {"n": data.n, "mean": None if isinstance(mean, NotEstimable) else as_text(exact_decimal(mean))}
    return {"sides": sides}


def _margin(effect: Effect, spec: Spec, found: Found) -> Row:
    if effect.margin is None or found.data is None or isinstance(found.estimate, NotEstimable):
        return {}
    result = margin_tested(found.data, effect.margin, spec.methods[effect.method])
    if result is None or isinstance(result, NotEstimable):
        return {}
    test: Row = {"kind": effect.margin.kind, "method": result.method, "p": as_text(result.p)}
    return {"margin_test": test | {"lower": as_text(result.lower), "upper": as_text(result.upper)}}


def bounds_row(worst: Found | None, best: Found | None) -> Row:
    """The numbers under both bounds; null where no outcome is missing."""
    if worst is None or best is None:
        return {"bounds": None}
    return {"bounds": {"worst": numbers(worst.estimate), "best": numbers(best.estimate)}}


def robustness_row(found: Found, other: Robustness | None) -> Row:
    """The limits by other seeds and methods; null where there are none."""
    if other is None or isinstance(found.estimate, NotEstimable):
        return {"robustness": None}
    fields = found.estimate.fields
    lower = [interval.lower == fields["lower"] for interval in other.seeds]
    upper = [interval.upper == fields["upper"] for interval in other.seeds]
    same: Row = {"tried": len(other.seeds), "same_lower": sum(lower), "same_upper": sum(upper),
                 "same_limits": sum(map(all, zip(lower, upper, strict=True)))}  # fmt: skip
    return {
        "robustness": {
            "seeds": same if other.seeded else None,
            "exact_law": _interval(other.exact_law),
            "tango": _interval(other.tango),
        }
    }


def _interval(interval: Interval | None) -> Json:
    return None if interval is None else {"lower": as_text(interval.lower), "upper": as_text(interval.upper)}
