"""What the house promises whatever an agent does: footprints, refusals, contracts as the table says, seeds."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.wire.canon import encode_record
from sealkit.wire.declared import ActsLater, AfterAct, Contract, On, Scenario, WhenShown
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Action, Episode, Fact, NeverShown, Notice, Receipt, Shown
from sealkit.wire.errors import UsageError
from sealkit.wire.patch import covers, diff, resolve
from sealkit.wire.records import Json
from sealkit.world.loader import make_scenario
from sealkit.world.sdk import Reading, View

if TYPE_CHECKING:
    from .conftest import House

FAMILIES = ("stale_door", "wrong_start", "delayed_update", "noise", "unobservable", "double_fault")
ROOT = Path(__file__).parents[2]

anything: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(("look", "move", "open", "pick", "drop", "ask", "done", "begin", "fly", ""))
keys = st.sampled_from(("to", "room", "door", "item", "x"))


# --- acts ------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(data=st.data(), family=st.sampled_from(FAMILIES), seed=st.integers(0, 5))
def test_no_action_raises_or_changes_what_it_may_not(house: House, data: st.DataObject, family: str, seed: int) -> None:
    scenario = house.scenario(family, seed)
    state = dict(scenario.genesis)
    belief = house.part("belief").Belief(scenario.briefing)
    known = [*belief.rooms, *belief.origins]
    words = st.sampled_from(known) | st.sampled_from(known).map(lambda word: f" The {word.title()} ") | anything
    for name, args in data.draw(st.lists(st.tuples(names, st.dictionaries(keys, words, max_size=3)), max_size=12)):
        action = Action(name=name, args=args)
        before, asked = copy.deepcopy(state), copy.deepcopy(args)
        after, told = house.world.module.act(state, action)
        assert state == before and action.args == asked
        for op in diff(before, after):
            assert any(covers(pattern, op.path) for pattern in scenario.footprints[name])
        for segment in told:
            if isinstance(segment, Reading):
                assert segment.template.count("{value}") == 1
                assert isinstance(resolve(after, segment.pointer), str)
            assert (segment.template if isinstance(segment, Reading) else segment.text).endswith("\n")
        state = after


def orders(scenario: Scenario) -> list[tuple[str, str]]:
    """The task's things and rooms at genesis."""
    task = cast(dict[str, dict[str, str]], scenario.genesis["task"])
    return [(order["thing"], order["room"]) for order in task.values()]


def room_of(state: Mapping[str, Json]) -> str:
    return cast(dict[str, str], state["agent"])["room"]


def state_of(house: House, family: str) -> dict[str, Json]:
    return dict(house.scenario(family, 0).genesis)


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"to": None},
        {"to": 7},
        {"to": ["hall"]},
        {"to": {"room": "hall"}},
        {"to": ""},
        {"to": "nowhere"},
        {"x": "hall"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["move", "open", "pick", "drop"])
def test_wrong_arguments_are_refused_in_words(house: House, name: str, args: dict[str, Json]) -> None:
    state = state_of(house, "wrong_start")
    key = {"move": "to", "open": "door"}.get(name, "item")
    after, told = house.world.module.act(
        state, Action(name=name, args={key if k == "to" else k: v for k, v in args.items()})
    )
    assert after == state
    assert told[0].text in {
        "You cannot go there from here.\n", "There is no such door here.\n", "There is no such thing here.\n",
        "You do not hold that.\n",
    }  # fmt: skip


def test_case_blanks_and_articles_do_not_matter(house: House) -> None:
    scenario = house.scenario("unobservable", 0)
    label = orders(scenario)[0][0]
    after, _ = house.world.module.act(
        dict(scenario.genesis), Action(name="pick", args={"item": f" The {label.upper()} "})
    )
    assert after["agent"]["hand"] == label


def test_a_hand_holds_one_thing_and_nothing_is_no_thing(house: House) -> None:
    act, scenario = house.world.module.act, house.scenario("unobservable", 1)
    (thing, first), (other, _) = orders(scenario)
    state, _ = act(dict(scenario.genesis), Action(name="pick", args={"item": thing}))
    state, _ = act(state, Action(name="move", args={"to": first}))
    same, told = act(state, Action(name="pick", args={"item": other}))
    assert same == state and told[0].text == "Your hand is full.\n"
    for name in ("pick", "drop"):
        same, _ = act(dict(scenario.genesis), Action(name=name, args={"item": "nothing"}))
        assert same == scenario.genesis
    state, _ = act(state, Action(name="drop", args={"item": thing}))
    assert state["tables"][first] == ", ".join(sorted((thing, other)))


@pytest.mark.parametrize("seed", range(8))
def test_the_decor_door_opens_and_leads_nowhere(house: House, seed: int) -> None:
    scenario = house.scenario("noise", seed)
    doors, tables = scenario.genesis["doors"], scenario.genesis["tables"]
    assert isinstance(doors, dict) and isinstance(tables, dict)
    (decor,) = [door for door, value in doors.items() if value == "closed"]
    (beyond,) = [part for part in decor.split("-") if part not in tables]
    (room,) = [part for part in decor.split("-") if part in tables]
    state = {**scenario.genesis, "agent": {"hand": "nothing", "room": room}}
    for name in ("move", "open", "move", "open"):
        state, told = house.world.module.act(state, Action(name=name, args={"to": beyond}))
        assert state["agent"] == {"hand": "nothing", "room": room}
    assert state["doors"] == {**doors, decor: "open"}
    assert told[0].text == "That door is open already.\n"


# --- scenarios -------------------------------------------------------------------------------------


def test_seeds_give_different_houses(house: House) -> None:
    for family in FAMILIES:
        lines = {encode_record(house.scenario(family, seed)) for seed in range(100)}
        assert len(lines) == 100
        assert len({house.scenario(family, seed).briefing for seed in range(100)}) == 100


def test_the_same_seed_gives_the_same_house_and_episode_in_another_process() -> None:
    program = (
        "import sys; sys.path.insert(0, '.')\n"
        "from tests.house.conftest import *\n"
        "j, m = load_judge(ROOT, 'worlds/house/judge'); w = load_world(ROOT, 'house'); h = House(w, j, m)\n"
        "from sealkit.wire.digest import digest_bytes\n"
        "out = []\n"
        "for f in w.families:\n"
        "    for a in h.world.agents:\n"
        "        s, e = h.play(a, f, 3); out.append(encode_record(s) + encode_record(e) + repr(j(s, e)).encode())\n"
        "print(digest_bytes(b''.join(out)))\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
            capture_output=True, text=True,
        ).stdout
        for seed in ("0", "1", "77")
    }  # fmt: skip
    assert len(digests) == 1 and digests != {digest_bytes(b"") + "\n"}


def test_the_briefing_is_true_at_genesis_and_says_put_in(house: House) -> None:
    for family in FAMILIES:
        for seed in range(20):
            scenario = house.scenario(family, seed)
            state, belief = scenario.genesis, house.part("belief").Belief(scenario.briefing)
            assert belief.situation() == house.part("plan").situation(state)
            first = scenario.briefing.splitlines()[0]
            due = [f"put the {thing} in the {room}" for thing, room in orders(scenario)]
            assert first == f"Task: {' and '.join(due)}."


@pytest.mark.parametrize("params", [{}, {"turn_budget": 15}, {"turn_budget": 15, "observation_window": 3, "size": 8}])
def test_parameters_that_do_not_fit_are_a_mistake_in_the_plan(house: House, params: dict[str, Json]) -> None:
    with pytest.raises(UsageError, match=r"world\.params do not fit"):
        make_scenario(house.world, "noise", 0, params)


@pytest.mark.parametrize(
    "params", [{"turn_budget": 0, "observation_window": 3}, {"turn_budget": 9, "observation_window": 0}]
)
def test_budgets_below_one_are_refused(house: House, params: dict[str, Json]) -> None:
    with pytest.raises(UsageError, match="at least 1") as refused:
        make_scenario(house.world, "noise", 0, params)
    assert refused.value.where == "$.world.params." + next(name for name, value in params.items() if value == 0)


def test_every_layout_of_the_noise_makes_the_door_matter(house: House) -> None:
    """The door is read twice before it is needed, and without it the way back begins elsewhere."""
    ground, families = house.part("ground"), house.part("families")
    for start, home, target in families.noise_layouts():
        for a, b in ((start, home), (home, target)):
            assert len(families._ways(a, b)) <= 1, "two equal ways"
        way = [start]
        while way[-1] != home:
            way += families._ways(way[-1], home)
        assert sum(room in ground.FAULTY for room in way) >= 2
        back = [home]
        while back[-1] != target:
            back += families._ways(back[-1], target)
        assert set(ground.FAULTY) <= set(back)


def test_no_family_has_one_layout_only(house: House) -> None:
    families = house.part("families")
    sizes = {family: len(getattr(families, f"{family}_layouts")()) for family in FAMILIES}
    assert all(size >= 4 for size in sizes.values()), sizes


# --- contracts -------------------------------------------------------------------------------------


def only(scenario_contracts: tuple[Contract, ...]) -> Contract:
    (contract,) = scenario_contracts
    return contract


def receipts(episode: Episode) -> list[Receipt]:
    return [receipt for receipt in episode.receipts if isinstance(receipt, Receipt)]


def facts(episode: Episode, pointer: str) -> list[Fact]:
    return [s for act in episode.acts for s in act.segments if isinstance(s, Fact) and s.pointer == pointer]


def act_of(episode: Episode, name: str) -> int:
    return next(act.n for act in episode.acts if act.action.name == name)


@pytest.mark.parametrize("seed", range(10))
class TestContracts:
    """Each family's contract applies and tells when the table says, seen in the tracker's or naive agent's episode."""

    def test_stale_door(self, house: House, seed: int) -> None:
        scenario, episode = house.play("tracker", "stale_door", seed)
        contract = only(scenario.contracts)
        assert isinstance(contract.tell.due, WhenShown)
        (receipt,) = receipts(episode)
        picked = act_of(episode, "pick")
        assert (receipt.boundary.applied, receipt.roots.moved) == (picked, ("doors",))
        # The next room after sA is c1, whose return reads the door.
        assert isinstance(receipt.projection, Shown) and receipt.projection.act == picked + 1
        shown = facts(episode, contract.tell.due.pointer)
        assert shown[0].value == "open" and shown[-1].value == "locked"

    def test_wrong_start(self, house: House, seed: int) -> None:
        scenario, episode = house.play("naive", "wrong_start", seed)
        contract = only(scenario.contracts)
        assert contract.when == AfterAct(act=0) and isinstance(contract.tell.due, ActsLater)
        assert contract.tell.due.acts in (3, 4)
        (receipt,) = receipts(episode)
        assert (receipt.boundary.applied, receipt.roots.moved) == (0, ("items",))
        assert isinstance(receipt.projection, Shown) and receipt.projection.act == contract.tell.due.acts
        assert [act.n for act in episode.acts for s in act.segments if isinstance(s, Notice)] == [
            contract.tell.due.acts
        ]
        # The tag on the key that was picked still says what the briefing says, and not what the key fits.
        lock = orders(scenario)[0][0].removesuffix(" key")
        ids = cast(dict[str, Json], scenario.genesis["items"])
        assert [fact.value for id in ids for fact in facts(episode, f"/items/{id}/tag")] == [lock]

    def test_delayed_update(self, house: House, seed: int) -> None:
        scenario, episode = house.play("tracker", "delayed_update", seed)
        contract = only(scenario.contracts)
        assert isinstance(contract.when, On) and isinstance(contract.tell.due, ActsLater)
        assert contract.tell.due.acts in (2, 3)
        (receipt,) = receipts(episode)
        picked = act_of(episode, "pick")
        assert (receipt.boundary.applied, receipt.roots.moved) == (picked, ("task",))
        assert isinstance(receipt.projection, Shown) and receipt.projection.act == picked + contract.tell.due.acts

    def test_noise(self, house: House, seed: int) -> None:
        scenario, episode = house.play("rechecker", "noise", seed)
        contract = only(scenario.contracts)
        assert contract.then == () and contract.tell.distort is not None
        pointer = contract.tell.distort.pointer
        (receipt,) = receipts(episode)
        assert receipt.roots.before == receipt.roots.after and receipt.roots.moved == ()
        values = [fact.value for fact in facts(episode, pointer)]
        assert values[:3] == ["open", "open", "locked"] and set(values[3:]) == {"open"}
        assert isinstance(receipt.projection, Shown)

    def test_unobservable(self, house: House, seed: int) -> None:
        scenario, episode = house.play("tracker", "unobservable", seed)
        (receipt,) = receipts(episode)
        dropped = act_of(episode, "drop")
        first = orders(scenario)[0][1]
        left = next(
            a.n for a in episode.acts if a.n > dropped and a.action.name == "move" and a.action.args["to"] != first
        )
        assert (receipt.boundary.applied, receipt.roots.moved) == (left, ("tables",))
        assert receipt.projection == NeverShown()
        assert not any(isinstance(s, Notice) for act in episode.acts for s in act.segments)

    def test_double_fault(self, house: House, seed: int) -> None:
        _, episode = house.play("tracker", "double_fault", seed)
        swapped, locked = receipts(episode)
        assert (swapped.contract.id, locked.contract.id) == ("tags_swapped", "door_locks")
        assert swapped.boundary.applied == 0 and isinstance(swapped.projection, Shown) and swapped.projection.act == 2
        assert swapped.previous is None and locked.previous == digest_bytes(encode_record(swapped))
        picks = [act.n for act in episode.acts if act.action.name == "pick"]
        assert locked.boundary.applied == picks[-1] and isinstance(locked.projection, Shown)


def test_ask_reads_the_new_task_before_the_message(house: House) -> None:
    scenario = house.scenario("delayed_update", 0)
    plan = house.part("plan")
    asked: list[bool] = []

    def pick_then_ask(view: View) -> Action | None:
        if asked:
            return None
        now = plan.situation(view.truth)
        if now.hand != "nothing":
            asked.append(True)
            return Action(name="ask", args={})
        return cast(Action, plan.action_of(plan.first_steps(now)[0]))

    episode = house.record(scenario, pick_then_ask)
    told = [s for s in episode.acts[-1].segments if isinstance(s, Fact) and s.pointer == "/task/1/room"]
    assert len(told) == 1 and told[0].value != orders(scenario)[0][1]
    assert not any(isinstance(s, Notice) for act in episode.acts for s in act.segments)


def test_a_delivery_returns_although_the_other_thing_was_left_beside_it(house: House) -> None:
    scenario = house.scenario("unobservable", 2)
    (thing, first), (other, _) = orders(scenario)
    home = room_of(scenario.genesis)
    episode = house.walk(scenario, [f"pick {thing}", f"move {first}", f"drop {thing}", f"move {home}", f"move {first}"])
    (receipt,) = receipts(episode)
    assert receipt.boundary.applied == 4
    assert [fact.value for fact in facts(episode, f"/tables/{home}")] == ["nothing", thing]
    assert [fact.value for fact in facts(episode, f"/tables/{first}")][-1] == other


def test_a_contract_that_never_became_due_leaves_no_receipt(house: House) -> None:
    for family in ("stale_door", "delayed_update", "noise", "unobservable"):
        episode = house.record(house.scenario(family, 0), lambda view: Action(name="done", args={}))
        assert episode.receipts == ()
