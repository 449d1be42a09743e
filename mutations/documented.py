"""The families F1 to F13 of documented failures, each in two variants; what grounds them stands in SPEC.md."""

from __future__ import annotations

from typing import cast

from sealkit.wire.canon import digest_json
from sealkit.wire.contract import Sighting, effect, see
from sealkit.wire.episode import Action
from sealkit.wire.patch import apply, diff
from sealkit.wire.records import Add, Json, Op, Remove, Replace
from sealkit.wire.trace import component_digests, root_digest
from sealkit.world.draws import Draws

from .executor import Edits, State, carry_out, read_ops, walk_honestly, written
from .parent import EXECUTION, Document, Event, InapplicableError, Parent
from .places import (
    STEPS,
    again,
    material,
    moved,
    one,
    ops_at,
    ops_of,
    other_value,
    receipt_of,
    scalars,
    stale_facts,
    states_around,
    told,
)


def f1(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The event is said to have happened; the state never changes."""
    event = material(parent, draws)
    executed = (Replace(path=ops_at(event), value=[]),)
    return Edits(executed=executed, recorded=() if variant == "truth" else _as_declared(parent, event))


def _as_declared(parent: Parent, event: Event) -> tuple[Op, ...]:
    """The log and the receipt say what the declaration says."""
    return (
        Replace(path=ops_at(event), value=cast(Json, ops_of(parent, event))),
        Replace(path=f"/receipts/{event.receipt}/roots", value=receipt_of(parent, event)["roots"]),
    )


def f2(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The same occurrence is applied twice."""
    if variant == "truth":
        event = one(parent.events, draws, "no event")
        act = min(event.act + draws.below(2), parent.last)
        return Edits(executed=again(parent, event, act, occurrence=2))
    event = material(parent, draws)
    before, once = states_around(parent, event)
    twice = apply(cast(Json, once), _effect_again(parent, event, once))
    if not diff(cast(Json, once), twice):
        raise InapplicableError("applied twice it is as applied once, and nothing says so")
    ops = written(diff(cast(Json, before), twice))
    executed = (Replace(path=ops_at(event), value=cast(Json, ops)),)
    return Edits(executed=executed, recorded=_as_declared(parent, event))


def _effect_again(parent: Parent, event: Event, state: State) -> tuple[Op, ...]:
    """What the contract does when it is applied once more: computed values are computed from the state as it now is."""
    action = parent.document["acts"][event.act]["action"]
    at = Sighting(state=state, action=Action(name=action["name"], args=action["args"]), shown={})
    return effect(event.contract, see(event.contract, at))


def f3(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The right event with another value, or with a part of its changes."""
    event = material(parent, draws)
    ops = ops_of(parent, event)
    wrong = [[*ops[:i], *ops[i + 1 :]] for i in range(len(ops)) if len(ops) > 1]
    for i, op in enumerate(ops):
        for at, value in scalars(cast(Json, op.get("value")), "/value") if "value" in op else ():
            other = apply(cast(Json, op), (Replace(path=at, value=other_value(value)),))
            wrong.append([*ops[:i], cast(Document, other), *ops[i + 1 :]])
    for choice in draws.shuffled(wrong):
        edits = Edits(
            executed=(Replace(path=ops_at(event), value=cast(Json, choice)),),
            recorded=() if variant == "truth" else _as_declared(parent, event),
        )
        try:
            carry_out(parent, edits)
        except InapplicableError:
            continue
        return edits
    raise InapplicableError("with any other effect the acts that follow cannot be carried out")


def f4(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The right change one or two acts early or late."""
    lacking = "no event that can be moved"
    for event in draws.shuffled(parent.events):
        for by in draws.shuffled((-2, -1, 1, 2)):
            at = f"/receipts/{event.receipt}/boundary"
            try:
                executed = moved(parent, event, event.act + by, notice=variant == "truth")
                if variant == "truth":
                    edits = Edits(executed=(*executed, Replace(path=f"{at}/applied", value=event.act + by)))
                elif not event.moves:
                    raise InapplicableError("it moves nothing, and the log says when it was due")
                else:
                    edits = Edits(executed=executed, recorded=_moved_back(parent, event, event.act + by))
                carry_out(parent, edits)
            except InapplicableError as error:
                lacking = str(error)
                continue
            return edits
    raise InapplicableError(lacking)


def _moved_back(parent: Parent, event: Event, act: int) -> tuple[Op, ...]:
    place = len(parent.document["acts"][act]["deltas"]) if act < event.act else 0
    delta = parent.document["acts"][event.act]["deltas"][event.delta]
    return (
        Remove(path=f"/acts/{act}/deltas/{place}"),
        Add(path=f"/acts/{event.act}/deltas/{event.delta}", value=delta),
        Replace(path=f"/receipts/{event.receipt}/roots", value=receipt_of(parent, event)["roots"]),
    )


def f5(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The event comes inside the act: between its read and its write, though the act's number is right."""
    if variant == "repeats":
        found = [(event, stale_facts(parent, event, [event.act])) for event in parent.events]
        _, facts = one([item for item in found if item[1]], draws, "no act reads what its own event changes")
        return Edits(recorded=draws.choice(facts))
    acts = parent.document["acts"]
    inside = [event for event in parent.events if event.act and EXECUTION in acts[event.act]["memory"]]
    event = one(inside, draws, "no event behind an action of the agent, by an executor that keeps its steps")
    steps = acts[event.act]["memory"][EXECUTION]["steps"]
    states = walk_honestly(parent)
    alone = apply(cast(Json, states[event.act - 1]), read_ops(ops_of(parent, event)))
    root = root_digest(component_digests(cast(State, alone)))
    read, write, *rest = steps
    first = rest.index(next(step for step in rest if step["step"] == f"contract:{event.contract.id}"))
    late = {"root": rest[first]["root"], "step": write["step"]}
    order = [read, {"root": root, "step": rest[first]["step"]}, *rest[:first], late, *rest[first + 1 :]]
    return Edits(recorded=(Replace(path=f"/acts/{event.act}/memory/{STEPS}/steps", value=order),))


def f6(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The state changed, and the notice of it never came."""
    event, n, s = told(parent, draws)
    edits: list[Op] = [Remove(path=f"/acts/{n}/segments/{s}")]
    if variant == "truth":
        edits.append(Replace(path=f"/receipts/{event.receipt}/projection", value={"projection": "not_reached"}))
    return Edits(recorded=tuple(edits))


def f7(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The agent is told of a change before it is made."""
    found = [item for item in (_told_before(parent, event) for event in parent.events) if item]
    event, notice, acts = one(found, draws, "no act before an event that is told")
    at = draws.choice(acts)
    place = len(parent.document["acts"][at]["segments"])
    edits: list[Op] = [Add(path=f"/acts/{at}/segments/{place}", value=cast(Json, notice))]
    if variant == "repeats":
        edits.append(Replace(path=f"/receipts/{event.receipt}/projection/act", value=at))
    return Edits(recorded=tuple(edits))


def _told_before(parent: Parent, event: Event) -> tuple[Event, Document, range] | None:
    if event.notice is None or event.act < 2:
        return None
    n, s = event.notice
    return event, parent.document["acts"][n]["segments"][s], range(1, event.act)


def f8(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The notice is cut, or comes again; or a reading is stale."""
    stale = [
        facts
        for event in parent.events
        if event.moves
        for facts in stale_facts(parent, event, range(event.act + 1, parent.last + 1))
    ]
    if not any(event.notice for event in parent.events):
        return Edits(recorded=one(stale, draws, "no notice, and no reading of what an event changed"))
    event, n, s = told(parent, draws)
    text = parent.document["acts"][n]["segments"][s]["text"]
    cut = Replace(path=f"/acts/{n}/segments/{s}/text", value=text[: len(text) // 2])
    if variant == "repeats":
        declared = receipt_of(parent, event)["projection"]["digest"]
        return Edits(recorded=(cut, Replace(path=f"/receipts/{event.receipt}/projection/digest", value=declared)))
    doubled = Add(path=f"/acts/{n}/segments/{s + 1}", value=parent.document["acts"][n]["segments"][s])
    return Edits(recorded=draws.choice([(cut,), (doubled,), *stale]))


def f9(parent: Parent, variant: str, draws: Draws) -> Edits:
    """A message reads as if somebody with more say had sent it."""
    event, n, s = told(parent, draws)
    notice = parent.document["acts"][n]["segments"][s]
    rung = "A1" if notice["rung"] != "A1" else "A2"
    edits = [Replace(path=f"/acts/{n}/segments/{s}/rung", value=rung),
             Replace(path=f"/acts/{n}/segments/{s}/sender", value="system")]  # fmt: skip
    if variant == "truth":
        at = f"/receipts/{event.receipt}/projection"
        edits += [Replace(path=f"{at}/authority", value=rung), Replace(path=f"{at}/sender", value="system")]
    return Edits(recorded=tuple(edits))


def f10(parent: Parent, variant: str, draws: Draws) -> Edits:
    """A restore, or the start, leads to a state with a residue."""
    lacking = "no place for a residue"
    genesis = cast(Json, dict(parent.scenario.genesis))
    kinds = draws.shuffled((*(("restore", at) for at in parent.restores), ("start", (0, 0))))
    for kind, (n, j) in kinds:
        base = genesis if kind == "start" else cast(Json, _after(parent, n))
        for at, value in draws.shuffled(tuple(scalars(base)))[:12]:
            residue = Replace(path=at, value=other_value(value))
            edits = (
                _from_start(parent, residue, variant)
                if kind == "start"
                else _at_restore(parent, n, j, residue, variant)
            )
            try:
                carry_out(parent, edits)
            except InapplicableError as error:
                lacking = str(error)
                continue
            return edits
    raise InapplicableError(lacking)


def _after(parent: Parent, n: int) -> State:
    return walk_honestly(parent)[n]


def _from_start(parent: Parent, residue: Replace, variant: str) -> Edits:
    declared = Replace(path="/genesis", value=parent.document["genesis"])
    return Edits(start=(residue,), recorded=() if variant == "truth" else (declared,))


def _at_restore(parent: Parent, n: int, j: int, residue: Replace, variant: str) -> Edits:
    """The restore is the last thing of its act, so that the state after the act is the one that it left."""
    act = parent.document["acts"][n]
    if j != len(act["deltas"]) - 1:
        raise InapplicableError("another restore follows at once")
    before = walk_honestly(parent)[n - 1]
    for ops in (act["delta"], *(delta["ops"] for delta in act["deltas"][:j])):
        before = cast(State, apply(cast(Json, before), read_ops(ops)))
    left = apply(cast(Json, _after(parent, n)), (residue,))
    at = f"/acts/{n}/deltas/{j}/ops"
    executed = (Replace(path=at, value=cast(Json, written(diff(cast(Json, before), left)))),)
    declared = (Replace(path=at, value=act["deltas"][j]["ops"]),)
    return Edits(executed=executed, recorded=() if variant == "truth" else declared)


def f11(parent: Parent, variant: str, draws: Draws) -> Edits:
    """An act that nothing was declared for is skipped or done twice."""
    acts = parent.document["acts"]
    quiet = [act for act in acts[1:-1] if not act["deltas"]]
    if variant == "repeats":
        for act in draws.shuffled([act for act in quiet if act["delta"]]):
            edits = Edits(executed=(Replace(path=f"/acts/{act['n']}/delta", value=[]),))
            try:
                carry_out(parent, edits)
            except InapplicableError:
                continue
            return edits
        raise InapplicableError("no act whose effect could be left out")
    act = one([act for act in quiet if EXECUTION in act["memory"]], draws, "no executor that keeps its steps")
    kept = act["memory"][EXECUTION]
    read, write, *rest = kept["steps"]
    at = f"/acts/{act['n']}/memory/{STEPS}"
    if draws.below(2):
        twice = [read, write, {"root": write["root"], "step": "read"}, write, *rest]
        return Edits(recorded=(Replace(path=f"{at}/steps", value=twice),))
    return Edits(recorded=(Replace(path=f"{at}/steps", value=[]),))


def f12(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The judge is given an earlier state, or an earlier trace."""
    acts, closing = parent.document["acts"], parent.document["closing"]
    if variant == "truth":
        roots = sorted({act["root"] for act in acts} - {closing["root"]})
        return Edits(recorded=(Replace(path="/closing/root", value=one(roots, draws, "one root all along")),))
    if len(acts) < 3:
        raise InapplicableError("no earlier trace")
    trace = digest_json(acts[draws.between(1, len(acts) - 2)])
    judged = {"root": closing["root"], "scenario": parent.document["scenario"], "trace": trace,
              "type": "sealkit/judged/v1"}  # fmt: skip
    return Edits(recorded=(Replace(path="/closing/judged", value=digest_json(cast(Json, judged))),))


def f13a(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The tail of the record is cut off, behind everything that was declared."""
    acts = parent.document["acts"]
    shown = [item["projection"].get("act", 0) for item in parent.document["receipts"] if "projection" in item]
    least = max([1, *(item["boundary"]["applied"] for item in parent.document["receipts"]), *shown])
    if least >= parent.last:
        raise InapplicableError("nothing behind the last declared occurrence")
    cut = draws.between(least, parent.last - 1)
    edits: list[Op] = [Remove(path=f"/acts/{n}") for n in range(parent.last, cut, -1)]
    edits.append(Replace(path="/closing/root", value=acts[cut]["root"]))
    if variant == "truth":
        edits.append(Replace(path="/closing/ended", value="agent_stopped"))
    else:
        edits.append(Replace(path="/closing/counts/acts", value=parent.document["closing"]["counts"]["acts"]))
    return Edits(recorded=tuple(edits))


def f13b(parent: Parent, variant: str, draws: Draws) -> Edits:
    """The record of another slot is filed under this one."""
    slot = dict(parent.document["slot"])
    other = {**slot, "seed": int(slot.get("seed", 0)) + 1 + draws.below(5)}
    if variant == "truth":
        return Edits(recorded=(Replace(path="/slot", value=other),))
    start = digest_json({
        "genesis": parent.document["genesis"], "pin": parent.document["pin"], "scenario": parent.document["scenario"],
        "slot": cast(Json, other), "type": "sealkit/start/v1",
    })  # fmt: skip
    edits = [Replace(path="/acts/0/prev", value=start)]
    edits += [Replace(path=f"/receipts/{i}/episode", value=start) for i in range(len(parent.document["receipts"]))]
    return Edits(recorded=tuple(edits))
