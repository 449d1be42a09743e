"""One figure, and the table of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A figure beside its target; `target` is the most it may be, None if nothing was promised."""

    name: str
    value: float
    unit: str  # "×" for a ratio
    target: float | None
    how: str

    @property
    def holds(self) -> bool:
        """Whether the promise is kept."""
        return self.target is None or self.value <= self.target

    def as_json(self) -> dict[str, object]:
        """Its members, and whether it holds."""
        return asdict(self) | {"holds": self.holds}


HEADS = ("figure", "value", "at most", "", "how")


def table(rows: Sequence[Row]) -> str:
    """The rows under their heads, columns lined up, numbers flush right."""
    cells = [HEADS, *(_cells(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADS))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in (1, 2) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def _cells(row: Row) -> tuple[str, ...]:
    target = "-" if row.target is None else f"{row.target:g} {row.unit}"
    return (row.name, f"{row.value:.3g} {row.unit}", target, "ok" if row.holds else "OVER", row.how)
