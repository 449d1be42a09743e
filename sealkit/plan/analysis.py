"""What is measured and compared: `metrics`, `methods`, `multiplicity`, `effects` and `reported_only`."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

from sealkit.plan.base import Above, Count, Exact, Inside, OneLevel, Pick, Positive, Text, Word, Words
from sealkit.plan.forms import TextForm, Whole
from sealkit.plan.parts import ByKey, ByKind, Limits, Part

# --- metrics


class Combined(Part):
    """How the repetitions of a cell become one value. `any` and `all` are for binary metrics."""

    kind: Literal["mean", "any", "all"]


class PassAtK(Part):
    """The chance that at least one of `k` repetitions drawn from the cell succeeds; for binary metrics."""

    kind: Literal["pass_at_k"]
    k: Positive


Repetitions: TypeAlias = Annotated[Combined | PassAtK, ByKind()]


class _Metric(Part, kw_only=True):
    """`measure` is the judge's name for it where that differs from the metric's.

    `unit` names what is counted inside an episode, such as a fault; `read_by` the reading factor it depends on.
    """

    better: Literal["higher", "lower"]
    primary: bool = False
    measure: Word | None = None
    unit: Word | None = None
    read_by: Word | None = None
    repetitions: Repetitions | None = None


class Binary(_Metric, kw_only=True):
    """0 or 1."""

    kind: Literal["binary"]


class Counted(_Metric, kw_only=True):
    """A whole number from 0 on, up to `most` if it has an end; then that is what a failure or a bound stands at."""

    kind: Literal["count"]
    most: Count | None = None


class Score(_Metric, kw_only=True):
    """A number between the two ends of `range`, in steps of `step` from the lower one."""

    kind: Literal["score"]
    range: Annotated[tuple[Exact, ...], Limits(2)]
    step: Above

    def check(self) -> Iterator[tuple[str, str, str]]:
        """The range has two ends, and whole steps lead from one to the other."""
        if len(self.range) != 2 or self.range[0] >= self.range[1]:
            yield "range", "a range is its lower and its higher end", "write it as [0, 1]"
        elif (self.range[1] - self.range[0]) % self.step != Decimal(0):
            what = f"steps of {self.step} do not lead from {self.range[0]} to {self.range[1]}"
            yield "step", what, "choose a step that does"


class CountsAs(Part):
    """A duration that did not end counts as `value`."""

    kind: Literal["counts_as"]
    value: Count


class LeftOut(Part):
    """A duration that did not end is no value; its cell is missing."""

    kind: Literal["left_out"]


class Duration(_Metric, kw_only=True):
    """A whole number of acts from 0 on, up to `most` if that is stated; `censored` is what one without an end means:
    `{kind: left_out}`, no value, or `{kind: counts_as, value: 30}`, which is no better than the worst value."""

    kind: Literal["duration"]
    most: Count | None = None
    censored: Annotated[CountsAs | LeftOut, ByKind()]

    def check(self) -> Iterator[tuple[str, str, str]]:
        """What one without an end counts as is no better than the worst value, as far as that is stated."""
        if not isinstance(self.censored, CountsAs):
            return
        value = self.censored.value
        if self.better == "higher" and value:
            what = f"one without an end counts as {value}, so a failure is better than the worst value, 0"
            yield "censored", what, "let it count as 0, or be {kind: left_out}; the judge gives what is no failure"
        elif self.better == "lower" and value < (1 if self.most is None else self.most):
            least = "more than 0" if self.most is None else f"at least {self.most}"
            what = f"one without an end counts as {value}, so a failure is better than the worst value"
            yield "censored", what, f"let it count as {least}, or be {{kind: left_out}}"

    @property
    def end(self) -> int | None:
        """The largest value that it can have: none is worse than one without an end."""
        if self.most is None and self.better == "lower" and isinstance(self.censored, CountsAs):
            return self.censored.value
        return self.most


class Ratio(Part, kw_only=True):
    """The sum of the metric `of` over the sum of the metric `over`; one with a unit is summed inside each episode
    too. How many rows have 0 below is said beside each effect.

    If both count the same unit, only units that both have a value for are summed.
    """

    kind: Literal["ratio"]
    of: Word
    over: Word
    better: Literal["higher", "lower"]
    primary: bool = False


Metric: TypeAlias = Annotated[Binary | Counted | Score | Duration | Ratio, ByKind()]

# --- methods


class Tally(Part):
    """Counts, totals and means as they are, without an interval."""

    kind: Literal["tally"]


class Closed(Part):
    """An interval with a closed form or an exact law."""

    kind: Literal["wilson", "clopper_pearson", "tango", "newcombe_10", "paired_exact", "paired_bootstrap_exact"]
    level: Inside


class Resampled(Part):
    """A percentile bootstrap: of the arm's cells, or of pairs; clusters and strata are the effect's."""

    kind: Literal["bootstrap_percentile", "paired_bootstrap_percentile"]
    level: Inside
    resamples: Annotated[int, Whole(100, 10_000_000)]
    seed: Count


Method: TypeAlias = Annotated[Tally | Closed | Resampled, ByKind()]
Test: TypeAlias = Literal["mcnemar_exact", "mcnemar_midp", "sign_flip"]

# --- multiplicity


class Member(Part):
    """One comparison of a family: an effect on a metric."""

    effect: Word
    metric: Word


class NoCorrection(Part):
    """Every interval stands alone."""

    kind: Literal["none"]


class OneFamily(Part):
    """All members are corrected together; rules read `EFFECT.p_adjusted`."""

    kind: Literal["holm", "benjamini_hochberg"]
    test: Test
    members: Annotated[tuple[Member, ...], Limits(2)]


class Gatekeeping(Part):
    """Families in order: one is tested only if every member before it was rejected at `alpha`; Holm inside."""

    kind: Literal["gatekeeping"]
    test: Test
    alpha: Inside
    families: Annotated[tuple[Annotated[tuple[Member, ...], Limits(1)], ...], Limits(2)]


Multiplicity: TypeAlias = Annotated[NoCorrection | OneFamily | Gatekeeping, ByKind()]

# --- effects


Label = Annotated[str, TextForm(r"[ -~]{1,100}", "a level in ASCII")]  # a level as a key of a record, so in ASCII


class Strata(Part):
    """Strata by the levels of one factor, with fixed weights that add up to 1."""

    by: Word
    weights: Annotated[Mapping[Label, Inside], Limits(2)]


class Margin(Part):
    """How much worse (or different) is still as good; rules read it as `EFFECT.margin`."""

    kind: Literal["noninferiority", "equivalence"]
    value: Above
    why: Text


class _Effect(Part, kw_only=True):
    population: Word
    method: Word
    metric: Word | None = None
    cluster: Words | None = None
    strata: Strata | None = None
    margin: Margin | None = None


class Contrast(_Effect, kw_only=True):
    """Arm minus arm, over pairs joined on `join`."""

    contrast: Annotated[str, TextForm(r"[A-Za-z][\w-]* - [A-Za-z][\w-]*", "two arms as PLUS - MINUS")]
    join: Words


class PlusMinus(_Effect, kw_only=True):
    """Any cell minus any cell: each side fixes an arm, and readings or other factors, such as the family."""

    plus: Mapping[Word, OneLevel]
    minus: Mapping[Word, OneLevel]
    join: Words


class Single(_Effect, kw_only=True):
    """One cell alone, without a comparison."""

    of: Mapping[Word, OneLevel]


class Difference(Part, kw_only=True):
    """One effect minus another, on the same metric."""

    difference: Annotated[str, TextForm(r"[A-Za-z_]\w* - [A-Za-z_]\w*", "two effects as PLUS - MINUS")]
    method: Word
    metric: Word | None = None
    margin: Margin | None = None


Effect: TypeAlias = Annotated[
    Contrast | PlusMinus | Single | Difference,
    ByKey("an effect", {"contrast": Contrast, "plus": PlusMinus, "of": Single, "difference": Difference}),
]

# --- reported beside, and read by no rule


class ReportedTest(Part):
    """A test of each effect on each metric."""

    test: Test
    effects: Words
    metrics: Words


class ReportedEffects(Part):
    """Each effect on each metric; with `split`, again inside each level of these factors, or in each unit."""

    split: Words | None
    effects: Words
    metrics: Words


class ReportedArms(Part):
    """Each metric in each of `arms` alone; with `split`, again inside each level of these factors, or in each unit."""

    split: Words | None
    arms: Pick
    metrics: Words
    method: Word


Reported: TypeAlias = Annotated[
    ReportedTest | ReportedEffects | ReportedArms,
    ByKey("an entry", {"test": ReportedTest, "effects": ReportedEffects, "arms": ReportedArms}),
]
