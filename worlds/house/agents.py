"""Five scripted agents. They show that the house does what it was built to do, not that it resembles real tasks.

- `oracle` reads the truth and takes a shortest plan from there.
- `naive` plans from the briefing; it ignores messages and readings and learns only where its own steps led it.
- `tracker` believes the latest reading and every message; it never goes back to check.
- `rechecker` does the same, but looks again before it acts on a reading that contradicts what it believes, and
  goes back to every delivery before it says done.
- `random` draws each action from all those that the briefing makes sound possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sealkit.wire.episode import Action, Fact, Notice, Segment
from sealkit.world.draws import Draws
from sealkit.world.sdk import Scripted, View

from .belief import Belief
from .plan import DONE, Situation, Step, action_of, first_steps, situation, things_on

LOOK: Step = ("look", "")


class Oracle:
    """Reads the truth; takes the first step of a shortest plan."""

    def act(self, view: View) -> Action:
        """The next action."""
        if view.truth is None:
            raise ValueError("the oracle reads the truth: declare reads_truth")
        return action_of(_first(situation(view.truth)))


class Planner:
    """Plans from what it believes and takes its own steps for done, until it is shown otherwise."""

    def __init__(self) -> None:
        self.belief: Belief | None = None
        self.last: Step = LOOK

    def act(self, view: View) -> Action:
        """The next action."""
        if self.belief is None:
            self.belief = Belief(view.briefing)
        self.last = self.choose(self.belief, view.last)
        self.belief.expect(self.last)
        return action_of(self.last)

    def choose(self, belief: Belief, segments: Sequence[Segment]) -> Step:
        """The next step, after taking in the last return."""
        raise NotImplementedError


class Naive(Planner):
    """Plans from the briefing. A door that did not let it through is shut for it from then on."""

    def choose(self, belief: Belief, segments: Sequence[Segment]) -> Step:
        """The next step; of the return it notes only in which room it is."""
        for fact in _facts(segments):
            if fact.pointer == "/agent/room" and fact.value != belief.room:
                belief.shut(str(fact.value), belief.room)
                belief.learn(fact)
        return _first(belief.situation())


class Tracker(Planner):
    """Believes the latest reading and every message."""

    def choose(self, belief: Belief, segments: Sequence[Segment]) -> Step:
        """The next step, from everything in the return."""
        for segment in segments:
            if isinstance(segment, Fact):
                belief.learn(segment)
            elif isinstance(segment, Notice):
                belief.heed(segment)
        return _first(belief.situation())


class Rechecker(Planner):
    """Looks again before acting on a contradicting reading, and goes back to its deliveries before it says done."""

    def __init__(self) -> None:
        super().__init__()
        self.doubted: dict[str, Fact] = {}
        self.verified: dict[str, bool] = {}  # label of a thing delivered → seen in place on a later visit

    def choose(self, belief: Belief, segments: Sequence[Segment]) -> Step:
        """The next step: look again in doubt, else on with the plan, else back to check, else done."""
        doubt = False
        for segment in segments:
            if isinstance(segment, Fact):
                doubt = self._weigh(belief, segment) or doubt
            elif isinstance(segment, Notice):
                belief.heed(segment)
        self._verify(belief, segments)
        if doubt:
            return LOOK
        step = _first(belief.situation())
        return self._back(belief) if step == DONE else step

    def _weigh(self, belief: Belief, fact: Fact) -> bool:
        """Believe the fact unless it contradicts for the first time; whether it is in doubt."""
        earlier = self.doubted.pop(fact.pointer, None)
        if belief.contradicts(fact) and (earlier is None or earlier.value != fact.value):
            self.doubted[fact.pointer] = fact
            return True
        belief.learn(fact)
        return False

    def _verify(self, belief: Belief, segments: Sequence[Segment]) -> None:
        """Note what was just delivered, and what is seen in place on a later visit."""
        name, word = self.last
        if name == "drop":
            self.verified[word] = False
        elif name == "move":
            here = {label for fact in _facts(segments) for label in _on_table(fact)}
            for label, room in belief.deliveries():
                if label in self.verified and room == belief.room:
                    self.verified[label] = label in here

    def _back(self, belief: Belief) -> Step:
        """Done if each delivery is here or was seen in place on a later visit; else a step back to one that was not."""
        unchecked = [
            room for label, room in belief.deliveries() if room != belief.room and not self.verified.get(label, False)
        ]
        if not unchecked:
            return DONE
        return belief.toward(unchecked[0])


class Random:
    """Draws each action from all those that the briefing makes sound possible."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws
        self.steps: tuple[Step, ...] = ()

    def act(self, view: View) -> Action:
        """The next action."""
        if not self.steps:
            belief = Belief(view.briefing)
            rooms = sorted(belief.rooms)
            self.steps = (
                LOOK,
                DONE,
                ("ask", ""),
                *((name, room) for name in ("move", "open") for room in rooms),
                *((name, label) for name in ("pick", "drop") for label in sorted(belief.origins)),
            )
        return action_of(self.draws.choice(self.steps))


def _facts(segments: Sequence[Segment]) -> tuple[Fact, ...]:
    return tuple(segment for segment in segments if isinstance(segment, Fact))


def _on_table(fact: Fact) -> tuple[str, ...]:
    return things_on(str(fact.value)) if fact.pointer.startswith("/tables/") else ()


def _first(now: Situation) -> Step:
    """The first step of a shortest plan; to look around if there is none."""
    steps = first_steps(now)
    return steps[0] if steps else LOOK


AGENTS: Mapping[str, Scripted] = {
    "oracle": Scripted(make=lambda draws: Oracle(), reads_truth=True),
    "naive": Scripted(make=lambda draws: Naive()),
    "tracker": Scripted(make=lambda draws: Tracker()),
    "rechecker": Scripted(make=lambda draws: Rechecker()),
    "random": Scripted(make=Random),
}
