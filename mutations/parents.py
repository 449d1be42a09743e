"""Faithful parents: episodes with the executor's own steps kept, and faithful ones that look odd.

A world and its agent's moves go in, and the episode that an honest recorder writes comes out. What an executor keeps of
its own steps stands in `memory`, which replay takes as the agent's part: an instrumented episode replays to its own
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import cast

from sealkit.wire.canon import decode_record, digest_json
from sealkit.wire.declared import AfterAct, Authority, Contract, Never, Scenario, StateSight, Tell
from sealkit.wire.episode import Act, Action, Episode, Move, Trusted
from sealkit.wire.records import Json, Patch, Replace
from sealkit.wire.trace import root_digest
from sealkit.world.loader import LoadedWorld, scenario_draws
from sealkit.world.sdk import Session, Told, View
from sealkit.world.witness import Recorder

from .parent import EXECUTION, Parent


class Instrumented(Recorder):
    """The honest recorder, which also keeps in which order the executor read, wrote, applied and returned."""

    def _record(self, move: Move, delta: Patch, told: Sequence[Told], prev: str) -> Act:
        pre = self.acts[-1].root if self.acts else self.genesis
        own = root_digest(self.digests)
        first = len(self.happened)
        act = super()._record(move, delta, told, prev)
        steps: list[Json] = [{"root": pre, "step": "read"}, {"root": own, "step": "write"}]
        for recorded, item in zip(act.deltas, self.happened[first:], strict=True):
            steps.append({"root": item.roots.after, "step": recorded.cause})
        steps.append({"root": act.root, "step": "return"})
        key = digest_json({"act": act.n, "args": act.action.args, "name": act.action.name})
        memory = {**act.memory, EXECUTION: cast(Json, {"key": key, "steps": steps})}
        self.acts[-1] = Act(
            n=act.n, action=act.action, delta=act.delta, head=act.head, deltas=act.deltas, root=act.root,
            segments=act.segments, calls=act.calls, memory=memory, prev=act.prev,
        )  # fmt: skip
        return self.acts[-1]


def instrumented(session: Session, trusted: Trusted, moves: Sequence[Move], *, ended: str, why: str) -> bytes:
    """The episode of these moves (those after act 0), with the executor's own steps."""
    recorder = Instrumented(session, trusted)
    recorder.begin()
    for move in moves:
        recorder.act(move)
    return recorder.close(ended, why=why)


def moves_of(line: bytes) -> tuple[Move, ...]:
    """The moves of an episode."""
    acts = decode_record(line, Episode, where="episode").acts[1:]
    return tuple(Move(action=act.action, calls=act.calls, memory=act.memory) for act in acts)


# --- faithful, and odd -----------------------------------------------------------------------------

Odd = Callable[[tuple[Move, ...], Action], tuple[Move, ...]]


def _extra_reads(moves: tuple[Move, ...], read: Action) -> tuple[Move, ...]:
    extra = Move(action=read, calls=(), memory={})
    return (*moves[:-1], extra, extra, moves[-1])


def _retried_call(moves: tuple[Move, ...], read: Action) -> tuple[Move, ...]:
    """Asked twice, answered alike: both replies stand behind one act, with one effect."""
    reply = digest_json("the same reply")
    return tuple(
        Move(action=move.action, calls=(reply, reply), memory=move.memory) if i == 1 else move
        for i, move in enumerate(moves)
    )


def _clock_back(moves: tuple[Move, ...], read: Action) -> tuple[Move, ...]:
    times = ["2026-10-25T02:59:59+02:00", "2026-10-25T02:00:01+01:00"]
    return _noting(moves, [{"clock": time} for time in times])


def _spelled(moves: tuple[Move, ...], read: Action) -> tuple[Move, ...]:
    """A source writes 25 once and 25.0 once; notes quote it as it was spelled."""
    return _noting(moves, [{"quoted": "25"}, {"quoted": "25.0"}])


def _redelivered(moves: tuple[Move, ...], read: Action) -> tuple[Move, ...]:
    return _noting(moves, [{"delivered": "m1"}, {"delivered": "m1", "deduplicated": True}])


def _reordered_source(moves: tuple[Move, ...], read: Action) -> tuple[Move, ...]:
    return _noting(moves, [{"source": '{"b": 1, "a": 2}'}, {"source": '{"a":2,"b":1}'}])


def _noting(moves: tuple[Move, ...], notes: Sequence[Mapping[str, Json]]) -> tuple[Move, ...]:
    kept = [*notes, *({} for _ in moves)]
    return tuple(
        Move(action=move.action, calls=move.calls, memory={**move.memory, **note})
        for move, note in zip(moves, kept, strict=False)
    )


ODD: Mapping[str, Odd] = {
    "extra_reads": _extra_reads,
    "retried_call": _retried_call,
    "clock_steps_back": _clock_back,
    "spelled_twice": _spelled,
    "redelivered_once": _redelivered,
    "source_reordered": _reordered_source,
}


NO_OP = "declared_no_op"


def with_no_op(scenario: Scenario) -> Scenario:
    """The scenario, which declares one event more: a value is written again as it stands, and nobody is told."""
    component, *_ = sorted(scenario.genesis)
    pointer = _first_text(scenario.genesis[component], f"/{component}")
    again = Contract(
        id="written_again", times=1, sees={"standing": StateSight(pointer=pointer)}, when=AfterAct(act=1),
        then=(Replace(path=pointer, value={"cel": "standing"}),),
        tell=Tell(channel="none", sender="none", template=None, due=Never(), distort=None),
        authority=Authority(source="a source that repeats itself", rung="A1", scope=component, binding=True),
    )  # fmt: skip
    return Scenario(
        world=scenario.world, family=scenario.family, seed=scenario.seed, params=scenario.params,
        genesis=scenario.genesis, briefing=scenario.briefing, contracts=(*scenario.contracts, again),
        snapshots=scenario.snapshots, restores=scenario.restores, footprints=scenario.footprints,
        finals=scenario.finals, max_acts=scenario.max_acts,
    )  # fmt: skip


def _first_text(value: Json, pointer: str) -> str:
    while isinstance(value, dict):
        name = min(value)
        value, pointer = value[name], f"{pointer}/{name}"
    return pointer


def odd(name: str, parent: Parent, session: Callable[[], Session], read: Action, *, most: int) -> Parent | None:
    """The parent played again in the odd way `name`; `read` is a harmless reading. None if that takes too many acts."""
    document = parent.document
    moves = ODD[name](tuple(_bare(move) for move in moves_of(parent.line)), read)
    if len(moves) > most:
        return None
    closing = document["closing"]
    line = instrumented(session(), parent.trusted, moves, ended=closing["ended"], why=closing["why"])
    return Parent(trusted=parent.trusted, line=line)


def _bare(move: Move) -> Move:
    memory = {name: value for name, value in move.memory.items() if name != EXECUTION}
    return Move(action=move.action, calls=move.calls, memory=memory)


# --- played ----------------------------------------------------------------------------------------


def played(world: LoadedWorld, agent: str, trusted: Trusted) -> Parent:
    """The episode of a world's scripted agent, by the honest recorder that keeps the executor's steps.

    It is faithful by construction. No policy had a say in which episodes become parents.
    """
    scenario = decode_record(trusted.scenario, Scenario, where="the trusted scenario")
    scripted = world.agents[agent]
    actor = scripted.make(scenario_draws(scenario).split("agent", agent))
    recorder = Instrumented(world.session(scenario), trusted)
    act, ended = recorder.begin(), "budget"
    while act.n < scenario.max_acts:
        left = scenario.max_acts - act.n
        truth = deepcopy(recorder.state) if scripted.reads_truth else None
        view = View(briefing=scenario.briefing, last=act.segments, acts_left=left, truth=truth)
        act = recorder.act(Move(action=actor.act(view), calls=(), memory={}))
        if act.action.name in scenario.finals:
            ended = "final"
            break
    return Parent(trusted=trusted, line=recorder.close(ended, why=""))
