"""The truth table of a hypothesis: which verdicts its rules can reach, found before any outcome exists.

Every way in which the fields and constants of the rules can stand to each other is tried once, with numbers that
show it, and the rules are read from top to bottom. A verdict that no case reaches, and a case in which a rule fails,
are mistakes of the plan. The reader of a plan sees how many cases lead to each verdict, and one of each.

A case counts as another only where the rules can tell: fields that are compared with constants alone are put on or
between these; fields that are compared with each other are ordered among each other too, ties included. Fields that
no rule brings together are varied independently, and all combinations are tried, up to 100,000.

Limits. Where a rule computes (`2 * a.estimate < b.estimate`) a grid of numbers stands for all: a verdict that only
numbers off the grid reach is refused, though it could be reached. The counts of an effect are varied independently of
its estimate and limits unless a rule compares them, so a verdict that only their arithmetic forbids may pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Final, TypeAlias

import msgspec

from sealkit.plan.domains import domain_of, margin_of
from sealkit.plan.fields import WHOLE
from sealkit.plan.orderings import Case, combined, grid, places, weak_orderings
from sealkit.plan.questions import Question
from sealkit.plan.schema import Spec
from sealkit.wire.errors import MalformedError
from sealkit.wire.rules import Rule

MOST_CASES: Final = 100_000
# How many weak orderings so many things have (OEIS A000670); of eight there are 545,835.
WEAK_ORDERINGS: Final = (1, 1, 3, 13, 75, 541, 4683, 47293)
MOST_COMPARED: Final = len(WEAK_ORDERINGS) - 1
Shown: TypeAlias = tuple[tuple[str, str], ...]


class Row(msgspec.Struct, frozen=True):
    """A verdict, the number of cases that lead to it, and the fields' values in one of them."""

    verdict: str
    cases: int
    example: Shown


class Failure(msgspec.Struct, frozen=True):
    """A rule that gives no yes or no in a case."""

    verdict: str
    message: str
    example: Shown


class TruthTable(msgspec.Struct, frozen=True):
    """Every verdict of a question with the cases that reach it; a sound plan has no row without and no failure.

    `tried` counts the combinations that were looked at, those that cannot be included.
    """

    hypothesis: str
    metric: str | None
    cases: int
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...]
    tried: int


class TooMany(msgspec.Struct, frozen=True):
    """The rules tell more cases apart than are tried."""

    fields: tuple[str, ...]


def truth_table(spec: Spec, question: Question, *, within_cap: bool = False) -> TruthTable | TooMany:
    """The truth table of a question whose names are all declared.

    `within_cap`: of the cases that are left if no arm loses more of its slots than the plan's exclusion cap.
    """
    margins: Case = {name: margin_of(spec, name) for name in question.fields if name.endswith(".margin")}
    bundles = _bundles([rule for _, rule in question.rules], margins)
    listed: list[list[Case]] = []
    tried = 0
    for bundle in bundles:
        choices = _choices(spec, question, bundle, within_cap=within_cap)
        count = MOST_CASES + 1 if choices is None else choices.count
        if choices is None or count > MOST_CASES or prod(map(len, listed)) > MOST_CASES:
            return TooMany(tuple(name for each in bundles for name in each.names))
        listed.append(list(choices.cases))
        tried += count
    if prod(map(len, listed)) > MOST_CASES:
        return TooMany(tuple(name for each in bundles for name in each.names))
    return _tabulate(question, margins, listed, tried)


class _Choices(msgspec.Struct, frozen=True):
    """The cases of one bundle, not made yet, and how many combinations are looked at to find them."""

    count: int
    cases: Iterable[Case]


def _choices(spec: Spec, question: Question, bundle: _Bundle, *, within_cap: bool) -> _Choices | None:
    """What can be tried for `bundle`; null if its fields and constants have too many orders."""
    reach = max([Fraction(1), *(abs(constant) for constant in bundle.constants)]) * 4 + len(bundle.names)
    metrics = {name: question.metrics[name.partition(".")[0]] for name in bundle.names}
    domains = {
        name: domain_of(spec, name, metric, reach=reach, within_cap=within_cap) for name, metric in metrics.items()
    }
    if bundle.compares and not bundle.computes:
        things = len(bundle.names) + len(bundle.constants)
        if things > MOST_COMPARED:
            return None
        return _Choices(WEAK_ORDERINGS[things], weak_orderings(domains, bundle.constants))
    choices = places(domains, bundle.constants)
    if bundle.computes:
        choices |= grid({name: domains[name] for name in sorted(bundle.mixed)}, bundle.constants)
    return _Choices(prod(map(len, choices.values())), combined(choices))


def _tabulate(question: Question, margins: Case, listed: Sequence[Sequence[Case]], tried: int) -> TruthTable:
    counts = dict.fromkeys(question.verdicts, 0)
    examples: dict[str, Shown] = {}
    failures: dict[str, Failure] = {}
    rules = [(verdict, _remembering(rule, margins, listed)) for verdict, rule in question.rules]
    for chosen in product(*(range(len(cases)) for cases in listed)):
        verdict = question.otherwise
        for verdict_if, holds in rules:
            outcome = holds(chosen)
            if isinstance(outcome, str):
                failures.setdefault(verdict_if, Failure(verdict_if, outcome, _shown(_whole(margins, listed, chosen))))
            elif outcome:
                verdict = verdict_if
                break
        counts[verdict] += 1
        if verdict not in examples:
            examples[verdict] = _shown(_whole(margins, listed, chosen))
    rows = tuple(Row(verdict, counts[verdict], examples.get(verdict, ())) for verdict in question.verdicts)
    cases = sum(counts.values())
    return TruthTable(question.hypothesis, question.metric, cases, rows, tuple(failures.values()), tried + cases)


def _whole(margins: Case, listed: Sequence[Sequence[Case]], chosen: tuple[int, ...]) -> Case:
    """All fields, where `chosen` says which case each bundle is in."""
    whole = dict(margins)
    for cases, index in zip(listed, chosen, strict=True):
        whole.update(cases[index])
    return whole


def _remembering(
    rule: Rule, margins: Case, listed: Sequence[Sequence[Case]]
) -> Callable[[tuple[int, ...]], bool | str]:
    """`rule` as yes, no, or what is wrong, evaluated once for each choice in the bundles that it reads."""
    touched = [at for at, cases in enumerate(listed) if cases and set(rule.names) & set(cases[0])]
    known: dict[tuple[int, ...], bool | str] = {}

    def holds(chosen: tuple[int, ...]) -> bool | str:
        key = tuple([chosen[at] for at in touched])
        if key not in known:
            known[key] = _outcome(rule, _whole(margins, listed, chosen))
        return known[key]

    return holds


def _outcome(rule: Rule, case: Case) -> bool | str:
    try:
        value = rule.evaluate(case)
    except MalformedError as error:
        return str(error)
    return value if isinstance(value, bool) else f"rule {rule.text!r} gives a value, not yes or no"


def _shown(case: Case) -> Shown:
    return tuple((name, spelled(value)) for name, value in sorted(case.items()))


def spelled(value: Fraction) -> str:
    """`value` as a decimal of at most six places if it is one, else as a fraction."""
    scaled = value * 10**6
    if scaled.denominator != 1:
        return str(value)
    text = f"{float(value):.6f}".rstrip("0").rstrip(".")
    return text


# --- which fields the rules bring together


class _Bundle(msgspec.Struct):
    """Fields that stand together: they bound each other, or a rule compares them. `constants` are those they meet.

    `mixed` are the fields that a rule compares with each other or computes with.
    """

    names: list[str]
    constants: list[Fraction] = msgspec.field(default_factory=list)
    mixed: set[str] = msgspec.field(default_factory=set)
    computes: bool = False

    @property
    def compares(self) -> bool:
        """Whether a rule compares fields with each other."""
        return bool(self.mixed)


class _Piece(msgspec.Struct, frozen=True):
    """What stands between two `&&` or `||` of a rule: at most one comparison, unless parentheses nest more."""

    names: tuple[str, ...]
    constants: tuple[Fraction, ...]
    computes: bool


def _bundles(rules: Iterable[Rule], margins: Mapping[str, Fraction]) -> list[_Bundle]:
    pieces = [piece for rule in rules for piece in _pieces(rule.text, margins)]
    bundles: list[_Bundle] = []
    for name in sorted({name for piece in pieces for name in piece.names}):
        bundles.append(_Bundle([name]))
    for bundle in list(bundles):
        _join(bundles, [n for each in bundles for n in each.names if _bound(n) == _bound(bundle.names[0])])
    for piece in pieces:
        if not piece.names:
            continue
        joined = _join(bundles, piece.names)
        joined.constants = sorted({*joined.constants, *piece.constants})
        if len(piece.names) > 1 or piece.computes:
            joined.mixed |= set(piece.names)
        joined.computes |= piece.computes
    return bundles


def _bound(name: str) -> tuple[str, str]:
    """Fields for which this is equal bound each other: counts by n, an estimate by its limits."""
    effect, _, field_name = name.partition(".")
    kind = "counts" if field_name in WHOLE else "limits" if field_name in ("lower", "estimate", "upper") else field_name
    return effect, kind


def _join(bundles: list[_Bundle], names: Iterable[str]) -> _Bundle:
    """The bundle that holds all of `names`, made of those that held some."""
    wanted = set(names)
    touched = [bundle for bundle in bundles if wanted & set(bundle.names)]
    first = touched[0]
    for other in touched[1:]:
        bundles.remove(other)
        first.names = sorted([*first.names, *other.names])
        first.constants = sorted({*first.constants, *other.constants})
        first.mixed |= other.mixed
        first.computes |= other.computes
    return first


_token = re.compile(r"[A-Za-z_]\w*(?:\.\w+)?|\d+(?:\.\d+)?|[<>=!]=|&&|\|\||\S")


def _pieces(text: str, margins: Mapping[str, Fraction]) -> Iterator[_Piece]:
    # A choice may stand inside a sum, so a rule with one is not taken apart.
    parts = [text] if "?" in text else re.split(r"&&|\|\|", text)
    for part in parts:
        yield _piece(_token.findall(part), margins)


def _piece(tokens: Sequence[str], margins: Mapping[str, Fraction]) -> _Piece:
    names: list[str] = []
    constants: list[Fraction] = []
    computes = False
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else "("
        negative = before == "-" and (index < 2 or not _ends_value(tokens[index - 2]))
        if token in ("+", "*", "/") or (token == "-" and _ends_value(before)):
            computes = True
        elif token[0].isdigit() or token in margins:
            value = margins[token] if token in margins else Fraction(token)
            constants.append(-value if negative else value)
        elif "." in token and token not in names:
            names.append(token)
            computes |= negative
        elif token == "(" and negative:
            computes = True
    return _Piece(tuple(names), tuple(constants), computes)


def _ends_value(token: str) -> bool:
    return token == ")" or token[0].isalnum() or token[0] == "_"
