"""What readings without an outcome make of the claims that rest on them.

A level of a reading that is lost is a missing outcome of the metrics that it reads, and counts against the exclusion
cap like any other, for the claims that rest on the reading. Whoever withholds a reply may know what it says: where one
was withheld, whenever that was, these claims are exploratory at best.
"""

from __future__ import annotations

from collections.abc import Mapping

from sealkit.infer.flow import readings_over
from sealkit.publish.review.measuring import pins_since
from sealkit.publish.review.study import Review
from sealkit.seal.foundations import foundations
from sealkit.seal.in_force import TRIED
from sealkit.seal.sealed import SealedPlan


def held_by_readings(sealed: SealedPlan, found: Review) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Reasons by claim: those for which it is withheld, and those for which it is exploratory.

    The cap is the lowest that was in force since the first confirmatory attempt.
    """
    spec, since = sealed.plan.spec, (*pins_since(sealed, TRIED), sealed.latest)
    cap = min(pinned.plan.spec.sample.exclusion_cap_per_arm for pinned in since)
    over = {} if found.cells is None else readings_over(cap, found.cells)
    withheld: dict[str, str] = {}
    exploratory: dict[str, str] = {}
    for claim in spec.claims:
        rests_on = {name for section, name in foundations(spec, claim) if section == "readings"}
        for reading in sorted(rests_on & over.keys()):
            what = f"more slots are without an outcome of reading {reading} than the exclusion cap allows"
            withheld.setdefault(claim, f"{what}, in {', '.join(over[reading])}")
        for named, counts in found.readings.items():
            if counts["withheld"] and named.split()[0] in rests_on:
                what = f"it rests on reading {named}, of which {counts['withheld']} were withheld once they were made"
                exploratory.setdefault(claim, what)
    return withheld, exploratory
