"""The construction probes of Study B: 100 of 100 in each delivery, and for each probe a pair that fails it alone.

A broken pair is broken as it would be by a careless author: what is changed is changed with all that follows from it,
and frozen again, so that the only thing left to see is the one that this probe looks at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pytest
from msgspec.structs import replace

from sealkit.run.play import play_scripted
from sealkit.wire.canon import decode_record, digest_json, encode_record
from sealkit.wire.declared import Inbox, Scenario
from sealkit.wire.episode import Episode
from sealkit.wire.errors import MalformedError
from sealkit.world.sdk import replace as put
from tests.underwriting_b.conftest import CONTROL, DELIVERIES, LEVELS, ROOT

if TYPE_CHECKING:
    from .conftest import Desk

FILE = ROOT / "worlds" / "underwriting_b" / "pairs.jsonl"
NAMES = (  # from `spec/universe.md`, Study B
    "frozen identity", "seed pairing", "shared initial world", "axis manipulation", "projection digest",
    "occurrence digest", "terminal state", "response contract", "arm digest", "case digest",
)  # fmt: skip
OTHER = digest_json("something else")
Broken: TypeAlias = tuple[Any, Any]  # a pair as built, and as frozen; their types are the world's own


class Bench:
    """The probes of the loaded world, and what the tests build with them."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.probes: ModuleType = desk.part("probes")
        self.pairs: tuple[Any, ...] = self.probes.PAIRS

    def build(self, family: str, seed: int, agent: str) -> tuple[Scenario, Episode]:
        return self.walked(self.desk.scenario(family, seed), agent)

    def walked(self, scenario: Scenario, agent: str = "stale") -> tuple[Scenario, Episode]:
        line = play_scripted(self.desk.world, agent, self.desk.trusted(scenario, agent))
        return scenario, decode_record(line, Episode)

    def built(self, pair: Any, *, candidate: Any = None, control: Any = None) -> Any:
        """The pair, with another arm or two if they are given."""
        built = self.probes.build_pair(pair, self.build)
        return self.probes.Built(pair, candidate or built.candidate, control or built.control)

    def arm(self, scenario: Scenario) -> Any:
        return self.probes.Arm(*self.walked(scenario))

    def failed(self, built: Any, frozen: Any) -> list[str]:
        return [name for name, probe in self.probes.PROBES.items() if probe(built, frozen)]

    def probe(self, text: str) -> list[Any]:
        return list(self.probes.probe(self.build, lambda file: text))


@pytest.fixture(scope="module")
def bench(desk: Desk) -> Bench:
    return Bench(desk)


def frozen_text() -> str:
    return FILE.read_text(encoding="utf-8").strip()


def test_the_frozen_pairs_pass_100_of_100_in_each_delivery(bench: Bench) -> None:
    probed = bench.probe(frozen_text())
    assert [item for item in probed if item.fault] == []
    assert Counter(item.group for item in probed) == {"pushed": 100, "inbox": 100}
    due = {f"{level}-{how}, {name}" for level in LEVELS for how in DELIVERIES for name in NAMES}
    assert {item.name for item in probed} == due


def test_what_is_frozen_is_what_the_world_makes(bench: Bench) -> None:
    made = [encode_record(bench.probes.freeze(bench.built(pair))).decode() for pair in bench.pairs]
    assert frozen_text().split("\n") == made


# --- each probe fails alone ------------------------------------------------------------------------


def identity(bench: Bench, pair: Any) -> Broken:
    """The line is filed under another family."""
    built = bench.built(pair)
    frozen = bench.probes.freeze(built)
    return built, replace(frozen, identity=replace(frozen.identity, candidate="phase-other"))


def seeds(bench: Bench, pair: Any) -> Broken:
    """The control says that it was made with another seed."""
    control = replace(bench.desk.scenario(CONTROL, pair.seed), seed=pair.seed + 1)
    built = bench.built(pair, control=bench.arm(control))
    return built, bench.probes.freeze(built)


def initial(bench: Bench, pair: Any) -> Broken:
    """The control begins with another policy."""
    control = bench.desk.scenario(CONTROL, pair.seed)
    policy = cast(dict[str, Any], control.genesis["policy"])
    other = policy | {"versions": {"v1": policy["versions"]["v1"] | {"minimum_reserves_months": 2}}}
    built = bench.built(pair, control=bench.arm(replace(control, genesis={**control.genesis, "policy": other})))
    return built, bench.probes.freeze(built)


def manipulation(bench: Bench, pair: Any) -> Broken:
    """The candidate has the event of the next level."""
    levels = [other.name for other in bench.pairs if (other.axis, other.delivery) == (pair.axis, pair.delivery)]
    other = levels[(levels.index(pair.name) + 1) % 5]
    contracts = bench.desk.scenario(other, pair.seed).contracts
    candidate = bench.arm(replace(bench.desk.scenario(pair.name, pair.seed), contracts=contracts))
    built = bench.built(pair, candidate=candidate)
    return built, bench.probes.freeze(built)


def _with_receipt(bench: Bench, pair: Any, change: Callable[[Any], Any]) -> Broken:
    honest = bench.built(pair)
    episode = honest.candidate.episode
    receipts = tuple(change(item) for item in episode.receipts)
    candidate = bench.probes.Arm(honest.candidate.scenario, replace(episode, receipts=receipts))
    return bench.built(pair, candidate=candidate), bench.probes.freeze(honest)


def projection(bench: Bench, pair: Any) -> Broken:
    """The agent is shown other words."""
    return _with_receipt(bench, pair, lambda item: replace(item, projection=replace(item.projection, digest=OTHER)))


def occurrence(bench: Bench, pair: Any) -> Broken:
    """Another declaration was applied."""
    return _with_receipt(bench, pair, lambda item: replace(item, contract=replace(item.contract, digest=OTHER)))


def terminal(bench: Bench, pair: Any) -> Broken:
    """The control ends somewhere else, and was frozen so."""
    honest = bench.built(pair)
    closing = replace(honest.control.episode.closing, root=OTHER)
    control = bench.probes.Arm(honest.control.scenario, replace(honest.control.episode, closing=closing))
    built = bench.built(pair, control=control)
    return built, bench.probes.freeze(built)


def response(bench: Bench, pair: Any) -> Broken:
    """Something else is due."""
    built = bench.built(pair)
    frozen = bench.probes.freeze(built)
    return built, replace(frozen, response="ignore" if frozen.response != "ignore" else "reject")


def arm(bench: Bench, pair: Any) -> Broken:
    """The control was frozen as another scenario."""
    built = bench.built(pair)
    frozen = bench.probes.freeze(built)
    return built, replace(frozen, arm=replace(frozen.arm, control=OTHER))


def case(bench: Bench, pair: Any) -> Broken:
    """The candidate was frozen with another case."""
    built = bench.built(pair)
    frozen = bench.probes.freeze(built)
    return built, replace(frozen, case=replace(frozen.case, candidate=OTHER))


BROKEN: dict[str, Callable[[Bench, Any], Broken]] = dict(
    zip(
        NAMES,
        (identity, seeds, initial, manipulation, projection, occurrence, terminal, response, arm, case),
        strict=True,
    )
)


@pytest.mark.parametrize("name", NAMES)
def test_each_probe_fails_alone_when_its_thing_is_broken(bench: Bench, name: str) -> None:
    for pair in bench.pairs:
        assert bench.failed(*BROKEN[name](bench, pair)) == [name], pair.name


# --- each probe sees its thing in more than one way ------------------------------------------------


def changed(bench: Bench, number: int, **parts: object) -> list[str]:
    """The probes that fail when this pair's line has other parts."""
    pair = bench.pairs[number]
    built = bench.built(pair)
    return bench.failed(built, replace(bench.probes.freeze(built), **parts))


@pytest.mark.parametrize(
    ("part", "value", "name"),
    [
        ("seed", 1104, "seed pairing"),
        ("initial", OTHER, "shared initial world"),
        ("projection", OTHER, "projection digest"),
        ("occurrence", OTHER, "occurrence digest"),
    ],
)
def test_another_digest_in_the_frozen_line_fails_its_probe(bench: Bench, part: str, value: object, name: str) -> None:
    assert changed(bench, 0, **{part: value}) == [name]


@pytest.mark.parametrize(
    ("part", "arm", "name"),
    [
        ("terminal", "candidate", "terminal state"),
        ("terminal", "control", "terminal state"),
        ("right", "candidate", "response contract"),
        ("right", "control", "response contract"),
        ("arm", "candidate", "arm digest"),
        ("case", "control", "case digest"),
    ],
)
def test_so_does_that_of_either_arm(bench: Bench, part: str, arm: str, name: str) -> None:
    frozen = bench.probes.freeze(bench.built(bench.pairs[0]))
    assert changed(bench, 0, **{part: replace(getattr(frozen, part), **{arm: OTHER})}) == [name]


def test_an_arm_that_ends_elsewhere_than_frozen_is_seen(bench: Bench) -> None:
    pair = bench.pairs[0]
    built = bench.built(pair)
    closing = replace(built.candidate.episode.closing, root=OTHER)
    candidate = bench.probes.Arm(built.candidate.scenario, replace(built.candidate.episode, closing=closing))
    assert bench.failed(bench.built(pair, candidate=candidate), bench.probes.freeze(built)) == ["terminal state"]


def test_a_candidate_without_its_event_is_seen(bench: Bench) -> None:
    pair = bench.pairs[6]
    candidate = bench.arm(replace(bench.desk.scenario(pair.name, pair.seed), contracts=()))
    built = bench.built(pair, candidate=candidate)
    assert bench.failed(built, bench.probes.freeze(built)) == ["axis manipulation"]


def test_an_event_in_the_control_is_seen(bench: Bench) -> None:
    pair = bench.pairs[0]
    control = replace(bench.desk.scenario(pair.name, pair.seed), family=CONTROL)
    built = bench.built(pair, control=bench.arm(control))
    assert bench.failed(built, bench.probes.freeze(built)) == ["axis manipulation", "projection digest"]


@pytest.mark.parametrize("number", [0, 5])  # a phase, a rung
def test_an_event_of_another_delivery_or_standing_is_seen(bench: Bench, number: int) -> None:
    pair = bench.pairs[number]
    scenario = bench.desk.scenario(pair.name, pair.seed)
    (event,) = scenario.contracts
    others = [
        replace(event, tell=replace(event.tell, due=Inbox())),
        replace(event, tell=replace(event.tell, channel="inbox")),
        replace(event, id="other"),
    ]
    if pair.axis == "phase":
        others += [replace(event, authority=replace(event.authority, scope="all", source="head-of-sales"))]
    for other in others:
        built = bench.built(pair, candidate=bench.arm(replace(scenario, contracts=(other,))))
        assert bench.failed(built, bench.probes.freeze(built)) == ["axis manipulation"]


@pytest.mark.parametrize("number", [0, 3, 5, 8])  # two phases, A1, A4
def test_an_event_that_says_or_does_something_else_is_seen(bench: Bench, number: int) -> None:
    pair = bench.pairs[number]
    scenario = bench.desk.scenario(pair.name, pair.seed)
    (event,) = scenario.contracts
    words = (event.tell.template or "").replace("360000", "350000")
    says = replace(event, tell=replace(event.tell, template=words))
    does = replace(event, then=(put("/case/current", "v1"),))
    for other in (says, does):
        built = bench.built(pair, candidate=bench.arm(replace(scenario, contracts=(other,))))
        assert bench.failed(built, bench.probes.freeze(built)) == ["axis manipulation"]


def test_a_world_that_moved_on_no_longer_matches(bench: Bench) -> None:
    pair = bench.pairs[0]
    frozen = bench.probes.freeze(bench.built(pair))
    arms = [replace(bench.desk.scenario(name, pair.seed), briefing="Other words.") for name in (pair.name, CONTROL)]
    built = bench.built(pair, candidate=bench.arm(arms[0]), control=bench.arm(arms[1]))
    assert bench.failed(built, frozen) == ["shared initial world", "arm digest"]


def test_a_line_that_is_missing_doubled_or_unreadable_is_a_fault(bench: Bench) -> None:
    lines = frozen_text().split("\n")
    assert [item.fault for item in bench.probe("\n".join(lines[:-1])) if item.fault] == ["found 19 lines, due 20"]
    doubled = [item.name for item in bench.probe("\n".join([lines[0], *lines])) if item.fault]
    assert doubled[0] == "pairs.jsonl" and "phase-evidence-pushed, frozen identity" in doubled
    with pytest.raises(MalformedError, match=r"pairs\.jsonl:2"):
        bench.probe("\n".join([lines[0], "{}", *lines[2:]]))
