"""Whether an action may go ahead on the beliefs that it cites: the controller of arm D, a pure function.

    superseded     a revision older than the subject's latest                                    blocks
    invalidated    the latest revision, which the agent itself has withdrawn                      blocks
    contradicted   the latest revision, and what a return last said of its subject is otherwise   blocks
    current        none of these                                                                  goes ahead
    unchecked      no such revision (yet)                                                         goes ahead

Only what a return said since the belief was last verified counts, that return included, so to name a return as support
that says the opposite is no way around. Of several statements the last one counts: a reading that was corrected
contradicts nothing. An action that cites nothing goes ahead, and so does one that only observes.

A cite is written `b3.2`, or `b3` for the latest revision.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from sealkit.world.beliefs import Belief, Beliefs, Stale, Statement, current, source_of

Standing: TypeAlias = Literal["current", "unchecked"] | Stale

_cite = re.compile(r"(b[1-9][0-9]{0,3})(?:\.([1-9][0-9]{0,3}))?").fullmatch


class Heard(msgspec.Struct, frozen=True):
    """A statement, and the act in whose return it stood."""

    act: int
    statement: Statement


def revalidate(cites: Sequence[str], beliefs: Beliefs, heard: Sequence[Heard], *, observes: bool) -> tuple[Stale, ...]:
    """The cited premises that went stale, each once; with any the action is held back."""
    if observes:
        return ()
    found = (standing(cite, beliefs, heard) for cite in dict.fromkeys(cites))
    return tuple(one for one in found if isinstance(one, Stale))


def standing(cite: str, beliefs: Beliefs, heard: Sequence[Heard]) -> Standing:
    """How one cited belief stands."""
    match = _cite(cite)
    held = None if match is None else next((b for b in current(beliefs).values() if b.id == match[1]), None)
    if match is None or held is None:
        return "unchecked"
    revision = held.revision if match[2] is None else int(match[2])
    if revision > held.revision:
        return "unchecked"
    if revision < held.revision:
        cited = next(b for b in beliefs if b.id == held.id and b.revision == revision)
        return _stale(cite, cited, "superseded", f"{held.name} is newer", None)
    if held.invalidated_by is not None:
        return _stale(cite, held, "invalidated", f"invalidated by {held.invalidated_by}", None)
    return _against(cite, held, heard)


def _against(cite: str, held: Belief, heard: Sequence[Heard]) -> Standing:
    for one in reversed(heard):
        said = one.statement
        if one.act < held.last_verified_at:
            break
        if said.subject != held.subject or not (said.holds or said.value == held.value):
            continue
        if said.holds and said.value == held.value:
            return "current"
        says = f"{source_of(one.act)} says {'' if said.holds else 'not '}{said.value}"
        return _stale(cite, held, "contradicted", says, one.act)
    return "current"


def _stale(
    cite: str, held: Belief, why: Literal["superseded", "invalidated", "contradicted"], by: str, seen: int | None
) -> Stale:
    return Stale(cite=cite, subject=held.subject, value=held.value, why=why, by=by, seen=seen)


def warning(action: str, stale: Sequence[Stale]) -> str:
    """What the agent is told of a block."""
    premises = "; ".join(f"{one.cite} ({one.subject}: {one.value}) was {one.why}, {one.by}" for one in stale)
    say = f"Blocked: {action} was not carried out, and the turn is used. A premise went stale: {premises}."
    # One line, whatever the agent wrote: a world tells its own lines by how they begin.
    return " ".join(say.split()) + "\n"
