"""Plays one slot: a player in a world, until a final action, the end of its turn budget, or a fault that ends it.

    line = answered(play(world, player, trusted, endings, reads_truth=False), ask)

`play` is a generator like the player's turns: it yields what the player asks and is sent the replies. Everything
comes in as an argument, so the same slot and the same replies give the same bytes in any process on any day.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import NoReturn, TypeAlias

from sealkit.agents.arms.start import start_player
from sealkit.agents.scripted import start_scripted
from sealkit.agents.turns import Ask, Closable, Fault, Move, Player, Reply
from sealkit.plan.actors import Arm
from sealkit.run.interrupt import is_ctrl_c
from sealkit.wire.episode import Trusted
from sealkit.wire.errors import HarnessError, MalformedError, SealkitError
from sealkit.wire.trace import RESERVED, is_blocked, noop
from sealkit.world.loader import LoadedWorld
from sealkit.world.places import raised
from sealkit.world.sdk import View
from sealkit.world.witness import Recorder, open_scenario

Playing: TypeAlias = Generator[Ask, Reply, bytes]
USES_TURN = "uses_turn"


def play(
    world: LoadedWorld, player: Player, trusted: Trusted, endings: Mapping[str, str], *, reads_truth: bool
) -> Playing:
    """The episode's canonical line, once it is played by `advance`.

    `endings` says of each way in which a turn may fail whether it uses the turn or ends the episode. A player that
    can be closed is closed, whether the episode ends, breaks, or is given up.
    """
    try:
        return (yield from _play(world, player, trusted, endings, reads_truth=reads_truth))
    except MalformedError as error:
        raise HarnessError(f"the world or its agent gave what no record can hold: {error}") from error
    finally:
        if isinstance(player, Closable):
            player.close()


def answered(playing: Playing, ask: Callable[[Ask], Reply]) -> bytes:
    """Play to the end, with `ask` giving each reply."""
    asked = advance(playing, None)
    while isinstance(asked, Ask):
        asked = advance(playing, ask(asked))
    return asked


def advance(playing: Playing, reply: Reply | None) -> Ask | bytes:
    """What the episode asks next, or its line; `HarnessError` if the study's own code raises, whatever that is."""
    try:
        return next(playing) if reply is None else playing.send(reply)
    except StopIteration as done:
        line: bytes = done.value
        return line
    except SealkitError:
        raise
    except BaseException as error:  # GeneratorExit too; it is never the agent's failure
        if is_ctrl_c(error):
            raise
        raise HarnessError(f"the world or its agent {raised(error)}") from error


def give_up(playing: Playing) -> None:
    """Close an episode that has not ended; what the study's own code says to that is no outcome."""
    try:
        playing.close()
    except BaseException as error:
        if is_ctrl_c(error):
            raise


def play_arm(arm: Arm, world: LoadedWorld, trusted: Trusted, study: Path, endings: Mapping[str, str]) -> Playing:
    """The slot, played by `arm`, with what `study` holds of it; see `play`."""
    player, reads_truth = start_player(arm, world, open_scenario(trusted.scenario), study)
    return (yield from play(world, player, trusted, endings, reads_truth=reads_truth))


def play_scripted(world: LoadedWorld, name: str, trusted: Trusted) -> bytes:
    """The episode that the world's scripted agent `name` leaves of the slot."""
    player, reads_truth = start_scripted(world, name, open_scenario(trusted.scenario))
    return answered(play(world, player, trusted, {}, reads_truth=reads_truth), nobody)


def nobody(asked: Ask) -> NoReturn:
    """Answers for players that ask no model."""
    raise HarnessError(f"a scripted agent asked the model {asked.role!r}")


def _play(
    world: LoadedWorld, player: Player, trusted: Trusted, endings: Mapping[str, str], *, reads_truth: bool
) -> Playing:
    scenario = open_scenario(trusted.scenario)
    recorder = Recorder(world.session(scenario), trusted)
    act = recorder.begin()
    while act.n < scenario.max_acts:
        view = View(
            briefing=scenario.briefing,
            last=act.segments,
            acts_left=scenario.max_acts - act.n,
            truth=deepcopy(recorder.state) if reads_truth else None,
        )
        decided = yield from player.turn(view)
        if isinstance(decided, Fault):
            if decided.why not in endings:
                what = f"the agent ended by {decided.why[:60]!a}, to which the plan gives no meaning"
                raise HarnessError(what, remedy=f"one of: {', '.join(endings)}")
            if endings[decided.why] != USES_TURN:
                return recorder.close(decided.why, why=decided.say)
            decided = Move(action=noop(decided.why, decided.say), calls=decided.calls, memory=decided.memory)
        elif decided.action.name in RESERVED and not is_blocked(decided.action):
            raise HarnessError(f"an agent cannot act {decided.action.name!r}: the word is sealkit's own")
        act = recorder.act(decided)
        if act.action.name in scenario.finals:
            return recorder.close("final", why="")
    return recorder.close("budget", why="")
