"""The faulty executor: carries out a parent's acts again with the edits of one fault, and writes the record.

What follows from an edit follows as it would have in a real run: states, the deltas that lead to them, roots, facts
that are read off the state, the executor's own steps, heads, links, receipts, counts, the judge's input, the record
digest.
Three kinds of edits, in this order:

    start      to the state in which the episode begins
    executed   to what was carried out: the walk follows them
    recorded   to what was written down: digests that commit to them follow, states do not

Held as recorded: the agent's actions, free text, own deltas as far as they still fit. A value that an edit has
replaced is never derived again; what an edit puts in or takes out moves its neighbours, and is derived with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from sealkit.wire.canon import encode_value
from sealkit.wire.contract import spell
from sealkit.wire.declared import AfterAct, Scenario
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import apply, diff, resolve
from sealkit.wire.records import Add, Json, Op, Remove, Replace
from sealkit.wire.trace import component_digests, root_digest

from .parent import EXECUTION, Document, InapplicableError, Parent

State = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits of one fault. Each is a JSON Patch, the first on the genesis, the others on the record."""

    start: tuple[Op, ...] = ()
    executed: tuple[Op, ...] = ()
    recorded: tuple[Op, ...] = ()


@dataclass(slots=True)
class Happened:
    """An event as it was carried out."""

    cause: str
    act: int
    roots: Document


@dataclass(slots=True)
class Run:
    """One carrying-out: the record being written, and what was seen on the way."""

    scenario: Scenario
    document: Document
    state: State
    fixed: tuple[str, ...]
    states: list[State] = field(default_factory=list)  # after each act
    happened: list[Happened] = field(default_factory=list)
    kept: dict[str, State] = field(default_factory=dict)

    def free(self, pointer: str) -> bool:
        """Whether no edit has written this place, or one above it."""
        return not any(pointer == place or pointer.startswith(place + "/") for place in self.fixed)


def carry_out(parent: Parent, edits: Edits) -> bytes:
    """The line of the fork; `InapplicableError` where the acts that follow cannot be carried out any more."""
    try:
        document = _edited(parent.document, edits.executed)
        fixed = _replaced(edits.executed)
        if edits.start or edits.executed:
            honest = walk_honestly(parent)
            state = cast(State, apply(_genesis(parent.scenario), edits.start))
            run = Run(parent.scenario, document, state, fixed)
            document["genesis"] = _root(state)
            _walk(run, honest)
            _write_roots(run)
        document = _edited(document, edits.recorded)
        relink(document, parent, (*fixed, *_replaced(edits.recorded)))
    except MalformedError as error:
        raise InapplicableError(f"what follows cannot be carried out: {error}") from error
    return encode_value(document)


def _copied(document: Document) -> Document:
    copied: Document = json.loads(json.dumps(document))
    return copied


def _edited(document: Document, ops: Iterable[Op]) -> Document:
    return _copied(cast(Document, apply(cast(Json, document), ops)))


def _digest(value: object) -> str:
    """The digest of a value. It is not checked against the profile: the whole line is, once, at the end."""
    return digest_bytes(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def _replaced(ops: Iterable[Op]) -> tuple[str, ...]:
    return tuple(op.path for op in ops if isinstance(op, Replace))


@lru_cache(maxsize=8)
def walk_honestly(parent: Parent) -> tuple[State, ...]:
    """The state after each act of the parent."""
    run = Run(parent.scenario, _copied(parent.document), _genesis(parent.scenario), ())
    _walk(run, None)
    return tuple(run.states)


def _genesis(scenario: Scenario) -> State:
    return dict(scenario.genesis)


def _root(state: Mapping[str, Json]) -> str:
    return root_digest(component_digests(state))


def written(ops: Iterable[Op]) -> list[Document]:
    """A patch as a record spells it."""
    names: dict[type, str] = {Add: "add", Replace: "replace", Remove: "remove"}
    return [
        {"op": names[type(op)], "path": op.path, **({} if isinstance(op, Remove) else {"value": op.value})}
        for op in ops
    ]


def read_ops(ops: Iterable[Mapping[str, Any]]) -> tuple[Op, ...]:
    """A patch as a record spells it, read."""
    kinds: dict[str, type[Add] | type[Replace]] = {"add": Add, "replace": Replace}
    return tuple(
        Remove(path=op["path"]) if op["op"] == "remove" else kinds[op["op"]](path=op["path"], value=op["value"])
        for op in ops
    )


# --- the walk --------------------------------------------------------------------------------------


def _walk(run: Run, honest: tuple[State, ...] | None) -> None:
    applied: dict[str, int] = {}
    for n, act in enumerate(run.document["acts"]):
        steps = [{"root": _root(run.state), "step": "read"}]
        act["delta"] = _change(run, act["delta"], f"/acts/{n}/delta")
        steps.append({"root": _root(run.state), "step": "write"})
        restoring = False
        for j, delta in enumerate(act["deltas"]):
            kind, _, id = delta["cause"].partition(":")
            if kind == "restore" and not restoring:
                _keep(run, n, applied)
                restoring = True
            before = run.state
            _carry_out(run, delta, f"/acts/{n}/deltas/{j}/ops", id if kind == "restore" else None)
            if kind == "contract":
                applied.setdefault(id, n)
            run.happened.append(Happened(delta["cause"], n, _roots(before, run.state)))
            steps.append({"root": _root(run.state), "step": delta["cause"]})
        if not restoring:
            _keep(run, n, applied)
        act["root"] = _root(run.state)
        steps.append({"root": act["root"], "step": "return"})
        run.states.append(run.state)
        _refresh(run, n, act, honest)
        if EXECUTION in act["memory"] and run.free(f"/acts/{n}/memory"):
            key = _digest({"act": n, "args": act["action"]["args"], "name": act["action"]["name"]})
            act["memory"][EXECUTION] = {"key": key, "steps": steps}


def _change(run: Run, ops: list[Document], pointer: str) -> list[Document]:
    """Take a delta; it is spelled as the difference that it makes, unless an edit says how."""
    before = run.state
    run.state = cast(State, apply(cast(Json, before), read_ops(ops)))
    return written(diff(cast(Json, before), cast(Json, run.state))) if run.free(pointer) else ops


def _carry_out(run: Run, delta: Document, pointer: str, restore: str | None) -> None:
    if restore is None or not run.free(pointer):
        delta["ops"] = _change(run, delta["ops"], pointer)
        return
    snapshot = next((item.snapshot for item in run.scenario.restores if item.id == restore), "")
    if snapshot not in run.kept:
        raise InapplicableError(f"restore {restore} comes before its snapshot was kept")
    before, run.state = run.state, run.kept[snapshot]
    delta["ops"] = written(diff(cast(Json, before), cast(Json, run.state)))


def _keep(run: Run, n: int, applied: Mapping[str, int]) -> None:
    for snapshot in run.scenario.snapshots:
        when = snapshot.when
        due = when.act if isinstance(when, AfterAct) else applied.get(when.contract, -when.acts - 1) + when.acts
        if due == n:
            run.kept[snapshot.id] = run.state


def _roots(before: State, after: State) -> Document:
    here, there = component_digests(before), component_digests(after)
    moved = sorted(name for name in there if here.get(name) != there[name])
    return {"after": root_digest(there), "before": root_digest(here), "moved": moved}


def _refresh(run: Run, n: int, act: Document, honest: tuple[State, ...] | None) -> None:
    """Facts that were so in the parent are read again; one that was declared to be false stays as it was shown."""
    if honest is None:
        return
    then = honest[n] if n < len(honest) else {}
    for s, segment in enumerate(act["segments"]):
        if segment["kind"] != "fact" or not run.free(f"/acts/{n}/segments/{s}"):
            continue
        value = resolve(cast(Json, run.state), segment["pointer"])
        if _same(value, segment["value"]) or not _same(_at(then, segment["pointer"]), segment["value"]):
            continue
        old = spell(segment["value"])
        if segment["text"].count(old) != 1 or isinstance(value, (dict, list)):
            raise InapplicableError(f"act {n} would tell another value, and its words cannot be made to say it")
        segment["text"] = segment["text"].replace(old, spell(value))
        segment["value"] = value


def _at(state: State, pointer: str) -> Json:
    try:
        return resolve(cast(Json, state), pointer)
    except MalformedError:
        return None


def _same(value: object, other: object) -> bool:
    return type(value) is type(other) and value == other


def _write_roots(run: Run) -> None:
    """Receipts of what was carried out, and the last root."""
    left = list(run.happened)
    for i, receipt in enumerate(run.document["receipts"]):
        item = _match(left, receipt)
        if item is None:
            continue
        left.remove(item)
        for name, value in item.roots.items():
            if run.free(f"/receipts/{i}/roots/{name}"):
                receipt["roots"][name] = value
    if run.free("/closing/root"):
        run.document["closing"]["root"] = run.document["acts"][-1]["root"]


def _match(left: list[Happened], receipt: Document) -> Happened | None:
    cause = f"contract:{receipt['contract']['id']}" if "contract" in receipt else f"restore:{receipt['id']}"
    same = [item for item in left if item.cause == cause]
    applied = receipt["boundary"]["applied"]
    return next((item for item in same if item.act == applied), same[0] if same else None)


# --- digests ---------------------------------------------------------------------------------------


def relink(document: Document, parent: Parent, fixed: tuple[str, ...]) -> None:
    """Make every digest that commits to something right again, but for places that an edit has written."""

    def put(node: Document, name: str, pointer: str, value: object) -> None:
        if not any(pointer == place or pointer.startswith(place + "/") for place in fixed):
            node[name] = value

    start = _digest({
        "genesis": document["genesis"], "pin": document["pin"], "scenario": document["scenario"],
        "slot": document["slot"], "type": "sealkit/start/v1",
    })  # fmt: skip
    prev, heads = start, {}
    for n, act in enumerate(document["acts"]):
        put(act, "prev", f"/acts/{n}/prev", prev)
        head = {name: act[name] for name in ("action", "delta", "n", "prev")}
        put(act, "head", f"/acts/{n}/head", _digest({**head, "type": "sealkit/head/v1"}))
        heads[act["n"]] = act["head"]
        prev = _digest(act)
    previous: str | None = None
    for i, receipt in enumerate(document["receipts"]):
        put(receipt, "episode", f"/receipts/{i}/episode", start)
        boundary = receipt["boundary"]
        head = heads.get(boundary["applied"], boundary["head"])
        put(boundary, "head", f"/receipts/{i}/boundary/head", head)
        words = _words_of(document, parent, receipt)
        if words is not None:
            put(receipt["projection"], "digest", f"/receipts/{i}/projection/digest", digest_bytes(words.encode()))
        put(receipt, "previous", f"/receipts/{i}/previous", previous)
        previous = _digest(receipt)
    _close(document, put, prev)


def _words_of(document: Document, parent: Parent, receipt: Document) -> str | None:
    """The words that the receipt says were shown, as they stand in the return that it names."""
    projection = receipt.get("projection", {})
    if projection.get("projection") != "shown" or projection["act"] >= len(document["acts"]):
        return None
    id = receipt["contract"]["id"]
    segments = document["acts"][projection["act"]]["segments"]
    notice = next((item for item in segments if item["kind"] == "notice" and item["contract"] == id), None)
    if notice is not None:
        return str(notice["text"])
    due = next((contract.tell.due for contract in parent.scenario.contracts if contract.id == id), None)
    pointer = getattr(due, "pointer", None)
    facts = [item["text"] for item in segments if item["kind"] == "fact" and item["pointer"] == pointer]
    known = [text for text in facts if digest_bytes(text.encode()) == projection["digest"]]
    return str((known or facts)[0]) if facts else None


def _close(document: Document, put: Any, trace: str) -> None:
    closing, acts, receipts = document["closing"], document["acts"], document["receipts"]
    counts = {
        "acts": len(acts) - 1,
        "notices": sum(segment["kind"] == "notice" for act in acts for segment in act["segments"]),
        "occurrences": sum("contract" in receipt for receipt in receipts),
        "restores": sum("contract" not in receipt for receipt in receipts),
    }
    for name, value in counts.items():
        put(closing["counts"], name, f"/closing/counts/{name}", value)
    judged = {"root": closing["root"], "scenario": document["scenario"], "trace": trace, "type": "sealkit/judged/v1"}
    put(closing, "judged", "/closing/judged", _digest(judged))
    closing.pop("record")
    closing["record"] = _digest(document)
