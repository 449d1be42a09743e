"""The whole of a plan as one frozen record; each key of the file is a field here or in the modules beside.

    actors    world, models, factors, readings       who acts, where
    sample    sample                                 how much, and what becomes of what goes wrong
    analysis  metrics, methods, multiplicity, effects, reported_only
    ruling    hypotheses, claims, gates, rights      what follows

`lint` checks what no single field can: that names exist and that the sections fit each other.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from sealkit.plan.actors import Factors, Reading, Role, World
from sealkit.plan.analysis import Effect, Method, Metric, Multiplicity, Reported
from sealkit.plan.base import Name, RelativePath, Selection, Text, Word
from sealkit.plan.forms import Schema
from sealkit.plan.parts import Limits, Part, form_of
from sealkit.plan.ruling import Claim, Gates, Hypothesis, Rights
from sealkit.plan.sample import Sample


class Spec(Part):
    """A plan as written: every section, nothing filled in."""

    sealkit: Literal[1]
    id: Name
    title: Text
    question: Text
    data_access: Literal["none_collected", "collected_unseen", "seen"]
    confounds: tuple[Text, ...]
    power: Text

    world: World
    evidence: Literal["witnessed", "traced", "recorded"]
    verifiers: Annotated[tuple[Name, ...], Limits(1, "the verifier")]
    judge: RelativePath | None

    models: Mapping[Word, Role]
    factors: Factors
    readings: Mapping[Word, Reading]
    sample: Sample
    populations: Annotated[Mapping[Word, Annotated[Selection, Limits(1)]], Limits(1)]

    metrics: Annotated[Mapping[Word, Metric], Limits(1)]
    methods: Annotated[Mapping[Word, Method], Limits(1)]
    multiplicity: Multiplicity
    reported_only: tuple[Reported, ...]
    effects: Annotated[Mapping[Word, Effect], Limits(1)]

    hypotheses: Annotated[Mapping[Name, Hypothesis], Limits(1)]
    claims: Mapping[Name, Claim]
    gates: Gates
    rights: Rights


def plan_schema() -> Schema:
    """The JSON Schema of a plan file, for editors; it says less than `sealkit check` does."""
    head: Schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "sealkit plan"}
    return head | form_of(Spec).schema()
