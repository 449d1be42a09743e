"""Plays one slot: an agent in a world, until a final action or the end of its turn budget.

    line = play(world, agent, trusted, reads_truth=False)

Everything comes in as an argument, so the same slot gives the same bytes in any process on any day.
"""

from __future__ import annotations

from copy import deepcopy

from sealkit.wire.errors import HarnessError, MalformedError, SealkitError
from sealkit.wire.records import Trusted
from sealkit.world.loader import LoadedWorld
from sealkit.world.sdk import Agent, View
from sealkit.world.witness import Recorder, open_scenario


def play(world: LoadedWorld, agent: Agent, trusted: Trusted, *, reads_truth: bool) -> bytes:
    """The episode's canonical line; `HarnessError` if the study's own code raises."""
    try:
        return _play(world, agent, trusted, reads_truth=reads_truth)
    except MalformedError as error:
        raise HarnessError(f"the world or its agent gave what no record can hold: {error}") from error
    except SealkitError:
        raise
    except Exception as error:  # a study's own code may raise anything; it is never the agent's failure
        raise HarnessError(f"the world or its agent raised {type(error).__name__}: {error}") from error


def _play(world: LoadedWorld, agent: Agent, trusted: Trusted, *, reads_truth: bool) -> bytes:
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
        act = recorder.act(agent.act(view))
        if act.action.name in scenario.finals:
            return recorder.close("final", why="")
    return recorder.close("budget", why="")
