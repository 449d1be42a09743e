"""The construction probes: each pair is built as it was frozen, and its axis moves what it should and nothing else.

`pairs.jsonl` holds what was frozen, one canonical line a pair: ten pairs in each delivery. A pair is built anew from
the world, both arms are walked by the policy `stale`, which never departs from the order of work, and ten probes look
at it. Each looks at one thing alone, so that what is broken has a name:

    frozen identity        axis, level, delivery and both families are those of this pair
    seed pairing           both arms have the seed of the level
    shared initial world   both arms begin with the same files, briefing, tools and turns, and those that were frozen
    axis manipulation      the event moves what its level moves and holds the rest; in the control nothing occurs
    projection digest      what was shown of the event is what was frozen; in the control nothing was shown
    occurrence digest      which declaration was applied, when, and with which roots
    terminal state         each arm ends at its first files with the declared effect applied, and as frozen
    response contract      what is due of the agent, and what is right to recommend in each arm
    arm digest             the scenario of each arm, to the byte
    case digest            the case in each arm

    sealkit conformance worlds/underwriting_b
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from sealkit.wire.canon import decode_record, digest_json, digest_record, encode_record
from sealkit.wire.declared import Contract, Scenario
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.episode import Episode, Notice, Receipt
from sealkit.wire.patch import apply
from sealkit.wire.records import Json, Record
from sealkit.world.sdk import Build, Probed, State

from .editions import CONTROL, HELD, LADDER, PAIRS, PHASES, RESPONSES, Pair, event
from .files import CASE, POLICY, oracle, root_of

FILE = "pairs.jsonl"
WALKER = "stale"


class Identity(Record, frozen=True):
    """Which pair it is."""

    axis: str
    level: str
    delivery: str
    candidate: str
    control: str


class Arms(Record, frozen=True):
    """One digest, or word, for each arm."""

    candidate: str
    control: str


class Frozen(Record, frozen=True, tag_field="type", tag="underwriting_b/pair/v1"):
    """What was frozen of one pair."""

    identity: Identity
    seed: int
    initial: str
    projection: str
    occurrence: str
    terminal: Arms
    response: str
    right: Arms
    arm: Arms
    case: Arms


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm of a pair as it is now: its scenario, and the walk through it."""

    scenario: Scenario
    episode: Episode

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """What occurred."""
        return tuple(item for item in self.episode.receipts if isinstance(item, Receipt))

    @property
    def case(self) -> str:
        """The digest of the case at first."""
        return digest_json(self.scenario.genesis[CASE])

    @property
    def initial(self) -> str:
        """The digest of all that an arm begins with: its scenario without family, seed and events."""
        scenario = self.scenario
        document: dict[str, Json] = {
            "world": scenario.world, "params": dict(scenario.params), "genesis": dict(scenario.genesis),
            "briefing": scenario.briefing, "finals": list(scenario.finals), "max_acts": scenario.max_acts,
            "footprints": {name: list(pointers) for name, pointers in scenario.footprints.items()},
            "snapshots": len(scenario.snapshots), "restores": len(scenario.restores),
        }  # fmt: skip
        return digest_json(document)

    @property
    def files(self) -> State:
        """The files at first with every declared effect applied."""
        state: State = dict(self.scenario.genesis)
        for contract in self.scenario.contracts:
            state = cast(State, apply(state, contract.then))
        return state


@dataclass(frozen=True, slots=True)
class Built:
    """A pair as the world makes it now."""

    pair: Pair
    candidate: Arm
    control: Arm

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """Both."""
        return self.candidate, self.control


def build_pair(pair: Pair, build: Build) -> Built:
    """The pair, built and walked."""
    return Built(pair, Arm(*build(pair.name, pair.seed, WALKER)), Arm(*build(CONTROL, pair.seed, WALKER)))


def freeze(built: Built) -> Frozen:
    """What is frozen of a pair."""
    pair, arms = built.pair, built.arms
    return Frozen(
        identity=_identity(pair),
        seed=pair.seed,
        initial=built.candidate.initial,
        projection=_projection(built.candidate),
        occurrence=_occurrence(built.candidate),
        terminal=Arms(*(arm.episode.closing.root for arm in arms)),
        response=RESPONSES[pair.rung],
        right=Arms(*(oracle(arm.files) for arm in arms)),
        arm=Arms(*(digest_bytes(encode_record(arm.scenario)) for arm in arms)),
        case=Arms(*(arm.case for arm in arms)),
    )


# --- the ten probes: each says what is wrong, or nothing -------------------------------------------


def frozen_identity(built: Built, frozen: Frozen) -> str:
    """Axis, level, delivery and both families are those of this pair."""
    due = _identity(built.pair)
    return "" if frozen.identity == due else f"found {frozen.identity}, due {due}"


def seed_pairing(built: Built, frozen: Frozen) -> str:
    """Both arms have the seed of the level."""
    seeds = (*(arm.scenario.seed for arm in built.arms), frozen.seed)
    return "" if set(seeds) == {built.pair.seed} else f"found the seeds {seeds}, due {built.pair.seed}"


def shared_initial_world(built: Built, frozen: Frozen) -> str:
    """Both arms begin with the same, and with what was frozen."""
    return _unlike(built.candidate.initial, frozen.initial) or _unlike(built.control.initial, frozen.initial)


def axis_manipulation(built: Built, frozen: Frozen) -> str:
    """The event moves what its level moves and holds the rest; in the control nothing is declared or occurs."""
    declared, occurred = built.candidate.scenario.contracts, built.candidate.receipts
    if built.control.scenario.contracts or built.control.episode.receipts:
        return "something is declared, or occurs, in the control"
    if len(declared) != 1 or len(occurred) != 1:
        return f"{len(declared)} events are declared and {len(occurred)} occur, due one"
    pair = built.pair
    held = event(Pair("phase", HELD, pair.delivery, pair.seed), pair.seed)
    if _held(declared[0], pair) != _held(held, pair):
        return f"the event departs from that of {HELD} in more than the {pair.axis} axis moves"
    rung = pair.level if pair.axis == "ladder" else LADDER[0]
    if declared[0].then != (held.then if rung == LADDER[0] else ()):
        return f"the event declares another change than is due on rung {rung}"
    point = (PHASES.index(pair.level if pair.axis == "phase" else HELD)) + 1  # the order of work has a point an act
    due = (rung, point, (POLICY,) if rung == LADDER[0] else ())
    found = (declared[0].authority.rung, occurred[0].boundary.applied, occurred[0].roots.moved)
    return "" if found == due else f"found rung, act and what moved {found}, due {due}"


def projection_digest(built: Built, frozen: Frozen) -> str:
    """What was shown of the event is what was frozen; in the control nothing was shown."""
    if any(isinstance(item, Notice) for act in built.control.episode.acts for item in act.segments):
        return "a message is shown in the control"
    return _unlike(_projection(built.candidate), frozen.projection)


def occurrence_digest(built: Built, frozen: Frozen) -> str:
    """Which declaration was applied, when, and with which roots."""
    return _unlike(_occurrence(built.candidate), frozen.occurrence)


def terminal_state(built: Built, frozen: Frozen) -> str:
    """Each arm ends at its first files with the declared effect applied, and as frozen."""
    ends = Arms(*(arm.episode.closing.root for arm in built.arms))
    due = Arms(*(root_of(arm.files) for arm in built.arms))
    return "" if ends == due == frozen.terminal else f"found the roots {ends}, due {due}, frozen {frozen.terminal}"


def response_contract(built: Built, frozen: Frozen) -> str:
    """What is due of the agent, and what is right to recommend in each arm."""
    due = (RESPONSES[built.pair.rung], Arms(*(oracle(arm.files) for arm in built.arms)))
    found = (frozen.response, frozen.right)
    return "" if found == due else f"found {found}, due {due}"


def arm_digest(built: Built, frozen: Frozen) -> str:
    """The scenario of each arm, to the byte."""
    found = Arms(*(digest_bytes(encode_record(arm.scenario)) for arm in built.arms))
    return _unlike(found.candidate, frozen.arm.candidate) or _unlike(found.control, frozen.arm.control)


def case_digest(built: Built, frozen: Frozen) -> str:
    """The case in each arm."""
    return _unlike(built.candidate.case, frozen.case.candidate) or _unlike(built.control.case, frozen.case.control)


PROBES: Mapping[str, Callable[[Built, Frozen], str]] = {
    probe.__name__.replace("_", " "): probe
    for probe in (
        frozen_identity, seed_pairing, shared_initial_world, axis_manipulation, projection_digest, occurrence_digest,
        terminal_state, response_contract, arm_digest, case_digest,
    )
}  # fmt: skip


def probe(build: Build, text: Callable[[str], str]) -> Iterator[Probed]:
    """Every probe on every pair, against the frozen lines; a pair without a line, or a line too many, is a fault."""
    lines = text(FILE).split("\n")
    if len(lines) != len(PAIRS):
        yield Probed("pairs", FILE, f"found {len(lines)} lines, due {len(PAIRS)}")
    for number, (pair, line) in enumerate(zip(PAIRS, lines, strict=False), 1):
        frozen = decode_record(line.encode(), Frozen, where=f"{FILE}:{number}")
        built = build_pair(pair, build)
        for name, look in PROBES.items():
            yield Probed(pair.delivery, f"{pair.name}, {name}", look(built, frozen))


def _identity(pair: Pair) -> Identity:
    return Identity(
        axis=pair.axis, level=pair.level, delivery=pair.delivery, candidate=pair.name, control=CONTROL
    )  # fmt: skip


def _held(contract: Contract, pair: Pair) -> tuple[object, ...]:
    """All of an event but what the axis of this pair moves."""
    tell = contract.tell
    if pair.axis == "phase":
        return contract.id, tell, contract.authority
    words = (tell.template or "").partition(": ")[2]
    return contract.id, contract.sees, contract.when, tell.channel, tell.due, tell.distort, words


def _projection(arm: Arm) -> str:
    """The digest of what receipts say was shown."""
    return digest_json([digest_record(item.projection) for item in arm.receipts])


def _occurrence(arm: Arm) -> str:
    """The digest of what occurred, without what hangs on the episode around it."""
    return digest_json(
        [
            [digest_record(item.contract), item.boundary.due, item.boundary.applied, digest_record(item.roots)]
            for item in arm.receipts
        ]
    )


def _unlike(found: str, due: str) -> str:
    return "" if found == due else f"found {short(found)}, due {short(due)}"
