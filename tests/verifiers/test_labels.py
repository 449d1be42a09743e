"""The origin named is right whatever the contracts are: random contracts, random acts, one lie at a time."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sealkit.wire.declared import Contract, Scenario
from sealkit.wire.episode import Action
from sealkit.wire.errors import HarnessError, MalformedError
from sealkit.wire.records import Replace
from sealkit.wire.scenario import check_scenario
from sealkit.wire.verdict import Origin, Rejected
from sealkit.world.occurred import Occurrence
from sealkit.world.witness import Recorder
from tests.lies.boundary import applied_at
from tests.lies.disclosure import dropped, facts, notices, returns
from tests.lies.environment import applied_again, world_that_occurs
from tests.lies.stage import World, play, scenario, trust
from tests.verifiers.loading import witness
from tests.verifiers.test_honest import MOVES, contracts

Cast = tuple[type[World], type[Recorder]]
UNTELLABLE = (MalformedError, HarnessError, TypeError, KeyError)

# What each lie does to the contract `id`, applied after act `k`.
LIES: dict[str, tuple[Origin, Callable[[str, int], Cast]]] = {
    "effect dropped": ("environment", lambda id, k: (world_that_occurs({id: ()}), Recorder)),
    "another effect": (
        "environment", lambda id, k: (world_that_occurs({id: (Replace(path="/sky/now", value="odd"),)}), Recorder)),
    "applied again": ("environment", lambda id, k: (World, applied_again(id, k + 1))),
    "an act early": ("boundary", lambda id, k: (World, applied_at(id, k - 1, due=k))),
    "an act late": ("boundary", lambda id, k: (World, applied_at(id, k + 1, due=k))),
    "notice dropped": ("disclosure", lambda id, k: (World, returns(dropped(id)))),
    "notice altered": ("disclosure", lambda id, k: (World, notices(lambda n: replace(n, text=n.text + "!")))),
    "facts falsified": ("disclosure", lambda id, k: (World, facts(lambda f: replace(f, value="odd", text="odd")))),
    "sender relabelled": ("authority", lambda id, k: (World, notices(lambda n: replace(n, sender="x")))),
}  # fmt: skip


def told(declared: Scenario, moves: list[Action], cast: Cast) -> tuple[bytes, Recorder]:
    recorder = cast[1](cast[0](declared.genesis), trust(declared))
    return play(recorder, moves), recorder


@given(made=contracts(), moves=st.lists(MOVES, min_size=5, max_size=10), which=st.integers(0, 3))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_the_origin_is_right(made: tuple[Contract, ...], moves: list[Action], which: int) -> None:
    declared = replace(scenario("calm"), contracts=made)
    try:
        check_scenario(declared)
        line, recorder = told(declared, moves, (World, Recorder))
    except UNTELLABLE:
        assume(False)  # no such episode
    applied = [item for item in recorder.happened if isinstance(item, Occurrence)]
    assume(applied)
    chosen = applied[which % len(applied)]
    id, k = chosen.contract.id, chosen.boundary.applied
    for name, (origin, lie) in LIES.items():
        if not (k > 0 if name == "an act early" else k < len(moves)):
            continue
        try:
            lying, _ = told(declared, moves, lie(id, k))
        except UNTELLABLE:
            continue  # no such lie
        if lying == line:
            continue  # it changed nothing
        verdict = witness(trust(declared), lying)
        assert isinstance(verdict, Rejected), name
        assert verdict.origin == origin, "\n".join((name, *map(str, verdict.reasons)))
