"""What follows from the effects: the sections `hypotheses`, `claims`, `gates` and `rights`."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias, get_args

from sealkit.plan.base import Name, Text, Word, Words
from sealkit.plan.parts import ByShape, Limits, Part

OTHERWISE: Final = "otherwise"
# The verdicts that rules may give: what a claim says of one that is not met is defined for these alone.
VERDICTS: Final = ("supported", "partly", "not_shown", "contradicted")
# Rulings that sealkit gives of itself; no rule may give them.
RESERVED_VERDICTS: Final = ("not_estimable", "unmeasured", "exploratory", "withheld")

Gate: TypeAlias = Literal[
    "sealed_before_look",
    "baselines_conform",
    "forks_isolated",
    "denominators_reconcile",
    "false_rejection_acceptable",
    "rights_documented",
    "claims_follow_map",
    "files_verify",
]
GATES: Final[tuple[Gate, ...]] = get_args(Gate)
# Gates about what a study compares: a hypothesis of the gate's name says how each is decided.
GATES_BY_HYPOTHESIS: Final[tuple[Gate, ...]] = ("baselines_conform", "forks_isolated", "false_rejection_acceptable")
GATE_MEANINGS: Final[Mapping[Gate, str]] = {
    "sealed_before_look": "the seal predates any look at confirmatory outcomes",
    "baselines_conform": "baselines pass their own conformance suites",
    "forks_isolated": "mutation forks are independently audited for isolation",
    "denominators_reconcile": "every reported denominator reconciles to receipt status",
    "false_rejection_acceptable": "faithful false rejection is acceptable under the frozen rule",
    "rights_documented": "human and model outputs have documented rights",
    "claims_follow_map": "claims follow the locked claim-to-metric map",
    "files_verify": "the exact released files pass deterministic verification",
}


_ByRole = Annotated[Mapping[Word, Text], Limits(1)]
_ByEffect = Annotated[Mapping[Word, Word], Limits(1)]
MetricChoice: TypeAlias = Annotated[str | Mapping[str, str], ByShape(_ByEffect, word=Word)]


class Each(Part):
    """One verdict for each of these metrics."""

    metric: Words


class Hypothesis(Part, kw_only=True):
    """What is predicted, and the rules that turn effects into a verdict.

    `metric` names the metric of every effect, or of each by name; `each` asks the same of several metrics. An effect
    that has a metric of its own keeps it. In `verdict` the first rule that holds gives its name; `otherwise`, last,
    names the verdict when none does. Verdicts are supported, partly, not_shown and contradicted, as claims are. An
    effect that cannot be estimated gives `not_estimable` before any rule.
    """

    says: Text
    each: Each | None = None
    metric: MetricChoice | None = None
    descriptive: bool = False
    verdict: Annotated[Mapping[Name, Text], Limits(2)]


class Need(Part, kw_only=True):
    """A verdict that a claim needs, for one metric where the hypothesis gives several."""

    hypothesis: Name
    metric: Word | None = None
    verdict: Annotated[tuple[Name, ...], Limits(1, "the verdict")]


class Claim(Part):
    """A sentence that may be published if every one of its needs is met, and what it does not show."""

    text: Text
    stratum: Literal["instrument", "confirmatory", "descriptive"]
    needs: Annotated[Need | tuple[Need, ...], ByShape(Annotated[tuple[Need, ...], Limits(1)], mapping=Need)]
    does_not_show: Text


def needs_of(claim: Claim) -> tuple[Need, ...]:
    """The needs of a claim, however the plan writes them."""
    return (claim.needs,) if isinstance(claim.needs, Need) else claim.needs


class Rights(Part):
    """Under what terms model outputs and human contributions are published, and the data of an external world.

    `sealkit.plan.rights` says what the gate rights_documented needs of them.
    """

    model_outputs: Annotated[str | Mapping[str, str], ByShape(_ByRole, word=Text)]
    humans: Text
    data: Text | None = None


Gates = Annotated[tuple[Gate, ...], Limits(1, "the gate")]
