"""What the command of an external world is given for a slot: all that the plan says of it, as one record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sealkit.plan.actors import ExternalArm, Model, ModelByFactor, Role
from sealkit.plan.analysis import Binary, Ratio, Score
from sealkit.plan.measures import USAGE_MEASURES
from sealkit.plan.schema import Spec
from sealkit.wire.canon import encode_record
from sealkit.wire.errors import UsageError
from sealkit.wire.recorded import AssignedModel, Assignment, BinaryForm, CountForm, Form, ScoreForm
from sealkit.wire.records import Level

BUDGET = "budget"


def assignment(spec: Spec, slot: Mapping[str, Level]) -> Assignment:
    """The assignment of one slot; the same for every stage and pin of a plan that says the same."""
    arm = spec.factors.arm[str(slot["arm"])]
    if not isinstance(arm, ExternalArm):
        raise UsageError("is no arm of an external world", where=f"$.factors.arm.{slot['arm']}")
    return Assignment(
        plan=spec.id,
        slot=dict(slot),
        options=dict(arm.options),
        models={role: _assigned(spec.models[role], slot) for role in arm.models},
        measures=_measures(spec),
        endings=dict(_endings(spec)),
    )


def assignment_line(spec: Spec, slot: Mapping[str, Level]) -> bytes:
    """The canonical line of an assignment: what the command reads, and what a verifier may rely on."""
    return encode_record(assignment(spec, slot))


def _assigned(role: Role, slot: Mapping[str, Level]) -> AssignedModel:
    model: Model = role.levels[str(slot[role.factor])] if isinstance(role, ModelByFactor) else role
    return AssignedModel(
        id=model.id,
        temperature=format(model.temperature.normalize(), "f"),
        max_output_tokens=model.max_output_tokens,
        reasoning=model.reasoning,
    )


def _measures(spec: Spec) -> dict[str, tuple[Form, ...]]:
    """The forms of every measure that a metric reads; usage is reported for itself."""
    found: dict[str, dict[Form, None]] = {}
    for name, metric in spec.metrics.items():
        if isinstance(metric, Ratio) or (metric.measure or name) in USAGE_MEASURES:
            continue
        form: Form
        if isinstance(metric, Binary):
            form = BinaryForm(unit=metric.unit)
        elif isinstance(metric, Score):
            low, high, step = (format(part.normalize(), "f") for part in (*metric.range, metric.step))
            form = ScoreForm(unit=metric.unit, low=low, high=high, step=step)
        else:
            form = CountForm(unit=metric.unit)
        found.setdefault(metric.measure or name, {})[form] = None
    return {name: tuple(forms) for name, forms in found.items()}


def _endings(spec: Spec) -> Iterator[tuple[str, str]]:
    """What the plan takes each way of ending for; `final` is an end that the program itself calls one."""
    yield "final", "judged"
    for name in type(spec.sample.endings).__struct_fields__:
        yield BUDGET if name == "budget_exhausted" else name, str(getattr(spec.sample.endings, name))
