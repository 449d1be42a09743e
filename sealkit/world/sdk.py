"""What the author of a world meets.

A **pure world** is a module with `FAMILIES`, `scenario(family, seed, draws, **params)` and
`act(state, action)`. It never touches contracts, digests or receipts: sealkit compares the states before
and after an act, applies the contracts of the scenario, and writes deltas, roots and receipts.

    FAMILIES = ("calm", "storm")

    def scenario(family, seed, draws):
        storm = contract("storm", when=after_act(2), then=[replace("/sea/waves", "high")], tell=never(), authority=SEA)
        return Outline(genesis={"sea": {"waves": "low"}, "boat": {"at": "harbour"}}, briefing="Sail to the island.",
                       contracts=(storm,) if family == "storm" else (), footprints={"sail": ("/boat/at",)},
                       finals=("anchor",), max_acts=10)

    def act(state, action):
        ...
        return new_state, (text("You sail."), reading("/sea/waves", "The waves are {value}."))

`state` is one dict: component name → JSON value. `act` returns a new one and never changes the one it got.
A `reading` names a pointer; its value is filled in from the state after the contracts of that act, so a
pure world cannot tell the agent what is not so. Whatever else the agent is told is `text`.

A **stateful world** has `session(scenario, draws)` in place of `act`: a simulator that holds its own state,
applies contracts itself, and can be snapshot and restored (`Session`).

`sealkit conformance` tries a world under its `TRIAL_PARAMS` (a dict of the parameters that `scenario` takes), or under
none. Beside the world stands `judge.py` with `MEASURES` and `judge(scenario, episode) -> measures`, pure, and
`agents.py` with `AGENTS`: name → `Scripted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from sealkit.wire.declared import (
    ActSight,
    ActsLater,
    After,
    AfterAct,
    Authority,
    Contract,
    CountSight,
    Distort,
    Inbox,
    Never,
    On,
    Restore,
    Rung,
    Scenario,
    Sight,
    Snapshot,
    StateSight,
    Tell,
    ThisReturn,
    When,
    WhenShown,
)
from sealkit.wire.episode import Action, Episode, Fact, InboxOpened, Notice, Segment, Text
from sealkit.wire.records import Add, Json, Op, Patch, Remove, Replace, Scalar
from sealkit.world.draws import Draws

__all__ = (
    # what a world is made of
    "Action", "ActsLater", "Agent", "Authority", "Build", "Contract", "Episode", "Fact", "Inbox", "InboxOpened", "Json",
    "Judge", "Measures", "Message", "Notice", "Op", "Outline", "Patch", "Probe", "Probed", "Reader", "Reading",
    "Restore", "Rung", "Scalar", "Scenario", "Scripted", "Segment", "Session", "Sight", "Snapshot", "State", "Tell",
    "Text", "ThisReturn", "Told", "Transcript", "Turned", "View", "When", "WhenShown",
    # words for authors
    "action", "add", "after", "after_act", "authority", "contract", "count", "false_reading", "inbox", "never",
    "notice", "of_act", "on", "reading", "remove", "replace", "seen", "text",
)  # fmt: skip

State: TypeAlias = dict[str, Json]
Measures: TypeAlias = Mapping[str, Json]


class Reading(msgspec.Struct, frozen=True):
    """A fact to be read off the state: `template` holds `{value}` once."""

    pointer: str
    template: str


Told: TypeAlias = Text | Reading | InboxOpened


class Outline(msgspec.Struct, frozen=True):
    """What a world's author says of one scenario; sealkit adds the world's name, family, seed and parameters."""

    genesis: State
    briefing: str
    footprints: Mapping[str, tuple[str, ...]]
    finals: tuple[str, ...]
    max_acts: int
    contracts: tuple[Contract, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    restores: tuple[Restore, ...] = ()


class Session(Protocol):
    """One running episode of a stateful simulator."""

    def material(self) -> State:
        """The material state now, as JSON in named components."""

    def act(self, action: Action) -> Sequence[Told]:
        """Carry out the agent's action, nothing else, and say what the agent is told."""

    def occur(self, contract: Contract, effect: Patch) -> None:
        """Apply a contract that is due. `effect` is its patch with every rule evaluated."""

    def snapshot(self) -> bytes:
        """Everything needed to come back to this moment."""

    def restore(self, snapshot: bytes) -> None:
        """Come back to the moment of `snapshot`, whole."""


class View(msgspec.Struct, frozen=True):
    """What a scripted agent is given before each act.

    `last` is the return of the act before (of act 0 at first); `truth` the material state, and only for
    agents that declare `reads_truth`.
    """

    briefing: str
    last: tuple[Segment, ...]
    acts_left: int
    truth: State | None


class Agent(Protocol):
    """One agent in one episode; it may remember whatever it was shown."""

    def act(self, view: View) -> Action:
        """The next action."""


class Scripted(msgspec.Struct, frozen=True):
    """A scripted agent: `make(draws)` starts one for an episode. `reads_truth` marks an oracle."""

    make: Callable[[Draws], Agent]
    reads_truth: bool = False


class Judge(Protocol):
    """Pure: the same scenario and episode give the same measures, in any process on any day."""

    def __call__(self, scenario: Scenario, episode: Episode) -> Measures:
        """One value for each name in the judge module's `MEASURES`; a count is an int, a yes-no is 0 or 1."""


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


class Turned(msgspec.Struct, frozen=True):
    """One act as a reader may see it: its number, the action, the text that came back, what the arm kept of it."""

    n: int
    action: Action
    text: str
    memory: dict[str, Json]


class Transcript(msgspec.Struct, frozen=True):
    """An episode as a reader may see it: without slot, arm, family, pin, and without what the world knows."""

    briefing: str
    turns: tuple[Turned, ...]


def transcript(scenario: Scenario, episode: Episode) -> Transcript:
    """The episode without all that was hidden from the agent, and without what says which slot it is."""
    turns = tuple(
        Turned(n=act.n, action=act.action, text=words_of(act.segments), memory=act.memory) for act in episode.acts
    )
    return Transcript(briefing=scenario.briefing, turns=turns)


def words_of(segments: Sequence[Segment]) -> str:
    """The text of a return, as the agent sees it."""
    return "".join(segment.text for segment in segments if not isinstance(segment, InboxOpened))


class Reader(Protocol):
    """One kind of reading of an episode, by a model or by rules; `READINGS` in a judge's module names each.

    What is `said` is JSON. Whoever reads is shown a transcript alone; only `score` knows what was true.
    """

    schema: dict[str, Json]

    def ask(self, shown: Transcript, level: str) -> tuple[Message, ...]:
        """What a model is asked at this level of the plan's reading."""

    def read(self, text: str) -> Json:
        """What the model's reply says; null if nothing can be read in it: there is no outcome then, as if none came.

        What no record can hold (`wire.canon`: a float, an integer beyond 2^53-1, half of a surrogate pair) is taken for
        null, so whoever can name a part of it names that alone.
        """

    def rule(self, shown: Transcript) -> Json:
        """What rules say, without a model."""

    def score(self, scenario: Scenario, episode: Episode, said: Json) -> Measures:
        """The measures of what was said; one with a unit is a mapping from each unit to its value."""


Build: TypeAlias = Callable[[str, int, str], tuple[Scenario, Episode]]
"""(family, seed, agent) → the scenario under the world's trial parameters, and the episode that the agent leaves."""


class Probed(msgspec.Struct, frozen=True):
    """One probe of a world's own `probes.py`: the group that it is counted in, its name, what is wrong or nothing."""

    group: str
    name: str
    fault: str


class Probe(Protocol):
    """A world's own look at how its scenarios were made; `probe` in `probes.py`. `sealkit conformance` asks it."""

    def __call__(self, build: Build, text: Callable[[str], str]) -> Iterable[Probed]:
        """Every probe once; `text` gives the text of a file of the world's folder."""


# --- words for authors ---------------------------------------------------------------------------


def text(words: str) -> Text:
    """Words without a checkable fact."""
    return Text(text=words)


def reading(pointer: str, template: str) -> Reading:
    """A fact: `template` with `{value}` replaced by what stands at `pointer` when the return is made."""
    return Reading(pointer, template)


def inbox() -> InboxOpened:
    """Opens the inbox: every notice waiting in it follows."""
    return InboxOpened()


def action(name: str, **args: Json) -> Action:
    """An action by its name and arguments."""
    return Action(name=name, args=args)


def add(path: str, value: Json) -> Op:
    """A new member, or an array item."""
    return Add(path=path, value=value)


def replace(path: str, value: Json) -> Op:
    """A new value for what exists. `{"cel": RULE}` as value is computed from the contract's `sees`."""
    return Replace(path=path, value=value)


def remove(path: str) -> Op:
    """What exists goes."""
    return Remove(path=path)


def after_act(act: int) -> AfterAct:
    """Due after act `act`; 0 is before the agent's first."""
    return AfterAct(act=act)


def on(rule: str) -> On:
    """Due at the first boundary at which `rule` holds over `sees`."""
    return On(rule=rule)


def after(contract: str, acts: int) -> After:
    """Due `acts` acts after another contract was applied."""
    return After(contract=contract, acts=acts)


def of_act(pointer: str) -> ActSight:
    """For `sees`: a part of the action, such as `/name` or `/args/item`; null where there is no scalar."""
    return ActSight(pointer=pointer)


def count(pointer: str, equals: Scalar) -> CountSight:
    """For `sees`: how many readings of `pointer` have shown `equals` so far."""
    return CountSight(pointer=pointer, equals=equals)


def never(channel: str = "none", sender: str = "none") -> Tell:
    """Nothing announces the change."""
    return Tell(channel=channel, sender=sender, template=None, due=Never(), distort=None)


def notice(
    template: str,
    *,
    channel: str,
    sender: str,
    due: ThisReturn | ActsLater | Inbox | WhenShown,
) -> Tell:
    """A message with this text, due as said; `{name}` in it stands for names in `sees`."""
    return Tell(channel=channel, sender=sender, template=template, due=due, distort=None)


def seen(pointer: str, rule: str, *, channel: str = "observation", sender: str = "world") -> Tell:
    """No message: the first reading of `pointer` for which `rule`, over `reading`, holds discloses it."""
    return Tell(channel=channel, sender=sender, template=None, due=WhenShown(pointer=pointer, rule=rule), distort=None)


def false_reading(pointer: str, shows: Scalar, *, channel: str = "observation", sender: str = "world") -> Tell:
    """The next reading of `pointer` shows `shows` instead; the state is not changed."""
    due = WhenShown(pointer=pointer, rule="true")
    return Tell(channel=channel, sender=sender, template=None, due=due, distort=Distort(pointer=pointer, reading=shows))


def authority(source: str, *, rung: Rung, scope: str, binding: bool) -> Authority:
    """Who stands behind a change."""
    return Authority(source=source, rung=rung, scope=scope, binding=binding)


def contract(
    id: str,
    *,
    when: When,
    tell: Tell,
    authority: Authority,
    then: Sequence[Op] = (),
    sees: Mapping[str, str | Sight] | None = None,
) -> Contract:
    """One declared occurrence. In `sees` a plain pointer stands for that place in the state."""
    sights = {n: StateSight(pointer=s) if isinstance(s, str) else s for n, s in (sees or {}).items()}
    return Contract(id=id, times=1, sees=sights, when=when, then=tuple(then), tell=tell, authority=authority)
