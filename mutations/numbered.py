"""The mutations M1 to M8, each in two variants: the executor's own log tells the truth, or repeats the declaration."""

from __future__ import annotations

from typing import cast

from sealkit.wire.patch import apply
from sealkit.wire.records import Json, Remove, Replace
from sealkit.wire.trace import component_digests, root_digest
from sealkit.world.draws import Draws

from .executor import Edits, State, carry_out
from .parent import InapplicableError, Parent
from .places import again, altered, moved, moving, one, other_value, receipt_of, scalars, states_around, told


def m1(parent: Parent, variant: str, draws: Draws) -> Edits:
    """An event is logged and, by the roots around it, moved nothing; the terminal state is as it was."""
    event = moving(parent, draws)
    before = receipt_of(parent, event)["roots"]["before"]
    at = f"/receipts/{event.receipt}/roots"
    if variant == "truth":
        return Edits(recorded=(Replace(path=f"{at}/after", value=before), Replace(path=f"{at}/moved", value=[])))
    return Edits(recorded=(Replace(path=f"/acts/{event.act}/root", value=before),))


def m2(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The change is right, its message is another."""
    event, n, s = told(parent, draws)
    text = altered(parent.document["acts"][n]["segments"][s]["text"], draws)
    edits = (Replace(path=f"/acts/{n}/segments/{s}/text", value=text),)
    if variant == "truth":
        return Edits(recorded=edits)
    declared = receipt_of(parent, event)["projection"]["digest"]
    return Edits(recorded=(*edits, Replace(path=f"/receipts/{event.receipt}/projection/digest", value=declared)))


def m3(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The message is right, and ascribed to somebody else."""
    event, n, s = told(parent, draws)
    field = draws.choice(("sender", "channel", "rung"))
    notice = parent.document["acts"][n]["segments"][s]
    rungs = [rung for rung in ("A1", "A2", "A3", "A4", "A5") if rung != notice["rung"]]
    value = draws.choice(rungs) if field == "rung" else f"{notice[field]}-office"
    edits = [Replace(path=f"/acts/{n}/segments/{s}/{field}", value=value)]
    if variant == "truth":
        name = "authority" if field == "rung" else field
        edits.append(Replace(path=f"/receipts/{event.receipt}/projection/{name}", value=value))
    return Edits(recorded=tuple(edits))


def m4(parent: Parent, variant: str, draws: Draws) -> Edits:
    """An event is executed again after a restore; the terminal state is as it was."""
    event = one([event for event in parent.events if event.restored], draws, "no event with a restore behind it")
    act = next(at for at, _ in parent.restores if at >= event.act) + 1
    if act > parent.last:
        raise InapplicableError("no act behind the restore")
    edits = Edits(executed=again(parent, event, act, occurrence=2 if variant == "truth" else 1))
    return _terminal_kept(parent, edits)


def m5(parent: Parent, variant: str, draws: Draws) -> Edits:
    """A restore takes the record of an event along."""
    event = one([event for event in parent.events if event.restored], draws, "no event with a restore behind it")
    edits = [Remove(path=f"/receipts/{event.receipt}")]
    if variant == "truth":
        return Edits(recorded=tuple(edits))
    counted = parent.document["closing"]["counts"]["occurrences"]
    return Edits(recorded=(*edits, Replace(path="/closing/counts/occurrences", value=counted)))


def m6(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The link from one occurrence to the one before it is broken."""
    receipts = parent.document["receipts"]
    linked = [i for i in range(1, len(receipts)) if "contract" in receipts[i] and "contract" in receipts[i - 1]]
    i = one(linked, draws, "no two occurrences in a row")
    value = None if variant == "truth" else receipts[i]["episode"]
    return Edits(recorded=(Replace(path=f"/receipts/{i}/previous", value=value),))


def m7(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The state after an event is an invalid one, and is right again an act later."""
    event = moving(parent, draws)
    before, after = states_around(parent, event)
    changed = [
        (at, value) for at, value in scalars(cast(Json, after)) if (at, value) not in set(scalars(cast(Json, before)))
    ]
    at, value = one(changed, draws, "the event writes no single value")
    wrong = cast(State, apply(cast(Json, after), (Replace(path=at, value=other_value(value)),)))
    root = root_digest(component_digests(wrong))
    edits = [Replace(path=f"/acts/{event.act}/root", value=root)]
    if variant == "truth":
        edits.append(Replace(path=f"/receipts/{event.receipt}/roots/after", value=root))
    return Edits(recorded=tuple(edits))


def m8(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The right change after the wrong act; the terminal state is as it was."""
    lacking = "no event that can be moved by an act"
    for event in draws.shuffled(parent.events):
        for act in draws.shuffled((event.act - 1, event.act + 1)):
            at = f"/receipts/{event.receipt}/boundary"
            try:
                edits = [*moved(parent, event, act, notice=True), Replace(path=f"{at}/applied", value=act)]
                if variant == "repeats":
                    edits.append(Replace(path=f"{at}/due", value=act))
                return _terminal_kept(parent, Edits(executed=tuple(edits)))
            except InapplicableError as error:
                lacking = str(error)
    raise InapplicableError(lacking)


def _terminal_kept(parent: Parent, edits: Edits) -> Edits:
    """The edits, if the last root stays what it was."""
    if parent.document["closing"]["root"].encode() not in carry_out(parent, edits).rpartition(b'"closing":')[2]:
        raise InapplicableError("the terminal state would be another")
    return edits
