"""State transitions: the root after each act and around each event. No action, no state, no text."""

from __future__ import annotations

from sealkit.wire.canon import decode_record, digest_json, encode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.episode import Episode, Receipt, Roots, Trusted
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Count, Record
from sealkit.wire.trace import component_digests, root_digest
from sealkit.wire.verdict import Verdict

from .faults import Fault, identity_of, verdict_of


class TransitionSeen(Record, frozen=True):
    """One event, the act after which it was applied, the roots around it."""

    event: str
    act: Count
    roots: Roots


class Seen(Record, frozen=True, tag_field="type", tag="sealkit/view-state-transition/v1"):
    """All that this policy sees. `roots` are those after each act."""

    identity: str
    genesis: str
    roots: tuple[str, ...]
    transitions: tuple[TransitionSeen, ...]
    last: str


def view(episode: bytes) -> bytes:
    """What this policy sees of an episode; `MalformedError` if that is none."""
    record = decode_record(episode, Episode, where="episode")
    if not record.acts:
        raise MalformedError("an episode without acts", where="episode")
    transitions = tuple(
        TransitionSeen(
            event=f"contract:{item.contract.id}" if isinstance(item, Receipt) else f"restore:{item.id}",
            act=item.boundary.applied,
            roots=item.roots,
        )
        for item in record.receipts
    )
    identity = digest_json({"pin": record.pin, "scenario": record.scenario, "slot": dict(record.slot)})
    return encode_record(
        Seen(
            identity=identity, genesis=record.genesis, roots=tuple(act.root for act in record.acts),
            transitions=transitions, last=record.closing.root,
        )
    )  # fmt: skip


def rule(trusted: Trusted, seen: bytes) -> Verdict:
    """The verdict on what is seen, and on nothing else."""
    what = decode_record(seen, Seen, where="view")
    identity = identity_of(trusted)
    if what.identity != identity:
        return verdict_of([("evidence", "identity", what.identity, identity)])
    scenario = decode_record(trusted.scenario, Scenario, where="the trusted scenario")
    genesis = root_digest(component_digests(scenario.genesis))
    faults: list[Fault] = []
    if what.genesis != genesis:
        faults.append(("lineage", "genesis", what.genesis, genesis))
    if what.last != what.roots[-1]:
        faults.append(("judgment", "last", what.last, what.roots[-1]))
    for i, item in enumerate(what.transitions):
        faults += _around(what, i, item)
    return verdict_of(faults)


def _around(what: Seen, i: int, item: TransitionSeen) -> list[Fault]:
    """One transition leads on from the one before it in its act, and the last of an act to the root after that act."""
    where = f"transitions[{i}]"
    if item.act >= len(what.roots):
        return [("boundary", where, f"after act {item.act}", f"after act {len(what.roots) - 1} or sooner")]
    faults: list[Fault] = []
    following = what.transitions[i + 1] if i + 1 < len(what.transitions) else None
    if following is not None and following.act < item.act:
        faults.append(("lineage", f"transitions[{i + 1}]", f"after act {following.act}", f"act {item.act} or later"))
    due = following.roots.before if following is not None and following.act == item.act else what.roots[item.act]
    if item.roots.after != due:
        faults.append(("environment", f"{where}.roots.after", item.roots.after, due))
    if (item.roots.before == item.roots.after) != (item.roots.moved == ()):
        moved = ", ".join(item.roots.moved) or "nothing"
        faults.append(("environment", f"{where}.roots.moved", moved, "components exactly if the root moves"))
    kept = (what.genesis, *what.roots[: item.act], item.roots.before)
    if item.event.startswith("restore:") and item.roots.after not in kept:
        faults.append(("lineage", f"{where}.roots.after", item.roots.after, "the root of an earlier boundary"))
    return faults
