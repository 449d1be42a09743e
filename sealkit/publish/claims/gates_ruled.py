"""Gates that a hypothesis of the plan decides: what its verdicts say, and the numbers that they rest on.

    gates_by_hypothesis(sealed, analysis)
    # {"false_rejection_acceptable": (True, "supported, as faithful.upper < 0.05; faithful: x 0, n 154, upper 0.0193")}

A hypothesis that was changed when there could be outcomes opens nothing: whoever writes the rule then knows the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from sealkit.infer.analysis import Analysis
from sealkit.infer.lost import Lost, lost_under
from sealkit.infer.verdicts import Verdict
from sealkit.plan.questions import questions
from sealkit.plan.ruling import GATES_BY_HYPOTHESIS
from sealkit.plan.schema import Spec
from sealkit.publish.claims.amended import Amended
from sealkit.publish.claims.lost_values import over_the_cap
from sealkit.publish.claims.ruled_again import Generation, one_of
from sealkit.publish.review.measuring import pins_since
from sealkit.seal.foundations import moved_hypotheses
from sealkit.seal.in_force import TRIED
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.records import Json

SUPPORTED: Final = "supported"
_NUMBERS: Final = ("x", "total", "n", "b", "c", "estimate", "lower", "upper")


def gates_by_hypothesis(sealed: SealedPlan, analysis: Analysis) -> Mapping[str, tuple[bool, str]]:
    """For every hypothesis that is called as a gate is: whether it opens that gate, and the evidence in words.

    One that rests on more lost values than the exclusion cap allows opens none.
    """
    over = over_the_cap(sealed, analysis.record)
    spec, since = sealed.plan.spec, pins_since(sealed, TRIED)
    moved = moved_hypotheses(since[0].plan, sealed.plan) if since else ()
    return {
        gate: _ruled(spec, gate, analysis, changed=gate in moved, lost=lost_under(spec, gate, None, over))
        for gate in GATES_BY_HYPOTHESIS
        if gate in spec.hypotheses
    }


def closed_by_draws(spec: Spec, ruled: Mapping[str, tuple[bool, str]], after: Amended) -> dict[str, tuple[bool, str]]:
    """The same, in which no hypothesis opens its gate that other draws, or other code, come to another verdict on.

    Nor one that rests on more lost slots in any generation than the cap allows.
    """
    found = dict(ruled)
    for gate, why in (*_differing(after), *_over(spec, ruled, after.generations)):
        if gate in found and found[gate][0]:
            found[gate] = False, f"{found[gate][1]}; but {why}"
    return found


def _differing(after: Amended) -> Iterator[tuple[str, str]]:
    return ((str(row["hypothesis"]), f"{row['other']} by the {row['source']}") for row in after.differing)


def _over(spec: Spec, gates: Iterable[str], generations: Sequence[Generation]) -> Iterator[tuple[str, str]]:
    for one in generations:
        for gate in gates:
            if one.over or lost_under(spec, gate, None, one.lost):
                yield gate, f"{one_of(one)}, more slots are lost than the exclusion cap allows"


def _ruled(spec: Spec, name: str, analysis: Analysis, *, changed: bool, lost: Sequence[Lost]) -> tuple[bool, str]:
    ruled = [verdict for verdict in analysis.verdicts if verdict.hypothesis == name]
    words = "; ".join([*map(_said, ruled), *_numbers(spec, name, analysis)])
    if changed:
        return False, f"{words}; but it was changed when there could be outcomes"
    if lost:
        return False, f"{words}; but more slots count as lost than the cap allows: {'; '.join(map(str, lost))}"
    return bool(ruled) and all(verdict.verdict == SUPPORTED for verdict in ruled), words


def _said(verdict: Verdict) -> str:
    about = f"{verdict.metric}: " if verdict.metric else ""
    rests = f", as {verdict.rule}" if verdict.rule else f": {verdict.why}" if verdict.why else ""
    return f"{about}{verdict.verdict}{rests}"


def _numbers(spec: Spec, name: str, analysis: Analysis) -> Iterator[str]:
    read = {pair for question in questions(spec, name) for pair in question.metrics.items()}
    rows = analysis.record.get("effects")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and (row["effect"], row["metric"]) in read:
            told = ", ".join(f"{field} {_short(row[field])}" for field in _NUMBERS if field in row)
            yield f"{row['effect']} on {row['metric']}: {told or 'not estimable'}"


def _short(number: Json) -> str:
    """A number as a person reads it: a decimal without the zeros at its end."""
    text = str(number)
    return text.rstrip("0").rstrip(".") if "." in text else text
