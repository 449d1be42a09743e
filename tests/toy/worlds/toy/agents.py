"""Scripted gardeners."""

from __future__ import annotations

from collections.abc import Iterator

from sealkit.wire.episode import Action
from sealkit.world.draws import Draws
from sealkit.world.sdk import Scripted, View, action

TOUR = (
    action("look", at="shed"),
    action("water", plant="fern"),
    action("look", at="shed"),
    action("look", at="sky"),
    action("mail"),
    action("look", at="sky"),
    action("fill"),
    action("look", at="tank"),
    action("wait"),
    action("look", at="bench"),
    action("look", at="sky"),
    action("look", at="shed"),
    action("done"),
)


class Tour:
    """Visits everything in one fixed order."""

    def __init__(self) -> None:
        self._left: Iterator[Action] = iter(TOUR)

    def act(self, view: View) -> Action:
        """The next stop; `done` at the end."""
        return next(self._left, action("done"))


class Restless:
    """Does anything at all."""

    def __init__(self, draws: Draws) -> None:
        self._draws = draws

    def act(self, view: View) -> Action:
        """A drawn action."""
        return self._draws.choice((*TOUR, action("water", plant="rose"), action("water", plant="moss")))


AGENTS = {"tour": Scripted(make=lambda draws: Tour()), "restless": Scripted(make=Restless)}
