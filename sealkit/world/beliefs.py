"""Beliefs with revisions: the store that an agent keeps, and the log that a parser keeps of what it was shown.

Both are made of the same record. A belief is about a `subject`; each new value is a revision of its own, and the one
before is kept, marked with what invalidated it. A belief rests on an observation: act 0 stands for the briefing, act n
for the return of act n.

>>> store = revise((), (Update(subject="door den-hall", value="open", seen=0),))
>>> store = revise(store, (Update(subject="door den-hall", value="open", seen=2),))
>>> store = revise(store, (Update(subject="door den-hall", value="locked", seen=5),))
>>> for belief in store:
...     print(belief.name, belief.value, belief.observed_at, belief.last_verified_at, belief.invalidated_by)
b1.1 open 0 2 return 5
b1.2 locked 5 5 None

What a return says is a `Statement`, which the world's own `words.py` finds in the text. `holds` is false where it only
says what is not so ("the mug is not on this table"). The log takes a statement for a revision if it denies what
was believed, and for a verification if it agrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, cast

import msgspec

from sealkit.wire.records import Json

BRIEFING = 0
UNKNOWN = ""  # the value of an update that withdraws a belief


class Statement(msgspec.Struct, frozen=True):
    """What a text says of a subject: that it is `value`, or if `holds` is false, that it is not."""

    subject: str
    value: str
    holds: bool = True


class Update(msgspec.Struct, frozen=True):
    """A belief as an agent states it: what is so, by the return of which act (0: the briefing)."""

    subject: str
    value: str
    seen: int


class Belief(msgspec.Struct, frozen=True):
    """One revision of one belief."""

    id: str
    subject: str
    revision: int
    value: str
    supporting: str
    observed_at: int
    last_verified_at: int
    invalidated_by: str | None

    @property
    def name(self) -> str:
        """How the revision is cited."""
        return f"{self.id}.{self.revision}"


Beliefs: TypeAlias = tuple[Belief, ...]  # in the order in which they were formed


def plain(words: str) -> str:
    """Words as subjects and values are compared: lower case, single blanks, no article in front, no full stop.

    >>> plain("  The Red  mug. ")
    'red mug'
    """
    return " ".join(words.lower().split()).removesuffix(".").removeprefix("the ")


def source_of(seen: int) -> str:
    """How an observation is called: `briefing`, or `return 4`."""
    return "briefing" if seen == BRIEFING else f"return {seen}"


# --- the store and the log -------------------------------------------------------------------------


def current(beliefs: Beliefs) -> dict[str, Belief]:
    """The latest revision of each subject, in the order in which subjects came up."""
    return {belief.subject: belief for belief in beliefs}


def revise(beliefs: Beliefs, updates: Iterable[Update]) -> Beliefs:
    """The beliefs after these updates, each taken in turn.

    The value that is believed already is verified; another one is the next revision and invalidates the one before; no
    value invalidates what was believed and puts nothing in its place. An invalidated belief that is stated again
    is a new revision.
    """
    for update in updates:
        held = current(beliefs).get(update.subject)
        if held is not None and held.value == update.value and held.invalidated_by is None:
            verified = max(held.last_verified_at, update.seen)
            beliefs = _put(beliefs, held, msgspec.structs.replace(held, last_verified_at=verified))
            continue
        if held is not None and held.invalidated_by is None:
            gone = msgspec.structs.replace(held, invalidated_by=source_of(update.seen))
            beliefs = _put(beliefs, held, gone)
        if update.value != UNKNOWN:
            beliefs = (*beliefs, _formed(beliefs, held, update))
    return beliefs


def log(told: Sequence[tuple[int, Sequence[Statement]]]) -> Beliefs:
    """The belief log of what was told: (act, statements of its text), in order; act 0 is the briefing."""
    beliefs: Beliefs = ()
    for seen, statements in told:
        for statement in statements:
            held = current(beliefs).get(statement.subject)
            if statement.holds:
                beliefs = revise(beliefs, [Update(statement.subject, statement.value, seen)])
            elif held is not None and held.value == statement.value:
                beliefs = revise(beliefs, [Update(statement.subject, not_so(statement.value), seen)])
    return beliefs


def not_so(value: str) -> str:
    """The value of a log's revision of which it is only known that it is no longer `value`."""
    return f"not {value}"


def _formed(beliefs: Beliefs, held: Belief | None, update: Update) -> Belief:
    return Belief(
        id=held.id if held is not None else f"b{len(current(beliefs)) + 1}",
        subject=update.subject,
        revision=held.revision + 1 if held is not None else 1,
        value=update.value,
        supporting=source_of(update.seen),
        observed_at=update.seen,
        last_verified_at=update.seen,
        invalidated_by=None,
    )


def _put(beliefs: Beliefs, old: Belief, new: Belief) -> Beliefs:
    return tuple(new if belief is old else belief for belief in beliefs)


# --- as text, and as an act's memory ---------------------------------------------------------------

_COLUMNS = "id.revision | subject | value | supported by | observed at | last verified at | invalidated by"


def table(beliefs: Iterable[Belief]) -> str:
    """The beliefs as lines of text, with a heading; `(none)` if there are none."""
    rows = [
        f"{b.name} | {b.subject} | {b.value} | {b.supporting} | {b.observed_at} | {b.last_verified_at} | "
        f"{b.invalidated_by or '-'}"
        for b in beliefs
    ]
    return "\n".join([_COLUMNS, *rows]) if rows else "(none)"


class Kept(msgspec.Struct, frozen=True):
    """What an arm with a store keeps of one act, as `Act.memory` holds it. `block` is null unless it was held back."""

    beliefs: tuple[Update, ...]
    cites: tuple[str, ...]
    plan: str
    block: Block | None

    def memory(self) -> dict[str, Json]:
        """The same as JSON."""
        return cast(dict[str, Json], msgspec.to_builtins(self))


class Stale(msgspec.Struct, frozen=True):
    """A cited belief that does not stand, and why; `seen` is the act whose return says so, or null."""

    cite: str
    subject: str
    value: str
    why: Literal["superseded", "invalidated", "contradicted"]
    by: str
    seen: int | None


class Block(msgspec.Struct, frozen=True):
    """An action that was held back, and the stale premises that it rested on."""

    action: str
    argument: str
    stale: tuple[Stale, ...]


def kept(memory: Mapping[str, Json]) -> Kept | None:
    """What an arm with a store kept of an act; None for any other memory."""
    try:
        return msgspec.convert(memory, Kept)
    except msgspec.ValidationError:
        return None
