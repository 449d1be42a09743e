"""What `causal` sees: a chained trace of execution, with what each step read and wrote and the digests around it.

No notice, no projection, no receipt chain, no judge's evidence stands in it, and no slot.
"""

from __future__ import annotations

from typing import TypeAlias

from sealkit.wire.canon import decode_record, digest_json, digest_record, encode_record, encode_value
from sealkit.wire.episode import Act, Action, Delta, Episode, Fact, Receipt, Roots
from sealkit.wire.errors import MalformedError
from sealkit.wire.records import Count, Patch, Record, Scalar
from sealkit.wire.trace import head_digest

EXECUTION = "sealkit/execution/v1"  # the key in `memory` under which an executor keeps its own steps


class Substep(Record, frozen=True):
    """One thing that the executor did within an act, and the material root after it."""

    step: str
    root: str


class Execution(Record, frozen=True):
    """The executor's own record of an act: which action it carried out, and in which order it read and wrote."""

    key: str
    steps: tuple[Substep, ...]


class Read(Record, frozen=True):
    """A value that an act handed to the agent, and the place that it was read from."""

    pointer: str
    value: Scalar


class Step(Record, frozen=True):
    """One act. `linked` says whether its recorded head and its link to the act before hold."""

    n: Count
    action: Action
    linked: bool
    writes: Patch
    effects: tuple[Delta, ...]
    post: str
    reads: tuple[Read, ...]
    execution: Execution | None


class Checkpoint(Record, frozen=True):
    """One event with the digests before and after it. `act` is that after which it was applied."""

    event: str
    act: Count
    roots: Roots


class Seen(Record, frozen=True, tag_field="type", tag="sealkit/view-causal/v1"):
    """All that this policy sees."""

    identity: str
    genesis: str
    steps: tuple[Step, ...]
    checkpoints: tuple[Checkpoint, ...]
    root: str
    ended: str


Key: TypeAlias = str


def action_key(n: int, action: Action) -> Key:
    """The canonical identity of an action: which act it is, its name, its arguments."""
    return digest_json({"act": n, "args": action.args, "name": action.name})


def view(episode: bytes) -> bytes:
    """What this policy sees of an episode; `MalformedError` if that is none."""
    record = decode_record(episode, Episode, where="episode")
    if not record.acts:
        raise MalformedError("an episode without acts", where="episode")
    steps, before = [], None
    for act in record.acts:
        steps.append(_step(act, before))
        before = act
    seen = Seen(
        identity=digest_json({"pin": record.pin, "scenario": record.scenario, "slot": dict(record.slot)}),
        genesis=record.genesis,
        steps=tuple(steps),
        checkpoints=tuple(
            Checkpoint(
                event=f"contract:{item.contract.id}" if isinstance(item, Receipt) else f"restore:{item.id}",
                act=item.boundary.applied,
                roots=item.roots,
            )
            for item in record.receipts
        ),
        root=record.closing.root,
        ended=record.closing.ended,
    )
    return encode_record(seen)


def _step(act: Act, before: Act | None) -> Step:
    linked = act.head == head_digest(act.n, act.action, act.delta, act.prev)
    if before is not None:
        linked = linked and act.prev == digest_record(before)
    kept = act.memory.get(EXECUTION)
    where = f"acts[{act.n}].memory, {EXECUTION}"
    execution = None if kept is None else decode_record(encode_value(kept), Execution, where=where)
    return Step(
        n=act.n, action=act.action, linked=linked, writes=act.delta, effects=act.deltas, post=act.root,
        reads=tuple(
            Read(pointer=item.pointer, value=item.value) for item in act.segments if isinstance(item, Fact)
        ),
        execution=execution,
    )  # fmt: skip
