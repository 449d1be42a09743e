"""The far side of a second ruling: the sealed analysis code, asked for its verdicts on what is told here.

It lives in the sealed source, where every seal has had it: its name is part of the protocol. It speaks as
`verify.child` does, one request, one answer:

    {"op": "plan", "plan": "<yaml>"}                                                        → {}
    {"op": "admit", "slot": {…}, "measures": {…}, "ended": "final", "acts": 12, "pin": 0}   → {}
    {"op": "set_aside", "slot": {…}, "pin": 0}                                              → {}
    {"op": "fail", "slot": {…}, "ending": "provider_error", "pin": 0}                       → {}
    {"op": "rule"}                    → {"verdicts": [{"hypothesis": …, "metric": …, "verdict": …}, …]}
    {"op": "results", "pins": […], "flow": {arm: {…}}}                                      → {"digest": "sha256:…"}
"""

from __future__ import annotations

from typing import cast

import msgspec

from sealkit.infer.analysis import analyse, pairs_read, ruled_on
from sealkit.infer.cells import Cells
from sealkit.infer.effects import effects_under
from sealkit.infer.flow import ArmFlow
from sealkit.plan.load import open_plan_bytes
from sealkit.verify.child import Raw, Request, serve
from sealkit.wire.digest import digest_bytes
from sealkit.wire.records import Json, Level


class Ruling:
    """The cells of one plan, as they are told."""

    def __init__(self) -> None:
        self._cells: Cells | None = None

    def answer(self, request: Request, raw: Raw) -> tuple[Json, Raw]:
        """The answer to one request."""
        if request["op"] == "plan":
            self._plan = open_plan_bytes(str(request["plan"]).encode(), "the sealed plan")
            self._cells = Cells(self._plan.spec)
            return {}, {}
        assert self._cells is not None, "plan comes first"
        if request["op"] == "rule":
            return {"verdicts": _verdicts(self._cells)}, {}
        if request["op"] == "results":
            flow = msgspec.convert(request["flow"], dict[str, ArmFlow])
            analysis = analyse(self._plan, cast(list[str], request["pins"]), flow, self._cells)
            return {"digest": digest_bytes(analysis.line)}, {}
        if request["op"] == "draw_again":
            self._cells.draw_again(cast(dict[str, Level], request["slot"]), cast(int, request["tries"]))
        else:
            _tell(self._cells, request)
        return {}, {}


def _tell(cells: Cells, request: Request) -> None:
    slot, pin = cast(dict[str, Level], request["slot"]), cast(int, request["pin"])
    if request["op"] == "admit":
        measures, acts = cast(dict[str, Json], request["measures"]), cast(int | None, request["acts"])
        cells.admit(slot, measures, ended=str(request["ended"]), acts=acts, pin=pin)
    elif request["op"] == "set_aside":
        cells.set_aside(slot, pin=pin)
    else:
        cells.fail(slot, str(request["ending"]), pin=pin)


def _verdicts(cells: Cells) -> list[Json]:
    spec = cells.spec
    return [
        {"hypothesis": verdict.hypothesis, "metric": verdict.metric, "verdict": verdict.verdict}
        for verdict in ruled_on(spec, effects_under(cells, pairs_read(spec), spec.sample.missing))
    ]


def main(source: str) -> None:
    """Answer requests from standard input until it ends."""
    serve(Ruling().answer)
