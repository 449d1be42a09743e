"""Follows a trace from the genesis: states, dependencies, checkpoints, and the executor's own order of steps.

The walk goes along the recorded writes. What it cannot follow ends it (`Broken`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from sealkit.wire.episode import Action, Roots
from sealkit.wire.errors import MalformedError
from sealkit.wire.patch import apply, covers, diff, resolve
from sealkit.wire.records import Json, Patch
from sealkit.wire.trace import BEGIN, component_digest, component_digests, root_digest
from sealkit.wire.verdict import Origin

from .faults import Faults
from .seen import Seen, Step, action_key

State: TypeAlias = dict[str, Json]


class Broken(Exception):
    """The trace cannot be followed further."""


@dataclass(frozen=True, slots=True)
class Applied:
    """One event where the trace has it, with the states around it."""

    event: str
    act: int
    before: State
    after: State
    roots: Roots
    restored: bool  # whether a restore stands before it


@dataclass(frozen=True, slots=True)
class Moment:
    """The states of one act: after the act before it, after its own writes, after its events."""

    step: Step
    pre: State
    own: State
    post: State


class Trace:
    """What the walk has found so far."""

    def __init__(self, seen: Seen, genesis: State, faults: Faults) -> None:
        self.seen, self.faults, self.state = seen, faults, genesis
        self.digests = component_digests(genesis)
        self.root = root_digest(self.digests)
        self.applied: list[Applied] = []
        self.moments: list[Moment] = []
        self.unexplained: list[tuple[int, str]] = []  # act, pointer: readings that are not what the state has
        self.roots: list[str] = [self.root]  # at boundaries, in their order
        self.strayed: int | None = None  # the first act whose recorded root is another

    @property
    def restored(self) -> bool:
        """Whether a restore stands in the trace so far."""
        return any(item.event.startswith("restore:") for item in self.applied)

    def change(self, ops: Patch, where: str) -> Roots:
        """Take one patch; the roots around it."""
        before = self.state
        try:
            after = cast(State, apply(before, ops))
        except MalformedError as error:
            self.faults.add("environment", where, error, "a change of the state that was")
            raise Broken from error
        if after.keys() != before.keys():
            self.faults.add("environment", where, "a component added or dropped", "the components of the genesis")
            raise Broken
        root, moved, self.state = self.root, [], after
        for name in sorted({op.path.split("/", 2)[1] for op in ops}):
            digest = component_digest(name, after[name])
            if digest != self.digests[name]:
                self.digests[name] = digest
                moved.append(name)
        if moved:
            self.root = root_digest(self.digests)
        return Roots(before=root, after=self.root, moved=tuple(moved))


def follow(trace: Trace) -> None:
    """Walk to the end, then hold checkpoints and repeated actions against what was found."""
    seen, faults = trace.seen, trace.faults
    if seen.genesis != trace.root:
        faults.add("lineage", "genesis", seen.genesis, trace.root)
    if seen.steps[0].action != BEGIN or seen.steps[0].writes:
        faults.add("evidence", "steps", "no step 0 called begin", "begin, which writes nothing")
    for n, step in enumerate(seen.steps):
        if step.n != n or not step.linked:
            faults.add("evidence", f"steps[{n}]", f"act {step.n}, linked: {step.linked}", f"act {n}, chained")
        _follow_step(trace, n, step)
    if trace.strayed is not None:
        _name_stray(trace, trace.strayed)
    elif seen.root != trace.root:
        # The state of an earlier boundary is one that was handed on too soon; any other was never reached.
        faults.add("judgment" if seen.root in trace.roots else "environment", "root", seen.root, trace.root)
    _check_checkpoints(trace)
    _check_repetitions(trace)
    _check_once(trace)


def _follow_step(trace: Trace, n: int, step: Step) -> None:
    pre, expected = trace.state, [("read", trace.root)]
    trace.change(step.writes, f"steps[{n}].writes")
    own = trace.state
    expected.append(("write", trace.root))
    for i, effect in enumerate(step.effects):
        before, restored = trace.state, trace.restored
        roots = trace.change(effect.ops, f"steps[{n}].effects[{i}]")
        expected.append((effect.cause, trace.root))
        trace.applied.append(Applied(effect.cause, n, before, trace.state, roots, restored))
        known = roots.after in trace.roots or roots.after == expected[-2][1]
        if effect.cause.startswith("restore:") and not known:
            trace.faults.add("lineage", f"steps[{n}].effects[{i}]", roots.after, "the root of an earlier boundary")
    if step.post != trace.root and trace.strayed is None:
        trace.strayed = n
    trace.roots.append(trace.root)
    trace.moments.append(Moment(step=step, pre=pre, own=own, post=trace.state))
    expected.append(("return", trace.root))
    _check_execution(trace, n, step, expected)
    for read in step.reads:
        try:
            value = resolve(trace.state, read.pointer)
        except MalformedError as error:
            trace.faults.add("disclosure", f"steps[{n}].reads", error, "a place in the state")
            continue
        if type(value) is not type(read.value) or value != read.value:
            trace.unexplained.append((n, read.pointer))


def _name_stray(trace: Trace, n: int) -> None:
    """Name the first step whose root is not that of its writes: start, restore, an event late or early, or the step.

    Begin executes nothing, so a stray root there is that of another start.
    """
    moment = trace.moments[n]
    step, due = moment.step, root_digest(component_digests(moment.post))
    origin: Origin = "environment"
    began = step.execution.steps[0].root if step.execution and step.execution.steps else None
    elsewhere = not step.effects or (began is not None and began != root_digest(component_digests(moment.pre)))
    if any(effect.cause.startswith("restore:") for effect in step.effects) or (n == 0 and elsewhere):
        origin = "lineage"
    elif _comes_later(trace, n) or _came_early(trace, n):
        origin = "boundary"
    trace.faults.add(origin, f"steps[{n}].post", step.post, due)


def _comes_later(trace: Trace, n: int) -> bool:
    """Whether the root lacks the events of this step, and a later step has them without having written them itself."""
    moment = trace.moments[n]
    if not moment.step.effects or moment.step.post != root_digest(component_digests(moment.own)):
        return False
    missing = {op.path for effect in moment.step.effects for op in effect.ops}
    for later in trace.moments[n + 1 :]:
        written = [op.path for ops in (later.step.writes, *(item.ops for item in later.step.effects)) for op in ops]
        if any(covers(path, place) or covers(place, path) for path in written for place in missing):
            return False
        if later.step.post == root_digest(component_digests(later.post)):
            return True
    return False


def _came_early(trace: Trace, n: int) -> bool:
    """Whether the root has an event already that the trace executes a step or two later."""
    for later in trace.moments[n + 1 : n + 3]:
        for effect in later.step.effects:
            try:
                ahead = cast(State, apply(cast(Json, trace.moments[n].post), effect.ops))
            except MalformedError:
                continue
            if trace.moments[n].step.post == root_digest(component_digests(ahead)):
                return True
    return False


def _check_execution(trace: Trace, n: int, step: Step, expected: list[tuple[str, str]]) -> None:
    """The executor's own steps, where it kept them: the right action, and read, write, events, return in order."""
    execution, where = step.execution, f"steps[{n}].execution"
    if execution is None:
        return
    if execution.key != action_key(n, step.action):
        trace.faults.add("lineage", f"{where}.key", execution.key, f"the key of {step.action.name}, act {n}")
    found = [item.step for item in execution.steps]
    due = [name for name, _ in expected]
    if found == due:
        for item, (name, root) in zip(execution.steps, expected, strict=True):
            if item.root != root and trace.strayed is None:
                trace.faults.add("environment", f"{where}, {name}", item.root, root)
                return
        return
    # The same steps in another order: something came inside the act. An event more or less: it came in another act.
    # Steps of the act itself lost or done again: the resume's doing.
    own, own_due = (tuple(name for name in names if not name.startswith("contract:")) for names in (found, due))
    origin: Origin = "boundary" if own == own_due else "lineage"
    trace.faults.add(origin, f"{where}.steps", ", ".join(found), ", ".join(due))


def _check_checkpoints(trace: Trace) -> None:
    """Each event has its checkpoint, with the act and the roots that the trace leads to."""
    left = list(trace.applied)
    for i, checkpoint in enumerate(trace.seen.checkpoints):
        where = f"checkpoints[{i}]"
        same = [item for item in left if item.event == checkpoint.event]
        item = next((item for item in same if item.act == checkpoint.act), same[0] if same else None)
        if item is None:
            origin: Origin = "lineage" if _restore_before(trace, i) else "environment"
            trace.faults.add(origin, where, f"{checkpoint.event} after act {checkpoint.act}", "only what was executed")
            continue
        left.remove(item)
        if checkpoint.act != item.act:
            trace.faults.add("boundary", f"{where}.act", checkpoint.act, item.act)
        if checkpoint.roots != item.roots:
            trace.faults.add(_origin_of_roots(trace, item), f"{where}.roots", checkpoint.roots, item.roots)
    for item in left:
        behind = trace.applied[trace.applied.index(item) :]
        lost: Origin = "lineage" if any(other.event.startswith("restore:") for other in behind) else "evidence"
        trace.faults.add(lost, "checkpoints", f"none of {item.event}", f"one: it was executed after act {item.act}")


def _origin_of_roots(trace: Trace, item: Applied) -> Origin:
    return "lineage" if item.event.startswith("restore:") and trace.strayed is None else "environment"


def _restore_before(trace: Trace, i: int) -> bool:
    return any(item.event.startswith("restore:") for item in trace.seen.checkpoints[:i])


def _check_once(trace: Trace) -> None:
    for i, item in enumerate(trace.applied):
        first = next(other for other in trace.applied if other.event == item.event)
        if first is not item:
            between = trace.applied[trace.applied.index(first) : i]
            origin: Origin = "lineage" if any(o.event.startswith("restore:") for o in between) else "environment"
            trace.faults.add(origin, f"steps[{item.act}].effects", f"{item.event} executed again", "each event once")


def _check_repetitions(trace: Trace) -> None:
    """The same action in the same state writes the same: else one of the two was not executed as it is written."""
    known: list[tuple[Action, State, Patch, int]] = []
    for n, moment in enumerate(trace.moments[1:], start=1):
        for action, _, writes, first in _alike(known, moment):
            if writes != moment.step.writes:
                origin: Origin = "lineage" if trace.restored else "environment"
                words = f"{action.name} wrote {writes} at act {first}"
                trace.faults.add(
                    origin, f"steps[{n}].writes", moment.step.writes, f"the same: {words}, from this state"
                )
            break
        else:
            known.append((moment.step.action, moment.pre, moment.step.writes, n))


def _alike(known: list[tuple[Action, State, Patch, int]], moment: Moment) -> Iterator[tuple[Action, State, Patch, int]]:
    for item in known:
        if item[0] == moment.step.action and (item[1] is moment.pre or not diff(item[1], moment.pre)):
            yield item
