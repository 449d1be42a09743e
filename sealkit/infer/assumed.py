"""What a reader of a plan supposes to be true, stated effect by effect, for the chance of each verdict.

    dc=b:0.25,c:0.10                     pairs: the plus side alone has the better value in 25 %, the minus side in 10 %
    dc=b:0.25,c:0.10,both:0.30           … and both have it in 30 %: needed where effects share an arm
    oracle=x:0.9                         one arm alone: the value is 1 in 90 % of its cells
    dc.avoidable_stale=mean:0.4,sd:1.2   any other metric: mean and standard deviation of a pair's difference (above 0
                                         is the predicted direction), or of one arm's values
    diag=b:0.3,c:0.1,units:2             … each cell shows 2 units of a metric that has units

An effect without a metric is meant on every metric that it is read on and that these words fit.

>>> statement = parse_assumption("dc.success=b:0.25,c:0.10")
>>> statement.effect, statement.metric, statement.values
('dc', 'success', {'b': Decimal('0.25'), 'c': Decimal('0.10')})
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias

from sealkit.plan.analysis import Difference, Ratio, Score
from sealkit.plan.fields import corrected, form_of, scale_of
from sealkit.plan.questions import Question, questions
from sealkit.plan.schema import Spec
from sealkit.wire.errors import UsageError

Pair: TypeAlias = tuple[str, str]  # effect, metric
MOST_UNITS: Final = 1000
_statement = re.compile(r"(\w+)(?:\.(\w+))?=(.+)").fullmatch
_value = re.compile(r"\s*(\w+)\s*:\s*(-?[0-9]{1,9}(?:\.[0-9]{1,12})?)\s*").fullmatch


@dataclass(frozen=True, slots=True)
class Statement:
    """One `--assume` as it was written: numbers by word."""

    effect: str
    metric: str | None
    values: Mapping[str, Decimal]
    text: str


@dataclass(frozen=True, slots=True)
class PairRates:
    """Of all pairs, the shares in which the plus side alone, the minus side alone, and both have the better value."""

    b: Decimal
    c: Decimal
    both: Decimal | None
    units: int

    def __str__(self) -> str:
        both = f", both {self.both}" if self.both is not None else ""
        return f"b {self.b}, c {self.c}{both}" + _units(self.units)


@dataclass(frozen=True, slots=True)
class Rate:
    """The share of an arm's cells with the value 1."""

    x: Decimal
    units: int

    def __str__(self) -> str:
        return f"x {self.x}" + _units(self.units)


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation: of the oriented difference of a pair, or of one arm's values."""

    mean: Decimal
    sd: Decimal
    units: int

    def __str__(self) -> str:
        return f"mean {self.mean}, sd {self.sd}" + _units(self.units)


Assumption: TypeAlias = PairRates | Rate | Spread


def _units(units: int) -> str:
    return f", {units} units a cell" if units > 1 else ""


def parse_assumption(text: str) -> Statement:
    """The statement that `text` makes; `UsageError` if it is none."""
    match = _statement(text.strip())
    parts = [_value(part) for part in match[3].split(",")] if match else []
    if match is None or not all(parts):
        raise _unfit(text, "found no statement such as dc=b:0.25,c:0.10", "see `sealkit power --help`")
    values: dict[str, Decimal] = {}
    for part in parts:
        assert part is not None
        if part[1] in values:
            raise _unfit(text, f"{part[1]} is said twice", "say it once")
        values[part[1]] = Decimal(part[2])
    return Statement(effect=match[1], metric=match[2], values=values, text=text.strip())


# --- what a question needs -----------------------------------------------------------------------


def needed(spec: Spec, question: Question) -> tuple[Pair, ...]:
    """Every (effect, metric) that a question's rules rest on: parts of differences, and a whole corrected family."""
    pairs = list(question.metrics.items())
    if any(name.endswith(".p_adjusted") for name in question.fields):
        pairs += corrected(spec)
    return tuple(dict.fromkeys(part for pair in pairs for part in _parts(spec, pair)))


def _parts(spec: Spec, pair: Pair) -> Iterator[Pair]:
    effect = spec.effects[pair[0]]
    if isinstance(effect, Difference):
        for name in effect.difference.split(" - "):
            yield from _parts(spec, (name, pair[1]))
    else:
        yield pair


def all_needed(spec: Spec) -> tuple[Pair, ...]:
    """What all questions of a plan need."""
    asked = (question for name in spec.hypotheses for question in questions(spec, name))
    return tuple(dict.fromkeys(pair for question in asked for pair in needed(spec, question)))


def words_due(spec: Spec, pair: Pair) -> tuple[str, ...]:
    """The words that say what is supposed of this effect on this metric; none if nothing can be."""
    metric = spec.metrics[pair[1]]
    if isinstance(metric, Ratio):
        return ()
    form, scale = form_of(spec.effects[pair[0]]), scale_of(metric)
    words = ("mean", "sd") if scale != "binary" else ("b", "c") if form == "paired" else ("x",)
    return words if metric.unit is None else (*words, "units")


# --- statements against the plan -----------------------------------------------------------------


def assumptions(spec: Spec, statements: Iterable[Statement]) -> dict[Pair, Assumption]:
    """What is supposed of each (effect, metric); `UsageError` naming the statement that does not fit the plan."""
    known, found = all_needed(spec), dict[Pair, Assumption]()
    for statement in statements:
        for pair in _meant(spec, known, statement):
            if pair in found:
                raise _unfit(statement.text, f"{pair[0]} on {pair[1]} is supposed twice", "say it once")
            found[pair] = _assumption(spec, pair, statement)
    return found


def _meant(spec: Spec, known: Iterable[Pair], statement: Statement) -> list[Pair]:
    pairs = [pair for pair in known if pair[0] == statement.effect and statement.metric in (None, pair[1])]
    if not pairs:
        names = ", ".join(f"{effect}.{metric}" for effect, metric in known)
        what = f"no rule of the plan reads {statement.effect}" + (f" on {statement.metric}" if statement.metric else "")
        raise _unfit(statement.text, what, f"rules read {names}")
    fitting = [pair for pair in pairs if _fits(words_due(spec, pair), statement.values)]
    if not fitting:
        takes = (" and ".join(words_due(spec, pair)) or "nothing: it is a ratio" for pair in pairs)
        due = "; ".join(f"{pair[0]}.{pair[1]} takes {words}" for pair, words in zip(pairs, takes, strict=True))
        raise _unfit(statement.text, f"found {', '.join(statement.values)}", due)
    return fitting


def _fits(due: tuple[str, ...], values: Mapping[str, Decimal]) -> bool:
    optional = {"both"} if "b" in due else set[str]()
    return bool(due) and set(due) <= values.keys() <= set(due) | optional


def _assumption(spec: Spec, pair: Pair, statement: Statement) -> Assumption:
    values, text = statement.values, statement.text
    units = values.get("units", Decimal(1))
    if units != int(units) or not 1 <= units <= MOST_UNITS:
        raise _unfit(text, f"found {units} units a cell", f"a whole number from 1 to {MOST_UNITS}")
    if "sd" in values:
        if values["sd"] < 0:
            raise _unfit(text, f"found a standard deviation of {values['sd']}", "0 or more")
        metric = spec.metrics[pair[1]]
        low, high = metric.range if isinstance(metric, Score) else (Decimal(0), Decimal("Infinity"))
        if form_of(spec.effects[pair[0]]) == "single" and not low <= values["mean"] <= high:
            raise _unfit(text, f"found a mean of {values['mean']}", f"values of {pair[1]} lie between {low} and {high}")
        return Spread(mean=values["mean"], sd=values["sd"], units=int(units))
    shares = {word: values[word] for word in ("b", "c", "both", "x") if word in values}
    if min(shares.values()) < 0 or sum(shares.values()) > 1:
        listed = ", ".join(map(str, shares.values()))
        raise _unfit(text, f"found shares of {listed}", "0 or more each, at most 1 together")
    if "x" in values:
        return Rate(x=values["x"], units=int(units))
    return PairRates(b=values["b"], c=values["c"], both=values.get("both"), units=int(units))


def _unfit(text: str, what: str, remedy: str) -> UsageError:
    return UsageError(what, where=f"--assume {text[:200]!a}", remedy=remedy)
