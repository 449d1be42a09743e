"""The parent carried out again with a fork's edits, by code of the audit's own: what the fork has to be."""

from __future__ import annotations

from typing import Any

from .plain import UnfitError, again, alike, difference, digest, found, patched, sha, spelled

STEPS = "sealkit/execution/v1"


def due_line(parent: Any, scenario: Any, edits: Any) -> bytes:
    """The line that follows from the parent, its scenario and the edits."""
    replaced = [op["path"] for op in edits["executed"] if op["op"] == "replace"]
    record = patched(parent, edits["executed"])
    if edits["start"] or edits["executed"]:
        honest = _Execution(scenario, again(parent), scenario["genesis"], [], None)
        faulty = _Execution(scenario, record, patched(scenario["genesis"], edits["start"]), replaced, honest.after)
        record["genesis"] = root_of(patched(scenario["genesis"], edits["start"]))
        _receipts(record, faulty.came, replaced)
        if _open("/closing/root", replaced):
            record["closing"]["root"] = record["acts"][-1]["root"]
    record = patched(record, edits["recorded"])
    replaced += [op["path"] for op in edits["recorded"] if op["op"] == "replace"]
    _chain(record, scenario, replaced)
    return spelled(record)


def _open(pointer: str, replaced: list[str]) -> bool:
    return not any(pointer == place or pointer.startswith(f"{place}/") for place in replaced)


def root_of(state: Any) -> str:
    """The digest of a material state."""
    parts = {name: digest({"name": name, "type": "sealkit/component/v1", "value": state[name]}) for name in state}
    return digest({"components": parts, "type": "sealkit/root/v1"})


def told(value: Any) -> str:
    """A value in words."""
    return value if isinstance(value, str) else spelled(value).decode()


class _Execution:
    """One execution of a record's acts; it writes deltas, roots, facts and the executor's steps into the record."""

    def __init__(self, scenario: Any, record: Any, state: Any, replaced: list[str], honest: list[Any] | None) -> None:
        self.scenario, self.state, self.replaced = scenario, state, replaced
        self.kept: dict[str, Any] = {}
        self.came: list[Any] = []  # cause, act, roots
        self.after: list[Any] = []
        self.times: dict[str, int] = {}
        for n, act in enumerate(record["acts"]):
            self._act(n, act, honest)

    def _act(self, n: int, act: Any, honest: list[Any] | None) -> None:
        steps = [("read", root_of(self.state))]
        act["delta"] = self._take(act["delta"], f"/acts/{n}/delta")
        steps.append(("write", root_of(self.state)))
        snapshots_due = True
        for j, delta in enumerate(act["deltas"]):
            kind, _, name = delta["cause"].partition(":")
            if kind == "restore" and snapshots_due:
                self._keep(n)
                snapshots_due = False
            before = self.state
            at = f"/acts/{n}/deltas/{j}/ops"
            if kind == "restore" and _open(at, self.replaced):
                self.state = self.kept[self._snapshot_of(name)]
                delta["ops"] = difference(before, self.state)
            else:
                delta["ops"] = self._take(delta["ops"], at)
            if kind == "contract":
                self.times.setdefault(name, n)
            self.came.append((delta["cause"], n, _around(before, self.state)))
            steps.append((delta["cause"], root_of(self.state)))
        if snapshots_due:
            self._keep(n)
        act["root"] = root_of(self.state)
        steps.append(("return", act["root"]))
        self.after.append(self.state)
        if honest is not None:
            self._facts(n, act, honest)
        if STEPS in act["memory"] and _open(f"/acts/{n}/memory", self.replaced):
            key = digest({"act": n, "args": act["action"]["args"], "name": act["action"]["name"]})
            act["memory"][STEPS] = {"key": key, "steps": [{"root": root, "step": step} for step, root in steps]}

    def _take(self, ops: Any, at: str) -> Any:
        before, self.state = self.state, patched(self.state, ops)
        return difference(before, self.state) if _open(at, self.replaced) else ops

    def _snapshot_of(self, restore: str) -> str:
        name = next((item["snapshot"] for item in self.scenario["restores"] if item["id"] == restore), "")
        if name not in self.kept:
            raise UnfitError(f"restore {restore} has no snapshot")
        return str(name)

    def _keep(self, n: int) -> None:
        for item in self.scenario["snapshots"]:
            when = item["when"]
            if when["when"] == "after_act":
                due = when["act"]
            else:
                due = self.times[when["contract"]] + when["acts"] if when["contract"] in self.times else None
            if due == n:
                self.kept[item["id"]] = self.state

    def _facts(self, n: int, act: Any, honest: list[Any]) -> None:
        for s, segment in enumerate(act["segments"]):
            if segment["kind"] != "fact" or not _open(f"/acts/{n}/segments/{s}", self.replaced):
                continue
            now = found(self.state, segment["pointer"])
            try:
                then = found(honest[n], segment["pointer"]) if n < len(honest) else None
            except UnfitError:
                then = None
            if alike(now, segment["value"]) or not alike(then, segment["value"]):
                continue  # unchanged, or declared to be false when it was shown
            if isinstance(now, (dict, list)) or segment["text"].count(told(segment["value"])) != 1:
                raise UnfitError(f"the fact at act {n} cannot tell what is so")
            segment["text"] = segment["text"].replace(told(segment["value"]), told(now))
            segment["value"] = now


def _around(before: Any, after: Any) -> Any:
    moved = sorted(name for name in after if not alike(before.get(name), after[name]))
    return {"after": root_of(after), "before": root_of(before), "moved": moved}


def _receipts(record: Any, came: list[Any], replaced: list[str]) -> None:
    """Each receipt has the roots around what it is the receipt of."""
    left = list(range(len(came)))
    for i, receipt in enumerate(record["receipts"]):
        cause = f"contract:{receipt['contract']['id']}" if "contract" in receipt else f"restore:{receipt['id']}"
        same = [item for item in left if came[item][0] == cause]
        here = [item for item in same if came[item][1] == receipt["boundary"]["applied"]]
        if not same:
            continue
        item = (here or same)[0]
        left.remove(item)
        for name in ("after", "before", "moved"):
            if _open(f"/receipts/{i}/roots/{name}", replaced):
                receipt["roots"][name] = came[item][2][name]


def _chain(record: Any, scenario: Any, replaced: list[str]) -> None:
    """Identity, heads, links, receipts, counts, the judge's input and the record digest."""

    def write(holder: Any, name: str, at: str, value: Any) -> None:
        if _open(at, replaced):
            holder[name] = value

    start = {name: record[name] for name in ("genesis", "pin", "scenario", "slot")}
    identity = digest({**start, "type": "sealkit/start/v1"})
    link, heads = identity, {}
    for n, act in enumerate(record["acts"]):
        write(act, "prev", f"/acts/{n}/prev", link)
        head = {name: act[name] for name in ("action", "delta", "n", "prev")}
        write(act, "head", f"/acts/{n}/head", digest({**head, "type": "sealkit/head/v1"}))
        heads[act["n"]] = act["head"]
        link = digest(act)
    before = None
    for i, receipt in enumerate(record["receipts"]):
        at, boundary = f"/receipts/{i}", receipt["boundary"]
        write(receipt, "episode", f"{at}/episode", identity)
        write(boundary, "head", f"{at}/boundary/head", heads.get(boundary["applied"], boundary["head"]))
        words = _shown(record, scenario, receipt)
        if words is not None:
            write(receipt["projection"], "digest", f"{at}/projection/digest", sha(words.encode()))
        write(receipt, "previous", f"{at}/previous", before)
        before = digest(receipt)
    closing = record["closing"]
    segments = [segment for act in record["acts"] for segment in act["segments"]]
    counted = {
        "acts": len(record["acts"]) - 1,
        "notices": len([segment for segment in segments if segment["kind"] == "notice"]),
        "occurrences": len([receipt for receipt in record["receipts"] if "contract" in receipt]),
        "restores": len([receipt for receipt in record["receipts"] if "contract" not in receipt]),
    }
    for name in counted:
        write(closing["counts"], name, f"/closing/counts/{name}", counted[name])
    given = {"root": closing["root"], "scenario": record["scenario"], "trace": link}
    write(closing, "judged", "/closing/judged", digest({**given, "type": "sealkit/judged/v1"}))
    del closing["record"]
    closing["record"] = digest(record)


def _shown(record: Any, scenario: Any, receipt: Any) -> str | None:
    """The text behind a projection: the notice in the return that it names, else the reading that disclosed it."""
    projection = receipt.get("projection", {})
    if projection.get("projection") != "shown" or projection["act"] >= len(record["acts"]):
        return None
    segments = record["acts"][projection["act"]]["segments"]
    name = receipt["contract"]["id"]
    for segment in segments:
        if segment["kind"] == "notice" and segment["contract"] == name:
            return str(segment["text"])
    due: Any = next((item["tell"]["due"] for item in scenario["contracts"] if item["id"] == name), {})
    texts = [s["text"] for s in segments if s["kind"] == "fact" and s["pointer"] == due.get("pointer")]
    for text in texts:
        if sha(text.encode()) == projection["digest"]:
            return str(text)
    return str(texts[0]) if texts else None
