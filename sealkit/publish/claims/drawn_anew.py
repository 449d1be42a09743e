"""Claims for which an amendment may have had drawn anew what was drawn before under another name.

    drawn_anew(sealed, review.dropped)      # by claim, why it is exploratory
    # {"deep": "amendment 2, when the run had ended or …, rests it on arm deep2, on which it did not rest before"}

A dropped slot cannot come back (`seal.dropped`), but an arm can get another name, and then its slots are others. So
from the first confirmatory attempt on a claim that comes to rest on another arm is exploratory, whatever the
hypotheses in between asked of the arms before. The same where slots that had their episode were dropped, and no plan
that had them asked what the claim needs as today's does: then no verdict says what they came to.

The journal and the pins alone say it, so that who has no episodes can rule on it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from sealkit.plan.schema import Spec
from sealkit.plan.slots import SlotIndex
from sealkit.publish.claims.lost_values import arms_under_claims
from sealkit.publish.review.measuring import pins_since
from sealkit.seal.commitment import Amendment
from sealkit.seal.dropped import Group
from sealkit.seal.foundations import moved_under_claims
from sealkit.seal.in_force import TRIED, WHEN
from sealkit.seal.pins import Pinned
from sealkit.seal.sealed import SealedPlan
from sealkit.wire.text import counted

# The sections that say what is asked; which slots it is asked of is for factors and sample.
_ASKED: Final = ("hypotheses", "effects", "metrics", "methods", "populations", "readings", "multiplicity")


def drawn_anew(sealed: SealedPlan, dropped: Sequence[Group]) -> dict[str, str]:
    """By claim of today's plan, why it is exploratory; the first reason of each."""
    found: dict[str, str] = {}
    for name, why in (*_on_other_arms(sealed), *_dropped_unasked(sealed, dropped)):
        if name in sealed.plan.spec.claims:
            found.setdefault(name, why)
    return found


def _on_other_arms(sealed: SealedPlan) -> Iterator[tuple[str, str]]:
    for before, after in pairwise((*pins_since(sealed, TRIED), sealed.latest)):
        for name, others in newly_under_claims(before.plan.spec, after.plan.spec).items():
            yield name, f"{_who(after)} {words_of(others)}"


def newly_under_claims(before: Spec, after: Spec) -> dict[str, tuple[str, ...]]:
    """By claim of both plans, the arms that it rests on in the second and not in the first, where there are any."""
    old, new = arms_under_claims(before), arms_under_claims(after)
    found = {name: tuple(arm for arm in new[name] if arm not in old[name]) for name in new if name in old}
    return {name: arms for name, arms in found.items() if arms}


def words_of(arms: Sequence[str]) -> str:
    """What an amendment does to a claim that comes to rest on these arms."""
    return f"rests it on arm{'s' if len(arms) > 1 else ''} {', '.join(arms)}, on which it did not rest before"


def _dropped_unasked(sealed: SealedPlan, dropped: Iterable[Group]) -> Iterator[tuple[str, str]]:
    for group in dropped:
        since = pins_since(sealed, TRIED)  # what plans asked before that is not ruled on
        asking = [pinned for pinned in since if pinned.number < group.amendment and _has(pinned, group)]
        moved = [moved_under_claims(pinned.plan, sealed.plan) for pinned in asking]
        for name in sealed.plan.spec.claims:
            if all(any(what.split(".")[0] in _ASKED for what in one.get(name, ())) for one in moved):
                what = f"dropped {counted(len(group.slots), 'slot')} that had an episode"
                why = "and no plan that had them asked what it needs as it is asked now"
                yield name, f"{_who(sealed.pins[group.amendment])} {what}, {why}"


def _has(pinned: Pinned, group: Group) -> bool:
    index = SlotIndex(pinned.plan.spec, "confirmatory")
    return all(index.find(slot) is not None for slot in group.slots)


def _who(pinned: Pinned) -> str:
    amendment = pinned.commitment
    assert isinstance(amendment, Amendment)
    return f"amendment {amendment.number}, {WHEN[amendment.phase]},"
