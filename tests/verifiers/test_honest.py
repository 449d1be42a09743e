"""No false rejection: whatever an honest world writes, both verifiers accept."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sealkit.wire.canon import digest_json
from sealkit.wire.declared import (
    ActSight,
    ActsLater,
    After,
    AfterAct,
    Authority,
    Contract,
    CountSight,
    Distort,
    Due,
    Inbox,
    Never,
    On,
    Restore,
    Scenario,
    Sight,
    Snapshot,
    StateSight,
    Tell,
    ThisReturn,
    When,
    WhenShown,
)
from sealkit.wire.episode import Action, Move
from sealkit.wire.errors import HarnessError, MalformedError
from sealkit.wire.records import Add, Op, Remove, Replace
from sealkit.wire.scenario import check_scenario
from sealkit.wire.verdict import Accepted
from sealkit.world.witness import Recorder
from tests.lies.stage import FERN, FILL, FULL, MAIL, ROSE, WAIT, World, honest_rerun, look, play, scenario, trust
from tests.verifiers.loading import replay, witness

MOVES = st.sampled_from(
    (FERN, ROSE, FILL, MAIL, WAIT, *map(look, ("sky", "tank", "shed", "bench", "moon")),
     Action(name="water", args={"plant": "moss"}), Action(name="dance", args={"steps": [1, {"left": None}]}))
)  # fmt: skip
CALLS = st.lists(st.integers(0, 9).map(digest_json), max_size=2).map(tuple)
MEMORY = st.dictionaries(st.sampled_from(("notes", "plan")), st.text(max_size=9), max_size=2)


def accepted(declared: Scenario, moves: list[Action]) -> None:
    trusted = trust(declared)
    line = play(Recorder(World(declared.genesis), trusted), moves)
    assert witness(trusted, line) == Accepted()
    assert replay(trusted, line, rerun=honest_rerun) == Accepted()


@given(family=st.sampled_from(("calm", "plain", "storm")), moves=st.lists(MOVES, max_size=14), says_done=st.booleans())
@settings(max_examples=80, deadline=None)
def test_any_actions_in_the_greenhouse(family: str, moves: list[Action], says_done: bool) -> None:
    accepted(scenario(family), [*moves[:13], FULL[-1]] if says_done else moves)


@given(moves=st.lists(st.builds(Move, action=MOVES, calls=CALLS, memory=MEMORY), max_size=14))
@settings(max_examples=30, deadline=None)
def test_calls_behind_the_actions(moves: list[Move]) -> None:
    trusted = trust(scenario("storm"))
    line = honest_rerun(trusted, moves, "budget" if len(moves) == 14 else "the model stopped", "told to")
    assert witness(trusted, line) == Accepted()
    assert replay(trusted, line, rerun=honest_rerun) == Accepted()


# --- any contracts ---------------------------------------------------------------------------------

POINTERS = st.sampled_from(("/sky/now", "/shed/door", "/tank/level", "/tank/valve", "/bench/fern/wet"))
SCALARS = st.sampled_from(("open", "locked", "clear", "rain", 0, 1, 2, True, False, None, "1", ""))
IDS = ("a", "b", "c", "d")

SIGHTS: st.SearchStrategy[Sight] = st.one_of(
    POINTERS.map(lambda pointer: StateSight(pointer=pointer)),
    st.sampled_from(("/name", "/args/at", "/args/plant")).map(lambda pointer: ActSight(pointer=pointer)),
    st.builds(CountSight, pointer=POINTERS, equals=SCALARS),
)
RULES = st.sampled_from(("x == y", "x != y", "x == 'open'", "y == 2", "x == 'look' || y == 1", "true", "false"))
OPS: st.SearchStrategy[Op] = st.one_of(
    st.builds(Replace, path=POINTERS, value=SCALARS),
    st.builds(Replace, path=POINTERS, value=st.just({"cel": "x"})),
    st.builds(Replace, path=st.just("/sky"), value=st.just({"now": "rain", "clouds": {"high": 1}})),
    st.builds(Add, path=st.sampled_from(("/shed/tools/-", "/shed/tools/0", "/bench/moss")), value=st.just({"wet": 0})),
    st.builds(Remove, path=st.sampled_from(("/shed/tools/0", "/bench/rose"))),
)
DUES: st.SearchStrategy[Due] = st.one_of(
    st.just(ThisReturn()), st.builds(ActsLater, acts=st.integers(1, 4)), st.just(Inbox()), st.just(Never()),
    st.builds(WhenShown, pointer=POINTERS, rule=st.sampled_from(("true", "reading == 'open'", "reading != 2"))),
)  # fmt: skip


@st.composite
def tells(draw: st.DrawFn) -> Tell:
    if draw(st.integers(0, 3)) == 0:
        pointer = draw(POINTERS)
        due: Due = WhenShown(pointer=pointer, rule="true")
        distort = Distort(pointer=pointer, reading=draw(SCALARS))
        return Tell(channel="c", sender="s", template=draw(st.none() | st.just("It is {x}.")), due=due, distort=distort)
    due = draw(DUES)
    silent = isinstance(due, WhenShown) and draw(st.booleans())
    template = None if silent or isinstance(due, Never) else "Told: {x} {y}."
    return Tell(channel="c", sender="s", template=template, due=due, distort=None)


@st.composite
def contracts(draw: st.DrawFn) -> tuple[Contract, ...]:
    times = st.one_of(
        st.builds(AfterAct, act=st.integers(0, 8)), st.builds(On, rule=RULES),
        st.builds(After, contract=st.sampled_from(IDS), acts=st.integers(1, 3)),
    )  # fmt: skip
    made = []
    for id in IDS:
        when: When = draw(times)
        made.append(Contract(
            id=id, times=1, sees={"x": draw(SIGHTS), "y": draw(SIGHTS)}, when=when,
            then=tuple(draw(st.lists(OPS, max_size=3))), tell=draw(tells()),
            authority=Authority(source="s", rung="A3", scope="all", binding=True),
        ))  # fmt: skip
    return tuple(made)


@given(
    made=contracts(), moves=st.lists(MOVES, max_size=12), kept=st.integers(0, 4),
    back=st.one_of(st.builds(AfterAct, act=st.integers(5, 9)), st.just(After(contract="a", acts=2))),
)  # fmt: skip
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_any_contracts(made: tuple[Contract, ...], moves: list[Action], kept: int, back: AfterAct | After) -> None:
    declared = replace(
        scenario("calm"), contracts=made, snapshots=(Snapshot(id="s", when=AfterAct(act=kept)),),
        restores=(Restore(id="r", snapshot="s", when=back),),
    )  # fmt: skip
    try:
        check_scenario(declared)
        play(Recorder(World(declared.genesis), trust(declared)), moves)
    except (MalformedError, HarnessError, TypeError, KeyError):
        assume(False)  # the contracts do not fit the world, or break it: there is no episode
    accepted(declared, moves)
