"""Arms of the study's own: the folder `arms/NAME`, a package with `make(scene, options, draws) -> Player`.

`scene` is what an agent may know of the scenario, `options` those of the plan, `draws` a stream of draws that belongs
to the scenario and the arm. The player may ask the model roles that the plan names, and no others.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from sealkit.agents.arms.scene import scene_of
from sealkit.agents.turns import Ask, Closable, Fault, Move, Player, Reply, Turn
from sealkit.plan.actors import OwnArm
from sealkit.wire.declared import Scenario
from sealkit.wire.errors import HarnessError
from sealkit.world.loader import load_package, scenario_draws
from sealkit.world.places import raised
from sealkit.world.sdk import View


def start_own(arm: OwnArm, scenario: Scenario, study: Path) -> Player:
    """A fresh player of the study's own arm."""
    name = arm.arm.rpartition("/")[2]
    package = load_package(study / arm.arm, f"sealkit_study.arms.{name}", remedy="see the plan's `factors.arm`")
    make = getattr(package, "make", None)
    if not callable(make):
        raise HarnessError("the package has no function make", where=f"{arm.arm}/__init__.py")
    try:
        player = make(scene_of(scenario), dict(arm.options), scenario_draws(scenario).split("arm", name))
    except Exception as error:  # a study's own code may raise anything
        raise HarnessError(f"make {raised(error)}", where=arm.arm) from error
    if not callable(getattr(player, "turn", None)):
        raise HarnessError(f"make gave {type(player).__name__}, due a player with `turn`", where=arm.arm)
    return Confined(player, arm)


class Confined:
    """A player that may ask the roles that its plan names alone."""

    def __init__(self, player: Player, arm: OwnArm) -> None:
        self._player = player
        self._arm = arm

    def turn(self, view: View) -> Turn:
        """The player's own turn, its questions looked at."""
        turn = self._player.turn(view)
        if not isinstance(turn, Generator):
            raise HarnessError(f"`turn` gave {type(turn).__name__}, due a generator", where=self._arm.arm)
        reply: Reply | None = None
        while True:
            try:
                asked = next(turn) if reply is None else turn.send(reply)
            except StopIteration as done:
                if not isinstance(done.value, Move | Fault):
                    what = type(done.value).__name__
                    raise HarnessError(f"`turn` returned {what}, due a Move or a Fault", where=self._arm.arm) from None
                return done.value
            check_role(asked, self._arm.models, self._arm.arm)
            reply = yield asked

    def close(self) -> None:
        """Close the player if it can be."""
        if isinstance(self._player, Closable):
            self._player.close()


def check_role(asked: object, roles: tuple[str, ...], where: str) -> None:
    """Raise `HarnessError` unless a question is one, and to a role that the plan lets this arm ask."""
    if not isinstance(asked, Ask):
        raise HarnessError(f"a turn yielded {type(asked).__name__}, due an Ask", where=where)
    if asked.role not in roles:
        named = ", ".join(roles) or "none"
        raise HarnessError(f"asked the model {asked.role!r}; the plan lets it ask {named}", where=where)
