"""Policies that play the desk of Study B from what a request says, and from nothing else: no state of their own, no truth.

    reply = POLICIES["faithful"](request)     request: the JSON of a chat completion; reply: the text of the message

Each is a scripted policy of the world behind the eyes of a model. It is shown the returns one after the other, as they
stand in the request, and what it does after the last of them is the reply. So it needs a window that shows every return.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from sealkit.agents.arms.tools import spelt
from sealkit.world.draws import Draws
from sealkit.world.sdk import Action, Fact, Notice, Rung, Segment, Text, View
from worlds.underwriting_b.agents import AGENTS
from worlds.underwriting_b.editions import AUTHORITIES, EVENT

Request = Mapping[str, Any]

USED = "The turn is used."  # said of a reply without an action: nothing was done, so the same is due again

_returns = re.compile(r"^Return [0-9]+:\n", re.MULTILINE)
_heading = re.compile(r"Cite this as (case|policy)@(v[0-9]+)\.")
_message = re.compile(r"\[([a-z-]+)@m1\] From ")
_facts = {
    "monthly_debt": re.compile(r"Monthly debt: ([0-9]+)\."),
    "monthly_income": re.compile(r"Monthly income: ([0-9]+)\."),
    "income_status": re.compile(r"The income is ([a-z]+)\."),
    "reserves_months": re.compile(r"Reserves: ([0-9]+) months\."),
    "maximum_ppm": re.compile(r"Largest debt to income: ([0-9]+) ppm\."),
    "minimum_reserves_months": re.compile(r"Fewest reserves: ([0-9]+) months\."),
}
_rungs: dict[str, Rung] = {by.source: rung for rung, by in AUTHORITIES.items()}


def decided(name: str, request: Request) -> Action:
    """What the scripted policy does behind the returns that the request shows."""
    (user,) = [message["content"] for message in request["messages"] if message["role"] == "user"]
    section = user.partition("## Last returns\n\n")[2].partition("\n\n## ")[0]
    agent = AGENTS[name].make(Draws("no draws"))
    returns = [text for text in _returns.split(section)[1:] if USED not in text] or [""]
    for text in returns:
        action = agent.act(View(briefing="", last=tuple(_segments(text)), acts_left=0, truth=None))
    return action


def _segments(text: str) -> Iterator[Segment]:
    file = ""
    for line in text.splitlines():
        heading, message = _heading.match(line), _message.match(line)
        file = f"/{heading[1]}/versions/{heading[2]}" if heading else file
        figure = next(((key, found[1]) for key, rule in _facts.items() if (found := rule.fullmatch(line))), None)
        if message is not None:
            yield Notice(contract=EVENT, channel="", sender=message[1], rung=_rungs[message[1]], text=line)
        elif figure is not None:
            value = int(figure[1]) if figure[1].isdigit() else figure[1]
            yield Fact(pointer=f"{file}/{figure[0]}", value=value, text=line)
        else:
            yield Text(text=line)


def _reply(name: str, request: Request) -> str:
    action = decided(name, request)
    if "tools" in request:
        return json.dumps({"tool": spelt(action.name), "arguments": action.args})
    return json.dumps({"action": action.name, "arguments": action.args, "notes": ""})


POLICIES: dict[str, Callable[[Request], str]] = {name: partial(_reply, name) for name in AGENTS}
