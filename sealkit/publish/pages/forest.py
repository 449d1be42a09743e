"""A forest plot as SVG: estimates with their intervals on one axis, readable without colour and without a script.

Every coordinate comes from the numbers of the record; text is escaped by the caller's template engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

MOST = Decimal(10) ** 18
WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 720, 42, 20, 20, 6, 30


@dataclass(frozen=True, slots=True)
class Line:
    """One estimate with its interval, and what is printed beside it."""

    label: str
    detail: str
    estimate: Decimal
    lower: Decimal | None
    upper: Decimal | None


@dataclass(frozen=True, slots=True)
class Mark:
    """A line of the plot in coordinates: y, the estimate's x, both ends of the interval."""

    label: str
    detail: str
    y: str
    x: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Forest:
    """A plot ready for a template: its size, ticks (x, text), the line of no effect, and its marks."""

    height: int
    ticks: tuple[tuple[str, str], ...]
    zero: str | None
    marks: tuple[Mark, ...]


def forest(lines: Sequence[Line], *, reference: Decimal | None, ends: Sequence[Decimal] = ()) -> Forest:
    """The plot of `lines`; `reference` is where no effect lies, `ends` what the axis holds anyway."""
    values = [value for line in lines for value in (line.estimate, line.lower, line.upper) if value is not None]
    if not all(value.is_finite() and abs(value) < MOST for value in values):
        raise ValueError("a number that no metric has")
    values += [*ends, *([reference] if reference is not None else [])]
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    step = _step(high - low)
    # Not `//`, which cuts decimals towards 0 and would leave limits below 0 outside the plot.
    low = (low / step).to_integral_value(ROUND_FLOOR) * step
    high = (high / step).to_integral_value(ROUND_CEILING) * step

    def x(value: Decimal) -> str:
        share = (value - low) / (high - low)
        return f"{LEFT + share * (WIDTH - LEFT - RIGHT):.1f}"

    ticks = []
    for place in range(int((high - low) / step) + 1):
        tick = low + place * step
        ticks.append((x(tick), f"{tick.normalize():f}".replace("-", "−") if tick else "0"))
    marks = tuple(
        Mark(
            label=line.label, detail=line.detail, y=f"{TOP + ROW * (place + 0.7):.1f}", x=x(line.estimate),
            low=x(line.lower if line.lower is not None else line.estimate),
            high=x(line.upper if line.upper is not None else line.estimate),
        )
        for place, line in enumerate(lines)
    )  # fmt: skip
    zero = x(reference) if reference is not None else None
    return Forest(height=TOP + ROW * len(lines) + BOTTOM, ticks=tuple(ticks), zero=zero, marks=marks)


def _step(span: Decimal) -> Decimal:
    """A round distance between ticks that gives about five of them."""
    step = Decimal(10) ** (span / 5).adjusted()
    for factor in (1, 2, 5, 10):
        if span / (step * factor) <= 6:
            return step * factor
    return step * 10
