"""What the plan asked when there were outcomes and does not ask any more in that way: it stays listed, with rulings.

    earlier = asked_earlier(sealed.pins)        # pin by pin: the claims and hypotheses that an amendment took away
    gates_amended(sealed.pins)                  # gates that came or went meanwhile, with a sentence for each
    rows_of_earlier(one, verdicts, today)       # the verdict of each such hypothesis, by the plan that asked it
    claims_of_earlier(one, verdicts, …)         # such claims, withheld

An amendment after the first confirmatory attempt can drop a question, rename it or make it easier. It cannot take back
that it was asked: somebody may have known outcomes, looked at through sealkit or not. So the hypotheses are ruled on by
the plan of the pin that asked, on the episodes of that plan, and the claims are withheld under their old words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sealkit.infer.claims import ClaimRuling, hold_back
from sealkit.plan.ruling import Gate
from sealkit.publish.review.other_code import Verdicts
from sealkit.seal.commitment import Amendment
from sealkit.seal.foundations import moved_claims, moved_hypotheses
from sealkit.seal.in_force import TRIED, WHEN
from sealkit.seal.pins import Pinned
from sealkit.wire.digest import short
from sealkit.wire.records import Count, Json


@dataclass(frozen=True, slots=True)
class Earlier:
    """What the plan of `pinned` asked that amendment number `amendment` took away or changed, and when that was."""

    pinned: Pinned
    amendment: Count
    when: str
    claims: tuple[str, ...]
    hypotheses: tuple[str, ...]


def asked_earlier(pins: Sequence[Pinned]) -> tuple[Earlier, ...]:
    """Of each pin from that of the first attempt on, what the next one and today's plan do not ask as it did."""
    return tuple(one for one in _earlier(pins) if one.claims or one.hypotheses)


def _earlier(pins: Sequence[Pinned]) -> Iterator[Earlier]:
    today = pins[-1].plan
    for before, after, when in _with_outcomes(pins):
        gone = [set(moved(before.plan, today)) for moved in (moved_claims, moved_hypotheses)]
        yield Earlier(
            pinned=before,
            amendment=after.number,
            when=when,
            claims=tuple(name for name in moved_claims(before.plan, after.plan) if name in gone[0]),
            hypotheses=tuple(name for name in moved_hypotheses(before.plan, after.plan) if name in gone[1]),
        )


def _with_outcomes(pins: Sequence[Pinned]) -> Iterator[tuple[Pinned, Pinned, str]]:
    """Each pin that an amendment followed when there could be outcomes, that amendment's, and when it came."""
    for before, after in pairwise(pins):
        if isinstance(after.commitment, Amendment) and after.commitment.phase in TRIED:
            yield before, after, WHEN[after.commitment.phase]


def gates_amended(pins: Sequence[Pinned]) -> Mapping[Gate, str]:
    """The gates that amendments brought or left out when there could be outcomes; all of them are decided."""
    says: dict[Gate, str] = {}
    for before, after, when in _with_outcomes(pins):
        then, now = before.plan.spec.gates, after.plan.spec.gates
        who = f"amendment {after.number}, {when},"
        says |= {gate: f"{who} left this gate out: it is decided all the same" for gate in then if gate not in now}
        says |= {gate: f"{who} added this gate" for gate in now if gate not in {*then, *says}}
    return says


# --- rulings -------------------------------------------------------------------------------------


def rows_of_earlier(one: Earlier, verdicts: Verdicts, today: Verdicts) -> Iterator[Mapping[str, Json]]:
    """One row for each verdict of its hypotheses, as an edition holds it; `now` is today's, null if nobody asks."""
    hypotheses = one.pinned.plan.spec.hypotheses
    for name in one.hypotheses:
        for key in (key for key in verdicts if key[0] == name):
            yield {
                "hypothesis": name, "metric": key[1], "says": hypotheses[name].says,
                "descriptive": hypotheses[name].descriptive, "verdict": verdicts[key], "now": today.get(key),
                "pin": one.pinned.pin, "amendment": one.amendment,
            }  # fmt: skip


def claims_of_earlier(one: Earlier, verdicts: Verdicts, withdrawn: Mapping[str, str]) -> Iterator[ClaimRuling]:
    """Its claims, withheld, each with what its needs came to by the plan that made it."""
    claims, pin = one.pinned.plan.spec.claims, short(one.pinned.pin)
    for name in one.claims:
        why = f"amendment {one.amendment}, {one.when}, dropped or reworded it; here as made under pin {pin}"
        if name in withdrawn:
            why = f"withdrawn: {withdrawn[name]}; {why}"
        yield hold_back(name, claims[name], verdicts, why)
