"""Where a fault can be put, and what it puts there: the parts that several families share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, cast

from sealkit.wire.contract import spell
from sealkit.wire.declared import ActsLater, Inbox, Never, ThisReturn, WhenShown
from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import apply, resolve
from sealkit.wire.records import Add, Json, Op, Remove, Replace, Scalar
from sealkit.world.draws import Draws

from .executor import State, read_ops, walk_honestly
from .parent import EXECUTION, Document, Event, InapplicableError, Parent

T = TypeVar("T")
STEPS = EXECUTION.replace("/", "~1")


def one(items: Sequence[T], draws: Draws, lacking: str) -> T:
    """One of the items; `InapplicableError` if there are none."""
    if not items:
        raise InapplicableError(lacking)
    return draws.choice(items)


def moving(parent: Parent, draws: Draws) -> Event:
    """An event that changed the state and stands last in its act, which is not the last act."""
    events = [
        event
        for event in parent.events
        if event.moves and event.act < parent.last and event.delta == len(_deltas(parent, event)) - 1
    ]
    return one(events, draws, "no event that moves the root, last in its act")


def material(parent: Parent, draws: Draws) -> Event:
    """An event that changed the state."""
    return one([event for event in parent.events if event.moves], draws, "no event that moves the root")


def told(parent: Parent, draws: Draws) -> tuple[Event, int, int]:
    """An event with a notice: the event, the act of its notice, the segment."""
    found = [(event, *event.notice) for event in parent.events if event.notice is not None]
    return one(found, draws, "no notice of an event")


def _deltas(parent: Parent, event: Event) -> list[Document]:
    deltas: list[Document] = parent.document["acts"][event.act]["deltas"]
    return deltas


def ops_of(parent: Parent, event: Event) -> list[Document]:
    """The recorded delta of an event."""
    ops: list[Document] = _deltas(parent, event)[event.delta]["ops"]
    return ops


def ops_at(event: Event) -> str:
    """Where the delta of an event stands."""
    return f"/acts/{event.act}/deltas/{event.delta}/ops"


def receipt_of(parent: Parent, event: Event) -> Document:
    """The receipt of an event."""
    receipt: Document = parent.document["receipts"][event.receipt]
    return receipt


def states_around(parent: Parent, event: Event) -> tuple[State, State]:
    """The state before an event and after it."""
    states = walk_honestly(parent)
    state = states[event.act - 1] if event.act else dict(parent.scenario.genesis)
    act = parent.document["acts"][event.act]
    for ops in (act["delta"], *(delta["ops"] for delta in act["deltas"][: event.delta])):
        state = cast(State, apply(cast(Json, state), read_ops(ops)))
    return state, cast(State, apply(cast(Json, state), read_ops(ops_of(parent, event))))


def other_value(value: Scalar) -> Scalar:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return f"{value}x" if isinstance(value, str) else "x"


def scalars(value: Json, pointer: str = "") -> Iterator[tuple[str, Scalar]]:
    """Every scalar below a value, with the pointer to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from scalars(inner, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from scalars(inner, f"{pointer}/{i}")
    else:
        yield pointer, value


def altered(text: str, draws: Draws) -> str:
    """The text with one of its longer words reversed."""
    words = text.split(" ")
    long = [i for i, word in enumerate(words) if len(word) > 3 and word != word[::-1] and word.isalpha()]
    i = one(long, draws, "no word long enough to be altered")
    return " ".join([*words[:i], words[i][::-1], *words[i + 1 :]])


def stale_facts(parent: Parent, event: Event, acts: Sequence[int]) -> Sequence[tuple[Op, ...]]:
    """For each fact in these acts that the event changed: the edits that make it show what was there before."""
    before, after = states_around(parent, event)
    found = []
    for n in acts:
        for s, segment in enumerate(parent.document["acts"][n]["segments"]):
            if segment["kind"] != "fact":
                continue
            try:
                old, new = (
                    resolve(cast(Json, before), segment["pointer"]),
                    resolve(cast(Json, after), segment["pointer"]),
                )
            except MalformedError:
                continue
            words = spell(segment["value"])
            if (
                old == new
                or segment["value"] != new
                or isinstance(old, (dict, list))
                or segment["text"].count(words) != 1
            ):
                continue
            at = f"/acts/{n}/segments/{s}"
            found.append(
                (Replace(path=f"{at}/value", value=old),
                 Replace(path=f"{at}/text", value=segment["text"].replace(words, spell(old))))
            )  # fmt: skip
    return found


# --- doing it again, and elsewhere -----------------------------------------------------------------


def again(parent: Parent, event: Event, act: int, *, occurrence: int) -> tuple[Op, ...]:
    """The event executed a second time after `act`: delta, receipt, and a second notice as its contract has it told."""
    deltas = parent.document["acts"][act]["deltas"]
    restores = [j for j, delta in enumerate(deltas) if delta["cause"].startswith("restore:")]
    place = restores[0] if restores else len(deltas)
    receipts = parent.document["receipts"]
    after = [
        i for i, item in enumerate(receipts)
        if item["boundary"]["applied"] > act or (item["boundary"]["applied"] == act and "contract" not in item)
    ]  # fmt: skip
    index = after[0] if after else len(receipts)
    generation = {"generation": 0, "snapshot": None}
    for item in receipts[:index]:
        if "contract" not in item:
            generation = item["restore"]
    original = receipt_of(parent, event)
    projection, notices = _told_again(parent, event, act, original["projection"])
    receipt = {
        **original,
        "boundary": {**original["boundary"], "applied": act, "due": act},
        "contract": {**original["contract"], "occurrence": occurrence},
        "projection": projection,
        "restore": generation,
    }
    delta = {"cause": f"contract:{event.contract.id}", "ops": ops_of(parent, event)}
    return (
        Add(path=f"/acts/{act}/deltas/{place}", value=cast(Json, delta)),
        Add(path=f"/receipts/{index}", value=cast(Json, receipt)),
        *notices,
    )


def _told_again(parent: Parent, event: Event, act: int, shown: Document) -> tuple[Document, tuple[Op, ...]]:
    due = event.contract.tell.due
    if isinstance(due, Never):
        return {"projection": "never"}, ()
    at = opened = None
    if isinstance(due, ThisReturn):
        at = act
    elif isinstance(due, ActsLater):
        at = act + due.acts
    elif isinstance(due, Inbox):
        opened = next(
            (
                (item["n"], s)
                for item in parent.document["acts"][act:]
                for s, segment in enumerate(item["segments"])
                if segment["kind"] == "inbox"
            ),
            None,
        )
        at = opened[0] if opened else None
    if at is None or at > parent.last or event.notice is None:
        return {"projection": "not_reached"}, ()
    segments = parent.document["acts"][at]["segments"]
    place = len(segments)
    if opened is not None:  # behind the notices that follow the mark
        place = opened[1] + 1
        while place < len(segments) and segments[place]["kind"] == "notice":
            place += 1
    n, s = event.notice
    notice = parent.document["acts"][n]["segments"][s]
    return {**shown, "act": at}, (Add(path=f"/acts/{at}/segments/{place}", value=notice),)


def moved(parent: Parent, event: Event, act: int, *, notice: bool) -> tuple[Op, ...]:
    """The event executed after `act` in place of its own, with its notice where that hangs on the act."""
    delta = _deltas(parent, event)[event.delta]
    first = event.delta == 0 or act > event.act
    last = event.delta == len(_deltas(parent, event)) - 1 or act < event.act
    if not (first and last) or not 0 <= act <= parent.last or act == event.act:
        raise InapplicableError("the event cannot be moved there without changing the order of events")
    low, high = min(act, event.act), max(act, event.act)
    due = event.contract.tell.due
    if event.contract.tell.distort is not None or (
        isinstance(due, WhenShown) and _is_read(parent, due.pointer, range(low, high + 1))
    ):
        raise InapplicableError("another reading would disclose it")
    if any(low < other.act < high for other in parent.events) or any(low <= at <= high for at, _ in parent.restores):
        raise InapplicableError("another event or a restore stands between")
    deltas = parent.document["acts"][act]["deltas"]
    place = len(deltas) if act < event.act else 0
    ops: list[Op] = [
        Remove(path=f"/acts/{event.act}/deltas/{event.delta}"),
        Add(path=f"/acts/{act}/deltas/{place}", value=delta),
    ]
    if notice:
        ops += _notice_moved(parent, event, act)
    return tuple(ops)


def _is_read(parent: Parent, pointer: str, acts: range) -> bool:
    segments = [segment for n in acts for segment in parent.document["acts"][n]["segments"]]
    return any(segment.get("pointer") == pointer for segment in segments)


def _notice_moved(parent: Parent, event: Event, act: int) -> list[Op]:
    due = event.contract.tell.due
    if event.notice is None or isinstance(due, Never):
        return []
    n, s = event.notice
    if isinstance(due, Inbox) and n <= act:
        raise InapplicableError("its notice was read before that act")
    if not isinstance(due, (ThisReturn, ActsLater)):
        return []
    at = n + act - event.act
    if at > parent.last:
        raise InapplicableError("its notice would not be reached")
    segments = parent.document["acts"][at]["segments"]
    return [
        Remove(path=f"/acts/{n}/segments/{s}"),
        Add(path=f"/acts/{at}/segments/{len(segments)}", value=parent.document["acts"][n]["segments"][s]),
        Replace(path=f"/receipts/{event.receipt}/projection/act", value=at),
    ]
