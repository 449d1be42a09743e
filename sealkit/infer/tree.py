"""Binary outcomes that hang together in pairs: drawn along a tree, so that every pair has the rates supposed of it.

    edge (plus, minus) of an effect: plus alone has the better value with chance b, minus alone with c, both with `both`

Effects that share outcomes join their pairs to larger trees: D - C and C - A share C. Given the shared outcome the two
others are independent. The rate of one outcome in a tree fixes all others: a plus side has the rate b + both, a minus
side c + both. A tree of a single pair needs no rate: only whether the two differ is read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sealkit.infer.assumed import Pair, PairRates
from sealkit.infer.columns import Numbers
from sealkit.wire.errors import UsageError

Edge: TypeAlias = tuple[int, int, Pair]  # plus outcome, minus outcome, effect on metric
Edges: TypeAlias = Mapping[Pair, tuple[Numbers, Numbers, PairRates]]


@dataclass(frozen=True, slots=True)
class _Step:
    """Outcomes drawn given others: the chance to be good where the parent is good, and where it is not."""

    parent: Numbers
    child: Numbers
    given_good: NDArray[np.float64]
    given_bad: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tree:
    """A forest over `count` outcomes, ready to be drawn from."""

    count: int
    roots: Numbers
    rates: NDArray[np.float64]
    steps: tuple[_Step, ...]

    def draw(self, rng: np.random.Generator, times: int) -> NDArray[np.bool_]:
        """Whether each outcome is the better one, a column a draw."""
        good = np.zeros((self.count, times), dtype=np.bool_)
        good[self.roots] = rng.random((len(self.roots), times)) < self.rates[:, None]
        for step in self.steps:
            chance = np.where(good[step.parent], step.given_good[:, None], step.given_bad[:, None])
            good[step.child] = rng.random(chance.shape) < chance
        return good


def grow(count: int, edges: Edges, rates: Mapping[Pair, tuple[Numbers, Fraction]]) -> Tree:
    """The forest of these pairs and of outcomes with a supposed rate; `UsageError` if they do not go together."""
    near: list[list[Edge]] = [[] for _ in range(count)]
    for pair, (plus, minus, _) in edges.items():
        for one, other in zip(plus.tolist(), minus.tolist(), strict=True):
            near[one].append((one, other, pair))
            near[other].append((one, other, pair))
    supposed: dict[int, tuple[Fraction, Pair]] = {}
    for pair, (outcomes, rate) in rates.items():
        for outcome in outcomes.tolist():
            _agree(supposed, outcome, rate, pair)
    growing = _Growing(near, {pair: shares for pair, (_, _, shares) in edges.items()}, supposed)
    for outcome in range(count):
        growing.take(outcome)
    return growing.tree(count)


class _Growing:
    """Trees found so far: roots with their rates, and steps by depth."""

    def __init__(
        self, near: list[list[Edge]], shares: Mapping[Pair, PairRates], supposed: dict[int, tuple[Fraction, Pair]]
    ) -> None:
        self._near, self._shares, self._supposed = near, shares, supposed
        self._seen: set[int] = set()
        self._roots: list[tuple[int, float]] = []
        self._steps: dict[int, list[tuple[int, int, float, float]]] = {}

    def take(self, start: int) -> None:
        """Grow the tree that this outcome belongs to, unless it was."""
        if start in self._seen:
            return
        members, pairs = self._tree_of(start)
        if not pairs and start not in self._supposed:
            return  # nothing is supposed of it
        root, rate = self._root(members, pairs)
        self._roots.append((root, float(rate)))
        known = {root: rate}
        queue = deque([(root, 0)])
        while queue:
            parent, depth = queue.popleft()
            for edge in self._near[parent]:
                child = edge[1] if edge[0] == parent else edge[0]
                if child not in known:
                    known[child] = self._step(edge, parent, child, known[parent], depth)
                    queue.append((child, depth + 1))
        for outcome, rate in known.items():
            if outcome in self._supposed:
                _agree(self._supposed, outcome, rate, pairs[0] if pairs else self._supposed[outcome][1])

    def _tree_of(self, start: int) -> tuple[list[int], list[Pair]]:
        """The outcomes of a tree, and the effect of each of its edges; `UsageError` if it is none."""
        members, pairs = list[int](), list[Pair]()
        waiting: list[tuple[int, Edge | None]] = [(start, None)]
        while waiting:
            outcome, came_by = waiting.pop()
            if outcome in self._seen:
                raise _cycle({edge[2] for edge in self._near[outcome]})
            self._seen.add(outcome)
            members.append(outcome)
            for edge in self._near[outcome]:
                if edge != came_by:
                    pairs.append(edge[2])
                    waiting.append((edge[1] if edge[0] == outcome else edge[0], edge))
        return members, pairs

    def _root(self, members: list[int], pairs: list[Pair]) -> tuple[int, Fraction]:
        for outcome in members:
            if outcome in self._supposed:
                return outcome, self._supposed[outcome][0]
            for plus, _, pair in self._near[outcome]:
                shares = self._shares[pair]
                if shares.both is not None:
                    side = shares.b if outcome == plus else shares.c
                    return outcome, Fraction(side) + Fraction(shares.both)
        if len(pairs) > 1:
            names = " and ".join(sorted({f"{effect}.{metric}" for effect, metric in pairs}))
            raise UsageError(
                f"{names} share an arm, so how often it has the better value matters",
                where="--assume",
                remedy="say for one of them in how many pairs both sides have it, such as both:0.3",
            )
        return self._near[members[0]][0][0], Fraction(self._shares[pairs[0]].b)  # only differences are read

    def _step(self, edge: Edge, parent: int, child: int, rate: Fraction, depth: int) -> Fraction:
        """Note how the child is drawn given the parent; the child's rate."""
        shares = self._shares[edge[2]]
        own, other = (shares.b, shares.c) if edge[0] == parent else (shares.c, shares.b)
        alone, child_alone = Fraction(own), Fraction(other)
        both = rate - alone
        neither = 1 - both - alone - child_alone
        stated = both if shares.both is None else Fraction(shares.both)
        if both < 0 or neither < 0 or stated != both:
            effect, metric = edge[2]
            said = f", not {float(stated):.4g}" if stated != both else ""
            raise UsageError(
                f"a shared arm has the better value in {float(rate):.4g} of its cells, so in {effect}.{metric} both "
                f"sides would have it in {float(both):.4g}{said} and neither in {float(neither):.4g} of the pairs",
                where="--assume",
                remedy="these statements cannot hold together",
            )
        bad = 1 - rate
        chances = float(both / rate) if rate else 0.0, float(child_alone / bad) if bad else 0.0
        self._steps.setdefault(depth, []).append((parent, child, *chances))
        return both + child_alone

    def tree(self, count: int) -> Tree:
        """Everything that was grown."""
        return Tree(
            count=count,
            roots=np.array([root for root, _ in self._roots], dtype=np.int64),
            rates=np.array([rate for _, rate in self._roots], dtype=np.float64),
            steps=tuple(_step_of(found) for _, found in sorted(self._steps.items())),
        )


def _step_of(found: list[tuple[int, int, float, float]]) -> _Step:
    columns: Iterator[Any] = zip(*found, strict=True)
    parent, child, given_good, given_bad = (np.array(column) for column in columns)
    return _Step(parent, child, given_good, given_bad)


def _agree(supposed: dict[int, tuple[Fraction, Pair]], outcome: int, rate: Fraction, pair: Pair) -> None:
    before = supposed.setdefault(outcome, (rate, pair))
    if before[0] != rate:
        (effect, metric), (other, other_metric) = before[1], pair
        raise UsageError(
            f"{effect}.{metric} and {other}.{other_metric} rest on the same episodes, with rates of "
            f"{float(before[0]):.4g} and {float(rate):.4g} of the better value",
            where="--assume",
            remedy="these statements cannot hold together",
        )


def _cycle(pairs: set[Pair]) -> UsageError:
    names = " and ".join(sorted(f"{effect}.{metric}" for effect, metric in pairs))
    return UsageError(
        f"{names} rest on the same pairs of arms, so one follows from the others",
        where="--assume",
        remedy="this cannot be computed from statements about each alone",
    )
