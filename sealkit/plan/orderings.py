"""How fields of effects can stand to each other and to constants, one set of numbers for each case.

>>> one, zero = Fraction(1), [Fraction(0)]
>>> side = {"a.lower": Domain(-one, one), "a.upper": Domain(-one, one)}
>>> [[str(case[name]) for name in side] for case in combined(places(side, zero))]
[['-3/4', '-1/4'], ['-3/4', '0'], ['-3/4', '3/4'], ['0', '0'], ['0', '3/4'], ['1/4', '3/4']]
>>> [[str(case[name]) for name in side] for case in weak_orderings(side, zero)][:3]
[['-1/2', '-1/2'], ['-2/3', '-1/3'], ['-1/2', '0']]

`places` puts every field on a constant or between two of them: that is all that rules can tell apart which compare
fields with constants only. `weak_orderings` also orders the fields among each other. `grid` spreads numbers out, for
rules that compute. What comes out is only what can be: lower ≤ estimate ≤ upper, x ≤ n, b + c ≤ n, whole
numbers where fields are whole, and nothing outside a field's domain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from typing import Final, TypeAlias

import msgspec

Case: TypeAlias = dict[str, Fraction]
Choices: TypeAlias = dict[str, list[Fraction]]
MOST_GRID_POINTS: Final = 15


class Domain(msgspec.Struct, frozen=True):
    """The values that a field can have: low … high, whole numbers only if `whole`."""

    low: Fraction
    high: Fraction
    whole: bool = False

    def holds(self, value: Fraction) -> bool:
        """Whether a field of this domain can be `value`."""
        return self.low <= value <= self.high and (not self.whole or value.denominator == 1)


# --- fields against constants


def places(domains: Mapping[str, Domain], constants: Sequence[Fraction]) -> Choices:
    """For each field, a value on each of `constants` and in each gap between them."""
    marks = sorted(set(constants))
    return {name: _places(domain, marks, _LEAN.get(name.partition(".")[2], 1)) for name, domain in domains.items()}


# Where in a gap a field goes (0 low, 1 middle, 2 high), so that what must be smaller can be so within one gap.
_LEAN: Final = {"lower": 0, "x": 0, "b": 0, "c": 0, "n": 2, "upper": 2}


def _places(domain: Domain, marks: Sequence[Fraction], lean: int) -> list[Fraction]:
    inside = {mark for mark in marks if domain.holds(mark)}
    gaps = (_between(low, high, domain, lean) for low, high in pairwise(_with_ends(domain, marks)))
    return sorted(inside | {value for value in gaps if value is not None})


def _with_ends(domain: Domain, marks: Sequence[Fraction]) -> list[Fraction]:
    """`marks` with one more on either side, beyond the domain, so that its ends lie in a gap or on a mark."""
    return [min([domain.low, *marks]) - 1, *marks, max([domain.high, *marks]) + 1]


def _between(low: Fraction, high: Fraction, domain: Domain, lean: int) -> Fraction | None:
    """A value of `domain` strictly between `low` and `high`, or null if there is none."""
    if domain.whole:
        first = max(math.floor(low) + 1, math.ceil(domain.low))
        last = min(math.ceil(high) - 1, math.floor(domain.high))
        return Fraction(first + (last - first) * lean // 2) if first <= last else None
    first_real, last_real = max(low, domain.low), min(high, domain.high)
    if first_real < last_real:
        return first_real + (last_real - first_real) * (lean + 1) / 4
    return first_real if low < first_real == last_real < high else None


# --- fields against each other


def weak_orderings(domains: Mapping[str, Domain], constants: Sequence[Fraction]) -> Iterator[Case]:
    """Every way to order fields and `constants`, ties included, that the domains allow."""
    ladder: list[_Rung] = [(mark, ()) for mark in sorted(set(constants))]
    for rungs in _insert(ladder, list(domains)):
        case = _numbers(rungs, domains)
        if case is not None and is_possible(case):
            yield {name: case[name] for name in domains}


_Rung: TypeAlias = tuple[Fraction | None, tuple[str, ...]]  # a constant or none, and the fields that stand there
_ORDERED: Final = (("lower", "estimate"), ("estimate", "upper"), ("lower", "upper"), ("x", "n"), ("b", "n"), ("c", "n"))


def _insert(rungs: Sequence[_Rung], names: Sequence[str]) -> Iterator[Sequence[_Rung]]:
    if not names:
        yield rungs
        return
    name, rest = names[0], names[1:]
    for index in range(len(rungs) + 1):
        if _fits(rungs, name, index, index - 1):
            yield from _insert([*rungs[:index], (None, (name,)), *rungs[index:]], rest)
        if index < len(rungs) and _fits(rungs, name, index, index):
            mark, there = rungs[index]
            yield from _insert([*rungs[:index], (mark, (*there, name)), *rungs[index + 1 :]], rest)


def _fits(rungs: Sequence[_Rung], name: str, above: int, below: int) -> bool:
    """Whether `name` may stand below all rungs from `above` on (or on the first) and above all up to `below`."""
    effect, _, field = name.partition(".")
    for smaller, larger in _ORDERED:
        if field == smaller and any(f"{effect}.{larger}" in there for _, there in rungs[:above]):
            return False
        if field == larger and any(f"{effect}.{smaller}" in there for _, there in rungs[below + 1 :]):
            return False
    return True


def _numbers(rungs: Sequence[_Rung], domains: Mapping[str, Domain]) -> Case | None:
    """Values that keep the order of `rungs`, or null if the domains leave no room for it."""
    case: Case = {}
    free: list[tuple[str, ...]] = []
    below: Fraction | None = None
    for mark, names in [*rungs, (None, ())]:
        if mark is None and names:
            free.append(names)
            continue
        values = _spread(free, below, mark, domains)
        if values is None or (mark is not None and not all(domains[name].holds(mark) for name in names)):
            return None
        case.update({name: value for group, value in zip(free, values, strict=True) for name in group})
        if mark is not None:
            case.update(dict.fromkeys(names, mark))
        free, below = [], mark
    return case


def _spread(
    groups: Sequence[tuple[str, ...]], low: Fraction | None, high: Fraction | None, domains: Mapping[str, Domain]
) -> list[Fraction] | None:
    """Rising values strictly between `low` and `high`, one for each of `groups`, inside the domains of its fields."""
    if not groups:
        return []
    met = [_meet([domains[name] for name in names]) for names in groups]
    lowest = _climb(met, low, high)
    if lowest is None:
        return None
    if any(domain.whole for domain in met):
        # Parts low and n high, so that parts of n add up to no more than n where there is room for it.
        highest = _descend(met, low, high)
        at = next((index for index, names in enumerate(groups) if any(n.endswith(".n") for n in names)), len(groups))
        return lowest[:at] + highest[at:]
    start = min(each.low for each in met) if low is None else max(low, min(each.low for each in met))
    stop = max(each.high for each in met) if high is None else min(high, max(each.high for each in met))
    even = [start + (stop - start) * (index + 1) / (len(met) + 1) for index in range(len(met))]
    fits = start < stop and all(domain.holds(value) for domain, value in zip(met, even, strict=True))
    return even if fits else lowest


_STEP: Final = Fraction(1, 1000)


def _climb(met: Sequence[Domain], low: Fraction | None, high: Fraction | None) -> list[Fraction] | None:
    """The lowest rising values inside `met`, or null; a real one keeps a small step from the one before."""
    values: list[Fraction] = []
    for domain in met:
        last = values[-1] if values else low
        value = domain.low if last is None else max(domain.low, last + _STEP)
        value = Fraction(math.ceil(value)) if domain.whole else value
        if value > domain.high or (high is not None and value >= high):
            return None
        values.append(value)
    return values


def _descend(met: Sequence[Domain], low: Fraction | None, high: Fraction | None) -> list[Fraction]:
    """The highest rising values inside `met`, where there are any."""
    mirrored = [Domain(-domain.high, -domain.low, domain.whole) for domain in reversed(met)]
    values = _climb(mirrored, None if high is None else -high, None if low is None else -low)
    return [-value for value in reversed(values or ())]


def _meet(domains: Sequence[Domain]) -> Domain:
    return Domain(max(d.low for d in domains), min(d.high for d in domains), any(d.whole for d in domains))


# --- rules that compute


def grid(domains: Mapping[str, Domain], constants: Sequence[Fraction]) -> Choices:
    """For each field, the constants, their halves, doubles, sums and differences, and numbers between."""
    base = {Fraction(0), *constants, *(-constant for constant in constants)}
    near = {value * factor for value in base for factor in (Fraction(1, 2), Fraction(2))}
    sums = {one + other for one, other in combinations_with_replacement(sorted(base), 2)}
    return {name: _grid_points(domain, base, near | sums) for name, domain in domains.items()}


def _grid_points(domain: Domain, base: set[Fraction], more: set[Fraction]) -> list[Fraction]:
    points = {value for value in base | {domain.low, domain.high} if domain.holds(value)}
    for value in sorted(more - points, key=lambda value: (abs(value), value)):
        if len(points) < MOST_GRID_POINTS * 2 // 3 and domain.holds(value):
            points.add(value)
    while len(points) < MOST_GRID_POINTS:
        ordered = sorted(points)
        low, high = max(pairwise(ordered), key=lambda pair: pair[1] - pair[0], default=(ordered[0], ordered[0]))
        middle = (low + high) / 2
        value = Fraction(math.floor(middle)) if domain.whole else middle
        if value in points:
            break
        points.add(value)
    return sorted(points)


# --- what can be at all


def combined(choices: Choices) -> Iterator[Case]:
    """Every combination of one value for each field that can be."""
    for values in product(*choices.values()):
        case = dict(zip(choices, values, strict=True))
        if is_possible(case):
            yield case


def is_possible(case: Mapping[str, Fraction]) -> bool:
    """Whether counts, estimate and limits of each effect agree with each other, as far as they are given."""
    effects = {name.partition(".")[0] for name in case}
    return all(_agree({field: case.get(f"{effect}.{field}") for field in _AGREEING}) for effect in effects)


_AGREEING: Final = ("n", "x", "b", "c", "estimate", "lower", "upper")


def _agree(value: Mapping[str, Fraction | None]) -> bool:
    n, x, b, c, estimate = value["n"], value["x"], value["b"], value["c"], value["estimate"]
    limits = [v for v in (value["lower"], estimate, value["upper"]) if v is not None]
    if limits != sorted(limits):
        return False
    if n is not None and any(part is not None and part > n for part in (x, b, c)):
        return False
    if b is not None and c is not None:
        if n is not None and b + c > n:
            return False
        if estimate is not None and ((b > c) != (estimate > 0) or (b < c) != (estimate < 0)):
            return False
    if x is not None and estimate is not None:
        return (x == 0) == (estimate == 0) and (n is None or (x == n) == (estimate == 1))
    return True
