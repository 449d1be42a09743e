"""What sealed analysis code comes to where it is not this sealkit's: that of an earlier pin, or of the one in force.

The judge, the analysis and the plan of that pin run in child processes over its own source archive, on the episodes
that count today. What comes back is compared with today's verdicts, and never takes their place.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, cast

import msgspec

from sealkit.infer.flow import Flow
from sealkit.seal.pins import Pinned
from sealkit.verify.sandbox import Isolation, Sandbox
from sealkit.wire.errors import HarnessError
from sealkit.wire.records import Json, Level

Verdicts: TypeAlias = Mapping[tuple[str, str | None], str]  # hypothesis, and the metric where it is asked of several


class FarCells(Sandbox):
    """Cells that are told to the sealed analysis code, and its verdicts on them."""

    SIDE = "sealkit.publish.far_ruling"

    def begin(self, plan: bytes) -> None:
        """The cells are those of this plan."""
        self._ask({"op": "plan", "plan": plan.decode()}, {})

    def admit(
        self, slot: Mapping[str, Level], measures: Mapping[str, Json], *, ended: str, acts: int | None, pin: int
    ) -> None:
        """An admitted episode, as `infer.cells` takes it."""
        request: dict[str, Json] = {"op": "admit", "slot": dict(slot), "measures": dict(measures)}
        self._ask(request | {"ended": ended, "acts": acts, "pin": pin}, {})

    def set_aside(self, slot: Mapping[str, Level], *, pin: int) -> None:
        """An episode that was not admitted."""
        self._ask({"op": "set_aside", "slot": dict(slot), "pin": pin}, {})

    def fail(self, slot: Mapping[str, Level], ending: str, *, pin: int) -> None:
        """A slot without an episode."""
        self._ask({"op": "fail", "slot": dict(slot), "ending": ending, "pin": pin}, {})

    def draw_again(self, slot: Mapping[str, Level], tries: int) -> None:
        """Failed tries at a slot that may have been drawn by choice."""
        self._ask({"op": "draw_again", "slot": dict(slot), "tries": tries}, {})

    def results(self, pins: Sequence[str], flow: Flow) -> str:
        """The digest of the results that the sealed analysis comes to."""
        told: dict[str, Json] = {arm: cast(Json, msgspec.to_builtins(one)) for arm, one in flow.items()}
        return str(self._ask({"op": "results", "pins": list(pins), "flow": told}, {})[0].get("digest"))

    def verdicts(self) -> Verdicts:
        """What the sealed rules come to."""
        rows = self._ask({"op": "rule"}, {})[0].get("verdicts")
        if not isinstance(rows, list):
            raise HarnessError("the sealed analysis gave no verdicts")
        found: dict[tuple[str, str | None], str] = {}
        for row in rows:
            if not isinstance(row, dict):
                raise HarnessError("the sealed analysis gave something else than verdicts")
            metric = row.get("metric")
            found[str(row.get("hypothesis")), None if metric is None else str(metric)] = str(row.get("verdict"))
        return found


@contextlib.contextmanager
def far_cells(pinned: Pinned, isolation: Isolation) -> Iterator[FarCells]:
    """The cells of a pin's plan, in a child process over its source."""
    with tempfile.TemporaryDirectory(prefix="sealkit-ruling-") as folder:
        source = Path(folder) / "source"
        source.mkdir()
        pinned.unpack_code(source)
        with FarCells(source, isolation=isolation, sealed_by=pinned.commitment.sealkit) as cells:
            cells.begin(pinned.plan.data)
            yield cells
